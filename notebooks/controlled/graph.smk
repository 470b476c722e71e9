# The controlled experiment: facts and texts, a base a seed, a run an arm, rotation and seed, one analysis.
# A run waits for its own base only, so that bases and runs go side by side, each on one core of a CPU.

wildcard_constraints: run=r"[a-z0-9-]+-\d+-\d+", seed=r"\d+"

has_gpu = Path("/dev/nvidia0").exists()
done = [*records("00_facts"), *records("01_pretrain", [str(seed) for seed in range(1, study.seeds + 1)]),
        *records("02_run", study.runs), *records("03_analyze")]


wanted = [f"figures/{study.name}/controlled.md", f"{data}/facts.jsonl",
          *expand(f"{data}/outcomes/{{run}}.jsonl", run=study.runs)]


rule controlled_texts:
    output: f"{data}/facts.jsonl", expand(f"{data}/texts/{{text}}.jsonl", text=study.texts), *records("00_facts")
    params: code=code("00_facts"), notebook="00_facts", name="00_facts", given=given("00_facts")
    shell: RUN


rule pretrain:
    input: f"{data}/facts.jsonl"
    output: f"{data}/models/base-{{seed}}/training.json", f"{data}/stages/03_pretrain-{{seed}}.json"
    params: code=code("01_pretrain"), notebook="01_pretrain", name="01_pretrain-{seed}",
        given=lambda wildcards: json.dumps(study.given("01_pretrain", wildcards.seed), sort_keys=True)
    threads: workflow.cores if has_gpu else 1
    priority: 10  # the longest first
    shell: RUN


rule controlled_run:
    input: f"{data}/facts.jsonl",
        lambda wildcards: f"{data}/texts/{wildcards.run.rsplit('-', 1)[0]}.jsonl",
        lambda wildcards: f"{data}/models/base-{wildcards.run.rsplit('-', 1)[1]}/training.json"
    output: f"{data}/outcomes/{{run}}.jsonl", f"{data}/acquisition/{{run}}.jsonl", f"{data}/stages/03_controlled-{{run}}.json"
    params: code=code("02_run"), notebook="02_run", name="02_run-{run}",
        given=lambda wildcards: json.dumps(study.given("02_run", wildcards.run), sort_keys=True)
    threads: workflow.cores if has_gpu else 1
    shell: RUN


rule controlled_analysis:
    input: f"{data}/facts.jsonl", expand(f"{data}/outcomes/{{run}}.jsonl", run=study.runs),
        expand(f"{data}/acquisition/{{run}}.jsonl", run=study.runs)
    output: f"figures/{study.name}/controlled.md", f"figures/{study.name}/interventions.csv", *records("03_analyze")
    params: code=code("03_analyze"), notebook="03_analyze", name="03_analyze", given=given("03_analyze")
    shell: RUN
