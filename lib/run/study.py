"""`make study`: check a study, lock it against other processes, and let Snakemake run it."""

import argparse
import fcntl
import json
import os
import secrets
import shutil
import subprocess
import sys
import time
from contextlib import nullcontext
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple, TextIO

import yaml

from lib.core.errors import BadInput
from lib.core.files import load
from lib.core.paths import REPOSITORY, data_path, figures_path, output_root, shown
from lib.core.process import be_parent, die_with_parent
from lib.report.ending import ending
from lib.report.page import write_report
from lib.run.config import FOLDER_VARIABLE, AnyStudy, WrongStudy, load_study
from lib.run.pages import writing_pages
from lib.run.parameters import WrongParameter
from lib.run.schedule import PROFILE
from lib.run.warm import warm_stages

SECONDS_FOR_THE_LOCK = 5.0  # processes of a killed run end within this time
SECONDS_FOR_A_CANCEL = 120.0  # Slurm's KillWait, and some seconds for a busy controller
SHOWN_FILES = 10  # number of left-out files to list


class Profile(NamedTuple):
    """A Snakemake profile; by default none: the stages run on this machine."""

    folder: str = ""
    executor: str = "local"


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


def cancel_leftovers(locks: list[TextIO], run: str) -> None:
    """Cancel the Slurm jobs of killed runs, whose names are in their locks; write `run` there.

    A job on another node outlives the process that submitted it. Raises Busy if it cannot be
    cancelled here.
    """
    old = set()
    for file in locks:
        file.seek(0)
        old |= set(file.read().split())
    if old:
        where = f"Slurm jobs of a killed run, named {', '.join(sorted(old))}, may still write"
        if not shutil.which("squeue"):
            raise Busy(f"{where}: run the same command where squeue and scancel are, or cancel "
                       f"them there and empty {shown(Path(locks[0].name))}")
        deadline = time.monotonic() + SECONDS_FOR_A_CANCEL
        while left := _slurm_jobs(old):
            subprocess.run(["scancel", *left], check=False)
            if time.monotonic() > deadline:
                raise Busy(f"{where}, and scancel does not end them: {', '.join(left)}")
            time.sleep(1)
    for file in locks:
        file.truncate(0)
        print(run, end="", file=file, flush=True)


def _slurm_jobs(runs: set[str]) -> list[str]:
    """Return the ids of the user's Slurm jobs whose names begin with one of `runs`."""
    listed = subprocess.run(["squeue", "--me", "--noheader", "--format=%i %j"], text=True,
                            check=True, stdout=subprocess.PIPE).stdout
    jobs = [line.split(maxsplit=1) for line in listed.splitlines()]
    return [number for number, name in jobs if name.startswith(tuple(runs))]


def find_profile(profile: str) -> Profile:
    """Return the Snakemake profile in the folder `profile`, or in profiles/`profile`.

    Raises WrongStudy if there is none, or if its executor is not installed here.
    """
    if not profile:
        return Profile()
    folder = next((one.resolve() for one in (Path(profile), REPOSITORY / "profiles" / profile)
                   if (one / "config.yaml").exists()), None)
    if not folder:
        known = ", ".join(sorted(one.name for one in (REPOSITORY / "profiles").iterdir()))
        raise WrongStudy(f"there is no profile {profile!r}: give PROFILE= a folder with a "
                         f"config.yaml, or one of: {known}")
    settings = yaml.safe_load((folder / "config.yaml").read_text(encoding="utf-8"))
    executor = settings.get("executor", "local")
    plugin = f"snakemake-executor-plugin-{executor}"
    if executor != "local" and not find_spec(plugin.replace("-", "_")):
        raise WrongStudy(f"PROFILE={profile} needs {plugin}: install it with "
                         f"{sys.executable} -m pip install {plugin}")
    if executor == "slurm" and not shutil.which("sbatch"):
        raise WrongStudy(f"PROFILE={profile} needs sbatch, which is not on this machine: run the "
                         "command on the cluster's login node")
    return Profile(str(folder), executor)


def command(study: AnyStudy, jobs: str, only_figures: bool, profile: Profile,
            run: str) -> list[str]:
    """Return the Snakemake command for `study`, without its own lock, which survives a kill.

    The names of Slurm jobs begin with `run`.
    """
    rules = [*study.drawing, "run_record"]
    figures = ["--forcerun", *study.drawing, "--allowed-rules", *rules] if only_figures else []
    where = ["--cores", jobs]
    if profile.folder:
        where = ["--profile", profile.folder, *(["--jobs", jobs] if jobs != "all" else [])]
    if profile.executor == "slurm":
        where += ["--slurm-jobname-prefix", run,
                  "--slurm-logdir", str(data_path(study.name, "slurm").resolve())]
    return [sys.executable, "-m", "snakemake", "--snakefile", str(REPOSITORY / "Snakefile"),
            *where, "--rerun-incomplete", "--nolock", "--quiet", "host", "rules", "reason",
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


def run_study(name: str, folder: str, jobs: str, only_figures: bool = False,
              profile: str = "") -> int:
    """Run the unfinished stages of a study and return Snakemake's exit status.

    With a Snakemake `profile`, each stage is submitted to its executor. Raises what load_study and
    find_profile do, Busy, and WrongStudy if `jobs` is not a number of cores or if there are no
    results to draw figures from.
    """
    if jobs != "all" and not (jobs.isdecimal() and int(jobs) > 0):  # with 0, Snakemake hangs
        raise WrongStudy(f"{jobs!r} is not a number of cores: give JOBS=2, or JOBS=all")
    where, run = find_profile(profile), f"study-{secrets.token_hex(4)}"
    study = load_study(name, folder)
    missing = [path for path in study.results if not path.exists()]
    if only_figures and missing:
        raise WrongStudy(f"there are no results to draw ({shown(missing[0])} is missing); "
                         f"run make study STUDY={name} first")
    locks = locked([study.name, *study.others])
    cancel_leftovers(locks, run if where.executor == "slurm" else "")
    for root in (data_path(name), figures_path(name)):
        for lost in root.rglob(".*.partial"):  # left by a killed process
            lost.unlink()
    be_parent()
    os.environ[FOLDER_VARIABLE] = study.folder
    os.environ[PROFILE] = where.folder if where.executor != "local" else ""
    if missing and study.minutes:
        print(f"{name}: about {study.minutes:g} min on two cores", flush=True)
    starts = warm_stages() if where.executor == "local" else nullcontext()
    with starts, writing_pages([study.name, *study.others]) as faults:
        status = subprocess.run(command(study, jobs, only_figures, where, run), check=False,
                                pass_fds=[file.fileno() for file in locks]).returncode
    if status >= 0:  # Snakemake has waited for its jobs, or cancelled them
        for file in locks:
            file.truncate(0)
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
    """Run `python -m lib.run.study lab [--documents path] [--jobs 2] …`; return 0 on success."""
    parser = argparse.ArgumentParser(prog="python -m lib.run.study", description=__doc__)
    parser.add_argument("study")
    parser.add_argument("--documents", default="", help="your own folder, if the study reads one")
    parser.add_argument("--jobs", default="all", help="processor cores to use")
    parser.add_argument("--profile", default="", help="a Snakemake profile: slurm, or a folder")
    parser.add_argument("--figures", action="store_true", help="only redraw tables and figures")
    options = parser.parse_args(arguments)
    die_with_parent()
    os.environ["STUDY_ROOT"] = str(output_root())
    os.environ["PYTHONPATH"] = os.pathsep.join(
        filter(None, [str(REPOSITORY), os.environ.get("PYTHONPATH", "")]))
    folder = options.documents or last_folder(options.study)
    try:
        return run_study(options.study, folder, options.jobs, options.figures,
                         options.profile)
    except (WrongStudy, WrongParameter, BadInput, Busy, OSError,
            subprocess.CalledProcessError) as error:  # squeue has said why
        print(f"make study: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\ninterrupted; the same command resumes from here", file=sys.stderr)
        return 130


if __name__ == "__main__":
    sys.exit(main())
