"""Ask for all entries of a list by its heading or its lead-in (paper, 3.1)."""

import re
from collections.abc import Iterator, Sequence

from lib.annotate.constraints import Candidate
from lib.core.text import is_plural
from lib.documents.phrases import (
    CLAUSAL,
    VAGUE,
    folded,
    in_sentence,
    is_foreign,
    is_noun_phrase,
    is_specific,
    singular,
    words,
)
from lib.documents.reader import Item
from lib.documents.sites import Site

MAX_ITEMS = 33  # the longest list of the paper
MAX_ITEM_WORDS = 9
MAX_LEAD_WORDS = 30

# a term in bold, in code or linked at the beginning, and what is said about it
_TERM = re.compile(
    r"(?:\*\*(?P<bold>[^*\n]+?):?\*\*:?|`(?P<code>[^`\n]+)`|\[`?(?P<link>[^\]\n`]+)`?\]\([^)\n]*\)|"
    r"(?P<plain>[A-Z][\w./-]*(?: [\w./-]+){0,3})(?=: )|(?P<key>[\w.-]+)(?= \(| --? |:? [–—] |$))"
    r"(?:\s*\([^()\n]*\))?(?:\s*:|\s+[-–—]+|\.)?(?:\s+\S|\s*$)", re.S)
_COUNT = r"(?:two|three|four|five|six|seven|eight|nine|ten|several|some|\d+) "
# of a lead-in: who, verb and what
_COUNTED = rf"(?:the following (?:{_COUNT})?|(?:the )?{_COUNT})"
_HAS = re.compile(
    r"(?P<who>.+?) (?:(?P<modal>can|may|must|should|MUST|SHOULD|MAY) )?(?:also |currently |now )?"
    rf"(?P<verb>[a-z]{{3,}}) (?:all of |one of |any of )?{_COUNTED}(?P<what>.+?)", re.S)
_ARE = re.compile(rf"{_COUNTED}(?P<what>.+?) (?P<be>are|can be|must be|have|support|"
                  r"now have) (?P<rest>.+)", re.S | re.I)
_ARE_THE = tuple(re.compile(pattern, re.S | re.I) for pattern in (
    rf"(?:There|These|Here) are (?:currently |the |following |{_COUNT})*(?P<what>.+?)",
    rf"(?:The |Its |currently |{_COUNT})*(?P<what>.+?) (?:are|include|are as follows|"
    r"are the following|are currently|include the following)",
    r"(?P<what>.+)"))
_VERBS = ("contains|includes|supports|provides|requires|needs|consists|comprises|accepts|"
          "defines|offers")
ELSEWHERE = re.compile(r"\b(?:documents?|documentation|docs|guides?|pages?|sections?|chapter|"
                        r"examples?|tutorials?|proposal|specification)\b", re.I)
# nouns whose lists are what a writer says, not what a thing has
_GENERIC = frozenset("""
readings resources references links steps notes changes fixes bugs improvements contents questions
tasks goals issues highlights topics details thoughts reasons examples considerations updates docs
documents alternatives possibilities others benefits advantages points cases features practices
basics things announcements contributors conclusions instructions limitations results remarks
commits differences deprecations""".split())
_SINGLE = frozenset("""parameters options settings fields values arguments properties methods
requirements prerequisites""".split())  # one word that names what the section has


def ask_list(site: Site) -> Iterator[Candidate]:
    """Yield the question for all entries of a list, if each is a short name and the lead-in
    says of what."""
    items, block = site.block.items, site.block
    is_led = 0 < len(site.lead.split()) <= MAX_LEAD_WORDS and not is_foreign(site.lead)
    answer = _entities(site, [item for item in items if not item.depth]) if is_led else ""
    core, rule = _question(site) if answer else ("", "")
    if core and not _goes_on(site):
        place = site.place(without=site.lead if site.lead_start < 0 else "")
        yield Candidate(place + core, answer, "list", block.start, block.end, rule=rule)


# after a paragraph or a table another part of the list may follow
def _goes_on(site: Site) -> bool:
    rest = re.split(r"^ {0,3}#", site.text[site.block.end:], maxsplit=1, flags=re.M)[0]
    return site.lead_start < 0 and re.search(r"^ {0,3}(?:[-*+]|\d+[.)]) ", rest, re.M) is not None


def _entities(site: Site, items: Sequence[Item]) -> str:
    if not 2 <= len(items) <= MAX_ITEMS:
        return ""
    raw = [site.text[item.start:item.end] for item in items]
    found = [_TERM.match(text) for text in raw]
    if any("](#" in text for text in raw):  # a table of contents
        return ""
    if all(found):
        names = [next(filter(None, match.groups())).strip(" :*`") for match in found]
        is_safe = all(match["code"] or match["key"] or _is_entry(name)
                      for match, name in zip(found, names, strict=True))
    else:
        names = [item.text.rstrip(".,;").strip() for item in items]
        is_safe = all(map(_is_entry, names))
    is_safe = is_safe and all(re.search(r"[^\W_]", name) and len(name.split()) <= MAX_ITEM_WORDS
                  and not is_foreign(name) for name in names)
    return "\n".join(names) if is_safe and len(set(map(folded, names))) == len(names) else ""


# "See the guide" and "it is open" are no entries
def _is_entry(text: str) -> bool:
    own = text.rstrip(".,;").split()
    is_plain = not re.search(r"[:!?]|\.\s|https?://|\[[ xX]\]|^\(|\b(?:and|or)$",
                             text.strip(".,; "))
    is_name = not CLAUSAL.intersection(word.lower() for word in own) and (
        len(own) < 4 or re.match(r"(?:an?|the|one|\d+|[A-Z]\w*[A-Z\d])\b", text, re.I) is not None
        or is_noun_phrase(text.rstrip(".,;")))
    is_order = re.match(r"(?-i:[A-Z][a-z]+ed [a-z])|(?:add|allow|build|bump|change|check|click|"
                        r"compile|configure|create|deploy|disable|drop|enable|ensure|fix|"
                        r"implement|improve|install|learn|make|move|open|read|remove|rename|"
                        r"replace|run|see|select|set|start|stop|support|update|upgrade|use|"
                        r"verify|write)s? \w", text, re.I)
    return 0 < len(own) <= MAX_ITEM_WORDS and is_plain and is_name and not is_order


def _question(site: Site) -> tuple[str, str]:
    lead = site.lead.rstrip(" :").replace(" (s)", "")
    if site.lead_start < 0:  # "Supported platforms", not "Response times"
        says_which = _SINGLE.intersection(words(lead)) or re.match(r"\w+(?:ed|able|ible) ", lead)
        is_asked = says_which and _is_whole(lead)
        return f"what are the {in_sentence(lead)}?" if is_asked else "", "list: heading"
    for ask in (_of_have, _of_are, _of_noun):
        if core := ask(lead):
            return core, "list: lead-in"
    return "", ""


def _of_noun(lead: str) -> str:
    found = (match["what"] for pattern in _ARE_THE if (match := pattern.fullmatch(lead)))
    what = next(filter(_is_whole, found), "")
    return f"what are the {in_sentence(what)}?" if what else ""


def _of_have(lead: str) -> str:
    match = _HAS.fullmatch(lead)
    if not match:
        return ""
    what = re.split(r" (?:to|from|in|on|for|with|as|by) ", match["what"], maxsplit=1)
    who = subject_of(match["who"])
    if re.fullmatch(r"[A-Z]\w+", match["who"]) and match["who"].lower() not in CLAUSAL:
        who = match["who"]
    if not who or not _is_class(what[0]):
        return ""
    asked = does(match["who"], who, match["verb"], (match["modal"] or "").lower())
    rest = f" {match['what'][len(what[0]):].strip()}" if what[1:] else ""
    return f"which {what[0]} {asked}{rest}?" if asked else ""


def _of_are(lead: str) -> str:
    match = _ARE.fullmatch(lead)
    is_whole = match and _is_class(match["what"]) and not re.search(
        r"[,;:\"]|\b(?:below|above|following|here|this|these|its?|you|your|we|as)\b", match["rest"])
    return f"which {match['what']} {match['be']} {match['rest']}?" if is_whole else ""


def _is_class(phrase: str) -> bool:
    own = words(phrase)
    is_named = 1 < len(own) <= 8 or len(own) == 1 and (
        own[0] in _SINGLE or singular(own[0]) not in VAGUE)
    return is_named and is_plural(phrase) and is_noun_phrase(phrase) and not (
        own[-1] in _GENERIC or {"all", "following", "some", "support", *CLAUSAL}.intersection(own)
        or re.search(rf"^(?:examples?|sample|\w+ing) |[(]|\b(?:{_VERBS})\b| {_COUNT}",
                     phrase, re.I))


# a class that says enough without a verb
def _is_whole(phrase: str) -> bool:
    return _is_class(phrase) and (len(words(phrase)) > 1 or phrase.lower() in _SINGLE)


def does(phrase: str, subject: str, verb: str, modal: str = "") -> str:
    """Return "does <subject> <verb>" for a clause with the subject `phrase`; "" if they disagree or
    the base of the verb cannot be told by its spelling."""
    is_singular = verb.endswith("s") and not verb.endswith(("ss", "us"))
    if not modal and is_singular == is_plural(phrase) or re.search(r"(?<!t)ches$|zes$", verb):
        return ""
    base = re.sub(r"(?<=ss|sh|ch|.x)es$|(?<!ss|sh|us)s$", "", re.sub(r"ies$", "ys", verb))
    base = {"ha": "have", "doe": "do", "goe": "go"}.get(base, base)
    return f"{modal or ('does' if is_singular else 'do')} {subject} {base}"


def lowered(subject: str) -> str:
    """Return a sentence's subject as it reads inside a question."""
    first, _, rest = subject.partition(" ")
    is_word = first in ("A", "An", "The", "Each", "Every", "All") or bool(
        re.fullmatch(r"[A-Z][a-z]+", first)) and is_plural(subject) and (
        rest.islower() or not rest and not first.endswith("os"))
    return f"{first.lower()} {rest}".strip() if is_word else subject


def subject_of(phrase: str) -> str:
    """Return a specific subject as it reads inside a question, "" if it is not clear."""
    own = phrase.split()
    if re.match(r"\w+ly\b|(?:Figure|Table|Step) \d", phrase) or ELSEWHERE.search(phrase):
        return ""
    is_class = len(own) == 1 and own[0].isalpha() and is_plural(own[0]) and (
        singular(own[0]) not in VAGUE and is_noun_phrase(own[0]))
    return lowered(phrase) if is_class or is_specific(phrase) else ""
