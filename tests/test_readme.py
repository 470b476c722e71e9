"""The READMEs: the numbers are the exhibit's, the links and named files exist."""

import re

import pandas as pd
import pytest

from lib.analyze.stats import t_over
from lib.core.artifacts import ARTIFACTS
from lib.core.paths import REPOSITORY
from lib.tasks.kinds import kinds

EXHIBIT = REPOSITORY / "figures" / "exhibit"
LABORATORIES = (EXHIBIT / "README.md").read_text(encoding="utf-8")
PAGES = [path for path in REPOSITORY.rglob("README.md")
         if not {".venv", "data", "node_modules"} & set(path.relative_to(REPOSITORY).parts)]


def signed(number: float) -> str:
    return f"{number:+.1f}".replace("-", "−")


def interval(row: pd.Series, low: str, high: str) -> str:
    return f"[{signed(row[low])}, {signed(row[high])}]"


@pytest.mark.parametrize(("file", "contrast"), [
    ("replicates/estimates", "dapt tabular - natural"),
    ("replicates/estimates", "dapt-n - dapt all"),
    ("replicates/estimates", "dapt-n - dapt natural"),
    ("replicates/estimates", "dapt-n - dapt entity-list"),
    ("replicates/estimates", "dapt-n - dapt tabular"), ("controlled/bases", "tabular - natural"),
    ("controlled/bases", "paraphrase-8 - raw-2x"), ("controlled/bases", "mixed - raw-2x")])
def test_the_earlier_designs_lines_have_the_numbers_of_their_units(file, contrast):
    rows = pd.read_csv(EXHIBIT / f"{file}.csv")
    row = t_over(rows.points[rows.contrast == contrast])
    text = f"{signed(row['estimate'])} [{signed(row['low'])}, {signed(row['high'])}]"
    assert text in " ".join(LABORATORIES.split())


def test_the_pooled_estimate_is_that_of_both_designs_units():
    units = [pd.read_csv(EXHIBIT / f"{file}.csv").set_index("contrast").points[contrast]
             for file, contrast in (("replicates/estimates", "dapt tabular - natural"),
                                    ("controlled/bases", "tabular - natural"))]
    row = t_over(pd.concat(units))
    assert row["n"] == 22 and f"post hoc: tables − prose {signed(row['estimate'])} " + (
        f"[{signed(row['low'])}, {signed(row['high'])}]") in " ".join(LABORATORIES.split())


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
