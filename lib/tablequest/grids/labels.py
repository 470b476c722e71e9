"""The labels of rows and columns made whole: groups before their rows, header rows joined, footnote marks taken off."""

import re
from collections import Counter
from dataclasses import dataclass, field

from lib.tablequest.grids.cells import PlacedCell
from lib.tablequest.grids.layout import BodyRow

_MARKS = re.compile(r"(?:\s*(?:\((?:\d{1,2}|[a-z])\)|[*†‡§]+)(?:,(?=\s*\())?)+\s*(?=:?\s*$)")
_BARE_TOTAL = re.compile(r"(?:sub-?)?totals?|net|balances?", re.I)
_CLOSING = re.compile(r"\b(?:balances?|ending|at (?:the )?end)\b", re.I)  # a sum that needs its group's name
_TOTAL = re.compile(r"\b(?:sub)?totals?\b|^net (?:cash|increase|decrease|change)\b", re.I)
_BALANCE = re.compile(r"\b(?:balances?|outstanding|nonvested|unvested)\b.*?((?:January|February|March|April|May|June|"
                      r"July|August|September|October|November|December) \d{1,2}, \d{4}|\b(?:19|20)\d\d\b)", re.I)
_CHANGE = re.compile(r"(?:[$%] ?)?(?:change|variance|growth|increase(?: ?/? ?\(decrease\))?)(?: ?[$%])?", re.I)
_PERIOD = re.compile(r"\b(?:19|20)\d\d\b")
_SHARE_OF = re.compile(r"(?:as an? )?(?:percent(?:age)?|%) of\b|%|margin\b", re.I)
_NO_GROUP = re.compile(r"commitments and contingencies", re.I)  # a line that Regulation S-X wants even without amounts
FOOTNOTE = re.compile(r"\((?:\d{1,2}|[a-z])\)\s*\S|[*†‡§]\s*\S|notes?: ", re.I)


def without_marks(text: str) -> str:
    """`text` without the footnote marks at its end: "Services (1)" is "Services", "Level 2 (1):" is "Level 2:"."""
    found = _MARKS.search(text)
    return (text[:found.start()] + text[found.end():]).strip() if found and found.start() else text.strip()


def column_label(headers: tuple[PlacedCell, ...]) -> str:
    """The header cells above a column, joined from above, each once."""
    texts = [without_marks(cell.text) for cell in headers]
    return " ".join(text for index, text in enumerate(texts) if text and text not in texts[:index])


def with_periods(labels: list[str]) -> list[str]:
    """Columns that are all called "Change" told apart by the periods on both their sides: "Change 2024 to 2023"."""
    done = list(labels)
    for index, label in enumerate(labels):
        if labels.count(label) < 2 or not _CHANGE.fullmatch(label):
            continue
        sides = [next((other for other in side if _PERIOD.search(other) and not _CHANGE.fullmatch(other)), "")
                 for side in (labels[:index][::-1], labels[index + 1:])]
        if all(sides):
            done[index] = f"{label} {sides[0]} to {sides[1]}"
    return done


@dataclass
class _Group:
    label: str
    style: tuple[float, bool]
    n_rows: int = 0
    is_indented: bool = False  # its first row stands further right


@dataclass
class Groups:
    """The group labels that hold at a row: "Liabilities" > "Current" while a table is read from above.

    A filing shows where a group ends by indent, a blank row, a sum's rule above the values or the word "Total".
    """

    open: list[_Group] = field(default_factory=list)
    is_new: bool = False  # the row before opened the innermost one

    def add(self, label: str, style: tuple[float, bool]) -> None:
        """A row that is only a label opens a group: inside the last one, or instead of it."""
        indent, is_bold = style
        styles = [group.style for group in self.open]
        if style in styles:
            del self.open[styles.index(style):]
        elif self.open and not self.is_new:
            is_inner = indent > self.open[-1].style[0] or self.open[-1].style[1] and not is_bold
            if not is_inner:
                del self.open[sum(group.style[0] < indent for group in self.open) if not is_bold else 0:]
        self.open.append(_Group(label, style))
        self.is_new = True

    def enter(self, indent: float) -> list[str]:
        """The labels over a row of values that begins at `indent`."""
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
        """After a sum."""
        if self.open:
            self.open.pop()

    def blank(self) -> None:
        """After a row that makes room: a group that shows no indent ends here."""
        if self.open and self.open[-1].n_rows and not self.open[-1].is_indented:
            self.open.pop()
        self.is_new = False


def row_labels(rows: list[BodyRow], texts: list[int]) -> list[str | None]:
    """The whole label of each row of values; None for a group's row, a blank one, and one that cannot be named.

    `texts` are the positions of columns of words, which name rows that a label does not tell apart.
    """
    groups, found = Groups(), []  # found: (groups above, own label, is a sum, words beside)
    ruled = [any(cell and cell.has_rule for cell in row.cells) for row in rows]
    has_sums = sum(ruled) * 2 <= sum(row.has_values for row in rows)  # a line above each row says nothing
    last, n_values = "", 0
    for row, is_ruled in zip(rows, ruled, strict=True):
        if row.is_blank:
            groups.blank()
            found.append(None)
            continue
        label = without_marks(" ".join(cell.text for cell in row.label)).rstrip(":").strip()
        first = row.label[0] if row.label else None
        if not row.has_values:
            if not FOOTNOTE.match(" ".join(cell.text for cell in row.label)) and not _NO_GROUP.match(label):
                groups.add(label, (_indent(first), first.is_bold))
            found.append(None)
            continue
        words = [row.cells[index].text for index in texts if row.cells[index]]
        label = label or (last if words else "")
        last = label
        is_sum = bool(_TOTAL.search(label)) or n_values > 0 and has_sums and is_ruled and not groups.is_new
        found.append((groups.enter(_indent(first) if first else 1e9), label, is_sum, words) if label else None)
        n_values += 1
        if is_sum:
            groups.close()
    return _told_apart(found)


def _indent(cell: PlacedCell) -> float:
    """How far right a label begins, points: some filings indent by columns, not by styles."""
    return cell.indent + 12.0 * cell.start


def _told_apart(found: list[tuple[list[str], str, bool, list[str]] | None]) -> list[str | None]:
    own = Counter(row[1] for row in found if row)
    n_groups = len({row[0][-1] for row in found if row and row[0]})
    labels: list[str | None] = []
    for row in found:
        if row is None:
            labels.append(None)
            continue
        groups, label, is_sum, _ = row
        is_bare = bool(_BARE_TOTAL.fullmatch(label)) and n_groups < 2  # of two groups and more it is the sum
        is_whole = is_sum and own[label] == 1 and not is_bare and not _CLOSING.search(label)
        labels.append(label if is_whole else ": ".join([*groups, label]))
    times = Counter(labels)
    for index, row in enumerate(found):
        if row is None or times[labels[index]] < 2:
            continue
        if row[3]:
            labels[index] = f"{labels[index]}, {row[3][0]}"
        elif _SHARE_OF.match(row[1]) and index and labels[index - 1]:
            labels[index] = f"{labels[index - 1]}: {row[1]}"
    return _between_balances(labels)


def _between_balances(labels: list[str | None]) -> list[str | None]:
    """Rows of a roll-forward over several years, which share their labels, named by the balances on both sides."""
    times = Counter(labels)
    marks = [(index, match[1]) for index, label in enumerate(labels) if label and (match := _BALANCE.search(label))]
    done = list(labels)
    for (start, since), (end, until) in zip(marks, marks[1:], strict=False):
        for index in range(start + 1, end):
            if labels[index] and times[labels[index]] > 1:
                done[index] = f"{since} to {until}: {labels[index]}"
    return done
