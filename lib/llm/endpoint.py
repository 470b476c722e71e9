"""Where calls go and who pays: key and base URL from the environment or .env, written nowhere else."""

import logging
import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from dotenv import dotenv_values

from lib.core.paths import REPOSITORY

if TYPE_CHECKING:
    import openai

OPENAI = "https://api.openai.com/v1"
_SECRET = 16  # characters of a key that is worth hiding


@dataclass(frozen=True)
class Endpoint:
    """An OpenAI-compatible endpoint. Neither field shows in a repr, and so in no traceback."""

    key: str = field(repr=False)
    url: str = field(repr=False)

    @property
    def is_openai(self) -> bool:
        """Whether OpenAI itself, or Azure, answers: they refuse `max_tokens` beside `max_completion_tokens`."""
        return (urlsplit(self.url).hostname or "").endswith(("openai.com", "azure.com"))

    def without_key(self, body: str) -> str:
        """A reply as it is stored: a key that it echoes is taken out, and nothing else, because it is the reply.

        A short key, as one gives to a server of one's own, is no secret and may be a word of the text.
        """
        return body.replace(self.key, "[key]") if len(self.key) >= _SECRET else body

    def scrubbed(self, text: str) -> str:
        """An error message of a server without key, base URL and host, whatever it may echo."""
        parts = urlsplit(self.url)
        for secret in (self.url, parts.netloc, parts.hostname or ""):
            text = text.replace(secret, "[endpoint]") if secret else text
        text = text.replace(self.key, "[key]") if self.key else text
        return re.sub(r"\bsk-[\w*.-]{4,}", "[key]", text)  # OpenAI's own message quotes a part of the key

    def client(self) -> "openai.AsyncOpenAI":
        """One client for all calls of a run; its own retries are off, because ours know the limits."""
        import httpx2
        import openai  # half a second: only where something must be asked
        for name in ("openai", "httpx2", "httpcore2", "httpx", "aiohttp"):  # their debug lines show the address
            logging.getLogger(name).setLevel(logging.WARNING)
        # Nothing is redirected, so certificates, which take 40 ms to load, are for https alone.
        over = openai.DefaultAioHttpClient(timeout=None, follow_redirects=False, verify=self.url.startswith("https"))
        return openai.AsyncOpenAI(api_key=self.key, base_url=self.url, max_retries=0, http_client=over,
                                  timeout=httpx2.Timeout(None, connect=30.0))


def endpoint() -> Endpoint | None:
    """The endpoint of OPENAI_API_KEY and OPENAI_BASE_URL, from the environment, else from .env; None without a key.

    Raises RuntimeError where one of them cannot be used, without repeating it.
    """
    written = dotenv_values(REPOSITORY / ".env")
    key, url = ((os.environ.get(name) or written.get(name) or "").strip()
                for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"))
    if not key:
        return None
    if not re.fullmatch(r"[\x21-\x7e]+", key):
        raise RuntimeError("OPENAI_API_KEY holds blanks or characters that no key has: set it again")
    if url and not (re.match(r"https?://", url) and urlsplit(url).hostname):
        raise RuntimeError("OPENAI_BASE_URL is no address such as http://localhost:8000/v1: set it again, or unset it")
    return Endpoint(key, (url or OPENAI).rstrip("/"))
