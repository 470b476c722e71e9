"""lib.structext.analyze.published: the published results as data, and a run's next to them."""

import re

import numpy as np
import pandas as pd
import pytest

from lib.analyze.stats import share_interval
from lib.core.paths import REPOSITORY
from lib.structext.analyze.floor import BLIND, cells_of, learned
from lib.structext.analyze.formatted import published_agreement_formatted, published_formatted
from lib.structext.analyze.pairs import agreement, agreement_of_means
from lib.structext.analyze.published import (
    FLOOR,
    FLOORS,
    PAPER,
    RUN,
    agreement_with_ours,
    paper_scores,
    with_ours,
)
from lib.structext.analyze.scores import score
from lib.structext.analyze.tables import summary
from lib.structext.ask.plan import training_samples
from lib.structext.generate.samples import suite as generated
from tests.structext.replied import ask, by_number, of_arms, right, silent, wrong

SPECIFICATION = REPOSITORY.parent / "shared" / "spec" / "structext-eval.md"


def scores_of(suite: str, model: str) -> dict[str, float]:
    cell = paper_scores().query("suite == @suite and model == @model")
    return dict(zip(cell.prompt, (100 * cell.rouge_score).round(1), strict=True))


@pytest.mark.skipif(not SPECIFICATION.exists(), reason=f"{SPECIFICATION} is absent")
def test_every_published_number_is_the_specifications():
    text = SPECIFICATION.read_text(encoding="utf-8")
    hard = text[text.index("v2 Table 4"):text.index("v2 contradicts itself")]
    printed = [tuple(map(float, row)) for row in re.findall(
        r"(\d+\.\d), (\d+\.\d), (\d+\.\d), (\d+\.\d)", hard)]
    models = paper_scores().query("suite == 'test-hard' and model != 'human'").model.unique()
    prompts = ["base", "hint", "few-shot-3", "simple-few-shot-3"]
    assert [tuple(scores_of("test-hard", model)[prompt] for prompt in prompts)
            for model in models] == printed
    easy = re.findall(r"([\d.]+) → ([\d.]+) \(([\w-]+)\)",
                      text[text.index("v2 Table 3"):text.index("v2 Table 4")])
    models = paper_scores().query("suite == 'test'").model.unique()
    assert [scores_of("test", model) for model in models] == [
        {"base": float(base), name.lower(): float(best)} for base, best, name in easy]
    assert scores_of("test-hard", "human") == {"": 92.6} and (len(printed), len(easy)) == (12, 6)
    assert "ROUGE-L 0.993, judge 0.994, exact match 0.950" in text


@pytest.mark.parametrize("suite", FLOORS)
def test_the_floors_beside_published_results_are_measured(suite):
    samples = generated(suite, mode="faithful")
    constants = learned(training_samples(samples, mode="faithful")[0])
    given = cells_of(samples, constants).answer
    scores = pd.Series([score(one.answer, answer).rouge_score
                        for one, answer in zip(samples, given, strict=True)])
    ends = share_interval(scores, pd.Series([one.text_id for one in samples]))
    assert FLOORS[suite] == pytest.approx((len(samples), scores.mean(), *ends), abs=5e-5)


def test_our_arms_follow_the_published_models_of_the_same_suite_and_prompts():
    asked = [*ask(), *ask(setting="hint"), *ask(setting="self-cot"), *ask("test-hard", depth=2),
             *ask("test-hard", "ps-cot", depth=2), *ask("test-hard", "few-shot", 3, depth=2),
             *ask("v1-simple")]
    rows = of_arms(asked, (), True,
                   tuned=lambda one: right(one) if one.setting == "hint" else "no")
    table = with_ours(summary(rows, ["suite", "prompt", "arm"]))
    blind = table[(table.source == RUN) & (table.model == BLIND)]
    assert (blind.rouge_score == blind.floor).all() and blind.floor.gt(0).all()
    run = table[(table.source == RUN) & (table.model != BLIND)]
    assert run.floor.notna().all()
    assert list(zip(run.suite, run.prompt, run.n, strict=True)) == [
        ("test", "base", 6), ("test", "hint", 6), ("test-hard", "base", 6),
        ("test-hard", "few-shot-3", 6)]
    assert run.rouge_score.tolist() == pytest.approx([0, 1, 0, 0])
    assert table.suite.tolist() == sorted(table.suite, key=["test", "test-hard"].index)
    assert table[table.source == PAPER].low.isna().all() and run.low.notna().all()
    text = published_formatted(table)
    cells = text["ROUGE-L ≥ 0.75, %, by prompt"]
    assert cells[0] == "base 30.0; hint 44.0" and len(text) == 6 + 1 + 2 + 13 + 1 + 2
    ours = cells[(text.source == RUN) & (text.model == "tuned")].iloc[0]
    assert re.fullmatch(r"base 0\.0 \[0\.0, [\d.]+\] ≤; hint 100\.0 \[[\d.]+, 100\.0\]", ours)
    llama = cells[(text.model == "Llama-3.1-8B") & (text.suite == "test")].iloc[0]
    assert llama == "base 21.3 ≤; ps-cot 55.9"  # below what reads nothing
    assert (text.source == FLOOR).sum() == 2


def test_agreement_with_people_is_never_mixed_with_agreement_with_a_judge():
    rows = of_arms(ask(), base=by_number(right, wrong), other=by_number(wrong, right), copies=right)
    table = agreement_with_ours(agreement_of_means(rows), agreement(rows))
    assert table["with"].tolist() == ["human judgments"] * 3 + ["the judge's verdicts"] * 8
    assert table.over.tolist() == ["models' means"] * 7 + ["replies"] * 4
    assert table[table.source == PAPER].pearson.tolist() == [0.993, 0.994, 0.950]
    assert table.n.tolist()[3:] == [2] * 4 + [12] * 4 and table.n[:3].isna().all()
    assert table.pearson[3:7].isna().all() and table.pearson[7:].notna().any()
    assert table.metric.tolist()[3:] == ["rouge_score", "bleu", "exact", "structural"] * 2
    assert published_agreement_formatted(table).n.tolist()[:4] == ["–", "–", "–", "2"]
    silence = of_arms(ask(), base=silent)
    nothing = agreement_with_ours(agreement_of_means(silence), agreement(silence))
    assert nothing.n.tolist()[7:] == [0] * 4 and np.isnan(nothing.pearson[7])
