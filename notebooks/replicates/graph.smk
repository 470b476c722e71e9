# Replicates of the laboratory: each is the main chain on records, world, weights and order of its
# own, in data/<study>/<seed>. Each stage uses one core, so several replicates run in parallel; a
# begun replicate has priority over the next base.

wildcard_constraints: seed=r"\d+", arm="|".join(study.arms)

own = f"{data}/{{seed}}"
texts = [f"{own}/segments.jsonl", f"{own}/normalized.jsonl"]
lab_base = f"{own}/models/base/config.json"
trained = expand(f"{own}/models/{{arm}}/training.json", arm=study.arms, allow_missing=True)
answers = expand(f"{own}/{{name}}/{{arm}}.jsonl", name=("answers", "scores"), arm=study.arms,
                 allow_missing=True)
verdicts = expand(f"{own}/verdicts/rules/{{arm}}.jsonl", arm=study.arms, allow_missing=True)


def record(notebook):
    """Return a stage record of one replicate, or of one of its arms."""
    return f"{own}/stages/{notebook}-{{seed}}{'-{arm}' * (notebook == '03_train')}.json"


def of_one(notebook):
    return stage(notebook, Path(record(notebook)).stem)


analyzed = expand([f"{own}/queries.jsonl", texts[0], *answers, *verdicts, *trained],
                  seed=study.numbers)
done = [*expand(list(map(record, study.stages[:-1])), seed=study.numbers, arm=study.arms),
        *records("00_replicates")]
wanted = [f"{figures}/replicates.md", *analyzed]


rule replicate_lab:
    output: f"{own}/documents.jsonl", f"{own}/documents_public.jsonl", f"{own}/facts.jsonl",
        lab_base, record("00_lab")
    params: **of_one("00_lab")
    threads: own_cores
    shell: RUN


rule replicate_queries:
    input: f"{own}/documents.jsonl"
    output: f"{own}/queries.jsonl", f"{own}/queries_rejected.jsonl", record("01_annotate")
    params: **of_one("01_annotate")
    priority: 20
    shell: RUN


rule replicate_texts:
    input: f"{own}/documents.jsonl", lab_base
    output: texts, record("02_normalize")
    params: **of_one("02_normalize")
    priority: 20
    shell: RUN


rule replicate_training:
    input: texts, lab_base
    output: f"{own}/models/{{arm}}/training.json", record("03_train")
    params: **of_one("03_train")
    threads: own_cores
    priority: 20
    shell: RUN


rule replicate_answers:
    input: f"{own}/queries.jsonl", f"{own}/documents.jsonl", trained
    output: answers, record("04_infer")
    params: **of_one("04_infer")
    threads: own_cores
    priority: 20
    shell: RUN


rule replicate_verdicts:
    input: f"{own}/queries.jsonl", answers
    output: verdicts, record("05_judge")
    params: **of_one("05_judge")
    priority: 20
    shell: RUN


rule replicates_analysis:
    input: analyzed
    output: f"{figures}/replicates.md", records("00_replicates")
    params: **stage("00_replicates")
    shell: RUN
