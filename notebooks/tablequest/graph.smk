# TableQuest: filings, questions on their tables, training on their text, answers with and without
# the passages, verdicts and tables.

filed = rows("filings", "grids", "passages")
prompted = [*filed, *rows("documents", "questions")]

include: "../arms.smk"

done = [*also, *(path for notebook in study.stages  # only trained arms read rewritten text
                 if notebook != "02_normalize" or study.trained for path in records(notebook))]
wanted = [f"{figures}/report.md", *trained, *answers, *verdicts]
reports = list_files(REPOSITORY / study.folder, study.pipeline.endings)[0] if study.folder else []


rule filings:
    output: filed, rows("not_understood", "documents", "documents_rejected"),
        records("00_filings")
    params: **stage("00_filings", content=contents(*reports))
    shell: RUN


rule questions:
    input: filed
    output: rows("questions", "queries_rejected", "queries"),
        records("01_annotate")
    params: **stage("01_annotate", content=replies)
    shell: RUN


rule tablequest:
    input: prompted, rows("queries"), answers, verdicts
    output: f"{figures}/report.md", records("06_tablequest")
    params: **stage("06_tablequest", content=labels)
    shell: RUN
