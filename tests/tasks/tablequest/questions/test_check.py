"""What the answers of a set rest on: tags or the rules' reading."""

from lib.tasks.tablequest.questions.by_rules import questions_by_rules
from lib.tasks.tablequest.questions.check import evidence, verified
from lib.tasks.tablequest.records import by_id
from tests.tablequest_example import BALANCE, FILING, PASSAGES


def test_evidence_counts_answers_and_tagged_cells_by_filing():
    day = {0: "2024-12-31", 1: "2023-12-31"}
    cells = tuple(tuple(cell.model_copy(update={"period": day[column]}) if row < 3 else cell
                        for column, cell in enumerate(line))
                  for row, line in enumerate(BALANCE.cells))
    tagged = BALANCE.model_copy(update={"cells": cells})
    questions, _ = questions_by_rules([FILING], [tagged], PASSAGES[2:], 4)
    grids = by_id([tagged])
    [row] = evidence(questions, grids).to_dict("records")
    refs = {ref for question in questions for ref in question.cells.values()}
    assert row == {
        "filing_id": FILING.filing_id, "questions": len(questions), "recomputed": len(questions),
        "cells": len(refs), "tagged": sum(ref.row < 3 for ref in refs),
        "all tagged": sum(all(ref.row < 3 for ref in question.cells.values())
                          for question in questions)}
    assert 0 < row["tagged"] < row["cells"]
    wrong = questions[0].model_copy(update={"unit": "shares"})
    assert "in shares, the cells in USD" in verified(wrong, grids)
    assert evidence([wrong], grids)["recomputed"].item() == 0
