"""lib.structext.analyze.published: the published results as data, and a run's next to them."""

import re

import numpy as np
import pytest

from lib.core.paths import REPOSITORY
from lib.structext.analyze.formatted import published_agreement_formatted, published_formatted
from lib.structext.analyze.pairs import agreement
from lib.structext.analyze.published import PAPER, RUN, agreement_with_ours, paper_scores, with_ours
from lib.structext.analyze.tables import summary
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


def test_our_arms_follow_the_published_models_of_the_same_suite_and_prompts():
    asked = [*ask(), *ask(setting="hint"), *ask(setting="self-cot"), *ask("test-hard", depth=2),
             *ask("test-hard", "ps-cot", depth=2), *ask("test-hard", "few-shot", 3, depth=2),
             *ask("v1-simple")]
    rows = of_arms(asked, tuned=lambda one: right(one) if one.setting == "hint" else "no")
    table = with_ours(summary(rows, ["suite", "prompt", "arm"]))
    run = table[table.source == RUN]
    assert list(zip(run.suite, run.prompt, run.n, strict=True)) == [
        ("test", "base", 6), ("test", "hint", 6), ("test-hard", "base", 6),
        ("test-hard", "few-shot-3", 6)]
    assert run.rouge_score.tolist() == pytest.approx([0, 1, 0, 0])
    assert table.suite.tolist() == sorted(table.suite, key=["test", "test-hard"].index)
    assert table[table.source == PAPER].low.isna().all() and run.low.notna().all()
    text = published_formatted(table)
    cells = text["ROUGE-L ≥ 0.75, %, by prompt"]
    assert cells[0] == "base 30.0; hint 44.0" and len(text) == 6 + 1 + 13 + 1
    assert cells[text.source == RUN].iloc[0].startswith("base 0.0 [0.0, ")


def test_agreement_with_people_is_never_mixed_with_agreement_with_a_judge():
    rows = of_arms(ask(), base=by_number(right, wrong), other=by_number(wrong, right), copies=right)
    table = agreement_with_ours(agreement(rows))
    assert table["with"].tolist() == ["human judgments"] * 3 + ["the judge's verdicts"] * 4
    assert table[table.source == PAPER].pearson.tolist() == [0.993, 0.994, 0.950]
    assert table.n.isna().tolist() == [True] * 3 + [False] * 4 and table.n[3] == 12
    assert table.metric.tolist()[3:] == ["rouge_score", "bleu", "exact", "structural"]
    assert published_agreement_formatted(table).n.tolist()[:4] == ["–", "–", "–", "12"]
    nothing = agreement_with_ours(agreement(of_arms(ask(), base=silent)))
    assert nothing.n.tolist()[3:] == [0] * 4 and np.isnan(nothing.pearson[3])
