"""`make verify`: equal tables, tables of another base, and tables that no base explains."""

import pandas as pd
import pytest

from lib.run.provenance import verify


@pytest.mark.parametrize(
    ("shift", "result"),
    [
        (0, "equal to the byte"),
        (9, "within the spread between bases: dapt natural +9.0"),
        (60, "beyond the spread between bases: dapt natural +60.0"),
    ],
)
def test_a_fresh_table_is_equal_within_or_beyond_the_spread(tmp_path, monkeypatch, shift, result):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    fresh, committed = tmp_path / "figures" / "lab" / "tables", tmp_path / "exhibit" / "lab"
    table = pd.DataFrame({"arm": ["base", "dapt"], "structure": "natural", "accuracy": [0, 0.3]})
    for folder, change in ((committed, 0), (fresh, shift / 100)):
        folder.mkdir(parents=True)
        moved = table.assign(accuracy=table.accuracy + [0, change])
        moved.to_csv(folder / "table2.csv", index=False)
    table.to_csv(committed / "exposures.csv", index=False)
    assert verify("lab", committed.parent) == {
        "exposures.csv": "not there: this study does not write it, or has not run yet",
        "table2.csv": result,
    }
