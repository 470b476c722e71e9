"""DOCX: structure from styles, fonts and counters, and what is not the document's text."""

import pytest

from lib.core.store import BadInput
from lib.documents import docx
from lib.documents.markdown import parse
from tests.documents.files import DOCX, W, paragraph, zipped
from tests.documents.files import docx as made

COURIER = '<w:rFonts w:ascii="Courier New"/>'
LEVEL = '<w:lvl w:ilvl="{0}"><w:start w:val="{1}"/><w:numFmt w:val="decimal"/></w:lvl>'
NUMBERING = (
    f'<w:numbering xmlns:w="{W}"><w:abstractNum w:abstractNumId="5">'
    f"{LEVEL.format(0, 3)}{LEVEL.format(1, 1)}</w:abstractNum>"
    '<w:num w:numId="1"><w:abstractNumId w:val="5"/></w:num></w:numbering>'
)
STYLES = (
    f'<w:styles xmlns:w="{W}"><w:style w:type="paragraph" w:styleId="Kap">'
    '<w:name w:val="Kapitel"/><w:basedOn w:val="Base"/></w:style>'
    '<w:style w:type="paragraph" w:styleId="Base"><w:name w:val="Base"/>'
    '<w:pPr><w:outlineLvl w:val="1"/></w:pPr></w:style></w:styles>'
)
RELATIONS = (
    '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
    + "".join(
        f'<Relationship Id="{name}" Type="http://schemas.openxmlformats.org/'
        f'officeDocument/2006/relationships/{name}" Target="{name}.xml"/>'
        for name in ("styles", "numbering")
    )
    + "</Relationships>"
)
PARTS = {
    "word/styles.xml": STYLES,
    "word/numbering.xml": NUMBERING,
    "word/_rels/document.xml.rels": RELATIONS,
}


def numbered(text: str, level: int = 0) -> str:
    return paragraph(text, f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="1"/></w:numPr>')


def cell(text: str, properties: str = "") -> str:
    return f"<w:tc><w:tcPr>{properties}</w:tcPr>{paragraph(text)}</w:tc>"


def row(*cells: str) -> str:
    return f"<w:tr>{''.join(cells)}</w:tr>"


def test_headings_code_and_numbers_come_from_styles_fonts_and_counters():
    body = (
        paragraph("Limits", '<w:pStyle w:val="Kap"/>')
        + paragraph("pump --start", run=COURIER)
        + paragraph("  --fast", run=COURIER)
        + numbered("Open the lid.")
        + numbered("Wait.", 1)
        + paragraph("A note stands between the steps.")
        + numbered("Close the lid.")
    )
    result = docx.read(made(body, **PARTS))
    assert result.markdown == (
        "## Limits\n\n```\npump --start\n  --fast\n```\n\n3. Open the lid.\n   1. Wait.\n\n"
        "A note stands between the steps.\n\n4. Close the lid.\n"
    )


def test_a_table_keeps_merged_cells_and_its_first_row_is_the_header():
    body = (
        "<w:tbl>"
        + row(cell("Unit"), cell("Low"), cell("High"))
        + row(cell("P-1", '<w:vMerge w:val="restart"/>'), cell("1 bar"), cell("2 bar"))
        + row(cell("", "<w:vMerge/>"), cell("not measured", '<w:gridSpan w:val="2"/>'))
        + "</w:tbl>"
    )
    (block,) = parse(docx.read(made(body)).markdown)
    assert [[one.text for one in line] for line in (block.header, *block.rows)] == [
        ["Unit", "Low", "High"],
        ["P-1", "1 bar", "2 bar"],
        ["P-1", "not measured", "not measured"],
    ]


def test_hidden_text_is_not_read_and_a_field_is():
    hidden = paragraph("remark 4711", run="<w:vanish/>")
    field = (
        '<w:p><w:r><w:t xml:space="preserve">Table </w:t></w:r><w:fldSimple w:instr="SEQ">'
        "<w:r><w:t>7</w:t></w:r></w:fldSimple></w:p>"
    )
    assert docx.read(made(hidden + field)).markdown == "Table 7\n"


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (
            made(paragraph("&x;"), '<!DOCTYPE d [<!ENTITY x SYSTEM "file:///etc/hostname">]>'),
            "declares entities",
        ),
        (zipped(**DOCX), "it has no word/document.xml"),
        (made(paragraph("x" * 40_000_000)), "ZIP bomb: 3 parts, 40 MB"),
        (made(paragraph("a"))[:-200], "cut off"),
    ],
)
def test_a_hostile_file_is_refused_with_a_reason(raw, reason):
    with pytest.raises(BadInput, match=reason):
        docx.read(raw)


def test_a_sublist_after_a_plain_paragraph_is_doubted():
    second = NUMBERING.replace(
        "</w:numbering>", '<w:num w:numId="2"><w:abstractNumId w:val="5"/></w:num>'
    )
    deeper = '<w:ind w:left="720"/>'
    body = (
        numbered("Open the lid."),
        paragraph("With care."),
        numbered("Seal A")
        .replace('numId w:val="1"', 'numId w:val="2"')
        .replace("</w:pPr>", deeper + "</w:pPr>"),
        numbered("Close the lid."),
    )
    found = docx.read(
        made("".join(body), **PARTS | {"word/numbering.xml": f"{second}</w:numbering>"})
    )
    assert found.doubt == "1 × list whose levels are unsure"
    assert found.markdown[slice(*found.doubted[0])] == "3. Seal A"
