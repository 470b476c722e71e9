"""The READMEs: the numbers are the exhibit's, the links and named files exist."""

import re

import pandas as pd
import pytest

from lib.core.artifacts import ARTIFACTS
from lib.core.paths import REPOSITORY
from lib.tasks.kinds import kinds

EXHIBIT = REPOSITORY / "figures" / "exhibit"
LABORATORIES = (EXHIBIT / "README.md").read_text(encoding="utf-8")
CONTROLLED = (REPOSITORY / "notebooks" / "laboratory" / "README.md").read_text(encoding="utf-8")
PAGES = [path for path in REPOSITORY.rglob("README.md")
         if not {".venv", "data", "node_modules"} & set(path.relative_to(REPOSITORY).parts)]


def signed(number: float) -> str:
    return f"{number:+.1f}".replace("-", "−")


def interval(row: pd.Series, low: str, high: str) -> str:
    return f"[{signed(row[low])}, {signed(row[high])}]"


def test_the_headline_has_the_primary_contrasts_of_the_replicates():
    rows = pd.read_csv(EXHIBIT / "replicates" / "summary.csv")
    primary = rows[rows.is_primary]
    assert len(primary) == 3 and set(primary.replicates) == {12}
    for row in primary.itertuples():
        ends = f"[{signed(row.low)}, {signed(row.high)}]"
        assert f"| {signed(row.mean)} {ends} | {row.sd:.1f} |" in LABORATORIES


@pytest.mark.parametrize("folder", ["", "avx2"])
def test_the_first_table_has_the_means_of_the_laboratorys_runs(folder):
    means = pd.read_csv(EXHIBIT / folder / "seeds.csv").set_index(["structure", "arm"])["mean"]
    for structure in ("natural", "entity-list", "tabular", "all"):
        dapt, dapt_n = (100 * means[structure, arm] for arm in ("dapt", "dapt-n"))
        line = next(line for line in LABORATORIES.splitlines()
                    if line.startswith(f"| {structure} |"))
        assert f"{dapt:.1f} → {dapt_n:.1f}" in line


@pytest.mark.parametrize("folder", ["", "avx2"])
def test_the_first_table_has_the_differences_of_the_laboratorys_runs(folder):
    pairs = pd.read_csv(EXHIBIT / folder / "seeds_paired.csv").set_index(
        ["first", "second", "structure"])
    for key in (("dapt", "dapt-n", "all"), ("base", "dapt", "tabular – natural")):
        row = pairs.loc[key]
        text = interval(row, "low_points", "high_points")
        assert text in LABORATORIES and signed(row.difference_points) in LABORATORIES


def test_the_controlled_experiments_differences_are_the_exhibits():
    rows = pd.read_csv(EXHIBIT / "controlled" / "contrasts.csv")
    rows = rows[(rows.arm == "raw") & (rows.measure == "correct") & (rows.reference == "natural")]
    text = " ".join(LABORATORIES.split())
    for row in rows.itertuples():
        assert f"{row.mean_structure:.1f}%" in text and f"{row.mean_reference:.1f}%" in text
        ends = f"[{signed(row.low)}, {signed(row.high)}]"
        assert re.search(rf"{re.escape(signed(row.estimate))}(?: points)? {re.escape(ends)}", text)


def test_the_controlled_experiments_hypotheses_are_the_exhibits():
    names = {"gain_points": "estimate", "low_points": "low", "high_points": "high"}
    rows = pd.concat(pd.read_csv(EXHIBIT / "controlled" / f"{table}.csv").rename(columns=names)
                     for table in ("contrasts", "interventions", "beside"))
    rows = rows[rows.family == "primary"]
    assert len(rows) == 7 and set(rows.bases) == {10}
    for row in rows.itertuples():
        text = f"{signed(row.estimate)} [{signed(row.low)}, {signed(row.high)}]"
        answer = "yes" if row.found else "no"
        cells = f"| {text} | {row.sd_bases:.1f} |"
        (line,) = (line for line in CONTROLLED.splitlines() if cells in line)
        assert line.endswith(f"| {answer} |")


@pytest.mark.parametrize("page", [LABORATORIES, CONTROLLED])
def test_the_gains_of_added_texts_are_the_exhibits(page):
    cells = pd.read_csv(EXHIBIT / "augment" / "augmentations.csv").set_index(["arm", "structure"])
    page = page.partition("## Results over ten bases")[0]
    lines = re.findall(r"^\|.*`([\w+-]+)` \| .*?([\d.]+, [\d.]+, [\d.]+) \| ([^|]+) \|", page, re.M)
    assert len(lines) >= 4
    for arm, shares, gain in lines:
        whole = cells.loc[arm, "all"]
        own = cells.loc[arm].unpaired_percent[["natural", "entity-list", "tabular"]]
        assert shares == ", ".join(f"{share:.1f}" for share in own), arm
        assert gain == f"{signed(whole.gain_points)} {interval(whole, 'gain_low', 'gain_high')}"


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(REPOSITORY)))
def test_links_and_commands_name_what_exists(page):
    text = page.read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)#:]+)\)", text):
        assert (page.parent / link).exists(), link
    for module in re.findall(r"python -m (lib\.[\w.]+)", text):
        path = REPOSITORY.joinpath(*module.split("."))
        assert path.with_suffix(".py").exists() or (path / "__main__.py").exists(), module
    for study in re.findall(r"STUDY=([a-z-]+)\b", text):
        assert (REPOSITORY / "studies" / f"{study}.yaml").exists(), study


def test_the_readme_of_data_lists_every_artifact_with_who_writes_it():
    kinds()  # systems register their own
    text = (REPOSITORY / "data" / "README.md").read_text(encoding="utf-8")
    for one in ARTIFACTS.values():
        kind = one.kind.__name__ if one.kind else "–"
        assert f"| `{one.path}` | {kind} | {', '.join(one.made_by)} |" in text, one.path
