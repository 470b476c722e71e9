"""Win rates: the paper's Table 4 from its counts, and flips counted by hand."""

import math

import pytest

from lib.analyze.agreement import flips
from lib.analyze.published import COLUMNS, formatted_table4, paper_table4, table4
from lib.core.arms import ALL
from lib.core.records import STRUCTURES, Query
from lib.judge.llm_judge import CRITERIA, Preference, compare_pairs
from tests.analyze.test_tables import query

PAPER = paper_table4()[COLUMNS]


def preference(
    query_id: str, pair, criterion: str, as_first: str, as_second: str = "", **fields: object
) -> Preference:
    both = ((as_first, ""), (as_second or as_first, ""))
    (compared,) = compare_pairs([("one", "other")], lambda _: [both])
    names = {"first_arm": pair[0], "second_arm": pair[1], "criterion": criterion, "judge": "m"}
    return Preference(**names | compared | fields, query_id=query_id)


def of_paper(pair: tuple[str, str]) -> tuple[list[Query], list[Preference]]:
    """Return queries and preferences with the paper's counts for a pair."""
    queries, rows = [], []
    own = PAPER[(PAPER.first_arm == pair[0]) & (PAPER.second_arm == pair[1])]
    for structure in STRUCTURES:
        cells = own[own.structure == structure]
        ids = [f"{structure}-{number}" for number in range(cells.n.iloc[0])]
        queries += [query(name, structure, document_id=name) for name in ids]
        for criterion in CRITERIA:
            counts = cells[cells.criterion == criterion]
            outcomes = counts.outcome.repeat(counts["count"])
            rows += [
                preference(query_id, pair, criterion, outcome)
                for query_id, outcome in zip(ids, outcomes, strict=True)
            ]
    return queries, rows


@pytest.mark.parametrize("pair", [("base", "dapt"), ("base", "dapt-n")])
def test_the_papers_table_4_comes_out_of_its_counts(pair):
    table = table4(*of_paper(pair)).set_index(COLUMNS[:5])
    expected = PAPER.set_index(COLUMNS[:5]).reindex(table.index)
    assert table["count"].tolist() == expected["count"].tolist()
    assert table.share.tolist() == pytest.approx(expected.share.tolist())
    for end in ("low", "high"):  # one query per document: nearly Wilson's of the counts
        assert table[end].tolist() == pytest.approx(expected[end].tolist(), abs=0.02)
    text = formatted_table4(expected.reset_index())
    assert list(text.structure) == [*STRUCTURES, ALL]
    assert set(text["pair"]) == {f"{pair[0]} (A) vs {pair[1]} (B)"}
    if pair[1] == "dapt":
        assert text["correctness: A"].iloc[-1] == "21/191 = 10.99% [7.3, 16.2]"
        assert text["correctness: tie"].iloc[2] == "26/41 = 63.41% [48.1, 76.4]"


def test_several_pairs_follow_one_another_and_a_missing_preference_is_an_error():
    (queries, first), (_, second) = of_paper(("base", "dapt")), of_paper(("base", "dapt-n"))
    table = table4(queries, [*second, *first])
    assert len(table) == 2 * 4 * 2 * 3
    assert list(dict.fromkeys(table.second_arm)) == ["dapt-n", "dapt"]
    with pytest.raises(ValueError, match="and dapt-n, correctness: 190 .* 191 queries .*pairs"):
        table4(queries, second[1:])


PAIR = ("base", "dapt")
ROWS = [
    preference("q0", PAIR, CRITERIA[0], "A"),
    preference("q1", PAIR, CRITERIA[0], "A", "B"),
    preference("q2", PAIR, CRITERIA[0], "A", "unscored"),
    preference("q3", PAIR, CRITERIA[0], "tie", is_asked=False),
    *(preference(f"q{number}", PAIR, CRITERIA[1], "tie") for number in range(4)),
]
QUERIES = [query(name, document_id=name) for name in ("q0", "q1", "q2", "q3")]


def test_flips_are_counted_over_pairs_that_were_asked_and_scored_in_both_orders():
    found = flips(QUERIES, ROWS).set_index("criterion").loc["correctness"]
    assert (found.asked, found.unscored, found.both_orders, found.flipped) == (3, 1, 2, 1)
    assert found.rate == 0.5
    assert found.low < 0.5 < found.high
    one_document = [row.model_copy(update={"document_id": "one"}) for row in QUERIES]
    alone = flips(one_document, ROWS).set_index("criterion").loc["correctness"]
    assert alone.rate == 0.5 and math.isnan(alone.low), "one document does not say how others vary"
    rules = flips(QUERIES, [row.model_copy(update={"judge": "scorer"}) for row in ROWS])
    assert rules.low.isna().all(), "no interval where there is nothing to estimate"
    assert flips(QUERIES, ROWS[3:4]).rate.isna().all()


def test_unscored_preferences_are_in_n_and_in_no_share():
    cell = table4(QUERIES, ROWS)
    cell = cell[(cell.structure == ALL) & (cell.criterion == CRITERIA[0])]
    assert list(cell.n) == [4] * 3 and list(cell.unscored) == [1] * 3
    assert cell.share.tolist() == pytest.approx([1 / 3, 0, 2 / 3])
