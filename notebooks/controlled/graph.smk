# The controlled experiment: per seed its facts, texts and base, then one run per arm and rotation;
# one analysis. A run waits only for its own base. Bases and runs use one core each, in parallel.

wildcard_constraints: run=r"[a-z0-9+-]+-\d+-\d+", seed=r"\d+"

has_gpu = Path("/dev/nvidia0").exists()
seeds = [str(base) for base in study.bases]
done = [*records("00_facts", seeds), *records("01_pretrain", seeds), *records("02_run", study.runs),
        *records("03_analyze"), *(records("04_augment") if "04_augment" in study.stages else [])]
wanted = [f"{figures}/controlled.md", *expand(rows("controlled_facts", seed="{seed}"), seed=seeds),
          *expand(rows("outcomes", run="{run}"), run=study.runs)]


def of_base(wildcards):
    """Return what a run reads: the facts, texts and base of its seed."""
    return expand([*rows("controlled_facts", "public_facts", seed="{seed}"), f"{data}/texts/{{seed}}",
                   f"{data}/models/base-{{seed}}/training.json"],
                  seed=wildcards.run.rsplit("-", 1)[1])


rule controlled_texts:
    output: rows("controlled_facts", seed="{seed}"), directory(f"{data}/texts/{{seed}}"),
        records("00_facts", ["{seed}"])
    params: **stage("00_facts", "00_facts-{seed}", wildcard="seed")
    priority: 10
    shell: RUN


rule pretrain:
    input: rows("controlled_facts", seed="{seed}")
    output: f"{data}/models/base-{{seed}}/training.json", rows("public_facts", seed="{seed}"),
        records("01_pretrain", ["{seed}"])
    params: **stage("01_pretrain", "01_pretrain-{seed}", wildcard="seed")
    threads: cores if has_gpu else 1
    priority: 10  # the longest jobs come first
    shell: RUN


rule controlled_run:
    input: of_base
    output: rows("outcomes", run="{run}"), records("02_run", ["{run}"])
    params: **stage("02_run", "02_run-{run}", wildcard="run")
    threads: cores if has_gpu else 1
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
