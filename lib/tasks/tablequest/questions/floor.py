"""Questions by rules, a floor: on one cell, or on two of one table whose labels say what they are.

A cell is asked for only if no other cell of the filing has the words of its row and column, its
date and its unit, and another value. Hard questions need a model.
"""

import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import cached_property
from itertools import combinations

from lib.core.records import Rejected
from lib.tasks.tablequest.questions.checks import evaluate
from lib.tasks.tablequest.records import (
    Cell,
    CellRef,
    Filing,
    Grid,
    Level,
    Passage,
    TableQuestion,
    own_label,
)
from lib.tasks.tablequest.wording import (
    POINTS,
    decimals_of,
    period_words,
    printed,
    unit_words,
    words_of,
)

MOST_WORDS, MOST_OF_TABLE = 30, 10
_MOST_LABEL = 12  # words
_LARGEST, _MOST_TIMES = 400.0, 20  # change in percent, ratio: more comes from almost nothing
_TIME = re.compile(
    r"\([^()]*\)|\b(?:(?:19|20)\d\d|\d{1,2}|fiscal|years?|quarters?|months?|weeks?|ended|ending|"
    r"three|six|nine|twelve|fifty-\w+|first|second|third|fourth|as of|at|for|the|of|in|"
    r"(?:jan|feb|mar|apr|may|jun|jul|aug|sept?|oct|nov|dec)[a-z]*)\b|[^\w\s%$&/-]",
    re.I,
)
_CHANGE = re.compile(r"change|increase|decrease|growth|variance|versus|\bvs\b", re.I)
_NOTE_MARK = re.compile(r"(?:\s*(?:\((?:\d{1,2}|[a-z]|notes? [^()]*)\)|\[\w\]|[*†‡§]))+$", re.I)
_NO_PHRASE = re.compile(
    r"\b(?:is|are|was|were|has|have|had|will|which|that|we|continued|beginning|opening)\b|[.;!?](?:\s|$)|\b(?:19|20)"
    r"\d\d\b|^(?:and|or|of|from|to|in|on|at|by|with|less|add|plus|due|after|as)\b|"
    r"(?:\b(?:and|or|of|from|to|in|on|at|by|with|for|the|than|per)|[-–—/&,(:])$",
    re.I,
)
_BARE = words_of(
    "addition adjusted adjustment all amount average balance basic carrying change charge "
    "contribution current date deferred diluted domestic end ending estimated exercised fair "
    "federal first foreign forfeited grant granted gross"
) | (
    words_of(
        "high international item level low net new non noncurrent one other others "
        "outstanding payment period purchase remaining reported second short state "
        "subtotal term thereafter third three total two unearned us u.s. value vested "
        "weighted year"
    )
)
# Words that say what is measured, as "Net sales" does and "Europe" does not
_MEASURED = (
    words_of(
        "sales revenue income expense expenditure cost profit loss earnings margin asset liability "
        "equity cash debt receivable payable inventory tax interest depreciation amortization "
        "dividend share stock capital goodwill property equipment investment borrowing"
    )
    | words_of(
        "lease compensation benefit provision proceeds payment purchase repurchase issuance "
        "acquisition balance rate percentage ratio value charge gain fee contribution credit reserve "
        "allowance commitment obligation accrual deposit deficit employee store price wage"
    )
    | words_of(
        "rent maintenance advertising marketing incentive settlement impairment adjustment discount "
        "fund security note bond loan account intangible backlog carloads volume outlay collateral"
    )
)


@dataclass(frozen=True)
class Spot:
    """A cell with a number, and what a question calls it."""

    ref: CellRef
    cell: Cell
    row: str  # its label without footnote marks
    measure: str  # what its column says apart from a time
    around: frozenset[str]  # words of its labels, of its section and of its table's caption

    @cached_property
    def key(self) -> frozenset[str]:
        """Return the words that a question on it has for certain."""
        return words_of(own_label(self.row)) | words_of(self.measure)

    @cached_property
    def period(self) -> tuple[str, str]:
        """Return the span and the last day of its period in words."""
        return period_words(self.cell.period)

    @property
    def when(self) -> str:
        """Return its period as a question asks for it, or ""."""
        span, day = self.period
        return f"for the {span} ended {day}" if span else day and f"as of {day}"

    @property
    def end(self) -> str:
        """Return the last day of its period, in ISO's form."""
        return self.cell.period[-10:]

    @property
    def fault(self) -> str:
        """Return why no question can ask for it, whatever else the filing has, or ""."""
        own = own_label(self.row)
        if not all(part.strip() for part in self.row.split(": ")) or not re.search(
            r"[^\W\d_]{3}", own
        ):
            return "its row has no complete label"
        is_open = self.row.count("(") != self.row.count(")") or '"' in self.row
        if is_open or _NO_PHRASE.search(own) or not own[0].isupper():
            return "its row's label is no noun phrase"
        if words_of(own) <= _BARE:
            return "its row's label has no noun of its own"
        if not words_of(f"{self.row} {self.measure}") & _MEASURED:
            return "its labels do not say what is measured"
        if len(self.row.split()) + len(self.measure.split()) > _MOST_LABEL:
            return "its labels are too long"
        if not (unit_words(self.cell.unit, 1.0) and self.when):
            return "its unit or period is unknown"
        if self.cell.value <= 0 or _CHANGE.search(f"{self.measure} {own}"):
            return "it is a change, zero or negative"
        return ""

    @property
    def name(self) -> str:
        """Return the item as a question quotes it."""
        return f'"{self.row}"' + (f' under "{self.measure}"' if self.measure else "")

    def may_mean(self, other: "Spot") -> bool:
        """Return whether a question on this cell fits `other`, which has another value."""
        if not self.key <= other.around or other.cell.unit not in ("", self.cell.unit):
            return False
        one, two = self.cell.period, other.cell.period
        is_same = one == two if "/" in one and "/" in two else not two or self.end == other.end
        step = max(spot.cell.scale * 10.0 ** -decimals_of([spot.cell]) for spot in (self, other))
        return is_same and abs(self.cell.exact - other.cell.exact) > step / 2


def ask_by_rules(
    filings: Sequence[Filing],
    grids: Sequence[Grid],
    passages: Sequence[Passage],
    per_level: int,
    seed: int,
) -> tuple[list[TableQuestion], list[Rejected]]:
    """Return at most `per_level` easy and medium questions, and the cells left out and why.

    They are spread over kinds, filings, tables and rows; `seed` breaks ties.
    """
    pools: dict[Level, list[TableQuestion]] = {"easy": [], "medium": []}
    rejected: list[Rejected] = []
    for filing in filings:
        home = {
            grid_id: passage.passage_id
            for passage in reversed(passages)
            if passage.filing_id == filing.filing_id
            for grid_id in passage.grid_ids
        }
        own = [grid for grid in grids if grid.filing_id == filing.filing_id]
        fit, left_out = _distinct(filing, own)
        rejected += left_out
        for grid in (grid for grid in own if grid.grid_id in home):
            asked = _on_table(filing, grid, fit.get(grid.grid_id, []), home[grid.grid_id])
            for question in asked:
                pools[question.level].append(question)
    chosen, tables = [], Counter()
    for pool in pools.values():
        random.Random(seed).shuffle(pool)
        chosen += _spread(pool, per_level, tables)
    return chosen, rejected


def spots_of(grid: Grid) -> list[Spot]:
    """Return the cells of a table that have a number."""
    above = words_of(f"{grid.section} {grid.caption}")
    measures = [" ".join(_TIME.sub(" ", column).split()).strip(" -/&") for column in grid.columns]
    return [
        Spot(
            CellRef(grid_id=grid.grid_id, row=row, column=column),
            _dated(cell, grid.columns[column]),
            _shown(label),
            measures[column],
            above | words_of(f"{label} {measures[column]}"),
        )
        for row, (label, cells) in enumerate(zip(grid.rows, grid.cells, strict=True))
        for column, cell in enumerate(cells)
        if cell.value is not None
    ]


def _dated(cell: Cell, column: str) -> Cell:
    found = re.findall(r"[A-Z][a-z]{2,8} \d{1,2}, \d{4}", column)
    if cell.period or len(found) != 1 or re.search(r"\bby\b|\bdue\b", column):
        return cell
    try:
        end = datetime.strptime(found[0], "%B %d, %Y").date()
    except ValueError:
        return cell
    begin = f"{end.replace(day=1, year=end.year - 1)}/" if "ended" in column.lower() else ""
    return cell.model_copy(update={"period": f"{begin}{end}"})


def _shown(label: str) -> str:
    parts = [_NOTE_MARK.sub("", " ".join(part.split())).strip(" :") for part in label.split(": ")]
    return ": ".join(part for part in parts[:-1] if _TIME.sub("", part).strip()) + (
        f": {parts[-1]}" if any(_TIME.sub("", part).strip() for part in parts[:-1]) else parts[-1]
    )


def _distinct(filing: Filing, grids: Sequence[Grid]) -> tuple[dict[str, list[Spot]], list]:
    spots, fit, left_out = [spot for grid in grids for spot in spots_of(grid)], {}, []
    with_word: dict[str, list[Spot]] = {}
    for spot in spots:
        for word in spot.around:
            with_word.setdefault(word, []).append(spot)
    for spot in spots:
        reason = spot.fault
        near = [] if reason else min((with_word[word] for word in spot.key), key=len)
        if any(spot.may_mean(other) for other in near):
            reason = "another cell with its words, date and unit has another value"
        if not reason:
            fit.setdefault(spot.ref.grid_id, []).append(spot)
            continue
        left_out.append(
            Rejected(
                document_id=filing.filing_id,
                reason=reason,
                item=f"{spot.ref.grid_id}: {spot.row} | {spot.measure}",
            )
        )
    return fit, left_out


def _on_table(
    filing: Filing, grid: Grid, spots: Sequence[Spot], passage_id: str
) -> Iterator[TableQuestion]:
    at = {(spot.ref.row, spot.ref.column): spot for spot in spots}
    drafts = [
        (
            "extraction",
            [spot],
            "a",
            (spot.cell.unit, spot.cell.scale),
            f"What did {filing.company} report for {spot.name} {spot.when}, in "
            f"{unit_words(spot.cell.unit, spot.cell.scale)}?",
        )
        for spot in spots
    ]
    for spot in spots:
        for before in (other for other in spots if _is_year_before(other, spot)):
            drafts += _changes(filing, spot, before)
    for parts, total in _sums(grid, at):
        drafts += _parts_asked(filing, parts, total)
    for number, (kind, used, expression, unit, question) in enumerate(drafts, 1):
        if len(question.split()) > MOST_WORDS:
            continue
        level: Level = "easy" if kind == "extraction" else "medium"
        cells = dict(zip("ab", used, strict=False))
        value = evaluate(expression, {name: spot.cell.value for name, spot in cells.items()})
        decimals = {"ratio": 2, "share": 1, "percent change": 1}.get(
            kind, decimals_of(spot.cell for spot in used)
        )
        answer, chain = printed(value, *unit, decimals), f"{grid.grid_id}-r{number}"
        steps = [
            f"{name} = {spot.name}, {spot.when} = {spot.cell.text}" for name, spot in cells.items()
        ]
        yield TableQuestion(
            question_id=f"{chain}-{level}",
            chain_id=chain,
            filing_id=filing.filing_id,
            passage_id=passage_id,
            level=level,
            kind=kind,
            question=question,
            answer=answer,
            steps=(*steps, f"{expression} = {answer}"),
            expression=expression,
            value=value,
            cells={name: spot.ref for name, spot in cells.items()},
            unit=unit[0],
            scale=unit[1],
        )


def _is_year_before(before: Spot, spot: Spot) -> bool:
    one, other = (
        (spot.ref.row, spot.measure, spot.cell.unit, spot.cell.scale, spot.period[0])
        for spot in (before, spot)
    )
    n_days = (date.fromisoformat(spot.end) - date.fromisoformat(before.end)).days
    return one == other and 350 <= n_days <= 380 and before.cell.value != spot.cell.value


def _changes(filing: Filing, spot: Spot, before: Spot) -> Iterator[tuple]:
    span, day = spot.period
    spans = f"the {span.removesuffix('s')}s ended " if span else ""
    asked = (
        f"did {filing.company}'s {spot.name} change between {spans}{before.period[1]} and {day}?"
    )
    if spot.cell.unit == "%":
        yield (
            "difference",
            [spot, before],
            "a - b",
            (POINTS, 1.0),
            f"By how many percentage points, with sign, {asked}",
        )
        return
    unit = (spot.cell.unit, spot.cell.scale)
    yield (
        "difference",
        [spot, before],
        "a - b",
        unit,
        f"By how much, with sign, in {unit_words(*unit)}, {asked}",
    )
    if abs(spot.cell.value / before.cell.value - 1) * 100 < _LARGEST:
        yield (
            "percent change",
            [spot, before],
            "(a - b) / b * 100",
            ("%", 1.0),
            f"By what percentage, with sign and one decimal, {asked}",
        )


def _sums(grid: Grid, at: Mapping[tuple[int, int], Spot]) -> Iterator[tuple[list[Spot], Spot]]:
    """Yield each total with the rows directly above it that sum to it."""
    for (row, column), total in at.items():
        if "total" not in words_of(own_label(total.row)):
            continue
        parts, kind = [], (total.cell.unit, total.cell.period)
        for above in range(row - 1, -1, -1):
            cell = grid.cells[above][column]
            if cell.value is None or cell.value < 0 or (cell.unit, cell.period) != kind:
                break
            parts.append(above)
            rest = abs(sum(grid.cells[part][column].exact for part in parts) - total.cell.exact)
            if len(parts) > 1 and rest <= total.cell.scale * 10 ** -decimals_of([total.cell]):
                groups = words_of(" ".join(grid.rows[part].rpartition(": ")[0] for part in parts))
                if groups <= words_of(total.row):
                    yield [at[part, column] for part in parts if (part, column) in at], total
                break


def _parts_asked(filing: Filing, parts: Sequence[Spot], total: Spot) -> Iterator[tuple]:
    under = f' under "{total.measure}"' if total.measure else ""
    for part in parts:
        yield (
            "share",
            [part, total],
            "a / b * 100",
            ("%", 1.0),
            f'What percentage of "{total.row}" was "{part.row}"{under} at {filing.company} '
            f"{part.when}, to one decimal?",
        )
    for one, other in combinations(sorted(parts, key=lambda part: -part.cell.value), 2):
        if one.cell.value <= _MOST_TIMES * other.cell.value:
            yield (
                "ratio",
                [one, other],
                "a / b",
                ("", 1.0),
                f'What was the ratio of "{one.row}" to "{other.row}"{under} at '
                f"{filing.company} {one.when}, to two decimals?",
            )


def _spread(pool: list[TableQuestion], most: int, tables: Counter) -> list[TableQuestion]:
    chosen: list[TableQuestion] = []
    used: Counter = Counter()
    while pool and len(chosen) < most:
        best = min(
            pool,
            key=lambda one: (
                used[one.kind],
                used[one.filing_id],
                *(used[ref.grid_id, ref.row] for ref in list(one.cells.values())[:1]),
                tables[one.passage_id],
            ),
        )
        pool.remove(best)
        refs = list(best.cells.values())
        figures = (best.filing_id, best.kind, best.answer)
        if tables[refs[0].grid_id] >= MOST_OF_TABLE or used[figures]:
            continue
        chosen.append(best)
        tables.update((refs[0].grid_id, best.passage_id))
        used.update((best.kind, best.filing_id, (refs[0].grid_id, refs[0].row), figures))
    return chosen
