# StrucText-Eval: texts with questions, an arm's training on replies, answers to ready-made prompts, verdicts, tables.
asked_with = [f"{data}/asked.jsonl"]


def learned(arm):
    return [f"{data}/training/{arm.split('@')[0]}.jsonl"]


include: "../arms.smk"

tuned = sorted({arm.split("@")[0] for arm in study.trained})
done = [*labs, *records("00_samples"), *records("03_train", study.trained), *records("04_infer", study.runs),
        *records("05_judge", study.runs), *records("01_analyze")]
wanted = [f"figures/{study.name}/structext.md", *base, f"{data}/queries.jsonl", f"{data}/asked.jsonl",
          *expand(f"{data}/models/{{arm}}/training.json", arm=study.trained),
          *expand(f"{data}/answers/{{arm}}.jsonl", arm=study.runs), *expand(verdicts, arm=study.runs)]


rule texts:
    input: base
    output: expand(f"{data}/{{name}}.jsonl", name=["samples", "asked", "left_out", "queries", "rewrite_rejected"]),
        expand(f"{data}/training/{{arm}}.jsonl", arm=tuned), *records("00_samples")
    params: code=code("00_samples"), notebook="00_samples", name="00_samples", given=given("00_samples")
    shell: RUN


rule structext:
    input: expand(f"{data}/{{name}}.jsonl", name=["asked", "left_out", "rewrite_rejected"]),
        expand(f"{data}/answers/{{arm}}.jsonl", arm=study.runs), expand(verdicts, arm=study.runs)
    output: f"figures/{study.name}/structext.md", *records("01_analyze")
    params: code=code("01_analyze"), notebook="01_analyze", name="01_analyze", given=given("01_analyze")
    shell: RUN
