"""How well a folder of filings is read, against their own inline XBRL.

python -m benchmarks.filings FOLDER
"""

import gzip
import json
import re
import subprocess
import sys
import time
from collections import Counter
from fractions import Fraction
from pathlib import Path

from lxml import html

from benchmarks.documents import peak
from lib.core.store import REPOSITORY
from lib.tablequest.records import Cell

FACT = "ix:nonfraction"
COLUMNS = ("tagged", "covered", "right", "untagged value", "unit")
# What a reader calls the units that have a name of their own; other counted things may have none.
UNITS = {"usd": "USD", "shares": "shares", "pure": "", "usd/shares": "USD/share"}
EMPTY = Cell(text="", value=None, unit="?", scale=1)


class Truth:
    """The tagged numbers of a filing, read without any code of the package."""

    def __init__(self, path: Path) -> None:
        raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        self.root = html.document_fromstring(raw, html.HTMLParser(encoding="utf-8", huge_tree=True))
        self.units, self.periods = {}, {}
        for node in self.root.iter():
            name = str(node.tag).rpartition(":")[2]
            texts = [
                "".join(one.itertext()).strip()
                for one in node.iter()
                if str(one.tag).endswith((":measure", "date", ":instant"))
            ]
            if name == "unit":
                names = [text.rpartition(":")[2].lower() for text in texts]
                self.units[node.get("id")] = "/".join(names)
            elif name == "context" and texts:
                self.periods[node.get("id")] = "/".join(dict.fromkeys(texts))

    def tables(self) -> dict[int, Counter[tuple[Fraction, str, str]]]:
        """Return by table the numbers (value in whole units, unit, period) of one-number cells."""
        found = {}
        for number, table in enumerate(self.root.iter("table"), 1):
            cells = [
                cell
                for cell in table.iter("td", "th")
                if next(cell.iterancestors("table")) is table and cell.find(".//table") is None
            ]
            facts = filter(None, map(self._fact, cells))
            found[number] = Counter(facts)
        return found

    def _fact(self, cell: html.HtmlElement) -> tuple[Fraction, str, str] | None:
        tags = [tag for tag in cell.iter(FACT) if tag.find(f".//{FACT}") is None]
        text = " ".join("".join(cell.itertext()).split())
        if len(tags) != 1 or not (printed := "".join(tags[0].itertext()).strip()):
            return None
        others = re.sub(r"\(\w{1,2}\)$|\[\w\]$", "", text.replace(printed, "", 1)).strip()
        if re.search(r"\w", others):
            return None
        digits = re.sub(r"[^\d.]", "", printed) or "0"
        if "comma-decimal" in (tags[0].get("format") or ""):
            digits = re.sub(r"[^\d,]", "", printed).replace(",", ".")
        value = Fraction(digits) * Fraction(10) ** int(tags[0].get("scale") or 0)
        unit = self.units.get(tags[0].get("unitref"), "")
        return value, unit, self.periods.get(tags[0].get("contextref"), "")


def whole(cell: Cell) -> Fraction:
    """Return what a cell is worth, without its sign."""
    parts = {"%": 100, "percentage points": 100, "basis points": 10_000}.get(cell.unit, 1)
    return abs(cell.exact) / parts if cell.value is not None else Fraction(-1)


def is_unit(unit: str, of_tag: str) -> bool:
    """True if a cell's unit is its tag's, or a counted thing ("sites") without a name."""
    if re.fullmatch(r"[a-z]{3}", of_tag):
        return unit == of_tag.upper()
    if of_tag == "pure":
        return unit in ("", "%", "times", "percentage points", "basis points")
    if of_tag.endswith("/shares"):
        return unit == f"{of_tag[:3].upper()}/share"
    return unit == of_tag if of_tag == "shares" else not re.fullmatch(r"[A-Z]{3}.*|%", unit)


def measured(path: Path) -> dict[str, float]:
    """Read one filing with and without its tags, and count what is right."""
    from lib.tablequest.filings import read_filing

    floor, start = peak(), time.process_time()
    read = read_filing(path)
    seconds, megabytes = time.process_time() - start, peak() - floor
    plain, truth = read_filing(path, tags=False), Truth(path).tables()
    counts: Counter[str] = Counter(tagged=sum(numbers.total() for numbers in truth.values()))
    alone = {grid.grid_id: grid for grid in plain.grids}
    for grid in read.grids:
        left = truth[int(re.search(r"-t(\d+)[.\d]*$", grid.grid_id)[1])]
        others = alone.get(grid.grid_id)
        is_alike = others and (len(others.rows), others.columns) == (len(grid.rows), grid.columns)
        for row, cells in enumerate(grid.cells):
            for column, cell in enumerate(cells):
                if cell.source != "tag":
                    continue
                other = others.cells[row][column] if is_alike else EMPTY
                same = [fact for fact in left if fact[0] == whole(cell) and left[fact]]
                exact = [
                    fact for fact in same if is_unit(cell.unit, fact[1]) and fact[2] == cell.period
                ]
                counts["covered"] += 1
                counts["right"] += bool(exact)
                if fact := next(iter(exact or same), None):
                    left[fact] -= 1
                    counts["untagged value"] += whole(other) == fact[0]
                    counts["unit"] += is_unit(other.unit, fact[1])
    return {**counts, "s": seconds, "MB": megabytes}


def table(rows: dict[str, dict[str, float]]) -> str:
    """Return a Markdown table with a row per filing and one for all together."""
    together = {name: sum(row.get(name, 0) for row in rows.values()) for name in COLUMNS}
    most = {name: max(row[name] for row in rows.values()) for name in ("s", "MB")}
    lines = [f"| filing | {' | '.join((*COLUMNS, 's', 'MB'))} |", "| --- |" + " ---: |" * 7]
    for name, row in [*rows.items(), ("all, at most", together | most)]:
        shares = [
            f"{row.get(one, 0):,} ({row.get(one, 0) / max(1, row['tagged']):.1%})"
            for one in COLUMNS[1:]
        ]
        lines.append(
            f"| {name} | {row['tagged']:,} | {' | '.join(shares)} | {row['s']:.2f} | "
            f"{row['MB']:.0f} |"
        )
    return "\n".join(lines)


def main(folder: Path) -> str:
    """Measure each filing below `folder` in a process of its own."""
    rows = {}
    for path in sorted([*folder.rglob("*.htm*")]):
        ran = subprocess.run(
            [sys.executable, "-m", "benchmarks.filings", "--one", str(path)],
            cwd=REPOSITORY,
            text=True,
            capture_output=True,
            check=False,
        )
        if ran.returncode:
            print(f"{path.name}: {ran.stderr.splitlines()[-1]}", file=sys.stderr)
        else:
            rows[path.name.split(".")[0]] = json.loads(ran.stdout)
    return table(rows)


if __name__ == "__main__":
    if sys.argv[1] == "--one":
        print(json.dumps(measured(Path(sys.argv[2]))))
    else:
        print(main(Path(sys.argv[1])))
