# Replicates of the laboratory: each is the main chain on records, world, weights and order of its
# own, in data/<study>/<seed>. Each stage uses one core, so several replicates run in parallel; a
# begun replicate has priority over the next base.

wildcard_constraints: seed=r"\d+", arm="|".join(study.arms)

has_gpu = Path("/dev/nvidia0").exists()
own = f"{data}/{{seed}}"


def runs_one(notebook, per_arm=False):
    """Return the params of a rule that runs `notebook` for one replicate, or for one of its arms."""
    def given(wildcards):
        return json.dumps(study.given(notebook, "-".join(wildcards)), sort_keys=True)
    return stage(notebook, name_of(notebook, per_arm)) | {"given": given}


def name_of(notebook, per_arm=False):
    return f"{notebook}-{{seed}}" + "-{arm}" * per_arm


def stage_of(notebook, per_arm=False):
    """Return a stage record of one replicate."""
    return f"{own}/stages/{name_of(notebook, per_arm)}.json"


def every(*patterns):
    """Return paths of all replicates and arms."""
    return expand(list(patterns), seed=study.numbers, arm=study.arms)


is_per_arm = {"00_lab": False, "01_annotate": False, "02_normalize": False, "03_train": True,
              "04_infer": True, "05_judge": True}
done = [*(path for notebook, per_arm in is_per_arm.items() for path in every(stage_of(notebook, per_arm))),
        *records("00_replicates")]
analyzed = every(*(f"{own}/{name}" for name in (
    "queries.jsonl", "segments.jsonl", "scores/{arm}.jsonl", "verdicts/rules/{arm}.jsonl",
    "models/{arm}/training.json")))
wanted = [f"{figures}/replicates.md", *analyzed]


rule replicate_lab:
    output: f"{own}/documents.jsonl", f"{own}/documents_public.jsonl", f"{own}/facts.jsonl",
        f"{own}/models/base/config.json", stage_of("00_lab")
    params: **runs_one("00_lab")
    threads: cores if has_gpu else 1
    shell: RUN


rule replicate_queries:
    input: f"{own}/documents.jsonl"
    output: f"{own}/queries.jsonl", f"{own}/queries_rejected.jsonl", stage_of("01_annotate")
    params: **runs_one("01_annotate")
    priority: 20
    shell: RUN


rule replicate_texts:
    input: f"{own}/documents.jsonl", f"{own}/models/base/config.json"
    output: f"{own}/segments.jsonl", f"{own}/normalized.jsonl", stage_of("02_normalize")
    params: **runs_one("02_normalize")
    priority: 20
    shell: RUN


rule replicate_training:
    input: f"{own}/segments.jsonl", f"{own}/normalized.jsonl", f"{own}/models/base/config.json"
    output: f"{own}/models/{{arm}}/training.json", stage_of("03_train", True)
    params: **runs_one("03_train", True)
    threads: cores if has_gpu else 1
    priority: 20
    shell: RUN


rule replicate_answers:
    input: f"{own}/queries.jsonl", f"{own}/documents.jsonl", f"{own}/models/{{arm}}/training.json"
    output: f"{own}/answers/{{arm}}.jsonl", f"{own}/scores/{{arm}}.jsonl", stage_of("04_infer", True)
    params: **runs_one("04_infer", True)
    threads: cores if has_gpu else 1
    priority: 20
    shell: RUN


rule replicate_verdicts:
    input: f"{own}/queries.jsonl", f"{own}/answers/{{arm}}.jsonl"
    output: f"{own}/verdicts/rules/{{arm}}.jsonl", stage_of("05_judge", True)
    params: **runs_one("05_judge", True)
    priority: 20
    shell: RUN


rule replicates_analysis:
    input: analyzed
    output: f"{figures}/replicates.md", records("00_replicates")
    params: **stage("00_replicates")
    shell: RUN
