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


def versions() -> dict[str, str]:
    """Return the versions of Python and of every installed package."""
    return {
        "python": platform.python_version(),
        **{package.name: package.version for package in distributions()},
    }


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


def hashes(paths: list[Path]) -> dict[str, str]:
    """Return the SHA-256 of each file that exists, keyed by its path in the repository or study."""
    return {
        str(path.relative_to(REPOSITORY))
        if path.is_relative_to(REPOSITORY)
        else shown(path): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(set(paths))
        if path.is_file()
    }


def write_run(study: str, stages: list[Path]) -> Path:
    """Write data/<study>/run.json from the records of its `stages`.

    Each stage keeps its own commit and parameters. Raises FileNotFoundError if a record is missing.
    """
    records = [json.loads(path.read_text(encoding="utf-8")) for path in stages]
    inputs = [
        REPOSITORY / "studies" / f"{study}.yaml",
        *(
            artifact_path(study, name)
            for name in ("documents", "queries", "normalized", "augmented")
        ),
    ]
    named = {}
    for path, record in zip(stages, records, strict=True):
        owner = path.parts[-3]  # another study, if its laboratory made the base model
        named[record["stage"] if owner == study else f"{owner}/{record['stage']}"] = record
    return write_json(
        data_path(study, "run.json"),
        {
            "study": study,
            "written": datetime.now(UTC).isoformat(timespec="seconds"),
            **code_state(),
            "seconds": round(sum(record["seconds"] for record in records), 1),
            "stages": named,
            "prompts": hashes(list((REPOSITORY / "prompts").rglob("*.md"))),
            "inputs": hashes(inputs),
            "versions": versions(),
            "machine": machine(),
        },
    )


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
