"""Score answers without a model: a value, a list by item, or yes and no (paper, 3.1)."""

import re
from collections import Counter
from collections.abc import Callable

from lib.core.records import Answer, Query, Verdict
from lib.core.store import made_by
from lib.core.values import tokens

Decision = tuple[str, str]  # verdict, reason
Decide = Callable[[list[Query], list[str]], list[Decision]]  # queries and their answers, none empty

_MAX_WORDS = 40  # beyond the question's, of a text that may state an answer
_MAX_ITEM = 5  # words of an item between commas
_MAX_SURPLUS = 3  # words of what may be one more item: more are a clause
_LINK = re.compile(r"\[([^][]*)\]\([^)\n]{0,999}\)?")
_MARKER = re.compile(r"^(?:[-*+•]|\(?\d{1,2}[.)])\s+")
_OR_LATER = re.compile(r"(?<!\s)\s+or (?:later|newer)\b", re.I)
_BETWEEN = re.compile(r"(?<!\s)\s*(?:[,;](?!\d)|\b(?:and|or)\b)\s*", re.I)
_CONTENT = re.compile(r"[\w,;:|.]")
_SEPARATOR = re.compile(r" (?:[,;|.]|and|or)(?= )")
_LEADS = "in on at to as by via from for with when which that where who so because if while".split()
_LEAD = re.compile(rf"^ (?:{'|'.join(_LEADS)})(?= \S)")
_TURNS = "not no never nor neither without except instead unlike maybe".split()
_SIGNS = {"yes": True, "true": True, "no": False, "false": False}


def score(queries: list[Query], answers: list[str]) -> list[Decision]:
    """Verdict and reason per answer, by its first line, or by its lines if a list is asked for.

    Unscored: a possible paraphrase, a long text, and what may deny the answer or offer another. A
    longer name ("Linux Mint") counts as the name in it.
    """
    return [_score(query, answer) for query, answer in zip(queries, answers, strict=True)]


def split_items(answer: str, entity_count: int | None = None) -> list[str]:
    """Items of a reference: its lines, or the short parts between commas, "and" and "or"."""
    lines = [line.strip() for line in answer.splitlines() if line.strip()]
    if len(lines) > 1 or entity_count is not None:
        return lines
    parts = [part for part in _BETWEEN.split(answer.strip(" .")) if part]
    is_list = len(parts) > 1 and all(len(part.split()) <= _MAX_ITEM for part in parts)
    return parts if is_list else lines


def _score(query: Query, answer: str) -> Decision:
    lines, asked = _lines(answer), {*_canonical(query.question).split()}
    first, wanted = _canonical("".join(lines[:1])), _canonical(query.answer)
    if first == wanted or _beyond(first, asked) == _beyond(wanted, asked) != []:
        return "correct", "the reference"
    if (sign := _SIGNS.get(wanted.strip())) is not None:
        signs = {_SIGNS[word] for word in first.split() if word in _SIGNS}
        verdict = "correct" if signs == {sign} else "unscored" if sign in signs else "incorrect"
        return verdict if signs else "unscored", "yes or no"
    parts = split_items(query.answer.rstrip(" .?!"), query.entity_count)
    parts = filter(str.strip, map(_canonical, parts))
    items = [*dict.fromkeys(_LEAD.sub("", part) for part in parts)]
    if not items:
        return "unscored", "the reference has no words"
    verdict, reason = _compare(items, [_marked(line, items) for line in lines], asked)
    return verdict, re.sub(r"#\S+", "a value", reason)


def _compare(items: list[str], lines: list[str], asked: set[str]) -> Decision:
    marks = [f"\0{number}\0" for number in range(len(items))]
    text = lines[0] if lines else ""
    is_lined = len(items) > 1 and not all(mark in text for mark in marks)
    if is_lined:
        text = " .".join(f" *{line}" for line in lines)
    missing = [item for item, mark in zip(items, marks, strict=True) if mark not in text]
    reason = f"{len(items) - len(missing)} of {len(items)} items"
    if missing:
        words = {*text.split()}
        shares = [len(words & {*item.split()}) / len(item.split()) for item in missing]
        is_close = min(shares) > 0.5  # whole words in another order or form: perhaps a paraphrase
        return "unscored" if is_close else "incorrect", f"{reason}; missing{missing[0]}"
    if not is_lined:
        last = max(map(text.find, marks))
        text = text[:last] + text[last:].partition(" . ")[0]
    if others := _others(text, asked):
        return "incorrect" if len(items) > 1 else "unscored", f"{reason}; also{others[0]}"
    words = _beyond(text, asked.union(*map(str.split, items)))
    if odd := [word for word in words if word[0] == "#" or word in _TURNS]:
        return "unscored", f"{reason}; may say otherwise: {odd[0]}"
    return ("unscored", "a long text") if len(words) > _MAX_WORDS else ("correct", reason)


# Parts beside an item, or lines (*), that may be another: "8443 or 9000"
def _others(text: str, asked: set[str]) -> list[str]:
    parts = ["", *filter(None, map(str.rstrip, _SEPARATOR.split(text))), ""]
    return [
        part
        for before, part, after in zip(parts, parts[1:], parts[2:], strict=False)
        if before.endswith("\0") or after.startswith(" \0") or part.startswith(" *")
        if "\0" not in part and not part.endswith(" :")
        for words in [_beyond(part.partition(" : ")[0], asked)]
        if 0 < len(words) <= _MAX_SURPLUS and words[0] not in _LEADS
    ]


def _marked(line: str, items: list[str]) -> str:
    text = _canonical(_MARKER.sub("", line))
    for item in sorted(items, key=len, reverse=True):
        text = text.replace(item, f" \0{items.index(item)}\0 ")
    return text


def _lines(answer: str) -> list[str]:
    text = _LINK.sub(r"\1", answer.partition("\nQuestion:")[0])
    lines = [line.strip() for line in text.splitlines() if _canonical(line).strip()]
    if len(lines) > 1 and lines[0].endswith(":") and not _MARKER.match(lines[1]):
        lines[:2] = [" ".join(lines[:2])]
    return lines


# Words, #numbers and #dates of a text, its separators and ends of sentences, between spaces
def _canonical(text: str) -> str:
    words = (
        "."
        if token.kind == "end"
        else token.value
        if isinstance(token.value, str)
        else "#" + ":".join(map(str, token.value))
        for token in tokens(_OR_LATER.sub("", text))
    )
    return " ".join(["", *filter(_CONTENT.search, words), ""])


def _beyond(text: str, known: set[str]) -> list[str]:
    known = known.union(",;:|.*")
    return [word for word in text.split() if word not in known and "\0" not in word]


def judge(
    queries: list[Query], answers: list[Answer], decide: Decide, judge: str = "scorer"
) -> list[Verdict]:
    """Verdicts in the queries' order; `decide` is `score` or `judge_with_llm(…)`, `judge` its name.

    Without an answer row, a query is unscored; an empty answer is incorrect. Raises ValueError as
    `check_single_arm` does.
    """
    arm, given = check_single_arm(queries, answers)
    answered = [query for query in queries if given.get(query.query_id, "").strip()]
    decisions = decide(answered, [given[query.query_id] for query in answered])
    decided = {query.query_id: one for query, one in zip(answered, decisions, strict=True)}
    no_row = "unscored", f"no answer row: run {made_by('answers')} for this query"
    rows = []
    for name in (query.query_id for query in queries):
        other = ("incorrect", "empty answer") if name in given else no_row
        verdict, reason = decided.get(name, other)
        rows.append(Verdict(query_id=name, arm=arm, judge=judge, verdict=verdict, reason=reason))
    return rows


def check_single_arm(queries: list[Query], answers: list[Answer]) -> tuple[str, dict[str, str]]:
    """The arm, and query_id -> answer.

    Raises ValueError if there is no answer, several arms, a repeated or an unknown query.
    """
    arms = sorted({answer.arm for answer in answers})
    if len(arms) != 1:
        raise ValueError(
            f"the answers must belong to one arm, not to {arms or 'none'}: judge one "
            f"answers/<arm>.jsonl at a time, written by {made_by('answers')}"
        )
    known, counts = {query.query_id for query in queries}, Counter(row.query_id for row in answers)
    odd = [name for name, n in counts.items() if n > 1 or name not in known]
    if odd:
        raise ValueError(
            f"arm {arms[0]}: query {odd[0]!r} is answered twice or not in queries.jsonl; remove "
            f"the arm's answers and run {made_by('answers')} again"
        )
    return arms[0], {row.query_id: row.answer for row in answers}
