"""Paid replies in one SQLite file per study, which several processes may share."""

import json
import os
import socket
import sqlite3
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields
from pathlib import Path
from uuid import uuid4

from lib.core.store import BadInput, Stopped, shown
from lib.llm.request import Request

_VERSION = 2
_SCHEMA = """
create table if not exists replies (key text primary key, request_key text, model text, \
request text, raw text,
    prompt_tokens integer, completion_tokens integer, finish_reason text, seconds real, \
asked_at text, request_id text,
    via text);
create index if not exists by_request on replies (request_key);
create table if not exists batches (digest text primary key, batch_id text, keys text, \
created real);
alter table replies add column left_out text default '';
alter table batches add column left_out text default '';
drop table if exists claims;
create table claims (key text primary key, holder text, until real);
create table spent (stage text, who text, usd real, reserved real, primary key (stage, who))
"""
# One statement and therefore one commit, because each runs before a call.
_CLAIM = """
insert or replace into claims select ?1, ?2, ?3 where not exists (select 1 from replies
    where key = ?1) and not exists (select 1 from claims where key = ?1 and holder <> ?2
    and until > ?4) returning 1
"""
_RESERVE = """
insert into spent select ?1, ?2, 0, ?3 where ?3 + (select total(usd + reserved) from spent
    where stage = ?1) <= ?4 on conflict do update set reserved = reserved + ?3 returning 1
"""
# File systems of one machine. WAL shares memory between processes, which no network disk does.
_LOCAL = ("btrfs", "ext2/ext3", "f2fs", "overlayfs", "tmpfs", "xfs", "zfs")
_DAMAGED = (
    "restore a copy of it, save what can be read with sqlite3's .recover, or move the file "
    "away: its replies are then paid for again"
)
# By the beginning of SQLite's name of the error.
_REMEDIES = {
    "SQLITE_CORRUPT": _DAMAGED,
    "SQLITE_NOTADB": _DAMAGED,
    "SQLITE_READONLY": "make file and folder writable, or set STUDY_ROOT to a copy that is",
    "": "free some space and run the same command again: what is stored is kept, and nothing is "
    "sent twice",
}


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
    requests: Mapping[str, Request] = field(default_factory=dict)  # those that are wanted now


_COLUMNS = ", ".join(one.name for one in fields(Entry))


class Cache:
    """The replies in `path`, each committed before its call counts as made."""

    def __init__(self, path: Path) -> None:
        self.path, self.me = path, _process(os.getpid())
        self.waits_for: set[str] = set()  # processes of other machines
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._open()
        if (version := self._version()) != _VERSION:
            raise BadInput(
                f"{shown(self.path)} is no cache of this version ({version}, here "
                f"{_VERSION}): export it there and import it here, or move it away"
            )

    def _open(self) -> None:
        where = self.path.resolve().as_uri()
        is_writable = all(
            os.access(one, os.W_OK) for one in (self.path.parent, self.path) if one.exists()
        )
        if not is_writable:
            # nobody writes: without the log of a writer, no lock is needed
            has_log = Path(f"{self.path}-wal").exists()
            where += "?mode=ro" if has_log else "?immutable=1"
        try:
            self.database = sqlite3.connect(
                where, uri=True, timeout=60, isolation_level=None, check_same_thread=False
            )
        except sqlite3.Error as error:
            raise Stopped(
                f"{shown(self.path)}: {error}; make it a file that you can read, or move it away"
            ) from error
        if is_writable:
            self._prepare()
        self.inode = self.path.stat().st_ino

    def _prepare(self) -> None:
        journal = _journal_for(self.path.parent)
        with suppress(sqlite3.Error):  # busy: another process has it open, as it is
            self.database.execute(f"pragma journal_mode = {journal}").close()
        # WAL: readers never wait for a writer. NORMAL (1): safe against a killed process; a power
        # cut may lose the last replies, never the file.
        self._do(f"pragma synchronous = {1 if journal == 'wal' else 2}")
        if self._version() < _VERSION:
            self._do("begin immediate")  # one process changes the schema
            if self._version() < _VERSION:
                for statement in _SCHEMA.split(";"):
                    self._do(statement)
                self._do(f"pragma user_version = {_VERSION}")
            self._do("commit")

    def _version(self) -> int:
        return self._do("pragma user_version")[0][0]

    def _do(self, statement: str, values: Sequence[object] = ()) -> list[tuple]:
        try:
            return self.database.execute(statement, values).fetchall()
        except sqlite3.Error as error:
            name = getattr(error, "sqlite_errorname", "")
            remedy = next(text for start, text in _REMEDIES.items() if name.startswith(start))
            raise Stopped(f"{shown(self.path)}: {error}; {remedy}") from error

    def _check_place(self) -> None:
        # A removed file would take all further replies with it, and SQLite would not notice.
        if not self.path.exists():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._do("vacuum into ?", (str(self.path),))
        elif self.path.stat().st_ino == self.inode:
            return
        print(
            f"{shown(self.path)} was removed while in use: replies go to the one that is there now",
            flush=True,
        )
        self.close()  # before the new file has a log, because this removes the log by its name
        self._open()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Commit all that is stored in the context, or nothing. Raises Stopped."""
        self._check_place()
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
        """Store replies and release their claims, in a `transaction`; return how many are new."""
        slots = ",".join("?" * len(fields(Entry)))
        statement = f"insert or ignore into replies ({_COLUMNS}) values ({slots}) returning 1"
        n_new = sum(len(self._do(statement, tuple(vars(entry).values()))) for entry in entries)
        self.release([entry.key for entry in entries])
        return n_new

    def claim(self, key: str, seconds: float) -> bool:
        """Claim `key` for this process; False if it has a reply or another process requests it.

        A claim ends with its reply, after `seconds`, or with its process, if on this machine.
        """
        now = time.time()
        while not self._do(_CLAIM, (key, self.me, now + seconds, now)):
            if self.has(key):
                return False
            for holder, until in self._do("select holder, until from claims where key = ?", (key,)):
                machine, pid, *_ = holder.split()
                is_far = machine != socket.gethostname()
                if is_far and holder not in self.waits_for:
                    print(
                        f"{shown(self.path)}: waiting for a process of another machine "
                        f"({holder}); if it has ended, which nobody can see here, its replies "
                        f"are asked for again in {(until - now) / 60:.0f} minutes",
                        flush=True,
                    )
                    self.waits_for.add(holder)
                if is_far or _process(int(pid)) == holder:
                    return False
                self._do("delete from claims where key = ? and holder = ?", (key, holder))
        return True

    def renew(self, seconds: float) -> None:
        """Extend every claim of this process to `seconds` from now."""
        self._do("update claims set until = ? where holder = ?", (time.time() + seconds, self.me))

    def release(self, keys: Sequence[str]) -> None:
        """Release claims."""
        for key in keys:
            self._do("delete from claims where key = ?", (key,))

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


def _journal_for(folder: Path) -> str:
    kind = subprocess.run(["stat", "-f", "-c", "%T", folder], capture_output=True, text=True)
    return "wal" if kind.stdout.strip() in _LOCAL else "truncate"


def _process(pid: int) -> str:
    # Machine, id and start, because ids are used again; "" if it does not run.
    try:
        os.kill(pid, 0)
        state, *more = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except ProcessLookupError:
        return ""
    except OSError:  # another user's, or not Linux
        state, more = "", []
    # A killed process that awaits its parent (Z) does not run.
    return "" if state == "Z" else f"{socket.gethostname()} {pid} {more[18] if more else ''}"
