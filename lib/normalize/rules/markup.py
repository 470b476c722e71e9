"""Read the marks of site generators and task lists, which Markdown itself leaves in the text."""

import re

# {% hint style="info" %} or {{< tab >}} alone on a line; ::: warning Title; !!! tip "Title";
# ??? note; [!NOTE]. Each begins or ends a box; only its kind and title are text.
_TEMPLATE = re.compile(r"^[ \t]*(?:\{%-?\s*(?P<name>\w+)(?P<values>.*?)-?%\}|"
                       r"\{\{[<%]\s*/?(?P<call>[\w/-]+)(?P<given>.*?)[%>]\}\})"
                       r"(?=\s*$|\s*\{%)", re.M)
_BOX = re.compile(r"^[ \t]*(?::{3,}|!!!|\?\?\?\+?|===[!+]?)[ \t]*(?P<kind>[A-Za-z-]*)"
                  r"(?P<title>[^\n]*)$", re.M)
_CLASS = re.compile(r"^[ \t]*\{:[^{}\n]*\}[ \t]*$|^[ \t]*\[\^[^\]\s]+\]:(?=[ \t]*$)", re.M)
_ALERT = re.compile(r"^[ \t]*\[!(?P<kind>[A-Za-z]+)\][+-]?[ \t]*", re.M)
_QUOTED = re.compile(r"(?P<key>\w*)\s*=?\s*(?P<mark>[\"'])(?P<value>.*?)(?P=mark)")
_SHOWN = ("title", "label", "name", "caption", "file", "src", "href", "url", "path")
_FACTUAL = re.compile(r"\d|[\w.]/\w|\w\.\w")
_TASK = re.compile(r"\A\[(?P<mark>[ xX])\][ \t]+")
_COMMENT = re.compile(r"<!--.*?-->", re.S)
_NOTE = re.compile(r"(?<=\S)\[\^(?P<note>[^\]\s]+)\]")
_ANCHOR = re.compile(r"[ \t]*(?:\{\s*#[^{}\s]+\s*\}|\[#[^\]\s]+\])[ \t]*$")


def unmarked(markdown: str) -> str:
    """Return Markdown whose comments and box marks are replaced by the words that they show.

    `!!! tip "Read on"` becomes "Tip: Read on:", `{% tab title="a.yaml" %}` "a.yaml:".
    """
    text = _CLASS.sub("", _COMMENT.sub(" ", markdown))
    if "{" in text:
        text = _TEMPLATE.sub(_shown, text)
    text = _BOX.sub(_boxed, text)
    return _ALERT.sub(lambda alert: f"{alert['kind'].capitalize()}: ", text)


def with_notes(markdown: str, notes: frozenset[str]) -> str:
    """Write the marks of the document's footnotes in words: "text[^1]" is "text (footnote 1)"."""
    if not notes or "[^" not in markdown:
        return markdown
    return _NOTE.sub(lambda mark: f" (footnote {mark['note']})" if mark["note"] in notes
                     else mark[0], markdown)


def without_anchor(heading: str) -> str:
    """Remove the target that some sites write after a heading: "Install {#install}"."""
    return _ANCHOR.sub("", heading) or heading


def unticked(item: str) -> str:
    """Say in words whether the box of a task is ticked."""
    return _TASK.sub(lambda box: "(not done) " if box["mark"] == " " else "(done) ", item)


def code_title(fence: str) -> str:
    """Return the title in a fence's first line: ```yaml title="a.yaml"; "" if there is none."""
    found = _QUOTED.search(fence)
    return found["value"] if found else ""


def _shown(tag: re.Match) -> str:
    values = list(_QUOTED.finditer(tag["values"] or tag["given"] or ""))
    texts = [value["value"] for value in values if value["value"] and (
        value["key"] in _SHOWN or _FACTUAL.search(value["value"]))]
    return f"{', '.join(texts)}:" if texts else ""


def _boxed(box: re.Match) -> str:
    kind, title = box["kind"].capitalize(), box["title"].strip(" \t\"'")
    words = ": ".join(filter(None, [kind, title])) if title != kind else kind
    return words if not words or words.endswith((".", "!", "?")) else words.rstrip(":") + ":"
