"""Prompts with a passage, answers in JSON, verdicts on figures, failure modes, word metrics."""

import json
import re
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from lib.analyze.metrics import bleu, exact_match, f1, rouge_l
from lib.core.errors import BadInput, BadStudy
from lib.core.prompts import escape_prompt_markup, objects_in, prompt_template
from lib.core.records import Query, Rejected
from lib.infer.prompts import lengths_of
from lib.tablequest.cells import POINTS, SCALE_WORDS, Amount, amounts
from lib.tablequest.records import Block, Filing, Grid, Passage, TableQuestion, Texts
from lib.tasks.task import Room, Shown

# The last ones are the passage's own, because their markup is escaped
_START, _END = "<passage>\n", "\n</passage>"
MOST_SHOTS = 2
NO_REPLY, NO_ANSWER = "there is no reply", "the answer is empty"
NO_JSON = "no JSON with an answer in the reply"


def _as_json(grid: Grid, _: Block) -> str:
    rows = (("", *grid.columns), *grid.lines)
    lines = [json.dumps(row, ensure_ascii=False) for row in rows]
    return "[" + ",\n ".join(lines) + "]"


FORMS: dict[str, Callable[[Grid, Block], str]] = {
    "html": lambda grid, _: grid.html,
    "markdown": lambda _, block: block.text,
    "json": _as_json,
}


def serialized(
    passage: Passage, grids: Mapping[str, Grid], form: str, titles: Mapping[str, str] | None = None
) -> str:
    """Return the passage's blocks, separated by blank lines, each table in `form` (FORMS).

    A caption and unit note that nothing else says, and `titles` by grid_id, precede a table.
    """
    prose = "\n".join(block.text for block in passage.blocks if not block.grid_id)
    parts = []
    for block in passage.blocks:
        if not block.grid_id:
            parts.append("# " * (block.kind == "heading") + block.text)
            continue
        grid = grids[block.grid_id]
        table = FORMS[form](grid, block)
        above = [text for text in (grid.caption, grid.unit_note) if text not in prose + table]
        parts += [(titles or {}).get(grid.grid_id, ""), *above, table]
    return "\n\n".join(part for part in parts if part.strip())


def as_queries(
    questions: Sequence[TableQuestion], texts: Texts, forms: Sequence[str]
) -> list[Query]:
    """Return each question in each of `forms` ("<question_id>:<form>"); `context` is the prompt.

    Raises ValueError for an unknown or repeated form.
    """
    if not forms or not set(forms) <= {*FORMS} or len(set(forms)) < len(forms):
        raise ValueError(f"forms {', '.join(forms)}: name each once, of {', '.join(FORMS)}")
    shown = {
        (key, form): serialized(texts.passages[key], texts.grids, form)
        for key in {one.passage_id for one in questions}
        for form in forms
    }
    return [
        Query(
            query_id=f"{one.question_id}:{form}",
            document_id=one.passage_id,
            question=one.question,
            answer=one.answer,
            source_reference="",
            start=0,
            end=0,
            entity_count=None,
            block_type="table",
            context=_prompt(
                one.question, shown[one.passage_id, form], texts.filings[one.filing_id]
            ),
        )
        for one in questions
        for form in forms
    ]


def _prompt(question: str, passage: str, filing: Filing) -> str:
    raw = {"question": question, "passage": passage, "source": source_of(filing)}
    slots = defused_slots("passage|question", **raw)
    return prompt_template("tablequest/answer").render(**slots, is_split=slots != raw)


def defused_slots(tags: str, **texts: str) -> dict[str, str]:
    """Return the slots of a prompt, each escaped for `tags` (see lib.core.prompts)."""
    return {name: escape_prompt_markup(text, tags) for name, text in texts.items()}


def source_of(filing: Filing) -> str:
    """Describe a passage's source, as in "the 10-K of Apple Inc. for September 28, 2024"."""
    period = f" for {filing.period}" if filing.period else ""
    return f"the {filing.form} of {filing.company}{period}"


def with_shots(queries: Sequence[Query], shots: int) -> list[Query]:
    """Return the queries with `shots` worked examples, written by hand, before the passage.

    Their tables have the query's form. Raises ValueError beyond MOST_SHOTS.
    """
    if not 0 < shots <= MOST_SHOTS:
        raise ValueError(f"shots is {shots}: there are {MOST_SHOTS} examples")
    prompt = prompt_template("tablequest/shots")
    return [
        query.model_copy(
            update={
                "context": query.context.replace(
                    _START, prompt.render(form=form_of(query.query_id), shots=shots) + _START
                )
            }
        )
        for query in queries
    ]


def cut_to_fit(queries: Sequence[Query], room: Room) -> Shown:
    """Return the queries with passages that lost their end, word by word, to fit the window.

    A query is left out only if no word of its passage would remain.
    """
    most, kept, cut, left_out = room.window - room.reply, [], [], []
    lengths = lengths_of([query.context for query in queries], room.tokenizer, room.style)
    for query, length in zip(queries, lengths, strict=True):
        if length <= most:
            kept.append(query)
        elif short := _shortened(query, room, most):
            kept.append(short)
            cut.append(short)
        else:
            left_out.append(
                Rejected(
                    document_id=query.document_id,
                    item=query.query_id,
                    reason=f"{length:,} tokens and {room.reply:,} for the reply do not fit in "
                    f"{room.window:,}",
                )
            )
    return Shown(kept, cut, left_out)


def _shortened(query: Query, room: Room, most: int) -> Query | None:
    start = query.context.rindex(_START) + len(_START)
    end = query.context.rindex(_END)
    ends = [
        gap.start() for gap in re.finditer(r"(?<=\S)\s", query.context[:end]) if gap.start() > start
    ][:most]  # a word has a token or more

    def up_to(place: int) -> str:
        return query.context[:place] + query.context[end:]

    n_fit = bisect_right(
        ends, most, key=lambda place: lengths_of([up_to(place)], room.tokenizer, room.style)[0]
    )
    return query.model_copy(update={"context": up_to(ends[n_fit - 1])}) if n_fit else None


def question_id_of(query_id: str) -> str:
    """Return the id of a query's question."""
    return query_id.rpartition(":")[0]


def form_of(query_id: str) -> str:
    """Return the form of the tables in a query's passage."""
    return query_id.rpartition(":")[2]


class Final(NamedTuple):
    """A reply's answer and the steps before it, or why there is none; `text` or `missing` is ""."""

    text: str
    steps: tuple[str, ...]
    missing: str


def read_reply(reply: str | None) -> Final:
    """Return the answer of the last object with an "answer"; one that is cut short is none.

    Thoughts up to </think> are ignored.
    """
    text = (reply or "").strip()
    found = last_object(text, "answer")
    answer = _text(found.get("answer"))
    if not found or answer and text.endswith(answer):
        return Final("", (), NO_JSON if text else NO_REPLY)
    steps = filter(None, _text(found.get("steps")).splitlines())
    return Final(answer, tuple(steps), "" if answer else NO_ANSWER)


def last_object(text: str, *keys: str) -> dict:
    """Return the last JSON object in a reply that has one of `keys`, in lower case, or {}."""
    found = (one for one in objects_in(text)[::-1] if one.keys() & {*keys})
    return next(found, {})


def _text(value: object) -> str:
    if isinstance(value, list | dict):
        items = value if isinstance(value, list) else value.values()
        return "\n".join(filter(None, map(_text, items)))
    words = {"None": "", "True": "yes", "False": "no"}
    return words.get(str(value), str(value)).strip()


TOLERANCE = 0.005  # of a medium answer, as a share of the reference
WORD_METRICS = ("exact_match", "f1", "bleu", "rouge_l")
_LEAST_DIGITS = 3
_POWERS = [Fraction(10) ** power for power in (-9, -6, -3, -2, 0, 2, 3, 6, 9)]


# The answer must have one figure; those that the question names, and years, are left aside. An
# easy answer is right if it is the reference rounded to the digits given, at least three or all
# that the reference has; a medium one also within TOLERANCE of the reference. Unit, sign and scale
# count. A figure without a scale word is taken in the scale that the question names or in none, one
# without a unit in the reference's. With no figure or several, the answer is unscored.
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
    digits = amounts(question.answer)[0].n_digits
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
