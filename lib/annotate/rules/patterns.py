"""Patterns that ask one simple clause for its fact (paper, 3.1); each takes the whole clause.

A clause is never cut: if a word of it is neither in the question nor in the answer, a condition
may be lost. Its subject and its answer must be noun phrases (lib.annotate.rules.grammar).
"""

import re
from typing import NamedTuple

from lib.annotate.rules.grammar import (
    AMOUNT,
    DATE,
    is_complement,
    is_noun_phrase,
    is_rest,
    is_specific,
)
from lib.annotate.rules.places import Place
from lib.annotate.rules.verbs import BASE, is_participle
from lib.core.text import as_label, is_plural

MAX_ANSWER_WORDS = 14

_ADVERB = r"(?:(?:now|also|currently|typically|usually|generally|always|normally|automatically) )?"
# a number, a quoted value, a path or a name
_FIXED = re.compile(r"[~<>=±+-]{0,2}\s?\d|[`\"“<\[/{$~]|[A-Z][\w.-]*|\w+_\w+|\w+\.\w|"
                    r"(?:true|false|enabled|disabled|null|none|empty)\Z")
_DURATION = (r"(?:(?:about|around|approximately|roughly|up to|at least|at most|less than|over) )*"
             r"(?:\d[\d.,]*|one|two|three|four|five|ten)\s?"
             r"(?:µs|us|ms|s|seconds?|minutes?|hours?|days?|weeks?|months?|years?)")
_VERSION = re.compile(r"(?:version |release )?v?\d+(?:\.\d+)+[\w.-]*")
# verbs whose object is one fact; what a thing "supports", "uses" or "contains" is often several
_MUST = "implement include contain provide set have define use accept support handle ignore"
_NARROW = {"": "return represent indicate mean measure denote specify describe emit replace "
               "determine control identify expect trigger draw weigh withstand",
           "to": "default refer correspond apply resolve belong", "of": "consist",
           "on": "depend listen run rely", "from": "inherit", "with": "start begin end",
           "for": "stand"}
_TO = ("renamed moved changed reduced increased raised lowered limited restricted set mapped bound "
       "connected attached sent written added converted translated forwarded exported")


_ELSEWHERE = re.compile(r"\b(?:documents?|documentation|docs|website|guides?|pages?|sections?|"
                        r"chapter|repository|examples?|tutorials?)\b", re.I)
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
    clause = match["clause"][:1].upper() + match["clause"][1:] if match else text
    found = next((found for pattern in _PATTERNS if (found := pattern(clause, place))), None)
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


def _subject(phrase: str, place: Place) -> str:
    """Return `phrase` as the subject of a question, "" if it cannot be one."""
    if phrase in (place.name, place.subject.product):
        return phrase
    is_subject = len(phrase.split()) <= 10 and is_noun_phrase(phrase) and is_specific(
        phrase, place.subject.words)
    return lowered(phrase, place) if is_subject else ""


def _is_answer(phrase: str) -> bool:
    return 0 < len(phrase.split()) <= MAX_ANSWER_WORDS and is_complement(phrase)


def _state(text: str, place: Place) -> Asked | None:
    """Ask about "X is disabled by default"."""
    match = re.fullmatch(r"(?P<s>.+?) (?:is|are) (?P<v>enabled|disabled|on|off|active|inactive) "
                         r"by default", text, re.S)
    subject = _subject(match["s"], place) if match else ""
    return Asked(f"what is the default state of {subject}?", match["v"]) if subject else None


def _related(text: str, place: Place) -> Asked | None:
    """Ask about "X is limited to 5", "X is compatible with Y"."""
    match = re.fullmatch(
        r"(?P<s>.+?) (?P<be>is|are) (?P<how>limited|restricted|compatible|equivalent|responsible) "
        r"(?P<prep>to|with|for) (?P<v>.+)", text, re.S)
    subject = _subject(match["s"], place) if match and _is_answer(match["v"]) else ""
    core = f"what {match['be']} {subject} {match['how']} {match['prep']}?" if subject else ""
    return Asked(core, match["v"]) if core else None


def _how(text: str, place: Place) -> Asked | None:
    """Ask about "X can be enabled by adding Y"."""
    match = re.fullmatch(
        r"(?P<s>.+?) (?P<modal>can|may|must|should) be (?P<done>\w+) "
        r"(?P<v>(?:by|via|using|through) (?:\w+ing )?(?P<what>.+))", text, re.S)
    if not match or not is_participle(match["done"]) or not _is_answer(match["what"]):
        return None
    subject = _subject(match["s"], place)
    core = f"how {match['modal']} {subject} be {match['done']}?"
    return Asked(core, match["v"]) if subject else None


def _count(text: str, place: Place) -> Asked | None:
    """Ask about "X has two Y" and "There are two X in Y" for the number."""
    match = re.fullmatch(rf"There (?P<verb>are) {_ADVERB}(?P<n>{AMOUNT}) (?P<what>.+)", text)
    match = match or re.fullmatch(
        rf"(?P<s>.+?) (?P<verb>has|have|holds?|supports?|contains?|provides?|includes?|requires?|"
        rf"needs?|draws?|stores?|weighs?) {_ADVERB}(?P<n>{AMOUNT}) (?P<what>.+)", text, re.S)
    if not match or not is_noun_phrase(match["what"]) or not is_plural(match["what"]):
        return None
    if match["verb"] == "are":
        return Asked(f"how many {match['what']} are there?", match["n"])
    subject = _subject(match["s"], place)
    helper = "do" if match["verb"] == BASE[match["verb"]] else "does"
    core = f"how many {match['what']} {helper} {subject} {BASE[match['verb']]}?"
    return Asked(core, match["n"]) if subject else None


def _copula(text: str, place: Place) -> Asked | None:
    """Ask about "The default port of X is 80" and "X is a Y": a fixed value or a definition."""
    match = re.fullmatch(rf"(?P<s>.+?) (?P<be>is|are) {_ADVERB}(?P<v>.+)", text, re.S)
    if not match or not _is_answer(match["v"]) or re.search(r"\bthe only\b", text):
        return None
    subject, value = _subject(match["s"], place), match["v"]
    is_label = re.match(r"The (?:default|maximum|minimum) \w", match["s"]) is not None
    if is_label and _FIXED.match(value):
        is_long = is_noun_phrase(match["s"]) and len(match["s"].split()) > 2
        subject = subject or (lowered(match["s"], place) if is_long else "")
    if not subject:
        return None
    if re.match(r"(?:an?|the) \w", value):
        # a definition is asked where the section or the document is about the thing defined
        name = re.sub(r"^(?:The|An?) ", "", match["s"]).lower()
        is_about = name in f"{place.section} {place.name}".lower()
        is_fact = is_about and len(value.split()) > 3 and name not in value.lower()
    else:
        is_fact = _FIXED.match(value) and match["s"].startswith("The ")
    return Asked(f"what {match['be']} {subject}?", value) if is_fact else None


def _passive(text: str, place: Place) -> Asked | None:
    """Ask about "X is stored in Y", "X has been renamed to Y"; for dates and versions, "when"."""
    match = re.fullmatch(
        r"(?P<s>.+?) (?P<aux>is|are|was|were|has been|have been|must be|MUST be) "
        rf"{_ADVERB}(?P<done>\w+) (?P<prep>to|by|with|in|on|from|as|at|under) (?P<v>.+)",
        text, re.S)
    if not match or not is_participle(match["done"]) or not _is_answer(match["v"]):
        return None
    subject, value, prep = _subject(match["s"], place), match["v"], match["prep"]
    is_elsewhere = re.match(r"\w+ing\b|top of ", value) or prep == "by" and " to " in value or (
        _ELSEWHERE.search(value))
    if not subject or is_elsewhere:
        return None
    first, _, second = match["aux"].lower().partition(" ")
    verb = f"{second} {match['done']}".strip()
    change = re.fullmatch(r"(?P<old>\S+) to (?P<new>\S+)", value) if prep == "from" else None
    if change:
        return Asked(f"to what {first} {subject} {verb} from {change['old']}?", change["new"])
    if prep == "to" and match["done"] not in _TO.split():
        return None
    if prep in ("in", "on") and re.fullmatch(rf"(?:19|20)\d\d|{DATE}", value):
        return Asked(f"when {first} {subject} {verb}?", value)
    if prep == "in" and _VERSION.fullmatch(value):
        return Asked(f"in which version {first} {subject} {verb}?", value)
    return Asked(f"what {first} {subject} {verb} {prep}?", value)


def _narrow(text: str, place: Place) -> Asked | None:
    """Ask about "X returns Y", "X defaults to Y", "X must specify Y"."""
    has_must = re.search(r" (?:must|MUST) ", text) is not None
    for prep, verbs in _NARROW.items():
        verbs += f" {_MUST}" if has_must and not prep else ""
        forms = "|".join(form for form, base in BASE.items() if base in verbs.split())
        match = re.fullmatch(rf"(?P<s>.+?) (?P<modal>(?:must|MUST|will) )?{_ADVERB}"
                             rf"(?P<verb>{forms}) {prep + ' ' if prep else ''}(?P<v>.+)",
                             text, re.S)
        subject = _subject(match["s"], place) if match and _is_answer(match["v"]) else ""
        if not subject:
            continue
        base, modal = BASE[match["verb"]], (match["modal"] or "").strip().lower()
        is_base = match["verb"] == base
        if is_base and not modal and not is_plural(match["s"]) or not is_base and modal:
            return None
        helper = modal or ("do" if is_base else "does")
        return Asked(f"what {helper} {subject} {base}{' ' + prep if prep else ''}?", match["v"])
    return None


def _rest(text: str, place: Place) -> Asked | None:
    """Ask about "X occurs when …", "X means that …", "X is used to …": the whole rest answers."""
    for pattern, core, answer in (
            (r"(?P<s>.+?) (?P<verb>occur)s when (?P<v>.+)", "when does {s} occur?", "when "),
            (r"(?P<s>.+?) (?P<verb>mean|indicate)s that (?P<v>.+)", "what does {s} {verb}?", ""),
            (r"(?P<s>.+?) (?P<verb>is|are|can be) (?:mainly |also )?used to (?P<v>[a-z]+ .+)",
             "what {verb} {s} used to do?", "")):
        match = re.fullmatch(pattern, text, re.S)
        subject = _subject(match["s"], place) if match else ""
        if subject and is_rest(match["v"]) and len(match["v"].split()) <= MAX_ANSWER_WORDS:
            first, _, second = match["verb"].partition(" ")
            core = core.replace("{verb} {s}", "{verb} {s} {second}") if second else core
            return Asked(core.format(s=subject, verb=first, second=second), answer + match["v"])
    return None


def _duration(text: str, place: Place) -> Asked | None:
    """Ask about "X takes 15 s to start" for the time."""
    match = re.fullmatch(rf"(?P<s>.+?) (?P<verb>takes?) (?P<v>{_DURATION}) to (?P<rest>[\w '-]+)",
                         text, re.S)
    subject = _subject(match["s"], place) if match else ""
    if not subject:
        return None
    helper = "do" if match["verb"] == "take" else "does"
    return Asked(f"how long {helper} {subject} take to {match['rest']}?", match["v"])


_PATTERNS = (_count, _state, _related, _duration, _how, _rest, _copula, _passive, _narrow)
