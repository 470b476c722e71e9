"""From the lead-in or heading of a list to a question that names its subject (paper, 3.1)."""

import re

from lib.annotate.rules.tables import is_noun
from lib.annotate.rules.verbs import BASE, is_participle
from lib.core.text import is_plural
from lib.documents.subject import Scope

MAX_LEAD_WORDS = 25  # longer ones are prose, and costly to match

_AMOUNT = (r"(?:the following|following|several|many|some|other|various|a few|a number of|the|these|multiple|numerous|"
           r"certain)")
_NUMBER = r"(?:two|three|four|five|six|seven|eight|nine|ten|\d+)"
_IN_RELEASE = re.compile(r",?\s*\b(?:in|of|for|to|with) this (?:release|version|update)\b", re.I)
_TAIL = re.compile(r"(?:,?\s+(?:are|is) (?:listed|shown|given|described|as follows)(?: below)?|\s+below|"
                   r"\s+(?:the )?following|\s+as follows|\s*\((?:in )?alphabetical(?: order)?\))$", re.I)
_PASSIVE = re.compile(rf"(?:{_AMOUNT} )?(?P<what>(?:{_NUMBER} )?[\w ./'\"-]+?) (?P<be>are|were|have been) "
                      r"(?:(?:currently|now|also) )?(?P<done>\w+)(?P<rest>(?: [\w'\"./-]+){0,8})", re.I)
_SHORT_PASSIVE = re.compile(rf"(?:{_AMOUNT} )?(?P<what>(?:(?:new|additional|more) )?[\w/'\" -]+?s) (?P<done>\w+)", re.I)
_FOLLOWING = re.compile(rf"(?P<who>[\w .'\"/-]+?) (?:(?:currently|now|also) )?(?P<verb>{'|'.join(BASE)}) "
                        rf"(?:the following (?={_NUMBER})|the following |several |these |(?={_NUMBER} ))"
                        r"(?P<what>[\w '\"-]+)", re.I)
_NEEDED = re.compile(r"you (?:will )?(?:also )?need the following (?P<what>[\w '-]+)", re.I)
_BARE_VERB = re.compile(rf"(?!{_AMOUNT} )(?P<who>[\w .'\"/-]+?) (?P<verb>accepts|contains|has|includes|needs|offers|"
                        rf"provides|requires|supports|uses)", re.I)
_COPULA = re.compile(rf"(?:{_AMOUNT} )?(?P<what>[\w /'\"-]+?) (?:are|include|includes)", re.I)
_WHERE = re.compile(r"(?P<where>where|when) (?P<who>[\w .-]+?) (?P<be>is|are) (?P<how>\w+)", re.I)
_THERE = re.compile(rf"there are (?:currently |also )?(?:{_AMOUNT} )?(?P<what>(?:{_NUMBER} )?[\w '\"-]+)", re.I)
_VERBAL = re.compile(r"\b(?:is|are|was|were|be|has|have|had|can|could|may|might|must|should|will|would|do|does|did|"
                     r"if|when|that|which|make|sure|use|run|see|note|example|follow)\b", re.I)
_LOOSE_START = re.compile(r"(?:this|these|it|they|he|we|you|there|if|to|for|in|on|at|by|as|after|before|when|and|or|"
                          r"but|then)\b", re.I)
_CHANGE = {"added": "What was added", "changed": "What was changed", "deprecated": "What was deprecated",
           "removed": "What was removed", "fixed": "What was fixed", "new features": "Which features are new",
           "bug fixes": "Which bugs were fixed", "breaking changes": "Which breaking changes were made",
           "known issues": "Which issues are known", "improvements": "Which improvements were made"}


def asked_by_lead_in(lead: str, scope: Scope) -> tuple[str, str] | None:
    """The question that a lead-in ("Supported platforms:") asks of its list, and the same with its section named.

    None where no pattern fits: then nothing is asked.
    """
    said = lead.strip().rstrip(":").strip()
    if len(said.split()) > MAX_LEAD_WORDS:
        return None
    in_release = _IN_RELEASE.search(said) is not None
    if in_release and not scope.is_version:
        return None
    said = re.sub(r" (?:described|listed|shown) (?:here|below)\b", "", _IN_RELEASE.sub("", said))
    said = _TAIL.sub("", said).strip(" ,")
    for pattern in (_of_place, _of_passive, _of_verb, _of_noun):
        core = pattern(said, scope)
        if core:
            return core
    return None


def asked_by_heading(headings: str, scope: Scope) -> tuple[str, str] | None:
    """The question that a heading right above a list asks of it; in a release it asks what changed."""
    heading = headings.strip().rstrip(":")
    if scope.is_version:
        if not heading:
            return None
        change = "What are the changes" if not scope.topic else _CHANGE.get(heading.lower())
        change = change or f'Which "{heading}" changes were made'
        asked = f"{change} in {scope.subject}?"
        return asked, asked
    label = scope.label(heading)
    if not heading or len(heading.split()) > 6 or not is_plural(label) or not is_noun(label) or _VERBAL.search(label):
        return None
    return _place(label, scope)


def _place(label: str, scope: Scope) -> tuple[str, str]:
    if scope.is_version:
        short = f"What are the {label} in {scope.subject}?"
        return short, short
    return scope.attribute(label, "are")


def _of_place(said: str, scope: Scope) -> tuple[str, str] | None:
    match = _WHERE.fullmatch(said)
    return scope.within(f"{match['where'].lower()} {match['be']} {scope.subject_of(match['who'])} "
                        f"{match['how']}?") if match else None


def _of_passive(said: str, scope: Scope) -> tuple[str, str] | None:
    """"Several sensors added", "The following boards are supported", "A few tools are needed to …"."""
    match = _PASSIVE.fullmatch(said)
    if match and is_participle(match["done"]) and _is_subject(match["what"]):
        return scope.within(f"which {scope.label(match['what'])} {match['be'].lower()} {match['done']}{match['rest']}?")
    match = _SHORT_PASSIVE.fullmatch(said)
    if match and is_participle(match["done"]) and _is_subject(match["what"]) and is_plural(match["what"]):
        return scope.within(f"which {scope.label(match['what'])} were {match['done'].lower()}"
                            f"{' in ' + scope.subject if scope.is_version else ''}?")
    return None


def _of_verb(said: str, scope: Scope) -> tuple[str, str] | None:
    """"X supports the following boards", "X supports", "There are two versions of X"."""
    match = _NEEDED.fullmatch(said)
    if match and is_plural(match["what"]):
        return scope.within(f"which {match['what']} are needed?")
    match = _THERE.fullmatch(said)
    if match and is_plural(match["what"]):
        return scope.within(f"what are the {match['what']}?")
    match = _FOLLOWING.fullmatch(said)
    if match and _is_subject(match["who"]) and is_plural(match["what"]):
        helper = "do" if match["verb"].lower() == BASE[match["verb"].lower()] else "does"
        return scope.within(f"which {match['what']} {helper} {scope.subject_of(match['who'])} "
                            f"{BASE[match['verb'].lower()]}?")
    match = _BARE_VERB.fullmatch(said)
    if match and _is_subject(match["who"]) and match["verb"].lower() != BASE[match["verb"].lower()]:
        return scope.within(f"what does {scope.subject_of(match['who'])} {BASE[match['verb'].lower()]}?")
    return None


def _of_noun(said: str, scope: Scope) -> tuple[str, str] | None:
    """"Supported platforms", "Supported platforms include", "Major changes"."""
    match = _COPULA.fullmatch(said)
    label = scope.label(re.sub(rf"^{_AMOUNT} ", "", match["what"] if match else said, flags=re.I))
    if len(label.split()) > 7 or not is_plural(label) or not is_noun(label) or not _is_subject(label) or "," in label:
        return None
    return _place(label, scope)


def _is_subject(phrase: str) -> bool:
    return not _VERBAL.search(phrase) and not _LOOSE_START.match(phrase)
