"""Store the batches that were sent but not yet collected, so that a run resumes after kill -9."""

import json
import sqlite3
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import uuid4

from lib.llm.cache import Cache
from lib.llm.request import Request


@dataclass
class Sent:
    """A batch. Without an `id` it is only intended: nobody knows whether it was created."""

    keys: list[str]  # keys of all its requests
    requests: Mapping[str, Request]  # its requests that are wanted now
    created: float  # seconds since 1970
    id: str = ""  # given by the provider
    digest: str = field(default_factory=lambda: uuid4().hex)  # our mark, in its metadata
    left_out: str = ""  # parameters that its requests lack, as the endpoint refuses them
    tokens: int = 0  # tokens of its prompts
    usd: float = 0.0  # dollars reserved for it
    n_done: int = 0  # requests with a reply or an error at the last poll
    n_replied: int = 0


class Rows:
    """The table of batches. Raises CacheFailed if a row cannot be stored."""

    def __init__(self, cache: Cache) -> None:
        self.cache = cache

    def of(self, waiting: Mapping[str, Request]) -> list[Sent]:
        """Return the batches that contain any of `waiting`, oldest first."""
        found = []
        for keys, *row in self._do("select keys, created, batch_id, digest, left_out from batches "
                                   "order by created").fetchall():
            keys = json.loads(keys)
            if requests := {key: waiting[key] for key in keys if key in waiting}:
                found.append(Sent(keys, requests, *row))
        return found

    def keep(self, batch: Sent) -> None:
        """Store a batch; it is on disk when this returns."""
        self._do("insert or replace into batches (digest, batch_id, keys, created, left_out) "
                 "values (?, ?, ?, ?, ?)", (batch.digest, batch.id, json.dumps(batch.keys),
                                            batch.created, batch.left_out))

    def forget(self, batch: Sent) -> None:
        """Drop a batch."""
        self._do("delete from batches where digest = ?", (batch.digest,))

    def renew(self, seconds: float) -> None:
        """Extend every claim of this process to `seconds` from now."""
        self._do("update claims set until = ? where holder = ?",
                 (time.time() + seconds, self.cache.me))

    def _do(self, statement: str, values: tuple = ()) -> sqlite3.Cursor:
        with self.cache.failing("does not record a batch", "free some space and run the same "
                                "command again: nothing is sent twice"):
            return self.cache.database.execute(statement, values)
