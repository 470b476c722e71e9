"""Store paid replies in one SQLite file per study, which several processes may share."""

import os
import sqlite3
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

from lib.core.paths import shown

_VERSION = 1
_SCHEMA = """
create table if not exists replies (key text primary key, request_key text, model text, \
request text, raw text,
    prompt_tokens integer, completion_tokens integer, finish_reason text, seconds real, \
asked_at text, request_id text,
    via text);
create index if not exists by_request on replies (request_key);
create table if not exists claims (key text primary key, pid integer, until real);
create table if not exists batches (digest text primary key, batch_id text, keys text, \
created real);
"""
# One statement and therefore one commit, because it runs before every call.
_CLAIM = """
insert or replace into claims select ?, ?, ? where not exists (select 1 from replies where key = ?)
    and not exists (select 1 from claims where key = ? and pid <> ? and until > ?)
"""


class CacheFailed(RuntimeError):
    """The cache cannot be read or written."""


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


_COLUMNS = ", ".join(field.name for field in fields(Entry))


class Cache:
    """The replies in `path`, each committed before its call counts as made, so kill -9 loses none.

    Raises CacheFailed, naming the file, if it cannot be opened or is not a cache of ours.
    """

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self.database = sqlite3.connect(self.path, timeout=60, isolation_level=None,
                                            check_same_thread=False)
            # WAL: readers never wait for a writer. NORMAL: safe against a killed process; a power
            # cut may lose the last replies, never the file.
            self.database.executescript("pragma journal_mode = wal; pragma synchronous = normal;")
            version = self.database.execute("pragma user_version").fetchone()[0]
            if version not in (0, _VERSION):
                raise CacheFailed(f"{shown(self.path)} was written by another version of this "
                                  f"study ({version}, here {_VERSION}): export it there and "
                                  "import it here, or move it away")
            if version == 0:
                self.database.executescript(f"begin immediate; {_SCHEMA} "
                                            f"pragma user_version = {_VERSION}; commit;")
        except sqlite3.Error as error:
            raise CacheFailed(f"{shown(self.path)} cannot be opened as a cache: {error}; "
                              "move it away") from error

    def get(self, request_keys: Sequence[str]) -> dict[str, list[Entry]]:
        """Return the stored entries by request key: one per endpoint, oldest first."""
        found: dict[str, list[Entry]] = {}
        for start in range(0, len(request_keys), 500):  # SQLite limits the number of slots
            some = list(request_keys[start:start + 500])
            slots = ",".join("?" * len(some))
            for row in self.database.execute(f"select {_COLUMNS} from replies where request_key in "
                                             f"({slots}) order by asked_at, key", some):
                found.setdefault(row[1], []).append(Entry(*row))
        return found

    def has(self, key: str) -> bool:
        """Return whether there is a reply with this key."""
        found = self.database.execute("select 1 from replies where key = ?", (key,))
        return found.fetchone() is not None

    def put(self, entry: Entry) -> None:
        """Store a reply and release its claim. Raises CacheFailed if it cannot be stored."""
        self.put_all([entry])

    def put_all(self, entries: Sequence[Entry]) -> int:
        """Store replies and release their claims, all or none; return how many are new.

        Raises CacheFailed if they cannot be stored.
        """
        slots, before = ",".join("?" * len(fields(Entry))), self.database.total_changes
        try:
            self.database.execute("begin immediate")
            try:
                self.database.executemany(
                    f"insert or ignore into replies ({_COLUMNS}) values ({slots})",
                    [tuple(vars(entry).values()) for entry in entries])
                n_new = self.database.total_changes - before
                self.database.executemany("delete from claims where key = ?",
                                          [(entry.key,) for entry in entries])
                self.database.execute("commit")
                return n_new
            finally:
                if self.database.in_transaction:
                    self.database.execute("rollback")
        except sqlite3.Error as error:
            raise CacheFailed(f"{shown(self.path)} refuses a reply: {error}. Free some space and "
                              "run the same command again: what is stored is kept") from error

    def claim(self, key: str, seconds: float) -> bool:
        """Claim `key` for this process; False if it has a reply or another process requests it.

        A claim ends with its reply, with its process, or after `seconds`.
        """
        now, mine = time.time(), os.getpid()
        values = (key, mine, now + seconds, key, key, mine, now)
        while not self.database.execute(_CLAIM, values).rowcount:
            found = self.database.execute("select pid from claims where key = ?", (key,))
            (holder,) = found.fetchone() or (0,)
            if self.has(key) or holder and _is_alive(holder):
                return False
            self.database.execute("delete from claims where key = ? and pid = ?", (key, holder))
        return True

    def release(self, key: str) -> None:
        """Release a claim without a reply."""
        self.database.execute("delete from claims where key = ?", (key,))

    def entries(self) -> Iterator[Entry]:
        """Yield every entry, in the same order for any endpoint, so that exports are equal."""
        for row in self.database.execute(f"select {_COLUMNS} from replies "
                                         "order by request_key, asked_at, key"):
            yield Entry(*row)

    def close(self) -> None:
        """Close the file; SQLite merges its log into it if no other process has it open."""
        self.database.close()


def _is_alive(pid: int) -> bool:
    """Return whether a process runs; a killed one that awaits its parent does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (OSError, IndexError):  # not Linux, or it has just ended
        return True
