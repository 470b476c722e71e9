# StrucText-Eval: texts with questions, generated or published, training of tuned arms on replies,
# answers to complete prompts, verdicts and tables.
prompted = rows("asked")

include: "../arms.smk"

tuned = sorted({arm.split("@")[0] for arm in study.trained})
done = [*also, *(path for notebook in study.stages for path in records(notebook))]
wanted = [f"{figures}/report.md", *trained, *answers, *verdicts]


# a missing file is reported by the notebook, which says what to give
place = Path(study.given("00_structext").get("official") or "no published samples").expanduser()


rule texts:
    output: rows("samples", "asked", "queries", "training_samples"),
        of("training", tuned), records("00_structext")
    params: **stage("00_structext", content=contents(place))
    shell: RUN


rule structext:
    input: rows("asked", "training_samples"),
        answers, verdicts
    output: f"{figures}/report.md", records("06_structext")
    params: **stage("06_structext", content=labels)
    shell: RUN
