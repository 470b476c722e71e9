"""HTML: the document without its site, and what is written of it reads back the same."""

import pytest

from lib.core.store import BadInput
from lib.documents import html
from lib.documents.markdown import parse

PAGE = """<!DOCTYPE html><html><head><title>Pumps</title><script>document.title = "RAN"</script>
</head><body><nav><ul><li><a href="/">Home</a></li><li><a href="/a">All pumps</a></li></ul></nav>
<div class="cookie-banner">We store small files. <button>Agree</button></div>
<main><h1>Pump P-7<a class="headerlink" href="#p">¶</a></h1>
<p>The pump runs at <b>3 bar</b> with <code>max_rate</code>.</p>
<h2 id="related">Related limits</h2>
<table><tr><th>Limit</th><th>Low</th></tr><tr><td rowspan="2">Pressure</td><td>1 bar</td></tr>
<tr><td>2|3 bar</td></tr></table>
<ol start="3"><li>Open the lid.<ul><li>Wait for 5 s.</li></ul></li><li>Close it.</li></ol>
<pre><span class="lineno">1</span>pump --start 7
  --fast</pre><p style="display:none">internal 4711</p></main>
<footer><p>All rights reserved by the maker of this site.</p></footer></body></html>"""


def test_a_page_becomes_its_document_without_the_site_around_it():
    made = html.read(PAGE.encode())
    assert made.markdown == (
        "# Pump P-7\n\nThe pump runs at 3 bar with `max_rate`.\n\n## Related limits\n\n"
        "| Limit | Low |\n|---|---|\n| Pressure | 1 bar |\n| Pressure | 2\\|3 bar |\n\n"
        "3. Open the lid.\n   - Wait for 5 s.\n4. Close it.\n\n"
        "```\npump --start 7\n  --fast\n```\n"
    )


def test_text_that_looks_like_markdown_stays_text():
    page = (
        "<p># no heading</p><p>- no item</p><p>3. no step</p><p>*a* _b_ a_b [c](d) &lt;e&gt; "
        "`f` \\* &amp;amp; ---</p><p>+</p><p>===</p><pre>```\nx</pre>"
    )
    blocks = parse(html.read(page.encode()).markdown)
    assert [block.kind for block in blocks] == ["prose"] * 6 + ["code"]
    assert [block.text for block in blocks[:4]] == [
        "# no heading",
        "- no item",
        "3. no step",
        "*a* _b_ a_b [c](d) <e> `f` \\* &amp; ---",
    ]
    assert blocks[-1].text == "```\nx\n"


def test_headers_of_several_rows_are_joined_and_a_table_for_layout_is_none():
    page = (
        "<table><tr><td><h1>Layout</h1></td><td><p>Words beside it, in a cell.</p></td></tr>"
        "</table><table><thead><tr><th rowspan=2>Unit</th><th colspan=2>Flow</th></tr><tr>"
        "<th>low</th><th>high</th></tr></thead><tr><td>P-1</td><td>2</td><td>9</td></tr>"
        "</table><table><tr><th>Power</th><td>90 W</td></tr><tr><th>Mass</th>"
        "<td>8 kg</td></tr></table>"
    )
    blocks = parse(html.read(page.encode()).markdown)
    assert [block.kind for block in blocks] == ["heading", "prose", "table", "table"]
    assert [cell.text for cell in blocks[2].header] == ["Unit", "Flow low", "Flow high"]
    assert [cell.text for cell in blocks[3].header] == ["", ""]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_the_encoding_is_the_byte_order_mark_s_or_the_declared_one(encoding):
    page = f'<meta charset="{encoding}"><p>Größe 25 µm, naïve façade</p>'.encode(encoding)
    assert html.read(page).markdown == "Größe 25 µm, naïve façade\n"


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        ("<div>" * 100_000 + "deep" + "</div>" * 100_000, "nested more than 200"),
        ("<ul><li>x" * 5_000, "nested more than 200"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><p>&b;</p>', "entities"),
        ("\0" * 9, "zero bytes"),
        (b"\xff\xfa\xe9", "neither UTF-8"),
    ],
)
def test_a_hostile_page_is_refused_with_a_reason(page, reason):
    with pytest.raises(BadInput, match=reason):
        html.read(page if isinstance(page, bytes) else page.encode())


@pytest.mark.parametrize(
    ("row", "is_title"),
    [
        ("<td colspan=3>Spares", True),
        ("<td colspan=2>Spares", True),
        ("<td>Spares", False),
        ("<td>0<td>0<td>0", False),
        ("<td>n/a<td>n/a", False),
        ("<td>Seal<td>Seal kit", False),
    ],
)
def test_a_title_inside_a_table_is_doubted(row, is_title):
    rows = f"<tr><th>a<th>b<th>c<tr><td>1<td>2<td>3<tr>{row}<tr><td>4<td>5<td>6"
    doubt = html.read(f"<table>{rows}</table>".encode()).doubt
    assert doubt == "1 × title inside a table" * is_title
