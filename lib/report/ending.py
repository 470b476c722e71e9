"""Say at the end of `make study` what was found and where it is, in a few lines."""

from pathlib import Path

from lib.core.paths import shown
from lib.report.answers import answer
from lib.report.kinds import KINDS
from lib.report.sources import Source, Table

MOST_SENTENCES = 3
MOST_LINES = 24  # of the table


def ending(study: str, kind: str, report: Path) -> str:
    """Return the main table, at most three sentences, and five lines on where everything is."""
    source = Source(study)
    table = source.table(KINDS[kind].table)
    places = [("report", shown(report)), ("notebooks", shown(source.data / "notebooks")),
              ("tables", shown(source.figures)), ("provenance", shown(source.data / "run.json")),
              ("to change it", f"studies/{study}.yaml")]
    parts = [_aligned(table) if table else "", "\n".join(answer(source, kind)[:MOST_SENTENCES]),
             "\n".join(f"{name + ':':14}{place}" for name, place in places)]
    return "\n\n".join(part for part in parts if part)


def _aligned(table: Table) -> str:
    widths = [max(map(len, column)) for column in zip(table.header, *table.rows, strict=True)]
    lines = [table.header, ["-" * width for width in widths], *table.rows[:MOST_LINES]]
    more = len(table.rows) + table.left_out - MOST_LINES
    drawn = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
             for line in lines]
    return "\n".join(drawn + [f"and {more} more rows"] * (more > 0))
