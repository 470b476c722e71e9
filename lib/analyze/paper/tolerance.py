"""Measure numeric accuracy within a tolerance, in addition to exact accuracy (Table 5).

Each number of an answer that is near a number of the reference is replaced with it; then the rules
compare the answer. So the tolerance is the only difference from exact comparison: restatements,
lists, surplus and second values count as in lib.judge.rules.
"""

from collections.abc import Sequence
from fractions import Fraction

import pandas as pd

from lib.analyze.format import one_line
from lib.analyze.tables import COUNTS, accuracy
from lib.core.arms import ALL, sorted_arms
from lib.core.records import STRUCTURES, Answer, Query, Verdict
from lib.core.values import Token, folded, in_unit, tokens
from lib.judge.numeric import has_number, is_numeric
from lib.judge.rules import compare
from lib.judge.words.wording import asked_unit

TOLERANCES = (0.01, 0.05)  # relative
NO_NUMBER = "no number in the answer"


def numeric_tolerance(queries: list[Query], answers: list[Answer], verdicts: list[Verdict],
                      tolerances: Sequence[float] = TOLERANCES) -> pd.DataFrame:
    """Return numeric queries by arm, structure and kind, in the columns of Table 5.

    The kinds are "exact, by <judge>" from `verdicts` of one judge, "within 1%" and so on from
    `answers`, and NO_NUMBER, whose `correct` counts the answers without a number. A query without
    an answer row is unscored.
    """
    texts = {(answer.arm, answer.query_id): answer.answer for answer in answers}
    judged = {(verdict.arm, verdict.query_id): verdict for verdict in verdicts}
    rows = [(arm, query.structure, kind, state)
            for arm in sorted_arms(verdict.arm for verdict in verdicts)
            for query in queries if is_numeric(query)
            for kind, state in _states(query, texts.get((arm, query.query_id)),
                                       judged[arm, query.query_id], tolerances).items()]
    states = pd.DataFrame(rows, columns=["arm", "structure", "kind", "state"])
    cells = [{"arm": arm, "structure": structure, "kind": kind, **accuracy(of_arm.state[
        (of_arm.kind == kind) & ((of_arm.structure == structure) | (structure == ALL))])}
        for arm, of_arm in states.groupby("arm", sort=False) for structure in (*STRUCTURES, ALL)
        for kind in of_arm.kind.unique()]
    return pd.DataFrame(cells, columns=["arm", "structure", "kind", *COUNTS])


def near_misses(queries: list[Query], answers: list[Answer], tolerance: float) -> pd.DataFrame:
    """Return answers that are correct within `tolerance` but not exactly.

    Columns are arm, query_id, question, reference, answer. The texts come from documents and
    models: display them only where HTML is escaped, as pandas does.
    """
    asked = {query.query_id: query for query in queries if is_numeric(query)}
    rows = []
    for answer in answers:
        query = asked.get(answer.query_id)
        if query and is_within(query, answer.answer, tolerance) \
                and not is_within(query, answer.answer, 0):
            texts = map(one_line, (query.question, query.answer, answer.answer))
            rows.append((answer.arm, answer.query_id, *texts))
    return pd.DataFrame(rows, columns=["arm", "query_id", "question", "reference", "answer"])


def is_quantity(query: Query) -> bool:
    """Return whether a numeric query's reference or question has a unit, percent or currency."""
    unit = asked_unit(query.question)
    return is_numeric(query) and any(
        token.kind == "number" and in_unit(token, unit).value[0] != ""
        for token in tokens(query.answer))


def is_within(query: Query, answer: str, tolerance: float) -> bool:
    """Return whether `answer` gives the reference, with quantities within a relative `tolerance`.

    A quantity is a number with a unit, percent sign or currency; units of one dimension are
    converted, and a number without a unit is read in the unit that the question names. Any other
    number is a count, port or version and must be equal; so must ranges and ± amounts. 5% and 0.05
    are equal. The tolerance is a share of the reference in the base unit of its dimension, so for
    temperatures it depends on the zero of the scale. Raises ValueError if `tolerance` is negative.
    """
    if tolerance < 0:
        raise ValueError(f"the tolerance is {tolerance}: give a fraction of the reference, such as "
                         "0.01")
    snapped = _snapped(query, answer, Fraction(str(tolerance)))
    return compare(query.question, query.answer, snapped, query.entity_count).is_correct


def _states(query: Query, answer: str | None, verdict: Verdict,
            tolerances: Sequence[float]) -> dict[str, str]:
    exact = {f"exact, by {verdict.judge}": verdict.verdict}
    kinds = [*(f"within {100 * tolerance:g}%" for tolerance in tolerances), NO_NUMBER]
    if answer is None:
        return exact | dict.fromkeys(kinds, "unscored")
    found = [*(answer != "" and is_within(query, answer, tolerance) for tolerance in tolerances),
             not has_number(answer)]
    return exact | {kind: "correct" if is_so else "incorrect"
                    for kind, is_so in zip(kinds, found, strict=True)}


def _snapped(query: Query, answer: str, tolerance: Fraction) -> str:
    """Replace each number in `answer` that is near one of the reference with the nearest one."""
    unit = asked_unit(query.question)
    wanted = [token for token in tokens(query.answer) if token.kind == "number"]
    text, place, parts = folded(answer), 0, []
    for token in tokens(answer):
        start = text.index(token.text, place)
        near = {}
        for one in wanted if token.kind == "number" else []:
            distance = _distance(in_unit(one, unit), in_unit(token, unit))
            if distance is not None and distance <= tolerance:
                near[one.text] = distance
        parts += [text[place:start], min(near, key=near.get) if near else token.text]
        place = start + len(token.text)
    return "".join([*parts, text[place:]])


def _distance(wanted: Token, found: Token) -> Fraction | None:
    """Return the relative distance of `found` from `wanted`; None if they cannot be compared."""
    (dimension, amount), (other, given) = wanted.value, found.value
    if {dimension, other} == {"", "share"}:  # 5% and 0.05
        try:
            shares = [Fraction(value) / (100 if kind else 1)
                      for kind, value in (wanted.value, found.value)]
        except ValueError:  # 1.2.3
            return None
        return Fraction(0) if shares[0] == shares[1] else None
    are_amounts = isinstance(amount, Fraction) and isinstance(given, Fraction)
    if dimension != other or not dimension or not are_amounts:
        return None
    if not amount:
        return Fraction(0) if given == amount else None
    return abs(given - amount) / abs(amount)
