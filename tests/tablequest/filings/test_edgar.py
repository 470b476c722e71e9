"""Fetching from EDGAR: clear errors without identity, package or network; nothing half-written."""

import importlib.util
import os
import subprocess
import sys

import pytest

from lib.core.paths import REPOSITORY
from lib.tablequest.filings.edgar import CannotFetch, fetch, main

ANN = "Ann Smith ann@example.com"


@pytest.mark.parametrize("identity", ["", "Ann Smith", "ann@example.com", "Ann ann@example"])
def test_who_asks_must_say_so_first(tmp_path, identity):
    with pytest.raises(CannotFetch, match="EDGAR_IDENTITY"):
        fetch("AAPL", 2024, identity, tmp_path)


@pytest.mark.parametrize("ticker", ["../x", "A B", "", "A" * 11])
def test_a_ticker_cannot_be_a_path(tmp_path, ticker):
    with pytest.raises(CannotFetch, match="ticker"):
        fetch(ticker, 2024, ANN, tmp_path)


@pytest.mark.skipif(importlib.util.find_spec("edgar") is not None, reason="edgartools is installed")
def test_without_the_package_it_says_how_to_get_it(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("EDGAR_IDENTITY", ANN)
    assert main(["AAPL", "2024", str(tmp_path)]) == 1
    assert "pip install edgartools" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(importlib.util.find_spec("edgar") is None, reason="edgartools is optional")
def test_without_a_network_it_says_so_and_writes_nothing(tmp_path):
    closed = dict.fromkeys(("HTTPS_PROXY", "HTTP_PROXY", "https_proxy", "http_proxy"),
                           "http://127.0.0.1:9")
    env = {**os.environ, **closed, "EDGAR_IDENTITY": ANN, "EDGAR_LOCAL_DATA_DIR": str(tmp_path)}
    command = [sys.executable, "-m", "lib.tablequest.filings.edgar", "AAPL", "2024"]
    done = subprocess.run([*command, str(tmp_path / "out")], env=env, cwd=REPOSITORY, text=True,
                          capture_output=True, timeout=120, check=False)
    assert done.returncode == 1
    assert "EDGAR did not answer" in done.stderr or "no company" in done.stderr
    assert not (tmp_path / "out").exists()
