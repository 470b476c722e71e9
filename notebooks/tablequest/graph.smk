# TableQuest: filings, questions on their tables, training on their text, answers with and without them, verdicts, tables.
from lib.documents.folder import fingerprint
from lib.run.parameters import parameters_of
from lib.tablequest.questions.review import faults_digest

read = [f"{data}/{name}.jsonl" for name in ("filings", "grids", "passages")]
asked_with = [*read, f"{data}/documents.jsonl", f"{data}/questions.jsonl"]


def learned(arm):
    return [f"{data}/segments.jsonl", f"{data}/normalized.jsonl"]


def faults():
    """What changes where people write faults into the sheet; rules take no examples."""
    if study.annotator == "rules":
        return ""
    default = parameters_of(REPOSITORY / "notebooks" / "01_questions.ipynb")["sheet"].default
    return faults_digest(Path(data, study.given("01_questions").get("sheet", default)))


include: "../arms.smk"

done = [*labs, *records("00_filings"), *records("01_questions"), *records("02_normalize"),
        *records("03_train", study.trained), *records("04_infer", study.runs), *records("05_judge", study.runs),
        *records("06_analyze"), *records("02_analyze")]
wanted = [f"figures/{study.name}/tablequest.md", f"figures/{study.name}/table2.csv", *base, *asked_with,
          f"{data}/queries.jsonl", f"{data}/segments.jsonl", f"{data}/normalized.jsonl",
          *expand(f"{data}/models/{{arm}}/training.json", arm=study.trained),
          *expand(f"{data}/answers/{{arm}}.jsonl", arm=study.runs), *expand(verdicts, arm=study.runs)]

written = ["questions", "questions_rejected", "questions_screened", "queries"]
contents = fingerprint(Path(study.folder), study.kind.endings) if study.folder else ""


rule filings:
    output: read, expand(f"{data}/{{name}}.jsonl", name=["not_understood", "documents", "documents_rejected"]),
        records("00_filings")
    params: code=code("00_filings"), notebook="00_filings", name="00_filings", given=given("00_filings"), content=contents
    priority: 10  # an unusable folder shows before minutes of training
    shell: RUN


rule questions:
    input: read, base  # the base's tokenizer counts the tokens
    output: records("01_questions"), expand(f"{data}/{{name}}.jsonl", name=written)
    params: code=code("01_questions"), notebook="01_questions", name="01_questions", given=given("01_questions"), faults=faults()
    shell: RUN


rule tablequest:
    input: asked_with, f"{data}/queries.jsonl", expand(f"{data}/answers/{{arm}}.jsonl", arm=study.runs),
        expand(verdicts, arm=study.runs)
    output: f"figures/{study.name}/tablequest.md", *records("02_analyze")
    params: code=code("02_analyze"), notebook="02_analyze", name="02_analyze", given=given("02_analyze")
    shell: RUN
