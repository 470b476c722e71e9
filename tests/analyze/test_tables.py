"""Tables 1, 2 and 5: hand-worked cases; the paper's own counts are in test_published."""

import math

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.analyze.stats import share_interval
from lib.analyze.tables import (
    answer_to_question,
    by_group,
    counted,
    formatted_table,
    joined,
    table1,
    table2,
)
from lib.core.records import Answer, Query, Verdict


def query(query_id: str, structure: str = "natural", answer: str = "Oslo", **fields) -> Query:
    known = {
        "document_id": "d",
        "question": "Where?",
        "source_reference": "",
        "start": 0,
        "end": 0,
        "block_type": "prose",
        "entity_count": len(answer.splitlines()) if structure == "entity-list" else None,
    }
    return Query(query_id=query_id, structure=structure, answer=answer, **known | fields)


def verdicts(arm: str, states: dict[str, str]) -> list[Verdict]:
    return [
        Verdict(query_id=query_id, arm=arm, judge="scorer", verdict=state, reason="so")
        for query_id, state in states.items()
    ]


def test_unscored_is_not_correct_and_always_shown_with_the_upper_bound():
    states = {"a": "correct", "b": "incorrect", "c": "unscored", "d": "correct"}
    rows = joined([query(name) for name in "abcd"], verdicts("base", states))
    cell = table2(rows).set_index("structure").loc["natural"]
    assert (cell.n, cell.correct, cell.unscored) == (4, 2, 1)
    assert (cell.accuracy, cell.unscored_share, cell.upper_bound) == (0.5, 0.25, 0.75)
    ending = "; 1 unscored (25.0%): at most 75.0%"
    few = "; too few documents to tell"
    assert formatted_table(table2(rows)).base[0] == "2/4 = 50.00%" + few + ending
    texts = formatted_table(table2(rows.assign(cluster=rows.query_id))).base
    assert texts[0].startswith("2/4 = 50.00% [") and texts[0].endswith("]" + few + ending)
    assert answer_to_question(table2(rows)).endswith(few[1:] + ": fewer than 8.")
    many = pd.concat([rows.assign(cluster=f"d{n}") for n in range(8)])
    assert few not in formatted_table(table2(many)).base[0]


def test_incomplete_replies_of_an_endpoint_are_counted_by_kind():
    rows = [
        query(name, structure)
        for name, structure in zip("abcde", ["natural"] * 4 + ["tabular"], strict=True)
    ]
    states = dict.fromkeys("abcde", "incorrect") | {"e": "correct"}
    answers = [
        Answer(
            query_id=name,
            arm="base",
            answer="",
            n_tokens=0,
            truncated=False,
            incomplete_reason=reason,
        )
        for name, reason in zip("abde", ["cut", "cut", "refused", ""], strict=True)
    ]
    table = table2(joined(rows, verdicts("base", states), answers))
    assert table.set_index("structure")[["refused", "cut"]].T.to_dict("list") == {
        "natural": [1, 2],
        "entity-list": [0, 0],
        "tabular": [0, 0],
        "all": [1, 2],
    }
    assert "empty" not in table and formatted_table(table).base[0].endswith("; 1 refused; 2 cut")
    assert "cut" not in table2(joined(rows, verdicts("base", states)))


@given(st.lists(st.sampled_from(["correct", "incorrect", "unscored"]), max_size=40))
def test_accuracy_lies_in_its_interval_and_counts_unscored_as_incorrect(states):
    strict = ["incorrect" if state == "unscored" else state for state in states]
    cell, same = (
        counted(pd.DataFrame({"arm": "dapt", "verdict": ["correct", *some]}), ["arm"]).iloc[0]
        for some in (states, strict)
    )
    assert cell["n"] == len(states) + 1 and cell["unscored"] == states.count("unscored")
    assert 0 <= cell["low"] <= cell["accuracy"] <= cell["upper_bound"] <= 1
    assert all(cell[key] == same[key] for key in ("accuracy", "low", "high"))


def test_a_group_has_the_mean_of_its_known_values_with_the_interval_over_its_clusters():
    rows = pd.DataFrame(
        {
            "level": ["b", "a", "a", "a", "a"],
            "document": list("uvvww"),
            "score": [None, 1.0, 0.5, 0.0, None],
        }
    )
    empty, known = by_group(rows, ["level"], "score", "document").itertuples(index=False)
    assert (empty.level, empty.n) == ("b", 0) and math.isnan(empty.mean + empty.low + empty.high)
    ends = share_interval(pd.Series([1, 0.5, 0]), pd.Series(list("vvw")))
    assert tuple(known) == ("a", 3, 0.5, *ends)


def test_verdicts_that_do_not_cover_the_queries_are_refused():
    with pytest.raises(ValueError, match="arm dapt: 1 verdicts do not match the 2 queries.*05_j"):
        joined([query("a"), query("b")], verdicts("dapt", {"a": "correct"}))


def test_words_and_entities_are_counted_by_hand():
    table = table1(
        [
            query("a", "natural", "4 GB", question="How much memory has it?"),
            query("b"),
            query("c", "entity-list", "Linux\nQNX\nWindows Server", question="Which are they?"),
            query("d", "entity-list", "Red Hat Linux", question="Which one is it?"),
        ]
    )
    by_structure = table.set_index("structure")
    assert list(by_structure.queries) == [2, 2, 0, 4]
    assert list(by_structure.question_words.dropna()) == [3.0, 3.5, 3.25]
    assert list(by_structure.answer_words.dropna()) == [1.5, 3.5, 2.5]
    lists = by_structure.loc["entity-list"]
    assert (lists.entities_mean, lists.entities_min, lists.entities_max) == (2.0, 1, 3)
    assert lists.entity_words == 2.17  # (4 / 3 + 3 / 1) / 2
    assert formatted_table(table).entities_min.tolist() == ["–", "1", "–", "–"]
