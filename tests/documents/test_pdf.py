"""PDF: headings, lists, columns and tables from where the words are; what is unsure is said."""

import pytest

from lib.core.store import BadInput
from lib.documents import pdf
from lib.documents.markdown import parse
from tests.documents.files import pdf as made
from tests.documents.files import prose

WORDS = "The pump runs at 3 bar in normal use and it must never run dry for long, see below."
ROWS = [
    ("Code", "Meaning", "Limit"),
    ("E1", "dry run", "3 bar"),
    ("E2", "over heat", "90 C"),
    ("E3", "no power", "24 V"),
]


def blocks(*pages: list[tuple]):
    return parse(pdf.read(made(*pages)).markdown)


def table(top: float, rows=ROWS, x=(60, 160, 260), bold: int = 1) -> list[tuple]:
    return [
        (x[column], top + 20 * at, 10, int(at < bold), text)
        for at, row in enumerate(rows)
        for column, text in enumerate(row)
        if text
    ]


def cells(block) -> list[tuple[str, ...]]:
    return [tuple(cell.text for cell in row) for row in (block.header, *block.rows)]


def test_headings_by_size_paragraphs_by_distance_code_by_font():
    found = blocks(
        [
            (60, 90, 18, 1, "Pump P-7"),
            (60, 130, 14, 1, "Limits"),
            *prose(160, WORDS, "The second line of it is here."),
            *prose(210, "Another paragraph."),
            (60, 240, 9, 2, "pump --start"),
            (71, 251, 9, 2, "--fast"),
            *prose(280, WORDS, WORDS),
        ]
    )
    assert [(block.kind, block.level) for block in found] == [
        ("heading", 1),
        ("heading", 2),
        ("prose", 0),
        ("prose", 0),
        ("code", 0),
        ("prose", 0),
    ]
    assert found[2].text == WORDS + " The second line of it is here."
    assert found[4].text == "pump --start\n--fast\n"


def test_lists_by_marks_and_indents():
    found = blocks(
        [
            *prose(100, WORDS, WORDS),
            (70, 150, 10, 0, "1."),
            (85, 150, 10, 0, "Open the"),
            (85, 163, 10, 0, "lid."),
            (90, 180, 10, 0, "-"),
            (102, 180, 10, 0, "Wait."),
            (70, 197, 10, 0, "2."),
            (85, 197, 10, 0, "Close the lid."),
        ]
    )
    assert found[1].text == "1. Open the lid.\n   - Wait.\n2. Close the lid."


def test_running_headers_and_page_numbers_are_dropped_and_a_sentence_goes_on():
    pages = [
        [
            (60, 30, 8, 0, "Handbook of pumps"),
            (300, 780, 8, 0, f"Page {number} of 3"),
            *prose(100, *["Words of the document that fill a line of this page."] * 3),
            *prose(700, "This sentence begins on a page and"),
        ]
        for number in (1, 2, 3)
    ]
    for page, place in zip(pages[1:], ("second", "third"), strict=True):
        page[2:2] = prose(70, f"ends on the {place}.")
    text = pdf.read(made(*pages)).markdown
    assert "Handbook" not in text and "Page" not in text
    assert "This sentence begins on a page and ends on the second." in text
    assert "This sentence begins on a page and ends on the third." in text


def test_headings_that_differ_by_their_number_are_no_running_headers():
    pages = [[(60, 40, 18, 1, f"Chapter {number}"), *prose(100, WORDS)] for number in (1, 2, 3)]
    assert [block.text for block in blocks(*pages) if block.level] == [
        "Chapter 1",
        "Chapter 2",
        "Chapter 3",
    ]


def test_hyphens_at_line_ends_are_joined_as_the_document_writes_the_word():
    found = blocks(
        prose(
            100,
            "The architecture has a micro-controller and the archi-",
            "tecture is driven by a micro-",
            "controller that is small.",
        )
    )
    assert found[0].text == (
        "The architecture has a micro-controller and the architecture is "
        "driven by a micro-controller that is small."
    )


def test_a_table_with_rulings_keeps_its_cells_over_two_pages():
    lines = [
        *[(55, y, 355, y) for y in range(86, 176, 20)],
        *[(x, 86, x, 166) for x in (55, 155, 255, 355)],
    ]
    body = [*prose(60, WORDS), *table(100), *lines]
    again = [*table(100, [ROWS[0], ("E4", "leak", "0 bar"), *ROWS[1:3]]), *lines]
    tables = [block for block in blocks(body, again) if block.kind == "table"]
    assert [cells(block) for block in tables] == [[*ROWS, ("E4", "leak", "0 bar"), *ROWS[1:3]]]


def test_lines_that_look_like_rows_of_a_table_without_rulings_are_doubted():
    result = pdf.read(made([*prose(100, WORDS, WORDS), *table(150), *prose(260, WORDS)]))
    assert result.doubt == "1 × table whose cells are unsure"
    assert "```text\nCode Meaning Limit\nE1 dry run 3 bar\n" in result.markdown
    assert [block.kind for block in parse(result.markdown)] == ["prose", "code", "prose"]


def test_words_beside_the_cells_of_a_table_stay():
    frame = [(55, 106, 255, 106), (55, 126, 255, 126), (55, 86, 155, 86), (255, 106, 255, 126)]
    frame += [(x, 86, x, 126) for x in (55, 155)]
    text = pdf.read(made([*table(100, [("Code", "Beside"), ROWS[1][:2]]), *frame])).markdown
    assert "| E1 | dry run |" in text and "Beside" in text


UPWARDS = "10 Tf 0 1 -1 0 300 100 Tm /F0 10"  # the size of a text that runs upwards
ENCRYPTED = (
    "/Encrypt<</Filter/Standard/V 1/R 2/P -1/O<"
    + "00" * 32
    + ">/U<"
    + "11" * 32
    + ">>>/ID[<00><00>]"
)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (made(prose(100, WORDS), trailer=ENCRYPTED), "encrypted: save it without a password"),
        (made([(50, 50, 90, 90)]), r"no text in it: none of 1 pages are pictures \(a scan\?\)"),
        (made([*prose(100, WORDS), (0, 800, UPWARDS, 0, WORDS)]), "only 50% of its letters"),
        (made(prose(100, WORDS))[:400], "damaged or cut off"),
        (b"%PDF-1.4\n", "damaged or cut off"),
    ],
)
def test_a_file_that_cannot_be_read_is_refused_with_a_reason(raw, reason):
    with pytest.raises(BadInput, match=reason):
        pdf.read(raw)


@pytest.mark.parametrize("shift", [0.5, 1, 1.5, 2, 3])
@pytest.mark.parametrize("size", [9, 12])
def test_a_letter_with_a_shadow_is_read_once_or_doubted(shift, size):
    title = "Statement of the pump P1"
    body = [(60 + by, 90 + by / 2, size, 1, title) for by in (0, shift)]
    result = pdf.read(made([*body, *prose(140, WORDS)]))
    assert title in result.markdown or "× letter printed twice" in result.doubt
    assert result.markdown.endswith(f"{WORDS}\n") and len(result.doubted) <= 1
