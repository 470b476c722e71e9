"""Fetching from EDGAR: clear errors without identity, package or network; nothing half-written."""

import os
import subprocess
import sys

from lib.core.store import REPOSITORY

ANN = "Ann Smith ann@example.com"


def test_without_a_network_or_the_package_it_says_so_and_writes_nothing(tmp_path):
    env = {**os.environ, "HTTPS_PROXY": "http://127.0.0.1:9", "EDGAR_IDENTITY": ANN}
    command = [sys.executable, "-m", "lib.tasks.tablequest.filings.edgar", "AAPL", "2024"]
    done = subprocess.run(
        [*command, str(tmp_path / "out")],
        env=env,
        cwd=REPOSITORY,
        text=True,
        capture_output=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 1
    assert "EDGAR did not answer" in done.stderr
    assert not (tmp_path / "out").exists()
