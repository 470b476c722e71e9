"""Annual reports read whole: two real ones against their inline XBRL, bad input, a table's surroundings, passages."""

import os
from collections import Counter
from pathlib import Path

import pytest

from lib.core.paths import REPOSITORY
from lib.tablequest.filings import files as filings_files
from lib.tablequest.filings.passages import as_documents
from lib.tablequest.filings.read import read_file, read_filings
from lib.tablequest.filings.xbrl_check import check_filing
from lib.tablequest.grids.kinds import NUMERIC_KINDS
from tests.tablequest_shapes import head, row, table

FILINGS = REPOSITORY.parent / "shared" / "filings"
NUMBERS = table(head("2031", "2030"), row("Sales", "$10", "$9"), row("Costs", "(4)", "(3)"))
ROOM = table("")


def page(*blocks: str, title: str = "Acme, Inc.") -> str:
    return (f"<html><head><title>{title}</title></head><body><p>FORM 10-K</p><p>For the fiscal year ended May 31, 2031"
            f"</p><p>{title}</p><p>(Exact name of registrant as specified in its charter)</p>{''.join(blocks)}</body>"
            "</html>")


def bold(text: str) -> str:
    return f'<div><span style="font-weight:700">{text}</span></div>'


def one(tmp_path: Path, *blocks: str, **options):
    path = tmp_path / "acme.html"
    path.write_text(page(*blocks), encoding="utf-8")
    return read_file(path, **options)


@pytest.fixture(scope="module")
def real():
    if not FILINGS.is_dir():
        pytest.skip("../shared/filings is not there: two real annual reports")
    return [read_file(path) for path in sorted(FILINGS.glob("*.html"))]


def test_every_tagged_number_of_two_real_reports_is_read_as_it_is_tagged(real):
    counts = [check_filing(read) for read in real]
    assert [found for _, found in counts] == [[], []]
    names = ("tagged", "value", "unit", "sign", "period")
    assert [tuple(total[name] for name in names) for total, _ in counts] == [
        (852, 852, 849, 803, 784), (1073, 1073, 997, 1034, 916)]


def test_numeric_tables_of_two_real_reports_become_grids(real):
    kinds = Counter(row_.kind for read in real for row_ in read.not_understood)
    n_grids = sum(len(read.read_grids) for read in real)
    n_unread = sum(kinds[kind] for kind in NUMERIC_KINDS)
    assert n_grids == 106 and n_unread == 0
    assert kinds["row without label"] == 1  # a total under a table of months, which has no label to ask for
    assert sum(read.filing.n_tables for read in real) == n_grids + kinds.total() - kinds["row without label"]
    for read in real:
        for found in read.read_grids:
            assert len(set(found.grid.rows)) == len(found.grid.rows), found.grid.grid_id
            assert len(set(found.grid.columns)) == len(found.grid.columns), found.grid.grid_id
        placed = [block.grid_id for passage in read.passages for block in passage.blocks if block.grid_id]
        assert sorted(placed) == sorted(found.grid.grid_id for found in read.read_grids)


def test_a_bad_file_is_listed_with_its_reason_and_the_others_go_on(tmp_path):
    files = {"empty.html": b"", "picture.htm": b"\x89PNG\0\0", "words.html": b"just words",
             "prose.html": b"<p>Form 10-K</p>", "deep.html": page("<div>" * 20_000, NUMBERS).encode(),
             "contents.html": page(table("<td>Item 1.</td><td>Business</td><td>1</td>")).encode(),
             "shop.html": f"<html><p>Our prices</p>{NUMBERS}</html>".encode(), "note.md": b"# No table\n\nWords.\n",
             "latin.md": b"| a | b |\n|---|---|\n| \xe9 | 1 |\n", "later/good.html": page(NUMBERS).encode(),
             ".hidden.html": b"x", "data.csv": b"a,b", "half.html": page(NUMBERS, NUMBERS, "<p>The end").encode()[:-20],
             "piece.html": f"<p>Form 10-K</p>{NUMBERS}{NUMBERS}".encode()[:-20],
             "nested.html": f"<p>Form 10-K</p><table><tr><td>{NUMBERS}</td><td>Sales".encode(),
             "comment.html": f"<p>Prices</p>{NUMBERS}<!-- no <table> here --><p>End</p>".encode(),
             "odd.html": page(NUMBERS).encode("utf-16")[:-1]}
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(content)
    os.mkfifo(tmp_path / "pipe.html")
    (tmp_path / "link.html").symlink_to("nowhere")
    filings, grids, _, _, rejected = read_filings(tmp_path)
    assert [(filing.filing_id, filing.company) for filing in filings] == [("later-good", "Acme, Inc.")]
    assert len(grids) == 1
    reasons = {row_.item: row_.reason for row_ in rejected}
    assert reasons.keys() == files.keys() - {"later/good.html", ".hidden.html", "data.csv"} | {"pipe.html", "link.html"}
    for name, words in {
            "empty.html": "empty", "picture.htm": "binary", "words.html": "no tag", "prose.html": "no table",
            "contents.html": "labelled numbers", "shop.html": "annual report", "note.md": "labelled numbers",
            "latin.md": "UTF-8", "deep.html": "broken beyond mending", "half.html": "it breaks off: neither",
            "piece.html": "within a table", "nested.html": "within a table", "comment.html": "annual report",
            "odd.html": "broken UTF-16", "pipe.html": "not an ordinary file", "link.html": "No such file"}.items():
        assert words in reasons[name], (name, reasons[name])


def test_utf16_with_its_mark_is_read(tmp_path):
    (tmp_path / "acme.html").write_bytes(page(NUMBERS, title="Münze & Söhne").encode("utf-16"))
    [filing], grids, *_, rejected = read_filings(tmp_path)
    assert filing.company == "Münze & Söhne" and len(grids) == 1 and not rejected


def test_two_files_cannot_share_an_id(tmp_path):
    for name in ("a b.html", "a-b.html"):
        (tmp_path / name).write_text(page(NUMBERS))
    filings, *_, rejected = read_filings(tmp_path)
    assert len(filings) == 1 and "same id as a b.html" in rejected[0].reason


def test_a_folder_that_holds_nothing_to_read_says_what_to_put_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="no .html"):
        read_filings(tmp_path)
    with pytest.raises(FileNotFoundError, match="does not exist"):
        read_filings(tmp_path / "absent")


def test_a_file_over_the_limit_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(filings_files, "MAX_FILING_BYTES", 1000)
    (tmp_path / "large.html").write_text(page(NUMBERS * 9))
    assert "over the limit" in read_filings(tmp_path)[4][0].reason


def test_broken_html_is_mended(tmp_path):
    whole = page(NUMBERS, NUMBERS.replace("Sales", "Rent"))
    cut = tmp_path / "cut.html"
    cut.write_text(whole[:whole.rindex("Costs")].replace("</td>", "").replace("</p>", "") + "</HTML>")
    assert [found.grid.rows for found in read_file(cut).read_grids] == [("Sales", "Costs"), ("Rent",)]
    deep = tmp_path / "deep.html"
    deep.write_text(page("<div>" * 1500, NUMBERS))
    assert len(read_file(deep).read_grids) == 1


def test_entities_do_not_grow(tmp_path):
    bomb = '<!DOCTYPE html [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;&a;&a;">]>' + page("<p>&b;</p>", NUMBERS)
    (tmp_path / "bomb.html").write_text(bomb)
    assert len(read_file(tmp_path / "bomb.html").read_grids) == 1


def test_what_stands_around_a_table_is_kept_with_it(tmp_path):
    read = one(tmp_path, bold("PART II"), bold("Item 7. Discussion"), bold("Sales by Region"),
               "<div>Sales were as follows (in millions):</div>", NUMBERS.replace("Sales", "Sales (1)"),
               "<div>———</div>", "<div>(1) Without taxes.</div>", "<div>Sales rose.</div>")
    grid = read.read_grids[0].grid
    assert grid.section == "PART II > Item 7. Discussion > Sales by Region"
    assert (grid.caption, grid.unit_note) == ("Sales were as follows (in millions):", "(in millions)")
    assert grid.footnotes == ("(1) Without taxes.",) and grid.rows[0] == "Sales" and grid.cells[0][0].scale == 1e6
    assert [block.kind for block in read.passages[0].blocks] == [
        "heading", "heading", "heading", "paragraph", "table", "paragraph", "paragraph"][-len(read.passages[0].blocks):]
    assert read.passages[0].blocks[-1].text == "Sales rose."


def test_one_introduction_holds_for_the_tables_of_its_note(tmp_path):
    read = one(tmp_path, bold("Note 6 – Details"), "<div>The following tables show details (in thousands):</div>",
               bold("Assets"), NUMBERS, bold("Debts"), NUMBERS, bold("Note 7 – Others"), NUMBERS)
    assert [(found.grid.caption, found.grid.unit_note) for found in read.read_grids] == [
        ("Assets", "(in thousands)"), ("Debts", "(in thousands)"), ("Note 7 – Others", "")]


def test_a_table_goes_on_after_a_page_s_end(tmp_path):
    footer = '<table><tr><td>Acme Form 10-K</td><td>9</td></tr></table><hr style="page-break-after:always">'
    read = one(tmp_path, "<div>Sales (in millions):</div>", NUMBERS, footer, table(row("Rent", "$7", "$6")))
    assert read.read_grids[1].grid.columns == ("2031", "2030") and read.read_grids[1].grid.cells[0][1].scale == 1e6


def test_running_headers_and_page_numbers_are_not_read(tmp_path):
    turn = ('<div>Acme | 2031 Form 10-K | {}</div><hr style="page-break-after:always"><div><a>Table of Contents</a>'
            "</div><div>The {} page tells of sales.</div>")
    pages = [turn.format(number, word) for number, word in enumerate(("first", "second", "third", "fourth", "fifth"))]
    read = one(tmp_path, bold("Item 7. Discussion"), *pages, NUMBERS)
    texts = [block.text for passage in read.passages for block in passage.blocks]
    assert not any("Form 10-K |" in text or "Contents" in text for text in texts)
    assert sum("tells of sales" in text for text in texts) == 5


def test_hidden_text_and_outer_tables_are_not_read(tmp_path):
    read = one(tmp_path, '<div style="display: none">secret</div><script>secret</script>',
               f"<table><tr><td>{NUMBERS}</td></tr></table>")
    assert len(read.read_grids) == 1 and [row_.kind for row_ in read.not_understood] == ["layout"]
    assert "secret" not in "".join(block.text for passage in read.passages for block in passage.blocks)


def test_passages_keep_to_the_limit_and_hold_each_grid_once(tmp_path):
    notes = [bold(f"Note {number} – Matter") + f"<div>{'word ' * 90}</div>" + bold("Part") + NUMBERS
             + f"<div>{'more ' * 90}</div>" + bold("No table here") + "<div>apart</div>" for number in range(1, 5)]
    read = one(tmp_path, *notes, max_words=120)
    placed = [block.grid_id for passage in read.passages for block in passage.blocks if block.grid_id]
    assert sorted(placed) == sorted(found.grid.grid_id for found in read.read_grids) and len(placed) == 4
    for passage in read.passages:
        assert sum(len(block.text.replace("|", " ").split()) for block in passage.blocks) <= 120
        assert not any(block.text == "apart" for block in passage.blocks)
    wide = one(tmp_path, *notes, max_words=2500)
    assert all(passage.blocks[-1].text.startswith("more") for passage in wide.passages) and len(wide.passages) == 4


def test_documents_hold_the_passages_with_tables_as_markdown(tmp_path):
    read = one(tmp_path, bold("Item 7. Discussion"), "<div>Sales (in millions):</div>", NUMBERS)
    document = as_documents([read.filing], read.passages)[0]
    assert document.title == "Acme, Inc. 10-K May 31, 2031" and document.document_id == "acme"
    assert "| Sales | $10 | $9 |" in document.text and document.text.startswith("# Acme, Inc. 10-K")
