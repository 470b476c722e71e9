"""Join tables side by side: "State | Stores | State | Stores" is one table of two columns."""

from dataclasses import replace

from lib.tasks.tablequest.grids.cells import PlacedCell
from lib.tasks.tablequest.grids.labels import column_label
from lib.tasks.tablequest.grids.layout import BodyRow, Column, Layout


def one_panel(layout: Layout) -> Layout:
    """Return `layout` with its panels below each other, or unchanged if it has only one.

    A panel is a column of labels and the columns of numbers after it, with the same headers as the
    first panel. If the headers of the label columns differ ("Canada", "Mexico"), each becomes a
    group's row.
    """
    bounds = [index for index, column in enumerate(layout.columns) if column.is_text]
    width = bounds[0] if bounds else 0
    names = [column_label(headers) for headers in layout.headers]
    if not width or len(names) != width + len(bounds) * (width + 1):
        return layout
    starts = [0, *(bound + 1 for bound in bounds)]
    is_same = all(names[start:start + width] == names[:width] for start in starts)
    if not is_same or not any(names[:width]):
        return layout
    corner = layout.corner[-1] if layout.corner else ""
    heads = [corner, *(names[bound] for bound in bounds)]
    has_groups = len(set(heads)) > 1
    rows: list[BodyRow] = []
    for panel, head in enumerate(heads):
        if has_groups and (panel == 0 or head != heads[panel - 1]):
            rows.append(BodyRow((PlacedCell(0, 1, head, is_bold=True),), (None,) * width))
        cut = [_panel_row(row, panel, width) for row in layout.rows]
        cut = [row for row in cut if not row.is_blank]
        rows += [_without_rules(cut[0]), *cut[1:]] if cut else []
    first = tuple(Column(column.start, column.end, False) for column in layout.columns[:width])
    end = first[-1].end
    kept = tuple(replace(row, cells=tuple(cell for cell in row.cells if cell.start < end))
                 for row in layout.header_rows)
    return replace(layout, columns=first, headers=layout.headers[:width], header_rows=kept,
                   rows=tuple(rows), corner=() if has_groups else (corner,))


def _panel_row(row: BodyRow, panel: int, width: int) -> BodyRow:
    if panel == 0:
        return BodyRow(row.label, row.cells[:width])
    start = panel * (width + 1)  # the labels are in the column before
    label = row.cells[start - 1]
    return BodyRow((label,) if label else (), row.cells[start:start + width])


def _without_rules(row: BodyRow) -> BodyRow:
    """Drop the line between the header and a panel's first row, which does not mark a sum."""
    return replace(row, cells=tuple(cell and replace(cell, has_rule=False) for cell in row.cells))
