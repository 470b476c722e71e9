"""Patterns that ask one simple clause for its fact (paper, 3.1); each takes the whole clause.

A clause is never cut: if a word of it is neither in the question nor in the answer, a condition
may be lost. Its subject and its answer must be noun phrases (lib.annotate.rules.grammar).
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from lib.annotate.rules.forms import ADVERB, BROAD, VERSION, clause_forms
from lib.annotate.rules.grammar import (
    DATE,
    VAGUE,
    is_complement,
    is_noun_phrase,
    is_rest,
    is_specific,
)
from lib.annotate.rules.labels import is_guessed
from lib.annotate.rules.places import Place
from lib.annotate.rules.verbs import BASE, FORMS, NOUN_LIKE, is_participle, third_person
from lib.core.text import as_label, is_plural

MAX_ANSWER_WORDS = 14

# a number, a quoted value, a path or a name
_FIXED = re.compile(r"[~<>=±+-]{0,2}\s?\d|[`\"“<\[/{$~]|[A-Z][\w.-]*|\w+_\w+|\w+\.\w|"
                    r"(?:true|false|enabled|disabled|null|none|empty)\Z")
_PREPOSITION = {"to": "default refer correspond apply resolve belong", "of": "consist",
                "on": "depend listen run rely", "from": "inherit", "with": "start begin end",
                "for": "stand"}
_TO = ("renamed moved changed reduced increased raised lowered limited restricted set mapped bound "
       "connected attached sent written added converted translated forwarded exported").split()
_ELSEWHERE = re.compile(r"\b(?:documents?|documentation|docs|website|guides?|pages?|sections?|"
                        r"chapter|repository|examples?|tutorials?)\b", re.I)
# "is mapped in A into B": the phrase holds a second complement of the verb
_SECOND = re.compile(r" (?:in|on|by|from|as|via|with|at|through|into|onto|to|during|without) ")
_CARRIED = re.compile(r" (?:into|onto|via) ")
# an appraisal defines nothing
_PRAISED = re.compile(
    r"(?:an?|the) (?:[\w-]+ ){0,3}?(?:most|more|best|better|good|great|large|small|simple|easy|"
    r"easiest|simplest|fastest|quick|fast|powerful|popular|preferred|recommended|ideal|important|useful|"
    r"convenient|modern|effective|efficient|flexible|lightweight|robust|common|typical|"
    r"crucial|essential|critical|fundamental|handy|nice)\b", re.I)
# "no lid" denies; "the conflict" is known from another sentence only
_OPEN = re.compile(r"no |every |the [a-z]+(?:$| (?:in|on|at|by|for|with|from|to|without|during)\b)",
                   re.I)
# "start up", "keep track of", "take place": the verb goes on in what would be the answer
_IDIOM = re.compile(
    r"(?:up|down|out|off|on|over|away|back|in|track|place|part|care|sure|advantage|account|use|"
    r"note|effect|sense|rise|way|responsibility|precedence)\b|.*\b(?:appropriate|necessary|"
    r"needed|relevant|automatically|\w+ally|only)\b", re.I | re.S)
_PLACED = frozenset("""
cached checked configured created declared defined installed kept listed located logged placed
registered run saved set stored written""".split())
# words that begin a noun phrase and are no part of a name
_LOWER = ("A", "An", "The", "Each", "Every", "All", "Both", "New", "Most", "Many", "Some")


class Asked(NamedTuple):
    """A question without its place, in lower case and ending in "?", and its answer."""

    core: str
    answer: str
    is_complete: bool = False  # names its subject: needs no place


def attribute_of(text: str, entity: str) -> Asked | None:
    """Ask about an attribute of `entity` in the sentence; the question ignores its wording."""
    name = re.escape(entity)
    found = next((match for pattern in (
        rf"The (?P<a>.+?) of {name} (?:is|are) (?P<v>.+)",
        rf"{name} (?:has|have) (?:an? |the )?(?P<a>.+?) of (?P<v>.+)",
        rf"(?:On|In|For|With) {name}, the (?P<a>.+?) (?:is|are) (?P<v>.+)",
        rf"{name} uses (?P<v>.+) as its (?P<a>.+)",
        rf"{name}(?:'s|’s|') (?P<a>.+?) (?:is|are) (?P<v>(?:an?|the|\d|\"|[A-Z/]).+)",
        rf"(?P<v>.+?) (?:is|are) the (?P<a>.+) of {name}",
    ) if (match := re.fullmatch(pattern, text, re.S))), None)
    if not found or not is_noun_phrase(found["a"]) or not _is_answer(found["v"]):
        return None
    label = as_label(found["a"])
    core = f"what {'are' if is_plural(label) else 'is'} the {label} of {entity}?"
    return Asked(core, found["v"], True)


def ask_clause(text: str, place: Place) -> Asked | None:
    """Ask one clause; "By default, …" and "On Linux, …" go to the end of the question."""
    match = re.fullmatch(r"(?P<tail>By default|(?:In|On|For|With|At|Since|As of|Under) [^,;:()]+), "
                         r"(?P<clause>.+)", text, re.S)
    tail = match["tail"] if match else ""
    if tail and tail != "By default" and not _subject(tail.split(" ", 1)[1], place):
        return None
    clause = match["clause"] if match else text
    if clause.split(" ", 1)[0].title() in _LOWER:
        clause = clause[:1].upper() + clause[1:]
    found = next(_asked(clause, place), None)
    if not found and tail == "By default":
        found = _copula(clause, place, is_default=True)
    if not found or not tail:
        return found
    return found._replace(core=f"{found.core[:-1]} {tail[:1].lower()}{tail[1:]}?")


def lowered(phrase: str, place: Place) -> str:
    """Return a sentence's subject as it reads inside a question.

    "" if it is open whether its first word is a name.
    """
    first, _, rest = phrase.partition(" ")
    if first in _LOWER:
        return f"{first.lower()} {rest}".strip()
    is_name = re.fullmatch(r"[A-Z][a-z]+(?:-[a-z]+)*", first) is None or (
        first in place.subject.names or first in re.findall(r"\w+", place.name)
        or re.match(r"[A-Z\d]|\w+[A-Z\d]", rest))
    if is_name:
        return phrase
    is_word = first in place.subject.words and (rest or is_plural(first))
    return f"{first.lower()} {rest}".strip() if is_word else ""


def _asked(text: str, place: Place) -> Iterator[Asked]:
    for pattern, core, answer in clause_forms():
        if (match := pattern.fullmatch(text)) and (found := _fill(match, core, answer, place)):
            yield found
    yield from filter(None, (ask(text, place) for ask in (_copula, _passive, _object)))


def _fill(match: re.Match[str], core: str, answer: str, place: Place) -> Asked | None:
    groups = match.groupdict()
    groups["s"] = _subject(groups["s"], place)
    verb = groups.get("verb", "")
    is_fit = (groups["s"] and _is_answer(groups.get("v", "x"))
              and is_participle(groups.get("done", "done")) and is_noun_phrase(groups.get("o", "x"))
              and is_rest(groups.get("r", "x y")) and len(match[0].split()) < 3 * MAX_ANSWER_WORDS)
    is_agreed = not verb or "modal" in groups or (verb in FORMS) != is_plural(match["s"])
    is_broad = {"now", "modal"} & groups.keys() and groups["s"] in place.name or (
        "v" in groups and not _is_telling(groups["v"]))
    if not is_fit or not is_agreed or is_broad:
        return None
    groups |= {"do": "does" if verb in FORMS else "do", "base": BASE.get(verb, ""),
               "modal": groups.get("modal", "").lower()}
    asked = Asked(core.format(**groups), answer.format(**groups))
    return asked if len(asked.answer.split()) <= MAX_ANSWER_WORDS else None


def _subject(phrase: str, place: Place) -> str:
    if phrase in (place.name, place.subject.product):
        return phrase
    is_subject = len(phrase.split()) <= 10 and is_noun_phrase(phrase) and is_specific(
        phrase, place.subject.words, place.section.lower()) and not (
        re.match(r"(?:Each|Every) ", phrase) and is_plural(phrase))
    return lowered(phrase, place) if is_subject else ""


def _is_answer(phrase: str) -> bool:
    is_short = 0 < len(phrase.split()) <= MAX_ANSWER_WORDS
    return is_short and is_complement(phrase) and not (
        _OPEN.match(phrase) or _CARRIED.search(_head(phrase)))


def _is_telling(value: str) -> bool:
    is_named = re.search(r"\d|_|\w[./]\w|[a-z][A-Z]|[A-Z]{2}| [A-Z]", value) or _FIXED.match(value)
    return is_named is not None and not _IDIOM.match(value)


def _head(phrase: str) -> str:
    return re.split(r" (?:that|which|who|whose|where) ", phrase, maxsplit=1)[0]


# Ask about "The default port of X is 80" and "X is a Y": a fixed value or a definition
def _copula(text: str, place: Place, is_default: bool = False) -> Asked | None:
    match = re.fullmatch(rf"(?P<s>.+?) (?P<be>is|are) {ADVERB}(?P<v>.+)", text, re.S)
    if not match or not _is_answer(match["v"]) or re.search(r"\bthe only\b", text):
        return None
    subject, value = _subject(match["s"], place), match["v"]
    is_label = re.match(r"The (?:default|maximum|minimum) \w", match["s"]) is not None
    if is_label and _FIXED.match(value):
        is_long = is_noun_phrase(match["s"]) and len(match["s"].split()) > 2 and (
            match["s"].lower().split()[2] not in VAGUE)
        subject = subject or (lowered(match["s"], place) if is_long else "")
    if not subject:
        return None
    if _PRAISED.match(value) or re.fullmatch(r"The [a-z]+", match["s"]) and not _FIXED.match(value):
        return None
    if re.match(r"(?:an?|the) \w", value):
        # a definition is asked if it is long, or where all is about the thing defined
        name = re.sub(r"^(?:The|An?) ", "", match["s"]).lower()
        n_words = 5 if name in f"{place.section} {place.name}".lower() else 7
        is_fact = len(value.split()) > n_words and name not in value.lower() and not is_guessed(
            value, name)
    elif re.search(r" (?:that|which|who) ", value) and is_plural(match["s"]):
        is_fact = match["s"].lower() in place.section.lower()
    else:
        is_fact = _FIXED.match(value) and (match["s"].startswith("The ") or is_default)
    return Asked(f"what {match['be']} {subject}?", value) if is_fact else None


def _passive(text: str, place: Place) -> Asked | None:
    match = re.fullmatch(
        r"(?P<s>.+?) (?P<aux>is|are|was|were|has been|have been|(?:must|MUST|should|SHOULD) be) "
        rf"{ADVERB}(?P<done>\w+) (?P<prep>to|by|with|in|on|from|as|at|under) (?P<v>.+)",
        text, re.S)
    if not match or not is_participle(match["done"]) or not _is_answer(match["v"]):
        return None
    subject, value, prep = _subject(match["s"], place), match["v"], match["prep"]
    change = re.fullmatch(r"(?P<old>\S+) to (?P<new>\S+)", value) if prep == "from" else None
    is_double = not change and _SECOND.search(_head(value))
    is_elsewhere = is_double or re.match(r"\w+ing\b|top of ", value) or (
        _ELSEWHERE.search(value) or re.search(r" (?:in|on|at|since|before|after|until) \d", value))
    if not subject or is_elsewhere:
        return None
    first, _, second = match["aux"].lower().partition(" ")
    verb = f"{second} {match['done']}".strip()
    if change:
        return Asked(f"to what {first} {subject} {verb} from {change['old']}?", change["new"])
    if prep == "to" and match["done"] not in _TO:
        return None
    if prep in ("in", "on") and re.fullmatch(rf"(?:19|20)\d\d|{DATE}", value):
        return Asked(f"when {first} {subject} {verb}?", value)
    if prep == "in" and re.fullmatch(VERSION, value):
        return Asked(f"in which version {first} {subject} {verb}?", value)
    if not _is_telling(value) or prep in ("as", "with") or is_guessed(value, match["s"]):
        return None
    if prep in ("in", "on", "under", "at"):
        if match["done"] not in _PLACED:
            return None
        return Asked(f"where {first} {subject} {verb}?", f"{prep} {value}")
    return Asked(f"{prep} what {first} {subject} {verb}?", value)


# Ask about "X returns Y" and "X defaults to Y" for the object
def _object(text: str, place: Place) -> Asked | None:
    for match in re.finditer(rf"(?= {ADVERB}(?P<verb>[a-z]+) (?P<v>.+))", text, re.S):
        base, value = BASE.get(match["verb"]), match["v"]
        first = value.split(" ", 1)[0]
        is_noun = match["verb"] in NOUN_LIKE and (first in BASE or re.match(
            r"(?:of|in|on|for|to|with|and|or|is|are|has|can|must) ", value))
        if not base or base in BROAD or is_noun:
            continue
        prep = next((prep for prep, verbs in _PREPOSITION.items()
                     if value.startswith(f"{prep} ") and base in verbs.split()), "")
        before, value = text[:match.start()], value[len(prep):].strip()
        subject = _subject(before, place)
        is_agreed = (match["verb"] in FORMS) != is_plural(before)
        # "the caches target lists": a noun before, or the verb
        is_open = match["verb"] in BASE.values() and third_person(base) in NOUN_LIKE and (
            " " not in value)
        if not subject or not is_agreed or is_open or subject in place.name or not (
                _is_answer(value) and _is_telling(value)) or is_guessed(value, before):
            continue
        helper = "does" if match["verb"] in FORMS else "do"
        return Asked(f"what {helper} {subject} {base}{' ' + prep if prep else ''}?", value)
    return None
