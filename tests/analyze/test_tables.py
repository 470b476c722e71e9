"""Tables 1, 2 and 5, the numeric rule and the findings: hand-worked cases and the paper's own counts."""

import itables
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.analyze.findings import browsable, findings
from lib.analyze.tables import (
    accuracy,
    for_reading,
    joined,
    main,
    summary,
    table1,
    table2,
    table5,
    write_table,
)
from lib.core.arms import ARMS, sorted_arms
from lib.core.numeric import is_number, is_numeric
from lib.core.records import STRUCTURES, Answer, Query, Verdict

# Correct of asked, numeric then other queries, by structure and arm: the paper's Table 5, whose sums are its Table 2.
PAPER = {"base": {"natural": ((0, 19), (4, 46)), "entity-list": ((0, 2), (0, 83)), "tabular": ((0, 18), (1, 23))},
         "dapt": {"natural": ((2, 19), (15, 46)), "entity-list": ((0, 2), (11, 83)), "tabular": ((1, 18), (2, 23))},
         "dapt-n": {"natural": ((6, 19), (11, 46)), "entity-list": ((0, 2), (24, 83)), "tabular": ((4, 18), (2, 23))}}


def query(query_id: str, structure: str = "natural", answer: str = "Oslo", question: str = "Where?") -> Query:
    return Query(query_id=query_id, document_id="d", question=question, answer=answer, structure=structure,
                 source_reference="", start=0, end=0, block_type="prose",
                 entity_count=len(answer.splitlines()) if structure == "entity-list" else None)


def verdicts(arm: str, states: dict[str, str]) -> list[Verdict]:
    return [Verdict(query_id=query_id, arm=arm, judge="rules", verdict=state, reason="so")
            for query_id, state in states.items()]


@pytest.fixture(scope="module")
def paper():
    """Queries and verdicts with the paper's counts, joined as a study's are."""
    queries, states = [], {arm: {} for arm in PAPER}
    for structure in STRUCTURES:
        for kind, text in enumerate(("8443", "Oslo")):
            asked = PAPER["base"][structure][kind][1]
            for number in range(asked):
                queries.append(query(f"{structure}-{kind}-{number}", structure, text))
                for arm, cells in PAPER.items():
                    state = "correct" if number < cells[structure][kind][0] else "incorrect"
                    states[arm][queries[-1].query_id] = state
    return joined(queries, [row for arm, given_states in states.items() for row in verdicts(arm, given_states)])


def test_paper_counts_give_the_paper_percentages(paper):
    table = table2(paper).set_index(["arm", "structure"])
    printed = {arm: f"{table.accuracy[arm, 'all']:.2%}" for arm in ARMS}
    assert printed == {"base": "2.62%", "dapt": "16.23%", "dapt-n": "24.61%"}
    assert list(table.n["base", :]) == [65, 85, 41, 191]
    counts = {arm: list(table.correct[arm, :])[:3] for arm in ARMS}
    assert counts == {"base": [4, 0, 1], "dapt": [17, 11, 3], "dapt-n": [17, 24, 6]}
    interval = {arm: [round(100 * table[end][arm, "tabular"], 1) for end in ("low", "high")] for arm in ARMS[1:]}
    assert interval == {"dapt": [2.5, 19.4], "dapt-n": [6.9, 28.4]}
    assert table.low["base", "entity-list"] == 0 and round(100 * table.high["base", "entity-list"], 1) == 4.3


def test_paper_counts_give_its_table_of_numeric_queries(paper):
    table = table5(paper).set_index(["arm", "structure", "kind"])
    for arm, cells in PAPER.items():
        for structure, counts in cells.items():
            for kind, (correct, n) in zip(("numeric", "non-numeric"), counts, strict=True):
                assert (table.correct[arm, structure, kind], table.n[arm, structure, kind]) == (correct, n)
    assert table.n["base", "all", "numeric"] == 39 and table.n["base", "all", "non-numeric"] == 152


def test_findings_of_the_paper_name_what_intervals_tell_apart(paper):
    text = findings(table2(paper), table5(paper))
    assert text.startswith("Of 191 queries (65 natural, 85 entity-list and 41 tabular), base answers 2.6% (5/191)")
    assert "From dapt to dapt-n, accuracy moves, in percentage points, +0.0 for natural" in text
    assert "the intervals are apart for natural, entity-list and all and overlap for tabular" in text  # base to dapt
    assert "dapt-n 25.6% (10/39) against 24.3% (37/152)" in text and "Every answer was scored." in text


def test_unscored_is_in_no_percentage_and_always_named():
    queries = [query(name) for name in "abcd"]
    states = dict(zip("abcd", ("correct", "incorrect", "unscored", "correct"), strict=True))
    rows = joined(queries, verdicts("base", states))
    cell = table2(rows).set_index("structure").loc["natural"]
    assert (cell.n, cell.correct, cell.unscored) == (4, 2, 1) and cell.accuracy == pytest.approx(2 / 3)
    assert for_reading(table2(rows)).base[0].startswith("2/3 = 66.67% [") and "(1 unscored)" in for_reading(
        table2(rows)).base[0]
    assert "Unscored, and in no percentage: 1 of 4 for base." in findings(table2(rows), table5(rows))


@pytest.mark.parametrize("states", [["unscored"], ["incorrect"], ["correct"], []])
@pytest.mark.parametrize("arms", [["base"], ["dapt-n", "base"], ["dapt", "other"]])
def test_small_and_empty_cells_work_for_any_arms(states, arms):
    queries = [query(f"q{n}", "tabular") for n in range(len(states))]
    rows = joined(queries, [row for arm in arms for row in verdicts(arm, {f"q{n}": s for n, s in enumerate(states)})])
    table = table2(rows)
    assert list(table.columns) == ["arm", "structure", "n", "correct", "unscored", "accuracy", "low", "high"]
    assert list(table.arm.unique()) == (sorted_arms(arms) if states else [])
    assert len(for_reading(table)) == (4 if states else 0) and findings(table, table5(rows))


@given(st.lists(st.sampled_from(["correct", "incorrect", "unscored"]), max_size=40))
def test_accuracy_lies_in_its_interval_and_ignores_unscored(states):
    cell = accuracy(pd.Series(states, dtype=object))
    scored = accuracy(pd.Series([state for state in states if state != "unscored"], dtype=object))
    assert cell["n"] == len(states) and cell["n"] - cell["unscored"] == scored["n"]
    if scored["n"]:
        assert 0 <= cell["low"] <= cell["accuracy"] + 1e-12 and cell["accuracy"] <= cell["high"] + 1e-12 <= 1 + 2e-12
        assert (cell["accuracy"], cell["low"], cell["high"]) == (scored["accuracy"], scored["low"], scored["high"])
    else:
        assert cell["accuracy"] != cell["accuracy"]


def test_arms_keep_one_order():
    assert sorted_arms(["zeta", "dapt-n", "base", "alpha", "zeta"]) == ["base", "dapt-n", "zeta", "alpha"]


def test_verdicts_that_do_not_cover_the_queries_are_refused():
    with pytest.raises(ValueError, match="arm dapt: 1 verdicts do not match the 2 queries.*05_judge"):
        joined([query("a"), query("b")], verdicts("dapt", {"a": "correct"}))


def test_words_and_entities_are_counted_by_hand():
    table = table1([query("a", "natural", "4 GB", "How much memory has it?"), query("b", "natural", "Oslo", "Where?"),
                    query("c", "entity-list", "Linux\nQNX\nWindows Server", "Which ones are they?"),
                    query("d", "entity-list", "Red Hat Linux", "Which one?")]).set_index("structure")
    assert list(table.queries) == [2, 2, 0, 4] and list(table.question_words.dropna()) == [3.0, 3.0, 3.0]
    assert list(table.answer_words.dropna()) == [1.5, 3.5, 2.5]
    lists = table.loc["entity-list"]
    assert (lists.entities_mean, lists.entities_min, lists.entities_max) == (2.0, 1, 3)
    assert lists.entity_words == 2.17  # (4 / 3 + 3 / 1) / 2
    assert for_reading(table.reset_index()).entities_min.tolist() == ["–", "1", "–", "–"]


@pytest.mark.parametrize("text", ["8443", "-20 °C", "1,024 MB", "5%", "5 %", "3.10", "v3.2.1", "12 pumps", "five",
                                  "$5 million", "at least 30 s", "5-10 s", "~5 GB", "64-bit"])
def test_numbers_are_numeric(text):
    assert is_number(text)


@pytest.mark.parametrize("text", ["Oslo", "P-417", "8443/tcp", "2024-05-11", "May 2024", "12:30", "3 Phase Systems",
                                  "/dev/tty0", "RFC 2616", "version", "", "10 of the 12", "Linux 6"])
def test_names_dates_and_codes_are_not_numeric(text):
    assert not is_number(text)


def test_a_list_is_numeric_where_every_entity_is():
    assert is_numeric(query("a", "entity-list", "80\n443\n8443")) and is_numeric(query("a", "tabular", "80"))
    assert not is_numeric(query("a", "entity-list", "80\nhttps"))


@given(st.integers(-10**9, 10**9), st.sampled_from(["", " MB", " s", "%", " °C", " rpm", " retries"]),
       st.text(alphabet="abcdefghijklmnopqrstuvwxyz", min_size=1, max_size=8))
def test_a_number_with_any_unit_is_numeric_and_inside_a_code_is_not(number, unit, word):
    assert is_number(f"{number}{unit}") and is_number(f"{number:,}{unit}")
    assert not is_number(f"x{word} {abs(number)}") and not is_number(f"x{word}-{abs(number)}")


def test_tables_are_written_in_three_forms_and_summed_up(paper, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    path = write_table("mine", "table2", table2(paper))
    assert path.read_text().splitlines()[0] == "arm,structure,n,correct,unscored,accuracy,low,high"
    assert path.with_suffix(".md").read_text().count("\n") == 6
    assert "24/85 = 28.24\\%" in path.with_suffix(".tex").read_text()
    (tmp_path / "data/mine/notebooks").mkdir(parents=True)
    (tmp_path / "data/mine/notebooks/06_analyze.html").write_text("<p>")
    text = summary("mine")
    assert "47/191 = 24.61%" in text and "figures/mine/table2.csv" in text
    assert "data/mine/notebooks/06_analyze.html" in text
    assert main(["mine"]) == 0 and "24.61%" in capsys.readouterr().out


def test_summary_of_an_unfinished_study_says_what_to_run(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    assert main(["nosuch"]) == 2
    assert "table2.csv is missing: run 06_analyze.ipynb" in capsys.readouterr().err
    assert not (tmp_path / "figures").exists()  # asking leaves no empty study behind
    assert main([]) == 2


def test_untrusted_text_stays_text_in_the_browsable_table():
    nasty = "</script><script>alert(1)</script>"
    rows = browsable([query("a", answer=nasty)], [Answer(query_id="a", arm="base", answer=nasty + "\nx", n_tokens=1,
                                                         truncated=False)], verdicts("base", {"a": "incorrect"}))
    assert rows.answer[0] == nasty + " ↵ x"
    page = itables.to_html_datatable(rows, connected=False, allow_html=False, maxBytes=0)
    assert "alert(1)" in page and "<script>alert" not in page and "&lt;script&gt;alert" in page
    assert "<script>alert" not in rows._repr_html_()


def test_the_trainings_of_an_arm_stand_together_in_every_table():
    given = ["other", "dapt-n@10", "dapt-n@2", "dapt", "dapt-n", "base", "dapt@2", "dapt", "other@2"]
    assert sorted_arms(given) == ["base", "dapt", "dapt@2", "dapt-n", "dapt-n@2", "dapt-n@10", "other", "other@2"]
