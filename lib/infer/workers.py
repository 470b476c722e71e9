"""Answers from several processes at once, one a GPU where there are GPUs: the same as one process gives, in order."""

import os
from pathlib import Path

import torch
from torch import multiprocessing
from tqdm import tqdm
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from lib.core.files import write_records
from lib.core.process import VARIABLE, die_with_parent
from lib.core.records import Answer, Query
from lib.infer.answers import (
    Decoding,
    answer_batches,
    identity,
    in_batches,
    in_query_order,
    load,
    read_partial,
)


def answer_from(source: str, queries: list[Query], arm: str, how: Decoding, folder: Path,
                processes: int = 1) -> list[Answer]:
    """One greedy answer a query, in the queries' order, from the model of a folder or hub id.

    Each process loads the model and appends to a file of its own, `.{arm}-{identity}….jsonl` in `folder`. A run that
    was killed, whole or one process of it, goes on from all these files, with any number of processes. They are the
    caller's to remove. Raises RuntimeError where a process ended early; what all of them answered is kept.
    """
    if processes < 1:
        raise ValueError(f"processes is {processes}: give at least 1")
    partial = folder / f".{arm}-{identity(source, queries, how)}.jsonl"
    done = _merged(partial, queries)
    waiting = [batch for batch in in_batches(queries, how.batch_size, how.is_ready)
               if not all(query.query_id in done for query in batch)]
    processes, n_waiting = min(processes, len(waiting)), sum(map(len, waiting))
    with tqdm(total=len(queries), initial=len(queries) - n_waiting, desc=f"answers of {arm}", mininterval=2) as bar:
        if processes == 1:
            answer_batches(*_loaded(source, how, 0), waiting, arm, how, partial, bar.update)
        elif processes:
            _run(processes, (source, waiting, arm, how, partial), bar)
    return in_query_order(queries, _merged(partial, queries))


def _run(processes: int, job: tuple, bar: tqdm) -> None:
    counts, before = torch.zeros(processes, dtype=torch.long).share_memory_(), os.environ.get(VARIABLE)  # of answers
    os.environ[VARIABLE] = str(os.getpid())  # no process of ours outlives this one
    try:
        running = multiprocessing.spawn(_answer_share, (processes, *job, counts), nprocs=processes, join=False)
        has_ended = False
        while not has_ended:
            has_ended = running.join(timeout=0.5)
            bar.update(int(counts.sum()) + bar.initial - bar.n)
    except (multiprocessing.ProcessExitedException, multiprocessing.ProcessRaisedException) as error:
        raise RuntimeError(f"a process that was answering ended early ({error}); what was answered is kept, and the "
                           "same command asks only for the rest") from error
    finally:
        os.environ.pop(VARIABLE) if before is None else os.environ.update({VARIABLE: before})


def _answer_share(rank: int, processes: int, source: str, batches: list[list[Query]], arm: str, how: Decoding,
                  partial: Path, counts: torch.Tensor) -> None:
    """Answer every n-th batch: they are sorted by length, so that the shares are equal."""
    die_with_parent()
    if not torch.cuda.is_available():
        torch.set_num_threads(max(1, torch.get_num_threads() // processes))
    model, tokenizer = _loaded(source, how, rank)
    answer_batches(model, tokenizer, batches[rank::processes], arm, how,
                   partial.with_suffix(f".{rank}.jsonl"), lambda n: counts[rank].add_(n))


def _loaded(source: str, how: Decoding, rank: int) -> tuple[PreTrainedModel, PreTrainedTokenizerBase]:
    n_gpus = torch.cuda.device_count()
    return load(source, precision=how.precision, device=f"cuda:{rank % n_gpus}" if n_gpus else "")


def _merged(partial: Path, queries: list[Query]) -> dict[str, Answer]:
    """All parts in `partial`, which then is the only one."""
    parts = sorted(partial.parent.glob(f"{partial.stem}.*.jsonl"))
    done = {name: row for path in [partial, *parts] for name, row in read_partial(path).items()}
    if parts:
        write_records(partial, [done[query.query_id] for query in queries if query.query_id in done])
        for path in parts:
            path.unlink()
    return done
