"""Real facts as a sentence, a bullet or a row: each fact is compared with itself."""

import numpy as np
import pandas as pd
import pytest

from lib.core.records import STRUCTURES
from lib.core.store import REPOSITORY
from lib.exposures import real
from lib.lab.bases import train_tokenizer
from lib.train.config import TrainConfig
from tests.tiny_model import untrained

FACTS = pd.read_csv(REPOSITORY / "data" / "records" / "facts.csv", dtype={"value": str})
RUNS = [(rotation, half) for rotation in range(3) for half in (0, 1)]
SHOWN = real.questions(real.design(FACTS, 0, None)[:3])


def designs() -> pd.DataFrame:
    return pd.concat(
        real.design(FACTS, *one).assign(run=f"{one[0]}-{one[1]}", rotation=one[0]) for one in RUNS
    )


def test_each_fact_is_asked_once_and_said_again_once_in_every_structure():
    table = designs().groupby(["document", "number"])
    for name in ("structure", "treatment"):
        assert (table[name].nunique() == table[name].nunique().max()).all()
    cells = designs().groupby(["document", "number", "structure", "treatment"]).size()
    assert len(cells) == len(FACTS) * len(STRUCTURES) * 2 and (cells == 1).all()
    in_a_run = designs().groupby(["run", "document", "structure", "treatment"]).size()
    assert (in_a_run == 2).all()


@pytest.mark.parametrize("form", [0, 1, 2])
def test_every_structure_states_entity_attribute_and_value_once_and_in_its_own_form(form):
    one = real.design(FACTS, 0, 0)
    for text, (_, rows) in zip(
        real.texts_of(one, form),
        one.groupby(["document", "structure"], sort=False),
        strict=True,
    ):
        name = rows.structure.iloc[0]
        said = text.partition("\n\n")[2]
        assert ("|" in said, said.startswith("- ")) == (name == "tabular", name == "entity-list")
        for row in rows.itertuples():
            assert all(word in said for word in (row.entity, row.attribute, row.value))


def test_no_question_of_the_test_is_trained_on_and_no_statement_is_repeated_word_for_word():
    one = real.design(FACTS, 0, 0)
    tests = {query.question for query in real.questions(one)}
    assert not tests & {query.question for query in real.questions(one, real.ASKS)}
    texts = [text for form in range(3) for text in real.texts_of(one, form)]
    assert len(texts) == len({*texts})


def test_what_is_said_again_has_the_tokens_of_what_is_asked():
    tokenizer = train_tokenizer(real.texts_of(real.design(FACTS, 0, 0), 0), 400)
    _, tokens = real.blocks_of(real.design(FACTS, 1, 1), SHOWN, tokenizer, 7, 320)
    assert 0 <= tokens["said again"] - tokens["asked"] < 320
    _, neither = real.blocks_of(real.design(FACTS, 1, None), SHOWN, tokenizer, 7, 320)
    assert neither == {name: tokens[name] for name in ("stated", "also")}


def test_a_run_returns_a_verdict_for_each_fact_and_leaves_no_weights(tmp_path):
    facts = real.design(FACTS[:12], 0, 0)
    base = untrained(tmp_path / "base", real.texts_of(facts, 0))
    recipe = {"learning_rate": 1e-3, "warmup_steps": 1, "weight_decay": 0.0, "precision": "fp32"}
    config = TrainConfig(epochs=1, global_batch_size=4, device_batch_size=4, seed=3, **recipe)
    rows, _ = real.run(str(base), facts, SHOWN, tmp_path / "work", config, 256)
    assert [*rows.number] == [*range(12)] and (rows.loglik < 0).all()
    assert rows.verdict.isin(["correct", "incorrect", "unscored"]).all()
    assert [path.name for path in tmp_path.iterdir()] == ["base"]


def made(shift: float, row: float, noise: float) -> pd.DataFrame:
    rng, table = np.random.default_rng(5), designs()
    share = 0.3 + shift * (table.treatment == real.ASKED) + row * (table.structure == "tabular")
    of_run = dict(zip(table.run.unique(), rng.normal(0, noise, 6), strict=True))
    share = share + table.run.map(of_run) * (table.treatment == real.ASKED)
    return table.assign(answered=(rng.random(len(table)) < share).astype(float))


def test_contrasts_find_a_difference_that_is_there_and_none_that_is_not():
    table = real.contrasts(made(0.4, 0.0, 0.0), "answered").set_index("contrast")
    asked = table.loc["asked - said again"]
    assert asked.difference == pytest.approx(0.4, abs=0.06) and asked.p_holm < 0.01
    assert (table.p_holm.drop("asked - said again") > 0.05).all()
    found = real.contrasts(made(0.0, 0.3, 0.0), "answered").set_index("contrast")
    assert (found.difference.iloc[1:] > 0.2).all() and found.p_holm.iloc[0] > 0.05
    assert (table.runs == 6).all() and (table.facts == 240).all()


def test_intervals_count_what_another_run_would_vary():
    quiet, loud = (real.contrasts(made(0.2, 0.0, noise), "answered").loc[0] for noise in (0, 0.2))
    assert loud.high - loud.low > 1.5 * (quiet.high - quiet.low)
