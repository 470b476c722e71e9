"""Make the additions of Markdown dialects readable for a CommonMark parser, line for line."""

import re

# [^1]: the text of a footnote, whose further paragraphs are indented
FOOTNOTE = re.compile(r" {0,3}\[\^[^\]\s]+\]:[ \t]*")
NOTE_MARK = "\ufdd0"  # stands in place of a footnote's mark: no character of any text

EDGE = "<!--\ufdd1-->"  # stands for the edge of a box or tab: a list does not go on across it

NEWLINE = re.compile(r"\r\n?|\n")
_FENCE = re.compile(r"(?:[ \t>]|(?:[-*+]|\d{1,9}[.)])[ \t])*(?P<fence>`{3,}(?=[^`]*$)|~{3,})")
# !!! note "Title", ??? tip, === "Tab" of MkDocs: what belongs to them is indented
_BOX = re.compile(r"[ \t]*(?:(?:!!!|\?\?\?\+?)[ \t]+[\w\"]|===[!+]?[ \t]+\")")
# {% tag %} and {{< tag >}} of templates, ::: containers, [!NOTE] of GitHub, {: .class }
_TAG = re.compile(r"(?P<quote>[ \t>]*)(?:\{%.*%\}|\{\{[<%].*[%>]\}\}|:{3,}.*|"
                  r"(?P<inner>\[![A-Za-z]+\][+-]?|\{:[^{}]*\}))[ \t]*")
_ANY = re.compile(r"^[ \t>]*(?:!!!|\?\?\?|===[!+]?[ \t]|\[\^|\[!|\{[%{:]|:::)", re.M)


def commonmark(body: str) -> str:
    """Return Markdown with as many lines, in which tags of dialects are EDGE or empty lines.

    Text that a dialect indents below such a line loses that indent, so that it is not code. The
    mark of a footnote becomes NOTE_MARK, so that it is no link definition.
    """
    if not _ANY.search(body):
        return body
    lines: list[str] = []
    fence, boxes = "", []  # the open fence; the indents of the open boxes
    for line in NEWLINE.split(body):
        indent = len(line) - len(line.lstrip(" "))
        if indent < len(line):
            while boxes and indent < boxes[-1] + 4:
                boxes.pop()
            line, indent = line[4 * len(boxes):], indent - 4 * len(boxes)
        if fence:
            rest = line.strip(" \t>")
            fence = "" if rest.startswith(fence) and not rest.strip(fence[0]) else fence
        elif opened := _FENCE.match(line):
            fence = opened["fence"]
        elif _BOX.match(line):
            boxes.append(indent + 4 * len(boxes))
            line = " " * indent + EDGE
        elif note := FOOTNOTE.match(line):
            boxes.append(indent + 4 * len(boxes))
            line = NOTE_MARK + line[note.end():]
        elif tag := _TAG.fullmatch(line):
            line = tag["quote"].rstrip() if tag["inner"] else tag["quote"] + EDGE
        lines.append(line)
    return "\n".join(lines)
