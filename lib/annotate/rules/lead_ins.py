"""Turn the lead-in or heading of a list into a question that names its subject (paper, 3.1)."""

import re

from lib.annotate.rules.tables import is_noun
from lib.annotate.rules.verbs import BASE, is_participle
from lib.core.text import is_plural
from lib.documents.subject import Subject

MAX_LEAD_WORDS = 25  # longer ones are prose, and costly to match

_AMOUNT = (r"(?:the following|following|several|many|some|other|various|a few|a number of|the|"
           r"these|multiple|numerous|certain)")
_NUMBER = r"(?:two|three|four|five|six|seven|eight|nine|ten|\d+)"
_IN_RELEASE = re.compile(
    r",?\s*\b(?:in|of|for|to|with) this (?:release|version|update)\b", re.I)
_TAIL = re.compile(
    r"(?:,?\s+(?:are|is) (?:listed|shown|given|described|as follows)(?: below)?|\s+below|"
    r"\s+(?:the )?following|\s+as follows|\s*\((?:in )?alphabetical(?: order)?\))$", re.I)
_WHERE = re.compile(
    r"(?P<where>where|when) (?P<who>[\w .-]+?) (?P<be>is|are) (?P<how>\w+)", re.I)
_PASSIVE = re.compile(
    rf"(?:{_AMOUNT} )?(?P<what>(?:{_NUMBER} )?[\w ./'\"-]+?) (?P<be>are|were|have been) "
    r"(?:(?:currently|now|also) )?(?P<done>\w+)(?P<rest>(?: [\w'\"./-]+){0,8})", re.I)
_SHORT_PASSIVE = re.compile(
    rf"(?:{_AMOUNT} )?(?P<what>(?:(?:new|additional|more) )?[\w/'\" -]+?s) (?P<done>\w+)", re.I)
_NEEDED = re.compile(r"you (?:will )?(?:also )?need the following (?P<what>[\w '-]+)", re.I)
_THERE = re.compile(
    rf"there are (?:currently |also )?(?:{_AMOUNT} )?(?P<what>(?:{_NUMBER} )?[\w '\"-]+)", re.I)
_FOLLOWING = re.compile(
    rf"(?P<who>[\w .'\"/-]+?) (?:(?:currently|now|also) )?(?P<verb>{'|'.join(BASE)}) "
    rf"(?:the following (?={_NUMBER})|the following |several |these |(?={_NUMBER} ))"
    r"(?P<what>[\w '\"-]+)", re.I)
_BARE_VERB = re.compile(
    rf"(?!{_AMOUNT} )(?P<who>[\w .'\"/-]+?) (?P<verb>accepts|contains|has|includes|needs|offers|"
    r"provides|requires|supports|uses)", re.I)
_COPULA = re.compile(
    rf"(?:{_AMOUNT} )?(?P<what>[\w /'\"-]+?) (?:are|include|includes)", re.I)
_VERBAL = re.compile(
    r"\b(?:is|are|was|were|be|has|have|had|can|could|may|might|must|should|will|would|do|does|did|"
    r"if|when|that|which|make|sure|use|run|see|note|example|follow)\b", re.I)
_REFERS_BACK = re.compile(
    r"(?:this|these|it|they|he|we|you|there|if|to|for|in|on|at|by|as|after|before|when|and|or|but|"
    r"then)\b", re.I)
_CHANGE = {"added": "What was added", "changed": "What was changed",
           "deprecated": "What was deprecated", "removed": "What was removed",
           "fixed": "What was fixed", "new features": "Which features are new",
           "bug fixes": "Which bugs were fixed",
           "breaking changes": "Which breaking changes were made",
           "known issues": "Which issues are known",
           "improvements": "Which improvements were made"}


def asked_by_lead_in(lead: str, about: Subject) -> tuple[str, str] | None:
    """Return the question that a lead-in ("Supported platforms:") asks of its list.

    The second form names its section. None if no pattern fits.
    """
    text = lead.strip().rstrip(":").strip()
    is_of_other = _IN_RELEASE.search(text) is not None and not about.is_version
    if len(text.split()) > MAX_LEAD_WORDS or is_of_other:
        return None
    text = re.sub(r" (?:described|listed|shown) (?:here|below)\b", "", _IN_RELEASE.sub("", text))
    text = _TAIL.sub("", text).strip(" ,")
    core = _of_passive(text, about) or _of_verb(text, about)
    if match := _WHERE.fullmatch(text):
        who = about.inside(match["who"])
        core = f"{match['where'].lower()} {match['be']} {who} {match['how']}?"
    return about.within(core) if core else _of_noun(text, about)


def asked_by_heading(heading: str, about: Subject) -> tuple[str, str] | None:
    """Return the question for a heading right above a list; in a release, about its changes."""
    heading = heading.strip().rstrip(":")
    if not heading:
        return None
    if about.is_version:
        change = f'Which "{heading}" changes were made'
        if not about.topic:
            change = "What are the changes"
        elif heading.lower() in _CHANGE:
            change = _CHANGE[heading.lower()]
        return (f"{change} in {about.name}?",) * 2
    label = about.label(heading)
    is_label = is_plural(label) and is_noun(label) and not _VERBAL.search(label)
    return _asked_for(label, about) if len(heading.split()) <= 6 and is_label else None


def _asked_for(label: str, about: Subject) -> tuple[str, str]:
    if about.is_version:
        return (f"What are the {label} in {about.name}?",) * 2
    return about.attribute(label, "are")


def _of_passive(text: str, about: Subject) -> str:
    """Ask about "The following boards are supported", "Several sensors added"."""
    match = _PASSIVE.fullmatch(text)
    if match and is_participle(match["done"]) and _is_subject(match["what"]):
        what = about.label(match["what"])
        return f"which {what} {match['be'].lower()} {match['done']}{match['rest']}?"
    match = _SHORT_PASSIVE.fullmatch(text)
    if (match and is_participle(match["done"]) and _is_subject(match["what"])
            and is_plural(match["what"])):
        place = f" in {about.name}" if about.is_version else ""
        return f"which {about.label(match['what'])} were {match['done'].lower()}{place}?"
    return ""


def _of_verb(text: str, about: Subject) -> str:
    """Ask about "X supports the following boards", "X supports", "There are two versions"."""
    for pattern, core in ((_NEEDED, "which {} are needed?"), (_THERE, "what are the {}?")):
        match = pattern.fullmatch(text)
        if match and is_plural(match["what"]):
            return core.format(match["what"])
    for pattern in (_FOLLOWING, _BARE_VERB):
        match = pattern.fullmatch(text)
        if not match or not _is_subject(match["who"]):
            continue
        who, verb = about.inside(match["who"]), match["verb"].lower()
        helper = "do" if verb == BASE[verb] else "does"
        if pattern is _BARE_VERB:
            return f"what does {who} {BASE[verb]}?"
        if is_plural(match["what"]):
            return f"which {match['what']} {helper} {who} {BASE[verb]}?"
    return ""


def _of_noun(text: str, about: Subject) -> tuple[str, str] | None:
    """Ask about "Supported platforms", "Supported platforms include", "Major changes"."""
    match = _COPULA.fullmatch(text)
    what = re.sub(rf"^{_AMOUNT} ", "", match["what"] if match else text, flags=re.I)
    label = about.label(what)
    is_label = is_plural(label) and is_noun(label) and _is_subject(label) and "," not in label
    return _asked_for(label, about) if len(label.split()) <= 7 and is_label else None


def _is_subject(phrase: str) -> bool:
    return not _VERBAL.search(phrase) and not _REFERS_BACK.match(phrase)
