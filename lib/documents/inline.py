"""Turn inline Markdown into what a reader sees (paper, 3.2)."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from markdown_it import MarkdownIt
from markdown_it.token import Token

_PARSER = MarkdownIt("commonmark")  # shared: setting up takes longer than parsing a sentence
_PARSER.normalizeLink = str  # a target stays as it is written
_SPECIAL = re.compile(r"[\\`*_\[<&!]")  # without one of these, inline Markdown is plain text
_HARD_BREAK = re.compile(r"(?<!\\)\\\r?\n")
_BREAK_TAG = re.compile(r"</?(?:br|li|ul|ol|p|tr|td|th|div|h[1-6])\b", re.I)
_NOTE = re.compile(r"(?:(?<=\S)|\A)\[\^[\w-]{1,32}\]")  # the mark of a footnote
_QUOTE_MARK = re.compile(r"^[ \t]*(?:>(?!=)[ \t]?)+", re.M)
_TAG = re.compile(
    r"<!--.*?-->|<(?P<close>/?)(?P<name>[A-Za-z][\w.:-]*)(?P<rest>(?:[\s/][^<>]*)?)>", re.S
)
_CLOSING = re.compile(r"</([a-z]\w*)")
_ELEMENTS = frozenset(
    """
a abbr acronym article aside audio b base bdi bdo big blockquote body br button canvas caption
center cite code col colgroup dd del details dfn dialog div dl dt em embed fieldset figcaption
figure font footer form h1 h2 h3 h4 h5 h6 head header hgroup hr html i iframe img ins kbd legend li
main mark math menu meta meter nav nobr noscript ol optgroup p picture pre q rp rt ruby s samp
script search section select small span strike strong style sub sup svg table tbody td template
textarea tfoot th thead tr tt u ul var video wbr""".split()
)
# also the names of placeholders: HTML only if they have attributes or are closed
_NOUNS = frozenset(
    """
address area data datalist input label link map object option output param progress slot source
summary time title track""".split()
)
_ENDS = (".", "!", "?", ":", ";", "…", "。", "！", "？", "：")


@dataclass(frozen=True, slots=True)
class Span:
    """A range of the source; `text` is what a reader sees of source[start:end], without markup."""

    text: str
    start: int
    end: int


def plain(
    markdown: str, references: dict | None = None, tag_break: str = "; ", targets: bool = False
) -> str:
    """Return inline Markdown as a reader sees it; `<br>` and the like become `tag_break`.

    `references` are the document's link definitions, as markdown-it keeps them. With `targets`,
    those of links and images follow in parentheses: they are often the fact.
    """
    text = " ".join(_HARD_BREAK.sub(" ", markdown).split())
    if _SPECIAL.search(text):
        text = re.sub(r"\s+", " ", "".join(_seen(text, references, tag_break, targets))).strip()
    return re.sub(r"\s*;(?:\s*;)+", ";", text).strip("; ") if ";" in text else text


def _seen(text: str, references: dict | None, tag_break: str, targets: bool) -> Iterator[str]:
    links: list[str] = []  # the targets of the open links
    for child in _children(text, references):
        if targets and child.type in ("link_open", "image"):
            target = str(child.attrs.get("href") or child.attrs.get("src", ""))
            is_said = target.startswith(("#", "data:")) or child.markup == "autolink"
            links.append("" if is_said or not target else f" ({target})")
        if child.type in ("softbreak", "hardbreak"):
            yield " "
        elif child.type == "html_inline":
            yield tag_break if _BREAK_TAG.match(child.content) else ""
        elif child.type == "text":
            yield _NOTE.sub("", child.content)
        else:
            yield child.content
        if links and child.type in ("link_close", "image"):
            yield links.pop()


def _children(text: str, references: dict | None) -> list[Token]:
    tokens = _PARSER.parseInline(text, {} if references is None else references)
    children = (tokens[0].children or []) if tokens else []
    tags = [child for child in children if child.type == "html_inline"]
    closed = frozenset(_CLOSING.findall(text.lower()) if tags else ())
    for child in tags:
        if not _is_html(_TAG.match(child.content), closed):
            child.type = "text"
    return children


# <index> is no tag of HTML
def _is_html(tag: re.Match | None, closed: frozenset[str]) -> bool:
    name = (tag["name"] or "").lower() if tag else ""
    return (
        not name
        or name in _ELEMENTS
        or bool(tag["close"])
        or name in _NOUNS
        and (name in closed or bool(tag["rest"].strip("/ ")))
    )


def untagged(html: str) -> str:
    """Blank the HTML tags and comments of a text, which keeps its length and its lines."""
    closed = frozenset(_CLOSING.findall(html.lower()))
    return _TAG.sub(
        lambda tag: re.sub(r"[^\n]", " ", tag[0]) if _is_html(tag, closed) else tag[0], html
    )


def trimmed(source: str, start: int, end: int) -> tuple[int, int]:
    """Return the bounds of source[start:end] without the whitespace around it."""
    bare = source[start:end].lstrip()
    return end - len(bare), end - len(bare) + len(bare.rstrip())


def unquoted(markdown: str) -> str:
    """Remove block-quote marks at the beginnings of lines; ">=" is not one."""
    return _QUOTE_MARK.sub("", markdown)


def ended(text: str) -> str:
    """Add a full stop unless `text` already ends, perhaps before a quotation mark."""
    bare = text.rstrip("\"')]*_`”’")
    has_end = bare.endswith(_ENDS) and not bare.endswith(("etc.", ";"))
    return text if not text or has_end or text.endswith(_ENDS) else text + "."
