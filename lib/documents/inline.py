"""Inline Markdown as the words of a sentence: markup removed, line breaks folded, link targets kept (paper, 3.2)."""

import re
from html import unescape

from markdown_it import MarkdownIt
from markdown_it.token import Token

_PARSER = MarkdownIt("commonmark")
_QUOTE_MARK = re.compile(r"^[ \t]*(?:>(?!=)[ \t]?)+", re.M)
_BREAK_TAG = re.compile(r"</?(?:br|li|ul|ol|p|tr|td|th|div|h[1-6])\b", re.I)
_ATTRIBUTE = re.compile(r"""\b(href|alt)\s*=\s*["']([^"']*)["']""", re.I)
_ENDS = (".", "!", "?", ":", ";", "…", "。", "！", "？", "：")
_BREAK = "\x1f"  # stands for <br> and the like until the pieces are joined


def readable(markdown: str, references: dict | None = None) -> str:
    """The words of inline Markdown, as one line.

    Link texts stay, and a link's target follows in parentheses, for it often is the fact (a file, an issue number).
    Left out, since they say nothing: addresses of images (their alternative text stays), targets inside the same
    page, HTML tags other than the targets of links, HTML comments. `references` are the document's link definitions
    as markdown-it-py collects them.
    """
    lines = re.sub(r"^[ \t]+", "", markdown, flags=re.M).strip()
    tokens = _PARSER.parseInline(lines, {} if references is None else references)
    pieces = _words(tokens[0].children or [], markdown) if tokens else ""
    text = re.sub(rf"[\s{_BREAK}]+", lambda gap: "; " if _BREAK in gap[0] else " ", pieces).strip(f" ;{_BREAK}")
    return re.sub(r"([:;,.]);", r"\1", text) if _BREAK in pieces else text


def unquoted(markdown: str) -> str:
    """`markdown` without the marks of a block quote at the beginnings of its lines; ">=" is none."""
    return _QUOTE_MARK.sub("", markdown)


def ended(text: str) -> str:
    """`text` as a sentence: with a full stop unless it has an end of its own, if only before a quotation mark."""
    bare = text.rstrip("\"')]*_`”’")
    return text if not text or bare.endswith(_ENDS) and not bare.endswith(("etc.", ";")) or text.endswith(_ENDS) \
        else text + "."


def _words(children: list[Token], markdown: str) -> str:
    """The words of inline tokens, with `_BREAK` for breaking tags; targets as `markdown` writes them."""
    text, targets = "", []
    for child in children:
        if child.type == "softbreak":
            text += " "
        elif child.type == "hardbreak":
            text = ended(text.rstrip()) + " "
        elif child.type == "link_open":
            target = str(child.attrs["href"])
            targets.append((target if target in markdown else _PARSER.normalizeLinkText(target), len(text)))
        elif child.type == "link_close":
            text = _with_target(text, *targets.pop())
        elif child.type == "html_inline":
            text = _with_tag(text, child.content, targets)
        elif child.type == "image":
            text += child.content.strip()
        else:
            text += child.content
    return text


def _with_tag(text: str, tag: str, targets: list[tuple[str, int]]) -> str:
    """`text` after an HTML tag: breaks separate, links have targets, images have alternative texts."""
    attributes = {name.lower(): unescape(value) for name, value in _ATTRIBUTE.findall(tag)}
    if tag.lower().startswith("<a ") and "href" in attributes:
        targets.append((attributes["href"], len(text)))
    elif tag.lower().startswith("</a") and targets:
        return _with_target(text, *targets.pop())
    elif tag.lower().startswith("<img"):
        return text + attributes.get("alt", "")
    return text + _BREAK if _BREAK_TAG.match(tag) else text


def _with_target(text: str, target: str, begin: int) -> str:
    """`text` with the target of the link that begins at `begin`, unless the link's own words are that target."""
    words = text[begin:].strip()
    if not target or target.startswith("#") or words in (target, target.removeprefix("mailto:")):
        return text
    if f"({target})" in text or not words:
        return text if words else text + target
    is_in_parentheses = text[:begin].count("(") > text[:begin].count(")")
    return text.rstrip() + (f", {target}" if is_in_parentheses else f" ({target})")
