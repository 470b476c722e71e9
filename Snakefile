# Which notebook reads what and writes what. `make study` runs it; by hand: `snakemake --cores 2 --config study=lab`.
# A stage runs again where its parameters, its inputs' content, or what its notebook computes (lib.core.digest) has
# changed. Executed copies are no outputs: removing one re-runs nothing.
import json
import logging
import os
import sys
from pathlib import Path

from snakemake.logging import LogEvent, logger

sys.path.insert(0, str(workflow.basedir))
from lib.core.digest import notebook_digest
from lib.core.process import VARIABLE, be_parent, die_with_parent
from lib.core.paths import REPOSITORY, output_root
from lib.run.config import load_study
from lib.run.sources import VARIANTS


def is_for_the_user(said):
    """Of what Snakemake says under `make study`: "n of m steps" and errors, less those that a notebook's run explains."""
    explained = "returned non-zero exit status 1." in said.getMessage()
    return getattr(said, "event", "") == LogEvent.PROGRESS or said.levelno > logging.INFO and not explained


if VARIABLE in os.environ:
    logger.addFilter(is_for_the_user)
if workflow.is_main_process:
    die_with_parent()
be_parent()
os.environ["STUDY_ROOT"] = str(output_root())
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(REPOSITORY), os.environ.get("PYTHONPATH", "")]))
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])

workdir: str(output_root())

study = load_study(config.get("study", "lab"), config.get("documents", ""))
data = f"data/{study.name}"
RUN = "exec python -m lib.run.notebook {params.notebook} --name {params.name} --given {params.given:q}"


def code(stage):
    """Return the digest of what a stage computes; "" where it is not run."""
    if stage in VARIANTS and stage not in study.variants:
        return ""
    return notebook_digest(REPOSITORY / "notebooks" / f"{stage}.ipynb")


def given(stage, of=study, **more):
    """The parameters of a stage as JSON, for an arm where it has one."""
    return lambda wildcards: json.dumps(of.given(stage, getattr(wildcards, "arm", "")) | more, sort_keys=True)


def records(stage, arms=("",)):
    return [f"{data}/stages/{stage}{arm and '-' + arm}.json" for arm in arms]


# `done`: the records of all stages; `wanted`: the files that are made again where one was removed, although nothing
# after them would miss them.
include: f"notebooks/{'' if study.source in ('lab', 'documents') else study.source + '/'}graph.smk"


rule all:
    input: f"{data}/run.json", done, wanted
    default_target: True


rule run_record:
    input: done
    output: f"{data}/run.json"
    shell: f"exec python -m lib.run.provenance {study.name} {{input}}"
