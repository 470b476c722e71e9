"""Patterns of plain factual English sentences, each from a sentence to a question and its answer (paper, 3.1)."""

import re
from typing import NamedTuple

from lib.annotate.rules.phrases import ADVERB, AMOUNT, DATE, FIXED, is_attribute, matched, subject_in, value_in
from lib.annotate.rules.verbs import BASE, NEEDS_PREPOSITION, NOUN_LIKE, is_participle
from lib.core.text import as_label, is_plural
from lib.documents.subject import Scope


class Asked(NamedTuple):
    """A question in lower case without its place, and the answer; `is_whole` where it names its subject itself."""

    core: str
    answer: str
    is_whole: bool = False


_TO = frozenset(("set", "renamed", "changed", "moved", "limited", "connected", "updated", "mapped", "ported", "reduced",
                 "increased", "restricted", "assigned", "tied", "bound", "attached", "wired", "routed", "soldered",
                 "sent", "written"))
_BROAD = frozenset(("have", "use", "offer", "provide", "include", "contain", "implement", "feature", "allow", "support",
                    "take", "need", "define", "show"))  # true of a whole product in many ways
_RELATION = (r"(?:equal to|equivalent to|compatible with|available (?:in|on|from|as|for|via)|responsible for|"
             r"capable of|"
             r"suitable for|limited to|part of|similar to|identical to|independent of|shorthand for|short for|"
             r"relative to)")
_DURATION = (r"(?:(?:around|about|approximately|up to|at least|roughly|less than) )?\d[\d.,-]*\s?"
             r"(?:[mnuµ]?s|seconds?|minutes?|hours?|days?|weeks?)")


def attribute_of(said: str, entity: str) -> Asked | None:
    """An attribute of `entity`, which the sentence names; asked alike whatever its wording."""
    e = re.escape(entity)
    found = next((match for pattern in (
        rf"The (?P<a>.+?) of {e} (?:is|are) (?P<v>.+)",
        rf"{e} (?:has|have) (?:an? |the )?(?P<a>.+?) of (?P<v>.+)",
        rf"(?:On|In|For|With) {e}, the (?P<a>.+?) (?:is|are) (?P<v>.+)",
        rf"{e} uses (?P<v>.+) as its (?P<a>.+)",
        rf"{e}(?:'s|’s|') (?P<a>.+?) (?:is|are) (?P<v>(?:an?|the|\d|\"|[A-Z/]).+)",
        rf"(?P<v>.+?) (?:is|are) the (?P<a>.+) of {e}") if (match := re.fullmatch(pattern, said, re.S))), None)
    if not found or not is_attribute(found["a"]):
        return None
    value, label = value_in(found["v"]), as_label(found["a"])
    return Asked(f"what {'are' if is_plural(label) else 'is'} the {label} of {entity}?", value, True) if value else None


def _with_tail(said: str, scope: Scope) -> Asked | None:
    """"By default, …", "On Linux, …": the clause is asked about, its condition kept at the question's end."""
    match = re.fullmatch(r"(?P<tail>By default|(?:In|On|For|With|At|Since|As of|"
                         r"Under) [^,;:()]+), (?P<clause>.+)", said, re.S)
    if not match:
        return None
    tail = match["tail"]
    is_told = tail == "By default" or subject_in(tail.split(" ", 1)[1].replace("of ", "", 1), scope)
    if not is_told or len(tail.split()) > 7:
        return None
    clause = match["clause"][:1].upper() + match["clause"][1:]
    found = next((found for pattern in _CLAUSES if (found := pattern(clause, scope))), None)
    return Asked(f"{found.core[:-1]} {tail[:1].lower()}{tail[1:]}?", found.answer) if found else None


def _count(said: str, scope: Scope) -> Asked | None:
    """"There are two X in Y": asked for the number."""
    match = re.fullmatch(rf"There (?P<be>are|is) (?:{ADVERB} )?(?P<v>{AMOUNT}) (?P<what>[\w '\"/-]+)", said, re.S)
    if not match or not is_attribute(match["what"]) or not is_plural(match["what"]):
        return None
    return Asked(f"how many {match['what']} {match['be']} there?", match["v"])


def _state(said: str, scope: Scope) -> Asked | None:
    """"X is disabled by default": asked for its state."""
    found = matched(r"(?P<s>.+?) (?:is|are) (?P<v>enabled|disabled|on|off|active|inactive) by default", said, scope)
    return Asked(f"what is the default state of {found[1]}?", found[2]) if found else None


def _duration(said: str, scope: Scope) -> Asked | None:
    """"X takes 15 s to start": asked how long."""
    found = matched(rf"(?P<s>.+?) (?P<modal>(?:will |can |may )?)(?:{ADVERB} )?(?P<verb>takes?) (?P<v>{_DURATION}) to "
                    r"(?P<rest>[\w '-]+)", said, scope)
    if not found or not is_attribute(found[0]["rest"]):
        return None
    helper = found[0]["modal"].strip() or ("do" if found[0]["verb"] == "take" else "does")
    return Asked(f"how long {helper} {found[1]} take to {found[0]['rest']}?", found[2])


def _copula(said: str, scope: Scope) -> Asked | None:
    """"The default port of X is 80", "X is a Y": a number, a name, a quoted value or a definition."""
    found = matched(rf"(?P<s>.+?) (?P<be>is|are|must be|should be) (?:{ADVERB} )?(?P<v>.+)", said, scope)
    if not found or re.search(r"\bthe only\b", said):
        return None
    match, subject, value = found
    modal, _, be = match["be"].rpartition(" ")
    if re.match(r"(?:an?|the|one of the) \w", value):
        holds = match["s"][:2] not in ("A ", "An") and len(value.split()) > 2
    else:
        holds = FIXED.match(value) and (match["s"].startswith("The ") or re.match(r"\W{0,2}\d", value))
    asked = f"what {modal} {subject} be?" if modal else f"what {be} {subject}?"
    return Asked(asked, value) if holds else None


def _relation(said: str, scope: Scope) -> Asked | None:
    """"X is compatible with Y"."""
    found = matched(rf"(?P<s>.+?) (?P<be>is|are) (?:{ADVERB} )?(?P<how>{_RELATION}) (?P<v>.+)", said, scope)
    return Asked(f"what {found[0]['be']} {found[1]} {found[0]['how']}?", found[2]) if found else None


def _how(said: str, scope: Scope) -> Asked | None:
    """"X can be enabled by adding Y": asked for the way."""
    found = matched(r"(?P<s>.+?) (?P<modal>can|may|must|should) (?:also )?be (?P<done>\w+) "
                    r"(?P<v>(?:by|via|using|with|through) .+)", said, scope)
    if not found or not is_participle(found[0]["done"]):
        return None
    return Asked(f"how {found[0]['modal']} {found[1]} be {found[0]['done']}?", found[2])


def _purpose(said: str, scope: Scope) -> Asked | None:
    """"X is used to do Y", "X can be used to do Y": asked for the purpose."""
    found = matched(r"(?P<s>.+?) (?P<aux>is|are|can be|may be) (?:also )?(?P<done>used|intended|designed|required|"
                    r"needed) to (?P<v>.+)", said, scope)
    if not found:
        return None
    first, _, be = found[0]["aux"].partition(" ")
    return Asked(f"what {first} {found[1]} {be + ' ' if be else ''}{found[0]['done']} to do?", found[2])


def _occasion(said: str, scope: Scope) -> Asked | None:
    """"X occurs when Y"."""
    found = matched(r"(?P<s>.+?) (?P<verb>occur|happen)s when (?P<v>.+)", said, scope)
    return Asked(f"when does {found[1]} {found[0]['verb']}?", f"when {found[2]}") if found else None


def _passive(said: str, scope: Scope) -> Asked | None:
    """"X is stored in Y", "X has been renamed to Y"; a version is asked for as such."""
    found = matched(rf"(?P<s>.+?) (?P<aux>is|are|was|were|has been|have been|must be|should be|will be|"
                    rf"can be) (?:{ADVERB} )?(?P<done>\w+) "
                    r"(?P<prep>to|by|with|in|on top of|on|from|as|for|via|through|at|into|"
                    r"under) (?P<v>.+)", said, scope)
    if not found or not is_participle(found[0]["done"]) or re.match(r"\w+ing\b", found[2]):
        return None
    match, subject, value = found
    first, _, second = match["aux"].partition(" ")
    verb, prep = f"{second} {match['done']}".strip(), match["prep"]
    change = re.fullmatch(r"(?P<old>\S+) to (?P<new>\S+)", value) if prep == "from" else None
    if change:
        return Asked(f"to what {first} {subject} {verb} from {change['old']}?", change["new"])
    if prep == "to" and match["done"] not in _TO or re.search(r"\bto\b", value) and prep in ("by", "from"):
        return None
    if prep in ("in", "on") and re.fullmatch(rf"(?:19|20)\d\d|{DATE}", value):
        return Asked(f"when {first} {subject} {verb}?", value)
    if prep == "in" and re.fullmatch(r"(?:version |release )?v?\d+(?:\.\d+)+\S*|[A-Z]\w+ v?\d+(?:\.\d+)+", value):
        return Asked(f"in which version {first} {subject} {verb}?", value)
    return Asked(f"what {first} {subject} {verb} {prep}?", value)


def _verb(said: str, scope: Scope) -> Asked | None:
    """"X supports Y", "X means that Y": asked with "does" and the verb's base form, or for the number."""
    said = re.sub(r"\b(indicates?|means?|ensures?|shows?) that ", r"\1 ", said, count=1)
    found = matched(rf"(?P<s>.+?) (?:(?P<modal>can|will|must|should|may) )?(?:{ADVERB} |"
                    rf"only (?=\w+ \d))?(?P<verb>{'|'.join(BASE)}) "
                    r"(?P<prep>(?:on|of|to|in|at|with|for|from|as) )?(?P<v>.+)", said, scope)
    if not found or re.match(r"(?:only|also|both|either|been)\b|\w+(?:ing|ly)\b", found[2]):
        return None
    match, subject, value = found
    base, prep = BASE[match["verb"]], (match["prep"] or "").strip()
    is_base = match["verb"] == base
    if is_base and not match["modal"] and not is_plural(match["s"]) or base in NEEDS_PREPOSITION and not prep:
        return None
    if base in NOUN_LIKE and not match["modal"] and not re.match(r"(?:The|An?) |\S+$", match["s"]):
        return None
    number = re.fullmatch(rf"(?P<n>{AMOUNT}) (?P<what>[a-zA-Z][\w '-]*s)(?P<rest> (?:for|in|on|of|per|with|"
                          rf"to) .+)?", value)
    is_count = number and not prep and is_plural(number["what"])
    if base == "have" and not is_count or base == "need" and prep == "to":
        return None  # what a thing has is many things, and "has to" is no possession
    if base in _BROAD and not is_count and subject in (scope.product, scope.subject, f"the {scope.product}"):
        return None
    helper = match["modal"] or ("do" if is_base else "does")
    if is_count:
        return Asked(f"how many {number['what']}{number['rest'] or ''} {helper} {subject} {base}?", number["n"])
    return Asked(f"what {helper} {subject} {base}{' ' + prep if prep else ''}?", value)


_CLAUSES = (_count, _state, _duration, _copula, _relation, _how, _purpose, _occasion, _passive, _verb)
PATTERNS = (_with_tail, *_CLAUSES)
