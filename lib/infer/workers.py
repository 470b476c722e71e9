"""Answer queries in several processes, one per GPU if there are GPUs, and resume after a crash.

The answers and their order are those of one uninterrupted process.
"""

import hashlib
import json
import os
from dataclasses import asdict
from pathlib import Path

import torch
from torch import multiprocessing
from tqdm import tqdm

from lib.core.errors import BadStudy, Stopped
from lib.core.files import write_records
from lib.core.process import VARIABLE, die_with_parent
from lib.core.records import Answer, Query
from lib.infer.answers import answer_batch, in_batches, load
from lib.infer.decoding import Decoding
from lib.infer.prompts import chat_prompt_for, prompt_for, prompt_of


def answer_from(source: str, queries: list[Query], arm: str, how: Decoding, folder: Path,
                processes: int = 1) -> list[Answer]:
    """Return one greedy answer per query, in order, from the model at `source`, a folder or hub id.

    Each process loads the model and appends finished batches to its own file in `folder`,
    `.{arm}-{fingerprint}….jsonl`. After a crash or a kill, a run resumes from all of these
    files with any number of processes; `remove_partial` removes them. Raises BadStudy for fewer
    than one process, and Stopped if a process ended early.
    """
    if processes < 1:
        raise BadStudy(f"processes is {processes}: give at least 1")
    partial = folder / f".{arm}-{fingerprint(source, queries, how)}.jsonl"
    done = _merged(partial, queries)
    # Form batches before skipping any, so that a resumed run has those of an uninterrupted one.
    waiting = [batch for batch in in_batches(queries, how.batch_size, how.is_ready)
               if not all(query.query_id in done for query in batch)]
    processes = min(processes, len(waiting))
    if processes == 1:
        _answer_batches(0, source, waiting, arm, how, partial)
    elif processes:
        _run(processes, (source, waiting, arm, how, partial))
    done = _merged(partial, queries)
    return [done[query.query_id] for query in queries]


def fingerprint(source: str, queries: list[Query], how: Decoding) -> str:
    """Return a hash of everything that determines the answers.

    It is part of the partial files' names, so that a different run's files are never resumed.
    """
    digest = hashlib.sha256(json.dumps([source, asdict(how)]).encode())
    for path in sorted(Path(source).glob("*")):  # empty if `source` is a hub id
        digest.update(f"{path.name} {path.stat().st_size} {path.stat().st_mtime_ns}".encode())
    for query in queries:
        prompts = [prompt_of(query, how.is_ready, write) for write in (prompt_for, chat_prompt_for)]
        digest.update(json.dumps([query.query_id, query.structure, *prompts]).encode())
    return digest.hexdigest()[:16]


def remove_partial(folder: Path, arm: str) -> None:
    """Remove an arm's partial files: this run's, and those of other models or settings."""
    for path in folder.glob(f".{arm}-{'[0-9a-f]' * 16}*.jsonl"):
        path.unlink()


def _answer_batches(rank: int, source: str, batches: list[list[Query]], arm: str, how: Decoding,
                    partial: Path) -> None:
    device = f"cuda:{rank % torch.cuda.device_count()}" if torch.cuda.is_available() else ""
    model, tokenizer = load(source, precision=how.precision, device=device)
    with (open(partial, "a", encoding="utf-8") as file,
          tqdm(total=sum(map(len, batches)), desc=f"answers of {arm}", mininterval=2,
               disable=rank > 0) as bar):
        for batch in batches:
            rows = answer_batch(model, tokenizer, batch, arm, how)
            try:
                file.writelines(row.model_dump_json() + "\n" for row in rows)
                file.flush()
            except OSError as error:
                raise OSError(error.errno, f"{error.strerror} while writing {partial}; free some "
                              "space and run the same command again: finished answers are kept"
                              ) from error
            bar.update(len(batch))


def _run(processes: int, job: tuple) -> None:
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = str(os.getpid())  # none of these processes outlives this one
    try:
        multiprocessing.spawn(_answer_share, (processes, *job), nprocs=processes)
    except (multiprocessing.ProcessExitedException,
            multiprocessing.ProcessRaisedException) as error:
        raise Stopped(f"an answering process ended early ({error}); finished answers are kept, "
                      "and the same command computes only the rest") from error
    finally:
        os.environ.pop(VARIABLE) if before is None else os.environ.update({VARIABLE: before})


def _answer_share(rank: int, processes: int, source: str, batches: list[list[Query]], arm: str,
                  how: Decoding, partial: Path) -> None:
    die_with_parent()
    if not torch.cuda.is_available():
        torch.set_num_threads(max(1, torch.get_num_threads() // processes))
    # Batches are sorted by length, so every n-th makes the shares similar.
    _answer_batches(rank, source, batches[rank::processes], arm, how,
                    partial.with_suffix(f".{rank}.jsonl"))


def _merged(partial: Path, queries: list[Query]) -> dict[str, Answer]:
    parts = sorted(partial.parent.glob(f"{partial.stem}.*.jsonl"))
    done = {name: row for path in [partial, *parts] for name, row in _read_partial(path).items()}
    if parts:
        write_records(partial, [done[query.query_id] for query in queries
                                if query.query_id in done])
        for path in parts:
            path.unlink()
    return done


def _read_partial(path: Path) -> dict[str, Answer]:
    if not path.exists():
        return {}
    text = path.read_text(encoding="utf-8")
    complete = text[:text.rfind("\n") + 1]
    if complete != text:
        path.write_text(complete, encoding="utf-8")
    rows = map(Answer.model_validate_json, complete.split("\n")[:-1])
    return {row.query_id: row for row in rows}
