"""Floors: arms that answer without reading. One matches words with labels, one says one thing."""

import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from lib.core.errors import BadReply
from lib.core.records import Query
from lib.tasks.tablequest.answer.prompts import question_id_of
from lib.tasks.tablequest.questions.checks import answered
from lib.tasks.tablequest.questions.spots import Spot, spots_of
from lib.tasks.tablequest.records import Grid, Passage, TableQuestion, Texts
from lib.tasks.tablequest.wording import words_of

CONSTANT = json.dumps({"steps": [], "answer": "0"})
# The first operation that a question's words name counts
_OPERATIONS = (
    (
        "percent change",
        r"percentage\b(?! points)[^?]*\b(?:change|grow|increase|decrease)|\bgrowth rate\b",
    ),
    ("share", r"\b(?:percentage|share|portion)\b[^?]* of\b"),
    ("ratio", r"\bratio\b|\btimes\b"),
    ("difference", r"\b(?:how much|many)\b[^?]*\b(?:change|increase|decrease|differ|exceed|more)"),
    ("extraction", ""),
)


def lexical(
    queries: Sequence[Query], questions: Sequence[TableQuestion], texts: Texts
) -> dict[str, str]:
    """Return query_id -> a reply that comes from matching the question's words with labels.

    It reads the passage's grids, never the reference; forms and truncation do not change it.
    """
    replies = {
        one.question_id: _reply(one.question, texts.passages[one.passage_id], texts.grids)
        for one in questions
    }
    return {query.query_id: replies[question_id_of(query.query_id)] for query in queries}


def _reply(question: str, passage: Passage, grids: Mapping[str, Grid]) -> str:
    spots = [spot for key in passage.grid_ids for spot in spots_of(grids[key])]
    plain = re.sub(r'"[^"]*"', " ", question)
    operation = next(name for name, words in _OPERATIONS if re.search(words, plain, re.I))
    scores = _scores(words_of(question), spots)
    chosen = sorted(spots, key=lambda spot: -scores[spot.ref])[:1]
    if operation != "extraction" and spots:
        chosen = _pair(spots, scores, operation != "share")
    try:
        answer = answered(operation, [spot.cell for spot in chosen])["answer"] if chosen else ""
    except BadReply:  # divided by zero
        answer = ""
    steps = [f"{spot.name}, {spot.when}: {spot.cell.text}" for spot in chosen]
    return json.dumps({"steps": steps, "answer": answer}, ensure_ascii=False)


def _scores(asked: frozenset[str], spots: Sequence[Spot]) -> dict:
    own = {spot.ref: words_of(f"{spot.row} {spot.measure} {spot.when}") for spot in spots}
    frequency = Counter(word for words in own.values() for word in words)
    weights = {
        word: math.log(1 + len(own) / (1 + n)) * (1 if word in asked else -0.25)
        for word, n in frequency.items()
    }
    return {ref: sum(map(weights.get, words)) for ref, words in own.items()}


def _pair(spots: Sequence[Spot], scores: dict, is_row: bool) -> list[Spot]:
    lines = defaultdict(list)
    for spot in sorted(spots, key=lambda spot: -scores[spot.ref]):
        lines[spot.ref.grid_id, spot.ref.row if is_row else spot.ref.column].append(spot)
    best = max(
        (line[:2] for line in lines.values()),
        key=lambda pair: (len(pair), sum(scores[spot.ref] for spot in pair)),
    )
    if is_row:  # the later one first
        return sorted(best, key=lambda spot: spot.end, reverse=True)
    return sorted(best, key=lambda spot: abs(spot.cell.value))
