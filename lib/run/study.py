"""`make study`: check a study file, refuse a second run of it, and let Snakemake run the graph."""

import argparse
import asyncio
import fcntl
import os
import signal
import subprocess
import sys
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import TextIO

import yaml

from lib.core.arms import BASE
from lib.core.process import be_parent, die_with_parent
from lib.core.stages import STAGES
from lib.core.store import (
    REPOSITORY,
    BadInput,
    BadStudy,
    Stopped,
    data_path,
    figures_path,
    load,
    model_source,
    output_root,
    shown,
)
from lib.llm.__main__ import import_from
from lib.llm.budget import check_price
from lib.llm.cache import Cache
from lib.llm.calls import calls_for, dollars
from lib.llm.endpoint import Endpoint, endpoint
from lib.llm.faults import fault_of, fault_of_reply
from lib.report.page import ending
from lib.run.config import (
    BASE_VARIABLE,
    FOLDER_VARIABLE,
    LABORATORY,
    AnyStudy,
    Study,
    load_study,
)

_NO_MODELS = (None, "", "rules", "facts", "scorer")
_SECONDS_TO_END = 40.0  # of stages that are interrupted
_SECONDS_FOR_THE_LOCK = 5.0  # processes of a killed run end within this time


def models_of(study: AnyStudy) -> list[tuple[str, str]]:
    """Return the stages that have not begun and the models that they call."""
    records = data_path(study.name, "stages")
    return sorted(
        {
            (stage, model)
            for stage in study.stages
            if not any(records.glob(f"{stage}*.json"))
            for run in study.arms_of(stage)
            for key in STAGES[stage].calls.split()
            if (model := study.given(stage, run).get(key)) not in _NO_MODELS
        }
    )


def announce(study: AnyStudy) -> None:
    """Import the study's replies, and print what each stage's model costs at most.

    Raises Stopped for a file of replies that is missing, for a model without a price, and, if no
    reply is cached yet, for a missing key and for an endpoint that cannot be used.
    """
    if study.replies:
        if not (REPOSITORY / study.replies).is_file():
            raise Stopped(
                f"studies/{study.name}.yaml, replies: {study.replies} is missing: "
                "restore it, or leave the key out and name models with an endpoint"
            )
        with closing(Cache(data_path(study.name, "llm.sqlite"))) as cache:
            import_from(cache, REPOSITORY / study.replies)
    stages = models_of(study)
    for stage, model in stages:
        calls = calls_for(study.name, stage)
        price = check_price(model, calls)
        costs = (
            "price unknown"
            if price is None
            else f"${price.input_usd_per_million:f} per million tokens in, "
            f"${price.output_usd_per_million:f} out"
        )
        limit = (
            "without a limit: max_cost_usd is null"
            if calls.max_cost_usd is None
            else f"stops before {dollars(calls.max_cost_usd)} over all runs"
        )
        print(f"{stage}: {model}, {costs}; {limit}", flush=True)
    at = endpoint()
    trouble = (
        ""
        if not stages
        else asyncio.run(_trouble(at))
        if at
        else ("no key is set: set OPENAI_API_KEY in the environment or in .env")
    )
    if trouble and not data_path(study.name, "llm.sqlite").exists():
        raise Stopped(
            f"{trouble}. {', '.join(stage for stage, _ in stages)} would call a model; "
            "nothing has run yet"
        )
    if trouble:
        print(f"{trouble}; the stages can only use replies that are cached", flush=True)


async def _trouble(at: Endpoint) -> str:
    import aiohttp

    async with at.client() as client, at.session(client) as http:
        try:
            async with (
                asyncio.timeout(30),
                http.get(f"{at.url}/models", allow_redirects=False) as got,
            ):
                text = await got.text(errors="replace")
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return fault_of(error).reason
    if got.status == 404:
        print("the endpoint has no list of models: the key is not checked yet", flush=True)
        return ""
    fault = fault_of_reply(got.status, text, got.headers, "", at, {})
    return fault.stops if fault else ""


def locked(names: list[str]) -> list[TextIO]:
    """Lock data/<name>/.lock of each study that a run may write to, until the last holder exits.

    Snakemake's own lock would outlive a kill. Raises Stopped if another process holds one.
    """
    files = []
    for name in sorted(names):
        path = data_path(name, ".lock")
        file = open(path, "a", encoding="utf-8")  # noqa: SIM115 -- held while the process lives
        deadline = time.monotonic() + _SECONDS_FOR_THE_LOCK
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise Stopped(
                        f"the study {name} is already being run by another process "
                        f"({shown(path)} is locked): wait for it, or stop it"
                    ) from None
                time.sleep(0.1)
        files.append(file)
    return files


def submitted(study: str, profile: str) -> list[str]:
    """Return Snakemake's options for `profile`, a folder or one of profiles/; [] without one.

    A job on another node outlives a killed run: raises Stopped if one of the study's still waits
    or runs. Raises BadStudy if there is no such profile.
    """
    if not profile:
        return []
    places = (REPOSITORY / "profiles" / profile, output_root() / profile)
    folder = next((one for one in places if (one / "config.yaml").exists()), None)
    if not folder:
        raise BadStudy(
            f"there is no profile {profile!r}: give PROFILE=slurm, or a folder with a config.yaml"
        )
    options = ["--profile", str(folder)]
    settings = yaml.safe_load((folder / "config.yaml").read_text(encoding="utf-8"))
    if settings.get("executor") != "slurm":
        return options
    prefix = f"study-{study}".replace(".", "-")
    asked = ["squeue", "--me", "--noheader", "--format=%i %j"]
    listed = subprocess.run(asked, text=True, check=True, stdout=subprocess.PIPE).stdout
    rows = [line.split() for line in listed.splitlines()]
    jobs = [job for job, name in rows if name.startswith(f"{prefix}_")]
    if jobs:
        raise Stopped(
            f"jobs of an earlier run of {study} still wait or run: wait for them, or "
            f"end them with scancel {' '.join(jobs)}"
        )
    logs = str(data_path(study, "slurm").resolve())
    return [*options, "--slurm-jobname-prefix", prefix, "--slurm-logdir", logs]


def command(study: AnyStudy, jobs: str, options: list[str]) -> list[str]:
    """Return the Snakemake command that runs the unfinished stages of `study`."""
    cores = ["--jobs", jobs] * (jobs != "all") if options else ["--cores", jobs]
    fixed = "--rerun-incomplete --nolock --quiet host rules reason --config".split()
    snakefile = str(REPOSITORY / "Snakefile")
    start = [sys.executable, "-m", "snakemake", "--snakefile", snakefile]
    return [*start, *options, *cores, *fixed, f"study={study.name}"]


def run_study(name: str, folder: str, jobs: str, profile: str = "") -> int:
    """Run the unfinished stages of a study and return Snakemake's exit status.

    Raises what load_study, model_source, locked and submitted do, and BadStudy if `jobs` is no
    number of cores.
    """
    if jobs != "all" and not (jobs.isdecimal() and int(jobs) > 0):  # with 0, Snakemake hangs
        raise BadStudy(f"{jobs!r} is not a number of cores: give JOBS=2, or JOBS=all")
    if (base := os.environ.get(BASE_VARIABLE)) not in (None, "", LABORATORY):
        raise BadStudy(
            f"BASE={base} is unknown: give BASE={LABORATORY}, or name a base_model in "
            f"studies/{name}.yaml"
        )
    study = load_study(name, folder)
    if isinstance(study, Study) and not study.base_model:
        from lib.run.look import look_at  # pandas takes 0.3 s

        print(look_at(Path(study.folder)), end="\n\n", flush=True)
        raise BadStudy(
            f"studies/{name}.yaml names no base_model, so the study stops after this look: "
            "name a base model there that you can train, or give "
            f"BASE={LABORATORY} to see the chain run, and set annotator, normalizer and judge"
        )
    if isinstance(study, Study) and not study.made_by and (BASE in study.arms or study.trained):
        model_source(study.base_model)  # a missing base is reported before anything runs
    announce(study)
    options = submitted(name, profile)
    locks = locked([study.name, *study.others])
    for root in (data_path(name), figures_path(name)):
        for lost in root.rglob(".*.partial"):  # left by a killed process
            lost.unlink()
    _move_labels(data_path(name))
    be_parent()
    os.environ[FOLDER_VARIABLE] = study.folder
    for other in study.others:  # nothing is trained in silence
        state = "is used" if data_path(other, "models").exists() else "is trained first"
        print(f"{name}: the base model is made by studies/{other}.yaml and {state}", flush=True)
    if study.disclaimer:
        print(f"{name}: {study.disclaimer}", flush=True)
    if study.expected_minutes and not data_path(name, "run.json").exists():
        print(f"{name}: about {study.expected_minutes:g} min on two cores", flush=True)
    with subprocess.Popen(
        command(study, jobs, options), pass_fds=[file.fileno() for file in locks]
    ) as running:
        try:
            status = running.wait()
        except KeyboardInterrupt:  # the stages wait for calls in flight, which are paid for
            with suppress(subprocess.TimeoutExpired):
                running.wait(_SECONDS_TO_END)
            raise
    if status:
        print(
            f"\nThe study {name} stopped; unless it was killed, the reason is above. "
            "The same command resumes it.",
            file=sys.stderr,
        )
        return status
    print(
        f"\nThe study {name} is complete.\n\n"
        f"{ending(name, study.pipeline.report[0], study.main_table)}"
    )
    print_left_out(study)
    return 0


def _move_labels(folder: Path) -> None:
    if (folder / "human").exists() and not (folder / "labels").exists():
        (folder / "human").rename(folder / "labels")
        if (sheet := folder / "labels" / "sheet.csv").exists():
            sheet.rename(sheet.with_name("answers.csv"))


def print_left_out(study: AnyStudy) -> None:
    """Print the first files left out from the user's folder, each with its reason."""
    rows = load(study.name, "documents_rejected") if study.folder else []
    if rows:
        path = shown(data_path(study.name, "documents_rejected.jsonl"))
        print(f"\n{len(rows)} entries of {study.folder} were left out, with reasons in {path}:")
    for row in rows[:10]:
        print(f"  {row.rejected_text}: {row.reason}")


def _interrupt(number: int, frame: object) -> None:
    # Of Ctrl-C, a terminal tells the stages too.
    import psutil

    for other in (signal.SIGINT, signal.SIGTERM):
        signal.signal(other, signal.default_int_handler)
    os.write(2, b"\ninterrupted; the same command resumes from here\n")
    for child in psutil.Process().children(recursive=True) if number == signal.SIGTERM else ():
        with suppress(ProcessLookupError, psutil.NoSuchProcess):
            if os.getpgid(child.pid) == os.getpgrp():
                child.send_signal(signal.SIGINT)
    raise KeyboardInterrupt


def main(arguments: list[str] | None = None) -> int:
    """Run `python -m lib.run.study lab [--documents path] [--jobs 2] …`; return 0 on success."""
    parser = argparse.ArgumentParser(prog="python -m lib.run.study", description=__doc__)
    parser.add_argument("study")
    parser.add_argument("--documents", default="", help="your own folder, if the study reads one")
    parser.add_argument("--jobs", default="all", help="processor cores to use")
    parser.add_argument("--profile", default="", help="a Snakemake profile: slurm, or a folder")
    options = parser.parse_args(arguments)
    die_with_parent()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    try:
        return run_study(options.study, options.documents, options.jobs, options.profile)
    except (
        BadStudy,
        BadInput,
        Stopped,
        OSError,
        subprocess.CalledProcessError,
    ) as error:  # squeue has said why
        print(f"make study: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
