# The controlled experiment: facts and texts, one base per seed, one run per arm, rotation and seed,
# and one analysis. A run waits only for its own base. Bases and runs use one core each, in parallel.

wildcard_constraints: run=r"[a-z0-9-]+-\d+-\d+", seed=r"\d+"

has_gpu = Path("/dev/nvidia0").exists()
seeds = [str(seed) for seed in range(1, study.seeds + 1)]
done = [*records("00_facts"), *records("01_pretrain", seeds), *records("02_run", study.runs),
        *records("03_analyze")]
wanted = [f"{figures}/controlled.md", *rows("facts"),
          *expand(rows("outcomes", run="{run}"), run=study.runs)]


rule controlled_texts:
    output: rows("facts"), expand(rows("texts", text="{text}"), text=study.texts),
        records("00_facts")
    params: **stage("00_facts")
    shell: RUN


rule pretrain:
    input: rows("facts")
    output: f"{data}/models/base-{{seed}}/training.json", records("01_pretrain", ["{seed}"])
    params: **stage("01_pretrain", "01_pretrain-{seed}", wildcard="seed")
    threads: workflow.cores if has_gpu else 1
    priority: 10  # the longest jobs come first
    shell: RUN


rule controlled_run:
    input: rows("facts"),
        lambda wildcards: rows("texts", text=wildcards.run.rsplit("-", 1)[0]),
        lambda wildcards: f"{data}/models/base-{wildcards.run.rsplit('-', 1)[1]}/training.json"
    output: rows("outcomes", "acquisition", run="{run}"), records("02_run", ["{run}"])
    params: **stage("02_run", "02_run-{run}", wildcard="run")
    threads: workflow.cores if has_gpu else 1
    shell: RUN


rule controlled_analysis:
    input: rows("facts"), expand(rows("outcomes", "acquisition", run="{run}"), run=study.runs)
    output: f"{figures}/controlled.md", f"{figures}/interventions.csv", records("03_analyze")
    params: **stage("03_analyze")
    shell: RUN
