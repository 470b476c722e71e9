"""Paid replies in one SQLite file per study, which several processes may share."""

import argparse
import fcntl
import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from lib.core.records import Record
from lib.core.store import Stopped, data_path, read_records, require_path, shown, tell, write_text
from lib.llm.calls import Calls
from lib.llm.request import Endpoint, Reply, Request, key_of
from lib.llm.wire import Fault, is_shortened, read_wire

# WAL: readers never wait for a writer. NORMAL: safe against a killed process; a power cut may lose
# the last replies, never the file.
_SCHEMA = """
pragma synchronous = normal;
begin immediate;
create table if not exists replies
    (key text primary key, request_key text, model text, request text, raw text, asked_at text);
create index if not exists by_request on replies (request_key);
create table if not exists batches (digest text primary key, batch_id text, keys text);
create table if not exists spent
    (stage text, who text, usd real, reserved real, primary key (stage, who));
commit;
pragma journal_mode = wal;
"""
_REMEDY = (
    "free some space, make it a file in a folder that you can write to (or set STUDY_ROOT), or "
    "restore a copy of a damaged file; then run the same command again: what is stored is kept, "
    "and nothing is sent twice"
)


@dataclass
class Sent:
    """A batch. Without an `id` it is only intended: nobody knows whether it was created."""

    keys: set[str]  # of its requests, except those that are answered
    file: str  # the id of the file that has them
    id: str = ""  # given by the provider


class Stored(Record, extra="ignore"):
    """A reply in a file, which may have more columns."""

    model: str
    request: str
    raw: str
    asked_at: str


class Cache(sqlite3.Connection):
    """The replies in `path`, each committed before its call counts as made."""

    def __init__(self, path: Path) -> None:
        self.path = path
        with self._named():
            super().__init__(path, 60, isolation_level=None, check_same_thread=False)
        with suppress(sqlite3.Error), self:  # another process does the same
            self.executescript(_SCHEMA)
        self.batches()  # a file that is damaged says so

    @contextmanager
    def _named(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise Stopped(f"{shown(self.path)}: {error}; {_REMEDY}") from error

    def _do(self, statement: str, *values: object) -> list[tuple]:
        with self._named():
            return self.execute(statement, values).fetchall()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Only one process at a time sends what is not stored; the system ends a killed one's."""
        with open(f"{self.path}.lock", "ab") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield

    def best(
        self, request: Request, model: str, at: Endpoint, calls: Calls
    ) -> tuple[Reply, Request | None]:
        """Return the best reply, and the request to send for a better one of a kind in `retry`.

        Replies are of this endpoint or imported, without a key of any endpoint.
        """
        if not calls.json_schema:
            request = replace(request, shape="")
        best, is_open = Reply("", "not asked"), True
        while rows := self._do(
            "select raw from replies where request_key = ?1 and (?2 = ?1 or key in (?1, ?2)) "
            "order by key <> ?2, asked_at, key limit 1",
            key_of(request.body, model),
            key_of(request.body, model, at.url),
        ):
            reply = read_wire(200, rows[0][0], request.max_tokens)
            if isinstance(reply, Fault):
                break
            is_part = is_shortened(reply, request)  # of the prompt
            if not (reply.reason or is_part):
                return reply, None
            best, is_open = reply, at.key != "" and (is_part or reply.kind in calls.retry)
            request = replace(request, attempt=request.attempt + 1)  # each retry has left a reply
        return best, request if is_open else None

    def put(self, rows: Iterable[tuple], stage: str = "", usd: float = 0.0) -> None:
        """Store replies (key, key for any endpoint, model, request, raw, ISO time) and their cost.

        None is now. All are stored or, after an error, nothing.
        """
        with self._named(), self:  # rolls back after an error
            self.execute("begin immediate")
            self.executemany(
                "insert or replace into replies (key, request_key, model, request, raw, asked_at) "
                "values (?, ?, ?, ?, ?, coalesce(?, strftime('%Y-%m-%dT%H:%M:%f+00:00', 'now')))",
                rows,
            )
            self.execute(
                "insert into spent values (?1, '', coalesce(?2, 0), 0) "  # NaN is null
                "on conflict do update set usd = usd + coalesce(?2, 0)",
                (stage, usd),
            )

    def exported(self) -> list[str]:
        """Return all replies as lines of JSON, in the same order everywhere."""
        rows = self._do(
            "select json_object('model', model, 'request', request, 'raw', raw, 'asked_at', "
            "asked_at) || char(10) from replies order by request_key, asked_at, key"
        )
        return [line for (line,) in rows]

    def spent(self, stage: str) -> float:
        """Return the dollars spent by a stage in all its runs."""
        return self._do("select total(usd + reserved) from spent where stage = ?", stage)[0][0]

    def batches(self) -> list[Sent]:
        """Return the batches, oldest first."""
        rows = self._do(
            "select keys, digest, batch_id from batches where keys <> '[]' order by rowid"
        )
        return [Sent({*json.loads(keys)}, *row) for keys, *row in rows]

    def keep_batch(self, batch: Sent) -> None:
        """Store a batch; one without keys counts as forgotten. Raises Stopped."""
        self._do(
            "insert or replace into batches (digest, batch_id, keys) values (?, ?, ?)",
            batch.file,
            batch.id,
            json.dumps([*batch.keys]),
        )


def import_from(cache: Cache, file: Path) -> None:
    """Add the replies of a file, all or none, for any endpoint."""
    cache.put(
        (key := key_of(one.request, one.model), key, one.model, one.request, one.raw, one.asked_at)
        for one in read_records(file, Stored, "python -m lib.llm.cache")
    )


def main(arguments: list[str] | None = None) -> None:
    """Write every reply of a study into a file, for the key `replies` of a study."""
    parser = argparse.ArgumentParser(prog="python -m lib.llm.cache", description=main.__doc__)
    parser.add_argument("study")
    parser.add_argument("file", type=Path)
    options = parser.parse_args(arguments)
    try:
        path = require_path(data_path(options.study, "llm.sqlite"), "a stage that calls a model")
    except ValueError as error:
        parser.error(str(error))
    with closing(Cache(path)) as cache:
        replies = cache.exported()
    write_text(options.file, "".join(replies))
    tell(f"{shown(options.file)}: {len(replies)} replies exported")


if __name__ == "__main__":
    main()
