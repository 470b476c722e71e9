"""HTML and EPUB as pieces, without the site around the document."""

import posixpath
import re
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
    escape,
    missing,
    open_package,
    parse_xml,
    read_part,
    table_piece,
    write_markdown,
)

_REGEX = {"re": "http://exslt.org/regular-expressions"}
# after PARTED: what _SAME raises is read; words for a screen reader; a note raised after a unit
_AT_NUMBER = r"""(?x:(?!<[^<>]*(?:role=.?doc-noteref|footnote-ref|vertical-align\ *:\ *sup
    |class=["']?(?:(?:[^"'<>]{0,99}\ )?sup["'\ >]|superscript["'>]))))|(?x:
    (?=<(?:sup\b[^<>]*+><)?a\b(?=[^<>]*+>)[^<>]*\shref=[^<>]*+>(?:<sup\b[^<>]*+>)?\d{1,3}<)
    (?:(?<=10)|(?<=\))|(?<=[\W\d][A-Za-zµ])|(?<=[\W\d][A-Za-zµ]{2})|(?<=[\W\d][A-Za-z]{3}))
    |(?<=\d)(?=<(?=[^<>]*+>)[^<>]*(?:sr-?only|visually-?hidden)[^<>]*+>
    [^<>]{0,99}</[^<>]*+>(?:<[^<>]*+>)*+\d)
    )"""
# begin a line; all others do not, unless one of these is inside
_BLOCK = frozenset(
    """address article aside blockquote body caption center dd details dir div dl dt fieldset
    figcaption figure footer form h1 h2 h3 h4 h5 h6 header hgroup hr legend li main menu ol option
    p pre search section summary table tbody td tfoot th thead tr ul""".split()
)
_SHIFTS = SHIFTS | {"gap": " {}"}
_LOCKED = "META-INF/encryption.xml"
_CONTAINER = "META-INF/container.xml"
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
# a selector that is understood, of a rule that hides, strikes, raises or adds words
_STYLED = re.compile(
    r"""(?xi)(?:^|(?<=[{},;/])|(?<=!--))\s*+((?:
        [.#]?-?[a-z_][\w-]*+
        |\*
        |\[[a-z_][\w-]*+(?:[~|^$*]?=["']?[\w-]*+["']?)?\]
        |::?[a-z-]++(?:\([\w\s.+-]*\))?(?<!:hover)(?<!:focus)(?<!:active)(?<!:visited)
        |\s*+[>+~]\s*+
        |\s++(?=[\w.#*:\[])
    )++)\s*+(?=(?:,[^{}]{0,999})?\{[^{}]{0,999}(?:
        line-through|display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|:\s*-\d{4}
        |vertical-align\s*:\s*(?:su[bp]|text-top)
        |(?<![\w-])content\s*:\s*+(?:    # only signs, or as Google writes its lists
            "(?:\\(?!0*(?:2[5bd]|b[01]|22(?:12|48|64|65))\b)[\da-f]{1,6}+|[^\w"\\{}%°±≈≤≥−+-])*+"\s*+
            |'(?:\\(?!0*(?:2[5bd]|b[01]|22(?:12|48|64|65))\b)[\da-f]{1,6}+|[^\w'\\{}%°±≈≤≥−+-])*+'\s*+
            |(?:none|normal|initial|inherit|unset|(?:no-)?(?:open|close)-quote)\b\s*+
            |(?:attr\((?:href|title)|counter\(lst-|url\(|var\()[^()]*\)\s*+
        )*+[^;}!\s]
    ))"""
)
# what it says, as XPath
_STEPS = {
    r"::?[\w-]+(?:\([^()]*\))?|\*": "",
    r"(?<![\w.#\[=\"'-])([a-zA-Z_][\w-]*)": r"[self::\1]",
    r"\[([\w-]+)(?:\W?=\W?([\w-]*)\W?)?\]": r"[@\1[contains(.,'\2')]]",
    r"\s*[+~]\s*": "/following-sibling::*",
    r"[\s>]+": "//*",
    r"#([\w-]+)": r"[@id='\1']",
    r"\.([\w-]+)": r"[@class[contains(concat(' ',.,' '),' \1 ')]]",
}
# What may be shown otherwise: by the usual name of its class, where the style sheet is elsewhere;
# one of several panels; turned around; a table with a header, a table, a hidden column or only a
# picture inside, or a last row that stands above; raised letters and terms; numbers that are drawn
# besides being read aloud; a label without a blank after it
_UNSURE = r"""//@class[re:test(., '(?x)(?:^|[ ])(?:
    (?:is-|u-|uk-|ng-)?(?:hide|hidden|invisible)|d-none|(?:no-?|none|display-?none)
    |collapse|d-print-[a-z-]+|visible-print[a-z-]*|sort-?key|tool-?tip-?text|checked|tabbed-block
    |ltx_note_outer|side-?note|margin-?note
    |(?:text-|is-)?(?:line-through|strike|strike-?through|struck|stricken|crossed(?:-out)?)
    |text-decoration-line-through|deleted|diff-html-removed
    )(?:[ ]|$)')]/..
    |//*[@role='tabpanel']|//bdo|//*[@style[contains(., 'bidi-override')]]
    |//tr[th[2] and not(td)][preceding-sibling::tr/td or parent::tbody/preceding-sibling::*/tr/td]
    |//tr[.//table][ancestor::table[1]//tr[th[2] and not(td or .//table)]]
    |//table[.//col[@style[re:test(., 'none|collapse', 'i')]]]
    |//*[@class and not(normalize-space())][ancestor::td[not(normalize-space())]/ancestor::table[1][
    .//th and not(.//table)]][re:test(@class, 'icon|glyph|\bfa|check|tick|star|emoji', 'i')]
    |//pre[.//sup or .//sub]|//tfoot[following-sibling::tbody]
    |//li[not(parent::ol or parent::ul or parent::menu or parent::dir)][ancestor::ol]
    |//span[@aria-hidden]
    |//span[following-sibling::node()[1][self::span[re:test(., '^\w')]]][
    re:test(@class, '(?:^|[-_ ])(?:label|key|name|term|title)(?:[-_ ]|$)', 'i')]/.."""
_INSIDE = """//*[ancestor-or-self::*[@unsure]][not(ancestor-or-self::sup or ancestor-or-self::sub)][
    normalize-space() or ancestor::p or ancestor::td or ancestor::th or ancestor::li]"""
# elements that stand for others: raised by their style, as the mark of a note; drawn as a formula,
# a field or a table; what is hidden or struck
_SAME = {
    "sup": r"""//*[(@role='doc-noteref' or @*[name()='epub:type']='noteref'
        or contains(@class, 'footnote-ref') or contains(concat(' ', @class, ' '), ' sup ')
        or @class='superscript' or contains(translate(@style, ' ', ''), 'vertical-align:sup')
        or self::span[@style[re:test(., 'relative') and re:test(., '(?<![\w-])top\s*:\s*-\d')]])
        and not(ancestor::sup or descendant::sup)]""",
    "math": "//mjx-container|//script[starts-with(@type, 'math/')]",
    "input": """//progress|//meter|//select|//textarea
        |//button[preceding-sibling::node()[1][self::text() and normalize-space()]
        and following-sibling::node()[1][self::text() and normalize-space()]]""",
    "table": "//div[@role='table' or @role='grid']",
    "tr": "//*[self::div or self::span][@role='row']",
    "th": "//*[self::div or self::span][@role='columnheader']",
    "td": """//*[self::div or self::span][
        @role='cell' or @role='gridcell' or @role='rowheader']""",
    "div": r"//span[@style[re:test(., 'display\s*:\s*(?:block|flex|grid|table|list)', 'i')]]",
    "code": "//kbd|//samp|//tt",
    "span": "//code[.//sup or .//sub]",
    "gap": r"//span[@style[re:test(., '(?:padding|margin)-left\s*:\s*(?!0\D|-)', 'i')]]",
    "del": r"""//script|//style|//template|//noscript|//iframe|//object|//embed|//canvas|//audio
    |//video|//nav|//footer|//dialog[not(@open)]|//map|//s|//strike
    |//button[not(ancestor::h2|ancestor::h3|ancestor::h4|ancestor::h5|ancestor::h6)]
    |//*[@role='doc-pagebreak' or @*[name()='epub:type']='pagebreak'
    or @class[re:test(., '^page-?(?:num|no|number)$', 'i')]]
    |//body/descendant::*[not(self::col)][@hidden or @type='hidden'
    or @aria-hidden='true' and not(self::span[re:test(., '\d')][not(ancestor::pre)])
    or @style[re:test(.,
    'display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|position\s*:\s*fixed|line-through',
    'i')]]""",
}
# words are left out with it; a picture without them, inside a sentence, may be a formula
_HAS_WORDS = """self::math or normalize-space(concat(@alt, @value, .))
    or self::input[@checked or (@type='checkbox' or @type='radio') and normalize-space(..)]
    or self::img[parent::td[not(normalize-space())]/ancestor::table[1][.//th and not(.//table)]]
    or self::img[(.|parent::span[not(normalize-space())])[
    preceding-sibling::node()[1][self::text() and normalize-space()]
    and following-sibling::node()[1][self::text() and normalize-space()]]]"""
# a number by another rule; Google Docs writes a list inside an item behind it
_OWN_NUMBER = """boolean(@value|preceding-sibling::li/@value|../@reversed
    |../@start[contains(., '-')]
    |../@style[contains(., 'counter-re') or contains(., 'none')]
    |../@class[contains(., 'lst-kix') and not(contains(concat(., ' '), '-0 '))])"""
# a row of nothing but a title is a header only on top
_IS_HEAD = """boolean(parent::thead or th and not(td or ancestor::table[1]/thead)
    and (th[2] or not(preceding-sibling::tr)))"""
_DATA = """self::*[not(@role='presentation' or @role='none' or .//table or .//h1 or .//h2
    or .//h3 or .//h4 or .//h5 or .//h6)]//tr[th or count(td) > 1]"""  # others arrange the page
# What is around the document, but never most of its words: by parts of class names and ids that
# sites and site generators give to it, not by the id of a heading, which its words make
_FURNITURE = """//body/descendant::*[@class or @id or @role or self::a][
    not(self::main or self::article or .//main or .//article)][
    re:test(concat(
        @class, ' ',
        @id[not((..|../*[not(self::span)][1])[
            self::h1 or self::h2 or self::h3 or self::h4 or self::h5 or self::h6])],
        ' role-', @role, ' ',
        self::a[text()[1]='#' or text()[1]='¶' or text()[1]='§']
    ), '(?x)
    (?:(?<![A-Za-z])|(?<=[a-z])(?=[A-Z]))
    (?i:nav(?:bar|igation)?|breadcrumbs?|cookies?|consent|side[-_]?(?:bar|nav)|toc
    |menu(?:[-_]?bar)?|pagination|pager|shar(?:e|ing)|social|feedback|related|newsletter
    |adver(?:t|ts)|ads|promo|footer|banner|skip(?:[-_]?link|[-_]?to[-_]?content)?
    |copy[-_]?b(?:tn|utton)|clipboard|tool[-_]?bar|search(?:[-_]?box)?|versions
    |line[-_]?(?:nos?|numbers)|edit-?section|cite-?back-?link|footnote-?back(?:link|ref)?
    |reverse-?footnote|print[-_]?only|comments|masthead
    |(?:header|hash|anchor|perma)[-_]?link|sr[-_]?only|visually[-_]?hidden
    |screen[-_]?reader[-_]?text|role-(?:navigation|banner|contentinfo|search|dialog|alertdialog
    |complementary|menu|menubar|toolbar))
    (?:(?![A-Za-z])|(?<=[a-z])(?=[A-Z]))|[#¶§]')][string-length(normalize-space())*2 <= $size]"""
# where the words of a page are, if there is one such place
_MAIN = """(
    (//main|//*[@role='main'])[last()=1]|(//*[@itemprop='articleBody'])[last()=1]
    |(//article)[last()=1]
    )[string-length(normalize-space())*4 > string-length(normalize-space(//body))]"""
_CHARSET = re.compile(rb"""(?:charset|encoding)\s*=\s*["']?\s*([\w.:-]+)""", re.I)


def read(raw: bytes) -> Converted:
    """Convert an HTML page; nothing that it names is fetched. Raises BadInput."""
    root = _parse_html(decode(raw))
    for element in root.xpath(
        _FURNITURE, namespaces=_REGEX, size=root.xpath("string-length(normalize-space())")
    ):
        element.drop_tree()
    main = [*root.xpath(_MAIN), root][0]
    # the only title of the page, outside of that place
    for title in main.xpath("(self::*[not(.//h1)]/ancestor::*//h1)[last()=1]"):
        main.insert(0, title)
    return write_markdown(_Walker(main).pieces)


# What is never shown is removed; libxml2 closes the empty elements of XHTML, too
def _parse_html(text):
    from lxml import etree, html

    if re.search(r"<!DOCTYPE[^<>]*\[", text):
        raise BadInput("it declares entities, which are never resolved")
    parser = html.HTMLParser(
        encoding="utf-8", huge_tree=True, remove_comments=True, remove_pis=True
    )
    text = re.sub(PARTED + _AT_NUMBER, AT_NUMBER, text)
    root = etree.fromstring(text.encode() + b"<p>", parser)  # None without a tag
    paths = [_UNSURE]
    for selector in _STYLED.findall("".join(root.xpath("//style/text()"))):
        for pattern, step in _STEPS.items():
            selector = re.sub(pattern, step, selector)
        paths.append("//*" + selector)
    for tag, path in _SAME.items():
        for one in root.xpath(path, namespaces=_REGEX):
            one.tag = tag
    for line_break in root.iter("br"):
        line_break.text = "\n"
    for element in [*root.iter("*")]:
        if element.tag == "del":
            element.drop_tree()
        elif what := _LOST.get(element.tag):
            has_text = element.xpath(_HAS_WORDS)
            element.clear(keep_tail=True)
            element.tag, element.text = "span", missing(what) * has_text
    for one in root.xpath("|".join(paths), namespaces=_REGEX):
        one.set("unsure", "")
    for one in root.xpath(_INSIDE):
        one.text = f"{one.text or ''}{missing('text that may be shown otherwise')}"
    return root.find("body")


def decode(raw: bytes) -> str:
    """Decode by byte-order mark, else as UTF-8, else as the page declares. Raises BadInput."""
    declared = [name.decode("ascii") for name in _CHARSET.findall(raw[:2048])[:1]]
    has_mark = raw.startswith((b"\xff\xfe", b"\xfe\xff"))
    for name in ["utf-16" if has_mark else "utf-8-sig", *declared]:
        try:
            text = raw.decode(name)
        except (UnicodeDecodeError, LookupError):
            continue
        if re.search(r"[\0\b\x1b]", text):
            raise BadInput("binary, not text (zero bytes, backspaces or codes of a terminal)")
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
    files = {
        one.get("id"): unquote(one.get("href", ""))
        for one in opf.xpath(
            "//*[local-name()='item' and not(contains(concat(' ', @properties, ' '), ' nav '))]"
        )
    }
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
        self.depth = 0
        self.content(element)

    def add(self, kind: str, **fields):
        self.pieces.append(Piece(kind, depth=self.depth, **fields))

    def flush(self):
        lines = (" ".join(line.split()) for line in "".join(self.words).split("\n"))
        text, self.words = "\n".join(filter(None, lines)), []
        last = self.pieces[-1] if self.pieces else Piece("prose")
        if text and last.kind == "item" and not last.text and last.depth < self.depth:
            last.text = text
        elif text:
            self.add("prose", text=text)

    def block(self, element):
        tag = element.tag
        if _BLOCK.isdisjoint(one.tag for one in element.iter()):
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
                    number = _integer(parent, "start") + int(
                        element.xpath("count(preceding-sibling::li)")
                    )
                    self.words += [missing("number of its own")] * element.xpath(_OWN_NUMBER)
                self.add("item", number=number)
            is_deeper = element.xpath(
                """boolean(self::li|self::dt|self::dd
                |self::*[self::ol or self::ul][parent::ol or parent::ul])"""
            )
            self.depth += is_deeper
            self.content(element)
            self.depth -= is_deeper

    def content(self, element):
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
            for place in product(
                range(at, min(at + high, len(lines))), range(column, column + min(wide, 1000))
            ):
                cells.setdefault(place, text)
    rows = [[cells.get((at, column), "") for column in sorted(begun)] for at in range(len(lines))]
    is_head = [line.xpath(_IS_HEAD) for line in lines]
    n_heads = [*is_head, False].index(False)
    # without others, each row names itself
    return rows, n_heads or table.xpath(
        """boolean(.//tr[not(*[1][self::th or b or strong or contains(., ':')]
        /following-sibling::*[1][self::td and not(b or strong)])])"""
    )


def _integer(element, name):
    return int(re.match(r"(?:\s*\d{1,9})?", element.get(name, ""))[0] or 1)


# Blocks inside it are separated by <br>
def _cell(cell):
    pieces = _Walker(cell).pieces
    parts = [
        f"{one.number}. " * bool(one.number)
        + (code_span(one.text) if one.kind == "code" else one.text)
        for one in pieces
    ]
    return "<br>".join(re.sub(r"\s*\n\s*", "<br>", part) for part in parts if part)


# Only code keeps its markup
def _inlined(element):
    if element.tag == "br":
        return "\n"
    if element.tag == "code":
        return code_span(element.text_content())
    inner = (_inlined(child) + escape(child.tail or "") for child in element)
    return _SHIFTS.get(element.tag, "{}").format(escape(element.text or "") + "".join(inner))
