# Rules of every study with arms: the laboratory's base model, rewritten text, then each
# arm's training, answers and verdicts. The including graph sets `prompted`, what answering and judging
# read in addition to the queries.

from lib.run.provenance import labels_digest

wildcard_constraints: arm=r"[^/@]+(@\d+)?"

# The arms of one execution: all of them, or one that a wildcard names; how its record is called.
ALL, PART = study.runs, ["{arm}"]
answering, ONE = (ALL, [""]) if study.one_process_for_all_arms else (PART, PART)
measured = study.arms_per("arms") if study.one_process_for_all_arms else PART


def models(wildcards):
    """Return what answers wait for: the arms' own models, or the base model."""
    return [path for arm in [*wildcards] or ALL for path in (
        [f"{data}/models/{arm}/training.json"] if arm in study.trained else base)]


def learned(wildcards):
    """Return the artifacts that an arm's training reads, beside its base model."""
    names = corpus_inputs(study.corpus_of(wildcards.arm))[0]
    asked = ["queries"] * bool(study.own("03_train", wildcards.arm).get("eval_epochs"))
    return rows(*names, *asked, arm=wildcards.arm.split("@")[0])


def corpora(wildcards):
    """Return the digest of the files of the repository that an arm's training reads."""
    return contents(*study.corpus_files(wildcards.arm))


def of(name, arms, **keys):
    """Return the paths of an artifact of each of `arms`."""
    return [path for arm in arms for path in rows(name, arm=arm, **keys)]


known = [f"data/{study.made_by}/{name}.jsonl" for name in ("documents_public", "facts")
         if study.made_by]
again = {judge.replace("/", "--"): judge for judge in study.other_judges}
also = [*(f"data/{lab}/stages/00_lab.json" for lab in study.labs),  # records of further stages
        *(f"{data}/stages/05_judge-{name}.json" for name in again)]
augmented = rows("augmented") if study.written else []
base = [f"{study.base_model}/config.json"] * bool(study.made_by)
answers, verdicts = of("answers", ALL), of("verdicts", ALL, judge=study.judge)
others = [path for judge in study.other_judges for path in of("verdicts", ALL, judge=judge)]
labels = labels_digest(output_root() / data / "labels")
trained = expand(f"{data}/models/{{arm}}/training.json", arm=study.trained)


for lab in study.labs:
    rule:
        name: f"lab_{lab}"
        output: f"data/{lab}/documents.jsonl", f"data/{lab}/documents_public.jsonl",
            f"data/{lab}/facts.jsonl", f"data/{lab}/models/base/config.json",
            f"data/{lab}/stages/00_lab.json"
        params: **stage("00_lab", of=study if lab == study.name else load_study(lab))
        threads: cores
        shell: RUN


if "02_normalize" in study.stages:
    rule normalize:
        input: rows("documents"), rows("queries") if augmented else [],
            base  # its tokenizer counts the tokens
        output: rows("segments", "normalized"), augmented, records("02_normalize")
        params: **stage("02_normalize", content=replies)
        shell: RUN


rule train:
    input: learned, base
    output: f"{data}/models/{{arm}}/training.json", records("03_train", PART)
    params: **stage("03_train", "03_train-{arm}", content=corpora)
    threads: max(own_cores, cores // (len(study.trained) or 1))  # side by side, except on a GPU
    shell: RUN


rule infer:
    input: rows("queries"), prompted, models
    output: of("answers", answering), records("04_infer", ONE)
    params: **each("04_infer")
    priority: 10  # verdicts wait for it
    threads: own_cores if base else cores  # a laboratory's small Llama, beside retention
    shell: RUN


rule judge:
    input: rows("queries"), of("answers", answering), prompted
    output: of("verdicts", answering, judge=study.judge), records("05_judge", ONE)
    params: **each("05_judge")
    shell: RUN


for name, other in again.items():
    rule:
        name: f"judge_{name}"
        input: rows("queries"), answers, prompted
        output: of("verdicts", ALL, judge=other), f"{data}/stages/05_judge-{name}.json"
        params: **stage("05_judge", f"05_judge-{name}", judge=other, arms=ALL)
        shell: RUN


rule agreement:  # a sheet is neither input nor output: Snakemake would rebuild or remove it
    input: rows("queries"), answers, verdicts, others
    output: records("agreement")
    params: **stage("agreement", content=labels)
    shell: RUN


rule retention:
    input: models, known,  # the base is measured first: other arms are compared with it
        lambda wildcards: rows("retention", arm=BASE) * (
            BASE in study.arms and [*wildcards] not in ([], [BASE]))
    output: of("retention", measured), records("retention", ONE)
    params: **each("retention")
    threads: own_cores
    shell: RUN


if "06_analyze" in study.stages:
    rule analyze:
        input: rows("queries"), augmented, answers, verdicts, others,
            records("exposures") if "exposures" in study.stages else []
        output: f"{figures}/tables/table2.csv", records("06_analyze")
        params: **stage("06_analyze")
        shell: RUN
