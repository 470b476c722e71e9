"""StrucText-Eval as a task: prompts that fit, the final answer of a reply, its scores."""

import json
import re
from collections.abc import Mapping
from functools import cache
from itertools import zip_longest
from typing import NamedTuple

from lib.analyze.metrics import LEAST_ROUGE, bleu, exact_match, rouge_l_with_steps
from lib.core.records import Answer, Query, Rejected
from lib.infer.prompts import lengths_of, token_counts
from lib.structext.prompts import REASONING, Prompted
from lib.structext.solve import attempt
from lib.tasks.task import Final, Room, Rows, Shown, Task

# the official code loses rows: an empty response raises ValueError, a long text RecursionError
RECURSION_LIMIT = 1000  # CPython's default, under which the official scorer runs
FRAMES = 12  # on that scorer's stack before the recursion begins, approximately
NO_ANSWER = "no <answer> in the reply"
NO_ROW = "no answer row: the query was not asked, or its call failed"
_TAG = re.compile(r"\\?<\s?(/?)\s?answer\s?\\?>", re.I)  # a backslash if Markdown is escaped
# a base model goes on to write tasks of its own
_NEXT = re.compile(r"(?<=</answer>)\s*<(?:text|question)>.*", re.I | re.S)
_THOUGHTS_END = re.compile(r"</think>", re.I)
_THOUGHTS = re.compile(r"\s*<think>", re.I)
_FENCED = re.compile(r"\s*`{3,}\w*\n(.*)\n`{3,}\s*", re.S)
_SHOTS = re.compile(r"-\d+\Z")  # of a query's id, after its prompt setting
_LONGEST = 60  # characters of a line that a reason shows


class Scored(NamedTuple):
    """The scores of a response, each metric 0 to 1."""

    rouge_l: float  # F, as in `rouge` 1.0.1
    rouge_score: float  # the paper's: rouge_l, or 0 below LEAST_ROUGE
    bleu: float
    exact: float  # 1 if equal except for whitespace at both ends
    error: str  # why the row has 0; "" if it was scored
    official_fails: bool  # the official scorer would lose the row, as it is empty or too long


def score(answer: str, response: str | None) -> Scored:
    """Score a response; if it cannot be scored, every metric is 0 and `error` has the reason."""
    response = (response or "").encode("utf-8", "replace").decode()  # unpaired surrogates: "?"
    try:
        if not response.strip():
            raise ValueError("there is no response")
        rouge, steps = rouge_l_with_steps(answer, response)
    except ValueError as empty:
        return Scored(0.0, 0.0, 0.0, 0.0, str(empty), True)
    return Scored(
        rouge,
        rouge if rouge >= LEAST_ROUGE else 0.0,
        bleu(answer, response),
        float(exact_match(answer, response)),
        "",
        steps + FRAMES >= RECURSION_LIMIT,
    )


def final_answer(reply: str | None, setting: str) -> Final:
    """Return the answer in `reply`; if `missing` is set, there is none and the score is 0.

    In a setting that asks for reasoning, the answer is the content of the last <answer> that is not
    empty; the last tag may be unclosed if the reply was truncated or stopped there. In the other
    settings the prompt ends with <answer>, and the answer is the reply up to an end tag; a reply
    that opens the tag again is read as if it had reasoned. Thoughts up to </think> are ignored.
    """
    reply = _NEXT.sub("", _THOUGHTS_END.split(reply or "")[-1]).strip()
    if not reply or _THOUGHTS.match(reply):
        return Final("", "the reply ends in its thoughts" if reply else "there is no reply")
    parts = _TAG.split(reply)  # texts, and between two of them "" or the slash of an end tag
    slashes, is_plain = parts[1::2], setting not in REASONING
    is_open = is_plain and slashes[:1] == ["/"]  # the prompt's own tag is closed first
    text = parts[0].strip() if is_open else _last_content(parts)
    if is_plain and "/" not in slashes:
        text = text or reply
    missing = "the <answer> is empty" if is_plain or slashes else NO_ANSWER
    return Final(text, "" if text else missing)


def as_reply(text: str, setting: str) -> str:
    """Return an answer in the form that a prompt in `setting` asks for; "" stays."""
    return f"<answer>\n{text}\n</answer>" if text and setting in REASONING else text


def scored(one: Prompted, replies: Mapping[str, Answer]) -> Scored:
    """Score the reply to a question; without an answer it is 0, and `error` says why."""
    final = Final("", NO_ROW)
    if row := replies.get(one.query_id):
        final = final_answer(row.answer, one.setting)
    found = score(one.sample.answer, final.text)
    return found._replace(error=final.missing or found.error)


def judged(queries: list[Query], answers: list[str]) -> list[tuple[str, str]]:
    """Return verdict and reason of each answer, as `lib.judge.scorer.judge` needs them.

    An answer is correct if its lines are the reference's, ignoring whitespace and a code fence.
    """
    reasons = map(_difference, [query.answer for query in queries], answers)
    return [
        ("incorrect", reason) if reason else ("correct", "the reference, whatever its whitespace")
        for reason in reasons
    ]


def _difference(reference: str, answer: str) -> str:
    fenced = _FENCED.fullmatch(answer)
    wanted, given = (
        [" ".join(line.split()) for line in text.splitlines() if line.strip()]
        for text in (reference, fenced[1] if fenced else answer)
    )
    pairs = zip_longest(wanted, given, fillvalue="(no line)")
    for number, (one, other) in enumerate(pairs, 1):
        if one != other:
            return f'line {number} is "{other[:_LONGEST]}", not "{one[:_LONGEST]}"'
    return ""


def _last_content(parts: list[str]) -> str:
    befores = [parts[0], *(f"tag {text}" for text in parts[2::2])]
    columns = befores, parts[1::2], parts[2::2], [*parts[3::2], None]
    for before, slash, text, end in [*zip(*columns, strict=False)][::-1]:
        is_closed = end or end is None and not before.rpartition("\n")[2].strip(" \t*`>")
        if not slash and is_closed and text.strip():
            return text.strip()
    return ""


class StrucText(Task):
    """29 tasks on texts in eight languages; see lib.tasks.task.Task."""

    groups, cluster = ("language", "depth", "width"), "text"
    needs = {"asked": Prompted}
    score = staticmethod(judged)

    def fit(self, queries: list[Query], rows: Rows, room: Room) -> Shown:
        """Leave out prompts that do not fit: cutting a structured text would change its structure.

        The note counts reference answers that are longer than a reply may be.
        """
        references = {one.query_id: one.sample.reference for one in rows["asked"]}
        # A text is counted once for all its prompts; only where it fits is a whole prompt counted,
        # because a suite's longest prompts amount to hundreds of megabytes.
        counted = cache(lambda text: token_counts([text], room.tokenizer)[0])
        kept, left_out, most = [], [], room.window - room.reply
        for query in queries:
            length = counted(references[query.query_id])
            if length <= most:
                (length,) = lengths_of([query.context], room.tokenizer)
            if length <= most:
                kept.append(query)
                continue
            reason = f"{length:,} tokens or more and {room.reply:,} for the reply do not fit in "
            row = {"document_id": query.document_id, "rejected_text": query.query_id}
            left_out.append(Rejected(**row, reason=f"{reason}{room.window:,}"))
        answers = token_counts([query.answer for query in kept], room.tokenizer)
        note = (
            f"{sum(length > room.reply for length in answers)} of {len(kept)} reference "
            f"answers are longer than {room.reply} tokens: no reply can give them in full."
        )
        return Shown(kept, [], left_out, note)

    def final(self, query: Query, reply: str) -> Final:
        """Read the final answer of a reply as its prompt setting requires."""
        return final_answer(reply, _SHOTS.sub("", query.query_id.rpartition(":")[2]))

    def replies(self, queries: list[Query], rows: Rows) -> dict[str, str]:
        """Return the solver's replies, which show whether each text has the answer to its question.

        A reply has the form that its prompt asks for, and is empty if the solver fails.
        """
        tried = cache(attempt)  # a sample has several prompts
        return {one.query_id: as_reply(tried(one.sample)[0], one.setting) for one in rows["asked"]}

    def about(self, query: Query, rows: Rows) -> dict[str, object]:
        """Return language, depth, width and text of a query's sample."""
        found = re.search(r"-d(\d+)-w([\d.]+)-", query.query_id)
        depth, width = map(json.loads, found.groups()) if found else (0, 0)
        place = {"depth": depth, "width": width, "text": query.document_id}
        return {"language": query.block_type} | place


TASK = StrucText()
