"""Complete the labels of rows and columns: prepend groups, join header rows, remove marks."""

import re
from calendar import month_name
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import takewhile
from typing import NamedTuple

from lib.tasks.tablequest.grids.cells import PlacedCell
from lib.tasks.tablequest.grids.layout import BodyRow
from lib.tasks.tablequest.grids.notes import is_only_note
from lib.tasks.tablequest.grids.sums import TOTAL_OF, Sums, indent_of, parents_of
from lib.tasks.tablequest.grids.values import MARK, YEAR

# "Services (1)", "Sales*", "Total (2)(3):"; not "Term (Years)"
_MARKS = re.compile(rf"(?:\s*{MARK}(?:,(?=\s*[(\[]))?)+\s*(?=:?\s*$)")
_BARE_TOTAL = re.compile(r"(?:sub-?)?totals?|net|balances?", re.I)
# sums that need their group's name, such as "Ending balance"
_CLOSING = re.compile(r"\b(?:balances?|ending|at (?:the )?end)\b", re.I)
_TOTAL = re.compile(r"\b(?:sub)?totals?\b|^net (?:cash|increase|decrease|change)\b", re.I)
# "Balance as of May 31, 2029", "Nonvested at 2029"; not "Balance"
_DATE = rf"(?:{'|'.join(name[:3] for name in month_name[1:])})[a-z]*\.? ?\d{{1,2}}, \d{{4}}"
_BALANCE = re.compile(r"\b(?:balances?|outstanding|nonvested|unvested)\b.*?"
                      rf"({_DATE}|\b{YEAR}\b)", re.I)
# "Change", "$ Change", "Increase/(Decrease)"; not "Change in debt"
_CHANGE = re.compile(r"(?:[$%] ?)?(?:change|variance|growth|increase(?: ?/? ?\(decrease\))?)"
                     r"(?: ?[$%])?", re.I)
_PERIOD = re.compile(rf"\b{YEAR}\b")
_SHARE_OF = re.compile(r"(?:as an? )?(?:percent(?:age)?|%) of\b|%|margin\b", re.I)
# They need their group's noun, from which "Diluted" may be set apart as a sum.
_IN_PAIRS = re.compile(r"basic|(?:assuming )?dilut(?:ed|ion)", re.I)
_GOES_ON = re.compile(r"(?:\b(?:and|of|or|for|in|to|the|by|with|from|on|at|than|as|per)|,|[–—-])$")
# Regulation S-X requires this line even without amounts.
_NO_GROUP = re.compile(r"commitments and contingencies", re.I)
# "(1) Without taxes.", "* See below", "Note: "; not "(1)"
FOOTNOTE = re.compile(rf"{MARK}\s*\S|notes?: ", re.I)


def footnotes_of(texts: Iterable[str]) -> tuple[str, ...]:
    """Return the footnotes that `texts`, those below a table, begin with."""
    return tuple(takewhile(FOOTNOTE.match, texts))


def without_marks(text: str) -> str:
    """Remove final footnote marks: "Services (1)", "Level 2 (1):" -> "Services", "Level 2:"."""
    found = _MARKS.search(text)
    if not found or not found.start():
        return text.strip()
    return (text[:found.start()] + text[found.end():]).strip()


def column_label(headers: tuple[PlacedCell, ...]) -> str:
    """Join the header cells above a column, from top to bottom, each once."""
    texts = [without_marks(cell.text) for cell in headers]
    return " ".join(text for index, text in enumerate(texts) if text and text not in texts[:index])


def with_periods(labels: list[str]) -> list[str]:
    """Add the periods on both sides to equal columns "Change", as in "Change 2024 to 2023"."""
    done = list(labels)
    for index, label in enumerate(labels):
        if labels.count(label) < 2 or not _CHANGE.fullmatch(label):
            continue
        sides = [next((other for other in side
                       if _PERIOD.search(other) and not _CHANGE.fullmatch(other)), "")
                 for side in (labels[:index][::-1], labels[index + 1:])]
        if all(sides):
            done[index] = f"{label} {sides[0]} to {sides[1]}"
    return done


@dataclass
class _Group:
    label: str
    style: tuple[float, bool]
    start: int  # the row after its label
    n_rows: int = 0
    is_indented: bool = False  # its first row begins further right


@dataclass
class Groups:
    """The labels of open groups, such as "Liabilities" > "Current", while reading down a table.

    Indent, a blank row, a sum's rule above the values or the word "Total" shows where a group ends.
    """

    open: list[_Group] = field(default_factory=list)
    is_new: bool = False  # whether the row before opened the innermost

    def add(self, label: str, style: tuple[float, bool], index: int) -> None:
        """Open a group at a row with only a label, inside the last group or in its place."""
        styles = [group.style for group in self.open]
        if style in styles:
            del self.open[styles.index(style):]
        self.open.append(_Group(label, style, index + 1))
        self.is_new = True

    def open_parent(self, label: str, indent: float, start: int) -> None:
        """Open a group at a row of values, whose parts are the rows further right below it."""
        self.open.append(_Group(label, (indent, False), start, n_rows=1, is_indented=True))

    def enter(self, indent: float) -> list[str]:
        """Return the labels above a row of values that begins at `indent`."""
        while self.open and self.open[-1].is_indented and indent <= self.open[-1].style[0]:
            self.open.pop()
        if self.open:
            group = self.open[-1]
            if group.n_rows == 0:
                group.is_indented = indent > group.style[0]
            group.n_rows += 1
        self.is_new = False
        return [group.label for group in self.open]

    def close(self) -> None:
        """End the innermost group after a sum."""
        if self.open:
            self.open.pop()

    def blank(self) -> None:
        """End a group without indent after a blank row."""
        if self.open and self.open[-1].n_rows and not self.open[-1].is_indented:
            self.open.pop()
        self.is_new = False


class _Named(NamedTuple):
    groups: list[str]  # labels of the groups above the row
    label: str
    is_sum: bool
    words: list[str]  # texts in the row's text columns


def row_labels(rows: list[BodyRow], texts: list[int]) -> list[str | None]:
    """Return the complete label of each row of values, or None for another row.

    Other rows are group rows, unit notes, blank rows, rows whose label goes on in the next, and
    rows that cannot be named. `texts` are the positions of text columns, which distinguish rows
    with equal labels. A row of sums without a label becomes "Total of" its group.
    """
    groups, found = Groups(), []
    ruled = [any(cell and cell.has_rule for cell in row.cells) for row in rows]
    # Lines above most rows do not mark sums.
    has_sums = sum(ruled) * 2 <= sum(row.has_values for row in rows)
    labels, sums, parents = _unwrapped(rows), Sums(rows), parents_of(rows)
    last, n_values = "", 0
    for index, (row, is_ruled) in enumerate(zip(rows, ruled, strict=True)):
        found.append(None)
        if row.is_blank:
            groups.blank()
            continue
        text = labels[index]
        label = without_marks(text).rstrip(":").strip()
        first = row.label[0] if row.label else None
        if not row.has_values:
            if text and not (FOOTNOTE.match(text) or _NO_GROUP.match(label) or is_only_note(text)):
                groups.add(label, (indent_of(first), first.is_bold), index)
            continue
        words = [row.cells[at].text for at in texts if row.cells[at]]
        label = label or (last if words else "") or sums.name(
            index, [(group.start, group.label) for group in groups.open])
        last = label or last
        is_ruled_sum = n_values > 0 and has_sums and is_ruled and not groups.is_new
        is_sum = bool(_TOTAL.search(label)) or is_ruled_sum
        if label:
            above = groups.enter(indent_of(first) if first else 1e9)
            if not above and _IN_PAIRS.fullmatch(label) and found[:-1] and found[-2]:
                above = found[-2].groups  # "Diluted" ends the group that "Basic" begins
            found[-1] = _Named([] if label.startswith(TOTAL_OF) else above, label, is_sum, words)
        n_values += 1
        sums.add(index, is_sum)
        if index in parents:
            groups.open_parent(label, indent_of(first), index + 1)
        elif is_sum:
            groups.close()
    return _told_apart(found)


def _unwrapped(rows: list[BodyRow]) -> list[str]:
    """Return each row's label text; one that goes on in the next row is joined there.

    It goes on if it ends with a comma or a word such as "of", or if the next begins in lower case
    where few labels do.
    """
    texts = [" ".join(cell.text for cell in row.label) for row in rows]
    n_lower = sum(text[:1].islower() and above.has_values
                  for text, above in zip(texts[1:], rows, strict=False))
    for index, (row, below) in enumerate(zip(rows, rows[1:], strict=False)):
        text, after = texts[index], texts[index + 1]
        if row.has_values or not text or not after or text.endswith((":", ".")):
            continue
        is_styled = row.label[0].is_bold and not below.label[0].is_bold
        goes_on = _GOES_ON.search(text) or (after[0].islower() and text[0].isupper()
                                            and n_lower * 3 < len(texts))
        if goes_on and not is_styled and not FOOTNOTE.match(text) and not is_only_note(text):
            texts[index], texts[index + 1] = "", f"{text} {after}"
    return texts


def _told_apart(found: list[_Named | None]) -> list[str | None]:
    named = [row for row in found if row]
    own = Counter(row.label for row in named)
    n_groups = len({row.groups[-1] for row in named if row.groups})
    labels: list[str | None] = []
    for row in found:
        if row is None:
            labels.append(None)
            continue
        # A bare "Total" sums the groups if there are several.
        is_bare = bool(_BARE_TOTAL.fullmatch(row.label)) and n_groups < 2
        stands_alone = (row.is_sum and own[row.label] == 1 and not is_bare
                        and not _IN_PAIRS.fullmatch(row.label)
                        and not _CLOSING.search(row.label))
        labels.append(row.label if stands_alone else ": ".join([*row.groups, row.label]))
    times = Counter(labels)
    for index, row in enumerate(found):
        if row is None or times[labels[index]] < 2:
            continue
        if row.words:
            labels[index] = f"{labels[index]}, {row.words[0]}"
        elif _SHARE_OF.match(row.label) and index and labels[index - 1]:
            labels[index] = f"{labels[index - 1]}: {row.label}"
    return _between_balances(labels)


def _between_balances(labels: list[str | None]) -> list[str | None]:
    """Add the balances around them to equal rows of a roll-forward over several years."""
    times = Counter(labels)
    marks = [(index, match[1]) for index, label in enumerate(labels)
             if label and (match := _BALANCE.search(label))]
    done = list(labels)
    for (start, since), (end, until) in zip(marks, marks[1:], strict=False):
        for index in range(start + 1, end):
            if labels[index] and times[labels[index]] > 1:
                done[index] = f"{since} to {until}: {labels[index]}"
    return done
