"""run.json, with all that a study's numbers come from; `make verify` compares them with committed.

Usage: python -m lib.run.provenance STUDY RECORDS… writes it; without records, it compares.
"""

import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from importlib.metadata import distributions
from pathlib import Path

from lib.core.store import (
    PROMPTS,
    REPOSITORY,
    data_path,
    output_root,
    result_path,
    shown,
    tell,
    write_json,
)

EXHIBIT = REPOSITORY / "figures" / "exhibit"
_WIDTH = 1.96 * 2**0.5  # of a difference between two bases, in standard deviations of one


def code_state() -> dict[str, object]:
    """Return {"commit", "dirty"} of the repository; both None if it is not a git checkout."""
    commit = git("rev-parse", "HEAD")
    return {"commit": commit, "dirty": commit and bool(git("status", "--porcelain"))}


def git(*arguments: str) -> str | None:
    """Return what git prints about the repository; None if it is not a git checkout."""
    places = f"--git-dir={REPOSITORY / '.git'}", f"--work-tree={REPOSITORY}"
    return _output("git", *places, *arguments)


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


def now() -> str:
    """Return this second in UTC."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def write_run(study: str, stages: list[Path]) -> None:
    """Write data/<study>/run.json from the records of its `stages`.

    Each stage keeps its own commit and parameters. Raises FileNotFoundError if a record is missing.
    """
    records, inputs = {}, ("prompts", os.environ.get(PROMPTS) or "prompts", f"studies/{study}.yaml")
    for path in stages:
        owner = path.parts[-3]  # another study, if its laboratory made the base model
        record = json.loads(path.read_text(encoding="utf-8"))
        records[f"{owner}/" * (owner != study) + record["stage"]] = record
    write_json(
        data_path(study, "run.json"),
        {
            "study": study,
            "written": now(),
            **code_state(),
            "seconds": round(sum(record["seconds"] for record in records.values()), 1),
            "stages": records,
            "inputs": {name: contents(name) for name in inputs},
            "versions": {
                "python": platform.python_version(),
                **{package.name: package.version for package in distributions()},
            },
            "machine": machine(),
        },
    )


def contents(*places: str | Path) -> str:
    """Return a digest of files of the repository and all files below folders, "" if there are none.

    Where the repository is does not count, so that a study which was moved does not run again.
    """
    found = states(REPOSITORY / place for place in places)
    digests = [(name.removeprefix(f"{REPOSITORY}/"), found[name]["sha256"]) for name in found]
    return hashlib.sha256(str(digests).encode()).hexdigest() * bool(found)


def labels_digest(folder: Path) -> str:
    """Return a digest of the labels in `folder`, of an unreadable sheet's bytes, "" if none."""
    found = []
    for path in sorted(folder.glob("*.csv")):
        from lib.analyze.agreement import read_sheet  # pandas and scipy take two seconds

        try:
            sheet = read_sheet(path, ())
            found += [sheet] * bool(sheet.labels)
        except ValueError:
            found.append(repr(path.read_bytes()))
    return hashlib.sha256(str(found).encode()).hexdigest() * bool(found)


def states(places: Iterable[Path]) -> dict[str, dict]:
    """Return size, time, digest and rows of each file, also below folders, by path."""
    every = {one for place in places for one in (place, *place.rglob("*"))}
    files = [one for one in every if one.is_file() and os.access(one, os.R_OK)]
    return {shown(path): _state(path, {}) for path in sorted(files)}


def _state(path: Path, known: dict) -> dict:
    status = path.stat()
    state = {"bytes": status.st_size, "at": status.st_mtime_ns}
    if state.items() <= known.items():
        return known
    with path.open("rb") as file:
        state["sha256"] = hashlib.file_digest(file, "sha256").hexdigest()
    rows = {"rows": path.read_bytes().count(b"\n")} if path.suffix == ".jsonl" else {}
    return state | rows


def forget_changed(records: list[Path]) -> None:
    """Remove the record of each stage whose files were changed since, and name them.

    A changed file is kept in data/<study>/changed, where nothing reads it.
    """
    last = {  # to write a file
        name: (record, state)
        for record in filter(Path.exists, records)
        for name, state in json.loads(record.read_text("utf-8")).get("files", {}).items()
    }
    for name, (record, state) in last.items():
        path, runs = output_root() / name, f"{record.stem} ran, which runs again"
        if not path.exists():
            tell(f"{name} is gone since {runs}")
        elif (now := _state(path, state))["sha256"] != state["sha256"]:
            _, study, *parts = Path(name).parts
            kept = shutil.move(path, data_path(study, "changed", now["sha256"][:8], *parts))
            rows = f" ({state['rows']} rows, then {now['rows']})" if "rows" in state else ""
            tell(f"{name} was changed{rows} after {runs}. To use it, make copy STUDY={study}")
            tell(f"  AS=name, and put {shown(kept)} there")
        else:
            continue
        record.unlink(missing_ok=True)


def _output(*command: str) -> str | None:
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return None


def verify(study: str, exhibit: Path = EXHIBIT) -> dict[str, str]:
    """Compare each committed table with that of `study`: file -> result.

    Accuracies that differ are compared with the spread between the bases of the replicates.
    """
    committed = sorted((exhibit / study).glob("*.csv"))
    return {path.name: _compared(path, result_path(study, path.name)) for path in committed}


def _compared(committed: Path, fresh: Path) -> str:
    if not fresh.exists():
        return "not there: this study does not write it, or has not run yet"
    if fresh.read_bytes() == committed.read_bytes():
        return "equal to the byte"
    import pandas as pd

    keys = ["arm", "structure"]
    tables = [pd.read_csv(path) for path in (committed, fresh)]
    if not all({*keys, "accuracy"} <= {*table} for table in tables):
        return "not compared: it has no accuracies"
    before, after = (table.set_index(keys).accuracy for table in tables)
    points = 100 * (after - before)
    spread = pd.read_csv(EXHIBIT / "replicates" / "estimates.csv").groupby("contrast").points.std()
    contrasts = [f"{arm.partition('@')[0]} {structure}" for arm, structure in points.index]
    allowed = _WIDTH * spread.reindex(contrasts).fillna(1).to_numpy()  # an untrained arm guesses
    which = "within" if (points.abs() <= allowed).all() else "beyond"  # a missing row is beyond
    moved = [f"{' '.join(key)} {point:+.1f}" for key, point in points.items() if point]
    return f"{which} the spread between bases: {', '.join(moved) or 'other columns'}"


def main(study: str, *records: str) -> int:
    """Write run.json from `records`, or compare without any; return 0 if nothing is wrong."""
    if records:
        try:
            write_run(study, [output_root() / path for path in records])
        except OSError as error:  # a full disk, reported without a traceback
            sys.exit(f"run.json: {error}")
        return 0
    found = verify(study)
    for file, result in found.items():
        tell(f"{file:24}{result}")
    if not found:
        tell(f"figures/exhibit has nothing of {study}")
    return any(result.startswith("beyond") for result in found.values())


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
