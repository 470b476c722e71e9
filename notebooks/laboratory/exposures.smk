# The exposure study: each base with all its runs on one core, in parallel; one analysis. Also part of
# a laboratory's graph, for its own base.

RUNS = "exposures_run"
outcomes = [path for seed in study.arms_of(RUNS) for path in rows("outcomes", "retained", seed=seed)]
if study.kind == "exposures":
    base = []  # each run makes its own
    done = [path for notebook in study.stages for path in records(notebook)]
    wanted = [f"{figures}/exposures.md", *outcomes]


rule exposures_run:
    input: base
    output: rows("outcomes", "retained", seed="{arm}"), records(RUNS, ["{arm}"])
    params: **stage(RUNS, f"{RUNS}-{{arm}}")
    priority: 20  # a laboratory's analysis waits for it
    threads: cores if base else own_cores  # a laboratory has one run, the study many
    shell: RUN


rule exposures:
    input: outcomes
    output: f"{figures}/exposures.md", f"{figures}/extra/effects.csv", records("exposures")
    params: **stage("exposures")
    shell: RUN
