"""The endpoint's key and base URL, from the environment or .env; they are written nowhere."""

import logging
import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

from lib.core.store import REPOSITORY, BadStudy

if TYPE_CHECKING:
    import aiohttp
    import openai

OPENAI = "https://api.openai.com/v1"


@dataclass(frozen=True)
class Endpoint:
    """An OpenAI-compatible endpoint. Its repr, and so a traceback, shows neither field."""

    key: str = field(repr=False)
    url: str = field(repr=False)

    @property
    def is_openai(self) -> bool:
        """True for OpenAI or Azure, which reject two names for the token limit."""
        return (urlsplit(self.url).hostname or "").endswith(("openai.com", "azure.com"))

    def without_key(self, body: str) -> str:
        """Return a reply as it is stored; a short key, such as a local server's, may be a word."""
        return body.replace(self.key, "[key]") if len(self.key) >= 16 else body

    def scrubbed(self, text: str) -> str:
        """Return a server's error message without key, base URL and host."""
        parts = urlsplit(self.url)
        for secret in (self.url, parts.netloc, parts.hostname or parts.netloc):
            text = text.replace(secret, "[endpoint]")
        text = text.replace(self.key, "[key]")
        return re.sub(r"\bsk-[\w*.-]{4,}", "[key]", text)  # OpenAI's message quotes part of the key

    def client(self) -> "openai.AsyncOpenAI":
        """Return a client without retries: each of ours is counted, as it may be charged."""
        import openai  # takes half a second, so only if it is needed

        for name in ("openai", "httpx2", "httpcore2", "aiohttp"):
            logging.getLogger(name).setLevel(logging.WARNING)  # their debug lines show the address
        # Certificates (40 ms to load) are needed only for https; no redirect to https is followed.
        return openai.AsyncOpenAI(
            api_key=self.key,
            base_url=self.url,
            max_retries=0,
            http_client=openai.DefaultAioHttpClient(
                timeout=openai.Timeout(None, connect=30.0),
                follow_redirects=False,
                verify=self.url.startswith("https"),
            ),
        )

    def session(self, client: "openai.AsyncOpenAI") -> "aiohttp.ClientSession":
        """Return a session with the headers of `client`, whose layers double a call's CPU time."""
        import aiohttp

        parts, headers = urlsplit(self.url), client.default_headers | client.auth_headers
        proxies = {} if proxy_bypass(parts.netloc) else getproxies()
        return aiohttp.ClientSession(
            headers={name: value for name, value in headers.items() if isinstance(value, str)},
            connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=5.0),
            timeout=aiohttp.ClientTimeout(sock_connect=30.0),
            proxy=proxies.get(parts.scheme) or proxies.get("all"),
        )


def endpoint() -> Endpoint | None:
    """Return the endpoint of OPENAI_API_KEY and OPENAI_BASE_URL; None without a key.

    The environment takes precedence over .env. Raises BadStudy, without the value in the message.
    """
    from dotenv import dotenv_values

    try:
        written = dotenv_values(REPOSITORY / ".env")
    except UnicodeDecodeError:
        raise BadStudy(f"{REPOSITORY / '.env'} is not UTF-8: save it as UTF-8") from None
    key, url = (
        (os.environ.get(name) or written.get(name) or "").strip()
        for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL")
    )
    if not key:
        return None
    if not re.fullmatch(r"[\x21-\x7e]+", key):
        raise BadStudy(
            "OPENAI_API_KEY has whitespace or characters that a key cannot have: set it again"
        )
    url = (url or OPENAI).rstrip("/")
    # A user name or password is sent by no client, and would reach logs.
    if not re.match(r"https?://[^/@]+(/[^@]*)?$", url):
        raise BadStudy(
            "OPENAI_BASE_URL is not an address such as http://localhost:8000/v1, "
            "without user name and password: set it again, or unset it"
        )
    return Endpoint(key, url)
