"""TableQuest as a task: prompts with a passage, JSON replies, verdicts on figures, word metrics."""

import re
from bisect import bisect_right
from collections.abc import Sequence
from fractions import Fraction

from lib.core.prompts import prompt_template
from lib.core.records import Answer, Query, Verdict
from lib.core.store import BadInput, Stopped, require_known
from lib.infer.prompts import lengths_of
from lib.judge.scorer import judge
from lib.llm.calls import Calls
from lib.tablequest.cells import POINTS, SCALE_WORDS, Amount, amounts
from lib.tablequest.questions import (
    FORMS,
    ask_by_model,
    escape_slots,
    last_object,
    serialized,
    source_of,
)
from lib.tablequest.records import (
    Filing,
    Grid,
    Passage,
    TableQuestion,
    Texts,
    by_id,
    left_out,
    texts_by_id,
)
from lib.tasks.task import Asked, Final, Room, Rows, Shown, Task

# The last ones are the passage's own, because their markup is escaped
_START, _END = "<passage>\n", "\n</passage>"
NO_REPLY, NO_ANSWER = "there is no reply", "the answer is empty"
NO_JSON = "no JSON with an answer in the reply"


def as_queries(
    questions: Sequence[TableQuestion], texts: Texts, forms: Sequence[str]
) -> list[Query]:
    """Return each question in each of `forms` ("<question_id>:<form>"); `context` is the prompt.

    Raises ValueError for an unknown form.
    """
    require_known("form", forms, FORMS)
    return [
        Query(
            query_id=f"{one.question_id}:{form}",
            document_id=one.passage_id,
            question=one.question,
            answer=one.answer,
            block_type="table",
            context=_prompt(one, texts, form),
        )
        for one in questions
        for form in dict.fromkeys(forms)
    ]


def _prompt(one: TableQuestion, texts: Texts, form: str) -> str:
    passage = serialized(texts.passages[one.passage_id], texts.grids, form)
    source = source_of(texts.filings[one.filing_id])
    raw = {"question": one.question, "passage": passage, "source": source}
    slots = escape_slots("passage|question", **raw)
    return prompt_template("tablequest/answer").render(**slots, is_split=slots != raw)


def _shortened(query: Query, room: Room, most: int) -> Query | None:
    head, start, rest = query.context.rpartition(_START)
    passage, end, tail = rest.rpartition(_END)
    ends = [gap.start() for gap in re.finditer(r"(?<=\S)\s", passage)][
        :most
    ]  # a word has a token or more

    def up_to(place: int) -> str:
        return f"{head}{start}{passage[:place]}{end}{tail}"

    n_fit = bisect_right(
        ends, most, key=lambda place: lengths_of([up_to(place)], room.tokenizer)[0]
    )
    return query.model_copy(update={"context": up_to(ends[n_fit - 1])}) if n_fit else None


def question_id_of(query_id: str) -> str:
    """Return the id of a query's question."""
    return query_id.rpartition(":")[0]


def form_of(query_id: str) -> str:
    """Return the form of the tables in a query's passage."""
    return query_id.rpartition(":")[2]


def read_reply(reply: str | None) -> Final:
    """Return the answer of the last object with an "answer"; one that is cut short is none.

    Thoughts up to </think> are ignored.
    """
    text = (reply or "").strip()
    found = last_object(text, "answer")
    answer = _text(found.get("answer"))
    if not found or answer and text.endswith(answer):
        return Final("", NO_JSON if text else NO_REPLY)
    steps = filter(None, _text(found.get("steps")).splitlines())
    return Final(answer, "" if answer else NO_ANSWER, tuple(steps))


def _text(value: object) -> str:
    if isinstance(value, list | dict):
        items = value if isinstance(value, list) else value.values()
        return "\n".join(filter(None, map(_text, items)))
    words = {"None": "", "True": "yes", "False": "no"}
    return words.get(str(value), str(value)).strip()


TOLERANCE = 0.005  # of a medium answer, as a share of the reference
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
        refs = question.cells.values()
        used = [abs(texts.grids[ref.grid_id].cell(ref).exact) in said for ref in refs]
        return "wrong arithmetic" if all(used) else "wrong cell" if any(used) else "other"
    others = {
        abs(cell.exact)
        for key in texts.passages[question.passage_id].grid_ids
        for cells in texts.grids[key].cells
        for cell in cells
        if cell.value
    }
    return "wrong cell" if said & others else "other"


class TableQuest(Task):
    """Questions of three levels on annual reports; see lib.tasks.task.Task."""

    texts = {"filings": Filing, "grids": Grid, "passages": Passage}
    groups, cluster = ("level", "form"), "passage"
    needs = {"questions": TableQuestion, "passages": Passage, "grids": Grid}

    def ask(
        self,
        texts: Rows,
        annotator: str,
        calls: Calls,
        *,
        max_queries: int = 80,
        forms: Sequence[str] = ("html",),
        seed: int = 42,
        **_: object,
    ) -> Asked:
        """Return at most `max_queries` questions of each level, in each of `forms`."""
        if max_queries < 1:
            raise ValueError(f"max_queries is {max_queries}: ask for at least 1 of each level")
        read = texts_by_id(texts)
        try:
            questions, rejected = ask_by_model(read, annotator, calls, max_queries, seed)
        except Stopped as error:
            if annotator != "shipped":
                raise
            raise BadInput(
                "the shipped questions are about data/filings: for other reports, set `annotator` "
                f"to a model's id in the study's file ({error})"
            ) from error
        queries = as_queries(questions, read, forms)
        return Asked(queries, rejected, {"questions": questions})

    def fit(self, queries: list[Query], rows: Rows, room: Room) -> Shown:
        """Cut the end of a passage that does not fit, word by word, as the paper does.

        A query is left out only if no word of its passage would remain.
        """
        most, shown = room.window - room.reply, Shown([], [], [])
        lengths = lengths_of([query.context for query in queries], room.tokenizer)
        for query, length in zip(queries, lengths, strict=True):
            if length <= most:
                shown.queries.append(query)
            elif short := _shortened(query, room, most):
                shown.queries.append(short)
                shown.cut.append(short)
            else:
                reason = (
                    f"{length:,} tokens and {room.reply:,} for the reply do not fit in "
                    f"{room.window:,}"
                )
                shown.too_long.append(left_out(query.document_id, query.query_id, reason))
        return shown

    def final(self, query: Query, reply: str) -> Final:
        """Read the JSON of a reply."""
        return read_reply(reply)

    def verdicts(self, queries: list[Query], answers: list[Answer], rows: Rows) -> list[Verdict]:
        """Judge figures with sign, scale and unit; hard answers are unscored."""
        asked = by_id(rows["questions"])

        def decide(queries: list[Query], texts: list[str]) -> list[tuple[str, str]]:
            pairs = zip(queries, texts, strict=True)
            return [judged(asked[question_id_of(one.query_id)], text) for one, text in pairs]

        return judge(queries, answers, decide)

    def replies(self, queries: list[Query], rows: Rows) -> dict[str, str]:
        """Return the constant baseline, which says the same to every query."""
        return dict.fromkeys((query.query_id for query in queries), '{"steps": [], "answer": "0"}')

    def about(self, query: Query, rows: Rows) -> dict[str, object]:
        """Return the question's level, the tables' form and the passage."""
        question = by_id(rows["questions"])[question_id_of(query.query_id)]
        return {
            "level": question.level,
            "passage": question.passage_id,
            "form": form_of(query.query_id),
        }


TASK = TableQuest()
