"""Markdown and its dialects as blocks, list items and table cells with spans (paper, 3.1, 3.2)."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from lib.documents.convert import AT_NUMBER, PARTED, SHIFTS, missing

CONTENT = ("prose", "list", "table")  # kinds of block of which a document needs one

_BLOCKS = MarkdownIt("commonmark").enable("table").disable("inline")
_INLINE = MarkdownIt("commonmark")  # shared: setting up takes longer than parsing a sentence
_BLOCKS.normalizeLink = _INLINE.normalizeLink = str  # a target stays as it is written
_LISTS = ("bullet_list", "ordered_list")
_NEWLINE = re.compile(r"\r\n?|\n")
_FRONT_MATTER = re.compile(r"\A(---|\+{3})[ \t]*\r?\n.*?^\1[ \t]*(?:\r?\n|\Z)", re.S | re.M)
_FRONT_MATTER_TITLE = re.compile(r"[-+]{3}\s(?:.*\n)*?title[ \t]*[:=][ \t]*(.+?)[ \t]*$", re.M)
# quote marks and list markers before the text of a block
_MARKERS = r"(?:[ \t]*(?:>|(?:[-*+]|\d{1,9}[.)])\s+))*"
_PREFIX, _ROW = re.compile(_MARKERS), re.compile(_MARKERS + r"[ \t]*\|?")
_PIPE = re.compile(r"(?<!\\)\|")
_CELL = re.compile(r"(?:\A|(?<=\|)(?!\s*\Z))\s*+((?:\s*+(?:\\.|[^|\s]))*+)")
_CODE = re.compile(r"(?<![\\`])(`{1,3})(?!`)[^`]*(?<!`)\1(?!`)")
# of a table that is drawn: no line between parts of the text
_DRAWN = re.compile(r"^( {0,3}(?:> ?)*)\+?+(?:[-=:]{2,}+[ \t+]++)+(?:[-=:]{2,}+|(?<=\+))[ \t]*$")
_DELIMITER = re.compile(r"[ \t>]*+\|?[ \t]*+:?-++:?[ \t]*+(?:\|[ \t:-]*+)*+")
# in a heading: {#limits} at its end, badges
_NO_WORDS = re.compile(
    r"(?<![ \t])[ \t]*+(?:\{:?[ \t]*#[^{}\n]*\}|\[#[\w-]+\])[ \t]*\Z|!\[[^][]*\]\([^()]*\)"
)

# Dialects. [^1]: begins a footnote, whose further paragraphs are indented.
_FOOTNOTE = re.compile(r" {0,3}\[\^[^\]\s]{1,200}\]:[ \t]*")
_EDGE = "<!--\ufdd1-->"  # stands for the edge of a box or tab: a list does not go on across it
_FENCE = re.compile(r"(?:[ \t>]|(?:[-*+]|\d{1,9}[.)])[ \t])*(?P<fence>`{3,}(?=[^`]*$)|~{3,})")
# !!! note "Title", ??? tip, === "Tab" of MkDocs: what belongs to them is indented
_BOX = re.compile(r"[ \t]*(?:(?:!!!|\?\?\?\+?)[ \t]+[\w\"]|===[!+]?[ \t]+\")")
# {% tag %} and {{< tag >}} of templates, ::: containers, [!NOTE] of GitHub, {: .class }
_DIALECT_TAG = re.compile(
    r"""(?x)(?P<quote>[ \t>]*)(?:\{%.*%\}|\{\{[<%].*[%>]\}\}|:{3,}.*|
    (?P<inner>\[![A-Za-z]+\][+-]?|\{:[^{}]*\}))[ \t]*"""
)

# Sentences. "J. Smith" continues one, "draws 4 W." ends it.
_ABBREVIATION = re.compile(
    r"""(?x)(?:\b(?:e\.g|i\.e|etc|vs|approx|resp|incl|max|min|No|Fig|Eq|Sec|Dr|Mr|Ms|Inc|Ltd|Co|cf
    |al)\.|(?<!\d\ )\b[A-Z]\.)$"""
)
_CLOSERS = "\"')\\]*_`”’»）」』】〉》"
_BOUNDARY = re.compile(
    rf"""(?x)[.!?:][{_CLOSERS}]*\s+(?=["'(\[`*_“‘«„（「『【]*[^\W_a-zß-öø-ÿα-ωа-я])
    |[。！？｡][{_CLOSERS}]*\s*(?=\S)"""
)

# Inline markup
_SPECIAL = re.compile(r"[\\`*_\[<&!]")  # without one of these, inline Markdown is plain text
_HARD_BREAK = re.compile(r"(?<!\\)\\\r?\n")
_STRUCK = re.compile(
    r"""(?=[~<>{\\%!\b\ufffdÂâÃ$[*\ufdd4])(?:(?<!~)~~(?=[^\s~])[^~]*~~(?!~)|(?<![~\w\\])~(?=[^\s~/])[^~\n]*(?<=[^\s\\])~(?![~\w])
    |</(?:del|s|strike)>|<[a-z]++[^<>]*(?:line-through|display\s*:\s*none|[\s"':;]hidden[\s"';>])
    |\{(?:--|~~|>>)(?=\S)|\\sout\{
    # formulas and form fields, comments, pictures in a sentence, letters that were lost
    |<(?:math\b|(?:svg|input|progress|meter|select|textarea)\s)
    |(?<=[\w,]\ )<img\b[^<>]*>(?=\ ?[\w,.;])
    |%%|\{/\*|\{\#[^{}\n]*\#\}|(?<=[\w,]\ )!\[\]\([^()\n]*\)(?=\ ?[\w,.;])
    |[\b\ufffd]|(?-i:Â[\xa0-\xbf]|â€|Ã[\x80-\xbf])
    # values of templates
    |\{\{(?![<%])[^{}\n]*\}\}|\$\{[\w.]+\}|(?-i:(?<![\w%])%[A-Z]+_[A-Z_\d]+%)(?!\\)
    |(?:(?<=[\w.,;:)]\ )|(?<=\w))\{(?:%|\{[<%])|[%>]\}++[ \t]*+(?=[^\s{<)])
    # 5*3 and 6*2, a<b and c>d; the mark of a note after a unit
    |(?<=\d)\*{1,2}\d[^*\n]*\d\*{1,2}\d|(?<=\w)<[a-z]++\ [^<>=/\n]*>
    |(?:(?<=\d[a-zµ])|(?<=\d[a-z]{2})|(?<=\d\ [a-zµ])|(?<=\d\ [a-z]{2})|(?<=\d\ [a-z]{3}))
    (?:\[\d{1,3}\]|\ufdd4\s*(?:<a\b|\[)))""",
    re.I | re.X,
)
_BREAK_TAG = re.compile(r"</?(?:br|li|ul|ol|p|tr|td|th|div|h[1-6])\b", re.I)
_NOTE = re.compile(
    r"\A\[\^[\w-]{1,32}\](?::\s+)?|(?<=\S)\[\^[\w-]{1,32}\]"
)  # the mark of a footnote
_ELEMENTS = """
a abbr acronym article aside audio b base bdi bdo big blockquote body br button canvas caption
center cite code col colgroup dd del details dfn dialog div dl dt em embed fieldset figcaption
figure font footer form h1 h2 h3 h4 h5 h6 head header hgroup hr html i iframe img ins kbd legend li
main mark math menu meta meter nav nobr noscript ol optgroup p picture pre q rp rt ruby s samp
script search section select small span strike strong style sub summary sup svg table tbody td
template textarea tfoot th thead tr tt u ul var video wbr"""
# also the names of placeholders: HTML only if they have attributes
_NOUNS = """
address area data datalist input label link map object option output param progress slot source
time title track"""
_TAG = re.compile(  # a comment or tag of HTML; <index> is none
    rf"""<!--(?:(?!<!--).)*?-->|<[?!][^<>]*>|</[a-z][\w.:-]*(?:[\s/][^<>]*)?>
    |<(?:{"|".join(_ELEMENTS.split())})(?:[\s/][^<>]*)?>
    |<(?:{"|".join(_NOUNS.split())})[\s/]+[^\s/<>][^<>]*>""",
    re.S | re.I | re.X,
)


@dataclass(frozen=True, slots=True)
class Span:
    """A range of the source; `text` is what a reader sees of source[start:end], without markup."""

    text: str
    start: int
    end: int


Row = tuple[Span, ...]


@dataclass(frozen=True, slots=True)
class Block(Span):
    """A heading, paragraph, list (with its nested lists), table, code or raw HTML block."""

    kind: str  # heading, prose, list, table, code, html, front-matter
    level: int = 0  # of a heading, 1-6
    items: tuple[Span, ...] = ()  # own texts, without markers and nested lists
    header: Row = ()
    rows: tuple[Row, ...] = ()


@lru_cache(4096)  # so a stage parses a document once
def parse(source: str) -> tuple[Block, ...]:
    """Return the blocks of `source` in order. A table or code inside a list follows that list."""
    front, body, blocks = _FRONT_MATTER.match(source), source, []
    if front:
        body = re.sub(r"[^\r\n]", " ", front[0]) + source[front.end() :]
        blocks = [Block(front[0], 0, front.end(), "front-matter")]
    body, references = _commonmark(body), {}
    tree = SyntaxTreeNode(_BLOCKS.parse(body, references))
    return (*blocks, *_Reader(source, body, references).blocks(tree))


def block_at(blocks: Iterable[Block], start: int, end: int) -> Block | None:
    """Return the innermost block around source[start:end]."""
    around = (block for block in blocks if block.start <= start and end <= block.end)
    return min(around, key=lambda block: block.end - block.start, default=None)


def sentences(text: str) -> list[str]:
    """Return the sentences of Markdown as a reader sees them.

    A colon ends a sentence only before a new line that starts one, as in notices and lead-ins.
    """
    ends = [0]
    for stop in _BOUNDARY.finditer(text):
        at = stop.start()
        is_inside = (
            "\n" not in stop[0]
            if stop[0][0] == ":"
            else _ABBREVIATION.search(text, at - 12, at + 1)
        )
        if not is_inside:
            ends.append(stop.end())
    parts = (text[start:end] for start, end in pairwise([*ends, len(text)]))
    return [plain(part) for part in parts if part.strip()]


def title_of(blocks: Sequence[Block]) -> str:
    """Return the title of a document: a heading, else that of its front matter, else "".

    The heading is the first one, if it is above all others and of level 1 or before all else.
    """
    headings = [block for block in blocks if block.kind == "heading" and block.text]
    if headings:
        first, *others = headings
        is_above = all(one.level > first.level for one in others)
        if is_above and (first.level == 1 or blocks[0] is first):
            return first.text
    match = _FRONT_MATTER_TITLE.match(blocks[0].text)
    return match[1].strip("\"'") if match else ""


def plain(markdown: str, references: dict | None = None, tag_break: str = "; ") -> str:
    """Return inline Markdown as a reader sees it; `<br>` and the like become `tag_break`.

    `references` are the document's link definitions, as markdown-it keeps them.
    """
    text = " ".join(_HARD_BREAK.sub(" ", markdown).split())
    if _SPECIAL.search(text):
        [inline] = _INLINE.parseInline(text, references or {})
        parts = (_visible(child, tag_break) for child in inline.children or ())
        text = re.sub(r"\s+", " ", "".join(parts)).strip()
    return re.sub(r"\s*;(?:\s*;)+", ";", text).strip("; ")


def _visible(token, tag_break):
    if token.type not in ("text", "html_inline"):
        return token.content
    if token.type == "text" or not _TAG.match(token.content):
        return _NOTE.sub("", token.content)
    is_raised = token.content[:4].lower() == "<sup"
    return "^" * is_raised or (tag_break if _BREAK_TAG.match(token.content) else "")


def marked(source: str) -> str:
    """Return Markdown with its raised, struck and unfilled text marked, as `settle` reads it."""
    source = re.sub(PARTED, AT_NUMBER, _CODE.sub("", source))
    for tag, mark in SHIFTS.items():
        source = re.sub(
            rf"<{tag}\b[^<>]*>(.{{,200}}?)</{tag}>", mark.format(r"\1"), source, flags=re.I | re.S
        )
    return _STRUCK.sub(missing("struck or missing words"), source)


def untagged(html: str) -> str:
    """Blank the HTML tags and comments of a text, which keeps its length and its lines."""
    return _TAG.sub(lambda tag: re.sub(r"[^\n]", " ", tag[0]), html)


# The same number of lines, in which tags of dialects are _EDGE or empty. Text that a dialect
# indents below such a line loses that indent, so that it is not code. The mark of a footnote is
# left out, so that it is no link definition. In a table a pipe in code is no edge of a cell.
def _commonmark(body: str) -> str:
    lines, fence, in_table = list[str](), "", False
    boxes = []  # the indents of the open ones
    for line in _NEWLINE.split(body):
        indent = len(line) - len(line.lstrip(" "))
        if indent < len(line):
            while boxes and indent < boxes[-1] + 4:
                boxes.pop()
            line = line[4 * len(boxes) :]
        if fence:
            rest = line.strip(" \t>")
            fence = "" if rest.startswith(fence) and not rest.strip(fence[0]) else fence
        elif opened := _FENCE.match(line):
            fence = opened["fence"]
        elif _BOX.match(line):
            line = " " * (indent - 4 * len(boxes)) + _EDGE
            boxes.append(indent)
        elif note := _FOOTNOTE.match(line):
            line = line[note.end() :]
            boxes.append(indent)
        elif tag := _DIALECT_TAG.fullmatch(line):
            line = tag["quote"].rstrip() if tag["inner"] else tag["quote"] + _EDGE
        is_ruled = in_table or "|" in line and _DELIMITER.fullmatch(line)
        in_table = is_ruled and line.strip() and not fence
        if in_table:
            line = _CODE.sub(lambda code: _PIPE.sub(r"\\|", code[0]), line)
        lines.append(line if fence else _DRAWN.sub(r"\1x", line))
    return "\n".join(lines)


class _Reader:
    def __init__(self, source: str, body: str, references: dict) -> None:
        self.source, self.references = source, references
        self.lines = [0, *(match.end() for match in _NEWLINE.finditer(source)), len(source)]
        self.body = _NEWLINE.split(body)  # its lines as the parser saw them

    def blocks(self, parent: SyntaxTreeNode) -> Iterator[Block]:
        for node in parent.children:
            if node.type == "paragraph":
                yield self.block("prose", node, plain(node.children[0].content, self.references))
            elif node.type == "blockquote":
                yield from self.blocks(node)
            elif node.type == "heading":
                text = plain(_NO_WORDS.sub("", node.children[0].content), self.references)
                yield self.block("heading", node, text, level=int(node.tag[1]))
            elif node.type in _LISTS:
                yield self.block("list", node, items=tuple(self.items(node)))
                yield from filter(None, map(self.leaf, node.walk()))
            elif node.type == "html_block" and node.content.strip() != _EDGE:
                yield self.block("html", node)
            elif block := self.leaf(node):
                yield block

    def block(self, kind: str, node: SyntaxTreeNode, text: str | None = None, **fields) -> Block:
        start, end = self.span(node)
        text = self.source[start:end] if text is None else text
        return Block(text, start, end, kind, **fields)

    def leaf(self, node: SyntaxTreeNode) -> Block | None:
        if node.type == "table":
            header, *rows = [self.row(line) for line in node.walk() if line.type == "tr"]
            return self.block("table", node, header=header, rows=tuple(rows))
        is_code = node.type in ("fence", "code_block")
        return self.block("code", node, node.content) if is_code else None

    # The items of a list and of its nested lists that have text of their own
    def items(self, node: SyntaxTreeNode) -> Iterator[Span]:
        for item in [one for one in node.walk() if one.type == "list_item"]:
            own = []
            for child in item.children:
                if child.type in ("paragraph", "heading"):
                    start, end = self.span(child.children[0])
                    start = _PREFIX.match(self.source, start, end).end()
                    own.append(Span(plain(child.children[0].content, self.references), start, end))
                elif any(one.type in _LISTS for one in child.walk()):
                    break
            if own:
                yield Span(" ".join(span.text for span in own), own[0].start, own[-1].end)

    # The cells of a line, which may be fewer or more than its table has columns
    def row(self, node: SyntaxTreeNode) -> Row:
        number, tag_break = node.map[0], " " if node.parent.type == "thead" else "; "
        begin = _ROW.match(self.source, self.lines[number]).end()
        line = self.source[begin : self.lines[number + 1]].rstrip("\r\n")
        line = _CODE.sub(lambda code: code[0].replace("|", "-"), line)
        row = []
        for cell in _CELL.finditer(line):
            first, last = (begin + at for at in cell.span(1))
            text = self.source[first:last].replace(r"\|", "|")
            row.append(Span(plain(text, self.references, tag_break), first, last))
        return tuple(row)

    # Where the lines of a node begin and end in the source, without whitespace
    def span(self, node: SyntaxTreeNode) -> tuple[int, int]:
        first, last = node.map
        while last > first + 1 and not self.body[last - 1].strip(" \t>"):
            last -= 1  # a tag of a dialect, which is an empty line to the parser
        end = self.lines[min(last, len(self.lines) - 1)]
        bare = self.source[self.lines[first] : end].lstrip()
        return end - len(bare), end - len(bare) + len(bare.rstrip())
