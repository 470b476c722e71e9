"""Verdicts on easy and medium answers, by their figure; how answers fail.

The answer must have one figure (those that the question names, and years, are left aside). An easy
answer is right if it is the reference rounded to the digits given, at least three or all that the
reference has; a medium one also within TOLERANCE of the reference. Unit, sign and scale count: a
figure without a scale word is taken in the scale that the question names or in none, one without a
unit in the reference's. With no figure or several, the answer is unscored.
"""

import re
from collections.abc import Sequence
from fractions import Fraction

from lib.analyze.metrics import bleu, exact_match, f1, rouge_l
from lib.core.errors import BadInput, BadStudy
from lib.tasks.tablequest.answer.prompts import NO_ANSWER, NO_REPLY, Final
from lib.tasks.tablequest.records import TableQuestion, Texts
from lib.tasks.tablequest.wording import POINTS, SCALE_WORDS, Amount, amounts

TOLERANCE = 0.005  # of a medium answer, as a share of the reference
WORD_METRICS = ("exact_match", "f1", "bleu", "rouge_l")
_LEAST_DIGITS = 3
_POWERS = [Fraction(10) ** power for power in (-9, -6, -3, -2, 0, 2, 3, 6, 9)]


def judged(question: TableQuestion, answer: str) -> tuple[str, str]:
    """Return the verdict on a final answer that is not empty, and the reason."""
    if question.level == "hard":
        return "unscored", "a hard answer has no rule: name a model as judge"
    offered = _offered(question, answer)
    if len({amount.value for amount in offered}) != 1:
        return "unscored", f"{len(offered)} figures in the answer, not one"
    amount = offered[0]
    if _is_right(question, amount):
        return "correct", f"{amount.text} is right"
    return "incorrect", f"{amount.text} is not {question.answer}"


def _offered(question: TableQuestion, answer: str) -> list[Amount]:
    asked = {amount.value for amount in amounts(question.question)}
    found = amounts(answer)
    return [
        amount
        for amount in found
        if len(found) == 1
        or amount.value not in asked
        and not re.fullmatch(r"(?:19|20)\d\d", amount.text)
    ]


def _is_right(question: TableQuestion, amount: Amount) -> bool:
    unit = "%" if question.unit == POINTS else question.unit.split("/")[0]
    wanted = question.exact
    digits = len(amounts(question.answer)[0].text.strip("$()%-").replace(",", "").replace(".", ""))
    is_named = SCALE_WORDS.get(question.scale, "") in question.question
    scales = [1.0, question.scale] if is_named and not amount.scale else [1.0]
    for scale in map(Fraction, scales):
        reach = amount.step * scale / 2 if amount.n_digits >= min(_LEAST_DIGITS, digits) else 0
        if question.level == "medium":
            reach = max(reach, abs(wanted) * Fraction(str(TOLERANCE)))
        if amount.unit in ("", unit) and abs(amount.value * scale - wanted) <= reach:
            return True
    return False


def failure(question: TableQuestion, final: Final, texts: Texts, is_truncated: bool = False) -> str:
    """Return the first mode that applies, of those that 06_tablequest explains.

    A hard answer that is not empty, incomplete or without JSON is "answered".
    """
    if final.missing:
        if is_truncated:
            return "incomplete"
        return "empty" if final.missing in (NO_REPLY, NO_ANSWER) else "format"
    if question.level == "hard":
        return "answered"
    verdict, _ = judged(question, final.text)
    if verdict != "incorrect":
        return "right" if verdict == "correct" else "no single figure"
    value = abs(_offered(question, final.text)[0].value)
    wanted = abs(question.exact)
    if any(abs(value * power - wanted) * 1000 <= wanted for power in _POWERS):
        return "wrong unit"
    said = {
        abs(amount.value) * power
        for text in (*final.steps, final.text)
        for amount in amounts(text)
        for power in _POWERS
    }
    if question.level == "medium":
        used = [abs(cell.exact) in said for cell in question.cells_in(texts.grids)]
        return "wrong arithmetic" if all(used) else "wrong cell" if any(used) else "other"
    others = {
        abs(cell.exact)
        for key in texts.passages[question.passage_id].grid_ids
        for cells in texts.grids[key].cells
        for cell in cells
        if cell.value
    }
    return "wrong cell" if said & others else "other"


def word_scores(reference: str, answer: str) -> dict[str, float]:
    """Return WORD_METRICS of an answer, each from 0 to 1."""
    try:
        rouge = rouge_l(reference, answer)
    except BadInput:
        rouge = 0.0
    return {
        "exact_match": float(exact_match(reference, answer)),
        "f1": f1(reference, answer),
        "bleu": bleu(reference, answer),
        "rouge_l": rouge,
    }


def bert_scores(references: Sequence[str], answers: Sequence[str], model: str) -> list[float]:
    """Return BERTScore's F1 by the encoder `model`. Raises BadStudy without the package."""
    try:
        from bert_score import score  # an extra; brings in torch, which takes seconds
    except ImportError as error:
        raise BadStudy(
            "BERTScore needs the package bert-score: run `pip install -e "
            "'.[bertscore]'`, or leave `bertscore_model` empty"
        ) from error
    return score(list(answers), list(references), model_type=model)[2].tolist()
