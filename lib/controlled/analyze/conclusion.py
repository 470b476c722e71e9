"""Write the findings of the controlled experiment as text, from its tables."""

import numpy as np
import pandas as pd

from lib.analyze.format import estimate, in_points, named_p
from lib.analyze.stats import ALPHA
from lib.controlled.analyze import formatted
from lib.controlled.analyze.bases import EXPLORATORY, NONE
from lib.controlled.analyze.factors import ATTRIBUTE, WORDS
from lib.controlled.analyze.interventions import CONTROL, GAIN
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
    "Intervals and p are over bases (Student's t, one value per base). All bases share one size, "
    "recipe and kind of public text; no interval covers other kinds of base.",
    "Attributes and their wordings are the generator's, the same for all bases; no interval covers "
    "others.",
    "The bases have read public facts equally often in each structure (within one rendering), "
    "because a base that has read more prose than tables learns prose better. Documents, and the "
    "texts that large models have read, are not balanced in this way.",
    "With few bases, only large effects can be found: what is not found may still exist, as far as "
    "the intervals allow.",
    "An exploratory contrast is not among the study's hypotheses. Its p is not corrected for the "
    "number of contrasts, and nothing is concluded from it.",
    "Runs on another processor, library or precision round differently; they were not tested.",
    "In one rotation, neighbouring sections are in other structures. Documents entirely of lists "
    "were not trained on, nor documents entirely of tables except in the arms table-…; and facts "
    "take different numbers of tokens in different structures, as the table of tokens shows.")
_SAME_FACTS = ("All bases were trained on the same facts, so intervals cover other bases and not "
               "other facts.")
_OWN_FACTS = ("Each base has facts of its own, so a base's value varies with its facts too, and "
              "intervals cover other facts of this generator.")
_TWO_COLUMNS = (
    "In tables of two columns, as here, repeat-header repeats the column headings, such as "
    "Property and Value, and no attribute's name. It says nothing about tables whose header has "
    "the attributes: those are wide-table and wide-table-repeated of studies/controlled-full.yaml.")


def conclusion(contrasts: pd.DataFrame, tokens: pd.DataFrame, shuffled: pd.DataFrame,
               known: pd.DataFrame, planted: pd.DataFrame, interventions: pd.DataFrame,
               arm_pairs: pd.DataFrame, factors: pd.DataFrame) -> str:
    """Return the findings as Markdown. The arguments are tables from the functions of that name."""
    gains = interventions.rename(columns={points: name for name, points in GAIN.items()})
    parts = {
        "Does structure decide what is learned?": _structures(contrasts),
        "Where is it lost?": _measures(contrasts),
        "Would this analysis find an effect?": _controls(shuffled, known, planted),
        "What helps, and for how many tokens?":
        _interventions(gains) + _comparisons(gains, arm_pairs),
        "What else matters?": _factors(factors, tokens),
        "What this design cannot tell": [*_facts(contrasts), *LIMITS]}
    return "\n\n".join(f"**{title}**\n\n" + "\n".join(f"- {line}" for line in lines)
                       for title, lines in parts.items() if lines) + "\n"


def _facts(table: pd.DataFrame) -> list[str]:
    """Say whether the bases share facts; nothing with one base, or if only some are shared."""
    rows = table[(table.measure == "correct") & (table.bases > 1)]
    is_own, is_same = (rows.pairs == rows.n).all(), (rows.pairs == rows.n * rows.bases).all()
    return [_OWN_FACTS if is_own else _SAME_FACTS] * bool(len(rows) and (is_own or is_same))


def _structures(table: pd.DataFrame) -> list[str]:
    rows = list(table[table.measure == "correct"].itertuples())
    lines = [_contrast(row) for row in rows]
    if rows and not any(row.found for row in rows):
        lines.append(f"No structure is shown to be learned better or worse than "
                     f"{rows[0].reference} here.")
    return lines


def _contrast(row) -> str:
    """Describe a contrast; if it is not found, give the largest effects its interval allows."""
    against = f"{row.structure} against {row.reference}"
    if np.isnan(row.estimate):
        return f"{against}: no pair to compare ({row.left_out} left out)."
    effect = (f"{formatted.difference(row.estimate, row.low, row.high, row.unit)} "
              f"({formatted.means(row)}; {_basis(row)}{_left_out(row)})")
    if row.found:
        return (f"The same facts are {'less' if row.estimate < 0 else 'more'} often answered "
                f"correctly as {row.structure} than as {row.reference}: {effect}.")
    return f"{against}: {effect}: {_verdict(row)}.{_allowed(row)}"


def _basis(row) -> str:
    """Return p, Holm's p, and the numbers that they rest on."""
    spread = "" if np.isnan(row.sd_bases) else f", SD between bases {estimate(row.sd_bases)}"
    return (f"{_tested(row)}; n = {row.n} facts of {row.clusters} products, {row.bases} "
            f"base{'s' * (row.bases > 1)}{spread}")


def _tested(row) -> str:
    if row.family == EXPLORATORY:
        return f"{named_p(row.p)} (uncorrected, {EXPLORATORY})"
    corrected = f", Holm's over {row.hypotheses} {named_p(row.p_holm).removeprefix('p ')}"
    return named_p(row.p) + ("" if np.isnan(row.p_holm) else corrected)


def _verdict(row) -> str:
    """Say in words whether an effect is found, and if not, why."""
    if row.found:
        return "found"
    if np.isnan(row.low):
        return f"there is no interval ({row.interval.removeprefix(NONE)}), so nothing is concluded"
    if row.family == EXPLORATORY:
        return "exploratory, so nothing is concluded"
    is_apart = row.low > 0 or row.high < 0
    return "no difference is shown" + (" after Holm's correction, although the 95% interval "
                                       "excludes 0" if is_apart else "")


def _allowed(row) -> str:
    """Return the largest effects, in points, that an interval allows if none is found."""
    if row.found:
        return ""
    ends = [f"a loss of {-row.low:.1f}"] * (row.low < 0) + [f"a gain of {row.high:.1f}"] * (
        row.high > 0)
    return f" The 95% interval allows {listed(ends)} points." if ends else ""


def _left_out(row) -> str:
    pairs = row.pairs + row.left_out
    return f"; {row.left_out} of {pairs} pairs left out" if row.left_out else ""


def _measures(table: pd.DataFrame) -> list[str]:
    lines = []
    for name, measure in MEASURES.items():
        rows = [row for row in table[table.measure == name].itertuples()
                if not np.isnan(row.estimate)]
        if name == "correct" or not rows:
            continue
        digits = 1 if measure.unit == POINTS else 3
        texts = [f"{row.structure} {in_points(row.estimate, row.low, row.high, digits)} "
                 f"({formatted.means(row)}, {_tested(row)}, n = {row.n} "
                 f"facts{_left_out(row)}; {_verdict(row)})" for row in rows]
        lines.append(f"{measure.label[:1].upper() + measure.label[1:]} against "
                     f"{rows[0].reference}, in {measure.unit}: {'; '.join(texts)}.")
    return lines + ["These measures are secondary: Holm corrects at most within each, not over all "
                    "of them."] * bool(lines)


def _controls(shuffled: pd.DataFrame, known: pd.DataFrame, planted: pd.DataFrame) -> list[str]:
    lines = [_shuffled(row) for row in shuffled.itertuples()]
    lines += [f"Known effect, {row.planted_points:+.1f} points of {row.structure} answers made "
              f"correct among shuffled labels: the contrast to {row.reference} is "
              f"{in_points(row.estimate, row.low, row.high)} ({_basis(row)}): {_outcome(row)}; the "
              f"interval {'includes' if row.is_held else '**does not include**'} the planted "
              "effect."
              for row in known.itertuples()]
    lines += [f"Planted, {row.structure} sections repeated: they gain {row.gain_planted:+.1f} "
              f"points and the others {row.gain_others:+.1f}, a difference of "
              f"{in_points(row.estimate, row.low, row.high)} ({_basis(row)}): "
              f"{_outcome(row)}."
              for row in planted[planted.estimate.notna()].itertuples()]
    missing = ["no labels were shuffled, because a test needs pairs in two bases"] * shuffled.empty
    missing += ["no effect was planted in training, because no arm planted-… has outcomes to "
                "compare"] * bool(planted.estimate.isna().all())
    return lines + [f"Not checked: {listed(missing)}."] * bool(missing)


def _outcome(row) -> str:
    why = f" ({row.interval.removeprefix(NONE)})" if np.isnan(row.low) else ""
    return "found" if row.found else f"**not found**{why}"


def _shuffled(row) -> str:
    is_expected = row.p_below_low <= ALPHA <= row.p_below_high
    rate = "5% is expected" if is_expected else "**not the 5% that is expected**"
    return (f"Labels shuffled within base, {row.structure} against {row.reference}: "
            f"{in_points(row.estimate, row.low, row.high)} points in one shuffle "
            f"({named_p(row.p)}). Of {row.shuffles} shuffles, p ≤ {ALPHA} in {row.p_below} "
            f"({row.p_below / row.shuffles:.1%} [{row.p_below_low:.1%}, {row.p_below_high:.1%}]; "
            f"{rate}). Effects that vary between bases are not in the shuffles.")


def _interventions(table: pd.DataFrame) -> list[str]:
    overall = table[(table.structure == ALL) & table.estimate.notna()]
    treated = overall[overall.role == INTERVENTION].sort_values(
        "estimate", ascending=False, kind="stable")
    gained = treated[treated.found & (treated.estimate > 0)]
    lines = []
    if gained.empty and (treated.family != EXPLORATORY).any():
        lines.append("No intervention that is a hypothesis against raw text is shown to gain.")
    for row in pd.concat([gained, treated.drop(gained.index)]).itertuples():
        added = f"with {row.tokens_added_percent:+.1f}% tokens"
        if not row.found:
            text = f"{row.arm}: {_gain(row)}, {added}: {_verdict(row)}.{_allowed(row)}"
        else:
            each = ("" if np.isnan(row.points_per_percent) else
                    f": {row.points_per_percent:+.2f} points per 1% more tokens")
            lost = estimate(-row.estimate, -row.high, -row.low)
            effect = (f"gains {_gain(row)}" if row.estimate > 0 else
                      f"loses {lost} points against {RAW} ({_basis(row)})")
            text = f"{row.arm} {effect}, {added}{each}."
        lines.append(f"{text} {_details(table, row)}")
    if len(gained) and len(treated) > 1:
        lines.append(f"The largest of these {len(treated)} estimates is that of "
                     f"{treated.arm.iloc[0]}; the largest of several overestimates on average.")
    return lines + [_TWO_COLUMNS] * bool((treated.arm == "repeat-header").any())


def _comparisons(table: pd.DataFrame, pairs: pd.DataFrame) -> list[str]:
    """Describe the gains from longer training and from prose; compare other arms with them."""
    overall = table[(table.structure == ALL) & table.estimate.notna()]
    controls = overall[(overall.role == CONTROL) & ~overall.arm.str.startswith("planted")]
    lines = [f"Control: {row.arm} (the raw text in more epochs, {row.tokens_added_percent:+.1f}% "
             f"tokens read in all), {_gain(row)}: {_verdict(row)}.{_allowed(row)}"
             for row in controls.itertuples()]
    lines += [f"Every section as prose, in the wordings of raw prose: {_gain(row)}: "
              f"{_verdict(row)}.{_allowed(row)} {_details(table, row)}"
              for row in overall[overall.arm == PROSE].itertuples()]
    lines += [f"{row.second} minus {row.first}, on the same facts and bases: "
              f"{in_points(row.estimate, row.low, row.high)} points ({_basis(row)}), with "
              f"{row.tokens_added_percent:+.1f}% tokens: {_verdict(row)}. The question's own "
              f"words are in {row.as_asked_first_percent:.0f}% of these facts' texts with "
              f"{row.first}, in {row.as_asked_second_percent:.0f}% with {row.second}."
              for row in pairs.itertuples()]
    return lines


def _gain(row) -> str:
    return f"{in_points(row.estimate, row.low, row.high)} points over {RAW} ({_basis(row)})"


def _details(table: pd.DataFrame, row) -> str:
    """Return how often an arm's text has the question's words, and the arm's gains by structure."""
    text = (f"The question's own words are in the text of {row.as_asked_arm_percent:.0f}% of these "
            f"facts, in raw text of {row.as_asked_raw_percent:.0f}%.")
    cells = table[(table.arm == row.arm) & (table.structure != ALL) & table.estimate.notna()]
    gains = [f"{cell.structure} {in_points(cell.estimate, cell.low, cell.high)}"
             for cell in cells.itertuples()]
    return f"{text} By structure: {listed(gains)}." if 0 < len(gains) <= _FEW else text


def _factors(table: pd.DataFrame, tokens: pd.DataFrame) -> list[str]:
    """Describe each factor's differences by level, except attributes, which are in their table."""
    lines = []
    if len(tokens) > 1:
        sizes = [f"{row.tokens:.1f} as {row.structure}" for row in tokens.itertuples()]
        lines.append(f"Tokens per fact: {listed(sizes)} (n = {tokens.n.max()}).")
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
        lines.append("Factors are exploratory: examined one by one, without correction or p, so no "
                     "factor is claimed to matter.")
    return lines
