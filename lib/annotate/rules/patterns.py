"""Patterns of plain factual English sentences, each giving a question and its answer (3.1)."""

import re
from collections.abc import Callable
from typing import NamedTuple

from lib.annotate.rules.phrases import (
    ADVERB,
    AMOUNT,
    DATE,
    FIXED,
    is_attribute,
    matched,
    subject_in,
    value_in,
)
from lib.annotate.rules.verbs import BASE, NEEDS_PREPOSITION, NOUN_LIKE, is_participle
from lib.core.text import as_label, is_plural
from lib.documents.subject import Subject


class Asked(NamedTuple):
    """A question in lower case, without its place, and its answer."""

    core: str
    answer: str
    is_complete: bool = False  # it names its subject itself


_TO = """
set renamed changed moved limited connected updated mapped ported reduced increased restricted
assigned tied bound attached wired routed soldered sent written"""
_BROAD = """
have use offer provide include contain implement feature allow support take need define
show"""  # true of a product in many ways
_RELATION = (
    r"(?:equal to|equivalent to|compatible with|available (?:in|on|from|as|for|via)|"
    r"responsible for|capable of|suitable for|limited to|part of|similar to|identical to|"
    r"independent of|shorthand for|short for|relative to)")
_DURATION = (
    r"(?:(?:around|about|approximately|up to|at least|roughly|less than) )?\d[\d.,-]*\s?"
    r"(?:[mnuµ]?s|seconds?|minutes?|hours?|days?|weeks?)")
_VERSION = re.compile(
    r"(?:version |release )?v?\d+(?:\.\d+)+\S*|[A-Z]\w+ v?\d+(?:\.\d+)+")


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
    if not found or not is_attribute(found["a"]):
        return None
    value, label = value_in(found["v"]), as_label(found["a"])
    core = f"what {'are' if is_plural(label) else 'is'} the {label} of {entity}?"
    return Asked(core, value, True) if value else None


def _with_tail(text: str, about: Subject) -> Asked | None:
    """Ask about the clause of "By default, …", "On Linux, …"; the condition ends the question."""
    match = re.fullmatch(
        r"(?P<tail>By default|(?:In|On|For|With|At|Since|As of|Under) [^,;:()]+), (?P<clause>.+)",
        text, re.S)
    if not match:
        return None
    tail = match["tail"]
    is_named = tail == "By default" or subject_in(
        tail.split(" ", 1)[1].replace("of ", "", 1), about)
    if not is_named or len(tail.split()) > 7:
        return None
    clause = match["clause"][:1].upper() + match["clause"][1:]
    found = next((found for pattern in _CLAUSES if (found := pattern(clause, about))), None)
    if not found:
        return None
    return Asked(f"{found.core[:-1]} {tail[:1].lower()}{tail[1:]}?", found.answer)


def _count(text: str, about: Subject) -> Asked | None:
    """Ask about "There are two X in Y" for the number."""
    match = re.fullmatch(
        rf"There (?P<be>are|is) (?:{ADVERB} )?(?P<v>{AMOUNT}) (?P<what>[\w '\"/-]+)", text, re.S)
    if not match or not is_attribute(match["what"]) or not is_plural(match["what"]):
        return None
    return Asked(f"how many {match['what']} {match['be']} there?", match["v"])


def _template(pattern: str, core: str, answer: str = "{v}") -> Callable:
    """Return a pattern whose groups fill the question; a group `done` is a participle."""
    def ask(text: str, about: Subject) -> Asked | None:
        found = matched(pattern, text, about)
        if not found or not is_participle(found[0].groupdict().get("done", "done")):
            return None
        groups = found[0].groupdict() | {"s": found[1], "v": found[2]}
        return Asked(core.format(**groups), answer.format(**groups))

    return ask


_state = _template(  # "X is disabled by default"
    r"(?P<s>.+?) (?:is|are) (?P<v>enabled|disabled|on|off|active|inactive) by default",
    "what is the default state of {s}?")
_relation = _template(  # "X is compatible with Y"
    rf"(?P<s>.+?) (?P<be>is|are) (?:{ADVERB} )?(?P<how>{_RELATION}) (?P<v>.+)",
    "what {be} {s} {how}?")
_how = _template(  # "X can be enabled by adding Y"
    r"(?P<s>.+?) (?P<modal>can|may|must|should) (?:also )?be (?P<done>\w+) "
    r"(?P<v>(?:by|via|using|with|through) .+)", "how {modal} {s} be {done}?")
_occasion = _template(  # "X occurs when Y"
    r"(?P<s>.+?) (?P<verb>occur|happen)s when (?P<v>.+)", "when does {s} {verb}?", "when {v}")


def _duration(text: str, about: Subject) -> Asked | None:
    """Ask about "X takes 15 s to start" for the time."""
    found = matched(rf"(?P<s>.+?) (?P<modal>(?:will |can |may )?)(?:{ADVERB} )?(?P<verb>takes?) "
                    rf"(?P<v>{_DURATION}) to (?P<rest>[\w '-]+)", text, about)
    if not found or not is_attribute(found[0]["rest"]):
        return None
    helper = found[0]["modal"].strip() or ("do" if found[0]["verb"] == "take" else "does")
    return Asked(f"how long {helper} {found[1]} take to {found[0]['rest']}?", found[2])


def _copula(text: str, about: Subject) -> Asked | None:
    """Ask about "The default port of X is 80", "X is a Y": a fixed value or a definition."""
    found = matched(rf"(?P<s>.+?) (?P<be>is|are|must be|should be) (?:{ADVERB} )?(?P<v>.+)",
                    text, about)
    if not found or re.search(r"\bthe only\b", text):
        return None
    match, subject, value = found
    if re.match(r"(?:an?|the|one of the) \w", value):
        is_fact = match["s"][:2] not in ("A ", "An") and len(value.split()) > 2
    else:
        is_definite = match["s"].startswith("The ") or re.match(r"\W{0,2}\d", value)
        is_fact = FIXED.match(value) and is_definite
    modal, _, be = match["be"].rpartition(" ")
    core = f"what {modal} {subject} be?" if modal else f"what {be} {subject}?"
    return Asked(core, value) if is_fact else None


def _purpose(text: str, about: Subject) -> Asked | None:
    """Ask about "X is used to do Y", "X can be used to do Y" for the purpose."""
    found = matched(
        r"(?P<s>.+?) (?P<aux>is|are|can be|may be) (?:also )?"
        r"(?P<done>used|intended|designed|required|needed) to (?P<v>.+)", text, about)
    if not found:
        return None
    first, _, be = found[0]["aux"].partition(" ")
    verb = f"{be} {found[0]['done']}".strip()
    return Asked(f"what {first} {found[1]} {verb} to do?", found[2])


def _passive(text: str, about: Subject) -> Asked | None:
    """Ask about "X is stored in Y", "X has been renamed to Y"; for dates and versions, "when"."""
    found = matched(
        r"(?P<s>.+?) (?P<aux>is|are|was|were|has been|have been|must be|should be|will be|can be) "
        rf"(?:{ADVERB} )?(?P<done>\w+) (?P<prep>to|by|with|in|on top of|on|from|as|for|via|through|"
        r"at|into|under) (?P<v>.+)", text, about)
    if not found or not is_participle(found[0]["done"]) or re.match(r"\w+ing\b", found[2]):
        return None
    match, subject, value = found
    first, _, second = match["aux"].partition(" ")
    verb, prep = f"{second} {match['done']}".strip(), match["prep"]
    change = re.fullmatch(r"(?P<old>\S+) to (?P<new>\S+)", value) if prep == "from" else None
    if change:
        return Asked(f"to what {first} {subject} {verb} from {change['old']}?", change["new"])
    if prep == "to" and match["done"] not in _TO.split():
        return None
    if prep in ("by", "from") and re.search(r"\bto\b", value):
        return None
    if prep in ("in", "on") and re.fullmatch(rf"(?:19|20)\d\d|{DATE}", value):
        return Asked(f"when {first} {subject} {verb}?", value)
    if prep == "in" and _VERSION.fullmatch(value):
        return Asked(f"in which version {first} {subject} {verb}?", value)
    return Asked(f"what {first} {subject} {verb} {prep}?", value)


def _verb(text: str, about: Subject) -> Asked | None:
    """Ask about "X supports Y", "X means that Y" with "does", or with "how many"."""
    text = re.sub(r"\b(indicates?|means?|ensures?|shows?) that ", r"\1 ", text, count=1)
    found = matched(
        rf"(?P<s>.+?) (?:(?P<modal>can|will|must|should|may) )?(?:{ADVERB} |only (?=\w+ \d))?"
        rf"(?P<verb>{'|'.join(BASE)}) (?P<prep>(?:on|of|to|in|at|with|for|from|as) )?(?P<v>.+)",
        text, about)
    if not found or re.match(r"(?:only|also|both|either|been)\b|\w+(?:ing|ly)\b", found[2]):
        return None
    match, subject, value = found
    base, prep, modal = BASE[match["verb"]], (match["prep"] or "").strip(), match["modal"]
    is_base = match["verb"] == base
    if is_base and not modal and not is_plural(match["s"]) or (
            base in NEEDS_PREPOSITION and not prep):
        return None
    if base in NOUN_LIKE and not modal and not re.match(r"(?:The|An?) |\S+$", match["s"]):
        return None
    number = re.fullmatch(rf"(?P<n>{AMOUNT}) (?P<what>[a-zA-Z][\w '-]*s)"
                          r"(?P<rest> (?:for|in|on|of|per|with|to) .+)?", value)
    is_count = number and not prep and is_plural(number["what"])
    if base == "have" and not is_count or base == "need" and prep == "to":
        return None  # a thing has many things, and "has to" is not possession
    is_product = subject in (about.product, about.name, f"the {about.product}")
    if base in _BROAD.split() and not is_count and is_product:
        return None
    helper = modal or ("do" if is_base else "does")
    if is_count:
        what = f"{number['what']}{number['rest'] or ''}"
        return Asked(f"how many {what} {helper} {subject} {base}?", number["n"])
    return Asked(f"what {helper} {subject} {base}{' ' + prep if prep else ''}?", value)


_CLAUSES = (_count, _state, _duration, _copula, _relation, _how, _purpose, _occasion, _passive,
            _verb)
PATTERNS = (_with_tail, *_CLAUSES)
