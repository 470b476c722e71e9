# What every study with arms does: the laboratory's base model, rewritten text, then an arm's training, answers, verdicts.
# Set before: `learned`, what a training reads (an arm -> files); `asked_with`, what 04_infer and 05_judge read beside
# the queries.
from lib.core.paths import verdicts_path
from lib.core.arms import is_trained
from lib.run.config import UNTRAINED

wildcard_constraints: arm=r"[^/@]+(@\d+)?"


def model(wildcards):
    """What an arm's answers wait for: its training, or the base model where a laboratory makes it."""
    return f"{data}/models/{wildcards.arm}/training.json" if is_trained(wildcards.arm) else base


def acquires(wildcards):
    """Whether an arm's training asks the queries between its epochs."""
    return study.given("03_train", wildcards.arm).get("acquisition_every", 0) > 0


def verdicts_of(judge):
    return str(verdicts_path(study.name, judge, "{arm}").relative_to(output_root()))


def share_of_cores(wildcards):
    """Cores of one training. A GPU, or several processes, belong to one training at a time."""
    is_alone = Path("/dev/nvidia0").exists() or study.given("03_train", wildcards.arm).get("processes", 1) > 1
    return workflow.cores if is_alone else max(1, workflow.cores // study.seeds)


verdicts = verdicts_of(study.judge)
labs = [f"data/{lab}/stages/00_lab.json" for lab in study.labs]
base = [f"{Path(study.base_model)}/config.json"] if study.made_by else []


for lab in study.labs:
    rule:
        name: f"lab_{lab}"
        output: f"data/{lab}/documents.jsonl", f"data/{lab}/documents_public.jsonl", f"data/{lab}/facts.jsonl",
            f"data/{lab}/models/base/config.json", f"data/{lab}/stages/00_lab.json"
        params: code=code("00_lab"), notebook="00_lab", name="00_lab", given=given("00_lab", study if lab == study.name else load_study(lab))
        threads: workflow.cores
        shell: RUN


if "02_normalize" in study.stages:
    rule normalize:
        input: f"{data}/documents.jsonl", base  # the base's tokenizer counts the tokens
        output: f"{data}/segments.jsonl", f"{data}/normalized.jsonl", *records("02_normalize")
        params: code=code("02_normalize"), notebook="02_normalize", name="02_normalize", given=given("02_normalize")
        shell: RUN


rule train:
    input: lambda wildcards: learned(wildcards.arm), base,
        lambda wildcards: [f"{data}/queries.jsonl"] * acquires(wildcards)
    output: f"{data}/models/{{arm}}/training.json", *records("03_train", ["{arm}"])
    params: code=code("03_train"), notebook="03_train", name="03_train-{arm}", given=given("03_train")
    threads: share_of_cores  # on a CPU the seeds of a study side by side, else one training at a time
    shell: RUN


rule infer:
    input: f"{data}/queries.jsonl", asked_with, model
    output: f"{data}/answers/{{arm}}.jsonl", *records("04_infer", ["{arm}"])
    params: code=code("04_infer"), notebook="04_infer", name="04_infer-{arm}", given=given("04_infer")
    threads: workflow.cores
    shell: RUN


rule judge:
    input: f"{data}/queries.jsonl", f"{data}/answers/{{arm}}.jsonl",
        asked_with if study.kind.any_arm else []  # an answer is found in a reply by how it was asked for
    output: verdicts, *records("05_judge", ["{arm}"])
    params: code=code("05_judge"), notebook="05_judge", name="05_judge-{arm}", given=given("05_judge")
    shell: RUN


if "06_analyze" in study.stages:
    rule analyze:
        input: f"{data}/queries.jsonl", expand(f"{data}/answers/{{arm}}.jsonl", arm=study.arms),
            expand(verdicts, arm=study.arms)
        output: f"figures/{study.name}/table2.csv", *records("06_analyze")
        params: code=code("06_analyze"), notebook="06_analyze", name="06_analyze", given=given("06_analyze")
        shell: RUN
