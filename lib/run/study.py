"""`make study`: check a study file, refuse a second run of it, and let Snakemake run the graph."""

import argparse
import asyncio
import fcntl
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing, suppress
from typing import TextIO

import yaml

from lib.core.arms import BASE, LOOK
from lib.core.process import be_parent, die_with_parent
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
    tell,
)
from lib.llm.cache import Cache, import_from
from lib.llm.calls import calls_for, check_price, dollars
from lib.llm.request import endpoint
from lib.report import ending
from lib.run.config import BASE_VARIABLE, FOLDER_VARIABLE, LABORATORY, AnyStudy, Study, load_study
from lib.run.parameters import notebook_path
from lib.run.provenance import git

_SECONDS_TO_END = 40.0  # of stages that are interrupted
_TRIES = 50  # to lock a study: the processes of a killed run end within five seconds


def models_of(study: AnyStudy) -> list[tuple[str, str]]:
    """Return the stages that have not begun and the models that they call."""
    records = data_path(study.name, "stages")
    return sorted(
        {
            (stage, model)
            for stage, _, model, _ in study.calls()
            if not any(records.glob(f"{stage}*.json"))
        }
    )


def announce(study: AnyStudy) -> None:
    """Import the study's replies, and print what each stage's model costs at most.

    Raises Stopped for a file of replies that is missing, for a model without a price, and, if no
    reply is cached yet, for a missing key and for an endpoint that cannot be used.
    """
    _import_replies(study)
    stages = models_of(study)
    for stage, model in stages:
        calls = calls_for(study.name, stage)
        price, limit = check_price(model, calls), calls.max_cost_usd
        costs = (
            "price unknown"
            if price is None
            else (
                f"${price.input_usd_per_million:f} per million tokens in, "
                f"${price.output_usd_per_million:f} out"
            )
        )
        stops = (
            f"stops before {dollars(limit)} over all runs"
            if limit
            else "without a limit: max_cost_usd is null"
        )
        tell(f"{stage}: {model}, {costs}; {stops}")
    trouble = _trouble({model for _, model in stages}) if stages else ""
    if trouble and not data_path(study.name, "llm.sqlite").exists():
        raise Stopped(
            f"{trouble}. {', '.join(stage for stage, _ in stages)} would call a model; "
            "nothing has run yet"
        )
    if trouble:
        tell(f"only replies that are cached are used, and no model is called: {trouble}")


def _import_replies(study: AnyStudy) -> None:
    for name in study.replies:
        if not (REPOSITORY / name).is_file():
            raise Stopped(
                f"studies/{study.name}.yaml, replies: {name} is missing: "
                "restore it, or leave the key out and name models with an endpoint"
            )
        with closing(Cache(data_path(study.name, "llm.sqlite"))) as cache:
            import_from(cache, REPOSITORY / name)


def _trouble(models: set[str]) -> str:
    if not (at := endpoint()).key:
        return "no key is set: set OPENAI_API_KEY in the environment or in .env"
    from lib.llm.client import trouble  # openai's client takes half a second

    return asyncio.run(trouble(at, models))


def locked(names: list[str]) -> list[TextIO]:
    """Lock data/<name>/.lock of each study that a run may write to, until the last holder exits.

    Snakemake's own lock would outlive a kill. Raises Stopped if another process holds one.
    """
    files = []
    for name in sorted(names):
        path = data_path(name, ".lock")
        files.append(open(path, "a", encoding="utf-8"))  # noqa: SIM115 -- held while we live
        for _ in range(_TRIES):
            with suppress(BlockingIOError):
                fcntl.flock(files[-1], fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            time.sleep(0.1)
        else:
            raise Stopped(
                f"the study {name} is already being run by another process "
                f"({shown(path)} is locked): wait for it, or stop it"
            )
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
    jobs = [line.split()[0] for line in listed.splitlines() if f" {prefix}_" in line]
    if jobs:
        raise Stopped(
            f"jobs of an earlier run of {study} still wait or run: wait for them, or "
            f"end them with scancel {' '.join(jobs)}"
        )
    logs = str(data_path(study, "slurm").resolve())
    return [*options, "--slurm-jobname-prefix", prefix, "--slurm-logdir", logs]


def run_study(study: str, documents: str = "", jobs: str = "all", profile: str = "") -> int:
    """Run the unfinished stages of a study and return Snakemake's exit status.

    Raises what load_study, model_source, locked and submitted do, and BadStudy for wrong `jobs`.
    """
    if jobs != "all" and not (jobs.isdecimal() and int(jobs) > 0):  # with 0, Snakemake hangs
        raise BadStudy(f"{jobs!r} is not a number of cores: give JOBS=2, or JOBS=all")
    name, own = study, load_study(study, documents)
    if isinstance(own, Study):
        _check_base(own)
    announce(own)
    options = submitted(name, profile)
    locks = locked([name, *own.others])
    for root in (data_path(name), figures_path(name)):
        for lost in root.rglob(".*.partial"):  # left by a killed process
            lost.unlink()
    for note in filter(None, _notes(own)):
        tell(f"{name}: {note}")
    LOOK.update(own.look)
    be_parent()
    os.environ[FOLDER_VARIABLE] = str(REPOSITORY / own.folder) * bool(own.folder)
    if status := _run_graph(name, jobs, options, locks):
        tell(
            f"\nThe study {name} stopped; unless it was killed, the reason is above. "
            "The same command resumes it.",
            file=sys.stderr,
        )
        return status
    report = ending(name, own.disclaimer, *own.pipeline.report)
    tell(f"\nThe study {name} is complete.\n\n{report}")
    if rows := load(name, "documents_rejected") if own.folder else []:
        path = shown(data_path(name, "documents_rejected.jsonl"))
        tell(f"\nleft out of {own.folder}: {len(rows)}, with reasons in {path}")
    return 0


def _check_base(study: Study) -> None:
    if (base := os.environ.get(BASE_VARIABLE)) not in (None, "", LABORATORY):
        raise BadStudy(
            f"BASE={base} is unknown: give BASE={LABORATORY}, or name a base_model in "
            f"studies/{study.name}.yaml"
        )
    if not study.base_model:
        from lib.run.plan import MODEL, look_at  # pandas takes 0.3 s

        tell(look_at(study, MODEL), end="\n\n")
        raise BadStudy(
            f"studies/{study.name}.yaml names no base_model, so the study stops after this look: "
            "name a base model there that you can train, or give "
            f"BASE={LABORATORY} to see the chain run, and set annotator, normalizer and judge"
        )
    if not study.made_by and (BASE in study.arms or study.trained):
        model_source(study.base_model)  # a missing base is reported before anything runs


def _notes(study: AnyStudy) -> list[str]:
    notes = [f"its base model is made by studies/{other}.yaml" for other in study.others]
    if study.expected_minutes and not data_path(study.name, "run.json").exists():
        notes.append(f"about {study.expected_minutes:g} min on two cores")
    return [*notes, *_edited(study), study.disclaimer]


def _edited(study: AnyStudy) -> Iterator[str]:
    # JupyterLab saves by itself
    for stage in study.stages:
        changes = git("diff", "-U0", "HEAD", "--", str(notebook_path(stage))) or ""
        for line in re.findall(r'^\+ +"(\w+: .+? = .+?)(?:  #|\\n|"$)', changes, re.M):
            yield f"{stage} is not as committed, for every study: {line}"


def _run_graph(study: str, jobs: str, options: list[str], locks: list[TextIO]) -> int:
    cores = ["--jobs", jobs] * (jobs != "all") if options else ["--cores", jobs]
    fixed = "--rerun-incomplete --nolock --quiet host rules reason --config".split()
    by_content = ["--max-checksum-file-size", str(10**12)]  # a copy has new times
    start = [sys.executable, "-m", "snakemake", "--snakefile", str(REPOSITORY / "Snakefile")]
    with subprocess.Popen(
        [*start, *options, *cores, *by_content, *fixed, f"study={study}"],
        pass_fds=[file.fileno() for file in locks],
    ) as running:
        try:
            return running.wait()
        except KeyboardInterrupt:  # the stages wait for calls in flight, which are paid for
            with suppress(subprocess.TimeoutExpired):
                running.wait(_SECONDS_TO_END)
            raise


def _interrupt(number: int, frame: object) -> None:
    # Of Ctrl-C, a terminal tells the stages too.
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once is enough: paid calls are awaited
    signal.signal(signal.SIGINT, signal.default_int_handler)
    import psutil  # a second SIGTERM must not meet half an import

    os.write(2, b"\ninterrupted; the same command resumes from here\n")
    for child in psutil.Process().children(recursive=True) if number == signal.SIGTERM else ():
        with suppress(ProcessLookupError, psutil.NoSuchProcess):
            if os.getpgid(child.pid) == os.getpgrp():
                child.send_signal(signal.SIGINT)
    raise KeyboardInterrupt


def main(arguments: list[str] | None = None) -> int:
    """Run `python -m lib.run.study lab [--documents path] [--jobs 2] …`; return 0 on success."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("study")
    parser.add_argument("--documents", default="", help="your own folder, if the study reads one")
    parser.add_argument("--jobs", default="all", help="processor cores to use")
    parser.add_argument("--profile", default="", help="a Snakemake profile: slurm, or a folder")
    options = vars(parser.parse_args(arguments))
    die_with_parent()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    try:
        return run_study(**options)
    except (BadStudy, BadInput, Stopped, OSError, subprocess.CalledProcessError) as error:
        tell(f"make study: {error}", file=sys.stderr)  # squeue has said why
        return 2
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
