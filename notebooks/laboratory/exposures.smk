# The exposure study: each base with all its runs on one core, in parallel; one analysis.

RUNS = "exposures_run"
outcomes = [path for seed in study.numbers for path in rows("outcomes", "kept", seed=seed)]
done = [path for notebook in study.stages for path in records(notebook)]
wanted = [f"{figures}/exposures.md", *outcomes]


rule exposures_run:
    output: rows("outcomes", "kept", seed="{arm}"), records(RUNS, ["{arm}"])
    params: **stage(RUNS, f"{RUNS}-{{arm}}")
    threads: own_cores
    shell: RUN


rule exposures:
    input: outcomes
    output: f"{figures}/exposures.md", f"{figures}/more/effects.csv", records("exposures")
    params: **stage("exposures")
    shell: RUN
