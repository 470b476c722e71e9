"""the published results as data, and a run's next to them."""

import re

import pandas as pd
import pytest

from lib.analyze.stats import share_interval
from lib.core.store import REPOSITORY
from lib.tasks.structext.analyze.floor import constant, learned
from lib.tasks.structext.analyze.pairs import (
    FLOORS,
    paper_scores,
)
from lib.tasks.structext.ask.plan import training_samples
from lib.tasks.structext.ask.replies import score
from lib.tasks.structext.generate.samples import suite as generated

SPECIFICATION = REPOSITORY.parent / "shared" / "spec" / "structext-eval.md"


def scores_of(suite: str, model: str) -> dict[str, float]:
    cell = paper_scores().query("suite == @suite and model == @model")
    return dict(zip(cell.prompt, (100 * cell.rouge_score).round(1), strict=True))


@pytest.mark.skipif(not SPECIFICATION.exists(), reason=f"{SPECIFICATION} is absent")
def test_every_published_number_is_the_specifications():
    text = SPECIFICATION.read_text(encoding="utf-8")
    hard = text[text.index("v2 Table 4") : text.index("v2 contradicts itself")]
    printed = [
        tuple(map(float, row))
        for row in re.findall(r"(\d+\.\d), (\d+\.\d), (\d+\.\d), (\d+\.\d)", hard)
    ]
    models = paper_scores().query("suite == 'test-hard' and model != 'human'").model.unique()
    prompts = ["base", "hint", "few-shot-3", "simple-few-shot-3"]
    assert [
        tuple(scores_of("test-hard", model)[prompt] for prompt in prompts) for model in models
    ] == printed
    easy = re.findall(
        r"([\d.]+) → ([\d.]+) \(([\w-]+)\)",
        text[text.index("v2 Table 3") : text.index("v2 Table 4")],
    )
    models = paper_scores().query("suite == 'test'").model.unique()
    assert [scores_of("test", model) for model in models] == [
        {"base": float(base), name.lower(): float(best)} for base, best, name in easy
    ]
    assert scores_of("test-hard", "human") == {"": 92.6} and (len(printed), len(easy)) == (12, 6)
    assert "ROUGE-L 0.993, judge 0.994, exact match 0.950" in text


@pytest.mark.parametrize("suite", FLOORS)
def test_the_floors_beside_published_results_are_measured(suite):
    samples = generated(suite, mode="faithful")
    constants = learned(training_samples(samples, mode="faithful")[0])
    scores = pd.Series(
        [score(one.answer, constant(one, constants)[0]).rouge_score for one in samples]
    )
    ends = share_interval(scores, pd.Series([one.text_id for one in samples]))
    assert FLOORS[suite] == pytest.approx((len(samples), scores.mean(), *ends), abs=5e-5)
