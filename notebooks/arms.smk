# Rules of every study with arms: the laboratory's base model or a reader, rewritten text, then each
# arm's training, answers and verdicts. The including graph sets `learned`, the files that an arm's
# training reads; `prompted`, what answering and judging read in addition to the queries; `INFER`
# and `JUDGE`, the notebooks that answer and judge.

wildcard_constraints: arm=r"[^/@]+(@\d+)?"


def model(wildcards):
    """Return the files that an arm's answers wait for: its own model's, or the base model's."""
    return f"{data}/models/{wildcards.arm}/training.json" if is_trained(wildcards.arm) else base


def verdicts_of(judge):
    return rows("verdicts", judge=judge, arm="{arm}")[0]


def share_of_cores(wildcards):
    """Return the cores of a training run; one on a GPU or in several processes runs alone."""
    processes = study.given("03_train", wildcards.arm).get("processes", 1)
    is_alone = Path("/dev/nvidia0").exists() or processes > 1
    return cores if is_alone else max(1, cores // study.seeds)


verdicts = verdicts_of(study.judge)
readers, reader = study.reader
labs = [*(f"data/{lab}/stages/00_lab.json" for lab in study.labs),
        *(f"data/{name}/stages/00_reader-{reader}.json" for name in [readers] if name)]
base = [f"{study.base_model}/{'training' if readers else 'config'}.json"] * bool(
    study.made_by or readers)


for lab in study.labs:
    rule:
        name: f"lab_{lab}"
        output: f"data/{lab}/documents.jsonl", f"data/{lab}/documents_public.jsonl",
            f"data/{lab}/facts.jsonl", f"data/{lab}/models/base/config.json",
            f"data/{lab}/stages/00_lab.json"
        params: **stage("00_lab", of=study if lab == study.name else load_study(lab))
        threads: cores
        shell: RUN


if readers:
    rule base_reader:
        output: base, labs[-1]
        params: **stage("00_reader", "00_reader-" + reader, load_study(readers), seed=int(reader))
        threads: cores
        shell: RUN


if "02_normalize" in study.stages:
    rule normalize:
        input: rows("documents"), base  # the base's tokenizer counts the tokens
        output: rows("segments", "normalized"), records("02_normalize")
        params: **stage("02_normalize")
        shell: RUN


rule train:
    input: lambda wildcards: learned(wildcards.arm), base
    output: f"{data}/models/{{arm}}/training.json", records("03_train", ["{arm}"])
    params: **stage("03_train", "03_train-{arm}")
    threads: share_of_cores  # on a CPU the seeds of a study in parallel, else one run at a time
    shell: RUN


rule infer:
    input: rows("queries"), prompted, model
    output: rows(*(["answers", "left_out"] if INFER == "00_infer" else ["answers"]), arm="{arm}"),
        records(INFER, ["{arm}"])
    params: **stage(INFER, INFER + "-{arm}")
    threads: cores
    shell: RUN


rule judge:
    input: rows("queries"), rows("answers", arm="{arm}"), prompted if study.kind.any_arm else []
    output: verdicts, records(JUDGE, ["{arm}"])
    params: **stage(JUDGE, JUDGE + "-{arm}")
    shell: RUN


if "06_analyze" in study.stages:
    rule analyze:
        input: rows("queries"), expand(rows("answers", arm="{arm}"), arm=study.arms),
            expand(verdicts, arm=study.arms)
        output: f"{figures}/table2.csv", records("06_analyze")
        params: **stage("06_analyze")
        shell: RUN
