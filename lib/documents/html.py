"""HTML and EPUB as pieces, without the site around the document."""

import posixpath
import re
from collections import defaultdict
from itertools import product
from urllib.parse import unquote

from lib.core.store import BadInput
from lib.documents.convert import (
    AT_NUMBER,
    PARTED,
    SHIFTS,
    Converted,
    Piece,
    code_span,
    count_item,
    escape,
    missing,
    open_package,
    parse_xml,
    read_part,
    table_piece,
    write_markdown,
)

MAX_NESTED = 200
_REGEX = {"re": "http://exslt.org/regular-expressions"}
# after PARTED: what _SAME raises is read; words for a screen reader; a note raised after a unit
_AT_NUMBER = r"""(?x:(?!<[^<>]*(?:role=.?doc-noteref|footnote-ref|vertical-align\ *:\ *sup
    |class=["']?(?:(?:[^"'<>]{0,99}\ )?sup["'\ >]|superscript["'>]))))|(?x:
    (?=<(?:sup\b[^<>]*+><)?a\b(?=[^<>]*+>)[^<>]*\shref=[^<>]*+>(?:<sup\b[^<>]*+>)?\d{1,3}<)
    (?:(?<=10)|(?<=\))|(?<=[\W\d][A-Za-zµ])|(?<=[\W\d][A-Za-zµ]{2})|(?<=[\W\d][A-Za-z]{3}))
    |(?<=\d)(?=<(?=[^<>]*+>)[^<>]*(?:sr-?only|visually-?hidden)[^<>]*+>
    [^<>]{0,99}</[^<>]*+>(?:<[^<>]*+>)*+\d)
    )"""
_INLINE = frozenset(
    """a abbr acronym b bdi bdo big br cite code data del dfn em font i img ins kbd label mark nobr
    q rb rp rt ruby s samp small span strike strong sub sup time tt u var wbr""".split()
)
_CONTAINER = "META-INF/container.xml"
_LOCKED = "META-INF/encryption.xml"
_NO_TEXT = """//@*[contains(name(), ':type')][contains(concat(' ', ., ' '), ' titlepage ')
    or contains(concat(' ', ., ' '), ' cover ') or contains(concat(' ', ., ' '), ' toc ')
    or contains(concat(' ', ., ' '), ' landmarks ') or contains(concat(' ', ., ' '), ' page-list ')
    or contains(concat(' ', ., ' '), ' copyright-page ')]"""

_LOST = {
    "math": "formula",
    "svg": "picture with text",
    "img": "picture with text",
    "input": "form field",
}
# classes that a style sheet hides, strikes or raises
_STYLED = re.compile(
    r"""(?xi)\.([\w-]++)(?=[^{}.,]*+(?:,[^{}]{0,999})?\{[^{}]{0,999}
    (?:line-through|display\s*:\s*none|visibility\s*:\s*hidden|vertical-align\s*:\s*(?:su[bp]|text-top)))"""
)
# elements that stand for others: raised by their style, as the mark of a note; drawn as a formula,
# a field or a table; what is hidden or struck
_SAME = {
    "sup": """//*[(@role='doc-noteref' or @*[name()='epub:type']='noteref'
        or contains(@class, 'footnote-ref') or contains(concat(' ', @class, ' '), ' sup ')
        or @class='superscript' or contains(translate(@style, ' ', ''), 'vertical-align:sup'))
        and not(ancestor::sup or descendant::sup)]""",
    "math": "//mjx-container|//script[starts-with(@type, 'math/')]",
    "input": "//progress|//meter|//select|//textarea",
    "table": "//div[@role='table' or @role='grid']",
    "tr": "//div[@role='row']",
    "th": "//div[@role='columnheader']",
    "td": "//div[@role='cell' or @role='gridcell' or @role='rowheader']",
    "code": "//kbd|//samp|//tt",
    "span": "//code[.//sup or .//sub]",
    "del": """//script|//style|//template|//noscript|//iframe|//object|//embed|//canvas|//audio
    |//video|//button|//nav|//footer|//dialog|//head|//map|//s|//strike
    |//body/descendant::*[@hidden or @aria-hidden='true' or @type='hidden' or @style[
    contains(., 'one') or contains(., 'ONE') or contains(., 'idden') or contains(., 'IDDEN') or
    contains(., 'ixed') or contains(., 'IXED') or contains(., 'hrou') or contains(., 'HROU')][
    contains(translate(., 'ABDEFGHILNOPRSTUVXY \n\t', 'abdefghilnoprstuvxy'), 'display:none')
    or contains(translate(., 'ABDEFGHILNOPRSTUVXY \n\t', 'abdefghilnoprstuvxy'), 'visibility:h')
    or contains(translate(., 'ABDEFGHILNOPRSTUVXY \n\t', 'abdefghilnoprstuvxy'), 'position:f')
    or contains(translate(., 'ABDEFGHILNOPRSTUVXY \n\t', 'abdefghilnoprstuvxy'), 'line-th')]]""",
}
# words are left out with it; a picture without them, inside a sentence, may be a formula
_HAS_WORDS = """self::math or normalize-space(concat(@alt, @value, .))
    or self::input[@type='checkbox' and @checked]
    or self::img[(.|parent::span[not(normalize-space())])[
    preceding-sibling::node()[1][self::text() and normalize-space()]
    and following-sibling::node()[1][self::text() and normalize-space()]]]"""
# a number by another rule; Google Docs writes a list inside an item behind it
_OWN_NUMBER = """boolean(@value|../@reversed|../@style[contains(., 'counter-re')]
    |../@class[contains(., 'lst-kix') and not(contains(concat(., ' '), '-0 '))])"""
_DATA = """self::*[not(@role='presentation' or @role='none' or .//table or .//h1 or .//h2
    or .//h3 or .//h4 or .//h5 or .//h6)]//tr[th or count(td) > 1]"""  # others arrange the page
# What is around the document, but never most of its words: by parts of class names and ids that
# sites and site generators give to it, not by the id of a heading, which its words make
_FURNITURE = """//body/descendant::*[@class or @id or @role or self::a][
    not(self::main or self::article or .//main or .//article)][
    re:test(concat(
        @class, ' ',
        @id[not((..|../*[1])[
            self::h1 or self::h2 or self::h3 or self::h4 or self::h5 or self::h6])],
        ' role-', @role, ' ',
        self::a[text()[1]='#' or text()[1]='¶' or text()[1]='§']
    ), '(?x)
    (?:(?<![A-Za-z])|(?<=[a-z])(?=[A-Z]))
    (?i:nav(?:bar|igation)?|breadcrumbs?|cookies?|consent|side[-_]?(?:bar|nav)|toc
    |menu(?:[-_]?bar)?|pagination|pager|shar(?:e|ing)|social|feedback|related|newsletter
    |adver(?:t|ts)|ads|promo|footer|banner|skip(?:[-_]?link|[-_]?to[-_]?content)?
    |copy[-_]?b(?:tn|utton)|clipboard|tool[-_]?bar|search(?:[-_]?box)?|versions
    |line[-_]?(?:nos?|numbers)|print[-_]?only|comments|masthead
    |(?:header|hash|anchor|perma)[-_]?link|sr[-_]?only|visually[-_]?hidden
    |screen[-_]?reader[-_]?text|role-(?:navigation|banner|contentinfo|search|dialog|alertdialog
    |complementary|menu|menubar|toolbar))
    (?:(?![A-Za-z])|(?<=[a-z])(?=[A-Z]))|[#¶§]')][string-length(normalize-space())*2 <= $size]"""
# where the words of a page are, if there is one such place
_MAIN = """(
    (//main|//*[@role='main'])[last()=1]|(//*[@itemprop='articleBody'])[last()=1]
    |(//article)[last()=1]
    )[string-length(normalize-space())*3 > string-length(normalize-space(/))]"""
_CHARSET = re.compile(rb"""(?:charset|encoding)\s*=\s*["']?\s*([\w.:-]+)""", re.I)


def read(raw: bytes) -> Converted:
    """Convert an HTML page; nothing that it names is fetched. Raises BadInput."""
    root = _parse_html(decode(raw))
    size = root.xpath("string-length(normalize-space())")
    for element in root.xpath(_FURNITURE, namespaces=_REGEX, size=size):
        element.drop_tree()
    main, titles = [*root.xpath(_MAIN), root][0], root.findall(".//h1")
    if len(titles) == 1 and main.find(".//h1") is None:
        main.insert(0, titles[0])
    return write_markdown(_Walker(main).pieces)


# What is never shown is removed; libxml2 closes the empty elements of XHTML, too
def _parse_html(text: str):
    from lxml import etree, html

    if re.search(r"<!DOCTYPE[^<>]*\[", text):
        raise BadInput("it declares entities, which are never resolved")
    parser = html.HTMLParser(
        encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True
    )
    text = re.sub(PARTED + _AT_NUMBER, AT_NUMBER, text)
    root = etree.fromstring(text.encode() + b"<p>", parser)  # None without a tag
    sheets = """.line-through{line-through}.strikethrough{line-through}.strike{line-through}
        .strike-through{line-through}.text-decoration-line-through{line-through}
        .struck{line-through}.deleted{line-through}.diff-html-removed{line-through}"""
    classes = {*_STYLED.findall("".join([sheets, *root.xpath("//style/text()")]))}
    for tag, path in _SAME.items():
        for one in root.xpath(path):
            one.tag = tag
    if root.xpath("*" + "/*" * MAX_NESTED):
        raise BadInput(f"elements nested more than {MAX_NESTED} deep")
    for line_break in root.iter("br"):
        line_break.text = "\n"
    for element in [*root.iter("*")]:
        if element.tag == "del":
            element.drop_tree()
        elif what := _LOST.get(element.tag):
            has_text = element.xpath(_HAS_WORDS)
            element.clear(keep_tail=True)
            element.tag, element.text = "span", missing(what) * has_text
        elif not classes.isdisjoint(element.get("class", "").split()):
            for one in element.xpath("descendant-or-self::*[not(self::sup or self::sub)]"):
                one.text = f"{one.text or ''}{missing('text styled by its class')}"
    return root


def decode(raw: bytes) -> str:
    """Decode by byte-order mark, else as UTF-8, else as the page declares. Raises BadInput."""
    declared = [name.decode("ascii") for name in _CHARSET.findall(raw[:2048])[:1]]
    has_mark = raw.startswith((b"\xff\xfe", b"\xfe\xff"))
    for name in ["utf-16" if has_mark else "utf-8-sig", *declared]:
        try:
            text = raw.decode(name)
        except (UnicodeDecodeError, LookupError):
            continue
        if "\0" in text:
            raise BadInput("binary, not text (it contains zero bytes)")
        return text
    raise BadInput("neither UTF-8 nor in the encoding that it declares: save it as UTF-8")


def read_epub(raw: bytes) -> Converted:
    """Convert the XHTML files of an EPUB in the order of its spine.

    Raises BadInput for what is damaged, a bomb or protected.
    """
    package = open_package(raw, _CONTAINER, "EPUB")
    if _LOCKED in package.namelist() and b"html" in read_part(package, _LOCKED):  # not just fonts
        raise BadInput("protected: its text is encrypted")
    book = parse_xml(package, _CONTAINER).xpath("string(//@full-path)")
    opf, pieces = parse_xml(package, book), []
    sheets = [read_part(package, name) for name in package.namelist() if name.endswith(".css")]
    style = f"<style>{b''.join(sheets).decode('latin-1')}</style>"
    items = opf.xpath(
        "//*[local-name()='item' and not(contains(concat(' ', @properties, ' '), ' nav '))]"
    )
    files = {one.get("id"): unquote(one.get("href", "")) for one in items}
    for name in dict.fromkeys(opf.xpath("//@idref")):
        if name in files:
            path = posixpath.join(posixpath.dirname(book), files[name])
            root = _parse_html(style + decode(read_part(package, posixpath.normpath(path))))
            pieces += [] if root.xpath(_NO_TEXT) else _Walker(root).pieces
    return write_markdown(pieces, opf.xpath("normalize-space(//*[local-name()='title'])"))


# The headings, paragraphs, list items, tables and code inside an element
class _Walker:
    def __init__(self, element):
        self.pieces = []
        self.words = []
        self.counts = defaultdict(list)  # of each numbered list
        self.depth = 0
        self.content(element)

    def add(self, kind: str, **fields) -> None:
        self.pieces.append(Piece(kind, depth=self.depth, **fields))

    def flush(self) -> None:
        lines = (" ".join(line.split()) for line in "".join(self.words).split("\n"))
        text, self.words = "\n".join(filter(None, lines)), []
        last = self.pieces[-1] if self.pieces else Piece("prose")
        if text and last.kind == "item" and not last.text and last.depth < self.depth:
            last.text = text
        elif text:
            self.add("prose", text=text)

    def block(self, element) -> None:
        tag = element.tag
        if tag in _INLINE:
            self.words.append(_inlined(element))
            return
        self.flush()
        if re.fullmatch("h[1-6]", tag):
            self.add("heading", text=_inlined(element), level=int(tag[1]))
        elif tag == "pre":
            self.add("code", text=element.text_content())
        elif tag == "table" and element.xpath(_DATA):
            for caption in element.iter("caption"):
                self.content(caption)
            self.pieces.append(table_piece(*_grid(element), depth=self.depth))
        else:
            if tag in ("li", "dt"):
                parent, number = element.getparent(), None
                if parent.tag == "ol":
                    number = count_item(self.counts[parent], 0, _integer(parent, "start"))
                    self.words += [missing("number of its own")] * element.xpath(_OWN_NUMBER)
                self.add("item", number=number)
            is_deeper = element.xpath(
                """boolean(self::li|self::dt|self::dd
                |self::*[self::ol or self::ul][parent::ol or parent::ul])"""
            )
            self.depth += is_deeper
            self.content(element)
            self.depth -= is_deeper

    def content(self, element) -> None:
        is_list = element.tag in ("ul", "ol", "menu")  # what stands between its items is no text
        self.words.append(escape(element.text or "") * (not is_list))
        for child in element:
            self.block(child)
            self.words.append(escape(child.tail or "") * (not is_list))
        self.flush()


# A table's cells, spans repeated, and how many of its rows are its header
def _grid(table):
    lines = list(table.iter("tr"))
    cells, begun = {}, set()  # the columns in which a cell begins
    for at, line in enumerate(lines):
        column = 0
        for cell in line.iterchildren("td", "th"):
            while (at, column) in cells:
                column += 1
            begun.add(column)
            text = _cell(cell)
            wide, high = _integer(cell, "colspan") or 1, _integer(cell, "rowspan") or len(lines)
            for place in product(range(at, at + high), range(column, column + wide)):
                cells.setdefault(place, text)
    rows = [[cells.get((at, column), "") for column in sorted(begun)] for at in range(len(lines))]
    is_head = [line.xpath("boolean(parent::thead or * and not(td))") for line in lines]
    n_heads = [*is_head, False].index(False)
    # without others, each row names itself
    return rows, n_heads or table.xpath(
        "boolean(.//tr[not(*[1][self::th]/following-sibling::*[1][self::td])])"
    )


def _integer(element, name: str) -> int:
    return int(re.match("[0-9]{0,4}", element.get(name, ""))[0] or 1)


# Blocks inside it are separated by <br>
def _cell(cell) -> str:
    pieces = _Walker(cell).pieces
    parts = [code_span(one.text) if one.kind == "code" else one.text for one in pieces]
    return "<br>".join(re.sub(r"\s*\n\s*", "<br>", part) for part in parts if part)


# Only code keeps its markup
def _inlined(element) -> str:
    if element.tag == "br":
        return "\n"
    if element.tag == "code":
        return code_span(element.text_content())
    inner = (_inlined(child) + escape(child.tail or "") for child in element)
    return SHIFTS.get(element.tag, "{}").format(escape(element.text or "") + "".join(inner))
