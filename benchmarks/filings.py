"""Processor time and memory of reading annual reports: many tables, one long table, plain text.

python -m benchmarks filings
"""

import json
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from lib.core.paths import REPOSITORY
from lib.tablequest.filings.read import read_file
from lib.tablequest.made_up.tables import Line, MadeTable, as_html

TABLES = (675, 1350, 2700)  # of 34 rows, each with three values
ROWS = (25_000, 50_000, 100_000)  # of one table
PAGES = (600, 1200, 2400)  # times the plain text below
PLAIN = REPOSITORY / "tests" / "data" / "text_filings" / "acme-10-k-1997.txt"
COVER = "<html><body><p>FORM 10-K</p><p>For the fiscal year ended May 31, 2031</p>"


def made_table(n_rows: int) -> str:
    """Return a table of `n_rows` and three columns, split over cells; a row has 320 bytes."""
    lines = tuple(Line(f"Sales of branch {row} and of the shops that belong to it",
                       (row + 1.0, row * 7.0 + 3, -row * 3.0 - 5)) for row in range(n_rows))
    made = MadeTable("Sales by branch", "Sales were as follows (in millions):",
                     ("2031", "2030", "2029"), lines, {"USD": 1e6})
    return as_html(made, "split")


def filings() -> dict[tuple[str, int], bytes]:
    """Return the reports that are read, by kind and size."""
    table = made_table(34)
    head, _, body = PLAIN.read_text(encoding="utf-8").partition("PART II")
    body = body.partition("</TEXT>")[0]
    found = {("tables", n): COVER + "".join(
        f"<p><b>Note {at // 30 + 1} – Matter</b></p>" * (at % 30 == 0) + table
        for at in range(n)) + "</body></html>" for n in TABLES}
    found |= {("rows of one table", n): f"{COVER}{made_table(n)}</body></html>" for n in ROWS}
    found |= {("times a plain text", n): f"{head}PART II{body * n}</TEXT>" for n in PAGES}
    return {key: text.encode() for key, text in found.items()}


def measured(raw: bytes, is_plain: bool) -> dict[str, float]:
    """Read a report in a process of its own; return its seconds, MB and values."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "acme.txt" if is_plain else "acme.html")
        path.write_bytes(raw)
        ran = subprocess.run([sys.executable, "-m", "benchmarks.filings", str(path)], text=True,
                             cwd=REPOSITORY, capture_output=True, check=True)
    return json.loads(ran.stdout)


def _one(path: Path) -> dict[str, float]:
    start = time.process_time()
    read = read_file(path)
    seconds = time.process_time() - start
    # not ru_maxrss, which begins with what the process that started this one held
    peak = re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text(encoding="utf-8"))
    return {"seconds": seconds, "mb": int(peak[1]) / 1024, "values": read.check.n_values}


def main() -> str:
    """Measure and return the section in Markdown."""
    lines = ["## Reading filings", "", "`python -m benchmarks filings`: processor seconds and peak "
             "memory of one process; linear means equal seconds per 10,000 values.", "",
             "| report | MB | values | seconds | seconds per 10,000 values | peak MB |",
             "| --- | ---: | ---: | ---: | ---: | ---: |"]
    for (kind, size), raw in filings().items():
        found = measured(raw, "text" in kind)
        lines.append(f"| {size:,} {kind} | {len(raw) / 1e6:.1f} | {found['values']:,} | "
                     f"{found['seconds']:.1f} | {1e4 * found['seconds'] / found['values']:.2f} | "
                     f"{found['mb']:.0f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(json.dumps(_one(Path(sys.argv[1]))))
