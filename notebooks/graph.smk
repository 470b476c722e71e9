# The main chain: documents, queries, segments; then an arm's training, answers, verdicts; then the tables.
from lib.documents.folder import fingerprint
from lib.analyze.agreement.sheet import labels_digest
from lib.run.parameters import parameters_of
from lib.core.paths import data_path, preferences_path
from lib.run.config import arms_of

asked_with = [f"{data}/documents.jsonl"]


def learned(arm):
    return [f"{data}/segments.jsonl", f"{data}/normalized.jsonl"]


include: "arms.smk"


def labels():
    """What changes where a person's labels do."""
    default = parameters_of(REPOSITORY / "notebooks" / "04_agreement.ipynb")["sheet"].default
    return labels_digest(data_path(study.name, study.given("04_agreement").get("sheet", default)))


def preferences_of(judge):
    path = preferences_path(study.name, judge, next(iter(study.arms)), "{arm}")
    return str(path.relative_to(output_root()))


known = [f"data/{study.made_by}/{name}.jsonl" for name in ("documents_public", "facts") if base]  # what base has read
sources = [] if study.source == "lab" else records("00_documents")
asked = {stage: records(stage, arms_of(study, stage)) for stage in study.variants}
others = [f"{data}/stages/05_judge-{arm}-{Path(verdicts_of(other)).parent.name}.json"
          for other in study.other_judges for arm in study.arms]
made = {"00_retention": expand(f"{data}/retention/{{arm}}.jsonl", arm=study.arms),
        "01_pairs": expand(preferences_of(study.judge), arm=list(study.arms)[1:]),
        "02_statistics": [f"figures/{study.name}/paired.csv"],
        "03_ledger": [f"{data}/ledger.jsonl", f"figures/{study.name}/audit.html"],
        "05_paper": [f"figures/{study.name}/departures.csv"],
        "06_advice": [f"figures/{study.name}/advice.html"]}
controlled = Path("figures", study.given("06_advice").get("controlled", "controlled"), "interventions.csv")
done = [*labs, *sources, *records("01_annotate"), *records("02_normalize"), *records("03_train", study.trained),
        *records("04_infer", study.runs), *records("05_judge", study.runs), *records("06_analyze"),
        *(record for stage in study.variants for record in asked[stage]), *others]


wanted = [f"figures/{study.name}/table2.csv", *base,
          *expand(f"{data}/{{name}}.jsonl", name=["documents", "queries", "segments", "normalized"]),
          *expand(f"{data}/models/{{arm}}/training.json", arm=study.trained),
          *expand(f"{data}/answers/{{arm}}.jsonl", arm=study.runs), *expand(verdicts, arm=study.runs),
          *(path for stage in study.variants for path in made.get(stage, []))]


if study.source == "documents":
    rule documents:
        output: f"{data}/documents.jsonl", f"{data}/documents_rejected.jsonl", *records("00_documents")
        params: code=code("00_documents"), notebook="00_documents", name="00_documents", given=given("00_documents"),
            content=fingerprint(Path(study.folder))
        priority: 10  # an unusable folder shows before minutes of training
        shell: RUN


rule annotate:
    input: f"{data}/documents.jsonl"
    output: f"{data}/queries.jsonl", f"{data}/queries_rejected.jsonl", *records("01_annotate")
    params: code=code("01_annotate"), notebook="01_annotate", name="01_annotate", given=given("01_annotate")
    shell: RUN


for other in study.other_judges:
    rule:
        name: f"judge_{Path(verdicts_of(other)).parent.name}"
        input: f"{data}/queries.jsonl", f"{data}/answers/{{arm}}.jsonl"
        output: verdicts_of(other), f"{data}/stages/05_judge-{{arm}}-{Path(verdicts_of(other)).parent.name}.json"
        params: code=code("05_judge"), notebook="05_judge", given=given("05_judge", judge=other),
            name=f"05_judge-{{arm}}-{Path(verdicts_of(other)).parent.name}"
        shell: RUN


rule retention:
    input: model, known,  # the base is asked first: other arms are shown beside it
        lambda wildcards: [] if wildcards.arm == UNTRAINED or UNTRAINED not in study.arms else
            f"{data}/retention/{UNTRAINED}.json"
    output: f"{data}/retention/{{arm}}.jsonl", f"{data}/retention/{{arm}}.json", *records("00_retention", ["{arm}"])
    params: code=code("00_retention"), notebook="00_retention", name="00_retention-{arm}", given=given("00_retention")
    threads: workflow.cores
    shell: RUN


rule pairs:
    input: f"{data}/queries.jsonl", f"{data}/documents.jsonl",
        f"{data}/answers/{next(iter(study.arms))}.jsonl", f"{data}/answers/{{arm}}.jsonl"
    output: preferences_of(study.judge), *records("01_pairs", ["{arm}"])
    params: code=code("01_pairs"), notebook="01_pairs", name="01_pairs-{arm}", given=given("01_pairs")
    shell: RUN


rule statistics:
    input: f"{data}/queries.jsonl", expand(verdicts, arm=study.runs),
        f"{data}/facts.jsonl" if study.source == "lab" else []
    output: f"figures/{study.name}/paired.csv", *records("02_statistics")
    params: code=code("02_statistics"), notebook="02_statistics", name="02_statistics", given=given("02_statistics")
    shell: RUN


rule ledger:
    input: expand(f"{data}/{{name}}.jsonl", name=["documents", "queries", "segments", "normalized"]), base,
        expand(f"{data}/models/{{arm}}/training.json", arm=[arm for arm in study.arms if arm != UNTRAINED]),
        expand(verdicts, arm=study.arms)
    output: f"{data}/ledger.jsonl", f"figures/{study.name}/audit.html", *records("03_ledger")
    params: code=code("03_ledger"), notebook="03_ledger", name="03_ledger", given=given("03_ledger")
    shell: RUN


rule agreement:  # a person's sheet is no input and no output: Snakemake would make it anew, or remove it
    input: f"{data}/queries.jsonl", expand(f"{data}/answers/{{arm}}.jsonl", arm=study.arms),
        [expand(verdicts_of(judge), arm=study.arms) for judge in (study.judge, *study.other_judges)]
    output: *records("04_agreement")
    params: code=code("04_agreement"), notebook="04_agreement", name="04_agreement", given=given("04_agreement"),
        labels=labels() if "04_agreement" in study.variants else ""
    shell: RUN


rule paper:
    input: expand(f"{data}/{{name}}.jsonl", name=["queries", "segments", "normalized"]),
        expand(verdicts, arm=study.arms), records("01_annotate"), records("02_normalize"),
        records("03_train", study.trained), records("04_infer", study.arms), records("05_judge", study.arms),
        expand(f"{data}/answers/{{arm}}.jsonl", arm=study.arms), asked.get("00_retention", []), asked.get("01_pairs", [])
    output: f"figures/{study.name}/departures.csv", *records("05_paper")
    params: code=code("05_paper"), notebook="05_paper", name="05_paper", given=given("05_paper")
    shell: RUN


rule advice:
    input: expand(f"{data}/{{name}}.jsonl", name=["documents", "queries", "segments", "normalized"]), base,
        expand(verdicts, arm=study.runs), f"{data}/facts.jsonl" if study.source == "lab" else [],
        [str(controlled)] if controlled.exists() else []  # the laboratory's gains stand beside where they are known
    output: f"figures/{study.name}/advice.html", *records("06_advice")
    params: code=code("06_advice"), notebook="06_advice", name="06_advice", given=given("06_advice")
    shell: RUN
