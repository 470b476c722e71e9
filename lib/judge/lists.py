"""Match an answer with a list or table: what it names, and what else, in any layout."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from lib.core.values import Token, solid, tokens
from lib.judge.matching import content, find, is_rival, may_equal, without_asked
from lib.judge.spellings import table_of
from lib.judge.words import HEDGES, NEGATIONS, OPENERS, TURNS, Question, key, sort_of

_LONGEST = 5  # words of an item between commas
_LONGEST_RUN = 30
_BETWEEN = frozenset(("and", "or", "&", "+", "plus", "/", ",", ";", "|"))
_RUN = re.compile(r"(?<![\w.])([A-Za-z]*)(\d{1,6}) +(?:rangeto|through|to) +\1(\d{1,6})(?![\w.])")
_WHOLE = frozenset("all every each both everything rangeto to through".split())
_HARD = ("number", "date", "code")
_EXPLAINING = (":", "-", "=", "(", "[")


@dataclass(frozen=True)
class ListMatch:
    """How an answer matches a list: items wanted, of these named, words of the rest, and doubts."""

    n_wanted: int
    n_named: int
    surplus: list[str]
    missing: list[str]
    doubts: list[str] = field(default_factory=list)
    order: list[int] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    is_swapped: bool = False
    others: list[Token] = field(default_factory=list)  # of the answer, neither items nor asked
    n_said: int | None = 0  # other things, at most; None in a table


@dataclass
class _Piece:
    tokens: list[Token]
    owners: list[int | None]  # the cell that each token belongs to
    mark: str = ""  # the separator after it
    is_first: bool = False  # of its sentence


def rows_of(reference: str, question: Question, entity_count: int | None) -> list[list[str]]:
    """Return the items of a reference, each as its cells; empty for a scalar."""
    lines = [line for line in reference.splitlines() if line.strip()]
    if "|" in reference or "\t" in reference or len(lines) > 1 and not entity_count:
        table = table_of(lines)
        if table:
            header, rows = table
            is_named = len(rows) > 1 and not header and any(
                all(question.allows(token) for token in tokens(cell)) for cell in rows[0])
            rows = [[cell for cell in row if cell] for row in rows[is_named:]]
            numbers = [str(n) for n in range(1, len(rows) + 1)]
            is_numbered = question.is_ordered and [row[0] for row in rows] == numbers
            return [row[1:] if is_numbered and len(row) > 1 else row for row in rows]
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
    depth, parts = 0, [""]
    for piece in re.split(r"([()\[\];]|,(?!\d)|\band\b)", reference):
        depth += {"(": 1, "[": 1, ")": -1, "]": -1}.get(piece, 0)
        if not depth and piece in (",", ";", "and"):
            parts.append("")
        else:
            parts[-1] += piece
    return [part.strip(" .") for part in parts if part.strip(" .")]


def match(rows: Sequence[Sequence[str]], lines: list[str], question: Question) -> ListMatch:
    """Return how the lines of an answer match the items."""
    cells = list(dict.fromkeys(cell for row in rows for cell in row))
    phrases = [content(question.read(cell)) for cell in cells]
    text = "\n".join(lines)
    is_ranged = any("rangeto" in cell for cell in cells)
    found = question.read(text if is_ranged else _RUN.sub(_each_of_run, text))
    owners = _owners(phrases, found, question)
    pieces = _pieces(found, owners)
    named: list[int] = []
    surplus: list[str] = []
    doubts: list[str] = []
    told: list[str] = []
    denied: set[int] = set()
    for piece in pieces:
        hits = list(dict.fromkeys(owner for owner in piece.owners if owner is not None))
        rest, glosses = _rest(piece)
        odd = [token for token in rest if not question.allows(token)]
        is_told = len(hits) > 1 and max(map(len, rows)) > 1 and all(
            sort_of(token) == "word" and token.word not in TURNS for token in odd) and any(
            sort_of(token) in _HARD for hit in hits for token in phrases[hit])
        negated = [token for token in rest + glosses
                   if token.word in NEGATIONS and key(token) not in question.keys]
        text = " ".join(token.text for token in solid(piece.tokens))
        if hits and negated:
            denied |= set(hits)
            continue
        named += hits
        is_run = any(token.word in ("to", "through", "until") for token in rest + glosses
                     ) and len(hits) > 1
        is_odd_gloss = glosses and (glosses[0].word.endswith("ed") or glosses[0].word in TURNS
                                    or glosses[0].word in ("and", "or", "plus")
                                    or "(" not in [token.text for token in piece.tokens]
                                    and any(token.kind == "number" for token in glosses))
        told += [text] if is_told and odd else []
        if hits and (odd and not is_told or is_run or is_odd_gloss) or not hits and negated:
            doubts.append(text)
        elif odd and not hits and not _is_remark(piece, odd, bool(named)):
            is_text = piece.is_first and piece.mark == "." and not any(
                one.mark == "." and set(one.owners) != {None} for one in pieces)
            is_about = piece.tokens[0].word in ("it", "they", "this", "these") and not any(
                key(token) in question.keys and len(token.word) > 3 for token in piece.tokens
            ) or any(token.word == "which" for token in piece.tokens)
            is_item = not (is_text or is_about or piece.tokens[0].word in OPENERS | TURNS
                           ) and len(odd) <= max(map(len, phrases)) + 3
            (surplus if is_item else doubts).append(text)
    hedges = HEDGES | {"rangeto", "only"}
    if any(one[1] in NEGATIONS for one in question.keys):
        hedges -= {"or"}  # "not A or B" excludes both
    faults = [token.text for token, owner in zip(found, owners, strict=True)
              if owner is None and token.word in hedges
              and key(token) not in question.keys and not question.is_open]
    others = [token for token, owner in zip(found, owners, strict=True)
              if owner is None and not question.allows(token)]
    doubts += told if len(set(named)) < len(cells) else []
    return _by_rows(rows, cells, [one for one in named if one not in denied], owners, surplus,
                    doubts, faults, others)


def _each_of_run(run: re.Match) -> str:
    first, last = int(run[2]), int(run[3])
    is_short = first < last < first + _LONGEST_RUN
    return ", ".join(f"{run[1]}{n}" for n in range(first, last + 1)) if is_short else run[0]


def _owners(phrases: list[list[Token]], found: list[Token],
            question: Question) -> list[int | None]:
    owners: list[int | None] = [None] * len(found)
    for index in sorted(range(len(phrases)), key=lambda index: -len(phrases[index])):
        for phrase in _alternatives(phrases[index], question):
            spans = [(start, end) for start in range(len(found))
                     if (end := find(phrase, found, start, ".\n|;,")) is not None
                     and not any(owner is not None for owner in owners[start:end])]
            for start, end in spans:
                if all(owner is None for owner in owners[start:end]):
                    owners[start:end] = [index] * (end - start)
            if spans:
                break
    return owners


# A phrase, without the words of the question, and with its short form alone: "WHO"
def _alternatives(phrase: list[Token], question: Question) -> list[list[Token]]:
    is_short = len(phrase) > 2 and phrase[-1].text.isalpha() and phrase[-1].text.isupper()
    return [phrase, without_asked(phrase, question),
            *([phrase[:-1], phrase[-1:]] if is_short else [])]


def _pieces(found: list[Token], owners: list[int | None]) -> list[_Piece]:
    pieces, depth = [_Piece([], [], is_first=True)], 0
    for token, owner in zip(found, owners, strict=True):
        depth = max(0, depth + {"(": 1, "[": 1, ")": -1, "]": -1}.get(token.text, 0))
        is_end = token.kind == "end" and owner is None and not (depth and token.text == ".")
        is_lead = token.text == ":" and not any(one is not None for one in pieces[-1].owners)
        if owner is None and not depth and (is_end or is_lead or token.word in _BETWEEN):
            pieces[-1].mark = token.text
            pieces.append(_Piece([], [], is_first=is_end))
            depth = 0 if is_end else depth
        else:
            pieces[-1].tokens.append(token)
            pieces[-1].owners.append(owner)
    return [piece for piece in pieces if solid(piece.tokens)]


# The words of a piece in no item, and those that explain one: "rx (bytes read)", "rx: bytes read"
def _rest(piece: _Piece) -> tuple[list[Token], list[Token]]:
    rest: list[Token] = []
    glosses: list[Token] = []
    depth, is_gloss, has_hit = 0, False, False
    for token, owner in zip(piece.tokens, piece.owners, strict=True):
        depth = max(0, depth + {"(": 1, "[": 1, ")": -1, "]": -1}.get(token.text, 0))
        has_hit |= owner is not None
        is_gloss |= has_hit and (token.text in _EXPLAINING[:3] or token.word in OPENERS)
        if token.is_solid and owner is None:
            (glosses if depth or is_gloss else rest).append(token)
    return rest, glosses


# A clause about an item, or a sentence that leads to the items
def _is_remark(piece: _Piece, odd: list[Token], has_named: bool) -> bool:
    if any(token.word in TURNS for token in odd):
        return False
    is_clause = piece.tokens[0].word in OPENERS and not any(
        sort_of(token) in ("number", "date", "code") for token in odd)
    return piece.mark == ":" and not has_named or has_named and is_clause and not piece.is_first


def _by_rows(rows: Sequence[Sequence[str]], cells: list[str], named: list[int],
             owners: list[int | None], surplus: list[str], doubts: list[str],
             faults: list[str], others: list[Token]) -> ListMatch:
    wanted = [[cells.index(cell) for cell in row] for row in rows]
    missing = [rows[place][0] if row[0] not in named else
               next(cell for cell, one in zip(rows[place], row, strict=True) if one not in named)
               for place, row in enumerate(wanted) if not set(row) <= set(named)]
    stream = [one for place, one in enumerate(owners)
              if one is not None and (not place or owners[place - 1] != one)]
    fault = _misplaced(wanted, stream) if not missing and max(map(len, wanted)) > 1 else ""
    if fault == "apart":
        doubts.append("cells of one row in another")
    order = [place for one in dict.fromkeys(stream) for place, row in enumerate(wanted)
             if row[0] == one]
    n_said = len(surplus + doubts) if max(map(len, rows)) == 1 else None
    return ListMatch(len(rows), len(rows) - len(missing), surplus, missing, doubts, order, faults,
                     fault == "swapped", others, n_said)


# "" if the cells of each row are together, "swapped" if they are with those of others, else "apart"
def _misplaced(wanted: list[list[int]], stream: list[int]) -> str:
    is_paired = False
    for column in range(min(map(len, wanted))):
        keys = [row[column] for row in wanted]
        if len(set(keys)) < len(keys):
            continue
        for flow in (stream, stream[::-1]):
            groups: dict[int, list[int]] = {}
            last = None
            for one in flow:
                last = one if one in keys else last
                if last is not None:
                    groups.setdefault(last, []).append(one)
            if all(sorted(set(groups.get(row[column], ()))) == sorted(set(row)) for row in wanted):
                return ""
            is_paired |= flow[0] in keys and all(
                len(set(groups.get(row[column], ()))) == len(set(row)) for row in wanted)
    return "swapped" if is_paired else "apart"


def decide(found: ListMatch, question: Question) -> tuple[str, str]:
    """Return the verdict on a match, and the reason."""
    missing, surplus = len(found.missing), len(found.surplus)
    shown = (f"{found.n_named} of {found.n_wanted} items"
             + (f"; missing {found.missing[0]!r}" if missing else "")
             + (f"; surplus {found.surplus[0][:60]!r}" if surplus else ""))
    if found.is_swapped:
        return "incorrect", "cells of one row in another"
    if found.faults:
        return "unscored", f"{shown}; says {found.faults[0]!r}"
    if not missing and not surplus:
        if question.is_ordered and found.order != sorted(found.order):
            return "incorrect", "the items in another order"
        return ("unscored", f"says more of an item than can be judged: {found.doubts[0][:60]!r}"
                ) if found.doubts else ("correct", f"all items ({found.n_wanted}) and no other")
    if missing and not found.n_named:
        are_words = all(len(text.split()) < 3 and not re.search(r"\d", text)
                        for text in found.surplus + found.missing)
        is_short = found.n_said is not None and (
            found.n_said < found.n_wanted or are_words and not found.doubts)
        is_short &= not any(token.word in TURNS | _WHOLE for token in found.others)
        is_short &= not _overlap(found, question)
        return ("incorrect" if is_short else "unscored"), shown
    if rival := _replacing(found, question):
        return "incorrect", f"{shown}; gives {rival.text!r}"
    is_more = not missing and any(re.fullmatch(r"\S*\d\S*", text) for text in found.surplus)
    if is_more or missing and _lacks_value(found, question):
        return "incorrect", shown
    if found.doubts or _overlap(found, question) or missing and surplus:
        return "unscored", f"{shown}, perhaps in other words"
    return "incorrect", shown


# A value in an answer of the kind of an item that it lacks
def _replacing(found: ListMatch, question: Question) -> Token | None:
    others = found.others if found.missing else []
    lacking = [token for text in found.missing for token in question.read(text)
               if sort_of(token) in _HARD]
    return next((other for other in others for token in lacking
                 if is_rival(other, token) and not may_equal(other, token)), None)


def _lacks_value(found: ListMatch, question: Question) -> bool:
    return all(any(re.search(r"\d", token.text) for token in question.read(text))
               for text in found.missing) and not any(
        sort_of(token) in _HARD or token.word in TURNS | _WHOLE for token in found.others)


# What surplus and missing items share: "Okoro" and "Ida Okoro", "Tue" and "Tuesday"
def _overlap(found: ListMatch, question: Question) -> set[str]:
    own, wanted = ({re.sub(r"[^\d.]", "", token.text) or token.word[:3] for text in texts
                    for token in question.read(text)
                    if token.is_solid and not question.allows(token)}
                   for texts in (found.surplus + found.doubts, found.missing))
    return own & wanted
