# The controlled experiment: facts and texts, a base a seed, a run an arm, rotation and seed, one analysis.
# A run waits for its own base only, so that bases and runs go side by side, each on one core of a CPU.

wildcard_constraints: run=r"[a-z0-9-]+-\d+-\d+", seed=r"\d+"

has_gpu = Path("/dev/nvidia0").exists()
done = [*records("00_controlled"), *records("03_pretrain", [str(seed) for seed in range(1, study.seeds + 1)]),
        *records("03_controlled", study.runs), *records("06_controlled")]


wanted = [f"figures/{study.name}/controlled.md", f"{data}/facts.jsonl",
          *expand(f"{data}/outcomes/{{run}}.jsonl", run=study.runs)]


rule controlled_texts:
    output: f"{data}/facts.jsonl", expand(f"{data}/texts/{{text}}.jsonl", text=study.texts), *records("00_controlled")
    params: code=code("00_controlled"), notebook="00_controlled", name="00_controlled", given=given("00_controlled")
    shell: RUN


rule pretrain:
    input: f"{data}/facts.jsonl"
    output: f"{data}/models/base-{{seed}}/training.json", f"{data}/stages/03_pretrain-{{seed}}.json"
    params: code=code("03_pretrain"), notebook="03_pretrain", name="03_pretrain-{seed}",
        given=lambda wildcards: json.dumps(study.given("03_pretrain", wildcards.seed), sort_keys=True)
    threads: workflow.cores if has_gpu else 1
    priority: 10  # the longest first
    shell: RUN


rule controlled_run:
    input: f"{data}/facts.jsonl",
        lambda wildcards: f"{data}/texts/{wildcards.run.rsplit('-', 1)[0]}.jsonl",
        lambda wildcards: f"{data}/models/base-{wildcards.run.rsplit('-', 1)[1]}/training.json"
    output: f"{data}/outcomes/{{run}}.jsonl", f"{data}/acquisition/{{run}}.jsonl", f"{data}/stages/03_controlled-{{run}}.json"
    params: code=code("03_controlled"), notebook="03_controlled", name="03_controlled-{run}",
        given=lambda wildcards: json.dumps(study.given("03_controlled", wildcards.run), sort_keys=True)
    threads: workflow.cores if has_gpu else 1
    shell: RUN


rule controlled_analysis:
    input: f"{data}/facts.jsonl", expand(f"{data}/outcomes/{{run}}.jsonl", run=study.runs),
        expand(f"{data}/acquisition/{{run}}.jsonl", run=study.runs)
    output: f"figures/{study.name}/controlled.md", f"figures/{study.name}/interventions.csv", *records("06_controlled")
    params: code=code("06_controlled"), notebook="06_controlled", name="06_controlled", given=given("06_controlled")
    shell: RUN
