"""Write the findings of the controlled experiment as text, from its tables."""

import numpy as np
import pandas as pd

from lib.analyze.format import estimate, in_points, p_value
from lib.analyze.statistics.seeds import BOTH
from lib.analyze.stats import ALPHA
from lib.controlled.analyze import formatted
from lib.controlled.analyze.contrasts import is_found
from lib.controlled.analyze.factors import ATTRIBUTE, WORDS
from lib.controlled.analyze.interventions import CONTROL
from lib.controlled.analyze.rows import MEASURES, POINTS
from lib.controlled.design.arms import PROSE, RAW
from lib.core.arms import ALL, INTERVENTION
from lib.core.text import listed

_FEW = 5  # structures that fit in a sentence
LIMITS = (
    "The models have a few million parameters; large models may read lists and tables that these "
    "cannot.",
    "Records, names and facts are generated from templates, and the base was taught to answer "
    "exactly these kinds of questions.",
    "Each seed has its own base, but all bases share one size, recipe and kind of public text; no "
    "interval covers variation between other kinds of base.",
    "The bases have read public facts equally often in each structure (within one rendering), "
    "because a base that has read more prose than tables learns prose better. Documents, and the "
    "texts that large models have read, are not balanced in this way.",
    "There are few seeds: the part of an interval that is due to them rests on as many values, and "
    "is missing if there is one.",
    "Intervals are over products and seeds only. Attributes and their wordings are the "
    "generator's, the same for all products; no interval covers others.",
    "Runs on another processor, library or precision round differently; they were not tested.",
    "In one rotation, neighbouring sections are in other structures. Documents entirely of lists "
    "were not trained on, nor documents entirely of tables except in the arms table-…; and facts "
    "take different numbers of tokens in different structures, as the table of tokens shows.",
    "Every p is about these runs: the permutation tests whether structure changed them, the sign "
    "flips whether an arm and raw text differ in them. Neither includes chance variation between "
    "trainings. Only the interval covers other seeds, so an effect is found only with both.")
_TWO_COLUMNS = (
    "In tables of two columns, as here, repeat-header repeats the column headings, such as "
    "Property and Value, and no attribute's name. It says nothing about tables whose header has "
    "the attributes: those are wide-table and wide-table-repeated of studies/controlled-full.yaml.")


def conclusion(contrasts: pd.DataFrame, tokens: pd.DataFrame, shuffled: pd.DataFrame,
               known: pd.DataFrame, planted: pd.DataFrame, interventions: pd.DataFrame,
               arm_pairs: pd.DataFrame, factors: pd.DataFrame) -> str:
    """Return the findings as Markdown. The arguments are tables from the functions of that name."""
    parts = {
        "Does structure decide what is learned?": _structures(contrasts),
        "Where is it lost?": _measures(contrasts),
        "Would this analysis find an effect?": _controls(shuffled, known, planted),
        "What helps, and for how many tokens?":
        _interventions(interventions) + _comparisons(interventions, arm_pairs),
        "What else matters?": _factors(factors, tokens),
        "What this design cannot tell": LIMITS}
    return "\n\n".join(f"**{title}**\n\n" + "\n".join(f"- {line}" for line in lines)
                       for title, lines in parts.items() if lines) + "\n"


def _structures(table: pd.DataFrame) -> list[str]:
    primary = list(table[table.measure == "correct"].itertuples())
    lines = [_contrast(row) for row in primary]
    if primary and not any(is_found(row) for row in primary):
        lines.append(f"No structure is shown to be learned better or worse than "
                     f"{primary[0].reference} here.")
    models = [f"{row.structure} {in_points(row.gee_points, row.gee_low, row.gee_high)}"
              for row in primary if not np.isnan(row.gee_points + row.estimate)]  # on paired facts
    if models:
        lines.append("The GEE model (intervals for these seeds alone) gives, in points, "
                     f"{listed(models)}.")
    notes = dict.fromkeys(row.gee_note for row in primary if row.gee_note)
    return lines + [f"Note on the model: {note}." for note in notes]


def _contrast(row) -> str:
    """Describe a contrast; if none is found, give the largest effects that its interval allows."""
    against = f"{row.structure} against {row.reference}"
    if np.isnan(row.estimate):
        return f"{against}: no pair to compare ({row.left_out} left out)."
    basis = (f"p = {p_value(row.p)}, after Holm {p_value(row.p_holm)}, n = {row.n} facts of "
             f"{row.clusters} products, {_sources(row)}{_left_out(row)}")
    effect = (f"{formatted.difference(row.estimate, row.low, row.high, row.unit)} "
              f"({formatted.means(row)}; {basis})")
    if is_found(row):
        return (f"The same facts are {'less' if row.estimate < 0 else 'more'} often answered "
                f"correctly as {row.structure} than as {row.reference}: {effect}.")
    if np.isnan(row.low):
        return f"{against}: {effect}; there is no interval, so nothing is concluded."
    return (f"{against}: no difference is shown{_one_sided(row, row.low, row.high)}, {effect}. "
            f"{_allowed(row.low, row.high)}")


def _left_out(row) -> str:
    pairs = row.pairs + row.left_out
    return f"; {row.left_out} of {pairs} pairs left out" if row.left_out else ""


def _one_sided(row, low: float, high: float) -> str:
    """Explain a null result if p alone, or the interval alone, indicates an effect."""
    if row.p_holm <= ALPHA:
        return " that other seeds would repeat, although p distinguishes these trainings"
    if not (low > 0 or high < 0):
        return ""
    reason = "because there is no p" if np.isnan(row.p_holm) else "after Holm's correction"
    return f" {reason}, although the interval excludes 0"


def _allowed(low: float, high: float) -> str:
    """Return the largest effects, in points, that an interval does not exclude."""
    ends = [f"a loss of {-low:.1f}"] * (low < 0) + [f"a gain of {high:.1f}"] * (high > 0)
    return f"The interval still allows {listed(ends)} points."


def _sources(row) -> str:
    """Return the number of seeds; add what the interval covers unless it is queries and seeds."""
    seeds = f"{row.seeds} seed" + ("s" if row.seeds > 1 else "")
    return seeds if row.interval == BOTH else f"{seeds}, interval covers {row.interval}"


def _measures(table: pd.DataFrame) -> list[str]:
    lines = []
    for name, measure in MEASURES.items():
        rows = [row for row in table[table.measure == name].itertuples()
                if not np.isnan(row.estimate)]
        if name == "correct" or not rows:
            continue
        digits = 1 if measure.unit == POINTS else 3
        texts = [f"{row.structure} {in_points(row.estimate, row.low, row.high, digits)} "
                 f"({formatted.means(row)}, Holm p = {p_value(row.p_holm)}, n = {row.n} facts"
                 f"{_left_out(row)}; {'found' if is_found(row) else 'not shown'})" for row in rows]
        lines.append(f"{measure.label[:1].upper() + measure.label[1:]} against "
                     f"{rows[0].reference}, in {measure.unit}: {'; '.join(texts)}.")
    return lines + ["These measures are secondary: Holm corrects within each, not over all of them."
                    ] * bool(lines)


def _controls(shuffled: pd.DataFrame, known: pd.DataFrame, planted: pd.DataFrame) -> list[str]:
    lines = [_shuffled(row) for row in shuffled.itertuples()]
    if lines:
        lines.append("The shuffles check the code and the width of the interval. They cannot show "
                     "that an effect would be found; a real effect appears in them as a difference "
                     "between products, which widens them.")
    lines += [f"Known effect, {row.planted_points:+.1f} points of {row.structure} answers made "
              f"correct among shuffled labels: the contrast to {row.reference} is "
              f"{in_points(row.estimate, row.low, row.high)} (Holm p = {p_value(row.p_holm)}, "
              f"n = {row.n} facts, {row.seeds} seeds): "
              f"{'found' if row.is_found else '**not found**'}; the interval "
              f"{'includes' if row.is_held else '**excludes**'} the planted effect."
              for row in known.itertuples()]
    lines += [_planted(row) for row in planted.itertuples()]
    missing = ["the labels could not be shuffled, because a rotation is missing"] * shuffled.empty
    missing += ["no effect was planted, because no arm planted-… was run"] * planted.empty
    return lines + [f"Not checked: {listed(missing)}."] * bool(missing)


def _shuffled(row) -> str:
    is_expected = row.p_below_low <= ALPHA <= row.p_below_high
    rate = "5% is expected" if is_expected else "**not the 5% that is expected**"
    misses = ("at most 5% is expected" if row.without_0_low <= ALPHA else
              "**more than the 5% that a 95% interval may miss: too narrow**")
    n = row.shuffles
    return (f"Labels shuffled, {row.structure} against {row.reference}: "
            f"{in_points(row.estimate, row.low, row.high)} points in one shuffle "
            f"(p = {p_value(row.p)}). Of {n} shuffles, p < {ALPHA} in {row.p_below} "
            f"({row.p_below / n:.1%} [{row.p_below_low:.1%}, {row.p_below_high:.1%}]; {rate}), "
            f"and the interval excludes 0 in {row.intervals_without_0} "
            f"({row.intervals_without_0 / n:.1%} [{row.without_0_low:.1%}, "
            f"{row.without_0_high:.1%}]; {misses}).")


def _planted(row) -> str:
    verdict = "found" if row.is_found else "**not found**: effects of this size are missed here"
    if not row.is_found and row.p <= ALPHA:
        verdict += ", at least by an interval over other seeds; p is about these seeds"
    return (f"Planted, {row.structure} sections repeated: they gain {row.gain_planted:+.1f} points "
            f"and the others {row.gain_others:+.1f}, a difference of "
            f"{in_points(row.estimate, row.low, row.high)} (p = {p_value(row.p)}, "
            f"{row.clusters} products, {row.seeds} seeds): {verdict}.")


def _interventions(table: pd.DataFrame) -> list[str]:
    overall = table[(table.structure == ALL) & table.gain_points.notna()]
    treated = overall[overall.role == INTERVENTION].sort_values(
        "gain_points", ascending=False, kind="stable")
    is_gain = [is_found(row) and row.gain_points > 0 for row in treated.itertuples()]
    lines = []
    if len(treated) and not any(is_gain):
        lines.append(f"None of {len(treated)} interventions is shown to gain over raw text.")
    for row in treated[is_gain].itertuples():
        each = ("" if np.isnan(row.points_per_percent) else
                f": {row.points_per_percent:+.2f} points per 1% more tokens")
        lines.append(f"{row.arm} gains {_gain(row)}, with {row.tokens_added_percent:+.1f}% tokens"
                     f"{each}. {_details(table, row)}")
    for row in treated[np.logical_not(is_gain)].itertuples():
        effect, allowed = "a loss of", ""
        if not is_found(row):
            effect = f"no gain is shown{_one_sided(row, row.low_points, row.high_points)},"
            allowed = ("" if np.isnan(row.low_points) else
                       f"{_allowed(row.low_points, row.high_points)} ")
        lines.append(f"{row.arm}: {effect} {_gain(row)}, with {row.tokens_added_percent:+.1f}% "
                     f"tokens. {allowed}{_details(table, row)}")
    if sum(is_gain) > 1:
        lines.append(f"The first of {sum(is_gain)} is the largest estimate of {len(treated)}; the "
                     "largest of several overestimates on average.")
    return lines + [_TWO_COLUMNS] * bool((treated.arm == "repeat-header").any())


def _comparisons(table: pd.DataFrame, pairs: pd.DataFrame) -> list[str]:
    """Describe the gains from longer training and from prose; compare other arms with them."""
    overall = table[(table.structure == ALL) & table.gain_points.notna()]
    controls = overall[(overall.role == CONTROL) & ~overall.arm.str.startswith("planted")]
    lines = [f"Control: {row.arm} (the raw text in more epochs, {row.tokens_added_percent:+.1f}% "
             f"tokens read in all) gains {_gain(row)}. If an arm with more tokens gains more "
             "than that, longer training alone is not the reason." for row in controls.itertuples()]
    lines += [f"Every section as prose, in the wordings of raw prose: {_gain(row)}. This is the "
              f"effect of prose itself. {_details(table, row)}"
              for row in overall[overall.arm == PROSE].itertuples()]
    for row in pairs.itertuples():
        verdict = "found" if is_found(row) else (
            f"no difference is shown{_one_sided(row, row.low, row.high)}")
        lines.append(f"{row.second} minus {row.first}, on the same facts and seeds: "
                     f"{in_points(row.estimate, row.low, row.high)} points "
                     f"(Holm p = {p_value(row.p_holm)}, n = {row.n}, {_sources(row)}), with "
                     f"{row.tokens_added_percent:+.1f}% tokens: {verdict}. The question's own "
                     f"words are in {row.as_asked_first_percent:.0f}% of these facts' texts with "
                     f"{row.first}, in {row.as_asked_second_percent:.0f}% with {row.second}.")
    return lines


def _gain(row) -> str:
    return (f"{in_points(row.gain_points, row.low_points, row.high_points)} points over {RAW} "
            f"(Holm p = {p_value(row.p_holm)}, n = {row.n}, {_sources(row)})")


def _details(table: pd.DataFrame, row) -> str:
    """Return how often an arm's text has the question's words, and the arm's gains by structure."""
    text = (f"The question's own words are in the text of {row.as_asked_arm_percent:.0f}% of these "
            f"facts, in raw text of {row.as_asked_raw_percent:.0f}%.")
    cells = table[(table.arm == row.arm) & (table.structure != ALL) & table.gain_points.notna()]
    gains = [f"{cell.structure} {in_points(cell.gain_points, cell.low_points, cell.high_points)}"
             for cell in cells.itertuples()]
    return f"{text} By structure: {listed(gains)}." if 0 < len(gains) <= _FEW else text


def _factors(table: pd.DataFrame, tokens: pd.DataFrame) -> list[str]:
    """Describe each factor's differences by level, except attributes, which are in their table."""
    lines = []
    if len(tokens) > 1:
        sizes = [f"{row.tokens:.1f} as {row.structure}" for row in tokens.itertuples()]
        lines.append(f"Tokens per fact: {listed(sizes)} (n = {tokens.n.max()}); structures differ "
                     "in that too.")
    wordings = [f"{row.level} {estimate(row.accuracy, row.low, row.high)}% (n = {row.n})"
                for row in table[table.factor == WORDS].itertuples()]
    if wordings:
        lines.append(f"Raw prose by its wording, which was drawn: {'; '.join(wordings)}.")
    known = table[table.difference.notna() & (table.factor != ATTRIBUTE)]
    for factor, cells in known.groupby("factor", sort=False):
        texts = [f"{structure}: " + ", ".join(
            f"{in_points(row.difference, row.difference_low, row.difference_high)} at {row.level} "
            f"(n = {row.n_difference:.0f})" for row in each.itertuples())
            for structure, each in cells.groupby("structure", sort=False)]
        lines.append(f"By {factor}, difference to {cells.against.iloc[0]} in {POINTS}: "
                     f"{'; '.join(texts)}.")
    if len(known):
        lines.append("Factors are examined one by one, without correction: if the intervals of "
                     "levels overlap, no factor is claimed to matter.")
    return lines
