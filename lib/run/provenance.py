"""Write run.json: the code, parameters, versions, inputs and machine behind a study's numbers."""

import hashlib
import importlib.metadata
import json
import os
import platform
import re
import subprocess
import sys
import tomllib
from datetime import UTC, datetime
from pathlib import Path

from lib.core.files import artifact_path, write_json
from lib.core.paths import REPOSITORY, data_path, output_root, shown


def code_state() -> dict[str, object]:
    """Return {"commit", "dirty"} of the repository; both None if it is not a git checkout."""
    top = _git("rev-parse", "--show-toplevel")
    if top is None or Path(top).resolve() != REPOSITORY:
        return {"commit": None, "dirty": None}
    return {"commit": _git("rev-parse", "HEAD"), "dirty": bool(_git("status", "--porcelain"))}


def versions() -> dict[str, str]:
    """Return the installed versions of Python and of every direct dependency."""
    text = (REPOSITORY / "pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(text)["project"]
    names = [re.match(r"[\w.-]+", dependency)[0] for dependency in project["dependencies"]]
    installed = {name: _version(name) for name in names}
    return {"python": platform.python_version(), **installed}


def machine() -> dict[str, object]:
    """Return this machine's name, processor, cores, GPUs and operating system."""
    gpus = _output(["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"])
    name = os.environ.get("SLURMD_NODENAME") or platform.node()
    return {"node": name, "processor": _processor(), "cores": os.cpu_count(),
            "gpus": gpus.splitlines() if gpus else [], "system": platform.platform()}


def hashes(paths: list[Path]) -> dict[str, str]:
    """Return the SHA-256 of each file that exists, keyed by its path in the repository or study."""
    named = {}
    for path in sorted(set(paths)):
        if path.is_file():
            is_ours = path.is_relative_to(REPOSITORY)
            name = str(path.relative_to(REPOSITORY)) if is_ours else shown(path)
            named[name] = hashlib.sha256(path.read_bytes()).hexdigest()
    return named


def write_run(study: str, stages: list[Path]) -> Path:
    """Write data/<study>/run.json from the records of its `stages`.

    Each stage keeps its own commit and parameters. Raises FileNotFoundError if a record is missing.
    """
    records = [json.loads(path.read_text(encoding="utf-8")) for path in stages]
    prompts = list((REPOSITORY / "prompts").rglob("*.md"))
    inputs = [REPOSITORY / "studies" / f"{study}.yaml",
              *(artifact_path(study, name)
                for name in ("documents", "queries", "normalized", "augmented"))]
    named = {}
    for path, record in zip(stages, records, strict=True):
        owner = path.parts[-3]  # another study, if its laboratory made the base model
        named[record["stage"] if owner == study else f"{owner}/{record['stage']}"] = record
    return write_json(data_path(study, "run.json"), {
        "study": study, "written": datetime.now(UTC).isoformat(timespec="seconds"),
        **code_state(),
        "seconds": round(sum(record["seconds"] for record in records), 1),
        "stages": named, "prompts": hashes(prompts), "inputs": hashes(inputs),
        "versions": versions(), "machine": machine()})


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _processor() -> str:
    try:
        described = re.search(r"^model name\s*:\s*(.+)$", Path("/proc/cpuinfo").read_text(), re.M)
    except OSError:
        described = None
    return described[1] if described else platform.processor() or platform.machine()


def _git(*arguments: str) -> str | None:
    return _output(["git", "-C", str(REPOSITORY), *arguments])


def _output(command: list[str]) -> str | None:
    """Return what `command` prints, None if it is missing or fails."""
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


if __name__ == "__main__":
    try:
        write_run(sys.argv[1], [output_root() / path for path in sys.argv[2:]])
    except OSError as error:  # a full disk, reported without a traceback
        sys.exit(f"run.json: {error}")
