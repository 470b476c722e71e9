"""Paid replies in one SQLite file per study, which several processes may share."""

import argparse
import fcntl
import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from uuid import uuid4

from lib.core.store import (
    BadInput,
    Stopped,
    data_path,
    printable,
    read_lines,
    require_path,
    shown,
    tell,
    write_text,
)
from lib.llm.request import Reply, key_of
from lib.llm.wire import read_wire

# WAL: readers never wait for a writer. NORMAL: safe against a killed process; a power cut may lose
# the last replies, never the file.
_SCHEMA = """
pragma synchronous = normal;
pragma journal_mode = wal;
create table if not exists replies
    (key text primary key, request_key text, model text, request text, raw text, asked_at text);
create index if not exists by_request on replies (request_key);
create table if not exists batches (digest text primary key, batch_id text, keys text);
create table if not exists spent
    (stage text, who text, usd real, reserved real, primary key (stage, who))
"""
_REMEDY = (
    "free some space, make it a file in a folder that you can write to (or set STUDY_ROOT), or "
    "restore a copy of a damaged file; then run the same command again: what is stored is kept, "
    "and nothing is sent twice"
)
_COLUMNS = ("model", "request", "raw", "asked_at")


@dataclass
class Sent:
    """A batch. Without an `id` it is only intended: nobody knows whether it was created."""

    keys: list[str]  # of its requests, except those that are answered
    id: str = ""  # given by the provider
    digest: str = field(default_factory=lambda: uuid4().hex)  # our mark, in its metadata


class Cache:
    """The replies in `path`, each committed before its call counts as made."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        for statement in _SCHEMA.split(";"):
            with suppress(Stopped):  # another process does the same
                self._do(statement)
        self.batches()  # a file that is damaged says so

    @cached_property
    def database(self) -> sqlite3.Connection:
        """The connection, in which each statement is a transaction."""
        return sqlite3.connect(self.path, 60, isolation_level=None, check_same_thread=False)

    def _do(self, statement: str, *values: object) -> list[tuple]:
        try:
            return self.database.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise Stopped(f"{shown(self.path)}: {error}; {_REMEDY}") from error

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Only one process at a time sends what is not stored; the system ends a killed one's."""
        with open(f"{self.path}.lock", "ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def raw(self, request_key: str, key: str) -> str:
        """Return the reply with `key`, else an imported one; without a key, of any endpoint."""
        rows = self._do(
            "select raw from replies where request_key = ?1 and (?2 = '' or key in (?1, ?2)) "
            "order by key <> ?2, asked_at, key limit 1",
            request_key,
            key,
        )
        return rows[0][0] if rows else ""

    def put(self, rows: Iterable[Sequence], stage: str = "", usd: float = 0.0) -> None:
        """Store replies (key, key for any endpoint, model, request, raw, ISO time) and their cost.

        All or, after an error, nothing.
        """
        self._do("begin immediate")
        with self.database:  # rolls back after an error
            for row in rows:
                self._do(
                    "insert or replace into replies (key, request_key, model, request, raw, "
                    "asked_at) values (?, ?, ?, ?, ?, ?)",
                    *row,
                )
            self._do(
                "insert into spent values (?1, '', ?2, 0) on conflict do update set usd = usd + ?2",
                stage,
                usd,
            )
            self._do("commit")

    def exported(self) -> list[tuple]:
        """Return model, request, raw and time of all replies, in the same order everywhere."""
        return self._do(
            "select model, request, raw, asked_at from replies order by request_key, asked_at, key"
        )

    def spent(self, stage: str) -> float:
        """Return the dollars spent by a stage in all its runs."""
        return self._do("select total(usd + reserved) from spent where stage = ?", stage)[0][0]

    def batches(self) -> list[Sent]:
        """Return the batches, oldest first."""
        rows = self._do("select keys, batch_id, digest from batches order by rowid")
        return [Sent(json.loads(keys), *row) for keys, *row in rows]

    def keep_batch(self, batch: Sent) -> None:
        """Store a batch, or forget it if nothing of it is to come. Raises Stopped."""
        if batch.keys:
            self._do(
                "insert or replace into batches (digest, batch_id, keys) values (?, ?, ?)",
                batch.digest,
                batch.id,
                json.dumps(batch.keys),
            )
        else:
            self._do("delete from batches where digest = ?", batch.digest)

    def close(self) -> None:
        """Close the file; SQLite merges its log into it if no other process has it open."""
        self.database.close()


def export_to(cache: Cache, file: Path) -> int:
    """Write every reply as a JSON line; return how many."""
    rows = [json.dumps(dict(zip(_COLUMNS, row, strict=True))) for row in cache.exported()]
    write_text(file, "".join(f"{row}\n" for row in rows))
    return len(rows)


def import_from(cache: Cache, file: Path) -> int:
    """Add the replies of a file, all or none, for any endpoint; return how many it has."""
    rows = []
    for number, line in enumerate(read_lines(file), 1):
        try:
            model, request, raw, asked_at = (json.loads(line)[column] for column in _COLUMNS)
            key = key_of(request, model)
            if not isinstance(read_wire(200, raw), Reply):
                raise ValueError("no completion")
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise BadInput(
                f"{shown(file)}, line {number}, is not an exported reply "
                f"({type(error).__name__}): export it again; nothing was imported"
            ) from error
        rows.append((key, key, model, request, raw, asked_at))
    cache.put(rows)
    return len(rows)


def main(arguments: list[str] | None = None) -> None:
    """Export a study's replies; exit with 2 if a file cannot be read or written."""
    parser = argparse.ArgumentParser(prog="python -m lib.llm.cache", description=export_to.__doc__)
    parser.add_argument("study", help="its cache is data/STUDY/llm.sqlite")
    parser.add_argument("file", type=Path, help="JSON lines, for the key `replies` of a study")
    options = parser.parse_args(arguments)
    path = data_path(options.study, "llm.sqlite")
    try:
        require_path(path, "a stage that calls a model")
        with closing(Cache(path)) as cache:
            tell(f"{shown(options.file)}: {export_to(cache, options.file)} replies exported")
    except (OSError, BadInput, Stopped) as error:
        parser.error(printable(error))


if __name__ == "__main__":
    main()
