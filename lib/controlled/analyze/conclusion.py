"""The controlled experiment in words, written from its tables: what was found, what was not, what cannot be told."""

import numpy as np
import pandas as pd

from lib.analyze.format import in_points, p_value
from lib.analyze.statistics.seeds import BOTH
from lib.analyze.stats import ALPHA
from lib.controlled.analyze.contrasts import difference_text, is_found, mean_text
from lib.controlled.analyze.factors import ATTRIBUTE, WORDS
from lib.controlled.analyze.interventions import CONTROL, INTERVENTION
from lib.controlled.analyze.rows import MEASURES, POINTS, RAW
from lib.controlled.design.arms import PROSE
from lib.core.arms import ALL
from lib.core.text import listed

_FEW = 5  # structures that a sentence can hold
LIMITS = (
    "The models have a few million parameters, and a large one may read lists and tables that these do not.",
    "Records, names and facts are generated from templates, and the questions are those that the base was taught to "
    "answer.",
    "A seed has a base of its own, but all bases are of one size, recipe and kind of public text; what another kind of "
    "base would change is in no interval.",
    "The bases have read public facts as often in each structure as in each other one (within one rendering), because "
    "one that has read more prose than tables learns prose better; documents, and what large models have read, are not "
    "balanced so.",
    "Seeds are few: the share of the interval that they give rests on as many values, and is missing where there is "
    "one.",
    "Intervals are over products and seeds alone: attributes and their wordings are the generator's, the same for all "
    "products, and what others would give is in no interval.",
    "The runs of another processor, library or precision round differently and were not seen.",
    "In one rotation a fact's neighbouring sections are in other structures; whole documents as lists were not trained "
    "on, nor as tables but in the arms table-…, and the tokens of a fact differ between structures by what the table "
    "of tokens says.",
    "Every p speaks of these runs: the permutation asks whether structure changed them, the flipped signs whether an "
    "arm and raw text differ in them, and what one training differs from the next by chance is in neither. Only the "
    "interval speaks of other seeds, so that nothing is called found without both.")
_TWO_COLUMNS = ("In tables of two columns, as here, repeat-header repeats the words over the columns, as Property "
                "and Value, and no attribute's name: it says nothing of tables whose header names the attributes, "
                "which are the structures wide-table and wide-table-repeated of studies/controlled-full.yaml.")


def conclusion(contrasts: pd.DataFrame, tokens: pd.DataFrame, shuffled: pd.DataFrame, known: pd.DataFrame,
               planted: pd.DataFrame, interventions: pd.DataFrame, beside: pd.DataFrame, factors: pd.DataFrame) -> str:
    """The findings as Markdown; each argument is the table of the function of that name (tokens_by_structure, …)."""
    parts = {"Does structure decide what is learned?": _structures(contrasts),
             "Where is it lost?": _measures(contrasts),
             "Would this analysis find anything?": _controls(shuffled, known, planted),
             "What helps, for how many tokens?": _interventions(interventions) + _beside(interventions, beside),
             "What else goes with it?": _factors(factors, tokens), "What this design cannot tell": list(LIMITS)}
    return "\n\n".join(f"**{title}**\n\n" + "\n".join(f"- {line}" for line in lines) for title, lines in parts.items()
                       if lines) + "\n"


def _structures(table: pd.DataFrame) -> list[str]:
    primary = table[table.measure == "correct"]
    lines = [_contrast(row) for row in primary.itertuples()]
    if len(primary) and not any(is_found(row) for row in primary.itertuples()):
        lines.append(f"No structure is shown to be learned better or worse than {primary.reference.iloc[0]} here.")
    models = [f"{row.structure} {in_points(row.gee_points, row.gee_low, row.gee_high)}" for row in primary.itertuples()
              if not np.isnan(row.gee_points + row.estimate)]  # without pairs it would compare other facts
    notes = dict.fromkeys(note for note in primary.gee_note if note)
    lines += [f"The model beside it (GEE, intervals for these seeds alone) gives, in points, {listed(models)}."
              ] if models else []
    return lines + [f"Of the model: {note}." for note in notes]


def _contrast(row) -> str:
    """One contrast: found, or a null with the largest effects that its interval allows."""
    basis = (f"p = {p_value(row.p)}, after Holm {p_value(row.p_holm)}, n = {row.n} facts of {row.clusters} products, "
             f"{_seeds(row.seeds)}" + ("" if row.interval == BOTH else f", the interval holds {row.interval}")
             + (f"; {row.left_out} of {row.pairs + row.left_out} pairs left out" if row.left_out else ""))
    if np.isnan(row.estimate):
        return f"{row.structure} against {row.reference}: no pair to compare ({row.left_out} left out)."
    means = f"{mean_text(row.mean_reference, row.unit)} → {mean_text(row.mean_structure, row.unit)}"
    effect = difference_text(row.estimate, row.low, row.high, row.unit)
    if is_found(row):
        return (f"The same facts are {'less' if row.estimate < 0 else 'more'} often right as {row.structure} than as "
                f"{row.reference}: {effect} ({means}; {basis}).")
    if np.isnan(row.low):
        return f"{row.structure} against {row.reference}: {effect} ({means}; {basis}); no interval, so nothing is told."
    return (f"{row.structure} against {row.reference}: no difference is shown{_half(row, row.low, row.high)}, {effect} "
            f"({means}; {basis}). {_allowed(row.low, row.high)}")


def _half(row, low: float, high: float) -> str:
    """What is said where only one of the two, p or interval, speaks for an effect."""
    if row.p_holm <= ALPHA:
        return " that other seeds need repeat, although these trainings differ by p"
    lacking = " for want of a p" if np.isnan(row.p_holm) else " once Holm has corrected p"
    return f"{lacking}, although the interval leaves out 0" if low > 0 or high < 0 else ""


def _allowed(low: float, high: float) -> str:
    """The largest effects that an interval leaves open, in points."""
    ends = [f"a loss of {-low:.1f}"] * (low < 0) + [f"a gain of {high:.1f}"] * (high > 0)
    return f"The interval still allows {listed(ends)} points."


def _seeds(number: int) -> str:
    return f"{number} seed" + ("s" if number > 1 else "")


def _measures(table: pd.DataFrame) -> list[str]:
    lines = []
    for name, measure in MEASURES.items():
        rows = [row for row in table[table.measure == name].itertuples() if not np.isnan(row.estimate)]
        if name == "correct" or not rows:
            continue
        said = [f"{row.structure} {difference_text(row.estimate, row.low, row.high, row.unit).removesuffix(row.unit)}"
                f"({mean_text(row.mean_reference, row.unit)} → {mean_text(row.mean_structure, row.unit)}, Holm p = "
                f"{p_value(row.p_holm)}, n = {row.n} facts"
                + (f", {row.left_out} of {row.pairs + row.left_out} pairs left out" if row.left_out else "")
                + f", {'found' if is_found(row) else 'not shown'})" for row in rows]
        lines.append(f"{measure.label[:1].upper() + measure.label[1:]} against {rows[0].reference}, in {measure.unit}: "
                     f"{'; '.join(said)}.")
    return lines + (["These measures are secondary: Holm corrects within each, and nothing over all of them."
                     ] if lines else [])


def _controls(shuffled: pd.DataFrame, known: pd.DataFrame, planted: pd.DataFrame) -> list[str]:
    lines = [_shuffled(row) for row in shuffled.itertuples()]
    if lines:
        lines.append("The shuffles check the code and the width of the interval. They cannot show that an effect would "
                     "be found, and a real one is in them as a difference between products, which widens them.")
    for row in known.itertuples():
        lines.append(f"Known effect, {row.planted_points:+.1f} points of {row.structure} answers made right among "
                     f"shuffled labels: the contrast to {row.reference} is "
                     f"{in_points(row.estimate, row.low, row.high)} (Holm p = {p_value(row.p_holm)}, n = {row.n} facts, "
                     f"{_seeds(row.seeds)}): {'found' if row.is_found else '**not found**'}; the interval "
                     f"{'holds' if row.is_held else '**does not hold**'} what was planted.")
    for row in planted.itertuples():
        said = "found" if row.is_found else "**not found**, so that effects of this size are missed here" + (
            ", at least by an interval that holds other seeds; p speaks of these" if row.p <= ALPHA else "")
        lines.append(f"Planted, {row.structure} sections standing twice: they gain {row.gain_planted:+.1f} points and "
                     f"the others {row.gain_others:+.1f}, a difference of {in_points(row.estimate, row.low, row.high)} "
                     f"(p = {p_value(row.p)}, {row.clusters} products, {_seeds(row.seeds)}): {said}.")
    missing = ["the labels could not be shuffled, because a rotation is missing"] * shuffled.empty
    missing += ["no effect was planted, because no arm planted-… was run"] * planted.empty
    return lines + ([f"Not checked: {listed(missing)}."] if missing else [])


def _shuffled(row) -> str:
    expected = "5% is expected" if row.p_below_low <= ALPHA <= row.p_below_high else (
        "**this is not the 5% that is expected**")
    misses = "at most 5% is expected" if row.without_0_low <= ALPHA else (
        "**more than the 5% that a 95% interval may miss: too narrow**")
    return (f"Labels shuffled, {row.structure} against {row.reference}: {in_points(row.estimate, row.low, row.high)} "
            f"points in one shuffle (p = {p_value(row.p)}). Of {row.shuffles} shuffles {row.p_below} have p < {ALPHA} "
            f"({row.p_below / row.shuffles:.1%} [{row.p_below_low:.1%}, {row.p_below_high:.1%}]; {expected}) and "
            f"{row.intervals_without_0} an interval without 0 ({row.intervals_without_0 / row.shuffles:.1%} "
            f"[{row.without_0_low:.1%}, {row.without_0_high:.1%}]; {misses}).")


def _interventions(table: pd.DataFrame) -> list[str]:
    whole = table[(table.structure == ALL) & table.gain_points.notna()]
    treated = whole[whole.role == INTERVENTION].sort_values("gain_points", ascending=False, kind="stable")
    found = [row for row in treated.itertuples() if is_found(row) and row.gain_points > 0]
    lines = []
    if len(treated) and not found:
        lines.append(f"None of {len(treated)} interventions is shown to gain over raw text.")
    for row in found:
        each = "" if np.isnan(row.points_per_percent) else f": {row.points_per_percent:+.2f} points for 1% more tokens"
        lines.append(f"{row.arm} gains {_gain(row)}, with {row.tokens_added_percent:+.1f}% tokens{each}. {_asked(row)}"
                     f"{_by_structure(table, row.arm)}")
    for row in treated.itertuples():
        if row.arm not in {one.arm for one in found}:
            said = "a loss of" if is_found(row) else f"no gain is shown{_half(row, row.low_points, row.high_points)},"
            lines.append(f"{row.arm}: {said} {_gain(row)}, with "
                         f"{row.tokens_added_percent:+.1f}% tokens."
                         + ("" if is_found(row) or np.isnan(row.low_points) else
                            f" {_allowed(row.low_points, row.high_points)}") + f" {_asked(row)}"
                         + _by_structure(table, row.arm))
    lines += [f"The first of {len(found)} is the largest estimate of {len(treated)}, and such a one is too large on "
              "average."] if len(found) > 1 else []
    return lines + ([_TWO_COLUMNS] if (treated.arm == "repeat-header").any() else [])


def _beside(table: pd.DataFrame, pairs: pd.DataFrame) -> list[str]:
    """What more training alone gains, what prose as such does, and other arms beside these."""
    whole = table[(table.structure == ALL) & table.gain_points.notna()]
    lines = [f"Control: {row.arm} (the raw text in more epochs, {row.tokens_added_percent:+.1f}% tokens read in all) "
             f"gains {_gain(row)}; what an arm with more tokens gains beyond that is not only more training."
             for row in whole[(whole.role == CONTROL) & ~whole.arm.str.startswith("planted")].itertuples()]
    lines += [f"Every section as prose, in the wordings of raw prose: {_gain(row)}. That is what prose as such is "
              f"worth. {_asked(row)}{_by_structure(table, row.arm)}" for row in whole[whole.arm == PROSE].itertuples()]
    for row in pairs.itertuples():
        said = "found" if is_found(row) else f"no difference is shown{_half(row, row.low, row.high)}"
        lines.append(f"{row.second} less {row.first}, on the same facts and seeds: "
                     f"{in_points(row.estimate, row.low, row.high)} points (Holm p = {p_value(row.p_holm)}, "
                     f"n = {row.n}, {_seeds(row.seeds)}"
                     + ("" if row.interval == BOTH else f", the interval holds {row.interval}")
                     + f"), with {row.tokens_added_percent:+.1f}% tokens: {said}. The question's own words: in "
                     f"{row.as_asked_first_percent:.0f}% of these facts' texts with {row.first}, in "
                     f"{row.as_asked_second_percent:.0f}% with {row.second}.")
    return lines


def _asked(row) -> str:
    """How many of an arm's facts were trained on in the question's own words, beside raw text."""
    return (f"The question's own words stand in the text of {row.as_asked_arm_percent:.0f}% of these facts, in raw "
            f"text of {row.as_asked_raw_percent:.0f}%.")


def _gain(row) -> str:
    seeds = "" if row.interval == BOTH else f", the interval holds {row.interval}"
    return (f"{in_points(row.gain_points, row.low_points, row.high_points)} points over {RAW} (Holm p = "
            f"{p_value(row.p_holm)}, n = {row.n}, {_seeds(row.seeds)}{seeds})")


def _by_structure(table: pd.DataFrame, arm: str) -> str:
    cells = table[(table.arm == arm) & (table.structure != ALL) & table.gain_points.notna()]
    said = [f"{row.structure} {in_points(row.gain_points, row.low_points, row.high_points)}"
            for row in cells.itertuples()]
    return f" By structure: {listed(said)}." if 0 < len(said) <= _FEW else ""  # of many, the table has them


def _factors(table: pd.DataFrame, tokens: pd.DataFrame) -> list[str]:
    """Each factor's differences, level by level; attributes are left to their table."""
    lines = []
    if len(tokens) > 1:
        said = [f"{row.tokens:.1f} as {row.structure}" for row in tokens.itertuples()]
        lines.append(f"Tokens that a fact takes: {listed(said)} (n = {tokens.n.max()}); structures differ by that too.")
    words = [f"{row.accuracy:.1f}% [{row.low:.1f}, {row.high:.1f}] of {row.n} in {row.level}"
             for row in table[table.factor == WORDS].itertuples()]
    lines += [f"Raw prose by its words, which were drawn: {listed(words)}."] if words else []
    known = table[table.difference.notna() & (table.factor != ATTRIBUTE)]
    for factor, cells in known.groupby("factor", sort=False):
        said = [f"{structure}: " + ", ".join(
            f"{in_points(row.difference, row.difference_low, row.difference_high)} at {row.level} (n = "
            f"{row.n_difference:.0f})" for row in of_it.itertuples())
            for structure, of_it in cells.groupby("structure", sort=False)]
        lines.append(f"By {factor}, difference to {cells.against.iloc[0]} in {POINTS}: {'; '.join(said)}.")
    return lines + (["The factors are looked at one by one, without correction: where intervals of levels overlap, no "
                     "factor is said to matter."] if len(known) else [])
