"""Tables 1, 2 and 5 by hand, how numbers read, and files; the paper's counts: test_published."""

import itables
import pandas as pd
import pytest

from lib.analyze.stats import share_interval
from lib.analyze.tables import (
    by_coverage,
    by_group,
    compact,
    estimate,
    formatted_table,
    fraction,
    in_words,
    joined,
    number,
    one_line,
    p_value,
    percent,
    show,
    table1,
    table2,
    with_coverage,
    with_texts,
)
from tests.rows import answer, judged, query, verdicts

NAN = float("nan")
FEW = "; too few documents to tell"


def test_unscored_is_not_correct_and_always_shown_with_the_upper_bound():
    rows = judged(per_cluster=4, base="10-1")
    cell = table2(rows).set_index("structure").loc["natural"]
    assert (cell.n, cell.correct, cell.unscored) == (4, 2, 1)
    assert (cell.accuracy, cell.unscored_share, cell.upper_bound) == (0.5, 0.25, 0.75)
    ending = "; 1 unscored (25.0%): at most 75.0%"
    assert formatted_table(table2(rows)).base[0] == "2/4 = 50.00%" + FEW + ending
    assert formatted_table(table2(rows), "a caution").base[0] == "2/4, 1 unscored"
    texts = formatted_table(table2(rows.assign(cluster=rows.query_id))).base
    assert texts[0].startswith("2/4 = 50.00% [") and texts[0].endswith("]" + FEW + ending)
    many = pd.concat([rows.assign(cluster=f"d{n}") for n in range(8)])
    assert FEW not in formatted_table(table2(many)).base[0]


def test_a_group_has_the_mean_of_its_known_values_with_the_interval_over_its_clusters():
    scores = {"level": [*"baaaa"], "document": [*"uvvww"], "score": [None, 1.0, 0.5, 0.0, None]}
    empty, known = by_group(pd.DataFrame(scores), ["level"], "score", "document").values.tolist()
    assert empty[:2] == ["b", 0] and pd.isna(empty[2:]).all()
    assert known == ["a", 3, 0.5, *share_interval(pd.Series([1, 0.5, 0]), pd.Series([*"vvw"]))]


def test_verdicts_that_do_not_cover_the_queries_are_refused():
    with pytest.raises(ValueError, match="arm dapt: 1 verdicts do not match the 2 queries.*05_j"):
        joined([query(), query("b")], verdicts("dapt", {"q": "correct"}))


def test_a_structure_that_is_not_registered_is_never_left_out_in_silence():
    with pytest.raises(ValueError, match="structure 'code' is unknown"):
        table2(judged("code", base="1"))


LIST = {"structure": "entity-list", "entity_count": 3}


def test_words_and_entities_are_counted_by_hand():
    table = table1(
        [
            query(answer="4 GB", question="How much memory has it?"),
            query(),
            query(answer="Linux\nQNX\nWindows Server", question="Which are they?", **LIST),
            query(answer="Red Hat Linux", question="Which one?", **LIST | {"entity_count": 1}),
        ]
    )
    by_structure = table.set_index("structure")
    assert list(by_structure.queries) == [2, 2, 0, 4]
    assert list(by_structure.question_words.dropna()) == [3.0, 2.5, 2.75]
    assert list(by_structure.answer_words.dropna()) == [1.5, 3.5, 2.5]
    entities = by_structure.filter(like="entit").loc["entity-list"]
    assert list(entities) == [2.0, 1, 3, 2.17]  # (4 / 3 + 3 / 1) / 2
    assert formatted_table(table).entities_min.tolist() == ["–", "1", "–", "–"]


def test_untrusted_text_stays_text_in_the_browsable_table():
    nasty = "</script><script>alert(1)</script>"
    asked = [query(answer=nasty)]
    rows = joined(asked, verdicts("dapt", {"q": "incorrect"}))
    rows = with_texts(rows, asked, [answer(f"{nasty}\nx")])
    assert rows.answer[0] == nasty + " ↵ x"
    page = itables.to_html_datatable(rows, connected=False, allow_html=False, maxBytes=0)
    assert "&lt;script&gt;alert" in page
    assert all("<script>alert" not in html for html in (page, rows._repr_html_()))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (estimate(31.46, 26, 37), "31.5 [26.0, 37.0]"),
        (estimate(NAN, 1, 2), "–"),
        (estimate(1, 0, NAN), "1.0 [–]"),
        (estimate(-7.2, -12, 2.4, sign="+"), "-7.2 [-12.0, +2.4]"),
        (percent(0.262), "26.2%"),
        (percent(0.262, 0.17, 0.38), "26.2 [17.0, 38.0]"),
        (fraction(17, 65, 0.17, 0.38), "17/65 = 26.15% [17.0, 38.0]"),
        (fraction(NAN, NAN), "–"),
        (fraction(1, 2, 0, NAN, digits=1), "1/2 = 50.0%"),
        (p_value(NAN), "–"),
        (p_value(1e-9), "<0.0001"),
        (p_value(0.00123), "0.0012"),
        (number(3.0), "3.00"),
        (one_line("a\nb\r\nc"), "a ↵ b ↵ c"),
        (in_words("dapt@2 – tabular"), "raw text, seed 2 – table"),
        (in_words("claude@20240620"), "claude@20240620"),
    ],
)
def test_it_reads_as(text, expected):
    assert text == expected


def test_a_table_has_each_estimate_with_its_interval_in_one_cell():
    table = {"arm": "dapt", "difference_points": -7.2, "low_points": -12.0, "high_points": -2.4}
    table |= {"kappa": 0.5, "kappa_low": NAN, "kappa_high": NAN, "each": [0.25, 0.5]}
    table |= {"p_holm": 1e-9, "pairs": 8}
    assert compact(pd.DataFrame([table])).to_dict("records") == [
        {
            "arm": "dapt",
            "difference_points [95%]": "-7.2 [-12.0, -2.4]",
            "kappa [95%]": "0.500 [–]",
            "each": "0.25, 0.50",
            "p_holm": "<0.0001",
            "pairs": "8",
        }
    ]


def test_numbers_are_the_csv_and_formatted_cells_the_rest_and_no_text_starts_a_formula(study_root):
    extra = study_root / "figures" / "s" / "extra"
    numbers = pd.DataFrame({"arm": ["base", "=1"], "a_b": [-0.1234, None]})
    assert show("s", "plain", numbers).values.tolist() == [["base", "-0.12"], ["=1", "–"]]
    shown = show("s", "human", numbers, pd.DataFrame({"a_b": ["12% | –\na"]}))
    assert shown.to_dict("list") == {"a b": ["12% | –\na"]}
    assert (extra / "human.csv").read_text() == "arm,a_b\nbase,-0.1234\n'=1,\n"
    assert (extra / "human.md").read_text() == "| a b |\n| --- |\n| 12% \\| – ↵ a |\n"
    assert "12\\% $|$ --\na" in (extra / "human.tex").read_text()


def test_accuracy_by_coverage_keeps_every_question_apart_and_abstains_without_labels():
    rows = judged("tabular", per_cluster=2, dapt_q="101-")
    labels = pd.DataFrame({"query_id": "six/" + rows.query_id, "coverage": "asked"})
    labels.loc[1, "coverage"] = "not asked"
    table = by_coverage(rows, labels)
    cells = table[table.structure == "tabular"].set_index("coverage")
    assert [*cells.index] == ["asked", "not asked"]  # no related one
    assert cells.correct.to_dict() == {"asked": 2, "not asked": 0}
    assert cells.n.to_dict() == {"asked": 3, "not asked": 1}
    assert by_coverage(rows, labels.assign(coverage="not asked")).empty
    again = with_coverage(rows, labels.drop(1))  # one has no label
    assert [*again.structure] == ["tabular"] * 4 + ["asked"] * 3
    with pytest.raises(ValueError, match="'askd' is unknown; choose among not asked"):
        by_coverage(rows, labels.assign(coverage="askd"))
