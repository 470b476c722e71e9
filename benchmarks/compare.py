"""`make compare STUDIES='a b'`: studies in one table of what varies, results, time and price.

A sweep is one study whose arms differ in a parameter. Studies that differ are compared as well.
"""

import json
import sys
from collections.abc import Iterator

import pandas as pd

from lib.analyze.tables import as_csv, counted, joined
from lib.core.arms import BASE
from lib.core.records import RetentionItem
from lib.core.store import (
    BadInput,
    BadStudy,
    data_path,
    figures_path,
    load,
    require_path,
    shown,
    tell,
    write_text,
)
from lib.report import PAGES, usd
from lib.run.config import AnyStudy, load_study

_OWN = ("study", "arm", "arms", "first_arm")  # parameters that say which row it is


def compared(names: list[str]) -> pd.DataFrame:
    """A row for each arm and seed of the studies `names`, with the parameters that vary.

    Intervals are those of Table 2. `forgotten` is in points, the mean over the tasks of retention.
    `dollars` are the whole study's. `missing` says why a cell is blank.
    """
    rows: list[dict[str, object]] = []
    for name in names:
        try:
            study = load_study(name, needs_folder=False)
            if study.kind == "exposures":
                raise BadInput(f"its bases are compared in figures/{name}/exposures.md")
            rows += _rows(study)
        except BadInput as error:
            rows.append({"study": name, "missing": str(error)})
    table = pd.DataFrame(rows).rename(columns={"03_train: seed": "seed"})
    table["missing"] = table.pop("missing")  # the last column
    kinds = table.map(str, na_action="ignore").nunique()
    return table.drop(columns=[one for one in table if ": " in one and kinds[one] < 2])


def _rows(study: AnyStudy) -> Iterator[dict[str, object]]:
    path = require_path(data_path(study.name, "run.json"), f"make study STUDY={study.name}")
    run, dollars = json.loads(path.read_text("utf-8")), usd(path.with_name("llm.sqlite"))
    commit = f"{run['commit']}{' with changes' * bool(run.get('dirty'))}"
    for arm in study.runs:
        row = {"study": study.name, "arm": arm, "03_train: seed": None, "missing": ""}
        row |= {"seconds": 0, "dollars": dollars, "commit": commit}
        row["study: prompts"] = study.prompts
        for key, record in run["stages"].items():
            stage, _, of = key.partition("-")
            if of in ("", arm):
                row["seconds"] += record["seconds"]
                given = {**record["defaulted"], **record["given"]}
                row |= {f"{stage}: {one}": _of(given[one], arm) for one in given if one not in _OWN}
        for measured in (_answered, _forgotten):
            try:
                row |= measured(study, arm)
            except BadInput as error:
                row["missing"] += f"{error}. "
        yield row


def _of(value: object, arm: str) -> object:
    own = value.get(arm, value) if isinstance(value, dict) else value
    return "none" if own is None else own  # pandas would take it for a stage that did not run


def _answered(study: AnyStudy, arm: str) -> dict[str, object]:
    verdicts = load(study.name, "verdicts", arm=arm, judge=study.judge)
    facts = load(study.name, "facts", optional=True)
    counts = counted(joined(load(study.name, "queries"), verdicts, facts), ["arm"])
    return counts[["n", "unscored", "accuracy", "low", "high"]].iloc[0].to_dict()


def _forgotten(study: AnyStudy, arm: str) -> dict[str, object]:
    if "retention" not in study.stages or arm not in study.arms_per("arms"):
        raise BadInput("forgetting is measured by the extra retention, once for each trained arm")
    rows = load(study.name, "retention", RetentionItem, arm=[BASE, arm])
    shares = pd.DataFrame(map(vars, rows)).groupby(["arm", "task"]).is_correct.mean()
    return {"forgotten": 100 * (shares[BASE] - shares[arm]).mean()}


def main(names: list[str]) -> int:
    """Write figures/compare/compare.html and .csv; return 0 on success."""
    try:
        table = compared(names)
    except BadStudy as error:
        tell(f"make compare: {error}", file=sys.stderr)
        return 2
    html = table.to_html(index=False, na_rep="", float_format="{:.3g}".format)
    page = PAGES.get_template("table.html.j2").render(title=", ".join(names), table=html)
    page = write_text(figures_path("compare", "compare.html"), page)
    write_text(page.with_suffix(".csv"), as_csv(table))
    tell(f"{table.to_string(index=False, na_rep='')}\n{shown(page)}, and .csv")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
