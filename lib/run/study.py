"""`make study`: check a study, lock it against other processes, and let Snakemake run it."""

import argparse
import fcntl
import json
import os
import subprocess
import sys
import time
from typing import TextIO

from lib.core.files import load
from lib.core.paths import REPOSITORY, data_path, figures_path, output_root, shown
from lib.core.process import be_parent, die_with_parent
from lib.documents.folder import NoDocuments
from lib.report.ending import ending
from lib.report.page import write_report
from lib.run.config import FOLDER_VARIABLE, AnyStudy, WrongStudy, load_study
from lib.run.pages import writing_pages
from lib.run.parameters import WrongParameter
from lib.run.warm import warm_stages

SECONDS_FOR_THE_LOCK = 5.0  # processes of a killed run end within this time
SHOWN_FILES = 10  # number of left-out files to list


class Busy(RuntimeError):
    """Another process is running this study."""


def locked(names: list[str]) -> list[TextIO]:
    """Lock data/<name>/.lock for each study that a run may write to, until the last holder exits.

    Raises Busy if another process holds one of the locks.
    """
    files = []
    for name in sorted(names):
        path = data_path(name, ".lock")
        file = open(path, "a+", encoding="utf-8")  # noqa: SIM115 -- held while the process lives
        deadline = time.monotonic() + SECONDS_FOR_THE_LOCK
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise Busy(f"the study {name} is already being run by another process "
                               f"({shown(path)} is locked): wait for it, or stop it") from None
                time.sleep(0.1)
        os.set_inheritable(file.fileno(), True)
        files.append(file)
    return files


def command(study: AnyStudy, jobs: str, only_figures: bool) -> list[str]:
    """Return the Snakemake command for `study`, without its own lock, which survives a kill."""
    rules = [*study.drawing, "run_record"]
    figures = ["--forcerun", *study.drawing, "--allowed-rules", *rules] if only_figures else []
    return [sys.executable, "-m", "snakemake", "--snakefile", str(REPOSITORY / "Snakefile"),
            "--cores", jobs, "--rerun-incomplete", "--nolock", "--quiet", "host", "rules", "reason",
            *figures, "--config", f"study={study.name}"]


def last_folder(name: str) -> str:
    """Return the folder that the study last read, so that a second call need not name it."""
    for stage in ("00_documents", "00_filings"):
        try:
            record = (output_root() / "data" / name / "stages" / f"{stage}.json").read_text("utf-8")
            return json.loads(record)["given"]["folder"]
        except (OSError, ValueError, KeyError):
            continue
    return ""


def run_study(name: str, folder: str, jobs: str, only_figures: bool = False) -> int:
    """Run the unfinished stages of a study and return Snakemake's exit status.

    Raises what load_study does, Busy, and WrongStudy if `jobs` is not a number of cores or if there
    are no results to draw figures from.
    """
    if jobs != "all" and not (jobs.isdecimal() and int(jobs) > 0):  # with 0, Snakemake hangs
        raise WrongStudy(f"{jobs!r} is not a number of cores: give JOBS=2, or JOBS=all")
    study = load_study(name, folder)
    missing = [path for path in study.results if not path.exists()]
    if only_figures and missing:
        raise WrongStudy(f"there are no results to draw ({shown(missing[0])} is missing); "
                         f"run make study STUDY={name} first")
    locks = locked([study.name, *study.others])
    for root in (data_path(name), figures_path(name)):
        for lost in root.rglob(".*.partial"):  # left by a killed process
            lost.unlink()
    be_parent()
    os.environ[FOLDER_VARIABLE] = study.folder
    if missing and getattr(study, "minutes", 0):
        print(f"{name}: {len(study.runs)} training runs, about {study.minutes} min on two cores",
              flush=True)
    with warm_stages(), writing_pages([study.name, *study.others]) as faults:
        status = subprocess.run(command(study, jobs, only_figures), check=False,
                                pass_fds=[file.fileno() for file in locks]).returncode
    if faults:
        print("", *faults, "Correct the cause and run the same command again: only "
              "these pages are written.", sep="\n", file=sys.stderr)
        status = status or 1
    if status:
        print(f"\nThe study {name} stopped; unless it was killed, the reason is above. "
              "The same command resumes it.", file=sys.stderr)
        return status
    print(f"\nThe study {name} is complete.\n", flush=True)
    kind = study.summary.stem if study.summary else study.source
    report = write_report(name, kind, getattr(study, "judge", "rules"))
    print(ending(name, kind, report))
    print_left_out(study)
    return 0


def print_left_out(study: AnyStudy) -> None:
    """Print the first files left out from the user's folder, each with its reason."""
    if not study.folder:
        return
    rows = load(study.name, "documents_rejected")
    if rows:
        path = data_path(study.name, "documents_rejected.jsonl")
        print(f"\n{len(rows)} entries of {study.folder} were left out, each with its reason in "
              f"{shown(path)}:")
    for row in rows[:SHOWN_FILES]:
        print(f"  {row.item}: {row.reason}")
    if len(rows) > SHOWN_FILES:
        print(f"  and {len(rows) - SHOWN_FILES} more")


def main(arguments: list[str] | None = None) -> int:
    """Run `python -m lib.run.study lab [--documents path] [--jobs 2] [--figures]`; 0 on success."""
    parser = argparse.ArgumentParser(prog="python -m lib.run.study", description=__doc__)
    parser.add_argument("study")
    parser.add_argument("--documents", default="", help="your own folder, if the study reads one")
    parser.add_argument("--jobs", default="all", help="processor cores to use")
    parser.add_argument("--figures", action="store_true", help="only redraw tables and figures")
    options = parser.parse_args(arguments)
    die_with_parent()
    os.environ["STUDY_ROOT"] = str(output_root())
    os.environ["PYTHONPATH"] = os.pathsep.join(
        filter(None, [str(REPOSITORY), os.environ.get("PYTHONPATH", "")]))
    folder = options.documents or last_folder(options.study)
    try:
        return run_study(options.study, folder, options.jobs, options.figures)
    except (WrongStudy, WrongParameter, NoDocuments, Busy, OSError) as error:
        print(f"make study: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\ninterrupted; the same command resumes from here", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
