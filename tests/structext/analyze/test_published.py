"""The published results of StrucText-Eval as data, beside a run's."""

import re

import numpy as np
import pandas as pd
import pytest

from lib.core.paths import REPOSITORY
from lib.structext.analyze.formatted import agreement_beside_for_reading, published_for_reading
from lib.structext.analyze.pairs import agreement
from lib.structext.analyze.published import PAPER, RUN, agreement_beside, beside, paper_scores
from lib.structext.analyze.tables import summary
from tests.structext.analyze.test_tables import FEW, ask, by_number, of_arms, right, wrong

SPECIFICATION = REPOSITORY.parent / "shared" / "spec" / "structext-eval.md"
PROMPTS = ["base", "hint", "few-shot-3", "simple-few-shot-3"]


def scores_of(suite: str, model: str) -> dict[str, float]:
    cell = paper_scores().query("suite == @suite and model == @model")
    return dict(zip(cell.prompt, (100 * cell.rouge_score).round(1), strict=True))


@pytest.mark.skipif(not SPECIFICATION.exists(), reason=f"{SPECIFICATION} is absent")
def test_every_published_number_is_the_specifications():
    text = SPECIFICATION.read_text(encoding="utf-8")
    hard = text[text.index("v2 Table 4"):text.index("v2 contradicts itself")]
    printed = [tuple(map(float, row)) for row in re.findall(r"(\d+\.\d), (\d+\.\d), (\d+\.\d), (\d+\.\d)", hard)]
    models = [name for name in paper_scores().query("suite == 'test-hard'").model.unique() if name != "human"]
    assert [tuple(scores_of("test-hard", model)[prompt] for prompt in PROMPTS) for model in models] == printed
    easy = re.findall(r"([\d.]+) → ([\d.]+) \(([\w-]+)\)", text[text.index("v2 Table 3"):text.index("v2 Table 4")])
    models = paper_scores().query("suite == 'test'").model.unique()
    assert [scores_of("test", model) for model in models] == [
        {"base": float(base), name.lower(): float(best)} for base, best, name in easy]
    assert scores_of("test-hard", "human") == {"": 92.6} and len(printed) == 12 and len(easy) == 6
    assert "ROUGE-L 0.993, judge 0.994, exact match 0.950" in text
    ours = agreement_beside(agreement(of_arms(ask(), base=right)))
    assert ours[ours.source == PAPER].pearson.tolist() == [0.993, 0.994, 0.950]


def test_our_arms_stand_below_the_published_models_of_the_same_suite_and_prompts():
    asked = [*ask(), *ask(setting="hint"), *ask(setting="self-cot"), *ask("test-hard", depth=2),
             *ask("test-hard", "ps-cot", depth=2), *ask("test-hard", "few-shot", 3, depth=2), *ask("v1-simple")]
    rows = of_arms(asked, tuned=lambda one: right(one) if one.setting == "hint" else "no")
    table = beside(summary(rows, ["suite", "prompt", "arm"], FEW))
    run = table[table.source == RUN]
    assert list(zip(run.suite, run.prompt, run.n, strict=True)) == [
        ("test", "base", 6), ("test", "hint", 6), ("test-hard", "base", 6), ("test-hard", "few-shot-3", 6)]
    assert run.rouge_score.tolist() == pytest.approx([0, 1, 0, 0])
    assert table.suite.tolist() == sorted(table.suite, key=["test", "test-hard"].index)
    assert table[table.source == PAPER].low.isna().all() and run.low.notna().all()
    reading = published_for_reading(table)
    assert reading["ROUGE-L ≥ 0.75, %, by prompt"].tolist()[0] == "base 30.0; hint 44.0"
    assert reading[reading.source == RUN]["ROUGE-L ≥ 0.75, %, by prompt"].iloc[0].startswith("base 0.0 [0.0, ")
    assert len(reading) == 6 + 1 + 13 + 1


def test_agreement_with_people_is_never_mixed_with_agreement_with_a_judge():
    rows = of_arms(ask(), base=by_number(right, wrong), other=by_number(wrong, right), copies=right)
    table = agreement_beside(agreement(rows))
    assert table["with"].tolist() == ["human judgments"] * 3 + ["the judge's verdicts"] * 4
    assert table.n.isna().tolist() == [True] * 3 + [False] * 4 and table.n[3] == 12
    assert agreement_beside_for_reading(table).n.tolist()[:4] == ["–", "–", "–", "12"]
    silent = agreement_beside(agreement(of_arms(ask(), base=lambda one: "")))
    assert silent.n.tolist()[3:] == [0] * 4 and np.isnan(silent.pearson[3])
    assert isinstance(table, pd.DataFrame) and table.metric.tolist()[3:] == ["rouge_score", "bleu", "exact",
                                                                           "structural"]
