"""Call an endpoint's file and batch APIs; retry failed calls, but never create a batch twice."""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import count
from typing import TYPE_CHECKING, TypeVar

from lib.llm.batch.rows import Sent
from lib.llm.direct import Direct
from lib.llm.faults import MOST_TRIES, Fault, pause

if TYPE_CHECKING:
    import openai
    from openai.types import Batch

_A_DAY = 86_400  # seconds; the clocks of two machines differ by less
_Got = TypeVar("_Got")


class BatchStopped(Exception):
    """No batch can continue; the message tells the analyst why."""


class NotThere(Exception):
    """The endpoint does not know what was requested."""


class BatchApi:
    """Batch calls of `client`. Raises BatchStopped if they fail for good, NotThere for a 404."""

    def __init__(self, client: "openai.AsyncOpenAI", direct: Direct) -> None:
        self.client, self.direct = client, direct

    async def upload(self, content: bytes) -> str:
        """Upload an input file; return its id. An unused file costs nothing."""
        from openai.types import FileObject
        file = await self._call(FileObject, lambda: self.client.files.create(
            file=("requests.jsonl", content), purpose="batch"))
        return file.id

    async def create(self, file_id: str, batch: Sent) -> str:
        """Create a batch from a file; return its id. After a lost reply, look for one first."""
        async def new() -> str:
            return (await self.client.batches.create(
                input_file_id=file_id, endpoint="/v1/chat/completions", completion_window="24h",
                metadata={"digest": batch.digest})).id
        return await self._call(str, new, before_again=lambda: self.find(batch))

    async def find(self, batch: Sent) -> str:
        """Return the id of the batch with our digest, or "" if the endpoint lists none."""
        async def search() -> str:
            async for one in self.client.batches.list(limit=100):
                if (one.metadata or {}).get("digest") == batch.digest:
                    return one.id
                if one.created_at < batch.created - _A_DAY:  # newest first
                    break
            return ""
        try:
            return await self._call(str, search)
        except NotThere:
            return ""

    async def look(self, batch: Sent) -> "Batch":
        """Return the state of a batch."""
        from openai.types import Batch
        return await self._call(Batch, lambda: self.client.batches.retrieve(batch.id))

    async def read(self, file_id: str) -> bytes:
        """Return a file; empty if it was deleted or has expired."""
        from openai import HttpxBinaryResponseContent
        try:
            file = await self._call(HttpxBinaryResponseContent,
                                    lambda: self.client.files.content(file_id))
        except NotThere:
            return b""
        return file.content

    async def _call(self, kind: type[_Got], make: Callable[[], Awaitable[_Got]],
                    before_again: Callable[[], Awaitable[_Got]] | None = None) -> _Got:
        """Return the result of `make`, of type `kind`; retry unless `before_again` finds one."""
        for n_tries in count(1):
            if n_tries > 1 and before_again and (found := await before_again()):
                return found
            if not isinstance(got := await self._tried(kind, make), Fault):
                return got
            if got.stops or not got.is_worth_repeating or n_tries >= MOST_TRIES:
                raise BatchStopped(got.stops or f"no batch can continue ({got.reason}): run the "
                                   'same command again, or set mode to "direct"')
            await asyncio.sleep(pause(n_tries, got))
        raise AssertionError  # count() never ends

    async def _tried(self, kind: type[_Got], make: Callable[[], Awaitable[_Got]]) -> _Got | Fault:
        import aiohttp
        import openai
        try:
            async with asyncio.timeout(self.direct.calls.timeout_seconds):
                got = await make()
        except openai.APIStatusError as error:
            if error.status_code in (404, 405, 501):
                raise NotThere from None
            return self.direct.fault(error, {})
        except (openai.OpenAIError, aiohttp.ClientError, OSError, ValueError, TypeError,
                AttributeError) as error:  # the last two if a web page is sent, not a batch
            return self.direct.fault(error, {})
        return got if isinstance(got, kind) else Fault("the reply is not JSON",
                                                       is_worth_repeating=True)
