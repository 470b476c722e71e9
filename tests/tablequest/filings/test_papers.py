"""Papers in Markdown: tables by parsing, with the text that refers to each by its number."""

import pytest

from lib.tablequest.filings.read import read_file

PAPER = """# Reading Tables Aloud

## 1 Introduction

Our scores in Table 2 beat all others.

Table 20 is another matter.

## 2 Data

Table 1: Texts of the corpus (in thousands).

| Set | Texts | Kind |
| --- | --- | --- |
| train | 12 | web |
| test | 3 | - |

As Table 1 shows, the corpus is small.

## 3 Results

Table 2: Scores.

| Model | 2020 | F1 |
| --- | --- | --- |
| **Ours** | 12.5% | 71.2 ± 0.3 |
| <b>Theirs</b> | 11% | - |

| Model | Note |
| --- | --- |
| Ours | good |

## 4 Discussion

We discuss Tab. 2 and Table 2.1 here.
"""


@pytest.fixture
def paper(tmp_path):
    path = tmp_path / "aloud.md"
    path.write_text(PAPER, encoding="utf-8")
    return read_file(path)


def test_a_paper_s_tables_become_grids(paper):
    filing, (first, second) = paper.filing, paper.grids
    assert (filing.company, filing.form) == ("Reading Tables Aloud", "paper")
    assert filing.n_tables == 3
    assert first.columns == ("Texts", "Kind") and first.rows == ("train", "test")
    assert (first.cells[0][0].value, first.cells[0][0].scale) == (12, 1e3)
    assert first.caption == "Table 1: Texts of the corpus (in thousands)."
    assert second.section == "Reading Tables Aloud > 3 Results"
    assert second.columns == ("2020", "F1") and second.rows == ("Ours", "Theirs")
    assert [cell.value for cell in second.cells[0]] == [12.5, 71.2]
    assert second.cells[1][1].text == "-" and second.cells[1][1].value is None


def test_a_table_of_words_is_listed_with_its_kind(paper):
    assert [(row.table, row.kind) for row in paper.not_understood] == [(3, "text")]


def test_a_row_without_a_label_is_listed(tmp_path):
    path = tmp_path / "rows.md"
    path.write_text("# T\n\n| Set | Texts |\n| --- | --- |\n| train | 12 |\n|  | 7 |\n")
    read = read_file(path)
    assert read.grids[0].rows == ("train",)
    assert [(row.kind, row.excerpt) for row in read.not_understood] == [("row without label", "7")]


def test_a_passage_gathers_what_refers_to_its_table(paper):
    first, second = paper.passages
    assert [block.text for block in second.blocks if block.kind == "paragraph"] == [
        "Our scores in Table 2 beat all others.", "Table 2: Scores.",
        "We discuss Tab. 2 and Table 2.1 here."]
    assert [block.text for block in second.blocks if block.kind == "heading"] == [
        "1 Introduction", "3 Results", "4 Discussion"]
    assert "As Table 1 shows, the corpus is small." in [block.text for block in first.blocks]
    assert [block.grid_id for block in second.blocks if block.kind == "table"] == ["aloud-t02"]


def test_a_passage_keeps_to_its_limit(tmp_path):
    path = tmp_path / "long.md"
    more = (f"\nTable 2 again, {'word ' * 40}{number}.\n" for number in range(20))
    path.write_text(PAPER + "".join(more))
    n_words = [sum(len(block.text.split()) for block in passage.blocks)
               for passage in read_file(path, max_words=200).passages]
    assert max(n_words) <= 230


def test_the_cleaned_table_is_html_without_markup_of_its_own(paper):
    html = paper.grids[1].html
    assert "<tr><th>Ours</th><td>12.5%</td><td>71.2 ± 0.3</td></tr>" in html
    assert "<b>" not in html
