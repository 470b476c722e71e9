"""analyze: each question in its denominator, intervals over texts, pairs, text."""

import numpy as np
import pandas as pd
import pytest

from lib.core.arms import ALL
from lib.tasks.structext.analyze.pairs import (
    against,
    agreement,
    differences,
    failures,
    real_and_test,
    shots,
)
from lib.tasks.structext.analyze.published import agreement_of_means
from lib.tasks.structext.analyze.tables import (
    ANSWERED,
    JUDGE,
    LEFT_OUT,
    heat,
    shown,
    summary,
)
from lib.tasks.structext.ask.replies import NO_ROW
from tests.tasks.structext.replied import (
    answered,
    ask,
    by_number,
    of_arms,
    right,
    silent,
    wrong,
)


def nothing(one) -> None:
    return None


def test_every_question_of_every_arm_keeps_its_row_and_says_why_it_has_no_answer():
    asked, left_out = ask(), ask(depth=2)
    reader = by_number(right, wrong, silent, nothing, lambda one: "x" * 300, right)
    rows = of_arms(asked, left_out, reader=reader, silent=silent)
    own = rows[rows.arm == "reader"]
    assert list(own.query_id) == [one.query_id for one in (*asked, *left_out)]
    assert len(rows) == 2 * len(own) == 24
    assert list(own.state) == [
        ANSWERED,
        ANSWERED,
        "there is no reply",
        NO_ROW,
        ANSWERED,
        ANSWERED,
        *[LEFT_OUT] * 6,
    ]
    correct = [True, *[False] * 4, True, *[False] * 6]
    assert list(own.rouge_score > 0.75) == list(own.exact == 1) == correct
    # a missing row is unscored, left out is wrong
    assert own[JUDGE].isna().sum() == 1 and own[JUDGE].sum() == 2
    assert list(own.truncated) == [False] * 4 + [True] + [False] * 7
    assert own.text.nunique() == 12


def test_questions_on_one_text_are_one_cluster_and_a_real_sample_has_a_twin():
    asked = [*ask(tasks=["json"]), *ask("real-test", tasks=["json"], is_real=True)]
    rows = of_arms(asked, base=right)
    assert rows.groupby("text").size().tolist() == [10] * 2
    assert {tuple(sorted(map(str, suites))) for _, suites in rows.groupby("twin").suite} == {
        ("real-test", "test")
    }

    def changed(one, **changes):
        return one.model_copy(update={"sample": one.sample.model_copy(update=changes)})

    first = asked[0].sample
    same = [changed(one, reference=first.reference) for one in asked]
    assert of_arms(same[:2] + asked[2:], base=right).text.nunique() == 2  # of one text already
    connected = of_arms([*same[:1], *asked[1:-1], same[-1]], base=right)
    assert connected.groupby("text").size().tolist() == [20]
    assert rows.twin[0] == first.id


def test_a_summary_by_hand():
    asked, left_out = ask(), ask(depth=2, per_task=1)[:2]  # six questions on six texts, two more
    rows = of_arms(asked, left_out, reader=by_number(right, right, right, wrong, silent, nothing))
    (row,) = summary(rows, ["suite", "arm"]).itertuples()
    assert (row.suite, row.arm, row.n, row.texts) == ("test", "reader", 8, 8)
    assert (row.left_out, row.failed, row.no_answer) == (2, 1, 1)
    assert row.rouge_score == pytest.approx(3 / 8) and row.rouge_asked == pytest.approx(3 / 6)
    assert row.exact == 3 / 8
    assert row.judged == 7  # no row: no verdict
    assert row.judge == pytest.approx(3 / 7) and 0 <= row.low < 3 / 8 < row.high < 1
    (unjudged,) = summary(rows[rows.state == NO_ROW], ["arm"]).itertuples()
    assert (unjudged.n, unjudged.rouge_score, unjudged.judged) == (1, 0, 0)
    assert np.isnan(unjudged.judge)
    (text,) = shown(summary(rows, ["arm"])).to_dict("records")
    assert [text[name] for name in ("arm", "n", "left out", "no answer", "exact")] == [
        "reader",
        "8",
        "2",
        "1",
        "37.5%",
    ]
    assert text["judge"].startswith("42.9 [") and "judge low" not in text


def test_heat_by_hand():
    asked = [*ask(), *ask(depth=2, tasks=["tree"])]
    rows = of_arms(
        asked, reader=lambda one: right(one) if one.sample.task in ("tree.1", "tree.2") else "no"
    )
    table = heat(rows)
    one, two = table.itertuples()
    assert (one.depth, one.width, one.n) == (1, 1, 6)
    assert one.rouge_score == pytest.approx(1 / 3)
    # of 1, 0, 0 and of 0, 1, 1
    assert [one.sd_tasks, two.sd_tasks] == pytest.approx([(1 / 3) ** 0.5] * 2)
    assert shown(table)["sd tasks"].tolist() == ["57.7%"] * 2


def test_differences_by_hand():
    rows = of_arms(ask(), base=by_number(right, wrong), tuned=right)
    base, tuned = (rows[rows.arm == arm] for arm in ("base", "tuned"))
    (row,) = differences(base[:5], tuned, ["query_id"], ["arm"]).itertuples()
    assert (row.arm, row.n, row.texts) == ("tuned", 5, 5)
    assert row.first == pytest.approx(0.2) and row.difference_points == pytest.approx(80)
    assert row.low_points < 80 < row.high_points
    table = against(rows, "base")
    assert list(table.arm) == ["tuned"]
    assert table.difference_points[0] == pytest.approx(100 * 5 / 6)
    (text,) = shown(table).to_dict("records")
    assert text["first"] == "16.7%" and text["difference points"].startswith("+83.3 [")
    each = against(rows, "base", ["suite", "language", "arm"])
    assert each.n.sum() == table.n[0] and len(each) == rows.language.nunique()
    assert against(base, "base").empty


def test_what_a_longer_prompt_loses_by_the_context_window_is_separate():
    asked, longer = ask(), ask(setting="few-shot", n_shots=2)
    rows = of_arms([*asked, *longer[:4]], longer[4:], True, base=right)  # two of six do not fit
    (row,) = shots(rows).query("arm == 'base'").itertuples()
    assert (row.setting, row.n_shots, row.n, row.difference_points) == ("few-shot", 2, 4, 0)
    (row,) = (
        summary(rows, ["prompt", "arm"])
        .query("prompt == 'few-shot-2' and arm == 'base'")
        .itertuples()
    )
    assert (row.rouge_score, row.rouge_asked) == pytest.approx((2 / 3, 1))


def test_real_test_is_compared_only_with_its_twins():
    asked = [*ask(per_task=3), *ask("real-test", is_real=True)]
    rows = of_arms(asked, reader=lambda one: right(one) if one.suite == "test" else "no")
    table = real_and_test(rows)
    assert list(zip(table.language, table.n, strict=True)) == [
        ("csv", 2),
        ("tree", 2),
        ("json", 2),
        (ALL, 6),
    ]
    assert table.difference_points.tolist() == pytest.approx([-100] * 4)
    assert table.low_points.isna().all()
    empty = real_and_test(rows[rows.suite == "test"])
    assert empty.empty and shown(empty).empty


def test_agreement_of_metrics_by_hand():
    rows = pd.DataFrame(
        {
            "arm": "a",
            "state": ANSWERED,
            "exact": [1, 1, 0, 0],
            "judge": [1, 0, 0, None],
            "rouge_score": [1, 1, 1, 1.0],
            "bleu": 0.5,
        }
    )
    table = agreement(rows).set_index(["first", "second"]).drop(columns="arm")
    assert table.loc[("exact", "judge")].tolist() == pytest.approx([3, 0.5, 2 / 3, 0.4])
    assert table.loc[("rouge_score", "exact")].isna().tolist() == [False, True, False, True]
    assert agreement(rows[:0]).empty


def test_a_coefficient_over_models_is_of_their_means():
    arms = {f"a{k}": by_number(*[right] * k, wrong) for k in range(4)}
    table = agreement_of_means(of_arms(ask(), **arms)).iloc[5:]
    assert table.pearson.tolist()[::2] == pytest.approx([1] * 2) and set(table.n) == {4}
    assert agreement_of_means(of_arms(ask(), a=wrong, b=right)).pearson[5:].isna().all()


def test_failures_are_verbatim_and_escaped_where_shown():
    asked, left_out = ask(), ask(depth=2)
    evil = "<script>alert(1)</script> | $x$\nand more"
    answers = {"base": [answered("base", one.query_id, evil, True) for one in asked]}
    table = failures(of_arms(asked, left_out, base=lambda one: evil), asked, answers)
    # one per language, none left out
    assert len(table) == 3 and set(table.reply) == {evil}
    assert "<script>" not in table.to_html() and "&lt;script&gt;" in table.to_html()
