"""Turn the lead-in or heading of a list into a question that names its subject (paper, 3.1)."""

import re

from lib.annotate.rules.grammar import AUXILIARIES, DEICTIC, VAGUE, is_noun_phrase, is_specific
from lib.annotate.rules.patterns import lowered
from lib.annotate.rules.places import Place
from lib.annotate.rules.verbs import BASE, FORMS, is_participle
from lib.core.text import is_plural

MAX_LEAD_WORDS, MAX_LEAD_CHARACTERS = 25, 250  # longer ones are prose, and costly to match

_SOME = (r"(?:the following|following|several|many|some|various|a few|a number of|multiple|"
         r"numerous)")
_AMOUNT = rf"(?:{_SOME}|the)"
_NUMBER = r"(?:two|three|four|five|six|seven|eight|nine|ten|\d+)"
_IN_RELEASE = re.compile(
    r",?\s*\b(?:in|of|for|to|with) this (?:release|version|update)\b", re.I)
_TAIL = re.compile(
    r"(?:,?\s+(?:are|is) (?:listed|shown|given|described|as follows)(?: below)?|\s+below|"
    r"\s+(?:the )?following|\s+as follows|\s*\((?:in )?alphabetical(?: order)?\))$", re.I)
_SHORT_PASSIVE = re.compile(
    rf"(?:{_AMOUNT} )?(?P<what>(?:(?:new|additional|more) )?[\w/'\" -]+?s) (?P<done>\w+)", re.I)
# "The following boards are supported", "The following plugins have X enabled by default"; what is
# said of "the boards" selects none of them
_DO = re.compile(
    rf"(?:{_SOME} )(?P<what>(?:{_NUMBER} )?[\w ./'\"-]+?) (?P<said>(?:(?:now|also|currently) )?"
    rf"(?:{'|'.join(sorted({*AUXILIARIES, *BASE} - set(FORMS)))}) "
    r"(?!(?:now|also|currently|\w+ly)$).+)", re.I)
# "X is defined in the following files", "X returns 404 in the following situations"
_IN = re.compile(
    rf"(?P<who>.+?) (?P<verb>{'|'.join(sorted({*AUXILIARIES, *BASE}))}) (?P<rest>.+?) "
    rf"(?P<prep>in|for|by|to|on|with|from|under|at) the following (?P<what>(?:{_NUMBER} )?.+)")
_NEEDED = re.compile(r"you (?:will )?(?:also )?need the following (?P<what>[\w '-]+)", re.I)
_THERE = re.compile(
    rf"there are (?:currently |also )?(?:{_AMOUNT} )?(?P<what>(?:{_NUMBER} )?[\w '\"-]+)", re.I)
_FOLLOWING = re.compile(
    rf"(?P<who>[\w .'\"/-]+?) (?P<modal>(?:can|must|MUST|may|will) )?(?:(?:currently|now|also) )?"
    rf"(?P<verb>{'|'.join(BASE)}) (?:the following (?={_NUMBER})|the following |several |"
    rf"(?={_NUMBER} ))(?P<what>[\w '\"-]+)", re.I)
_COPULA = re.compile(rf"(?:{_AMOUNT} )?(?P<what>[\w /'\"-]+?) (?:are|include|includes)"
                     r"(?: currently| now)?", re.I)
# "The following types that X reads …"
_IN_PLACE = re.compile(
    r"The following (?P<what>[\w/'-]+(?: [\w/'-]+){0,4}?)(?= (?:that|which|who|for|of|in|on|at|to|"
    rf"from|with|by|about|when|{'|'.join(sorted(AUXILIARIES | {*FORMS, *BASE}))})\b)")
_ELSEWHERE = re.compile(r"\b(?:this|these|those|such|above|below|also|here|there|it|its|they|their|"
                        r"we|our|you|your|either|examples?|steps?|note|so|then|however|to be)\b|"
                        r"^(?:if|when|to|for|in|on|with|use|see|add|set|run)\b", re.I)
_THIS = re.compile(r"this (?P<kind>[a-z]+)\b", re.I)
_CHANGE = {"added": "What was added", "changed": "What was changed",
           "deprecated": "What was deprecated", "removed": "What was removed",
           "fixed": "What was fixed", "new features": "Which features are new",
           "bug fixes": "Which bugs were fixed",
           "breaking changes": "Which breaking changes were made",
           "known issues": "Which issues are known",
           "improvements": "Which improvements were made"}
# plural headings and lead-ins that do not say what the items are
_NO_CLASS = re.compile(
    r"examples? .*|"
    r"(?:.*\b)?(?:notes|details|examples|basics|links|references|resources|questions|steps|ideas|"
    r"things|following|contents|docs|guidelines|thoughts|alternatives|instructions|topics|points|"
    r"specifics|internals|specifications|goals|non-goals|remarks|tips|reasons|trade-offs|"
    r"particularities|aspects|considerations|concerns|observations)", re.I)


def asked_by_lead_in(lead: str, place: Place) -> tuple[str, ...]:
    """Return the forms of the question that a lead-in ("Supported platforms:") asks of its list.

    () if no pattern fits.
    """
    text = lead.strip().rstrip(":").strip()
    is_of_other = _IN_RELEASE.search(text) is not None and not place.subject.is_version
    if len(text.split()) > MAX_LEAD_WORDS or len(text) > MAX_LEAD_CHARACTERS or is_of_other:
        return ()
    text = re.sub(r" (?:described|listed|shown) (?:here|below)\b", "", _IN_RELEASE.sub("", text))
    text = _TAIL.sub("", text).strip(" ,")
    text = re.sub(rf"^(?:In|For|With) {re.escape(place.name)}, ", "", text)
    this = _THIS.match(text)
    if this and place.is_entity and f" {this['kind'].lower()}" in f" {place.name.lower()}":
        text = place.name[:1].upper() + place.name[1:] + text[this.end():]
    core = _of_passive(text, place) or _of_adverbial(text, place) or _of_verb(text, place)
    if forms := place.within(core)[-1:] if core else _of_noun(text, place):
        return forms
    core = _in_place(text, place)
    return place.within(core)[-1:] if core else ()


def asked_by_heading(heading: str, place: Place) -> tuple[str, ...]:
    """Return the question for a heading right above a list; in a release, about its changes."""
    heading = heading.strip().rstrip(":")
    if not heading:
        return ()
    if place.subject.is_version:
        change = f'Which "{heading}" changes were made'
        if not place.subject.topic:
            change = "What are the changes"
        elif heading.lower() in _CHANGE:
            change = _CHANGE[heading.lower()]
        return (f"{change} in {place.name}?",)
    label = place.subject.label(heading)
    is_named = is_plural(label) and is_noun_phrase(label) and not (
        _NO_CLASS.fullmatch(label) or _is_general(label))
    if not is_named or len(heading.split()) > 6 or place.is_vague:
        return ()
    return place.within(f"what are the {label}?")[-1:] if place.section == heading else (
        place.attribute(label, "are"))


# Ask about "The following boards are supported", "Several sensors added"
def _of_passive(text: str, place: Place) -> str:
    match = _DO.fullmatch(text)
    if match and _is_class(match["what"]):
        return f"which {place.subject.label(match['what'])} {match['said']}?"
    match = _SHORT_PASSIVE.fullmatch(text)
    if match and is_participle(match["done"]) and _is_class(match["what"]):
        version = f" in {place.name}" if place.subject.is_version else ""
        return f"which {place.subject.label(match['what'])} were {match['done'].lower()}{version}?"
    return ""


# Ask about "X is defined in the following files"
def _of_adverbial(text: str, place: Place) -> str:
    match = _IN.fullmatch(text)
    if not match or not is_noun_phrase(match["who"]) or not _is_class(match["what"]) or re.search(
            r"[,;:()]", match["rest"]):
        return ""
    who, verb = lowered(match["who"], place) or match["who"], match["verb"]
    which = f"{match['prep']} which {match['what']}"
    if verb.lower() in AUXILIARIES:
        return f"{which} {verb.lower()} {who} {match['rest']}?"
    helper = "do" if verb == BASE[verb] else "does"
    is_agreed = (helper == "do") == is_plural(match["who"])
    return f"{which} {helper} {who} {BASE[verb]} {match['rest']}?" if is_agreed else ""


# Ask about "X supports the following boards", "There are two versions"
def _of_verb(text: str, place: Place) -> str:
    for pattern, core in ((_NEEDED, "which {} are needed?"), (_THERE, "what are the {}?")):
        match = pattern.fullmatch(text)
        if match and _is_class(match["what"]):
            return core.format(match["what"])
    match = _FOLLOWING.fullmatch(text)
    if not match or not _is_class(match["what"]) or not is_noun_phrase(match["who"]) or not (
            match["who"].lower() == place.name.lower()
            or is_specific(match["who"], place.subject.words)):
        return ""
    who, verb = lowered(match["who"], place) or match["who"], match["verb"].lower()
    modal = (match["modal"] or "").strip().lower()
    if (verb == BASE[verb]) != (bool(modal) or is_plural(who)):
        return ""
    helper = modal or ("do" if verb == BASE[verb] else "does")
    tail = re.search(r" (?:to|from|in|on|for|with) .*|$", match["what"])
    return f"which {match['what'][:tail.start()]} {helper} {who} {BASE[verb]}{tail[0]}?"


# Ask with the words of the lead-in: "The following types that X has exist" -> "Which …?"
def _in_place(text: str, place: Place) -> str:
    match = _IN_PLACE.match(text)
    if not match or _ELSEWHERE.search(text) or not _is_class(match["what"]) or re.search(
            r"[,;:()\"]", text):
        return ""
    after = text[match.end():]
    return f"which {place.subject.label(match['what'])}{after}?" if after else ""


# Ask about "Supported platforms", "Supported platforms include", "Major changes"
def _of_noun(text: str, place: Place) -> tuple[str, ...]:
    match = _COPULA.fullmatch(text)
    what = re.sub(rf"^{_AMOUNT} ", "", match["what"] if match else text, flags=re.I)
    label = place.subject.label(what)
    is_clause = re.search(rf"\S {_NUMBER} \w", label)  # "the gate ships two locks"
    is_named = _is_class(label) and len(label.split()) <= 7 and not (
        place.is_vague or _is_general(label) or is_clause)
    return place.attribute(label, "are") if is_named else ()


def _is_class(phrase: str) -> bool:
    is_counted = re.match(rf"{_NUMBER} \w+$", phrase) is not None
    return is_plural(phrase) and is_noun_phrase(phrase) and not DEICTIC.search(phrase) and (
        is_counted or not _NO_CLASS.fullmatch(phrase))


# Whether a label is one word that says nothing alone: "the options"
def _is_general(label: str) -> bool:
    return re.sub(r"(?<=[^s])s$", "", re.sub(r"ies$", "y", label.lower())) in VAGUE
