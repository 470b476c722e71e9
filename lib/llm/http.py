"""Make HTTP calls to the endpoint, for direct calls and batches; what is no reply is a Fault."""

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from lib.llm.endpoint import Endpoint
from lib.llm.faults import fault_of, fault_of_status

if TYPE_CHECKING:
    import aiohttp


class Http:
    """Connections to `endpoint`, open while the context is; `heed` gets the headers of replies.

    It uses aiohttp: the openai client took twice the processor time of a call, and its retries and
    types were not in use.
    """

    def __init__(self, endpoint: Endpoint, model: str, timeout_seconds: float,
                 heed: Callable[[Mapping[str, str]], None]) -> None:
        self.endpoint, self.model, self.heed = endpoint, model, heed
        self.timeout_seconds = timeout_seconds

    async def __aenter__(self) -> "Http":
        self.session = self.endpoint.session(self.timeout_seconds)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.session.close()

    async def call(self, method: str, path: str, body: Mapping[str, object] | None = None,
                   form: "aiohttp.FormData | None" = None) -> tuple[bytes, Mapping[str, str]]:
        """Return the body and headers of a reply with a status of 200 to 299. Raises Fault.

        `body` is sent as JSON, `form` as a form.
        """
        import aiohttp
        try:
            async with self.session.request(method, self.endpoint.url + path, json=body, data=form,
                                            allow_redirects=False) as got:
                content = await got.read()
        except (aiohttp.ClientError, OSError, ValueError) as error:  # ClientError: perhaps no HTTP
            raise fault_of(error, self.timeout_seconds) from None
        self.heed(got.headers)
        if not got.ok or got.status >= 300:
            fault = fault_of_status(got.status, _parsed(content), got.headers, self.model,
                                    self.endpoint, body or {})
            fault.status = got.status
            raise fault
        return content, got.headers


def _parsed(content: bytes) -> object:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):  # a proxy's page
        return None
