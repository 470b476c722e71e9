"""Write run.json: the code, parameters, versions, inputs and machine behind a study's numbers."""

import hashlib
import json
import os
import platform
import re
import subprocess
import sys
from datetime import UTC, datetime
from importlib.metadata import distributions
from pathlib import Path

from lib.core.store import REPOSITORY, artifact_path, data_path, output_root, shown, write_json


def code_state() -> dict[str, object]:
    """Return {"commit", "dirty"} of the repository; both None if it is not a git checkout."""
    git = ("git", f"--git-dir={REPOSITORY / '.git'}", f"--work-tree={REPOSITORY}")
    commit = _output(*git, "rev-parse", "HEAD")
    return {"commit": commit, "dirty": commit and bool(_output(*git, "status", "--porcelain"))}


def machine() -> dict[str, object]:
    """Return this machine's name, processor, cores, GPUs and operating system."""
    gpus = _output("nvidia-smi", "--query-gpu=name", "--format=csv,noheader") or ""
    processor = re.search(r"model name\s*: (.+)", _output("cat", "/proc/cpuinfo") or "")
    return {
        "node": os.environ.get("SLURMD_NODENAME") or platform.node(),
        "processor": processor[1] if processor else platform.processor(),
        "cores": os.cpu_count(),
        "gpus": gpus.splitlines(),
        "system": platform.platform(),
    }


def write_run(study: str, stages: list[Path]) -> Path:
    """Write data/<study>/run.json from the records of its `stages`.

    Each stage keeps its own commit and parameters. Raises FileNotFoundError if a record is missing.
    """
    records = {}
    for path in stages:
        owner = path.parts[-3]  # another study, if its laboratory made the base model
        record = json.loads(path.read_text(encoding="utf-8"))
        records[f"{owner}/" * (owner != study) + record["stage"]] = record
    inputs = ("documents", "queries", "normalized", "augmented")
    return write_json(
        data_path(study, "run.json"),
        {
            "study": study,
            "written": datetime.now(UTC).isoformat(timespec="seconds"),
            **code_state(),
            "seconds": round(sum(record["seconds"] for record in records.values()), 1),
            "stages": records,
            "prompts": _hashes(sorted((REPOSITORY / "prompts").rglob("*.md"))),
            "inputs": _hashes(
                [
                    REPOSITORY / "studies" / f"{study}.yaml",
                    *(artifact_path(study, name) for name in inputs),
                ]
            ),
            "versions": {
                "python": platform.python_version(),
                **{package.name: package.version for package in distributions()},
            },
            "machine": machine(),
        },
    )


def _hashes(paths: list[Path]) -> dict[str, str]:
    return {
        str(path.relative_to(REPOSITORY))
        if path.is_relative_to(REPOSITORY)
        else shown(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in paths
        if path.is_file()
    }


def _output(*command: str) -> str | None:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


if __name__ == "__main__":
    try:
        write_run(sys.argv[1], [output_root() / path for path in sys.argv[2:]])
    except OSError as error:  # a full disk, reported without a traceback
        sys.exit(f"run.json: {error}")
