"""Marks inside a line and what a text lacks: numbers keep their meaning, or are doubted by name."""

import pytest

from lib.annotate.llm_annotator import read_reply
from lib.documents import docx, html, office
from lib.documents.folder import read_folder
from lib.documents.markdown import parse, plain
from lib.llm.request import Reply
from tests.documents.files import docx as docx_file
from tests.documents.files import paragraph

AT = "1 × mark at a number"
M = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'
FORCE = (
    f"<w:p><w:r><w:t>The force is </w:t></w:r><m:oMath {M}><m:r><m:t>F</m:t></m:r></m:oMath>"
    "<w:r><w:t> N.</w:t></w:r></w:p>"
)
REPLY = (
    '[{"question": "What is the mass of the pump?", "answer": "12 kg", '
    '"source_reference": "The mass is 12 kg", "source_reference_type": "natural"}]'
)


@pytest.mark.parametrize(
    ("page", "text", "doubt"),
    [
        ("It takes 12<sup>1</sup> s.", "It takes 12[^1] s.", AT),
        ("It takes 12<sup>a)</sup> s.", "It takes 12[^a] s.", AT),
        ('It takes 12<a role="doc-noteref">1</a> s.', "It takes 12[^1] s.", AT),
        ('It takes 12<i style="vertical-align: super">1</i> s.', "It takes 12[^1] s.", AT),
        ("It takes 12¹ s.", "It takes 12¹ s.", AT),
        ("It has 2<sup>32</sup> B.", "It has 2³² B.", AT),
        ("It has log<sub>2</sub>8.", "It has log28.", AT),
        ("It is 10<sup>-3</sup> m.", "It is 10⁻³ m.", ""),
        ("It is 5×10<sup>8</sup> m<sup>2</sup>.", "It is 5×10⁸ m².", ""),
        ("The 21<sup>st</sup> H<sub>2</sub>O.", "The 21st H2O.", ""),
        ("The timeout<sup>1</sup> is long.", "The timeout[^1] is long.", ""),
        ("It is 3<sup>1</sup>/<sub>2</sub> m.", "It is 3½ m.", ""),
        ("It is 3<sup>5</sup>/<sub>16</sub> in.", "It is 3⁵⁄₁₆ in.", ""),
        ("It is <s>10</s> <ins>12</ins> kg.", "It is 12 kg.", ""),
        ("It is <math><mi>F</mi></math> N.", "It is N.", "1 × formula"),
        ('It is <img alt="F = 3"> N.', "It is N.", "1 × picture with text"),
        ('It is <img alt=""> N.', "It is N.", ""),
    ],
)
def test_a_number_keeps_its_meaning_in_html_or_is_doubted(page, text, doubt):
    found = html.read(f"<p>{page}</p><p>Another.</p>".encode())
    assert (found.markdown, found.doubt) == (f"{text}\n\nAnother.\n", doubt)
    assert found.doubted == ((0, len(text)),) * bool(doubt)


def test_word_files_keep_marks_titles_and_count_formulas():
    names = '<w:style w:type="paragraph" w:styleId="T"><w:name w:val="Title"/></w:style>'
    raised = '<w:vertAlign w:val="superscript"/>'
    parts = (
        paragraph("HP-220", '<w:pStyle w:val="T"/>'),
        paragraph("Use", '<w:outlineLvl w:val="0"/>'),
        paragraph("12", "").replace("</w:p>", "")
        + paragraph("1", "", raised)[5:].partition("</w:pPr>")[2],
        paragraph("10", "", "<w:strike/>"),
        FORCE,
    )
    head = '<w:styles xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main">'
    found = docx.read(docx_file("".join(parts), **{"word/styles.xml": f"{head}{names}</w:styles>"}))
    assert found.markdown == "# HP-220\n\n# Use\n\n12[^1]\n\nThe force is N.\n"
    assert (found.title, found.doubt) == ("HP-220", f"{AT} and 1 × formula")
    texts = [found.markdown[start:end] for start, end in found.doubted]
    assert texts == ["12[^1]", "The force is N."]


def test_rows_of_too_many_cells_and_open_quotes_are_no_values():
    found = office.read_csv(b"a,b\n1,2\n3,4,5\n6,7\n")
    assert found.doubt == "1 × row of too many cells"
    with pytest.raises(Exception, match="not a table"):
        office.read_csv(b'a,b\n1,"2\n3,4\n')


def test_marked_blocks_of_markdown_are_doubted_and_not_asked_about(tmp_path):
    struck = "The mass is ~~10~~ 12 kg."
    (tmp_path / "HP-220_pump.md").write_text(
        f"The mass is 12 kg here.\n\n{struck}\n\n- 12<sup>1</sup> s\n"
    )
    [document] = read_folder(tmp_path).documents
    assert document.title == "HP-220 pump"
    assert document.doubt == f"1 × struck text and {AT}"
    texts = [document.text[start:end] for start, end in document.doubted]
    assert texts == [struck, "- 12<sup>1</sup> s"]
    assert plain("12<sup>1</sup> m<sup>2</sup>") == "12^1 m^2"
    for reference, refused in (("The mass is 12 kg here.", 0), (struck, 1)):
        reply = Reply(text=REPLY.replace("The mass is 12 kg", reference))
        blocks = parse(document.text)
        candidates, rejected = read_reply(reply, document, blocks, 0, len(document.text))
        assert (len(candidates), len(rejected)) == (1 - refused, refused), rejected
    assert rejected[0].reason == f"its block is in doubt: {document.doubt}"
