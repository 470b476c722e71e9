"""`make verify`: equal tables, tables of another base, and tables that no base explains."""

import shutil

import pandas as pd
import pytest

from lib.run.verify import EXHIBIT, verify


@pytest.mark.parametrize("shift, result", [
    (0, "equal to the byte"), (9, "within the spread between bases"),
    (60, "beyond the spread between bases")])
def test_a_fresh_table_is_equal_within_or_beyond_the_spread(tmp_path, monkeypatch, shift, result):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    folder = tmp_path / "figures" / "lab" / "paper"
    folder.mkdir(parents=True)
    shutil.copy(EXHIBIT / "table2.csv", folder)
    if shift:
        table = pd.read_csv(folder / "table2.csv")
        is_moved = (table.arm == "dapt") & (table.structure == "natural")
        table.loc[is_moved, "accuracy"] += shift / 100
        table.to_csv(folder / "table2.csv", index=False)
    rows = verify("lab").set_index("file")
    assert rows.result["table2.csv"] == result
    assert (f"dapt natural +{shift}.0" in rows.differences["table2.csv"]) == bool(shift)
    assert rows.result["seeds.csv"] == "not written by this run"


def test_another_processors_exhibit_is_within_the_spread(tmp_path, monkeypatch):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    shutil.copytree(EXHIBIT / "avx2", tmp_path / "figures" / "lab" / "paper")
    assert verify("lab").set_index("file").result["table2.csv"] == "within the spread between bases"
