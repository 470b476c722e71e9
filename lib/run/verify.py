"""`make verify`: the tables of a fresh run beside the committed ones of the exhibit."""

import sys
from pathlib import Path

import pandas as pd

from lib.core.store import REPOSITORY, result_path

EXHIBIT = REPOSITORY / "figures" / "exhibit"
_WIDTH = 1.96 * 2**0.5  # of a difference between two bases, in standard deviations of one


def verify(study: str, exhibit: Path = EXHIBIT) -> pd.DataFrame:
    """Compare each committed table with that of `study`: file, result, differences in points.

    Accuracies that differ are compared with the spread between the bases of the replicates.
    """
    found = []
    for committed in sorted((exhibit / study).glob("*.csv")):
        fresh = result_path(study, committed.name)
        if not fresh.exists():
            found.append((committed.name, "not written by this run", ""))
        elif fresh.read_bytes() == committed.read_bytes():
            found.append((committed.name, "equal to the byte", ""))
        else:
            found.append((committed.name, *_compared(committed, fresh)))
    return pd.DataFrame(found, columns=["file", "result", "differences"])


def _compared(committed: Path, fresh: Path) -> tuple[str, str]:
    before, after = pd.read_csv(committed), pd.read_csv(fresh)
    keys = ["arm", "structure"]
    value = next((name for name in ("accuracy", "mean") if name in before), "")
    if not {*keys, value} <= {*before} & {*after}:
        return "not compared: it has no accuracies", ""
    both = before.merge(after, on=keys, how="outer", suffixes=("", "_fresh"))
    points = 100 * (both[f"{value}_fresh"] - both[value])
    spread = pd.read_csv(EXHIBIT / "replicates" / "estimates.csv")
    sd = spread.groupby("contrast").points.std()
    arms = both.arm.str.replace(r"@\d+$", "", regex=True)
    allowed = _WIDTH * (arms + " " + both.structure).map(sd).fillna(1)  # an untrained arm guesses
    text = ", ".join(
        f"{row.arm} {row.structure} {point:+.1f}"
        for row, point in zip(both.itertuples(), points, strict=True)
        if point
    )
    if points.isna().any():
        return "differs: other rows", text
    is_within = (points.abs() <= allowed).all()
    return ("within" if is_within else "beyond") + " the spread between bases", text or "none"


if __name__ == "__main__":
    name = sys.argv[1] if len(sys.argv) > 1 else "lab"
    table = verify(name)
    pd.set_option("display.max_colwidth", None, "display.width", None)
    print(table.to_string(index=False) if len(table) else f"figures/exhibit has nothing of {name}")
    sys.exit(int(table.result.str.startswith(("beyond", "differs")).any()))
