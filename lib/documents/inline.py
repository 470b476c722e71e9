"""Turn inline Markdown into what a reader sees, or into words with link targets (paper, 3.2)."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from itertools import zip_longest

from markdown_it import MarkdownIt
from markdown_it.token import Token

_PARSER = MarkdownIt("commonmark")  # shared: setting up takes longer than parsing a sentence
_PARSER.normalizeLink = str  # a target stays as it is written
_SPECIAL = re.compile(r"[\\`*_\[<&!]")  # without one of these, inline Markdown is plain text
_HARD_BREAK = re.compile(r"(?<!\\)\\\r?\n")
_BREAK_TAG = re.compile(r"</?(?:br|li|ul|ol|p|tr|td|th|div|h[1-6])\b", re.I)
_NOTE = re.compile(r"(?:(?<=\S)|\A)\[\^[\w-]{1,32}\]")  # the mark of a footnote
_QUOTE_MARK = re.compile(r"^[ \t]*(?:>(?!=)[ \t]?)+", re.M)
_TAG = re.compile(r"<!--.*?-->|<(?P<close>/?)(?P<name>[A-Za-z][\w.:-]*)(?P<rest>(?:[\s/][^<>]*)?)>",
                  re.S)
_CLOSING = re.compile(r"</([a-z]\w*)")
_ELEMENTS = frozenset("""
a abbr acronym article aside audio b base bdi bdo big blockquote body br button canvas caption
center cite code col colgroup dd del details dfn dialog div dl dt em embed fieldset figcaption
figure font footer form h1 h2 h3 h4 h5 h6 head header hgroup hr html i iframe img ins kbd legend li
main mark math menu meta meter nav nobr noscript ol optgroup p picture pre q rp rt ruby s samp
script search section select small span strike strong style sub sup svg table tbody td template
textarea tfoot th thead tr tt u ul var video wbr""".split())
# also the names of placeholders: HTML only if they have attributes or are closed
_NOUNS = frozenset("""
address area data datalist input label link map object option output param progress slot source
summary time title track""".split())
_ATTRIBUTE = re.compile(r"""\b(href|alt|src|id)\s*=\s*["']([^"']*)["']""", re.I)
_ENDS = (".", "!", "?", ":", ";", "…", "。", "！", "？", "：")
_NAME_WORDS = 3  # of a term above its definition, at most
_BREAK = "\x1f"  # represents <br> and the like until the pieces are joined


@dataclass(frozen=True, slots=True)
class Span:
    """A range of the source; `text` is what a reader sees of source[start:end], without markup."""

    text: str
    start: int
    end: int


def plain(markdown: str, references: dict | None = None, tag_break: str = "; ") -> str:
    """Return inline Markdown as a reader sees it; `<br>` and the like become `tag_break`.

    `references` are the document's link definitions, as `lib.documents.blocks.parse` fills them.
    """
    text = " ".join(_HARD_BREAK.sub(" ", markdown).split())
    if _SPECIAL.search(text):
        text = re.sub(r"\s+", " ", "".join(_seen(text, references, tag_break))).strip()
    return re.sub(r"\s*;(?:\s*;)+", ";", text).strip("; ") if ";" in text else text


def _seen(text: str, references: dict | None, tag_break: str) -> Iterator[str]:
    for child in _children(text, references):
        if child.type in ("softbreak", "hardbreak"):
            yield " "
        elif child.type == "html_inline":
            yield tag_break if _BREAK_TAG.match(child.content) else ""
        elif child.type == "text":
            yield _NOTE.sub("", child.content)
        else:
            yield child.content


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
    return not name or name in _ELEMENTS or bool(tag["close"]) or name in _NOUNS and (
        name in closed or bool(tag["rest"].strip("/ ")))


def untagged(html: str) -> str:
    """Blank the HTML tags and comments of a text, which keeps its length and its lines."""
    closed = frozenset(_CLOSING.findall(html.lower()))
    return _TAG.sub(lambda tag: re.sub(r"[^\n]", " ", tag[0]) if _is_html(tag, closed) else tag[0],
                    html)


def readable(markdown: str, references: dict | None = None) -> str:
    """Return the words of inline Markdown on one line.

    The target of a link or an image follows its text in parentheses, since it is often the fact (a
    file, an issue number). Code without a letter or digit is quoted: `=` would read as a mark of
    the sentence. Removed: images that are written out as data, other HTML tags, HTML comments.
    `references` are the document's link definitions as collected by markdown-it-py.
    """
    lines = re.sub(r"^[ \t]+", "", markdown, flags=re.M).strip()
    is_marked = "  \n" in lines or _SPECIAL.search(lines)
    words = _words(_children(lines, references)) if is_marked else lines
    text = re.sub(rf"[\s{_BREAK}]+", lambda gap: "; " if _BREAK in gap[0] else " ", words)
    text = text.strip(f" ;{_BREAK}")
    return re.sub(r"([:;,.]);", r"\1", text) if _BREAK in words else text


def _letters(text: str) -> str:
    return re.sub(r"[\W_]+", "", text.casefold())


def trimmed(source: str, start: int, end: int) -> tuple[int, int]:
    """Return the bounds of source[start:end] without the whitespace around it."""
    raw = source[start:end]
    return start + len(raw) - len(raw.lstrip()), end - (len(raw) - len(raw.rstrip()))


def unquoted(markdown: str) -> str:
    """Remove block-quote marks at the beginnings of lines; ">=" is not one."""
    return _QUOTE_MARK.sub("", markdown)


def _goes_on(text: str, following: str) -> bool:
    return following[:1].islower() and len(text[-99:].split()) > _NAME_WORDS


def ended(text: str) -> str:
    """Add a full stop unless `text` already ends, perhaps before a quotation mark."""
    bare = text.rstrip("\"')]*_`”’")
    has_end = bare.endswith(_ENDS) and not bare.endswith(("etc.", ";"))
    return text if not text or has_end or text.endswith(_ENDS) else text + "."


def _words(children: list[Token]) -> str:
    text, links = "", []  # target and beginning of each open link
    for child, following in zip_longest(children, children[1:]):
        if child.type == "softbreak":
            text += " "
        elif child.type == "hardbreak":
            is_cut = following and following.type == "text" and _goes_on(text, following.content)
            text = (text.rstrip() if is_cut else ended(text.rstrip())) + " "
        elif child.type == "link_open":
            links.append((str(child.attrs["href"]), len(text)))
        elif child.type == "link_close":
            text = _with_target(text, *links.pop())
            is_glued = following and following.content.startswith("/") and text[-1:] != ")"
            text += " " if is_glued else ""  # the next word is no part of the target
        elif child.type == "html_inline":
            text = _with_tag(text, child.content, links)
        elif child.type == "image":
            begin, text = len(text), text + child.content.strip()
            text = _with_target(text, str(child.attrs["src"]), begin)
        elif child.type == "code_inline" and not re.search(r"[\w\"]", child.content):
            text += f'"{child.content}"'
        else:
            text += _NOTE.sub("", child.content) if child.type == "text" else child.content
    return text


def _with_tag(text: str, tag: str, links: list[tuple[str, int]]) -> str:
    attributes = {name.lower(): unescape(value) for name, value in _ATTRIBUTE.findall(tag)}
    if tag.lower().startswith("<a ") and "href" in attributes:
        is_own = attributes["href"] == f"#{attributes.get('id')}"  # it leads to itself
        links.append(("" if is_own else attributes["href"], len(text)))
    elif tag.lower().startswith("</a") and links:
        return _with_target(text, *links.pop())
    elif "src" in attributes:  # an image, a video
        shown = text + attributes.get("alt", "").strip()
        return _with_target(shown, attributes["src"], len(text))
    return text + _BREAK if _BREAK_TAG.match(tag) else text


# [Ports in use](#ports-in-use) says where it leads
def _with_target(text: str, target: str, begin: int) -> str:
    words = text[begin:].strip()
    is_said = target.startswith("#") and _letters(words) == _letters(target)
    if is_said or target.startswith("data:") or words in (target, target.removeprefix("mailto:")):
        return text
    if not target or f"({target})" in text or not words:
        return text if words else text + target
    if words.endswith(".") and not words.endswith(".."):
        return f"{text.rstrip()[:-1]} ({target})."
    is_in_parentheses = text[:begin].count("(") > text[:begin].count(")")
    return text.rstrip() + (f", {target}" if is_in_parentheses else f" ({target})")
