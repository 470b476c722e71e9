"""Ask about table cells: "what is the <column> for the <key> <row>" (paper, 3.1)."""

import re
from collections.abc import Iterator

from lib.annotate.constraints import Candidate
from lib.documents.phrases import folded, in_sentence, is_attribute, is_foreign, is_value
from lib.documents.sites import Site, row_key

_DEFAULT = re.compile(r"\(?defaults?(?: values?| settings?)?\)?", re.I)
# what has one value that needs no more of the text around it
_ATTRIBUTES = frozenset(
    """
address alias capacity constant current depth encoding endpoint extension format frequency height
interval length license limit max maximum method min minimum offset path permission pin port power
prefix protocol range register resolution scope shortcut size speed suffix symbol temperature
timeout type unit voltage weight width""".split()
)
_NAME = re.compile(r"names?", re.I)  # a header that says nothing of what its column names


def ask_table(site: Site) -> Iterator[Candidate]:
    """Yield a question about each cell of a column that names an attribute."""
    header = [
        " ".join(cell.text.replace("; ", " ").split()).rstrip(":") for cell in site.block.header
    ]
    width = row_key(site.block)
    if not width or not all(_is_key(name) for name in header[:width]):
        return
    for at, name in enumerate(header):
        if at >= width and header.count(name) == 1:
            yield from _column(site, header, width, at)


def _column(site: Site, header: list[str], width: int, at: int) -> Iterator[Candidate]:
    name, rows = header[at], [row for row in site.block.rows if at < len(row)]
    is_default = _DEFAULT.fullmatch(name) is not None
    of = "of" if width == 1 and _NAME.fullmatch(header[0]) else "for"
    label = "default value" if is_default else in_sentence(name)
    is_asked = (
        is_default
        or is_attribute(name)
        and folded(name.split(" (")[0]).split()[-1] in _ATTRIBUTES
        and len({row[at].text for row in rows}) > 1
    )
    if not is_asked or folded(name) in folded(" ".join(header[:width])):
        return
    for row in rows:
        value, keys = row[at].text, [cell.text for cell in row[:width]]
        is_known = folded(value) in folded(" ".join(keys)) or folded(value) in folded(name)
        if is_known or not _is_answer(site, row[at]) or not all(map(_is_name, keys)):
            continue
        which = " and ".join(_called(one, key) for one, key in zip(header, keys, strict=False))
        first, last = site.block.header[0], site.block.header[-1]
        yield Candidate(
            f"{site.place()}what is the {label} {of} {which}?",
            value,
            "table",
            row[0].start,
            row[-1].end,
            header=site.text[first.start : last.end],
            rule="table: default" if is_default else "table: cells",
        )


def _called(header: str, key: str) -> str:
    return f'"{key}"' if _NAME.fullmatch(header) else f'the {in_sentence(header)} "{key}"'


def _is_key(name: str) -> bool:
    return is_attribute(name) or bool(re.fullmatch(r"values?|name", name, re.I))


# A mark behind the text may be a note's; inside code it is a part of the value
def _is_answer(site: Site, cell) -> bool:
    raw = site.text[cell.start : cell.end]
    is_noted = not raw.endswith("`") and re.search(r"(?:\[\^?\d+\]|\(\d\)|[*†‡])$", cell.text)
    return (
        not is_noted
        and is_value(cell.text, 5)
        and not is_foreign(cell.text)
        and not re.search(
            r"<\s*/?\s*(?:br|li|p|ul)\b|!\[|https?://|\{[{%:]|^(?:required|optional|mandatory|"
            r"(?:it )?depends|varies|dynamic|automatic|auto-?\w+|generated|random)\b",
            raw,
            re.I,
        )
    )


def _is_name(key: str) -> bool:
    return is_value(key, 4) and not is_foreign(key) and not re.search(r'[";]|\.$|\(\d\)$', key)
