"""Match an answer with a list or table: what it names, and what else, in any layout."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from lib.core.values import Token, solid, tokens
from lib.judge.matching import content, find, is_rival, may_share, without_asked
from lib.judge.spellings import table_of
from lib.judge.words import OPENERS, TURNS, Question, key, sort_of

_LONGEST = 5  # words of an item between commas
_BETWEEN = frozenset(("and", "&", "+", "plus", "/", ",", ";", "|"))
_SEQUENCE = frozenset("then after before followed first last next finally second third".split())
_RUNS = frozenset("to through thru until".split())


@dataclass(frozen=True)
class ListMatch:
    """How an answer matches a list: items wanted, of these named, the rest, and what is unclear."""

    n_wanted: int
    n_named: int
    surplus: list[str]
    missing: list[str]
    unclear: list[str] = field(default_factory=list)  # neither items nor words of the question
    order: list[int] = field(default_factory=list)
    fault: str = ""  # "swapped": cells of one row are in another, "turned": which comes first?


@dataclass
class _Piece:
    tokens: list[Token]
    owners: list[int | None]  # the cell that each token belongs to
    mark: str = ""  # the separator after it

    def rest(self, question: Question) -> list[Token]:
        return [
            token
            for token, owner in zip(self.tokens, self.owners, strict=True)
            if owner is None
            and (token.word in _RUNS or not question.allows(token))
            and not (token.kind == "number" and token.text.isalpha())  # "three things"
            and (question.is_ordered or token.word not in _SEQUENCE)
        ]

    def text(self) -> str:
        return " ".join(token.text for token in solid(self.tokens))

    @property
    def has_item(self) -> bool:
        return {*self.owners} != {None}


def rows_of(reference: str, question: Question, entity_count: int | None) -> list[list[str]]:
    """Return the items of a reference, each as its cells; empty for a scalar."""
    lines = [line for line in reference.splitlines() if line.strip()]
    if "|" in reference or "\t" in reference or len(lines) > 1 and not entity_count:
        table = table_of(lines)
        if table:
            header, rows = table
            is_named = (
                len(rows) > 1
                and not header
                and any(all(question.allows(token) for token in tokens(cell)) for cell in rows[0])
            )
            return [[cell for cell in row if cell] for row in rows[is_named:]]
    if len(lines) > 1:
        pairs = [re.split(r"\s*(?::|\s[-–]|=)\s+", line, maxsplit=1) for line in lines]
        is_paired = all(len(pair) == 2 and len(pair[0].split()) <= _LONGEST for pair in pairs)
        return pairs if is_paired else [[line] for line in lines]
    if entity_count == 1:
        return [lines]
    parts = _parts(reference)
    is_short = len(parts) > 1 and all(len(part.split()) <= _LONGEST for part in parts)
    is_list = is_short and (question.is_plural or bool(entity_count) or len(parts) > 2)
    return [[part] for part in parts] if is_list else []


# The items between commas, semicolons and "and", outside brackets
def _parts(reference: str) -> list[str]:
    parts = re.split(r"(?:;|,(?!\d)|\band\b)(?![^(\[]*[)\]])", reference)
    return [part.strip(" .") for part in parts if part.strip(" .")]


def match(rows: Sequence[Sequence[str]], lines: list[str], question: Question) -> ListMatch:
    """Return how the lines of an answer match the items."""
    cells = list(dict.fromkeys(cell for row in rows for cell in row))
    phrases = [content(question.read(cell)) for cell in cells]
    found = question.read("\n".join(lines))
    owners = _owners(phrases, found, question)
    named = {owner for owner in owners if owner is not None}
    missing = [
        row[0]
        if cells.index(row[0]) not in named
        else next(cell for cell in row if cells.index(cell) not in named)
        for row in rows
        if not {cells.index(cell) for cell in row} <= named
    ]
    surplus, unclear = _others(_pieces(found, owners), question, max(map(len, phrases)) + 1)
    return ListMatch(
        len(rows),
        len(rows) - len(missing),
        surplus,
        missing,
        unclear,
        *_arrangement(rows, cells, owners, phrases if not missing else []),
    )


# Pieces that are other items, and pieces that cannot be told
def _others(pieces: list[_Piece], question: Question, longest: int) -> tuple[list[str], list[str]]:
    surplus: list[str] = []
    unclear: list[str] = []
    has_begun = False
    is_lined = any(piece.mark == "\n" and piece.has_item for piece in pieces)
    is_told = False  # an item stands in this line
    for piece in pieces:
        rest = piece.rest(question)
        is_led = piece.mark == ":" and not has_begun
        has_begun |= piece.has_item
        turn = next((token for token in rest if token.word in TURNS | _RUNS), None)
        if turn:
            unclear.append(turn.text)
        elif rest and not is_led:
            new = [key(token) not in question.keys for token in solid(piece.tokens)]
            is_listed = has_begun or piece.mark in (",", ";", "|", "and") or all(new)
            is_item = (
                is_listed
                and not piece.has_item
                and not (is_told and is_lined)
                and (piece.tokens[0].word not in OPENERS and sum(new) <= longest)
            )
            (surplus if is_item else unclear).append(piece.text())
        is_told = piece.mark != "\n" and (is_told or piece.has_item)
    return surplus, unclear


def _owners(phrases: list[list[Token]], found: list[Token], question: Question) -> list[int | None]:
    owners: list[int | None] = [None] * len(found)
    for index in sorted(range(len(phrases)), key=lambda index: -len(phrases[index])):
        for phrase in (phrases[index], without_asked(phrases[index], question)):
            spans = [
                (start, end)
                for start in range(len(found))
                if (end := find(phrase, found, start, ".\n|;,")) is not None
                and not any(owner is not None for owner in owners[start:end])
            ]
            for start, end in spans:
                if all(owner is None for owner in owners[start:end]):
                    owners[start:end] = [index] * (end - start)
            if spans:
                break
    return owners


def _pieces(found: list[Token], owners: list[int | None]) -> list[_Piece]:
    pieces = [_Piece([], [])]
    for token, owner in zip(found, owners, strict=True):
        is_lead = token.text == ":" and not any(one is not None for one in pieces[-1].owners)
        if owner is None and (token.kind == "end" or is_lead or token.word in _BETWEEN):
            pieces[-1].mark = token.text
            pieces.append(_Piece([], []))
        else:
            pieces[-1].tokens.append(token)
            pieces[-1].owners.append(owner)
    return [piece for piece in pieces if solid(piece.tokens)]


def _arrangement(
    rows: Sequence[Sequence[str]],
    cells: list[str],
    owners: list[int | None],
    phrases: list[list[Token]],
) -> tuple[list[int], str]:
    wanted = [[cells.index(cell) for cell in row] for row in rows]
    stream = [
        one
        for place, one in enumerate(owners)
        if one is not None and (not place or owners[place - 1] != one)
    ]
    order = [
        place for one in dict.fromkeys(stream) for place, row in enumerate(wanted) if row[0] == one
    ]
    if not phrases or max(map(len, wanted)) < 2:
        return order, ""
    is_turned = any(
        stream.index(first) > stream.index(second)
        and any(is_rival(one, other) for one in phrases[first] for other in phrases[second])
        for row in wanted
        for first, second in pairwise(row)
    )  # which is old, which is new?
    if not _is_together(wanted, stream):
        return order, "swapped"
    return order, "turned" if is_turned else ""


# True if the cells of each row stand together, above or below one that tells the rows apart
def _is_together(wanted: list[list[int]], stream: list[int]) -> bool:
    for column in range(min(map(len, wanted))):
        keys = [row[column] for row in wanted]
        for flow in (stream, stream[::-1]):
            groups: dict[int, list[int]] = {}
            last = None
            for one in flow:
                last = one if one in keys else last
                if last is not None:
                    groups.setdefault(last, []).append(one)
            if all(sorted(set(groups.get(row[column], ()))) == sorted(set(row)) for row in wanted):
                return True
    return False


def decide(found: ListMatch, answer: list[Token], question: Question) -> tuple[str, str]:
    """Return the verdict on a match, and the reason."""
    missing, surplus = found.missing, found.surplus
    reason = (
        f"{found.n_named} of {found.n_wanted} items"
        + (f"; missing {missing[0]!r}" if missing else "")
        + (f"; surplus {surplus[0][:60]!r}" if surplus else "")
    )
    if found.unclear:
        return "unscored", f"{reason}; says more than can be judged: {found.unclear[0][:60]!r}"
    if not missing and not surplus:
        return _complete(found, answer, question)
    if not missing or found.n_named and not surplus:
        return "incorrect", reason
    own, lost = (
        [
            token
            for text in texts
            for token in question.read(text)
            if token.is_solid and not question.allows(token)
        ]
        for texts in (surplus, missing)
    )
    is_shared = any(may_share(one, other) for one in own for other in lost)
    has_digits = any(re.search(r"\d", token.text) for token in own + lost)
    is_alike = not has_digits or {*map(sort_of, own)} <= {*map(sort_of, lost)}
    return "incorrect" if own and is_alike and not is_shared else "unscored", reason


def _complete(found: ListMatch, answer: list[Token], question: Question) -> tuple[str, str]:
    if found.fault:
        verdict = "incorrect" if found.fault == "swapped" else "unscored"
        return verdict, f"the cells of a row are {found.fault}"
    if question.is_ordered and any(token.word in _SEQUENCE for token in answer):
        return "unscored", "says the order in words"
    if question.is_ordered and found.order != sorted(found.order):
        return "incorrect", "the items in another order"
    return "correct", f"all items ({found.n_wanted}) and no other"
