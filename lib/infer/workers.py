"""Answer queries in several processes, one per GPU if there are GPUs, and resume after a crash.

The answers and their order are those of one uninterrupted process.
"""

import hashlib
import json
import os
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import asdict
from pathlib import Path

import torch
from torch import multiprocessing
from tqdm import tqdm

from lib.core.errors import BadStudy, Stopped
from lib.core.process import VARIABLE, die_with_parent
from lib.core.records import Answer, Query
from lib.infer.answers import answer_batch, in_batches, load
from lib.infer.decoding import Decoding
from lib.infer.prompts import chat_prompt_for, prompt_of

_loaded: tuple = ()  # a worker's model and tokenizer


def answer_from(source: str, queries: list[Query], arm: str, how: Decoding, folder: Path,
                processes: int = 1) -> list[Answer]:
    """Return one greedy answer per query, in order, from the model at `source`, a folder or hub id.

    Finished batches are appended to `.{arm}-{fingerprint}.jsonl` in `folder`, from which another
    call resumes. Raises BadStudy for fewer than one process, and Stopped if one ended early.
    """
    if processes < 1:
        raise BadStudy(f"processes is {processes}: give at least 1")
    partial = folder / f".{arm}-{fingerprint(source, queries, how)}.jsonl"
    done = _read_partial(partial)
    # Form batches before skipping any, so that a resumed run has those of an uninterrupted one.
    waiting = [batch for batch in in_batches(queries, how.batch_size, how.is_ready)
               if not all(query.query_id in done for query in batch)]
    with (open(partial, "a", encoding="utf-8") as file,
          tqdm(total=sum(map(len, waiting)), desc=f"answers of {arm}", mininterval=2) as bar):
        for rows in _answered(source, waiting, arm, how, min(processes, len(waiting))):
            file.writelines(row.model_dump_json() + "\n" for row in rows)
            file.flush()
            done |= {row.query_id: row for row in rows}
            bar.update(len(rows))
    return [done[query.query_id] for query in queries]


def fingerprint(source: str, queries: list[Query], how: Decoding) -> str:
    """Return a hash of everything that determines the answers.

    It is part of the partial file's name, so that a different run's file is never resumed.
    """
    files = [(path.name, path.stat().st_size, path.stat().st_mtime_ns)
             for path in sorted(Path(source).glob("*"))]  # none if `source` is a hub id
    prompts = [(prompt_of(query, how.is_ready), chat_prompt_for(query.question))
               for query in queries]
    asked = [(query.query_id, query.structure) for query in queries]
    everything = json.dumps([source, asdict(how), files, prompts, asked])
    return hashlib.sha256(everything.encode()).hexdigest()[:16]


def remove_partial(folder: Path, arm: str) -> None:
    """Remove an arm's partial files: this run's, and those of other models or settings."""
    for path in folder.glob(f".{arm}-{'[0-9a-f]' * 16}*.jsonl"):
        path.unlink()


def _answered(source: str, batches: list[list[Query]], arm: str, how: Decoding,
              processes: int) -> Iterator[list[Answer]]:
    if processes == 1:
        loaded = load(source, precision=how.precision)
        yield from (answer_batch(*loaded, batch, arm, how) for batch in batches)
    if processes <= 1:
        return
    context = multiprocessing.get_context("spawn")
    ranks = context.SimpleQueue()
    for rank in range(processes):
        ranks.put(rank)
    try:
        with ProcessPoolExecutor(processes, context, _start, (
                ranks, processes, os.getpid(), source, how.precision)) as pool:
            n = len(batches)
            yield from pool.map(_answer, batches, [arm] * n, [how] * n)
    except BrokenProcessPool as error:
        raise Stopped(f"an answering process ended early ({error}); finished answers are kept, "
                      "and the same command computes only the rest") from error


def _start(ranks: multiprocessing.SimpleQueue, processes: int, parent: int, source: str,
           precision: str) -> None:
    global _loaded
    os.environ[VARIABLE] = str(parent)
    die_with_parent()
    if torch.cuda.is_available():
        device = f"cuda:{ranks.get() % torch.cuda.device_count()}"
    else:
        device = "cpu"
        torch.set_num_threads(max(1, torch.get_num_threads() // processes))
    _loaded = load(source, precision=precision, device=device)


def _answer(batch: list[Query], arm: str, how: Decoding) -> list[Answer]:
    return answer_batch(*_loaded, batch, arm, how)


def _read_partial(path: Path) -> dict[str, Answer]:
    if not path.exists():
        return {}
    text = path.read_text(encoding="utf-8")
    complete = text[:text.rfind("\n") + 1]  # a killed process may have written half a line
    if complete != text:
        path.write_text(complete, encoding="utf-8")
    rows = map(Answer.model_validate_json, complete.split("\n")[:-1])
    return {row.query_id: row for row in rows}
