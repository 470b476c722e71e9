"""No test waits for openai's back-off or for a batch."""

import pytest

from tests.llm_server import Server


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Shorten the waits between tries and between looks at a batch."""
    for name in ("INITIAL", "MAX"):
        monkeypatch.setattr(f"openai._base_client.{name}_RETRY_DELAY", 0.05)
    monkeypatch.setattr("lib.llm.batch.POLL_SECONDS", 0.05)


@pytest.fixture
def at(monkeypatch):
    """Point the environment to a server: at(server)."""

    def point(server: Server, key: str = "sk-a-key-of-this-test") -> Server:
        monkeypatch.setenv("OPENAI_API_KEY", key)
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        return server

    return point
