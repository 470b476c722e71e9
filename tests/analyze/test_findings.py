"""The findings say what the tables say, and texts of documents stay texts."""

import re

import itables
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lib.analyze.findings import browsable, findings
from lib.analyze.tables import KINDS, joined, table2, table5
from lib.core.records import STRUCTURES, Answer
from tests.analyze.test_tables import paper, query, verdicts  # noqa: F401


def test_findings_of_the_paper_name_the_intervals_that_do_not_overlap(paper):  # noqa: F811
    text = findings(table2(paper), table5(paper))
    assert text.startswith("Of 191 queries (65 natural, 85 entity-list and 41 tabular), base "
                           "answers 2.6% (5/191)")
    base_to_dapt, dapt_to_n = (text.split(start)[1].split(". ")[0]
                               for start in ("From base to dapt,", "From dapt to dapt-n,"))
    assert "+0.0 for natural" in dapt_to_n and "+15.3 for entity-list" in dapt_to_n
    assert "for natural, entity-list and all; they overlap for tabular" in base_to_dapt
    assert "dapt-n 25.6% (10/39) compared with 24.3% (37/152)" in text
    assert "Every answer was scored." in text


@pytest.mark.parametrize("states", [["unscored"], ["incorrect"], ["correct", "unscored"], []])
@pytest.mark.parametrize("arms", [["base"], ["dapt", "other"]])
def test_unscored_is_counted_and_small_cells_have_sentences(states, arms):
    named = {f"q{number}": state for number, state in enumerate(states)}
    rows = joined([query(name, "tabular") for name in named],
                  [row for arm in arms for row in verdicts(arm, named)])
    text = findings(table2(rows), table5(rows))
    assert "nan" not in text and ("no verdicts" in text) == (not states)
    assert (f"1 of {len(states)} for {arms[0]}" in text) == ("unscored" in states)


def sides(text: str, names: list[str]) -> tuple[set, set, set]:
    """Return the names whose intervals a clause says do not overlap, overlap, or are missing."""
    kinds = {"do not overlap": set(), "overlap": set(), "no interval": set()}
    for part in text.split("; "):
        kind = next((kind for kind in kinds if kind in part), None)
        if kind:
            found = {name for name in names if name in part.split(", because")[0]}
            kinds[kind] |= found or set(names)
    return tuple(kinds.values())


@settings(max_examples=15, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(STRUCTURES), st.integers(1, 3),
                          st.sampled_from(["correct", "incorrect", "unscored"]),
                          st.sampled_from(["correct", "incorrect"])), min_size=1, max_size=40),
       st.integers(1, 8))
def test_every_sentence_is_true_of_its_tables(cells, repeated):
    rows = pd.DataFrame([
        {"arm": arm, "query_id": f"q{number}.{copy}", "structure": structure, "cluster": cluster,
         "kind": KINDS[number % 2], "verdict": state}
        for number, (structure, cluster, *states) in enumerate(cells) for copy in range(repeated)
        for arm, state in zip(("base", "dapt"), states, strict=True)])
    table = table2(rows).set_index(["arm", "structure"])
    text = findings(table2(rows), table5(rows))
    assert "nan" not in text
    scored = table[table.n > table.unscored]
    both = [name for name in (*STRUCTURES, "all")
            if ("base", name) in scored.index and ("dapt", name) in scored.index]
    expected = (set(), set(), set())
    for name in both:
        one, other = scored.loc[("base", name)], scored.loc[("dapt", name)]
        apart = one.low > other.high or other.low > one.high
        expected[2 if pd.isna([one.low, other.low]).any() else 0 if apart else 1].add(name)
    if both:
        clause = text.split("From base to dapt")[1].split(". ")[0].split("; ", 1)[1]
        assert sides(clause, both) == expected
    within = text.split("Within dapt: ")[1].split(". ")[0] if "Within dapt" in text else ""
    for better, worse in re.findall(r"([\w-]+) is above ([\w-]+)", within):
        assert table.low["dapt", better] > table.high["dapt", worse]


def test_untrusted_text_stays_text_in_the_browsable_table():
    nasty = "</script><script>alert(1)</script>"
    answers = [Answer(query_id="a", arm="base", answer=f"{nasty}\nx", n_tokens=1, truncated=False)]
    rows = browsable([query("a", answer=nasty)], answers, verdicts("base", {"a": "incorrect"}))
    assert rows.answer[0] == nasty + " ↵ x"
    page = itables.to_html_datatable(rows, connected=False, allow_html=False, maxBytes=0)
    assert "&lt;script&gt;alert" in page
    assert all("<script>alert" not in html for html in (page, rows._repr_html_()))
