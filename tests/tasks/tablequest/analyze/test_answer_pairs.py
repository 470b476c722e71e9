"""The rule for figures on pairs of reference and answer that were written before it."""

from pathlib import Path

import pytest
import yaml

from lib.tasks.tablequest.analyze.accuracy import assess
from lib.tasks.tablequest.records import Cell, CellRef, TableQuestion
from tests.tablequest_pumps import grid

PAIRS = yaml.safe_load(Path(__file__).with_name("answer_pairs.yaml").read_text(encoding="utf-8"))
CASES = [(asked, answer, "") for asked in PAIRS for answer in asked["right"]]
CASES += [(asked, answer, fault) for asked in PAIRS for fault, answers in asked["wrong"].items()
          for answer in answers]


def question_and_grids(asked: dict) -> tuple:
    """Return a pair's question, and its table as the only grid."""
    table = asked["table"]
    rows = {label: tuple(Cell(text=f"{value:,}", value=value, unit=table["unit"],
                              scale=float(table["scale"])) for value in values)
            for label, values in table["rows"].items()}
    made = grid("alm-t01", tuple(map(str, table["columns"])), rows)
    level = "easy" if asked["kind"] == "extraction" else "medium"
    return TableQuestion(
        question_id="q", chain_id="c", filing_id="alm", passage_id="p", level=level,
        kind=asked["kind"], question=asked["ask"], answer=asked["answer"], steps=(), expression="",
        cells={name: CellRef(grid_id="alm-t01", row=row, column=column)
               for name, (row, column) in zip("abcd", asked["cells"], strict=False)},
        value=float(asked["value"]), unit=asked.get("unit", table["unit"]),
        scale=float(asked.get("scale", table["scale"]))), {"alm-t01": made}


def test_there_are_enough_pairs_wrong_in_one_respect():
    faults = [fault for *_, fault in CASES if fault]
    assert len(CASES) >= 150 and len(faults) >= 50
    assert {"scale", "sign", "unit", "period", "other row"} == set(faults)


@pytest.mark.parametrize("asked, answer, fault", CASES, ids=[
    f"{asked['answer']}|{fault or 'right'}|{answer}" for asked, answer, fault in CASES])
def test_an_answer_written_by_hand_is_decided(asked, answer, fault):
    question, grids = question_and_grids(asked)
    outcome = assess(question, answer, grids)
    assert outcome.is_correct == (not fault), outcome.reason
