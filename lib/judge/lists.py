"""Match an answer with the entities of a list, in any layout: what it names, and what else.

Entities are found in the tokens of the answer, the longest first. What is left between separators
must be a restatement of the question, a label or an explanation; else it is another item.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

from lib.core.values import Token, solid, tokens
from lib.judge.layout import columns, has_marker, is_row, paragraphs, plain
from lib.judge.matching import Wanted, first_key
from lib.judge.wording import (
    CONNECTORS,
    EXCLUDING,
    FILLERS,
    HEDGES,
    NEGATIONS,
    Question,
    is_plain,
    stem,
)

_LONGEST_ENTITY = 6  # words; "a, b and c" is a list only if its parts are this short
_BETWEEN = frozenset(("and", "&", "+", "plus", "/", ",", ";", "|"))
_EXPLAINING = frozenset(("(", "[", ":", "-", "="))
_EXPLAINED = frozenset("which that when who where used because if".split())
_PLACES = frozenset(("in", "under"))  # "In Platforms: Linux"


@dataclass(frozen=True)
class ListMatch:
    """How an answer matches a list: entities wanted, of these named, and the words of the rest."""

    n_wanted: int
    n_named: int
    surplus: list[str]
    missing: list[str]


@dataclass
class _Group:
    """The tokens between two separators, with the places of the entities among them."""

    tokens: list[Token] = field(default_factory=list)
    hits: list[tuple[int, int, int]] = field(default_factory=list)  # start, end, index of entity
    mark: str = ""  # the separator after it

    @property
    def text(self) -> str:
        return " ".join(token.text for token in solid(self.tokens))


@dataclass
class _Statement:
    """A sentence or line, in groups."""

    groups: list[_Group]
    is_marked: bool  # it begins with the marker of a list item
    is_first: bool  # of its line
    ends_line: bool
    is_ended: bool  # with a full stop

    @property
    def named(self) -> set[int]:
        return {index for group in self.groups for _, _, index in group.hits}

    @property
    def words(self) -> list[Token]:
        return [token for group in self.groups for token in solid(group.tokens)]


def entities_of(reference: str, question: Question, entity_count: int | None) -> list[str]:
    """Return the items of a reference that is a list; empty for a scalar.

    A scalar that reads as "a and b" is one, and "a, b" if the question asks for several.
    """
    lines = [line for line in reference.splitlines() if line.strip()]
    if len(lines) > 1 or entity_count == 1:
        return lines
    # not at "&": "Brandt & Co" is one name
    found = tokens(reference)
    has_and = any(token.value == "and" for token in found)
    if has_and or question.is_plural or entity_count:
        parts = _parts(found)
        if len(parts) > 1 and all(len(part.split()) <= _LONGEST_ENTITY for part in parts):
            return parts
    return lines if entity_count else []


def _parts(found: list[Token]) -> list[str]:
    """Return the items between commas, semicolons and "and", not splitting inside brackets."""
    items: list[list[Token]] = [[]]
    depth = 0
    for token in found:
        depth = max(0, depth + {"(": 1, "[": 1, ")": -1, "]": -1}.get(token.text, 0))
        if not depth and token.value in (",", ";", "and"):
            items.append([])
        else:
            items[-1].append(token)
    return [" ".join(token.text for token in item) for item in items if solid(item)]


def match(entities: list[str], answer: str, question: Question) -> ListMatch:
    """Return how `answer` matches `entities`; of several readings, the one with the best match."""
    wanted = [Wanted(question.read(plain(entity))) for entity in entities]
    best = None
    for lines in _readings(answer):
        found = _match(wanted, lines, question)
        if best is None or (found.n_named - len(found.surplus)
                            > best.n_named - len(best.surplus)):
            best = found
        if not found.missing and not found.surplus:
            break
    return best or ListMatch(len(wanted), 0, [], [one.text for one in wanted])


def _readings(answer: str) -> Iterator[list[str]]:
    for lines in paragraphs(answer):
        if any(map(is_row, lines)):
            yield from columns(lines)
        yield lines


def _match(wanted: list[Wanted], lines: list[str], question: Question) -> ListMatch:
    statements = _statements(wanted, lines, question)
    named: set[int] = set()
    surplus: list[str] = []
    listed = [one for one in statements if one.named]
    for statement in statements:
        if named and not statement.named:
            if _is_further_item(statement, listed, wanted, question):
                surplus.append(" ".join(token.text for token in statement.words))
            elif len(named) == len(wanted):
                break
            continue
        hits, others = _said(statement, len(wanted), question, is_first=not named)
        named |= hits
        surplus += others
    missing = [one.text for index, one in enumerate(wanted) if index not in named]
    return ListMatch(len(wanted), len(named), surplus, missing)


def _statements(wanted: list[Wanted], lines: list[str], question: Question) -> list[_Statement]:
    by_first: dict[object, list[int]] = {}
    for index, one in sorted(enumerate(wanted), key=lambda pair: -len(pair[1].keys)):
        if one.keys:
            by_first.setdefault(one.first, []).append(index)
    statements = []
    for line in lines:
        found = question.read(plain(line))
        place, is_first = 0, True
        while place < len(found):
            groups, place = _groups(found, place, wanted, by_first, question)
            statement = _Statement(groups, has_marker(line), is_first, place >= len(found),
                                   found[place - 1].text == ".")
            if statement.words:
                statements.append(statement)
                is_first = False
    return statements


def _groups(found: list[Token], place: int, wanted: list[Wanted], by_first: dict,
            question: Question) -> tuple[list[_Group], int]:
    """Return the groups of one sentence from `place` on, and where the next one begins."""
    groups = [_Group()]
    depth = 0
    while place < len(found):
        token, group = found[place], groups[-1]
        hit = _hit(found, place, wanted, by_first, question, group)
        if hit:
            index, end = hit
            group.hits.append((len(group.tokens), len(group.tokens) + end - place, index))
            group.tokens += found[place:end]
            place = end
            continue
        place += 1
        if token.kind == "end" and (token.text != "." or place >= len(found) or not depth):
            break
        depth = max(0, depth + {"(": 1, "[": 1, ")": -1, "]": -1}.get(token.text, 0))
        if not depth and str(token.value) in _BETWEEN:
            group.mark = str(token.value)
            groups.append(_Group())
        else:
            group.tokens.append(token)
    return groups, place


def _hit(found: list[Token], place: int, wanted: list[Wanted], by_first: dict,
         question: Question, group: _Group) -> tuple[int, int] | None:
    """Return the longest entity that is complete at `place`, and where it ends."""
    before = found[place - 1] if place else None
    is_open = (not group.tokens or not before.is_solid or question.allows(before)
               or str(before.value) in CONNECTORS)
    for index in by_first.get(first_key(found[place]), ()) if is_open else ():
        end = wanted[index].end_in(found, place)
        if end is not None and _is_closed(found, end, question):
            return index, end
    return None


def _is_closed(found: list[Token], end: int, question: Question) -> bool:
    """Return whether no name goes on at `end`: not "Linux" in "Linux Mint" or "Linux 6"."""
    if end >= len(found) or not found[end].is_solid:
        return True
    word = str(found[end].value)
    return (word in _BETWEEN or word in _EXPLAINED or word in _EXPLAINING or question.allows(
        found[end]) or word == "as") and found[end].kind == "word"


def _said(statement: _Statement, n_wanted: int, question: Question,
          is_first: bool) -> tuple[set[int], list[str]]:
    """Return the entities that a statement asserts, and its other items."""
    named = statement.named
    outside = [token for group in statement.groups for token in _outside(group)]
    if named and any(str(token.value) in EXCLUDING | {"or", "either", "maybe", "some"}
                               and str(token.value) not in question.words for token in outside):
        return set(), [" ".join(token.text for token in statement.words)]
    hits: set[int] = set()
    surplus: list[str] = []
    is_explained = False
    last = len(statement.groups) - 1
    for place, group in enumerate(statement.groups):
        if group.hits:
            is_lead = place == 0 and is_first
            is_fine = _is_introduced(group, n_wanted, question, is_lead=is_lead or place == 0)
            after = group.tokens[group.hits[-1][1]:]
            hits |= {index for _, _, index in group.hits} if is_fine else set()
            surplus += [] if is_fine else [group.text]
            is_explained = bool(after) and after[0].text in (":", "-", "=")
        elif not (is_explained or _is_glue(group.tokens, n_wanted, question)
                  or (place == last and not solid(group.tokens))):
            is_lead = is_first and not named and place == last and (
                group.tokens[-1].text == ":" and not _has(group.tokens, NEGATIONS))
            surplus += [] if is_lead else [group.text]
    return hits, surplus


def _outside(group: _Group) -> list[Token]:
    """Return the words of a group that are in no entity."""
    inside = {place for start, end, _ in group.hits for place in range(start, end)}
    return [token for place, token in enumerate(group.tokens)
            if place not in inside and token.is_solid]


def _is_introduced(group: _Group, n_wanted: int, question: Question, is_lead: bool) -> bool:
    """Return whether what surrounds the entities of a group restates, labels or explains them."""
    start, end = group.hits[0][0], group.hits[-1][1]
    before, after = group.tokens[:start], group.tokens[end:]
    between = [token for token in _outside(group) if token not in before and token not in after]
    if not _is_glue(between, n_wanted, question):
        return False
    is_label = bool(before) and before[-1].text == ":" and (
        str(solid(before)[0].value) in _PLACES if solid(before) else True)
    if not (_is_glue(before, n_wanted, question) or is_label
            or (is_lead and _is_introduction(before, question))):
        return False
    if not solid(after) or after[0].text in _EXPLAINING or str(after[0].value) in _EXPLAINED:
        return True
    return _is_glue(after, n_wanted, question)


def _is_introduction(before: list[Token], question: Question) -> bool:
    """Return whether words such as "The kit consists of" lead to the first entity."""
    own = solid(before)
    odd = [token for token in own if not question.allows(token)]
    has_topic = any(str(token.value) in question.words or stem(str(token.value))
                    in question.needed for token in own)
    leads = before[-1].text == ":" or str(before[-1].value) in FILLERS
    return has_topic and leads and len(odd) <= 4 and all(
        is_plain(token) for token in odd if token is not own[0])


def _is_glue(found: list[Token], n_wanted: int, question: Question) -> bool:
    """Return whether words only restate the question, or count the items."""
    for token in solid(found):
        is_count = token.kind == "number" and token.value[1] == n_wanted
        if not (is_count or question.allows(token)) or str(token.value) in HEDGES | NEGATIONS:
            return False
    return True


def _is_further_item(statement: _Statement, listed: list[_Statement], wanted: list[Wanted],
                     question: Question) -> bool:
    """Return whether a statement after `listed` ones offers another item in the same layout."""
    words = statement.words
    odd = [token for token in words if not question.allows(token)]
    if not odd:
        return False
    longest = max(len(one.tokens) for one in wanted)
    is_restated = len(odd) <= _LONGEST_ENTITY and bool(
        {stem(str(token.value)) for token in words} & question.topic)
    if statement.is_first:
        is_marked = any(one.is_marked for one in listed)
        is_sentence = not statement.ends_line or (
            statement.is_ended and len(words) > max(_LONGEST_ENTITY, longest + 2))
        return statement.is_marked if is_marked else not is_sentence or is_restated
    are_sentences = len(listed) > 1 and not all(one.is_first for one in listed)
    limit = longest + 4 if are_sentences else 3
    return is_restated or len(words) <= limit


def _has(found: list[Token], words: frozenset[str]) -> bool:
    return any(str(token.value) in words for token in found)
