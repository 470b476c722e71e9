"""Call the endpoint with openai's client, directly and for batches; what is no reply is a Fault."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

from lib.llm.endpoint import Endpoint
from lib.llm.faults import fault_of

if TYPE_CHECKING:
    import httpx2

_Got = TypeVar("_Got")


class Http:
    """A client of `endpoint`, open while the context is; `heed` gets the headers of replies."""

    def __init__(self, endpoint: Endpoint, model: str, timeout_seconds: float,
                 heed: Callable[[Mapping[str, str]], None]) -> None:
        self.endpoint, self.model, self.heed = endpoint, model, heed
        self.timeout_seconds = timeout_seconds

    async def __aenter__(self) -> "Http":
        self.client = self.endpoint.client()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.client.close()

    async def chat(self, body: Mapping[str, object]) -> "httpx2.Response":
        """Return the reply to one chat completion, unread. Raises Fault."""
        import httpx2
        # `post` avoids the type checks of chat.completions.create: 25% of a call's CPU time.
        # As `body`, the client would write UTF-8, which has no lone surrogates.
        got = await self.reply(self.client.post("/chat/completions", cast_to=httpx2.Response,
                                                content=json.dumps(body).encode()), body)
        self.heed(got.headers)
        return got

    async def reply(self, call: Awaitable[_Got], sent: Mapping[str, object] | None = None) -> _Got:
        """Return the result of a call of the client with the parameters `sent`. Raises Fault."""
        import aiohttp
        import openai
        try:
            async with asyncio.timeout(self.timeout_seconds):  # the client limits each read
                return await call
        except (openai.OpenAIError, aiohttp.ClientError, OSError, ValueError) as error:
            # ClientError: the server does not speak HTTP
            if isinstance(error, openai.APIStatusError):
                self.heed(error.response.headers)
            raise fault_of(error, self.model, self.endpoint, sent or {},
                           self.timeout_seconds) from None
