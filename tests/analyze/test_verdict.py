"""The report's sentences, table and advice, on made tables of every kind of outcome."""

import re
from functools import cache

import pandas as pd
import pytest

from lib.analyze.logliks import TABLE3
from lib.analyze.tables import as_csv
from lib.analyze.verdict import found_in, verdict
from lib.core import arms
from lib.core.records import STRUCTURES
from lib.core.store import result_path, write_text
from tests.rows import judged

CODES = re.compile(r"nan|natural|tabular|entity-list|dapt|lab_|\[–")
NO, HALF, ALL, LOST = "0" * 20, "10" * 10, "1" * 20, "-" * 12 + "0" * 8
LESS = {"dapt": (ALL, HALF, NO)}


def made(n: int = 20, **arms: tuple[str, str, str]) -> pd.DataFrame:
    """Rows of `joined`: by arm, the verdicts in prose, lists and tables, a document for each."""
    arms = {"base": (NO, NO, NO)} | arms
    parts = [
        judged(name, **{arm: states[place][:n] for arm, states in arms.items()})
        for place, name in enumerate(STRUCTURES)
    ]
    return pd.concat(parts).assign(memorized=lambda rows: rows.arm.map({"dapt": 1.0}))


def kept(points: float, p: float) -> pd.DataFrame:
    row = {"arm": "dapt", "task": "lambada_openai", "n": 200, "difference_points": points, "p": p}
    ends = {"low_points": points - 5, "high_points": points + 5, "p_holm": p}
    return pd.DataFrame([row | ends, row | ends | {"difference_points": 1.0}], columns=TABLE3)


NONE = kept(0, 1)[:0]
LOSS, CHANCE = kept(-56, 0.001), kept(-2, 0.4)
CASES = {
    "null": (made(dapt=(NO,) * 3), NONE, ["Raw text: 0.0%", "of 60 questions", "as much as prose"]),
    "less": (
        made(**LESS),
        NONE,
        ["tables gain less than prose (-100.0 points", "was not measured"],
    ),
    "reversal": (
        made(dapt=(NO, NO, "1" * 15 + NO)),
        NONE,
        ["tables gain more than prose", "one base"],
    ),
    "chance": (made(dapt=(HALF, HALF, "1" * 9 + NO)), NONE, ["points [", "]: not established"]),
    "texts": (
        made(dapt=(NO,) * 3, dapt_q=(ALL,) * 3, dapt_n=(HALF,) * 3),
        NONE,
        [
            "rewritten text: 50.0%; raw text and questions: 100.0%",
            "questions answers more than raw",
        ],
    ),
    "unscored": (
        made(dapt=(LOST,) * 3),
        NONE,
        ["60% of these answers are unscored, so up to 60.0% are right"],
    ),
    "few documents": (made(5, **LESS), NONE, ["too few documents to tell"]),
    "loss": (made(**LESS), LOSS, ["lost with raw text: 56.0 points [51.0, 61.0] on “LAMBADA”"]),
    "no loss": (
        made(**LESS),
        CHANCE,
        ["lost with raw text: 2.0 points [-3.0, 7.0]", "not established"],
    ),
    "gain": (made(**LESS), kept(3, 0.4)[:1], ["not lost with raw text: +3.0 points [-2.0, +8.0]"]),
    "another arm": (
        made(dapt=(NO,) * 3, dapt_n=(LOST,) * 3, dapt_nAt2=(ALL,) * 3),
        LOSS.assign(arm="dapt-n"),
        ["rewritten text: 50.0%", "raw text (+50.0 points", "was not measured"],
    ),
    "no training": (made(), NONE, ["Base: 0.0%"]),
    "seeds": (made(dapt=(NO,) * 3, daptAt2=(ALL,) * 3), NONE, ["Raw text: 50.0%"]),
}


@cache
def told(case: str) -> str:
    rows, retained, _ = CASES[case]
    return verdict(rows, retained, {"dapt": 0.9})


@pytest.mark.parametrize("case", CASES)
def test_the_verdict_says_what_the_tables_have(case):
    sentences = told(case).partition("\n\n")[0].splitlines()
    text = " ".join(sentences)
    assert all(part in text for part in CASES[case][2]), text
    assert 1 <= len(sentences) <= 4 and not CODES.search(text), text
    assert all(one.endswith(".") and one[0].isupper() for one in sentences), sentences
    is_seen = case in ("less", "reversal", "texts", "loss", "no loss", "gain", "another arm")
    assert ("one base" in text) == is_seen, text


def test_what_is_not_yet_measured_is_not_spoken_of():
    assert not re.search("measured|next|memorized", verdict(made(**LESS)))


def test_one_row_an_arm_has_what_a_buyer_must_know():
    lines = told("loss").partition("\n\n")[2].splitlines()
    table = {line.split(" | ")[0][2:]: line.strip("| ").split(" | ")[1:] for line in lines}
    ends = ["50.0% [36.5, 63.5]", "0.0%", "100.0%", "-56.0 (LAMBADA)", "90.0%"]
    assert table["raw text"] == ["100.0%", "50.0%", "0.0%", *ends]
    assert table["base"][-3:] == ["–", "–", "–"]


STEPS = {  # by what they name: the cases in which a row of the table is a reason
    "`judge`: up to 60%": ["unscored"],
    "`judge`: up to 30%": ["another arm"],
    "Add documents: 5": ["few documents"],
    "replay_share": ["loss", "another arm"],
    "`dapt-q`": ["null", "unscored", "no training"],
    "three seeds": [*{*CASES} - {"no training", "seeds"}],
    "another base": [*CASES],
}


@pytest.mark.parametrize("step", STEPS)
def test_the_next_steps_follow_from_every_row_of_the_table(step):
    found = {case for case in CASES if step in told(case).partition("next**\n\n")[2]}
    assert {*STEPS[step]} == found


def test_a_finished_study_is_told_whatever_its_documents_and_arms_are_called(
    study_root, monkeypatch
):
    monkeypatch.setitem(arms.LOOK, "labels", {"dapt": "a|b <c>"})
    rows = made(8, dapt=(ALL,) * 3).assign(cluster=lambda own: "1." + own.cluster.astype(str))
    rows = rows.replace({"cluster": {"1.0": "1.10", "1.7": "NA"}}).assign(epoch=None)
    after_epoch = rows.assign(verdict=None, epoch=2)
    write_text(result_path("s", "each.csv"), as_csv(pd.concat([rows, after_epoch])))
    text = found_in("s")
    assert text.startswith("A\\|b &lt;c>: 100.0% [") and "of 24 questions" in text
    assert "Add documents" not in text, "eight, of which two are read as equal numbers, one as none"
