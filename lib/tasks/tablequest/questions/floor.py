"""Questions by rules, a floor: on one cell, or on two of one table whose labels say what they are.

A cell is asked for only if no other cell of the filing has the words of its row and column, its
date and its unit, and another value. Hard questions need a model.
"""

import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import date

from lib.core.records import Rejected
from lib.tasks.tablequest.questions.checks import answered
from lib.tasks.tablequest.questions.spots import Spot, distinct_spots
from lib.tasks.tablequest.records import Filing, Grid, Level, TableQuestion, Texts, own_label
from lib.tasks.tablequest.wording import decimals_of, words_of

MOST_WORDS, MOST_OF_TABLE = 30, 10
_LEAST, _LARGEST = 0.005, 4.0  # change as a share: more comes from almost nothing


def ask_by_rules(
    texts: Texts, per_level: int, seed: int
) -> tuple[list[TableQuestion], list[Rejected]]:
    """Return at most `per_level` easy and medium questions, and the cells left out and why.

    They are spread over kinds, filings, tables and rows; `seed` breaks ties.
    """
    drafted: list[TableQuestion] = []
    rejected: list[Rejected] = []
    home = {key: name for name, passage in texts.passages.items() for key in passage.grid_ids}
    for filing in texts.filings.values():
        own = [grid for grid in texts.grids.values() if grid.filing_id == filing.filing_id]
        fit, left_out = distinct_spots(filing, own)
        rejected += left_out
        drafted += [
            one
            for grid in own
            if grid.grid_id in home
            for one in _on_table(filing, grid, fit[grid.grid_id], home[grid.grid_id])
        ]
    chosen, tables = [], Counter()
    for level in ("easy", "medium"):
        pool = [one for one in drafted if one.level == level]
        random.Random(seed).shuffle(pool)
        chosen += _spread(pool, per_level, tables)
    return chosen, rejected


def _on_table(
    filing: Filing, grid: Grid, spots: Sequence[Spot], passage_id: str
) -> Iterator[TableQuestion]:
    for number, (kind, used, question) in enumerate(_drafts(filing, grid, spots), 1):
        if len(question.split()) > MOST_WORDS:
            continue
        level: Level = "easy" if kind == "extraction" else "medium"
        cells = dict(zip("ab", used, strict=False))
        result, chain = answered(kind, [one.cell for one in used]), f"{grid.grid_id}-r{number}"
        steps = [
            f"{name} = {one.name}, {one.when} = {one.cell.text}" for name, one in cells.items()
        ]
        yield TableQuestion(
            question_id=f"{chain}-{level}",
            chain_id=chain,
            filing_id=filing.filing_id,
            passage_id=passage_id,
            level=level,
            kind=kind,
            question=question,
            steps=(*steps, f"{result['expression']} = {result['answer']}"),
            cells={name: spot.ref for name, spot in cells.items()},
            **result,
        )


def _drafts(filing: Filing, grid: Grid, spots: Sequence[Spot]) -> Iterator[tuple]:
    for spot in spots:
        asked = f"What did {filing.company} report for {spot.name} {spot.when}"
        yield "extraction", [spot], f"{asked}, in {spot.unit}?"
        for before in spots:
            if _is_year_before(before, spot):
                yield from _changes(filing, spot, before)
    for parts, total in _sums(grid, {(spot.ref.row, spot.ref.column): spot for spot in spots}):
        for part in parts:
            yield (
                "share",
                [part, total],
                f'What percentage of "{total.row}" was "{part.row}"{part.under} at '
                f"{filing.company} {part.when}, to one decimal?",
            )


def _is_year_before(before: Spot, spot: Spot) -> bool:
    kinds = {
        (one.ref.row, one.measure, one.cell.unit, one.cell.scale, one.is_dated, one.period[0])
        for one in (before, spot)
    }
    if len(kinds) > 1 or before.cell.value == spot.cell.value:
        return False
    if not spot.is_dated:  # the columns differ in a year, or in its days
        headers = {re.sub(r"\d+", "", one.column) for one in (before, spot)}
        return len(headers) == 1 and int(spot.end[:4]) - int(before.end[:4]) == 1
    n_days = (date.fromisoformat(spot.end) - date.fromisoformat(before.end)).days
    return 350 <= n_days <= 380


def _changes(filing: Filing, spot: Spot, before: Spot) -> Iterator[tuple]:
    span, day = spot.period
    times = f"{before.period[1]} and {day}" if day else f'"{before.column}" and "{spot.column}"'
    spans = f"the {span.removesuffix('s')}s ended " if span else ""
    asked = f"did {filing.company}'s {spot.name} change between {spans}{times}?"
    pair, is_share = [spot, before], spot.cell.unit == "%"
    many = (
        "many percentage points, with sign," if is_share else (f"much, with sign, in {spot.unit},")
    )
    yield "difference", pair, f"By how {many} {asked}"
    if not is_share and _LEAST < abs(spot.cell.value / before.cell.value - 1) < _LARGEST:
        yield ("percent change", pair, f"By what percentage, with sign and one decimal, {asked}")
        yield "ratio", pair, f"By what ratio, later to earlier and to two decimals, {asked}"


def _sums(grid: Grid, at: Mapping[tuple[int, int], Spot]) -> Iterator[tuple[list[Spot], Spot]]:
    # each total, with the rows directly above that sum to it
    for (row, column), total in at.items():
        if total.cell.unit == "%" or "total" not in words_of(own_label(total.row)):
            continue
        parts, rest = [], total.cell.exact
        for above in range(row - 1, -1, -1):
            cell = grid.cells[above][column]
            if (
                cell.value is None
                or cell.value < 0
                or (cell.unit, cell.period) != (total.cell.unit, total.cell.period)
            ):
                break
            parts.append(above)
            rest -= cell.exact
            if len(parts) > 1 and abs(rest) <= total.cell.scale * 10 ** -decimals_of([total.cell]):
                groups = words_of(" ".join(grid.rows[part].rpartition(": ")[0] for part in parts))
                if groups <= words_of(total.row):
                    yield [at[part, column] for part in parts if (part, column) in at], total
                break


def _spread(pool: list[TableQuestion], most: int, tables: Counter) -> list[TableQuestion]:
    chosen, used = [], Counter()
    while pool and len(chosen) < most:
        best = min(
            pool,
            key=lambda one: (
                used[one.kind],
                used[one.filing_id],
                used[(ref := one.cells["a"]).grid_id, ref.row],
                tables[one.passage_id],
            ),
        )
        pool.remove(best)
        ref, figures = best.cells["a"], (best.filing_id, best.kind, best.answer)
        if tables[ref.grid_id] < MOST_OF_TABLE and not used[figures]:
            chosen.append(best)
            tables.update((ref.grid_id, best.passage_id))
            used.update((best.kind, best.filing_id, (ref.grid_id, ref.row), figures))
    return chosen
