"""Call an endpoint's file and batch APIs. All calls raise Fault; only a new batch costs money."""

from collections.abc import Awaitable
from typing import TYPE_CHECKING, TypeVar

from lib.llm.batch.rows import Sent
from lib.llm.faults import Fault
from lib.llm.http import Http

if TYPE_CHECKING:
    from openai.types import Batch

GONE = (404, 405, 501)  # statuses of what the endpoint does not know
_A_DAY = 86_400  # seconds; the clocks of two machines differ by less
_Got = TypeVar("_Got")


class BatchApi:
    """Batch calls of the client of `http`."""

    def __init__(self, http: Http) -> None:
        self.http = http

    async def upload(self, content: bytes) -> str:
        """Upload an input file; return its id."""
        return (await self._one(self.http.client.files.create(
            file=("requests.jsonl", content), purpose="batch"))).id

    async def create(self, file_id: str, batch: Sent) -> str:
        """Create a batch from a file; return its id."""
        return (await self._one(self.http.client.batches.create(
            input_file_id=file_id, endpoint="/v1/chat/completions", completion_window="24h",
            metadata={"digest": batch.digest}))).id

    async def find(self, batch: Sent) -> str:
        """Return the id of the batch with our digest, or "" if the endpoint lists none."""
        async def search() -> str:
            async for one in self.http.client.batches.list(limit=100):
                if (one.metadata or {}).get("digest") == batch.digest:
                    return one.id
                if one.created_at < batch.created - _A_DAY:  # the newest are listed first
                    break
            return ""
        return await self._known(self._whole(search())) or ""

    async def look(self, batch: Sent) -> "Batch | None":
        """Return the state of a batch; None if the endpoint does not know it."""
        return await self._known(self._one(self.http.client.batches.retrieve(batch.id)))

    async def read(self, file_id: str) -> bytes:
        """Return a file; empty if it was deleted or has expired."""
        file = await self._known(self.http.reply(self.http.client.files.content(file_id)))
        return file.content if file else b""

    async def _one(self, call: Awaitable[_Got]) -> _Got:
        """Return a file or batch; the client does not check that a reply is one."""
        async def read() -> _Got:
            got = await call
            if not isinstance(got.id, str) or not isinstance(got.created_at, int | float):
                raise TypeError
            return got
        return await self._whole(read())

    async def _whole(self, call: Awaitable[_Got]) -> _Got:
        try:
            return await self.http.reply(call)
        except (AttributeError, TypeError):  # a proxy's page, for example
            raise Fault("the reply is not what was asked for", is_worth_repeating=True) from None

    async def _known(self, call: Awaitable[_Got]) -> _Got | None:
        try:
            return await call
        except Fault as fault:
            if fault.status in GONE:
                return None
            raise
