"""Divide an answer into statements and groups, and find the entities of a list in them."""

from dataclasses import dataclass, field

from lib.core.values import Token, solid
from lib.judge.layout import plain
from lib.judge.matching import Wanted, first_key, has
from lib.judge.phrases import canonical
from lib.judge.words import wording as w
from lib.judge.words.claims import is_verb
from lib.judge.words.wording import Question

BETWEEN = frozenset(("and", "&", "+", "plus", "/", ",", ";", "|"))
EXPLAINING = frozenset(("(", "[", ":", "-", "="))  # after an entity
EXPLAINED = frozenset("which that when who where used because if".split())

@dataclass
class Group:
    """The tokens between two separators, with the places of the entities among them."""

    tokens: list[Token] = field(default_factory=list)
    hits: list[tuple[int, int, int]] = field(default_factory=list)  # start, end, index of entity
    mark: str = ""  # the separator after it

    @property
    def text(self) -> str:
        """Its words."""
        return " ".join(token.text for token in solid(self.tokens))


@dataclass
class Statement:
    """A sentence or line, in groups."""

    groups: list[Group]
    is_marked: bool  # it begins with the marker of a list item
    is_first: bool  # of its line
    ends_line: bool
    is_ended: bool  # with a full stop

    @property
    def named(self) -> set[int]:
        """The indices of the entities in it."""
        return {index for group in self.groups for _, _, index in group.hits}

    @property
    def is_lead(self) -> bool:
        """Whether it only announces what follows: "The drive has two ports:"."""
        return [token.text for token in self.groups[-1].tokens[-1:]] == [":"] and not has(
            self.words, w.NEGATIONS)

    @property
    def words(self) -> list[Token]:
        """Its tokens that have content."""
        return [token for group in self.groups for token in solid(group.tokens)]


def statements(wanted: list[Wanted], lines: list[str], question: Question) -> list[Statement]:
    """Return the sentences of `lines` in order, with the entities that they contain."""
    by_first: dict[object, list[int]] = {}
    for index, one in sorted(enumerate(wanted), key=lambda pair: -len(pair[1].keys)):
        if one.keys:
            by_first.setdefault(one.first, []).append(index)
    found_so_far: list[Statement] = []
    for line in lines:
        found = canonical(question.read(plain(line)), wanted, question)
        place, is_first = 0, True
        while place < len(found):
            groups, place = _groups(found, place, wanted, by_first, question)
            if any(solid(group.tokens) for group in groups):
                found_so_far.append(Statement(
                    groups, plain(line) != line, is_first, place >= len(found),
                    found[place - 1].text == "."))
                is_first = False
    return found_so_far


def _groups(found: list[Token], place: int, wanted: list[Wanted], by_first: dict,
            question: Question) -> tuple[list[Group], int]:
    groups = [Group()]
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
        if not depth and token.word in BETWEEN:
            group.mark = token.word
            groups.append(Group())
        else:
            group.tokens.append(token)
    return groups, place


def _hit(found: list[Token], place: int, wanted: list[Wanted], by_first: dict,
         question: Question, group: Group) -> tuple[int, int] | None:
    before, own = found[place - 1] if place else None, solid(group.tokens[-3:])
    is_open = (not group.tokens or not before.is_solid or question.allows(before)
               or before.word in w.CONNECTORS or is_verb(own, len(own) - 1, question, is_any=True))
    near = by_first.get(first_key(found[place]), ()) if is_open else ()
    ends = ((index, wanted[index].end_in(found, place)) for index in near)
    return next(((index, end) for index, end in ends if end is not None), None)


def outside(group: Group) -> list[Token]:
    """Return the words of a group that are in no entity, and in no gloss: "rx (bytes read)"."""
    inside = {place for start, end, _ in group.hits for place in range(start, end)}
    opened: list[int] = []
    for place, token in enumerate(group.tokens):
        opened += [place] if token.text in ("(", "[") and place and place - 1 in inside else []
        if token.text in (")", "]") and opened:
            gloss = range(opened.pop(), place)
            inside |= set() if inside.intersection(gloss) or _denies(
                solid([group.tokens[one] for one in gloss])) else set(gloss)
    return [token for place, token in enumerate(group.tokens)
            if place not in inside and token.is_solid]


# "(not yet)" and "(removed in 4)" deny the entity, "(failed reads)" does not
def _denies(gloss: list[Token]) -> bool:
    first, second = [token.word for token in gloss[:2]] + [""] * (2 - len(gloss[:2]))
    is_adjective = first.endswith("ed") and second and second not in w.CLAUSES
    return first in w.EXCLUDING | w.DENIALS | w.HEDGES and not is_adjective
