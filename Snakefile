# Which notebook reads what and writes what. `make study` runs it; by hand:
# `snakemake --cores 2 --config study=lab`. A stage is re-run if its parameters, the content of its
# inputs or the code that its notebook runs (lib.core.digest) have changed. Executed copies are not
# outputs: removing one re-runs nothing.
import json
import logging
import os
import sys
from pathlib import Path

from snakemake.logging import LogEvent, logger

sys.path.insert(0, str(workflow.basedir))
from lib.core.arms import AUGMENTED, BASE, is_trained, split_arm
from lib.core.digest import notebook_digest
from lib.core.files import artifact_path
from lib.core.paths import REPOSITORY, output_root
from lib.core.process import VARIABLE, be_parent, die_with_parent
from lib.documents.folder import fingerprint
from lib.run.config import load_study
from lib.run.parameters import notebook_path, parameters_of
from lib.run.schedule import PROFILE, Schedule, failure


# What Snakemake says after a stage that failed.
AFTERMATH = ("Exiting because a job execution failed", "WorkflowError", "At least one job")
# What its plugin for Slurm warns of where a site has no accounts, and does without.
NO_ACCOUNT = ("No SLURM account given", "No account was given", "Unable to guess SLURM account")


def is_for_the_user(record):
    """Keep errors, except those that the notebook runner explains; say which stage begins."""
    match getattr(record, "event", ""):
        case LogEvent.RUN_INFO:
            schedule.plan(dict(record.stats))
        case LogEvent.JOB_INFO:
            names = [Path(path).stem for path in record.output if "/stages/" in str(path)]
            name = (names or [record.rule_name])[-1]
            jobs[record.jobid] = record.rule_name
            limits[record.jobid] = (name, record.rule_name, record.resources)
            if schedule.notebooks.get(record.rule_name):
                print(schedule.begin(record.rule_name, name), flush=True)
        case LogEvent.JOB_FINISHED:
            schedule.end(jobs.get(record.job_id, ""))
        case LogEvent.JOB_ERROR if is_submitted and record.jobid in limits:
            explained.append(explain(record))
            print(f"\n{explained[-1]}\n", file=sys.stderr, flush=True)
            return False
    text = record.getMessage()
    if "returned non-zero exit status 1." in text:  # the notebook runner has said why
        explained.append(text)
    is_known = bool(explained) and ("returned non-zero" in text or text.startswith(AFTERMATH))
    return record.levelno > logging.INFO and not is_known and not text.startswith(NO_ACCOUNT)


def explain(record):
    """Return why a job that was submitted failed."""
    name, rule, resources = limits[record.jobid]
    logs = [Path(path) for path in record.log or [] if "slurm" in str(path)]
    return failure(name, rule, record.rule_msg or "", logs[-1] if logs else None,
                   *(int(resources.get(limit) or 0) for limit in ("runtime", "mem_mb")))


is_submitted = bool(os.environ.get(PROFILE))
is_run_by_make = VARIABLE in os.environ and workflow.is_main_process
if workflow.is_main_process:
    die_with_parent()
if workflow.is_main_process and is_submitted:
    os.environ.pop(VARIABLE, None)  # on another node, the id of this process means nothing
else:
    be_parent()
# Cores of a stage that can use all: on this machine, and where no profile says it of its rule.
cores = 1 if is_submitted else workflow.cores
os.environ["STUDY_ROOT"] = str(output_root())
os.environ["PYTHONPATH"] = os.pathsep.join(
    filter(None, [str(REPOSITORY), os.environ.get("PYTHONPATH", "")]))
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])

workdir: str(output_root())

study = load_study(config.get("study", "lab"), config.get("documents", ""))
data = f"data/{study.name}"
figures = f"figures/{study.name}"
RUN = ("exec python -m lib.run.warm {params.notebook} --name {params.name} "
       "--given {params.given:q}")


def stage(notebook, name="", of=study, wildcard="arm", content="", **more):
    """Return the params of a rule that runs `notebook`: its code digest and its parameters.

    `name` names the executed copy; `content` is a digest of anything else that the notebook reads.
    """
    def given(wildcards):
        values = of.given(notebook, getattr(wildcards, wildcard, "")) | more
        return json.dumps(values, sort_keys=True)
    is_run = notebook in of.stages
    return {"code": notebook_digest(notebook_path(notebook)) if is_run else "", "content": content,
            "notebook": notebook, "name": name or notebook, "given": given if is_run else "{}"}


def records(notebook, arms=("",)):
    """Return the stage records of `notebook`, one per arm if it runs per arm."""
    return [f"{data}/stages/{notebook}{arm and '-' + arm}.json" for arm in arms]


def rows(*names, **keys):
    """Return the paths of artifacts relative to the working folder."""
    return [str(artifact_path(study.name, name, **keys).relative_to(output_root()))
            for name in names]


# A graph sets `done`, the records of all stages, and `wanted`, files that are rebuilt if one is
# removed, even if no later stage needs it.
include: "notebooks/" + {"lab": "", "documents": ""}.get(study.source, f"{study.source}/") + "graph.smk"


localrules: all, run_record


rule all:
    input: f"{data}/run.json", done, wanted
    default_target: True


rule run_record:
    input: done
    output: f"{data}/run.json"
    shell: f"exec python -m lib.run.provenance {study.name} {{input}}"


# Rules that run a notebook, for the lines that say which stage of how many begins.
jobs, limits, explained, schedule = {}, {}, [], Schedule(study.name, {
    one.name: getattr(one.params, "notebook", "") for one in workflow.rules}, study.minutes)
if is_run_by_make:
    logger.addFilter(is_for_the_user)
