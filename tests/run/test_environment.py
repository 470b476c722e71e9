"""environment.yml: what stands below pip is the lock, and installs what a study imports."""

import re
import shutil
import subprocess
import sys

import pytest
import yaml

from lib.core.store import REPOSITORY

LOCKS = ("requirements.lock", "environment.txt", "requirements-torch.lock")


def test_the_environment_pins_what_the_lock_pins():
    lock, pins, _ = (
        re.findall(r"^[\w.-]+==[^\s]+", (REPOSITORY / name).read_text(), re.M) for name in LOCKS
    )
    assert lock == pins and len(pins) > 200


@pytest.mark.slow
def test_the_pip_lines_of_the_environment_install_what_a_study_imports(tmp_path):
    for name in (*LOCKS, "environment.yml", "pyproject.toml"):
        shutil.copy(REPOSITORY / name, tmp_path)
    shutil.copytree(REPOSITORY / "lib", tmp_path / "lib")
    lines = yaml.safe_load((tmp_path / "environment.yml").read_text())["dependencies"][-1]["pip"]
    python = str(tmp_path / "own/bin/python")
    imports = "import lib, papermill, snakemake, torch; print(lib.__file__)"
    for command in (
        [sys.executable, "-m", "venv", "own"],
        [python, "-I", "-m", "pip", "install", "--quiet", *" ".join(lines).split()],
        [python, "-I", "-c", imports],
    ):
        ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert ran.returncode == 0, ran.stderr
    assert ran.stdout.strip() == str(tmp_path / "lib/__init__.py")
