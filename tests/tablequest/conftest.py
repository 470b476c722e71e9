"""Calls whose replies are kept for one test."""

import pytest

from lib.llm.calls import Calls


@pytest.fixture
def calls(tmp_path) -> Calls:
    """Return settings without a limit but the default."""
    return Calls(tmp_path / "llm.sqlite")
