"""Fetching from EDGAR: clear errors without identity, package or network; nothing half-written."""

import importlib.util
import os
import subprocess
import sys

import pytest

from lib.core.errors import BadInput
from lib.core.paths import REPOSITORY
from lib.tasks.tablequest.filings.edgar import fetch

ANN = "Ann Smith ann@example.com"


@pytest.mark.parametrize("ticker", ["../x", "A B", "", "A" * 11])
def test_a_ticker_cannot_be_a_path(tmp_path, ticker):
    with pytest.raises(BadInput, match="ticker"):
        fetch(ticker, 2024, ANN, tmp_path)


@pytest.mark.skipif(importlib.util.find_spec("edgar") is None, reason="edgartools is optional")
def test_without_a_network_it_says_so_and_writes_nothing(tmp_path):
    closed = dict.fromkeys(("HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy"),
                           "http://127.0.0.1:9")
    env = {**os.environ, **closed, "EDGAR_IDENTITY": ANN, "EDGAR_LOCAL_DATA_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "lib.tasks.tablequest.filings.edgar", "AAPL", "2024"]
    done = subprocess.run([*command, str(tmp_path / "out")], env=env, cwd=REPOSITORY, text=True,
                          capture_output=True, timeout=120, check=False)
    assert done.returncode == 1
    assert "EDGAR did not answer" in done.stderr or "no company" in done.stderr
    assert not (tmp_path / "out").exists()
