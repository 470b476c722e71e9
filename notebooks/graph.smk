# The main chain: documents, queries, segments; each arm's training, answers, verdicts; the tables,
# and the evidence beyond them.
from lib.analyze.agreement.sheet import labels_digest

prompted = rows("documents")
INFER, JUDGE = "04_infer", "05_judge"


augmented = rows("augmented") if AUGMENTED in study.arms else []


def learned(arm):
    return rows("segments", "normalized") + (augmented if split_arm(arm)[0] == AUGMENTED else [])


include: "arms.smk"


def labels():
    """Return a digest of the human labels."""
    default = parameters_of(notebook_path("04_agreement"))["sheet"].default
    return labels_digest(output_root() / data / study.given("04_agreement").get("sheet", default))


def preferences_of(judge):
    return rows("preferences", judge=judge, first=next(iter(study.arms)), second="{arm}")[0]


def judged_again(judge):
    return f"05_judge-{{arm}}-{judge.replace('/', '--')}"


known = [f"data/{study.made_by}/{name}.jsonl" for name in ("documents_public", "facts")
         if study.made_by]
sources = [] if study.source == "lab" else records("00_documents")
facts = rows("facts") if study.source == "lab" else []
asked = {notebook: records(notebook, study.arms_of(notebook)) for notebook in study.variants}
others = [f"{data}/stages/{judged_again(other)}.json" for other in study.other_judges]
made = {"00_retention": expand(rows("retention", arm="{arm}"), arm=study.arms),
        "01_pairs": expand(preferences_of(study.judge), arm=list(study.arms)[1:]),
        "02_statistics": [f"{figures}/paired.csv"],
        "03_ledger": [*rows("ledger"), f"{figures}/audit.html"],
        "05_paper": [f"{figures}/paper_table2.csv"],
        "06_advice": [f"{figures}/advice.html"]}
controlled = Path("figures", study.given("06_advice").get("controlled", "controlled"),
                  "interventions.csv")
done = [*labs, *sources, *records("01_annotate"), *records("02_normalize"),
        *(records("02_augment") if augmented else []), *records("03_train", study.trained), *records("04_infer", study.runs),
        *records("05_judge", study.runs), *records("06_analyze"),
        *(record for notebook in study.variants for record in asked[notebook]),
        *expand(others, arm=study.arms)]
wanted = [f"{figures}/table2.csv", *base, *rows("documents", "queries", "segments", "normalized"),
          *expand(f"{data}/models/{{arm}}/training.json", arm=study.trained),
          *expand(rows("answers", arm="{arm}"), arm=study.runs), *expand(verdicts, arm=study.runs),
          *(path for notebook in study.variants for path in made.get(notebook, []))]


if study.source == "documents":
    rule documents:
        output: rows("documents", "documents_rejected"), records("00_documents")
        params: **stage("00_documents", content=fingerprint(Path(study.folder)))
        priority: 10  # an unusable folder is reported before minutes of training
        shell: RUN


rule annotate:
    input: rows("documents")
    output: rows("queries", "queries_rejected"), records("01_annotate")
    params: **stage("01_annotate")
    shell: RUN


if augmented:
    rule augment:
        input: rows("documents", "segments", "queries"), base
        output: augmented, records("02_augment")
        params: **stage("02_augment")
        shell: RUN


for other in study.other_judges:
    rule:
        name: f"judge_{other.replace('/', '--')}"
        input: rows("queries"), rows("answers", arm="{arm}")
        output: verdicts_of(other), f"{data}/stages/{judged_again(other)}.json"
        params: **stage("05_judge", judged_again(other), judge=other)
        shell: RUN


rule retention:
    input: model, known,  # the base is measured first: other arms are compared with it
        lambda wildcards: [] if wildcards.arm == BASE or BASE not in study.arms else
            f"{data}/retention/{BASE}.json"
    output: rows("retention", arm="{arm}"), f"{data}/retention/{{arm}}.json",
        records("00_retention", ["{arm}"])
    params: **stage("00_retention", "00_retention-{arm}")
    threads: cores
    shell: RUN


rule pairs:
    input: rows("queries", "documents"), rows("answers", arm=next(iter(study.arms))),
        rows("answers", arm="{arm}")
    output: preferences_of(study.judge), records("01_pairs", ["{arm}"])
    params: **stage("01_pairs", "01_pairs-{arm}")
    shell: RUN


rule statistics:
    input: rows("queries"), expand(verdicts, arm=study.runs), facts
    output: f"{figures}/paired.csv", records("02_statistics")
    params: **stage("02_statistics")
    shell: RUN


rule ledger:
    input: rows("documents", "queries", "segments", "normalized"), augmented, base,
        expand(f"{data}/models/{{arm}}/training.json", arm=[a for a in study.arms if a != BASE]),
        expand(verdicts, arm=study.arms), facts
    output: rows("ledger"), f"{figures}/audit.html", records("03_ledger")
    params: **stage("03_ledger")
    shell: RUN


rule agreement:  # the sheet is neither input nor output: Snakemake would rebuild or remove it
    input: rows("queries"), expand(rows("answers", arm="{arm}"), arm=study.arms),
        [expand(verdicts_of(judge), arm=study.arms) for judge in (study.judge, *study.other_judges)]
    output: records("04_agreement")
    params: **stage("04_agreement", content=labels() if "04_agreement" in study.variants else "")
    shell: RUN


rule paper:
    input: rows("queries"), expand(verdicts, arm=study.arms), facts,
        asked.get("00_retention", []), asked.get("01_pairs", [])
    output: f"{figures}/paper_table2.csv", records("05_paper")
    params: **stage("05_paper")
    shell: RUN


rule advice:
    input: rows("documents", "queries", "segments", "normalized"), augmented, base,
        expand(verdicts, arm=study.runs), facts,
        [str(controlled)] if controlled.exists() else []  # the controlled study's gains, if known
    output: f"{figures}/advice.html", records("06_advice")
    params: **stage("06_advice")
    shell: RUN
