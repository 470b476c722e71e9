# Which notebook reads what and writes what. `make study` runs it; by hand:
# `snakemake --cores 2 --config study=lab`. A stage runs again if its parameters, the content of its
# inputs or the code that its notebook runs (lib.core.digest) have changed. Executed copies are not
# outputs: removing one re-runs nothing.
import json
import logging
import os
import signal
import sys
from pathlib import Path

from snakemake.logging import LogEvent, logger

sys.path.insert(0, str(workflow.basedir))
from lib.core.arms import BASE, corpus_inputs
from lib.core.digest import notebook_digest
from lib.core.store import PROMPTS, REPOSITORY, artifact_path, output_root
from lib.core.process import be_parent, die_with_parent
from lib.documents.folder import list_files
from lib.core.stages import SYSTEMS
from lib.run.config import load_study
from lib.run.parameters import notebook_path, parameters_of
from lib.run.provenance import contents, forget_changed

if workflow.is_main_process:
    die_with_parent()

    def end_in_silence(number, frame):  # lib.run.study says that it was interrupted
        os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
        raise KeyboardInterrupt

    signal.signal(signal.SIGINT, end_in_silence)
    said = workflow.output_settings
    if said.quiet and not said.dryrun:  # stages say what they found
        after = ("RuleException:\nCalledProcessError", "WorkflowError:\nAt least one job",
                 "Exiting because a job")  # what lib.run.notebook has said
        logger.addFilter(lambda record: not str(record.msg).startswith(after)
                         and (record.levelno > logging.INFO
                              or getattr(record, "event", None) == LogEvent.PROGRESS))
be_parent()
os.environ["STUDY_ROOT"] = str(output_root())
os.environ.setdefault("PYTHONPATH", str(REPOSITORY))

workdir: str(output_root())

study = load_study(config.get("study", "lab"), config.get("documents", ""))
look = json.dumps(study.look)  # of tables and figures
os.environ |= {PROMPTS: study.prompts, "STUDY_LOOK": look, "STUDY_DISCLAIMER": study.disclaimer,
               "STUDY_PYTHON": sys.executable}
# Of trainings: no part of a rule, because what is logged changes no weight.
LOGGING = ("logging_steps", "report_to")
os.environ["STUDY_LOGGING"] = json.dumps({
    f"03_train-{arm}": {name: one for name, one in study.given("03_train", arm).items()
                        if name in LOGGING} for arm in getattr(study, "trained", ())})
replies = contents(*study.replies)
# Of a base that is a folder. What a laboratory made is in its record.
folder = "" if study.kind == "exposures" or study.made_by else study.base_model
weights = contents(*(path for root in {REPOSITORY, output_root()} if folder
                     for path in root.joinpath(folder).glob("*") if path.is_file()))
data, figures = f"data/{study.name}", f"figures/{study.name}"
LOOKED_AT = ("statistics", "ledger", "agreement", "exposures")  # made again if the look changes
cores = study.threads or workflow.cores or 1  # of a stage that can use all; see the profile
own_cores = cores if Path("/dev/nvidia0").exists() else 1  # of stages that run side by side
# papermill with these parameters, then nbconvert, then the stage's record.
# No path of this machine is part of a rule, or a study that was moved would run again.
RUN = ('exec "$STUDY_PYTHON" -m lib.run.notebook '
       "{params.notebook} --name {params.name} -y {params.given:q}")


def stage(notebook, name="", of=study, content="", **more):
    """Return the params of a rule that runs `notebook`: its code digest and its parameters.

    `name` names the executed copy; its wildcards select the parameters. `content` is a digest of
    anything else that the notebook reads.
    """
    def given(wildcards):
        values = of.given(notebook, "-".join(wildcards)) | more
        return json.dumps({name: values[name] for name in values if name not in LOGGING},
                          sort_keys=True)

    def named(wildcards):  # files of the repository
        values = of.given(notebook, "-".join(wildcards)).values()
        return contents(*(one for one in values if one and isinstance(one, str)
                          and os.path.isfile(REPOSITORY / one)))

    is_run = notebook in of.stages
    path = notebook_path(notebook)
    task = (SYSTEMS[of.pipeline.task],) if "task" in parameters_of(path) else ()
    if notebook[:2] == "06" or notebook in LOOKED_AT:
        content += look
    return {"code": notebook_digest(path, more=task) if is_run else "", "content": content,
            "weights": weights if "base_model" in parameters_of(path) else "",
            "files": named if is_run else "",
            "retry": of.reruns(notebook),
            "notebook": notebook, "name": name or notebook, "given": given if is_run else "{}"}


def each(notebook):
    """Return the params of a rule that runs `notebook` for each arm, or once for all together."""
    return stage(notebook, notebook + ("" if study.one_process_for_all_arms else "-{arm}"))


def records(notebook, arms=None):
    """Return the stage records of `notebook`, one per arm if it runs per arm."""
    arms = study.arms_of(notebook) if arms is None else arms
    return [f"{data}/stages/{notebook}{arm and '-' + arm}.json" for arm in arms]


def rows(*names, **keys):
    """Return the paths of artifacts relative to the working folder."""
    return [str(artifact_path(study.name, name, **keys).relative_to(output_root()))
            for name in names]


# A graph sets `done`, the records of all stages, and `wanted`, files that are rebuilt if one is
# removed, even if no later stage needs it.
include: f"notebooks/{study.pipeline.graph}"
if workflow.is_main_process and not workflow.output_settings.dryrun:
    forget_changed([output_root() / path for path in done])


localrules: all, run_record


rule all:
    input: f"{data}/run.json", done, wanted
    default_target: True


rule run_record:
    input: done
    output: f"{data}/run.json"
    shell: f'exec "$STUDY_PYTHON" -m lib.run.provenance {study.name} {{input}}'
