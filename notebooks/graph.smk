# The main chain: documents, queries, segments; each arm's training, answers, verdicts; the tables,
# and the evidence beyond them.
prompted = rows("documents")

include: "arms.smk"

first, *rest = study.arms
compared = rest if study.one_process_for_all_arms else PART
facts = rows("facts") if study.kind == "lab" else []
done = [*also, *(path for notebook in study.stages if notebook != "00_lab"
                 if notebook != "02_normalize" or study.trained for path in records(notebook))]
wanted = [f"{figures}/tables/table2.csv", *trained, *answers, *verdicts]


if study.kind == "documents":
    rule documents:
        output: rows("documents", "documents_rejected"), records("00_documents")
        params: **stage("00_documents", content=contents(*list_files(REPOSITORY / study.folder)[0]))
        priority: 10  # an unusable folder is reported before minutes of training
        shell: RUN


rule annotate:
    input: rows("documents"), facts
    output: rows("queries", "queries_rejected"), records("01_annotate")
    params: **stage("01_annotate", content=replies)
    shell: RUN


rule pairs:
    input: rows("queries"), of("answers", [first, *compared])
    output: [rows("preferences", judge=study.judge, first=first, second=arm) for arm in compared],
        records("pairs", ONE)
    params: **each("pairs")
    priority: 5
    shell: RUN


rule statistics:
    input: rows("queries"), verdicts, facts,
        [records(notebook) for notebook in ("retention", "pairs") if notebook in study.extras]
    output: f"{figures}/extra/paired.csv", records("statistics")
    params: **stage("statistics")
    shell: RUN


rule ledger:
    input: rows("documents", "queries", "segments", "normalized"), augmented, base, trained,
        verdicts, facts
    output: rows("ledger"), records("ledger")
    params: **stage("ledger")
    shell: RUN


rule export:
    input: rows("documents", "queries"), trained, f"{figures}/tables/table2.csv",
        records("retention") if "retention" in study.extras else []
    output: records("export")
    params: **stage("export")
    shell: RUN


if "exposures" in study.stages:
    include: "laboratory/exposures.smk"
