"""Every constraint of the annotation prompt, the choice of queries, and the table of yields."""

from collections import Counter
from pathlib import Path

import pytest

from lib.annotate.questions import Candidate, annotate, draw, violation, yields
from lib.core.records import Document
from tests.conftest import table

HERE = Path(__file__).parent
TEXT = (
    "The port is 80. The gate is 7. Old is 1. New is 2. Big is 3.\n\n"
    "- a b\n- c\n\n| K | V |\n|---|---|\n| k | v w |\n"
)
GOOD = Candidate("What is the port of Orsa R-9?", "80", "prose", 0, 15)
ROW = {"block_type": "table", "start": TEXT.index("| k"), "end": TEXT.index("w |") + 1}
LIST = {"block_type": "list", "start": 62, "end": 71}
DOCUMENT = Document(document_id="d", title="Orsa R-9", path="", text=TEXT)


@pytest.mark.parametrize("case", [*table(HERE / "violations.csv"), *table(HERE / "pointing.csv")])
def test_each_constraint_is_checked(case):
    reason = case.pop("reason")
    changed = {name: type(getattr(GOOD, name))(value) for name, value in case.items() if value}
    found = violation(GOOD._replace(**changed), TEXT)
    assert reason in found and bool(reason) == bool(found), found


@pytest.mark.parametrize("answer", ["below 160 bar", "above 65 °C", "IT", "one"])
@pytest.mark.parametrize("pointing", ["", "it is ", "see above: ", "this ", "the following: "])
def test_an_answer_may_start_at_a_number_but_not_point(answer, pointing):
    answer = pointing + answer
    found = violation(GOOD._replace(answer=answer, start=0, end=len(answer)), answer)
    assert ("the answer points" in found) == bool(pointing)


def test_few_queries_are_spread_over_structures_and_the_rest_is_counted_by_reason():
    found = [GOOD._replace(question=f"What is the port of Orsa {n}?") for n in range(3)]
    found += [
        GOOD._replace(question="Which?", answer="a b\nc", **LIST),
        GOOD._replace(question="What is V?", answer="v w", **ROW),
        GOOD._replace(question="Why is V?", answer="v w", **ROW),
    ]
    queries, rejected = annotate([DOCUMENT], lambda documents, most: [(found, [])], 4)
    assert Counter(query.structure for query in queries) == {
        "natural": 2,
        "entity-list": 1,
        "tabular": 1,
    }
    table = yields(queries, rejected)
    assert dict(zip(table.index, table.to_numpy().tolist(), strict=True)) == {
        "natural": [2, 1],
        "entity-list": [1, 0],
        "tabular": [1, 1],
    }
    assert [one.reason for one in rejected] == [
        "the question asks for reasoning, not recall",
        "fits, but the document already has its 4 queries",
    ]
    first, _ = annotate([DOCUMENT], lambda documents, most: [(found, [])], 3, balance=False)
    assert {query.structure for query in first} == {"natural"}
    with pytest.raises(ValueError, match="at least 1"):
        annotate([DOCUMENT], lambda documents, most: [(found, [])], 0)


@pytest.mark.parametrize("seed", range(5))
def test_documents_are_drawn_in_their_order_by_lot_or_so_that_they_differ(seed):
    texts = ["pump oil seal", "pump oil seal ring", "oil seal pump", "fuse volt", "cloud node pod"]
    documents = [DOCUMENT.model_copy(update={"text": one}) for one in texts]
    assert draw(documents, None, seed) == draw(documents, 9, seed, True) == documents
    lot, apart = ([texts.index(one.text) for one in draw(documents, 3, seed, x)] for x in (0, 1))
    assert len(lot) == 3 and lot == sorted(lot) and apart[1:] == [3, 4]
