"""A small filing with two tables, and questions on it, for the tests of asking and scoring."""

import html

from lib.tasks.tablequest.records import Block, Cell, CellRef, Filing, Grid, Passage, TableQuestion

FILING = Filing(filing_id="alm", company="Alm Corp.", form="10-K", period="December 31, 2024",
                fiscal_year=2024, path="alm.html", n_tables=2)


def dollars(text: str) -> Cell:
    """Return a cell in millions of dollars as printed, brackets negative."""
    value = float(text.strip("$()").replace(",", "").replace("$", ""))
    return Cell(text=text, value=-value if "(" in text else value, unit="USD", scale=1e6)


def percent(text: str) -> Cell:
    value = float(text.strip("()%"))
    return Cell(text=text, value=-value if "(" in text else value, unit="%", scale=1.0)


def grid(grid_id: str, columns: tuple[str, ...], rows: dict[str, tuple[Cell, ...]],
         caption: str = "", corner: str = "", unit_note: str = "") -> Grid:
    """Return a grid whose HTML has its labels and values alone."""
    lines = [(corner, *columns), *((label, *(cell.text for cell in cells))
                                   for label, cells in rows.items())]
    body = "".join("<tr>" + "".join(f"<td>{html.escape(text)}</td>" for text in line) + "</tr>"
                   for line in lines)
    return Grid(grid_id=grid_id, filing_id="alm", section="Item 7", caption=caption,
                unit_note=unit_note, corner=corner, columns=columns, rows=tuple(rows),
                cells=tuple(rows.values()), footnotes=(), html=f"<table>{body}</table>")


SALES = grid("alm-t01", ("2024", "2023"), {
    "Net sales: Pumps": (dollars("$391,035"), dollars("$383,285")),
    "Net sales: Valves": (dollars("96,169"), dollars("85,200")),
    "Operating loss": (dollars("(1,117)"), dollars("(565)"))}, "Net sales were as follows:", "",
    "(in millions)")
MARGINS = grid("alm-t02", ("2024", "2023"), {
    "Gross margin: Pumps": (percent("37.2%"), percent("36.5%")),
    "Gross margin: Valves": (percent("73.9%"), percent("70.8%"))})
TABLES = [SALES, MARGINS]
GRIDS = {one.grid_id: one for one in TABLES}
PASSAGE = Passage(passage_id="alm-p01", filing_id="alm", section="Item 7", blocks=(
    Block(kind="heading", text="Results"),
    Block(kind="paragraph", text="Net sales of pumps rose to $391,035 million in 2024. Mr. A. Alm "
          "left the board."),
    Block(kind="table", text="", grid_id="alm-t01"),
    Block(kind="table", text="", grid_id="alm-t02")))


def ask(level: str, kind: str, question: str, answer: str, value: float | None, unit: str = "USD",
        scale: float = 1e6, question_id: str = "q1",
        **cells: tuple[str, int, int]) -> TableQuestion:
    """Return a question on PASSAGE; cells are name=(grid_id, row, column)."""
    refs = {name: CellRef(grid_id=key, row=row, column=column)
            for name, (key, row, column) in cells.items()}
    return TableQuestion(
        question_id=question_id, chain_id="c1", filing_id="alm", passage_id="alm-p01", level=level,
        kind=kind, question=question, answer=answer, steps=("Look it up.",), expression="",
        value=value, unit=unit, scale=scale, cells=refs)


EASY = ask("easy", "extraction", "What were Alm Corp.'s net sales of pumps in 2024?",
           "$391,035 million", 391_035.0, a=("alm-t01", 0, 0))
MARGIN = ask("easy", "extraction", "What was the gross margin of pumps in 2024?", "37.2%", 37.2,
             "%", 1.0, "q2", a=("alm-t02", 0, 0))
LOSS = ask("easy", "extraction", "What was the operating result of Alm Corp. in 2024?",
           "-$1,117 million", -1117.0, question_id="q3", a=("alm-t01", 2, 0))
GROWTH = ask("medium", "percent change",
             "By what percentage did net sales of valves change from 2023 to 2024?", "12.9%",
             100 * (96_169 - 85_200) / 85_200, "%", 1.0, "q4", a=("alm-t01", 1, 0),
             b=("alm-t01", 1, 1))
CHANGE = ask("medium", "difference", "How much did net sales of pumps change from 2023 to 2024?",
             "$7,750 million", 7_750.0, question_id="q5", a=("alm-t01", 0, 0), b=("alm-t01", 0, 1))
HARD = ask("hard", "trend", "How did net sales of pumps develop?",
           "Net sales of pumps rose by 2.0% to $391,035 million.", None, "", 1.0, "q6",
           a=("alm-t01", 0, 0), b=("alm-t01", 0, 1))
QUESTIONS = (EASY, MARGIN, LOSS, GROWTH, CHANGE, HARD)
