# The controlled experiment: per seed its facts, texts and base, then one run per arm and rotation;
# one analysis. A run waits only for its own base. Bases and runs use one core each, in parallel.

wildcard_constraints: run=r"[a-z0-9+-]+-\d+-\d+", seed=r"\d+"

done = [path for notebook in study.stages for path in records(notebook)]
wanted = [f"{figures}/controlled.md", *expand(rows("outcomes", run="{run}"), run=study.runs)]


def of_base(wildcards):
    """Return what a run reads: the facts, texts and base of its seed."""
    seed = wildcards.run.rsplit("-", 1)[1]
    return [*rows("controlled_facts", "public_facts", seed=seed), f"{data}/texts/{seed}",
            f"{data}/models/base-{seed}/training.json"]


rule controlled_texts:
    output: rows("controlled_facts", seed="{seed}"), directory(f"{data}/texts/{{seed}}"),
        records("00_facts", ["{seed}"])
    params: **stage("00_facts", "00_facts-{seed}")
    shell: RUN


rule pretrain:
    input: rows("controlled_facts", seed="{seed}")
    output: f"{data}/models/base-{{seed}}/training.json", rows("public_facts", seed="{seed}"),
        records("01_pretrain", ["{seed}"])
    params: **stage("01_pretrain", "01_pretrain-{seed}")
    threads: own_cores
    priority: 10  # the longest jobs come first
    shell: RUN


rule controlled_run:
    input: of_base
    output: rows("outcomes", run="{run}"), records("02_run", ["{run}"])
    params: **stage("02_run", "02_run-{run}")
    threads: own_cores
    shell: RUN


rule controlled_analysis:
    input: expand(rows("outcomes", run="{run}"), run=study.runs)
    output: f"{figures}/controlled.md", f"{figures}/summary.csv", records("03_analyze")
    params: **stage("03_analyze")
    shell: RUN


rule augmentation:
    input: expand(rows("outcomes", run="{run}"), run=study.runs)
    output: f"{figures}/augment.md", records("04_augment")
    params: **stage("04_augment")
    shell: RUN
