"""Write the advice as text and formatted tables, all computed from gains and costs."""

import numpy as np
import pandas as pd

from lib.analyze.advice.costs import NORMALIZED
from lib.analyze.advice.gains import (
    HARMFUL,
    HERE,
    LABORATORY,
    LEAST_CLUSTERS,
    LIKELY,
    ONCE,
    SURE,
    WHAT,
)
from lib.analyze.format import DASH, in_points, number, p_value, percent
from lib.analyze.stats import ROUNDING
from lib.core.arms import ALL, BASE
from lib.core.records import STRUCTURES
from lib.core.text import listed


def formatted_shares(table: pd.DataFrame) -> pd.DataFrame:
    """Format `lib.analyze.advice.costs.shares`; each share is shown with its denominator."""
    not_asked = {"other": "raw HTML, whitespace"}
    columns = (("tokens", "text_share", "tokens"),
               ("statements", "statement_share", "sentences, items and rows"),
               ("queries", "query_share", "queries"))
    return pd.DataFrame([{
        "blocks": f"{row.kind} ({row.structure or not_asked.get(row.kind, 'not asked about')})",
        "number": f"{row.blocks:,}",
        **{f"of {table[count].sum():,} {name}": f"{row[count]:,} = {row[share]:.1%}"
           if row.structure or count == "tokens" else DASH for count, share, name in columns}}
        for _, row in table.iterrows()])


def formatted_gains(table: pd.DataFrame) -> pd.DataFrame:
    """Format gains by structure (columns GAINS) with one row per intervention and evidence."""
    rows = []
    for (intervention, evidence), cells in table.groupby(["intervention", "evidence"], sort=False):
        points = {f"{row.structure}, points [95%]": f"{_points(row)} (n = {row.n})"
                  for row in cells.itertuples()}
        rows.append({"change": what(intervention), "evidence": evidence,
                     "seeds": number(float(cells.seeds.min()), ".0f"), **points})
    return pd.DataFrame(rows, columns=None if rows else ["change"]).fillna(DASH)


def formatted_ranked(table: pd.DataFrame) -> pd.DataFrame:
    """Format `lib.analyze.advice.gains.ranked`, best first."""
    return pd.DataFrame([{
        "change": what(row.intervention), "evidence": row.evidence,
        "gain on my mix, points [95%]": _points(row), "p (Holm)": p_value(row.p_holm),
        "verdict": row.verdict, "share of my queries measured": f"{row.known_share:.0%}",
        "training tokens": _added(row.tokens_added_percent),
        "points per 1% more tokens": number(row.points_per_percent, "+.2f")}
        for row in table.itertuples()], columns=None if len(table) else ["change"])


def formatted_training(table: pd.DataFrame) -> pd.DataFrame:
    """Format `lib.analyze.advice.costs.training_costs`."""
    return pd.DataFrame([{
        "change": what(row.intervention),
        "these documents, tokens": f"{row.tokens_before:,} → {row.tokens_after:,}",
        "added": _added(row.tokens_added_percent),
        "my corpus, tokens per epoch": f"{row.corpus_before:,} → {row.corpus_after:,}"}
        for row in table.itertuples()])


def formatted_model(table: pd.DataFrame) -> pd.DataFrame:
    """Format `lib.analyze.advice.costs.model_costs`."""
    return pd.DataFrame([{
        "sent to the model": row.sent, "calls": f"{row.segments:,}",
        "tokens in": f"{row.tokens_in:,}",
        "of which instructions": f"{row.segments * row.overhead_tokens:,}",
        "tokens out": f"{row.tokens_out:,}", "dollars": dollars(row.usd),
        "as a batch": dollars(row.usd_batch)} for row in table.itertuples()])


def what(intervention: str) -> str:
    """Return the description of an intervention, or its name if it has none."""
    return WHAT.get(intervention, intervention)


def dollars(amount: float) -> str:
    """Format dollars as "$0.0042" or "$12.30"; an unknown price as "price unknown", never $0."""
    if np.isnan(amount):
        return "price unknown"
    return f"${amount:,.2f}" if amount >= 0.1 else f"${amount:.2g}"


def made_of(shares: pd.DataFrame) -> str:
    """Summarize `lib.analyze.advice.costs.shares`."""
    asked = shares[shares.structure != ""]
    text = [f"{row.text_share:.1%} {row.kind}" for row in shares.itertuples() if row.tokens]
    stated = [f"{row.statement_share:.1%} {row.kind}" for row in asked.itertuples()]
    queries = [f"{row.query_share:.1%} about {row.structure} ({row.queries})"
               for row in asked.itertuples()]
    return (f"The documents have {shares.tokens.sum():,} tokens: {listed(text)}. Of "
            f"{shares.statements.sum():,} sentences, list items and table rows, {listed(stated)}. "
            f"Of {shares.queries.sum():,} queries, which represent the facts, {listed(queries)}.")


def learned(seeds: pd.DataFrame, differences: pd.DataFrame, before: str = "dapt") -> str:
    """Say how much the model answers before and after training on raw text.

    `seeds` and `differences` are lib.analyze.statistics.seeds.spread and spread_pairs of the base
    and `before`, which may have no row.
    """
    cells = {(row.arm, row.structure): row for row in seeds.itertuples() if not np.isnan(row.mean)}
    accuracies = {key: f"{percent(row.mean, row.low, row.high)}% of {row.n}"
                  for key, row in cells.items()}
    texts = []
    if (BASE, ALL) in cells:
        texts.append(f"The base model answers {accuracies[BASE, ALL]} correctly.")
    each = [f"{name} {accuracies[before, name]}" for name in STRUCTURES if (before, name) in cells]
    if each:
        n_seeds = next(row.seeds for (arm, _), row in cells.items() if arm == before)
        texts.append(f"After training on the raw text ({before}, {n_seeds} "
                     f"seed{'s' * (n_seeds > 1)}): {listed(each)}.")
    for row in differences[differences.structure.str.contains(" – ", regex=False)].itertuples():
        if not np.isnan(row.difference_points):
            structure, reference = row.structure.split(" – ")
            difference = in_points(row.difference_points, row.low_points, row.high_points)
            shown = ", without an interval" if np.isnan(row.low_points) else ""
            if row.low_points <= 0 <= row.high_points:
                shown = ", so no difference is shown"
            texts.append(f"What training adds on {structure} facts, less what it adds on "
                         f"{reference} ones, is {difference} points{shown}.")
    return " ".join(texts) or "No answers were judged, so nothing is known of what is learned."


def first(ranked: pd.DataFrame, differences: pd.DataFrame, models: pd.DataFrame,
          normalizer: str = "rules") -> list[str]:
    """Say what to do first, in paragraphs.

    The tables are those of gains.ranked, spread_pairs (base and raw arm) and costs.model_costs.
    """
    is_helped = ranked.verdict[ranked.evidence == HERE].isin([SURE, ONCE]).any()
    smaller = _gains(ranked[ranked.verdict == LIKELY])
    unknown = [f"{what(row.intervention)} ({row.evidence}: {1 - row.known_share:.0%} of your "
               "queries)" for row in ranked[ranked.gain_points.notna()].itertuples()
               if row.known_share < 1 - ROUNDING]
    harmful = [f"{what(row.intervention)} {_points(row)} ({row.evidence})"
               for row in ranked[ranked.verdict == HARMFUL].itertuples() if row.evidence != HERE]
    paragraphs = (
        _is_anything_learned(differences, is_helped), _decided(ranked, models.iloc[0], normalizer),
        _others(ranked),
        smaller and f"**A smaller step, not trained:** by this study's gains in each structure "
        f"alone, {listed(smaller)}. This assumes that a structure gains as much when the others "
        "stay as they are.",
        _elsewhere(ranked, is_helped),
        unknown and "**Not known for all of your queries,** because their structure was not "
        f"measured: {listed(unknown)}.",
        harmful and f"**Not this:** in points, {listed(harmful)}.")
    return [paragraph for paragraph in paragraphs if paragraph]


def _is_anything_learned(differences: pd.DataFrame, is_helped: bool) -> str:
    """Warn if training on raw text was compared and is not shown to add anything."""
    row = next(differences[differences.structure == ALL].itertuples(), None)
    if row is None or row.low_points > 0 or np.isnan(row.difference_points):
        return ""
    difference = in_points(row.difference_points, row.low_points, row.high_points)
    added = f"{difference} points over the base on {row.n} queries"
    effect = "lowers accuracy" if row.high_points < 0 else "is not shown to add anything"
    fault = f"Training on the raw text {effect}: {added}"
    if is_helped:
        return f"{fault}. Rewritten text gains over it, as follows."
    goal = "make training work"
    if np.isnan(row.low_points):
        goal = "see whether training works"
        fault = f"What training on the raw text adds is not known: {added}"
    return (f"**First of all, {goal}.** {fault}. Until the model learns something, no rewriting "
            "can be evaluated. Take a model that can learn from the documents, train for more "
            "epochs, and look at its loss.")


def _decided(ranked: pd.DataFrame, bill, normalizer: str) -> str:
    """Say what the best change measured in this study does, and what follows."""
    here = ranked[ranked.evidence == HERE]
    if here.empty:
        return ("This study has not trained both ways of writing (raw and rewritten), so it has no "
                "gain of its own.")
    if here.gain_points.isna().all():
        why = ("The gain could not be estimated" if here.n.any() else
               "No query was scored in both ways of writing (raw and rewritten)")
        return f"{why}, so this study has no gain of its own."
    row = next(here[here.gain_points.notna()].itertuples())
    change = what(row.intervention)
    sentence = f"{change[:1].upper()}{change[1:]}: {_points(row)} points on all your queries"
    once = "" if row.seeds > 1 else (
        " With one seed this compares two trainings, not yet two ways of writing: train again "
        "with `seeds: 3` before you rely on it.")
    if row.verdict in (SURE, ONCE):
        by = f" It was written by {normalizer}." if row.intervention == NORMALIZED else ""
        if by and normalizer == "rules":
            price = "at an unknown price" if np.isnan(bill.usd) else f"for {dollars(bill.usd)}"
            by = (f" The rules that wrote it cost no money; {bill.model} would take "
                  f"{bill.segments:,} calls {price}, and its gain was not measured.")
        return (f"**First: {change}.** It gains {_points(row)} points on all your queries, "
                f"measured here, for {_tokens(row)}. That holds for this base model.{by}{once}")
    if row.verdict == HARMFUL:
        return f"**Leave the documents as they are.** {sentence}, measured here.{once}"
    return (f"**Nothing measured here is certain to help.** {sentence}; {_undecided(row)}. "
            "`python -m lib.analyze.statistics.power` says how many queries would show a smaller "
            "gain.")


def _undecided(row) -> str:
    """Say why a measured gain decides nothing."""
    if not np.isnan(row.low_points):
        return "the interval includes 0"
    if row.clusters < LEAST_CLUSTERS:
        return ("the queries are about one document or product, which allows no interval"
                if row.clusters < 2 else "two documents or products allow no interval")
    return "nothing varies between documents or products, so there is no interval"


def _others(ranked: pd.DataFrame) -> str:
    """List what else was measured in this study, apart from the best."""
    rows = ranked[(ranked.evidence == HERE) & ranked.gain_points.notna()]
    if len(rows) < 2:
        return ""
    texts = [f"{what(row.intervention)} {_points(row)} points ({row.verdict})"
             for row in rows[1:].itertuples()]
    return (f"**Also measured here:** {listed(texts)}. Intervals are not corrected for the number "
            f"of changes ({len(rows)}).")


def _elsewhere(ranked: pd.DataFrame, is_helped: bool) -> str:
    """Say what the laboratory's controlled experiment shows for the user's mix."""
    rows = ranked[ranked.evidence == LABORATORY]
    if rows.empty:
        return ("The laboratory's controlled experiment has not been run here (`make study "
                "STUDY=controlled`), so the cheap changes have a cost below but no gain.")
    helping = rows[rows.verdict.isin([SURE, ONCE])]
    if helping.empty:
        return (f"In the laboratory's controlled experiment none of {len(rows)} changes is certain "
                "to help on your mix: for none is the interval above 0, with all your structures "
                "measured and Holm's p at most 5%.")
    text = (f"**In the laboratory**, with your mix of structures, {len(helping)} of {len(rows)} "
            f"changes help: {listed(_gains(helping))}.")
    if len(rows) > 1:
        text += (" Those that help passed Holm's correction there, but their intervals are not "
                 "corrected; the largest of several estimates is too large on average.")
    if not is_helped:
        text += (" This is the laboratory's evidence alone, from generated records and a small "
                 "model: try the first of them on your documents before you rewrite a corpus.")
    return text


def cannot_tell(ranked: pd.DataFrame, normalizer: str) -> str:
    """Name the limits of the page."""
    replies = "by rules; a model may write more" if normalizer == "rules" else f"by {normalizer}"
    texts = [
        "A gain holds for this base model and these settings; no interval covers variation between "
        "base models.",
        "Queries represent the facts: what the annotator does not ask about does not count, and "
        "users may ask about other things. Where the shares of statements and of queries differ, "
        "the gain on all that the documents say would differ too.",
        "More tokens mean more updates per epoch, which may be part of a text's gain "
        "(`match: updates` in training makes them equal).",
        "A sum over structures adds the ends of their intervals, which is conservative.",
        f"Dollars assume replies as long as this study's rewrites ({replies})."]
    laboratory = ranked[ranked.evidence == LABORATORY]
    if len(laboratory):
        texts.append(
            "The laboratory's gains are for generated records and a model of a few million "
            "parameters; only its shares are replaced by yours.")
    if (laboratory.intervention == "repeat-header").any():
        texts.append(
            "Its tables have two columns, such as Property and Value, so repeating the header "
            "repeats no attribute's name. For tables whose header names the attributes, see "
            "wide-table and wide-table-repeated in `studies/controlled-full.yaml`.")
    return " ".join(texts)


def _gains(rows: pd.DataFrame) -> list[str]:
    return [f"{what(row.intervention)} {_points(row)} points for {_tokens(row)}"
            + (" (one seed)" if row.verdict == ONCE else "") for row in rows.itertuples()]


def _points(row) -> str:
    return in_points(row.gain_points, row.low_points, row.high_points)


def _added(percent_added: float) -> str:
    return number(percent_added, "+.1f") + ("" if np.isnan(percent_added) else "%")


def _tokens(row) -> str:
    if np.isnan(row.tokens_added_percent):
        return "tokens that were not counted"
    return f"{_added(row.tokens_added_percent)} tokens"
