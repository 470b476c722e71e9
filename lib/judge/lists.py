"""Match an answer with the entities of a list, in any layout: what it names, and what else.

Entities are found in the tokens of the answer, the longest first. What is left between separators
must be a restatement of the question, a label or an explanation; else it is another item.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from lib.core.values import Token, solid, tokens
from lib.judge.layout import columns, is_row, paragraphs, plain
from lib.judge.matching import Wanted, has
from lib.judge.phrases import mark_shared
from lib.judge.statements import EXPLAINED, EXPLAINING, Group, Statement, outside, statements
from lib.judge.words import wording as w
from lib.judge.words.claims import are_verbs, conflict, opens_remark
from lib.judge.words.wording import Question, is_hard, is_plain, stem

_LONGEST_ENTITY = 6  # words; "a, b and c" is a list only if its parts are this short
_ADDING = frozenset("and or plus also not no optional optionally".split())  # "(and pliers)"
_TIMES = frozenset("before until older old earlier over above below under".split())
_ASIDES = frozenset("both all each until from so where when in on at for as with by".split())
_POSSIBLE = frozenset("can may could allowed permitted available possible".split())
_UNSURE = re.compile(
    r"\b(?:n?either|maybe|perhaps|sure|certain|one|both|not|depending)\b", re.I)
_OFFERED = re.compile(  # "in one of four states: …", "Either A or B may be used"
    r"\bone of (?=[^.:\n]{1,40}:)|\beither (?=[^.\n]{1,80} or [^.\n]{1,60} (?:may|can) )", re.I)
_RANGING = frozenset(("to", "through", "until"))  # "LX-201 through LX-204"
_PLACES = frozenset(("in", "under"))  # "In Platforms: Linux"


@dataclass(frozen=True)
class ListMatch:
    """How an answer matches a list: entities wanted, of these named, and the words of the rest."""

    n_wanted: int
    n_named: int
    surplus: list[str]
    missing: list[str]


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


# The items between commas, semicolons and "and", not splitting inside brackets
def _parts(found: list[Token]) -> list[str]:
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
    wanted = [Wanted(question.read(plain(entity)), in_list=True) for entity in entities]
    mark_shared(wanted, question)
    answer = _with_and(answer, question)
    if "/" in answer and len(entities) <= 50:  # Linux/QNX
        names = "|".join(sorted(map(re.escape, entities), key=len, reverse=True))
        answer = re.sub(rf"(?<!\w)({names})/(?=(?:{names})(?!\w))", r"\1 / ", answer, flags=re.I)
    best = None
    for lines in _readings(answer):
        found = _match(wanted, lines, question)
        if best is None or (found.n_named - len(found.surplus) > best.n_named - len(best.surplus)):
            best = found
    return best or ListMatch(len(wanted), 0, [], [one.text for one in wanted])


# `answer` with "and" for the "or" of "red or green" if the question asks for all
def _with_and(answer: str, question: Question) -> str:
    offered = _OFFERED.sub("", answer)
    is_open = question.words & _POSSIBLE and not _UNSURE.search(offered)
    return re.sub(r"\bor\b", "and", offered) if is_open else answer


def _readings(answer: str) -> Iterator[list[str]]:
    for lines in paragraphs(answer):
        if any(map(is_row, lines)):
            yield from columns(lines)
        yield lines


def _match(wanted: list[Wanted], lines: list[str], question: Question) -> ListMatch:
    said = statements(wanted, lines, question)
    named: set[int] = set()
    surplus: list[str] = []
    listed = [one for one in said if one.named]
    for statement in said:
        if named and not statement.named:
            if _odd(statement.words, question) and _is_further_item(
                    statement, listed, wanted, question):
                surplus.append(" ".join(token.text for token in statement.words))
            continue
        hits, others = _said(statement, len(wanted), question, is_first=not named)
        named |= hits
        surplus += others
    missing = [one.text for index, one in enumerate(wanted) if index not in named]
    return ListMatch(len(wanted), len(named), surplus, missing)


def _said(statement: Statement, n_wanted: int, question: Question,
          is_first: bool) -> tuple[set[int], list[str]]:
    named = statement.named
    others = [token for group in statement.groups for token in outside(group)]
    if named and (_takes_back(others, question) or has(others, question.opposites)):
        return set(), [" ".join(token.text for token in statement.words)]
    hits: set[int] = set()
    surplus: list[str] = []
    is_explained = False
    last = len(statement.groups) - 1
    for place, group in enumerate(statement.groups):
        words = solid(group.tokens)
        if group.hits:
            is_fine = _is_introduced(group, n_wanted, question, is_lead=place == 0)
            after = group.tokens[group.hits[-1][1]:]
            hits |= {index for _, _, index in group.hits} if is_fine else set()
            surplus += [] if is_fine else [group.text]
            is_explained = bool(after) and after[0].text in (":", "-", "=")
        elif not (is_explained or _is_glue(group.tokens, n_wanted, question)
                  or (place == last and not words) or (hits and not any(map(is_hard, words))
                      and words[0].word in EXPLAINED | _ASIDES)):
            is_lead = is_first and not named and statement.is_lead and (
                place == last or group.tokens[0].word in w.PREPOSITIONS | {"out"})
            surplus += [] if is_lead else [group.text]
    return hits, surplus


def _takes_back(others: list[Token], question: Question) -> bool:
    return any(token.word in w.EXCLUDING - _TIMES | {"or", "either", "maybe", "some"}
               and token.word not in question.words for token in others)


def _is_introduced(group: Group, n_wanted: int, question: Question, is_lead: bool) -> bool:
    start, end = group.hits[0][0], group.hits[-1][1]
    before, after = group.tokens[:start], group.tokens[end:]
    between = [token for token in outside(group) if token not in before and token not in after]
    if not _is_glue(between, n_wanted, question) or has(between, _RANGING):
        return False
    is_label = bool(before) and before[-1].text == ":" and (
        before[0].word in _PLACES or not any(map(is_hard, _odd(before, question))))
    if not (_is_glue(before, n_wanted, question) or is_label or _is_led(before, question)
            or (is_lead and _is_introduction(before, question))):
        return False
    words = solid(after)
    if words and after[0].text in ("(", "[") and words[0].word in _ADDING:
        return False
    if not words or after[0].text in EXPLAINING or after[0].word in EXPLAINED:
        return True
    return _is_glue(after, n_wanted, question) or _is_remark(words, question)


def _odd(found: list[Token], question: Question) -> list[Token]:
    return [token for token in solid(found) if not question.allows(token)]


# Whether ordinary verbs lead to an entity: "the stew is seasoned with"
def _is_led(before: list[Token], question: Question) -> bool:
    own = solid(before)
    return not conflict(own, question) and not has(own, w.HEDGES | w.LIMITS | _TIMES) and are_verbs(
        own, question, is_any=True)


# Whether the words behind an entity only remark on it: "receives mail"
def _is_remark(words: list[Token], question: Question) -> bool:
    odd = _odd(words, question)
    is_state = words[0].word in w.BE and words[1:2] == odd[:1] and len(words) < 3
    return (opens_remark(words) and not is_state and not any(map(is_hard, odd))
            and not has(words, w.DENIALS))


# Whether words such as "The kit consists of" lead to the first entity
def _is_introduction(before: list[Token], question: Question) -> bool:
    own = solid(before)
    odd = _odd(before, question)
    has_topic = any(token.word in question.words or stem(token.word) in question.needed
                    for token in own)
    leads = before[-1].text == ":" or before[-1].word in w.FILLERS
    return has_topic and leads and len(odd) <= 4 and all(
        is_plain(token) for token in odd if token is not own[0])


def _is_glue(found: list[Token], n_wanted: int, question: Question) -> bool:
    own = solid(found)
    return not has(own, w.HEDGES | (w.NEGATIONS - question.words)) and all(
        question.allows(token) or token.kind == "number"
        and (token.value[1] == n_wanted or token.text.lower() == "one") for token in own)


def _is_further_item(statement: Statement, listed: list[Statement], wanted: list[Wanted],
                     question: Question) -> bool:
    words = statement.words
    longest = max(len(one.tokens) for one in wanted)
    is_restated = len(_odd(words, question)) <= _LONGEST_ENTITY and bool(
        {stem(token.word) for token in words} & question.topic)
    if statement.is_first:
        is_marked = any(one.is_marked for one in listed)
        is_sentence = not statement.ends_line or (
            statement.is_ended and len(words) > max(_LONGEST_ENTITY, longest + 2))
        return statement.is_marked if is_marked else not is_sentence or is_restated
    are_sentences = len(listed) > 1 and not all(one.is_first for one in listed)
    limit = longest + 4 if are_sentences else _LONGEST_ENTITY - 1
    return is_restated or len(words) <= limit and (are_sentences or not has(words, w.VERBS))

