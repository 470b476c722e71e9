"""`make verify`: equal tables, tables of another base, and tables that no base explains."""

import pandas as pd
import pytest

from lib.run.verify import verify


@pytest.mark.parametrize(
    "shift, result",
    [
        (0, "equal to the byte"),
        (9, "within the spread between bases"),
        (60, "beyond the spread between bases"),
    ],
)
def test_a_fresh_table_is_equal_within_or_beyond_the_spread(tmp_path, monkeypatch, shift, result):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    folder = tmp_path / "figures" / "lab" / "tables"
    folder.mkdir(parents=True)
    committed = tmp_path / "exhibit" / "lab"
    committed.mkdir(parents=True)
    table = pd.DataFrame({"arm": ["base", "dapt"], "structure": "natural", "accuracy": [0, 0.3]})
    table.to_csv(committed / "table2.csv", index=False)
    table.to_csv(committed / "exposures.csv", index=False)
    moved = table.assign(accuracy=table.accuracy + [0, shift / 100])
    moved.to_csv(folder / "table2.csv", index=False)
    rows = verify("lab", committed.parent).set_index("file")
    assert rows.result["table2.csv"] == result
    assert (f"dapt natural +{shift}.0" in rows.differences["table2.csv"]) == bool(shift)
    assert rows.result["exposures.csv"] == "not written by this run"
