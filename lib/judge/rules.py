"""Judge by rules whether an answer states what the reference states (paper, 4.4).

Values are compared in any spelling or unit; lists are sets; restatements of the question are
allowed, hedges and denials are not.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile

from lib.core.records import Query
from lib.core.values import Token, asked_unit, folded, in_unit, solid, tokens


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Words that a restatement may add to the question's own: "The default port of X is 8443."
_CONNECTORS = _words(
    "is are was were be it's of has have had uses use using supports support requires require "
    "needs need runs run on in by to at with from as for equals includes include contains contain "
    "comes")
_FILLERS = _CONNECTORS | _words("it its this that answer value following set default named called "
                                "located")
_NEGATIONS = _words("or not no never without except nor neither isn't aren't doesn't don't cannot "
                    "can't")
_HEDGES = _words("or and to through either maybe perhaps possibly probably actually / & + and/or")
_RETRACTIONS = _words("or wait actually correction sorry rather")
_CLAUSES = _words("for on at when while which because by with since")  # "8443 for TLS" is 8443
_PRONOUNS = _words("it this that is are can may has was")  # "8443 and it can be changed"
SMALL_WORDS = _FILLERS | _NEGATIONS | _HEDGES  # carry no information of their own
_MARKER = re.compile(r"^\s*(?:[-*+•‣·–]|\d{1,3}[.)])\s+")  # "- Linux", "2) Linux"
_NEW_TOPIC = re.compile(  # "Question: …", "# Ports", "What else?"
    r"\s*(?:#|(?:question|answer|note|source|q|a)\s*:)|.*\?\s*$", re.I)
_LONGEST_ENTITY = 6  # words; "a, b and c" is a list only if its parts are this short


@dataclass(frozen=True)
class Outcome:
    """Whether an answer is correct, and a short reason."""

    is_correct: bool
    reason: str


@dataclass(frozen=True)
class ListMatch:
    """How an answer matches a list: named entities, surplus items and missing entities."""

    n_wanted: int
    n_named: int
    surplus: list[str]
    missing: list[str]


def by_rules(queries: list[Query], answers: list[str]) -> list[tuple[str, str]]:
    """Return the verdict and reason for each answer, as `lib.judge.verdicts.judge` needs them."""
    outcomes = [compare(query.question, query.answer, answer, query.entity_count)
                for query, answer in zip(queries, answers, strict=True)]
    return [("correct" if outcome.is_correct else "incorrect", outcome.reason)
            for outcome in outcomes]


def compare(question: str, reference: str, answer: str, entity_count: int | None = None) -> Outcome:
    """Return whether `answer` gives `reference` and nothing that contradicts it.

    The answer must begin with the reference, or restate the question and then give it. Text after
    a separator or the end of a sentence is surplus and ignored, unless it offers another value. A
    reference with several items is a set: any order, duplicates folded, all of them and only them.
    Partly correct is incorrect (paper, 4.4). `entity_count` is the query's: a list has one entity
    per line; a scalar (None) is also a list if it reads as "a, b and c".
    """
    if folded(reference).strip() == folded(answer).strip():
        return Outcome(True, "the reference verbatim")
    match = match_list(question, reference, answer, entity_count)
    if match:
        return _outcome(match)
    unit, allowed = asked_unit(question), _allowed_words(question)
    return _compare_scalar(_without_echo(_read(reference, unit), allowed), _read(answer, unit),
                           allowed)


def match_list(question: str, reference: str, answer: str,
               entity_count: int | None = None) -> ListMatch | None:
    """Return how `answer` matches a reference that is a list; None if the reference is a scalar.

    If the answer may end at several places, the end with the most entities minus surplus items
    counts.
    """
    entities = _entities(reference, entity_count)
    if not entities:
        return None
    if folded(reference).strip() == folded(answer).strip():
        return ListMatch(len(entities), len(entities), [], [])
    unit, allowed = asked_unit(question), _allowed_words(question)
    wanted = [solid(_read(entity, unit)) for entity in entities]
    matches = []
    for found in _possible_lists(answer, unit):
        items = _items(found, wanted, allowed)
        named = set().union(*(hits for _, hits in items))
        surplus = [_text(item) for item, hits in items if not hits]
        missing = [_text(entity) for index, entity in enumerate(wanted) if index not in named]
        matches.append(ListMatch(len(wanted), len(named), surplus, missing))
        if not missing and not surplus:
            return matches[-1]
    return max(matches, key=lambda match: match.n_named - len(match.surplus))


def _outcome(match: ListMatch) -> Outcome:
    if not match.missing and not match.surplus:
        return Outcome(True, f"all entities of the list ({match.n_wanted}) and no other")
    missing = f"; missing {match.missing[0]!r}" if match.missing else ""
    surplus = f"; surplus {match.surplus[0][:60]!r}" if match.surplus else ""
    return Outcome(False, f"{match.n_named} of {match.n_wanted} entities{missing}{surplus}")


def _read(text: str, unit: str) -> list[Token]:
    return [in_unit(token, unit) for token in tokens(text)] if unit else tokens(text)


def _allowed_words(question: str) -> frozenset[str]:
    """Return the words that a restatement may use: the question's own, inflected, and fillers."""
    found = tokens(question)
    words = {token.value for token in found if token.kind == "word"}
    stems = words | {re.sub(r"(?:'?s|ed)$", "", word) for word in words}
    numbers = {token.text.casefold() for token in found if token.kind == "number"}
    inflected = {stem + ending for stem in stems for ending in ("", "s", "'s", "ed")}
    return frozenset((inflected | numbers | _FILLERS) - _NEGATIONS)


def _is_allowed(token: Token, allowed: frozenset[str]) -> bool:
    word = token.text.casefold() if token.kind == "number" else token.value
    return not token.is_solid or word in allowed


def _without_echo(reference: list[Token], allowed: frozenset[str]) -> list[Token]:
    """Drop the question's words from "port 8443" and the like if a number or date remains."""
    wanted = solid(reference)
    is_echo = all(_is_allowed(token, allowed) for token in wanted[:-1])
    return wanted[-1:] if len(wanted) > 1 and wanted[-1].kind != "word" and is_echo else wanted


def _ends(wanted: list[Token], found: list[Token], allowed: frozenset[str]) -> Iterator[int]:
    """Yield every end of `wanted` in `found` with only a restatement of the question before it."""
    for start, token in enumerate(found if wanted else []):
        before = found[start - 1] if start else None
        is_open = (before is None or not before.is_solid or before.value in _CONNECTORS
                   or wanted[0].kind != "word")
        end = _end_of(wanted, found, start) if is_open and token.is_solid else None
        if end is not None:
            yield end
        if not _is_allowed(token, allowed):
            return


def _end_of(wanted: list[Token], found: list[Token], start: int) -> int | None:
    """Return where `wanted` ends if found[start:] begins with it, ignoring punctuation."""
    place = start
    for token in wanted:
        while place > start and place < len(found) and not found[place].is_solid:
            place += 1
        if place >= len(found) or (found[place].kind, found[place].value) != (token.kind,
                                                                              token.value):
            return None
        place += 1
    return place


def _compare_scalar(wanted: list[Token], found: list[Token], allowed: frozenset[str]) -> Outcome:
    ends = list(_ends(wanted, found, allowed))
    if not ends:
        first = " ".join(token.text for token in solid(found)[:6])
        return Outcome(False, f"does not begin with the reference: {first!r}")
    complaints = [_complaint(found[end:], wanted[-1].kind, allowed) for end in ends]
    return Outcome("" in complaints,
                   "gives the reference" if "" in complaints else complaints[0])


def _complaint(rest: list[Token], kind: str, allowed: frozenset[str]) -> str:
    """Return the objection to a reference followed by `rest`, "" if `rest` is only surplus.

    `kind` is that of the reference's last token. Examples are for the reference "8443".
    """
    following = solid(rest)
    if not following:
        return ""
    first, word = rest[0], following[0].value
    shown = repr(" ".join(token.text for token in following[:4]))
    if first.kind == "end":  # against: "8443. No, 9000." "8443. Wait, 9000."; surplus: "8443. No …"
        after = rest[rest.index(following[0]) + 1:][:1]
        is_no = word == "no" and any(not token.is_solid for token in after)
        return f"takes it back: {shown}" if is_no or word in _RETRACTIONS else ""
    if word in _HEDGES:  # against: "8443, or 9000" "8443 and 9000"; surplus: "8443 and it can …"
        continues = word == "and" and len(following) > 1 and following[1].value in _PRONOUNS
        return "" if continues else f"offers another value: {shown}"
    if not first.is_solid:  # against: "8443, 9000" "8443; 9000"; surplus: "8443 (TCP)" "8443, TCP"
        is_second = first.text in (",", ";", "-") and following[0].kind == kind != "word"
        return f"offers another value: {shown}" if is_second else ""
    # surplus: "8443 for TLS", "8443 is the default port"; against: "8443 9000", "8443 is wrong"
    clause = takewhile(lambda token: token.is_solid, rest)
    is_clause = kind != "word" and first.value in _CLAUSES
    is_restated = first.value in allowed and all(_is_allowed(token, allowed) for token in clause)
    return "" if is_clause or is_restated else f"continues with something else: {shown}"


def _entities(reference: str, entity_count: int | None) -> list[str]:
    """Return the items of a reference that is a list; empty for a scalar."""
    lines = [line for line in reference.splitlines() if line.strip()]
    if len(lines) > 1 or entity_count == 1:
        return lines
    # not at "&": "Brandt & Co" is one name
    parts = [_text(part) for between in _split(tokens(reference), (",", ";"))
             for part in _split(between, ("and",))]
    if len(parts) > 1 and all(len(part.split()) <= _LONGEST_ENTITY for part in parts):
        return parts
    return lines if entity_count else []


def _text(part: list[Token]) -> str:
    return " ".join(token.text for token in part)


def _split(found: list[Token], marks: tuple[str, ...] = ()) -> list[list[Token]]:
    """Return the items between line ends and `marks`, not splitting inside brackets."""
    items: list[list[Token]] = [[]]
    depth = 0
    for token in found:
        depth = max(0, depth + {"(": 1, "[": 1, ")": -1, "]": -1}.get(token.text, 0))
        if token.text == "\n" or (not depth and token.value in marks):
            items.append([])
        else:
            items[-1].append(token)
    return [item for item in items if solid(item)]


def _items(found: list[Token], wanted: list[list[Token]],
           allowed: frozenset[str]) -> list[tuple[list[Token], set[int]]]:
    """Return the items of an answer, each with the indices of the entities that it names.

    An item is a line, else a part between commas, else one between "and": split no finer than
    needed to name an entity, because "Research and Development" may be one.
    """
    def naming(item: list[Token], *finer: tuple[str, ...]) -> list[tuple[list[Token], set[int]]]:
        hits = {index for index, entity in enumerate(wanted) if _is_entity(item, entity, allowed)}
        parts = _split(item, finer[0]) if finer and not hits else []
        return [pair for part in parts for pair in naming(part, *finer[1:])] or [(item, hits)]

    items = [pair for line in _split(found) for pair in naming(line, (",", ";"), ("and", "&"))]
    is_echo = (len(items) > 1 and not items[0][1]  # "On Corvane P-417, the platforms are …"
               and all(_is_allowed(token, allowed) for token in items[0][0]))
    return items[1:] if is_echo else items


def _is_entity(item: list[Token], entity: list[Token], allowed: frozenset[str]) -> bool:
    """Return whether an item is this entity, perhaps restated or explained in brackets."""
    for end in _ends(entity, item, allowed):
        rest = item[end:]
        closing = next((i for i, token in enumerate(rest) if token.text in (")", "]")), 0)
        is_explained = closing > 0 and rest[0].text in ("(", "[") and not solid(rest[closing:])
        is_restated = (bool(rest) and rest[0].value in _CONNECTORS
                       and all(_is_allowed(token, allowed) for token in rest))
        if not solid(rest) or is_explained or is_restated:
            return True
    return False


def _possible_lists(answer: str, unit: str) -> list[list[Token]]:
    """Return the beginnings of an answer that may be the list, longest first.

    They are the complete answer, its first paragraph, that paragraph up to a long line that ends
    like a sentence, and the first sentence of these lines. A new topic also ends a paragraph.
    """
    lines = [_MARKER.sub("", line).strip() for line in folded(answer).strip().splitlines()]
    if sum(map(bool, lines)) > 1 and lines[0].endswith(":"):  # "Supported platforms:" above items
        lines = lines[1:] if lines[1] else lines[2:]
    paragraph = lines[:1] + list(takewhile(lambda line: line and not _NEW_TOPIC.match(line),
                                           lines[1:]))
    items = paragraph[:1] + list(takewhile(lambda line: not _is_sentence(line), paragraph[1:]))
    first = _read("\n".join(items), unit)
    cut = next((i for i, (token, after) in enumerate(zip(first, first[1:], strict=False))
                if token.kind == "end" and token.text != "\n" and after.text != "\n"), len(first))
    return [_read("\n".join(lines), unit), _read("\n".join(paragraph), unit), first, first[:cut]]


def _is_sentence(line: str) -> bool:
    return len(line.split()) > _LONGEST_ENTITY and line.endswith(".")
