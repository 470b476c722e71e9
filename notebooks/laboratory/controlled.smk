# The controlled experiment: the first run of a seed also pretrains its base, and the others of the
# seed wait for it; one analysis. Runs use one core each, in parallel.

RUNS = "controlled_run"
outcomes = expand(rows("outcomes", run="{run}"), run=study.runs)
done = [path for notebook in study.stages for path in records(notebook)]
wanted = [f"{figures}/controlled.md", *outcomes]
first = {f"raw-0-{seed}" for seed in study.numbers}


def base(run):
    return [f"{data}/models/base-{run.rpartition('-')[2]}/training.json"]


for one in study.runs:
    rule:
        name: f"train_{one}"
        input: base(one) * (one not in first)
        output: rows("outcomes", run=one), records(RUNS, [one]),
            base(one) * (one in first)
        params: **stage(RUNS, f"{RUNS}-{one}", **study.given(RUNS, one))
        threads: own_cores
        priority: 10 * (one in first)  # the longest jobs come first
        shell: RUN


rule controlled:
    input: outcomes
    output: f"{figures}/controlled.md", f"{figures}/more/summary.csv", records("controlled")
    params: **stage("controlled")
    shell: RUN
