"""Paid replies in one SQLite file per study, which several processes may share."""

import fcntl
import json
import os
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from uuid import uuid4

from lib.core.store import Stopped, shown
from lib.llm.request import Request

_SCHEMA = """
pragma journal_mode = wal;
create table if not exists replies (key text primary key, request_key text, model text, \
request text, raw text,
    prompt_tokens integer, completion_tokens integer, finish_reason text, seconds real, \
asked_at text, request_id text,
    via text, left_out text default '');
create index if not exists by_request on replies (request_key);
create table if not exists batches (digest text primary key, batch_id text, keys text, \
created real, left_out text default '');
create table if not exists spent (stage text, who text, usd real, reserved real, \
primary key (stage, who));
pragma user_version = 2
"""
# One statement and therefore one commit, because it runs before each call.
_RESERVE = """
insert into spent select ?1, ?2, 0, ?3 where ?3 + (select total(usd + reserved) from spent
    where stage = ?1) <= ?4 on conflict do update set reserved = reserved + ?3 returning 1
"""
_REMEDY = (
    "free some space, make file and folder writable (or set STUDY_ROOT to a copy that is), or "
    "restore a copy of a damaged file; then run the same command again: what is stored is kept, "
    "and nothing is sent twice"
)


@dataclass(frozen=True)
class Entry:
    """One reply. `raw` is its body; tokens are the endpoint's count, None if it sent none."""

    key: str  # Request.key of model and endpoint
    request_key: str  # Request.key without endpoint: the same for all endpoints
    model: str
    request: str  # Request.body
    raw: str
    prompt_tokens: int | None
    completion_tokens: int | None
    finish_reason: str
    seconds: float  # time from sending to the complete reply
    asked_at: str  # ISO 8601, UTC
    request_id: str  # the endpoint's id of the call; "" if none
    via: str  # direct, batch or import
    left_out: str = ""  # parameters of `request` that were not sent, as the endpoint refuses them


@dataclass
class Sent:
    """A batch. Without an `id` it is only intended: nobody knows whether it was created."""

    keys: list[str]  # of all its requests
    created: float  # seconds since 1970
    id: str = ""  # given by the provider
    digest: str = field(default_factory=lambda: uuid4().hex)  # our mark, in its metadata
    left_out: str = ""  # parameters that its requests lack, as the endpoint refuses them
    requests: dict[str, Request] = field(default_factory=dict)  # those that are wanted now


_COLUMNS = ", ".join(one.name for one in fields(Entry))


class Cache:
    """The replies in `path`, each committed before its call counts as made."""

    def __init__(self, path: Path) -> None:
        self.path, where = path, path.resolve().as_uri()
        path.parent.mkdir(parents=True, exist_ok=True)
        can_write = all(os.access(one, os.W_OK) for one in (path.parent, path) if one.exists())
        if not can_write:  # without the log of a writer, no lock is needed
            where += "?mode=ro" if Path(f"{path}-wal").exists() else "?immutable=1"
        try:
            self.database = sqlite3.connect(
                where, uri=True, timeout=60, isolation_level=None, check_same_thread=False
            )
        except sqlite3.Error as error:
            raise Stopped(
                f"{shown(path)}: {error}; make it a file that you can read, or move it away"
            ) from error
        ((version,),) = self._do("pragma user_version")
        # WAL: readers never wait for a writer. NORMAL: safe against a killed process; a power
        # cut may lose the last replies, never the file.
        for statement in ("pragma synchronous = normal", *_SCHEMA.split(";")[version * 99 :]):
            with suppress(Stopped):  # another process does the same; a file that is damaged says so
                self._do(statement)
        self.inode = path.stat().st_ino

    def _do(self, statement: str, values: Sequence[object] = ()) -> list[tuple]:
        try:
            return self.database.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            raise Stopped(f"{shown(self.path)}: {error}; {_REMEDY}") from error

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit all that is stored in the context, or nothing. Raises Stopped."""
        if not self.path.exists() or self.path.stat().st_ino != self.inode:
            raise Stopped(f"{shown(self.path)} was removed while in use: put it back")
        self._do("begin immediate")
        with self.database:  # rolls back after an error
            yield
            self._do("commit")

    def get(self, request_key: str, key: str) -> Entry | None:
        """Return the reply with `key`, else an imported one; without a key, of any endpoint."""
        rows = self._do(
            f"select {_COLUMNS} from replies where request_key = ?1 and (?2 = '' or key in (?1, ?2)"
            ") order by key <> ?2, asked_at, key limit 1",
            (request_key, key),
        )
        return Entry(*rows[0]) if rows else None

    def has(self, key: str) -> bool:
        """True if there is a reply with this key."""
        return bool(self._do("select 1 from replies where key = ?", (key,)))

    def put(self, entries: Sequence[Entry]) -> int:
        """Store replies, in a `transaction`; return how many are new."""
        slots = ",".join("?" * len(fields(Entry)))
        statement = f"insert or ignore into replies ({_COLUMNS}) values ({slots}) returning 1"
        return sum(len(self._do(statement, tuple(vars(entry).values()))) for entry in entries)

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Only one process at a time sends what is not stored; the system ends a killed one's."""
        try:
            with open(f"{self.path}.lock", "ab") as file:
                fcntl.flock(file, fcntl.LOCK_EX)
                yield
        except OSError as error:
            raise Stopped(f"{shown(self.path)}: {error}; {_REMEDY}") from error

    def reserve(self, stage: str, who: str, usd: float, limit: float) -> bool:
        """Reserve dollars of a stage; False if it would then have spent more than `limit`."""
        return bool(self._do(_RESERVE, (stage, who, usd, limit)))

    def spend(self, stage: str, who: str, reserved: float, usd: float) -> None:
        """Release `reserved` dollars that `who` has reserved, and count `usd` as spent."""
        self._do(
            "insert into spent values (?1, ?2, ?4, 0) on conflict do update set "
            "usd = usd + ?4, reserved = max(0, reserved - ?3)",
            (stage, who, reserved, usd),
        )

    def spent(self, stage: str) -> float:
        """Return the dollars spent or reserved by a stage in all its runs."""
        return self._do("select total(usd + reserved) from spent where stage = ?", (stage,))[0][0]

    def batches(self) -> list[Sent]:
        """Return the batches, oldest first."""
        rows = self._do(
            "select keys, created, batch_id, digest, left_out from batches order by created"
        )
        return [Sent(json.loads(keys), *row) for keys, *row in rows]

    def keep_batch(self, batch: Sent) -> None:
        """Store a batch; it is on disk when this returns. Raises Stopped."""
        with self.transaction():
            self._do(
                "insert or replace into batches (keys, created, batch_id, digest, left_out) "
                "values (?, ?, ?, ?, ?)",
                (json.dumps(batch.keys), batch.created, batch.id, batch.digest, batch.left_out),
            )

    def forget(self, digest: str) -> None:
        """Drop a batch."""
        self._do("delete from batches where digest = ?", (digest,))

    def entries(self) -> list[Entry]:
        """Return every entry, in the same order for any endpoint, so that exports are equal."""
        return [
            Entry(*row)
            for row in self._do(
                f"select {_COLUMNS} from replies order by request_key, asked_at, key"
            )
        ]

    def close(self) -> None:
        """Close the file; SQLite merges its log into it if no other process has it open."""
        self.database.close()
