"""What a study found: sentences, a row per model and the next steps, by verdict.md.j2."""

import jinja2
import pandas as pd

from lib.analyze.logliks import TABLE3, read_retention, table3
from lib.analyze.stats import LEAST_CLUSTERS, paired, spread
from lib.analyze.tables import in_words, one_line
from lib.core.arms import is_trained, sorted_arms, split_arm
from lib.core.records import STRUCTURES
from lib.core.store import artifact_path, package_file, result_path


def found_in(study: str) -> str:
    """The `verdict` on a finished study, from its tables and its measures of retention."""
    used = "arm query_id structure cluster verdict memorized".split()
    rows = pd.read_csv(
        result_path(study, "each.csv"),
        usecols=used,
        dtype=dict.fromkeys(used[:-1], str),
        keep_default_na=False,
        na_values={"memorized": ""},
    )
    rows = rows[rows.verdict != ""]  # the others are log-likelihoods after an epoch
    arms, ledger = rows.arm.unique(), result_path(study, "ledger.csv")
    measured = [arm for arm in arms if artifact_path(study, "retention", arm=arm).exists()]
    of_all = pd.read_csv(ledger).query("structure == 'all'") if ledger.exists() else pd.DataFrame()
    learned = dict(of_all.filter(["trained arm", "share"]).to_numpy())
    return verdict(rows, table3(read_retention(study, measured)), learned)


def verdict(
    rows: pd.DataFrame, kept: pd.DataFrame | None = None, learned: dict[str, float] | None = None
) -> str:
    """Two to four sentences, a table with a row per model, and what to do next, in Markdown.

    `rows` are those of tables.joined. `kept` of logliks.table3, and `learned`, by arm the share of
    answers in training, are None in a study that still runs; then there is no advice.
    """
    cells = spread(rows).groupby("arm", sort=False)
    kinds = rows.arm.map(lambda arm: split_arm(arm)[0])
    shares = rows.assign(arm=kinds, unscored=rows.verdict.eq("unscored"))
    shares = shares.reindex(columns=["arm", "unscored", "memorized"]).groupby("arm").mean()
    lost = pd.DataFrame(columns=TABLE3) if kept is None else kept.dropna(subset="p")
    lost = lost.sort_values("difference_points").groupby("arm").first()
    trained = [*filter(is_trained, sorted_arms(kinds))]
    text = package_file("analyze/verdict.md.j2").read_text("utf-8")
    return jinja2.Template(text).render(
        name=_escaped,
        arms=trained or sorted_arms(kinds),
        cells={arm: part.set_index("structure").to_dict("index") for arm, part in cells},
        shares=shares.to_dict("index"),
        lost=lost.to_dict("index"),
        learned=learned or {},
        found=paired(rows).to_dict("records"),
        is_measured=kept is not None,
        is_trained=bool(trained),
        structures=STRUCTURES,
        clusters=rows.cluster.nunique(),
        least=LEAST_CLUSTERS,
    )


def _escaped(name: str) -> str:
    return one_line(in_words(name)).replace("|", "\\|").replace("<", "&lt;")
