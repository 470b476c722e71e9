"""What is counted of a run on StrucText-Eval: each question in its denominator, intervals over texts, pairs."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lib.core.arms import ALL
from lib.core.records import Answer, Verdict
from lib.structext.analyze.conclusion import conclusion
from lib.structext.analyze.formatted import (
    agreement_for_reading,
    counts_for_reading,
    differences_for_reading,
    failures,
    heat_for_reading,
    or_note,
    percent,
    shortened,
    shots_for_reading,
    summary_for_reading,
)
from lib.structext.analyze.pairs import against_first, agreement, differences, real_and_test, shots
from lib.structext.analyze.scores import metric_agreement
from lib.structext.analyze.tables import (
    ANSWERED,
    JUDGE,
    LEFT_OUT,
    at_prompt,
    heat,
    interval,
    rows_of,
    states,
    summary,
    with_all,
)
from lib.structext.analyze.verdicts import judged_by_structure
from lib.structext.ask.prompts import REASONING, Asked, prompts_for
from lib.structext.ask.replies import NO_ANSWER, NO_ROW, final_answers
from lib.structext.generate.samples import generate

FEW = 199  # resamples


def ask(suite: str = "test", setting: str = "base", n_shots: int = 0, **dials) -> list[Asked]:
    dials = {"tasks": ["tree.1", "csv.0", "json.1"], "per_task": 2, "seed": 5} | dials
    pool = list(generate(**dials | {"per_task": 6, "seed": 6})) if n_shots else None
    return prompts_for(list(generate(**dials)), setting, n_shots, pool, suite=suite)


def right(one: Asked) -> str:
    return f"So it is\n<answer>{one.sample.answer}</answer>" if one.setting in REASONING else one.sample.answer


def wrong(one: Asked) -> str:
    return "none of them"


def silent(one: Asked) -> str:
    return ""


def of_arms(asked: list[Asked], left_out: list[Asked] = (), **arms) -> pd.DataFrame:
    """`rows_of` with real verdicts by rules; an arm is a function from a question to its reply, None for no row."""
    answers, verdicts = {}, {}
    for arm, reply in arms.items():
        answers[arm] = [Answer(query_id=one.query_id, arm=arm, answer=text, n_tokens=1, truncated=len(text) > 200)
                        for one in asked if (text := reply(one)) is not None]
        verdicts[arm] = judged_by_structure(asked, final_answers(asked, answers[arm]))
    return rows_of(asked, left_out, answers, verdicts)


def by_number(*replies):
    """A reader that answers the first question by the first of `replies`, and all after the last by the last."""
    order: dict[str, int] = {}
    return lambda one: replies[min(order.setdefault(one.query_id, len(order)), len(replies) - 1)](one)


def test_every_question_of_every_arm_keeps_its_row_and_says_why_it_has_no_answer():
    asked, left_out = ask(), ask(depth=2)
    reader = by_number(right, wrong, silent, lambda one: None, lambda one: "x" * 300, right)
    rows = of_arms(asked, left_out, reader=reader, silent=silent)
    own = rows[rows.arm == "reader"]
    assert list(own.query_id) == [one.query_id for one in (*asked, *left_out)] and len(rows) == 2 * len(own) == 24
    assert list(own.state) == [ANSWERED, ANSWERED, "there is no reply", NO_ROW, ANSWERED, ANSWERED, *[LEFT_OUT] * 6]
    assert list(own.rouge_score > 0.75) == list(own.exact == 1) == [True, *[False] * 4, True, *[False] * 6]
    assert own[JUDGE].isna().sum() == 1 and own[JUDGE].sum() == 2  # no row is unscored, left out is wrong
    assert list(own.truncated) == [False] * 4 + [True] + [False] * 7
    assert set(own.form) == {"table", "nested objects", "list of edges"} and own.text.nunique() == 12


def test_questions_on_one_text_are_one_cluster_and_a_real_sample_has_a_twin():
    asked = [*ask(tasks=["json"]), *ask("real-test", tasks=["json"], is_real=True)]
    rows = of_arms(asked, base=right)
    assert rows.groupby("text").size().tolist() == [5] * 4
    assert rows.groupby("twin").suite.agg(lambda suite: sorted(map(str, suite))).map(tuple).unique().tolist() == [
        ("real-test", "test")]
    same = [one.model_copy(update={"sample": one.sample.model_copy(update={"reference": asked[0].sample.reference})})
            for one in asked]
    assert of_arms(same[:2] + asked[2:], base=right).text.nunique() == 4  # of one text already
    assert of_arms([*same[:1], *asked[1:-1], same[-1]], base=right).groupby("text").size().tolist() == [10, 5, 5]
    one = asked[0].model_copy(update={"sample": asked[0].sample.model_copy(
        update={"id": asked[0].sample.id.replace("-d1-", "-rewritten-d1-")})})  # by a model
    assert of_arms([one], base=right).twin[0] == rows.twin[0] == asked[0].sample.id


@pytest.mark.parametrize("spoil", [
    lambda verdicts: verdicts[1:], lambda verdicts: [*verdicts, verdicts[0]],
    lambda verdicts: [*verdicts[1:], verdicts[0].model_copy(update={"query_id": "another"})]])
def test_verdicts_of_other_questions_are_refused(spoil):
    asked = ask()
    answers = [Answer(query_id=one.query_id, arm="a", answer="1", n_tokens=1, truncated=False) for one in asked]
    verdicts = [Verdict(query_id=one.query_id, arm="a", judge="rules", verdict="correct", reason="") for one in asked]
    with pytest.raises(ValueError, match="arm a: .* run 04_infer.ipynb and 05_judge.ipynb for it again"):
        rows_of(asked, [], {"a": answers}, {"a": spoil(verdicts)})
    with pytest.raises(ValueError, match="stands twice in asked.jsonl and left_out.jsonl"):
        rows_of(asked, asked[:1], {"a": answers}, {"a": verdicts})


def test_a_summary_by_hand():
    asked, left_out = ask(), ask(depth=2, per_task=1)[:2]  # six questions on six texts, two more left out
    rows = of_arms(asked, left_out, reader=by_number(right, right, right, wrong, silent, lambda one: None))
    (row,) = summary(rows, ["suite", "arm"], FEW).itertuples()
    assert (row.suite, row.arm, row.n, row.texts, row.left_out, row.failed, row.no_answer) == (
        "test", "reader", 8, 8, 2, 1, 1)
    assert row.rouge_score == pytest.approx(3 / 8) and row.rouge_asked == pytest.approx(3 / 6)
    assert (row.exact, row.structural, row.judged, row.correct) == (3 / 8, 3 / 8, 7, 3)  # no row: no verdict
    assert row.judge == pytest.approx(3 / 7) and 0 <= row.low < 3 / 8 < row.high < 1
    (unjudged,) = summary(rows[rows.state == NO_ROW], ["arm"], FEW).itertuples()
    assert (unjudged.n, unjudged.rouge_score, unjudged.judged) == (1, 0, 0) and np.isnan(unjudged.judge)
    (text,) = summary_for_reading(summary(rows, ["arm"], FEW), ["arm"]).to_dict("records")
    assert (text["model"], text["n (texts)"], text["left out"], text["no answer"]) == ("reader", "8 (8)", "2/8", "1/8")
    assert text["judge, correct/scored = % [95%]"].startswith("3/7 = 42.9 [") and "†" in text["ROUGE-L ≥ 0.75, % [95%]"]


def test_groups_come_in_the_fixed_order_with_all_last():
    asked = [*ask("real-test", "hint"), *ask("test", "few-shot", 3), *ask("test", "few-shot", 1), *ask("test")]
    rows = of_arms(asked, zeta=right, alpha=right)
    assert list(summary(rows, ["suite", "prompt"], FEW).itertuples(index=False, name=None))[0][:2] == ("test", "base")
    assert list(summary(rows, ["prompt", "arm"], FEW).prompt.unique()) == ["base", "hint", "few-shot-1", "few-shot-3"]
    table = summary(with_all(at_prompt(rows, "base")), ["language", "arm"], FEW)
    assert list(table.language.unique()) == ["csv", "tree", "json", ALL] and list(table.arm[:2]) == ["zeta", "alpha"]
    assert (table.n[table.language == ALL] == 6).all()
    with pytest.raises(ValueError, match="'ps-cot'; choose one of base, hint, few-shot-1, few-shot-3"):
        at_prompt(rows, "ps-cot")


@pytest.mark.parametrize(("value", "low", "high"), [(0.0, 0.0, 0.2775), (1.0, 0.7225, 1.0), (1 - 5e-9, 0.7225, 1.0)])
def test_where_nothing_varies_the_interval_is_wilsons_for_the_texts(value, low, high):
    texts = pd.Series([f"t{number // 3}" for number in range(30)])  # ten texts: z² / (n + z²) = 3.84 / 13.84
    assert interval(pd.Series([value] * 30), texts) == pytest.approx((low, high), abs=1e-4)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.sampled_from([0.0, 0.8, 1.0]), min_size=2, max_size=12))
def test_an_interval_is_of_texts_so_that_more_questions_on_each_do_not_narrow_it(values):
    values, texts = pd.Series(values), pd.Series([f"t{place}" for place in range(len(values))])
    low, high = interval(values, texts, FEW)
    assert np.isnan(low) or 0 <= low <= high <= 1
    again = interval(pd.concat([values] * 2, ignore_index=True), pd.concat([texts] * 2, ignore_index=True), FEW)
    assert again == pytest.approx((low, high), nan_ok=True)


def test_states_sum_to_n():
    asked = [*ask(), *ask(setting="self-cot")]
    rows = of_arms(asked, ask(depth=3), reader=by_number(right, silent, lambda one: None, wrong))
    table = states(rows)
    assert list(table.columns) == ["suite", "prompt", "arm", "n", ANSWERED, LEFT_OUT, NO_ROW, NO_ANSWER,
                                   "there is no reply", "truncated"]
    assert (table[list(table.columns[4:-1])].sum(axis=1) == table.n).all() and list(table.n) == [12, 6]
    assert table[NO_ANSWER].tolist() == [0, 6] and table["there is no reply"].tolist() == [1, 0]
    assert counts_for_reading(table)["no answer tag in the reply"].tolist() == ["0/12", "6/6"]


def test_heat_by_hand():
    asked = [*ask(), *ask(depth=2, tasks=["tree"])]
    rows = of_arms(asked, reader=lambda one: right(one) if one.sample.task in ("tree.1", "tree.2") else "no")
    one, two = heat(rows, FEW).itertuples()
    assert (one.depth, one.width, one.n, one.n_tasks) == (1, 1, 6, 3) and one.rouge_score == pytest.approx(1 / 3)
    assert one.sd_tasks == pytest.approx((1 / 3) ** 0.5)  # of 1, 0, 0
    assert two.sd_tasks == pytest.approx((1 / 3) ** 0.5) and np.isnan(two.sd_languages)  # of 0, 1, 1; one language
    assert heat_for_reading(heat(rows, FEW))["SD across languages, points"].tolist() == ["57.7", "–"]


def test_differences_by_hand():
    asked = ask()
    rows = of_arms(asked, base=by_number(right, wrong), tuned=right)
    base, tuned = (rows[rows.arm == arm] for arm in ("base", "tuned"))
    (row,) = differences(base[:5], tuned, ["query_id"], ["arm"], FEW).itertuples()
    assert (row.arm, row.n, row.texts, row.unpaired) == ("tuned", 5, 5, 1)
    assert row.first == pytest.approx(0.2) and row.difference_points == pytest.approx(80)
    assert (row.judged, row.judge_points) == (5, 80) and row.low_points < 80 < row.high_points
    table = against_first(rows, FEW)
    assert list(table.arm) == ["tuned"] and table.difference_points[0] == pytest.approx(100 * 5 / 6)
    (text,) = differences_for_reading(table, "base", "the arm", ["arm"]).to_dict("records")
    assert text["base, %"] == "16.7" and text["ROUGE-L ≥ 0.75, points [95%]"].startswith("+83.3 [")
    assert against_first(base.assign(arm=base.arm.cat.remove_unused_categories()), FEW).empty


def test_what_a_longer_prompt_loses_by_the_window_is_told_apart():
    asked, longer = ask(), ask(setting="few-shot", n_shots=2)
    rows = of_arms([*asked, *longer[:4]], longer[4:], base=right)  # two of six do not fit with demonstrations
    (row,) = shots(rows, FEW).query("n_shots == 2").itertuples()
    assert row.gain_whole_points == pytest.approx(-100 / 3) and (row.gain_whole, row.gain_n) == (6, 4)
    assert row.gain_difference_points == 0 and (row.rouge_score, row.rouge_asked) == pytest.approx((2 / 3, 1))
    curve = shots(rows, FEW)
    assert curve.common.tolist() == [4, 4] and curve.common_score.tolist() == pytest.approx([1, 1])
    assert "base, few-shot +0.0 [–] (n = 4 asked both ways; all 6, left out as 0: -33.3 [" in told(rows)
    none = of_arms(asked, longer, base=right)
    assert shots(none, FEW).common.tolist() == [0, 0] and shots(none, FEW).common_score.isna().all()
    assert "few-shot unknown (n = 0 asked both ways; all 6, left out as 0: -100.0 [–])" in told(none)


def test_the_shots_curve_starts_at_the_base_prompt_and_pairs_with_it():
    asked = [*ask(), *ask("test-hard"), *ask(setting="hint"), *ask(setting="few-shot", n_shots=1),
             *ask(setting="few-shot", n_shots=5)]
    rows = of_arms(asked, reader=lambda one: right(one) if one.n_shots == 5 or one.sample.language == "csv" else "no")
    table = shots(rows, FEW)
    assert list(zip(table.setting, table.n_shots, table.n, strict=True)) == [
        ("few-shot", 0, 6), ("few-shot", 1, 6), ("few-shot", 5, 6)]
    assert table.rouge_score.tolist() == pytest.approx([1 / 3, 1 / 3, 1])
    assert table.gain_difference_points.tolist() == pytest.approx([np.nan, 0, 200 / 3], nan_ok=True)
    assert shots_for_reading(table)["over the base prompt, of pairs asked both ways, points [95%]"].tolist()[:2] == [
        "–", "+0.0 [–] (n = 6)"]
    assert shots(rows[rows.prompt == "base"], FEW).empty


def test_real_test_is_compared_with_its_twins_alone():
    test, real = ask(per_task=3), ask("real-test", is_real=True)
    rows = of_arms([*test, *real], reader=lambda one: right(one) if one.suite == "test" else "no")
    table = real_and_test(rows, FEW)
    assert list(zip(table.language, table.n, table.unpaired, strict=True)) == [
        ("csv", 2, 0), ("tree", 2, 0), ("json", 2, 0), (ALL, 6, 0)]
    assert table.difference_points.tolist() == pytest.approx([-100] * 4) and table.low_points.isna().all()
    nothing = real_and_test(rows[rows.suite == "test"], FEW)
    reading = differences_for_reading(nothing, "Test", "Real-Test", ["arm", "language"])
    assert nothing.empty and or_note(reading, "why").to_dict("records") == [{"note": "why"}]


def test_metrics_are_compared_where_there_is_an_answer():
    rows = of_arms(ask(), base=by_number(right, right, wrong), silent=silent)
    table = agreement(rows)
    assert set(table.arm) == {"base"} and (table.n == 6).all() and len(table) == 10
    pair = table[(table["first"] == "exact") & (table["second"] == JUDGE)].iloc[0]
    assert (pair.pearson, pair.agreement, pair.kappa) == pytest.approx((1, 1, 1))
    two = agreement(of_arms(ask(), base=right, other=wrong))
    assert list(two.arm.unique()) == ["base", "other", ALL] and two.n[two.arm == ALL].unique().tolist() == [6]
    assert set(agreement_for_reading(two)["Pearson"]) == {"–"}  # one arm copies, in the other nothing varies
    rows = of_arms(ask(), base=wrong, other=lambda one: f"Answer: {one.sample.answer}", copies=right)
    assert metric_agreement(rows, ("structural", JUDGE)).pearson.tolist() == [1]  # of the arms, not of the metrics
    apart = agreement(rows)
    assert apart.n[apart.arm == ALL].unique().tolist() == [12] and apart[["pearson", "kappa"]].isna().all(axis=None)
    varied = agreement(of_arms(ask(), base=wrong, other=by_number(right, right, wrong), copies=right))
    assert varied.n[varied.arm == ALL].unique().tolist() == [12] and varied.pearson[varied.arm == ALL].notna().all()


def test_failures_are_word_for_word_and_shown_escaped():
    asked, left_out = ask(), ask(depth=2)
    evil = "<script>alert(1)</script> | $x$\nand more"
    said = {"base": [Answer(query_id=one.query_id, arm="base", answer=evil, n_tokens=1, truncated=True)
                     for one in asked]}
    rows = of_arms(asked, left_out, base=lambda one: evil)
    table = failures(rows, asked, said)
    assert len(table) == 3 and set(table.reply) == {evil.replace("\n", " ↵ ")}  # one a language, none left out
    assert "<script>" not in table.to_html() and "&lt;script&gt;" in table.to_html()
    assert shortened("a" * 300) == "a" * 120 + " […60 characters…] " + "a" * 120
    assert (percent(float("nan")), percent(0.5), percent(0.5, 0.25, 1)) == ("–", "50.0", "50.0 [25.0, 100.0]")


def told(rows: pd.DataFrame) -> str:
    base = rows[rows.prompt == "base"]
    gains = against_first(rows, FEW)
    return conclusion(summary(base, ["suite", "arm"], FEW), summary(base, ["suite", "form", "arm"], FEW),
                      gains[gains.prompt == "base"], shots(rows, FEW), real_and_test(base, FEW), agreement(rows))


def test_the_conclusion_counts_and_claims_no_more_than_the_tables():
    asked = [*ask(), *ask("real-test", is_real=True), *ask(setting="few-shot", n_shots=2)]
    text = told(of_arms(asked, ask("test-hard", depth=3), base=by_number(right, wrong, right, wrong), tuned=right))
    assert "| test      | 6 (6)     | 0        | 33.3 [" in text
    assert "| test-hard | 6 (6)     | 6        | 0.0 [" in text
    assert "Of 18 questions, 6 are longer than base_model's window and were asked of no arm. Of the 12 others" in text
    assert "tuned on test +66.7 [" in text and "its window" not in text
    assert "2 demonstrations less the base prompt, on test" in text and "(n = 6, not shown)" in text
    nothing = told(of_arms(ask(), base=silent))
    assert "Test and Real-Test were not both asked" in nothing and "No suite was asked with demonstrations" in nothing
    assert "6 replies without an answer" in nothing and "is unknown" in nothing and "Against" not in nothing
