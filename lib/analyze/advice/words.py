"""What to do first, in words made from the numbers of lib.analyze.advice.gains; nothing here knows which structure is worst."""

import numpy as np
import pandas as pd

from lib.analyze.advice.gains import HARMFUL, HERE, LABORATORY, LIKELY, ONCE, SURE
from lib.analyze.advice.tables import dollars, what
from lib.analyze.format import in_points
from lib.analyze.statistics.paired import ROUNDING
from lib.core.arms import ALL
from lib.core.records import STRUCTURES
from lib.core.text import listed


def made_of(shares: pd.DataFrame) -> str:
    """Share of text, statements and queries by kind of block, from lib.analyze.advice.costs.shares."""
    stated = [f"{row.statement_share:.1%} {row.kind}" for row in shares.itertuples() if row.structure]
    text = [f"{row.text_share:.1%} {row.kind}" for row in shares.itertuples() if row.tokens]
    asked = [f"{row.query_share:.1%} about {row.structure} ({row.queries})" for row in shares.itertuples()
             if row.structure]
    return (f"The documents hold {shares.tokens.sum():,} tokens: {listed(text)}. Of {shares.statements.sum():,} "
            f"sentences, list items and table rows {listed(stated)}. Of {shares.queries.sum():,} queries, which stand "
            f"for the facts, {listed(asked)}.")


def learned(seeds: pd.DataFrame, differences: pd.DataFrame, before: str = "dapt") -> str:
    """What is known before and after training on raw text, from lib.analyze.statistics.seeds.spread and its spread_pairs of `base`
    and `before`, which may have no row."""
    cells = {(row.arm, row.structure): row for row in seeds.itertuples() if not np.isnan(row.mean)}
    said = []
    if base := cells.get(("base", ALL)):
        none = ": whatever an arm has right it has from training" if base.mean == 0 else ""
        said.append(f"The base model is right in {_accuracy(base)}{none}.")
    if any((before, structure) in cells for structure in STRUCTURES):
        each = [f"{structure} {_accuracy(cells[before, structure])}" for structure in STRUCTURES
                if (before, structure) in cells]
        number = next(row.seeds for key, row in cells.items() if key[0] == before)
        said.append(f"After training on the raw text ({before}, {number} seed{'s' * (number > 1)}): {listed(each)}.")
    for row in differences[differences.structure.str.contains(" – ", regex=False)].itertuples():
        if not np.isnan(row.difference_points):
            structure, reference = row.structure.split(" – ")
            is_apart = row.low_points > 0 or row.high_points < 0
            moved = in_points(row.difference_points, row.low_points, row.high_points)
            said.append(f"What training adds on {structure} facts, less what it adds on {reference} ones, is {moved} "
                        f"points{'' if is_apart else ', so that no difference is shown'}.")
    return " ".join(said) or "No answers were judged, so that nothing is known of what is learned."


def first(ranked: pd.DataFrame, differences: pd.DataFrame, models: pd.DataFrame,
          normalizer: str = "rules") -> list[str]:
    """What to do first: paragraphs from lib.analyze.advice.gains.ranked, spread_pairs of base and the raw arm, and model_costs."""
    told = (_is_anything_learned(differences, ranked), _decided(ranked, models, normalizer), _cheaper(ranked),
            _elsewhere(ranked), _unknown(ranked), _harmful(ranked))
    return [paragraph for paragraph in told if paragraph]


def _is_anything_learned(differences: pd.DataFrame, ranked: pd.DataFrame) -> str:
    """A warning where training on raw text is not shown to add anything; "" where it is, or was not compared."""
    whole = differences[differences.structure == ALL]
    if whole.empty or whole.low_points.iloc[0] > 0 or np.isnan(whole.difference_points.iloc[0]):
        return ""
    row = whole.iloc[0]
    added = (f"{in_points(row.difference_points, row.low_points, row.high_points)} points over the base on {row.n} "
              "queries")
    if ranked.verdict[ranked.evidence == HERE].isin([SURE, ONCE]).any():
        return (f"Training on the raw text is not shown to add anything ({added}); rewritten text gains over it, as "
                "follows.")
    said = (f"see whether training works.** That training on the raw text adds anything is not known: {added}"
            if np.isnan(row.low_points) else
            f"make training work.** Training on the raw text is not shown to add anything: {added}")
    return (f"**First of all, {said}. While nothing is learned, no way of writing the documents can be judged. Take a "
            "model that can learn from them, train for more epochs, and look at its loss.")


def _decided(ranked: pd.DataFrame, models: pd.DataFrame, normalizer: str) -> str:
    """What was measured in this study, and what follows."""
    here = ranked[ranked.evidence == HERE]
    if here.empty:
        return "This study has not trained both ways of writing (dapt and dapt-n), so that it has no gain of its own."
    row = here.iloc[0]
    if np.isnan(row.gain_points):
        return "No query was scored in both ways of writing (dapt, dapt-n), so that this study has no gain of its own."
    said = f"{_points(row)} points on all queries of your mix, measured here"
    once = ("" if row.seeds > 1 else " With one seed this tells two trainings apart, not yet two ways of writing: "
            "train it again with `seeds: 3` before you rely on it.")
    if row.verdict in (SURE, ONCE):
        bill = models.iloc[0]
        price = "at an unknown price" if np.isnan(bill.usd) else f"for {dollars(bill.usd)}"
        by = (f"The rules that wrote it cost no money; {bill.model} would take {bill.segments:,} calls {price}, and "
              "what it would gain was not measured." if normalizer == "rules" else f"It was written by {normalizer}.")
        return (f"**First: {what(row.intervention)}.** It gains {said}, and an epoch has {_tokens(row)}. "
                f"That holds for this base model. {by}{once}")
    if row.verdict == HARMFUL:
        return f"**Leave the documents as they are.** {_capital(what(row.intervention))} loses: {said}.{once}"
    why = "nothing varies, so that there is no interval" if np.isnan(row.low_points) else "the interval holds 0"
    return (f"**Nothing measured here helps for sure.** {_capital(what(row.intervention))} gains {said}: {why}. "
            "`python -m lib.analyze.statistics.power` says how many queries would show a smaller gain.")


def _cheaper(ranked: pd.DataFrame) -> str:
    """What part of this study's gain would come from fewer rewrites, where they help by its numbers."""
    options = [f"{what(row.intervention)} {_points(row)} points for {_tokens(row)}"
               for row in ranked[ranked.verdict == LIKELY].itertuples()]
    return "" if not options else (
        f"**A smaller step, not trained:** by this study's gains in each structure alone, {listed(options)}. That "
        "takes for granted that a structure gains as much when the others stay as they are.")


def _elsewhere(ranked: pd.DataFrame) -> str:
    """What the laboratory's controlled experiment says about my mix."""
    rows = ranked[ranked.evidence == LABORATORY]
    if rows.empty:
        return ("The laboratory's controlled experiment has not been run here (`make study STUDY=controlled`), so that "
                "the cheap changes have a cost below but no gain.")
    helping = rows[rows.verdict.isin([SURE, ONCE])]
    if helping.empty:
        return (f"In the laboratory's controlled experiment none of {len(rows)} changes helps for sure on your mix: "
                "for none is the interval above 0, with all your structures measured and Holm's p at most 5%.")
    options = [f"{what(row.intervention)} {_points(row)} points for {_tokens(row)}"
               + (" (one seed)" if row.verdict == ONCE else "") for row in helping.itertuples()]
    largest = f"the first of {len(rows)} is the largest estimate, and such a one is too large on average"
    caution = "" if len(rows) == 1 else (
        f" What helps passed Holm's correction there; {largest}." if helping.p_holm.notna().all() else
        f" None of the {len(rows)} intervals is corrected for there being {len(rows)}; {largest}.")
    lone = "" if ranked[ranked.evidence == HERE].verdict.isin([SURE, ONCE]).any() else (
        " This is the laboratory's evidence alone, of generated records and a small model: try the first of them on "
        "your documents before you rewrite a corpus.")
    return (f"**In the laboratory**, with your mix of structures, {len(helping)} of {len(rows)} changes help: "
            f"{listed(options)}.{caution}{lone}")


def _unknown(ranked: pd.DataFrame) -> str:
    """What says nothing of some of my queries, as their structure was not measured."""
    rows = ranked[(ranked.known_share < 1 - ROUNDING) & ranked.gain_points.notna()]
    options = [f"{what(row.intervention)} ({row.evidence}: {1 - row.known_share:.0%} of your queries)"
               for row in rows.itertuples()]
    return "" if not options else (
        f"**Not known for all of your queries,** as their structure was not measured: {listed(options)}.")


def _tokens(row) -> str:
    """Training tokens that a change adds, in words."""
    added = row.tokens_added_percent
    return "tokens that were not counted" if np.isnan(added) else f"{added:+.1f}% tokens"


def _harmful(ranked: pd.DataFrame) -> str:
    rows = ranked[(ranked.verdict == HARMFUL) & (ranked.evidence != HERE)]
    options = [f"{what(row.intervention)} {_points(row)} ({row.evidence})" for row in rows.itertuples()]
    return f"**Not this:** in points, {listed(options)}." if options else ""


def cannot_tell(ranked: pd.DataFrame, normalizer: str) -> str:
    """What the page does not know."""
    said = ["A gain is of this base model and these settings; no interval holds what another base would change.",
            "Queries stand for the facts: what the annotator does not ask counts for nothing, a long document is asked "
            "no more than a short one, and users may ask for other things. Where the shares of statements and of "
            "queries differ, so would the gain on all that the documents say.",
            "A text with more tokens makes more updates an epoch, which may be part of its gain (`match: updates` in "
            "03_train makes them equal).",
            "A sum over structures adds the ends of their intervals, which errs to the wide side.",
            "Dollars take the replies to be as long as this study's rewrites "
            f"({'by rules; a model may write more' if normalizer == 'rules' else f'by {normalizer}'})."]
    if (ranked.evidence == LABORATORY).any():
        said.append("The laboratory's gains are of generated records and a model of some million parameters; its "
                    "shares are replaced by yours, nothing else is. What one training differs from the next by chance "
                    "is in its intervals, and not in its p.")
    if ((ranked.evidence == LABORATORY) & (ranked.intervention == "repeat-header")).any():
        said.append("Its tables have two columns, such as Property and Value, so that repeating the header repeats no "
                    "attribute's name: for tables whose header names the attributes, the structures wide-table and "
                    "wide-table-repeated of `studies/controlled-full.yaml` would tell.")
    return " ".join(said)


def _accuracy(row) -> str:
    ends = "[–]" if np.isnan(row.low) else f"[{100 * row.low:.1f}, {100 * row.high:.1f}]"
    return f"{100 * row.mean:.1f}% {ends} of {row.n}"


def _points(row) -> str:
    return in_points(row.gain_points, row.low_points, row.high_points)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]
