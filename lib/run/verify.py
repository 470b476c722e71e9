"""`make verify`: the tables of a fresh run beside the committed ones of the exhibit."""

import sys
from pathlib import Path

import pandas as pd

from lib.core.store import REPOSITORY, result_path

EXHIBIT = REPOSITORY / "figures" / "exhibit"
_WIDTH = 1.96 * 2**0.5  # of a difference between two bases, in standard deviations of one
_KEYS = ["arm", "structure"]


def verify(study: str, exhibit: Path = EXHIBIT) -> pd.DataFrame:
    """Compare each committed table with that of `study`: file, result, differences in points.

    Accuracies that differ are compared with the spread between the bases of the replicates.
    """
    found = [
        (committed.name, *_compared(committed, result_path(study, committed.name)))
        for committed in sorted((exhibit / study).glob("*.csv"))
    ]
    return pd.DataFrame(found, columns=["file", "result", "differences"])


def _compared(committed: Path, fresh: Path) -> tuple[str, str]:
    if not fresh.exists():
        return "not written by this run", ""
    if fresh.read_bytes() == committed.read_bytes():
        return "equal to the byte", ""
    tables = [pd.read_csv(path) for path in (committed, fresh)]
    value = "accuracy" if "accuracy" in tables[0] else "mean"
    if not all({*_KEYS, value} <= {*table} for table in tables):
        return "not compared: it has no accuracies", ""
    before, after = (table.set_index(_KEYS)[value] for table in tables)
    points = 100 * (after - before)
    spread = pd.read_csv(EXHIBIT / "replicates" / "estimates.csv").groupby("contrast").points.std()
    contrasts = [f"{arm.partition('@')[0]} {structure}" for arm, structure in points.index]
    allowed = _WIDTH * spread.reindex(contrasts).fillna(1)  # an untrained arm guesses
    text = ", ".join(f"{' '.join(key)} {point:+.1f}" for key, point in points.items() if point)
    if points.isna().any():
        return "differs: other rows", text
    is_within = (points.abs().to_numpy() <= allowed.to_numpy()).all()
    return ("within" if is_within else "beyond") + " the spread between bases", text or "none"


if __name__ == "__main__":
    name = sys.argv[1] if len(sys.argv) > 1 else "lab"
    table = verify(name)
    pd.set_option("display.max_colwidth", None, "display.width", None)
    print(table.to_string(index=False) if len(table) else f"figures/exhibit has nothing of {name}")
    sys.exit(int(table.result.str.startswith(("beyond", "differs")).any()))
