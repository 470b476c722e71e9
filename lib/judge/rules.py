"""Whether an answer says what the reference says, by rules: scalars, restatements, hedges and lists (paper, 4.4)."""

import re
from dataclasses import dataclass
from itertools import takewhile

from lib.core.values import Token, asked_unit, folded, in_unit, solid, tokens


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Words that a restatement may add to the question's own: "The default port of X is 8443."
_CONNECTORS = _words("is are was were be it's of has have had uses use using supports support requires require needs "
                     "need runs run on in by to at with from as for equals includes include contains contain comes")
_FILLERS = _CONNECTORS | _words("it its this that answer value following set default named called located")
_NEVER = _words("or not no never without except nor neither isn't aren't doesn't don't cannot can't")
_HEDGES = _words("or and to through either maybe perhaps possibly probably actually / & + and/or")
_RETRACTIONS = _words("or wait actually correction sorry rather")
_CLAUSES = _words("for on at when while which because by with since")  # "8443 for TLS" is still 8443
SMALL_WORDS = _FILLERS | _NEVER | _HEDGES  # say nothing by themselves
_PRONOUNS = _words("it this that is are can may has was")  # "8443 and it can be changed"
_MARKER = re.compile(r"^\s*(?:[-*+•‣·–]|\d{1,3}[.)])\s+")
_NEW_TOPIC = re.compile(r"\s*(?:#|(?:question|answer|note|source|q|a)\s*:)|.*\?\s*$", re.I)
_LONGEST_ENTITY = 6  # words; a comma in a scalar reference makes a list only where its parts are this short


@dataclass(frozen=True)
class Outcome:
    """Whether an answer is right, and why in a few words."""

    is_correct: bool
    reason: str


@dataclass(frozen=True)
class ListMatch:
    """What an answer has of a list: the entities it names, the items that are none of them, the entities it lacks."""

    n_wanted: int
    n_named: int
    surplus: list[str]
    missing: list[str]


def compare(question: str, reference: str, answer: str, entity_count: int | None = None) -> Outcome:
    """Whether `answer` gives `reference` and nothing against it.

    The answer must begin with the reference, or restate the question and then give it; what follows a separator or
    the end of a sentence is surplus and ignored, unless it offers another value. A reference with several items is
    a set: any order, duplicates folded, all of them and only them. Partly right is incorrect (paper, 4.4).
    `entity_count` is the query's: a list has an entity a line; a scalar (None) is one too if it reads as "a, b and c".
    """
    if folded(reference).strip() == folded(answer).strip():
        return Outcome(True, "the reference word for word")
    match = match_list(question, reference, answer, entity_count)
    if match:
        return _outcome(match)
    unit, asked = asked_unit(question), _asked_words(question)
    return _compare_scalar(_without_echo(_read(reference, unit), asked), _read(answer, unit), asked)


def match_list(question: str, reference: str, answer: str, entity_count: int | None = None) -> ListMatch | None:
    """What `answer` has of a reference that is a list, by the rules of `compare`; None where it is a scalar.

    Where the answer may end at several places, the end with the most entities less surplus items counts.
    """
    entities = _entities(reference, entity_count)
    if not entities:
        return None
    if folded(reference).strip() == folded(answer).strip():
        return ListMatch(len(entities), len(entities), [], [])
    unit = asked_unit(question)
    return _best_match([solid(_read(entity, unit)) for entity in entities], answer, _asked_words(question), unit)


def _read(text: str, unit: str) -> list[Token]:
    return [in_unit(token, unit) for token in tokens(text)] if unit else tokens(text)


def _asked_words(question: str) -> frozenset[str]:
    """Words that a restatement of `question` may use: its own, also in the plural, the possessive and with -ed."""
    values = {token.value for token in tokens(question) if token.kind == "word"}
    stems = values | {re.sub(r"(?:'?s|ed)$", "", value) for value in values}
    numbers = {token.text.casefold() for token in tokens(question) if token.kind == "number"}
    inflected = {stem + ending for stem in stems for ending in ("", "s", "'s", "ed")}
    return frozenset((inflected | numbers | _FILLERS) - _NEVER)


def _is_allowed(token: Token, asked: frozenset[str]) -> bool:
    return not token.is_solid or (token.text.casefold() if token.kind == "number" else token.value) in asked


def _without_echo(reference: list[Token], asked: frozenset[str]) -> list[Token]:
    """A reference such as "port 8443" without the question's own words where a number or date is left."""
    wanted = solid(reference)
    if len(wanted) > 1 and wanted[-1].kind != "word" and all(_is_allowed(token, asked) for token in wanted[:-1]):
        return wanted[-1:]
    return wanted


def _end_of(wanted: list[Token], found: list[Token], start: int) -> int | None:
    """Where `wanted` ends if found[start:] begins with it, punctuation aside; None where it does not."""
    place = start
    for token in wanted:
        while place > start and place < len(found) and not found[place].is_solid:
            place += 1
        if place >= len(found) or (found[place].kind, found[place].value) != (token.kind, token.value):
            return None
        place += 1
    return place


def _places(wanted: list[Token], found: list[Token], asked: frozenset[str]) -> list[int]:
    """Every end of `wanted` in `found` where nothing but a restatement of the question stands before it."""
    ends = []
    for start, token in enumerate(found if wanted else []):
        before = found[start - 1] if start else None
        opens = (before is None or not before.is_solid or before.value in _CONNECTORS or wanted[0].kind != "word")
        if opens and token.is_solid:
            end = _end_of(wanted, found, start)
            ends += [end] if end is not None else []
        if not _is_allowed(token, asked):
            break
    return ends


def _compare_scalar(wanted: list[Token], found: list[Token], asked: frozenset[str]) -> Outcome:
    ends = _places(wanted, found, asked)
    if not ends:
        first = " ".join(token.text for token in solid(found)[:6])
        return Outcome(False, f"does not begin with the reference: {first!r}")
    complaints = [_complaint(found[end:], wanted[-1].kind, asked) for end in ends]
    return Outcome("" in complaints, "gives the reference" if "" in complaints else complaints[0])


def _complaint(rest: list[Token], kind: str, asked: frozenset[str]) -> str:
    """What speaks against a reference that is followed by `rest`; "" where that is mere surplus."""
    following = solid(rest)
    if not following:
        return ""
    first, following_text = rest[0], " ".join(token.text for token in following[:4])
    if first.kind == "end":
        is_no = following[0].value == "no" and rest[rest.index(following[0]) + 1:][:1] and (
            not rest[rest.index(following[0]) + 1].is_solid)
        return f"takes it back: {following_text!r}" if is_no or following[0].value in _RETRACTIONS else ""
    if following[0].value in _HEDGES:
        goes_on = following[0].value == "and" and len(following) > 1 and following[1].value in _PRONOUNS
        return "" if goes_on else f"offers another value: {following_text!r}"
    if not first.is_solid:
        is_second = first.text in (",", ";", "-") and following[0].kind == kind != "word"
        return f"offers another value: {following_text!r}" if is_second else ""
    clause = next((index for index, token in enumerate(rest) if not token.is_solid), len(rest))
    is_clause = kind != "word" and first.value in _CLAUSES
    is_restated = first.value in asked and all(_is_allowed(token, asked) for token in rest[:clause])
    return "" if is_clause or is_restated else f"goes on into something else: {following_text!r}"


def _entities(reference: str, entity_count: int | None) -> list[str]:
    """The items of a reference that is a list, as texts; empty for a scalar."""
    lines = [line for line in reference.splitlines() if line.strip()]
    if len(lines) > 1 or entity_count == 1:
        return lines
    # not at "&": "Brandt & Co" is one name
    parts = [_text(part) for cut in _cut(tokens(reference), ",;") for part in _cut(cut, "and")]
    if len(parts) > 1 and all(len(part.split()) <= _LONGEST_ENTITY for part in parts):
        return parts
    return lines if entity_count else []


def _text(part: list[Token]) -> str:
    return " ".join(token.text for token in part)


def _cut(found: list[Token], at: str) -> list[list[Token]]:
    """Items between line ends, and between `at`: "" (lines only), ",;", "and" or "and &"; not inside brackets."""
    marks = tuple(at) if at == ",;" else tuple(at.split())
    items: list[list[Token]] = [[]]
    depth = 0
    for token in found:
        depth = max(0, depth + {"(": 1, "[": 1, ")": -1, "]": -1}.get(token.text, 0))
        if token.text == "\n" or (not depth and token.value in marks):
            items.append([])
        else:
            items[-1].append(token)
    return [item for item in items if solid(item)]


def _items(found: list[Token], wanted: list[list[Token]], asked: frozenset[str]) -> list[tuple[list[Token], set[int]]]:
    """The items of an answer, each with the entities it names; split no finer than needed to name one.

    A line, then a part between commas, then one between "and": "Research and Development" may be one entity.
    """
    def naming(item: list[Token], finer: tuple[str, ...]) -> list[tuple[list[Token], set[int]]]:
        hits = {index for index, entity in enumerate(wanted) if _is_entity(item, entity, asked)}
        parts = _cut(item, finer[0]) if finer and not hits else []
        return [pair for part in parts for pair in naming(part, finer[1:])] or [(item, hits)]

    items = [pair for line in _cut(found, "") for pair in naming(line, (",;", "and &"))]
    is_echo = len(items) > 1 and not items[0][1] and all(_is_allowed(token, asked) for token in items[0][0])
    return items[1:] if is_echo else items  # "On Corvane P-417, the platforms are …"


def _best_match(wanted: list[list[Token]], answer: str, asked: frozenset[str], unit: str) -> ListMatch:
    matches = []
    for found in _extents(answer, unit):
        items = _items(found, wanted, asked)
        covered = set().union(*(hits for _, hits in items))
        surplus = [_text(item) for item, hits in items if not hits]
        missing = [_text(entity) for index, entity in enumerate(wanted) if index not in covered]
        matches.append(ListMatch(len(wanted), len(covered), surplus, missing))
        if not missing and not surplus:
            return matches[-1]
    return max(matches, key=lambda match: match.n_named - len(match.surplus))


def _outcome(match: ListMatch) -> Outcome:
    if not match.missing and not match.surplus:
        return Outcome(True, f"all entities of the list ({match.n_wanted}) and no other")
    return Outcome(False, f"{match.n_named} of {match.n_wanted} entities" + (
        f"; missing {match.missing[0]!r}" if match.missing else "") + (
        f"; surplus {match.surplus[0][:60]!r}" if match.surplus else ""))


def _is_entity(item: list[Token], entity: list[Token], asked: frozenset[str]) -> bool:
    """Whether an item is this entity, perhaps inside a restatement or with an explanation in brackets."""
    for end in _places(entity, item, asked):
        rest = item[end:]
        closing = next((index for index, token in enumerate(rest) if token.text in (")", "]")), 0)
        is_explained = closing > 0 and rest[0].text in ("(", "[") and not solid(rest[closing:])
        is_restated = bool(rest) and rest[0].value in _CONNECTORS and all(_is_allowed(token, asked) for token in rest)
        if not solid(rest) or is_explained or is_restated:
            return True
    return False


def _extents(answer: str, unit: str) -> list[list[Token]]:
    """Where a list may end, longest first: with the answer, its first paragraph, or that paragraph's first sentence.

    Only the end of a paragraph, a line that opens a new topic, a long line that ends like a sentence, and the end of
    a sentence make what follows surplus.
    """
    lines = [_MARKER.sub("", line).strip() for line in folded(answer).strip().splitlines()]
    if sum(map(bool, lines)) > 1 and lines[0].endswith(":"):  # "Supported platforms:" above its items
        lines = lines[1:] if lines[1] else lines[2:]
    paragraph = lines[:1] + list(takewhile(lambda line: line and not _NEW_TOPIC.match(line), lines[1:]))
    items = paragraph[:1] + list(takewhile(lambda line: not _is_sentence(line), paragraph[1:]))
    first = _read("\n".join(items), unit)
    cut = next((index for index, token in enumerate(first[:-1])
                if token.kind == "end" and token.text != "\n" and first[index + 1].text != "\n"), len(first))
    return [_read("\n".join(lines), unit), _read("\n".join(paragraph), unit), first, first[:cut]]


def _is_sentence(line: str) -> bool:
    return len(line.split()) > _LONGEST_ENTITY and line.endswith(".")
