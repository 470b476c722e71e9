# Replicates of the laboratory: each is the main chain on records, world, weights and order of its
# own, in data/<study>/<seed>. Each stage uses one core, so several replicates run in parallel; a
# begun replicate has priority over the next base.

wildcard_constraints: seed=r"\d+", arm="|".join(study.arms)

own = f"{data}/{{seed}}"
texts = [f"{own}/segments.jsonl", f"{own}/normalized.jsonl"]
queries, documents = f"{own}/queries.jsonl", f"{own}/documents.jsonl"
lab_base = f"{own}/models/base/config.json"
trained = expand(f"{own}/models/{{arm}}/training.json", arm=study.arms, allow_missing=True)
answers = expand(f"{own}/{{name}}/{{arm}}.jsonl", name=("answers", "scores"), arm=study.arms,
                 allow_missing=True)
verdicts = expand(f"{own}/verdicts/rules/{{arm}}.jsonl", arm=study.arms, allow_missing=True)
# What each notebook reads and writes, for one replicate; 03_train for one of its arms.
steps = {"00_lab": ([], [documents, lab_base]), "01_annotate": (documents, queries),
         "02_normalize": ([documents, lab_base], texts),
         "03_train": ([*texts, lab_base], f"{own}/models/{{arm}}/training.json"),
         "04_infer": ([queries, documents, *trained], answers),
         "05_judge": ([queries, *answers], verdicts)}


def copy_of(notebook):
    return f"{notebook}-{{seed}}{'-{arm}' * (notebook == '03_train')}"


def record(notebook):
    return f"{own}/stages/{copy_of(notebook)}.json"


analyzed = expand([queries, texts[0], *answers, *verdicts, *trained], seed=study.numbers)
done = [*expand(list(map(record, steps)), seed=study.numbers, arm=study.arms),
        *records("replicates")]
wanted = [f"{figures}/replicates.md", *analyzed]


for notebook, (read, written) in steps.items():
    rule:
        name: f"replicate_{notebook[3:]}"
        input: read
        output: written, record(notebook)
        params: **stage(notebook, copy_of(notebook))
        threads: own_cores
        priority: 0 if notebook == "00_lab" else 20
        shell: RUN


rule replicates_analysis:
    input: analyzed
    output: f"{figures}/replicates.md", records("replicates")
    params: **stage("replicates")
    shell: RUN
