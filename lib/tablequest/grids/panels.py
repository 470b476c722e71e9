"""Tables that are set side by side to save room: "State | Stores | State | Stores" is one table of two columns."""

from dataclasses import replace

from lib.tablequest.grids.cells import PlacedCell
from lib.tablequest.grids.labels import column_label
from lib.tablequest.grids.layout import BodyRow, Column, Layout


def one_panel(layout: Layout) -> Layout:
    """`layout` with its panels below each other, or as it is where it has one.

    A panel is a column of labels and the columns of numbers after it, under the same headers as the first ones. Where
    the labels' own headers differ ("Canada", "Mexico"), each becomes a group's row.
    """
    bounds = [index for index, column in enumerate(layout.columns) if column.is_text]
    width = bounds[0] if bounds else 0
    names = [column_label(headers) for headers in layout.headers]
    n_panels = len(bounds) + 1
    if not width or len(names) != width + len(bounds) * (width + 1):
        return layout
    starts = [0, *(bound + 1 for bound in bounds)]
    if any(names[start:start + width] != names[:width] for start in starts) or not any(names[:width]):
        return layout
    corner = layout.corner[-1] if layout.corner else ""
    heads = [corner, *(names[bound] for bound in bounds)]
    rows: list[BodyRow] = []
    for panel in range(n_panels):
        if len(set(heads)) > 1 and (panel == 0 or heads[panel] != heads[panel - 1]):
            rows.append(BodyRow((PlacedCell(0, 1, heads[panel], is_bold=True),), (None,) * width))
        cut = [row for row in (_panel_row(row, panel, width) for row in layout.rows) if not row.is_blank]
        rows += [_without_rules(cut[0]), *cut[1:]] if cut else []
    first = tuple(Column(column.start, column.end, False) for column in layout.columns[:width])
    kept = tuple(replace(row, cells=tuple(cell for cell in row.cells if cell.start < first[-1].end))
                 for row in layout.header_rows)
    return replace(layout, columns=first, headers=layout.headers[:width], header_rows=kept, rows=tuple(rows),
                   corner=(corner,) if len(set(heads)) == 1 else ())


def _panel_row(row: BodyRow, panel: int, width: int) -> BodyRow:
    if panel == 0:
        return BodyRow(row.label, row.cells[:width])
    start = panel * (width + 1)  # the label's column is the one before
    label = row.cells[start - 1]
    return BodyRow((label,) if label else (), row.cells[start:start + width])


def _without_rules(row: BodyRow) -> BodyRow:
    """A panel's first row without the line of the header above it, which is no sum's."""
    return replace(row, cells=tuple(cell and replace(cell, has_rule=False) for cell in row.cells))
