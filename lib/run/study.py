"""`make study`: checks a study, keeps others from running it at the same time, and has Snakemake run it (the house)."""

import argparse
import fcntl
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TextIO

from lib.core.files import read_records
from lib.core.paths import REPOSITORY, data_path, figures_path, output_root, shown
from lib.core.process import be_parent, die_with_parent
from lib.core.records import Rejected
from lib.documents.folder import NoDocuments
from lib.run.config import FOLDER_VARIABLE, Study, WrongStudy, load_study
from lib.run.parameters import WrongParameter

SECONDS_FOR_THE_LOCK = 5.0  # what is left of a killed run ends within this time


class Busy(RuntimeError):
    """Another call is running this study."""


def locked(names: list[str]) -> list[TextIO]:
    """Take data/<name>/.lock of each study that a run may write; free again when the last holder's process ends.

    Raises Busy where another process holds one.
    """
    files = []
    for name in sorted(names):
        file = open(data_path(name, ".lock"), "a+", encoding="utf-8")  # noqa: SIM115 -- held while the process lives
        deadline = time.monotonic() + SECONDS_FOR_THE_LOCK
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise Busy(f"the study {name} is being run by another call ({shown(Path(file.name))} is held): "
                               "wait for it, or stop it") from None
                time.sleep(0.1)
        os.set_inheritable(file.fileno(), True)
        files.append(file)
    return files


def command(study: Study, jobs: str, only_figures: bool) -> list[str]:
    """The Snakemake call for `study`; our lock replaces Snakemake's, which a killed run would leave behind."""
    figures = ["--forcerun", *study.drawing, "--allowed-rules", *study.drawing, "run_record"] if only_figures else []
    return [sys.executable, "-m", "snakemake", "--snakefile", str(REPOSITORY / "Snakefile"), "--cores", jobs,
            "--rerun-incomplete", "--nolock", "--quiet", "host", "rules", "reason",
            *figures, "--config", f"study={study.name}"]


def last_folder(name: str) -> str:
    """The folder that the study read last time, so that a second call need not name it; "" where there is none."""
    try:
        stages = output_root() / "data" / name / "stages"
        record = next(path for stage in ("00_documents", "00_filings") if (path := stages / f"{stage}.json").exists())
        return json.loads(record.read_text(encoding="utf-8"))["given"]["folder"]
    except (OSError, ValueError, KeyError, StopIteration):
        return ""


def run_study(name: str, folder: str, jobs: str, only_figures: bool = False) -> int:
    """Run what is not done of a study; Snakemake's exit status. Raises as load_study does, and Busy.

    Raises WrongStudy too for `jobs` that is no number of cores, and for figures of a study that has not been run.
    """
    if jobs != "all" and not (jobs.isdecimal() and int(jobs) > 0):  # Snakemake waits forever for 0 cores
        raise WrongStudy(f"{jobs!r} is no number of cores: give JOBS=2, or JOBS=all")
    study = load_study(name, folder)
    if only_figures and (missing := [path for path in study.results if not path.exists()]):
        raise WrongStudy(f"no figures without results, and {shown(missing[0])} is missing: "
                         f"run make study STUDY={name} first")
    locks = locked([study.name, *(lab for lab in study.labs if lab != study.name)])
    for lost in (path for root in (data_path(name), figures_path(name)) for path in root.rglob(".*.partial")):
        lost.unlink()  # what a killed process was writing
    be_parent()
    os.environ[FOLDER_VARIABLE] = study.folder
    if study.source == "controlled" and not all(path.exists() for path in study.results):
        from lib.controlled.prediction import predicted  # torch, which no other study needs here

        try:
            print(predicted(study, os.cpu_count() if jobs == "all" else int(jobs)), flush=True)
        except ValueError as error:
            raise WrongStudy(f"studies/{name}.yaml: {error}") from error
    status = subprocess.run(command(study, jobs, only_figures), pass_fds=[file.fileno() for file in locks],
                            check=False).returncode
    if status:
        print(f"\nThe study {name} stopped: the reason is above, unless it was killed. "
              "The same command goes on from there.", file=sys.stderr)
        return status
    print(f"\nThe study {name} is complete.\n", flush=True)
    if study.told:
        print(study.told.read_text(encoding="utf-8"), f"tables and figures: {shown(study.told.parent)}", sep="\n")
    else:
        subprocess.run([sys.executable, "-m", "lib.analyze.tables", name], check=True)
    print(f"\nprovenance: {shown(data_path(name, 'run.json'))}")
    print_left_out(study)
    return 0


def print_left_out(study: Study) -> None:
    """Name the first files of one's own folder that are no documents, with their reasons."""
    if not study.folder:
        return
    path = data_path(study.name, "documents_rejected.jsonl")
    rows = read_records(path, Rejected, made_by=f"{study.stages[0]}.ipynb")
    if rows:
        print(f"\n{len(rows)} entries of {study.folder} were left out, each with its reason in {shown(path)}:")
    for row in rows[:10]:
        print(f"  {row.item}: {row.reason}")
    if len(rows) > 10:
        print(f"  and {len(rows) - 10} more")


def main(arguments: list[str] | None = None) -> int:
    """`python -m lib.run.study lab [--documents path] [--jobs 2] [--figures]`; 0 where the study is complete."""
    parser = argparse.ArgumentParser(prog="python -m lib.run.study", description=__doc__)
    parser.add_argument("study")
    parser.add_argument("--documents", default="", help="folder of .md and .txt files, where the study reads one's own")
    parser.add_argument("--jobs", default="all", help="processor cores to use")
    parser.add_argument("--figures", action="store_true", help="only make the tables and figures again")
    options = parser.parse_args(arguments)
    die_with_parent()
    os.environ["STUDY_ROOT"] = str(output_root())
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(REPOSITORY), os.environ.get("PYTHONPATH", "")]))
    try:
        return run_study(options.study, options.documents or last_folder(options.study), options.jobs, options.figures)
    except (WrongStudy, WrongParameter, NoDocuments, Busy, OSError) as error:
        print(f"make study: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\ninterrupted; the same command goes on from here", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
