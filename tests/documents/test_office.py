"""XLSX, PPTX and EPUB: small files made by their libraries or by hand."""

import datetime
import io

import pytest
from openpyxl import Workbook
from pptx import Presentation
from pptx.util import Inches

from lib.core.store import BadInput
from lib.documents import html, office
from tests.documents.files import zipped

CONTAINER = (
    '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>'
    '<rootfile full-path="book/a.opf"/></rootfiles></container>'
)
OPF = (
    '<package xmlns="http://www.idpf.org/2007/opf"><title>The pump\n book</title><manifest>'
    '<item id="t" href="t.xhtml"/>'
    '<item id="n" href="n.xhtml" properties="nav"/><item id="b" href="b%201.xhtml"/>'
    '<item id="a" href="a.xhtml"/></manifest><spine><itemref idref="t"/><itemref idref="n"/>'
    '<itemref idref="a"/><itemref idref="b"/></spine></package>'
)
PAGE = (
    '<?xml version="1.0"?><html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub='
    '"http://www.idpf.org/2007/ops"><head><title/></head><body epub:type="{}"><h1>{}</h1>'
    '<p><a id="x"/>Words.</p></body></html>'
)


def bytes_of(made) -> bytes:
    with io.BytesIO() as file:
        made.save(file)
        return file.getvalue()


def test_a_sheet_is_cut_at_blank_rows_and_shows_values_as_a_spreadsheet_does():
    book = Workbook()
    sheet = book.active
    sheet.title = "Pumps"
    for row in (
        ["Limits of 2026"],
        [],
        ["Pump", "Flow", "Share", "Day"],
        ["P-1", 1234.5, 0.125, datetime.datetime(2026, 3, 1)],
        ["P-2", 7, 1, None],
    ):
        sheet.append(row)
    sheet["B4"].number_format, sheet["C4"].number_format = "#,##0.00", "0.0%"
    sheet.merge_cells("A7:B7")
    sheet["A7"], sheet["C7"], sheet["A8"], sheet["B8"], sheet["C8"] = "Both", "One", 1, 2, 3
    book.create_sheet("Notes").sheet_state = "hidden"
    book["Notes"]["A1"] = "secret"
    assert office.read_xlsx(bytes_of(book)).markdown == (
        "## Pumps\n\nLimits of 2026\n\n| Pump | Flow | Share | Day |\n|---|---|---|---|\n"
        "| P-1 | 1,234.50 | 12.5% | 2026-03-01 |\n| P-2 | 7 | 1 |  |\n\n"
        "| Both | Both | One |\n|---|---|---|\n| 1 | 2 | 3 |\n"
    )


@pytest.mark.parametrize(
    "text",
    [
        'Code;Meaning;Limit\nE1;dry run;3,5 bar\nE2;"too;hot";90 C\n',
        "Code\tMeaning\tLimit\r\nE1\tdry run\t3,5 bar\r\nE2\ttoo;hot\t90 C\r\n",
        '\ufeffCode,Meaning,Limit\nE1,dry run,"3,5 bar"\nE2,too;hot,90 C\n',
    ],
)
def test_a_csv_file_is_a_table_whatever_its_delimiter(text):
    assert office.read_csv(text.encode()).markdown == (
        "| Code | Meaning | Limit |\n|---|---|---|\n| E1 | dry run | 3,5 bar |\n"
        "| E2 | too;hot | 90 C |\n"
    )


def test_a_csv_file_without_a_header_has_an_empty_one_and_words_alone_are_refused():
    assert office.read_csv(b"1,2\n3,4\n5,6\n").markdown.startswith("|  |  |\n|---|---|\n| 1 |")
    with pytest.raises(BadInput, match="no delimiter"):
        office.read_csv(b"Only words are here\nand here again\n")


def test_slides_have_titles_bullets_with_levels_tables_and_prose():
    deck = Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text = "Pumps"
    frame = slide.placeholders[1].text_frame
    frame.text = "Two pumps"
    inner = frame.add_paragraph()
    inner.text, inner.level = "One spare of 12", 1
    for text, name, value in (("1", "baseline", "30000"), ("9", "strike", "sngStrike")):
        run = inner.add_run()
        run.text = text
        run._r.get_or_add_rPr().set(name, value)
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    slide.shapes.title.text = "Limits"
    slide.shapes.add_textbox(Inches(1), Inches(5), Inches(5), Inches(1)).text_frame.text = "Below."
    table = slide.shapes.add_table(2, 2, Inches(1), Inches(2), Inches(5), Inches(1)).table
    for place, text in zip(((0, 0), (0, 1), (1, 0)), ("Pump", "Flow", "both"), strict=True):
        table.cell(*place).text = text
    table.cell(1, 0).merge(table.cell(1, 1))
    slide.notes_slide.notes_text_frame.text = "Say that both run."
    made = office.read_pptx(bytes_of(deck))
    assert made.markdown == (
        "# Pumps\n\n- Two pumps\n  - One spare of 12[^1]\n\n# Limits\n\n"
        "| Pump | Flow |\n|---|---|\n| both |  |\n\nBelow.\n\n"
        "Say that both run.\n"
    )
    assert made.doubt == "1 × mark at a number"


def test_a_book_has_its_title_and_is_read_in_the_order_of_its_spine_without_contents():
    parts = {
        f"book/{name}.xhtml": PAGE.format(kind, name)
        for name, kind in (("t", "titlepage"), ("n", ""), ("a", ""), ("b 1", ""))
    }
    book = zipped(**{"META-INF/container.xml": CONTAINER, "book/a.opf": OPF}, **parts)
    made = html.read_epub(book)
    assert made.markdown == "# a\n\nWords.\n\n# b 1\n\nWords.\n"
    assert made.title == "The pump book"
