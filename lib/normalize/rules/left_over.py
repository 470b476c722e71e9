"""Find the text outside all blocks: after a nested list, quotes in items, unused links (3.2)."""

import re
from bisect import bisect
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from lib.documents.blocks import Block
from lib.documents.inline import readable, unquoted
from lib.normalize.rules.markup import unmarked

_DEFINITION = re.compile(
    r"^[ >]{0,8}\[([^\]\n]+)\]:[ \t]*<?(\S+?)>?(?:[ \t]+(.+))?$", re.M)
_MARKER = re.compile(
    r"^(?:[ \t>]*(?:[-*+]|\d{1,9}[.)]|#{1,6})(?:[ \t]+|$))*(?:\[[ xX]\][ \t]+)?")
_LABEL = re.compile(r"\[([^\[\]]{1,200})\]")


def left_over(text: str, blocks: Sequence[Block], parts: list, references: dict,
              blank) -> Iterator:
    """Yield the text of a document that is in no part, as sentences under the headings above.

    `blank` is a part without a place, for text above all others.
    """
    size = len(text)
    taken = sorted([*((part.start, part.end) for part in parts),
                    *((block.start, block.end) for block in blocks if block.kind != "list")])
    uses = Counter(map(_folded, _LABEL.findall(text)))
    begin = 0
    for number, (start, end) in enumerate([*taken, (size, size)]):
        gap = text[begin:max(begin, start)]
        for match in re.finditer(r"[^\n]*\w[^\n]*(?:\n[^\n]*\w[^\n]*)*", gap):
            if words := _words(match[0], uses, references):
                first, last = begin + match.start(), begin + match.end()
                yield _placed(parts, blank, first, last, words, -1 - number)
        begin = max(begin, end)


def _placed(parts: list, blank, first: int, last: int, words: str, group: int):
    place = bisect(parts, first, key=lambda part: part.start)
    above = parts[place - 1] if place else blank
    heading = (above.text,) if above.kind == "heading" else ()
    path = () if words.startswith('The link "') else above.headings + heading  # of no section
    return replace(blank, start=first, end=last, text=words, group=group, headings=path,
                   is_titled=above.is_titled)


def _words(raw: str, uses: Counter[str], references: dict) -> str:
    lines = []
    for line in raw.splitlines():
        definition = _DEFINITION.fullmatch(line)
        if not definition:
            lines.append(_MARKER.sub("", line))
        elif uses[_folded(definition[1])] == 1:
            targets = ", ".join(filter(None, definition.groups()[1:]))
            lines.append(f'The link "{definition[1]}" leads to {targets}.')
    text = readable(unmarked(unquoted("\n".join(lines))), references)
    return text if re.search(r"\w", text) else ""


def _folded(label: str) -> str:
    return " ".join(label.split()).casefold()
