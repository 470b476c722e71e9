"""Ask one plain clause for its fact: what a thing is, does, needs or is for (paper, 3.1).

A clause is never cut: each of its words is in the question or in the answer, so no condition is
lost. Subjects are specific noun phrases, answers noun phrases or figures.
"""

import re
from collections.abc import Callable, Iterator

from lib.annotate.constraints import MAX_SHORT_WORDS, Candidate
from lib.annotate.rules.lists import ELSEWHERE, does, subject_of
from lib.core.text import is_plural
from lib.documents.blocks import sentences
from lib.documents.phrases import (
    CLAUSAL,
    folded,
    is_noun_phrase,
    is_series,
)
from lib.documents.sites import Site

MAX_SENTENCE_WORDS = 40
MIN_DEFINITION = 4  # words

_DATE = (r"(?:\d{4}-\d{2}-\d{2}|\d{1,2} [A-Z][a-z]+ \d{4}|[A-Z][a-z]+ \d{1,2}, \d{4}|"
         r"(?:[A-Z][a-z]+ )?(?:19|20)\d\d)")
_VERSION = r"(?:[Vv]ersion |[A-Z][a-z]+ )?v?\d+(?:\.\d+)+[\w.-]*"
_TIME = r"(?:milliseconds?|ms|seconds?|s|minutes?|min|hours?|h|days?|weeks?|months?|years?)"
_NUMBER = r"(?:\d[\d,.]*|two|three|four|five|six|seven|eight|nine|ten|twelve)"
_DONE = r"(?P<done>\w{2,}ed|built|written|sent|set|read|held|kept|found|given|made|run|shown)"
_FIGURE = re.compile(
    r"(?P<s>.+?) (?:(?P<modal>can|must|may|will) )?(?P<verb>[a-z]{3,})(?P<out> out| off)? "
    r"(?P<prep>(?:after|every|for|within|up to|at most|at least|exactly) )?"
    rf"(?P<n>{_NUMBER})(?P<what> ?\S.*)", re.S)
_HOW_LONG = {"after": "after how long", "every": "how often", "for": "for how long",
             "within": "within what time"}
_REFERENCE = re.compile(r"\[([^\]\n]+)\]\[[^\]\n]*\]")
_VERBS = (r"requires?|represents?|specif(?:y|ies)|defines?|determines?|controls?|describes?|"
          r"indicates?|measures?|returns?|stores?|collects?|gathers?|reads?|writes?|"
          r"sends?|implements?|exposes?|creates?|adds?|sets?|removes?|consumes?|"
          r"manages?|references?|produces?|converts?|parses?|listens? for|"
          r"accepts?|generates?|performs?|executes?|"
          r"applies|apply|monitors?|exports?|holds?|tracks?|handles?|affects?|configures?|"
          r"prevents?|replaces?|extends?|inherits?|refers? to|maps? to|corresponds? to|runs? on|"
          r"connects? to|defaults? to|depends? on|consists? of|listens? on|belongs? to|stands? for")
_USES = re.compile(r"(?P<s>.+?) (?P<verb>uses?|supports?) (?P<v>.+?) (?P<end>(?:to [a-z]+|for) .+)",
                   re.S)
_DOES = re.compile(rf"(?P<s>.+?) (?P<verb>{_VERBS}) (?P<v>.+)", re.S)
_PRAISED = re.compile(
    r"(?:an?|the) (?:[\w-]+ ){0,3}?(?:most|more|best|better|good|great|large|small|simple|easy|"
    r"fast|powerful|popular|preferred|recommended|ideal|important|useful|convenient|common|"
    r"typical|crucial|essential|critical|key|must|challenge|problem|issue|reason|example|result)\b",
    re.I)
_OPEN = re.compile(
    r"\b(?:this|these|those|it|its|itself|they|them|their|above|below|following|same|here|you|your|"
    r"we|our|such|see|example|another|previous|also|as well|too)\b|[\"“”?!:;()]", re.I)
_CONDITION = re.compile(r"\b(?:if|unless|when|while|but|because|so|then|except|only)\b|,")
# what may follow the noun phrase of an answer: a relative clause, a participle, an infinitive
_TAIL = re.compile(r" (?:that|which|whose|where|capable|sent|written|built|\w{3,}ing|\w{2,}ed|"
                   r"to (?!an? |the |that |all |any )) ?(?=\w)")
_VAGUE = re.compile(r"(?:no|every|any|several|additional|different|various|multiple|many|some|"
                    r"other|further|new|an? (?:\w+ )?(?:way|number|set|variety|list)|\w+ing)\b",
                    re.I)

Found = tuple[str, str]  # question without its place, answer


def ask_prose(site: Site) -> Iterator[Candidate]:
    """Yield a question about each sentence that is one plain clause about a named thing."""
    for span in sentences(site.text, site.block.start, site.block.end):
        text = _REFERENCE.sub(r"\1", span.text)
        if found := ask_sentence(text, f"{site.section} {site.document}"):
            core, answer, rule = found
            yield Candidate(site.place() + core, answer, "prose", span.start, span.end,
                            rule=f"sentence: {rule}")


def ask_sentence(text: str, about: str = "") -> tuple[str, str, str] | None:
    """Ask one sentence, given as a reader sees it, for its fact: question, answer and rule.

    `about` is what its section and its document are called.
    """
    is_long = len(text.split()) > MAX_SENTENCE_WORDS
    if is_long or not text.endswith(".") or re.search(r"[\n|\[;:()]| -+ |\. |^>", text):
        return None
    for ask in _FAMILIES:
        found = ask(text[:-1].strip(), about)
        if found and len(found[1].split()) <= MAX_SHORT_WORDS:
            return (*found, ask.__name__.strip("_"))
    return None


def _is(clause: str, about: str) -> Found | None:
    match = re.fullmatch(r"(?P<s>.+?) (?P<be>is|are) (?P<v>.+)", clause, re.S)
    subject = subject_of(match["s"], about) if match else ""
    if not subject:
        return None
    value = match["v"]
    is_figure = re.match(rf"[~<>=±+-]{{0,2}}(?:\d|{_NUMBER}\b)|[/$]\w|`|v\d|true\Z|false\Z", value)
    is_label = re.match(r"the (?:[\w ]+ (?:of|for)|default|maximum|minimum) ", subject)
    if is_label and is_figure and is_series(value):
        return f"what {match['be']} {subject}?", value
    is_defined = re.match(r"an? \w|the \w", value) and len(value.split()) >= MIN_DEFINITION
    is_told = any(len(word) > 3 and word in folded(value) for word in folded(subject).split())
    is_safe = is_defined and match["be"] == "is" and not is_told and not _PRAISED.match(value)
    is_safe = is_safe and not subject.startswith("each ")
    return (f"what is {subject}?", value) if is_safe and _is_answer(value) else None


# "The X was removed in 2.1.0", "Backups are kept for 30 days", "Drivers are managed by the X"
def _done(clause: str, about: str) -> Found | None:
    match = re.fullmatch(rf"(?P<s>.+?) (?P<aux>is|are|was|were) {_DONE} (?P<prep>for|in|on|by) "
                         r"(?P<v>.+)", clause, re.S)
    subject = subject_of(match["s"], about) if match else ""
    if not subject:
        return None
    value, prep, asked = match["v"], match["prep"], f"{match['aux']} {subject} {match['done']}"
    if prep in ("in", "on") and re.fullmatch(_DATE, value):
        return f"when {asked}?", value
    if prep == "for" and re.fullmatch(rf"{_NUMBER} {_TIME}", value):
        return f"for how long {asked}?", value
    if prep == "in" and re.fullmatch(_VERSION, value):
        return f"in which version {asked}?", value
    is_agent = prep == "by" and re.search(r"(?!.* to ) ", value) and is_series(value) and (
        match["done"] not in ("used", "followed"))
    return (f"what {asked} by?", value) if is_agent else None


def _how(clause: str, about: str) -> Found | None:
    match = re.fullmatch(rf"(?P<s>.+?) (?P<modal>(?:can|must|should) be|is|are) {_DONE} "
                         r"(?P<v>(?:by \w+ing|via|using|with the help of) .+)", clause, re.S)
    subject = subject_of(match["s"], about) if match else ""
    if not subject or not _is_plain(match["v"]):
        return None
    modal, _, be = match["modal"].partition(" ")
    return f"how {modal} {subject} {be}{be and ' '}{match['done']}?", match["v"]


# "Access tokens expire after 45 minutes", "The buffer holds 36 hours of data"
def _figure(clause: str, about: str) -> Found | None:
    match = _FIGURE.fullmatch(clause)
    subject = subject_of(match["s"], about) if match else ""
    verb, modal = (match["verb"], match["modal"] or "") if match else ("", "")
    asked = does(match["s"], subject, verb, modal) if subject and verb not in CLAUSAL else ""
    if not asked:
        return None
    asked += match["out"] or ""
    prep, what = (match["prep"] or "").strip(), match["what"].strip()
    figure = f"{match['n']}{match['what']}"
    if prep in _HOW_LONG:
        is_time = re.fullmatch(_TIME, what)
        answer = f"every {figure}" if prep == "every" else figure
        return (f"{_HOW_LONG[prep]} {asked}?", answer) if is_time else None
    is_counted = is_plural(what) and is_noun_phrase(what)
    return (f"how many {what} {asked}?", f"{prep} {match['n']}".strip()) if is_counted else None


# "CephFS encryption requires Linux 6.6", "The flow limit defaults to 5 l/s"
def _does(clause: str, about: str) -> Found | None:
    match = _DOES.fullmatch(clause)
    subject = subject_of(match["s"], about) if match else ""
    if not subject or not _is_answer(match["v"]):
        return _uses(clause, about)
    verb, _, prep = match["verb"].partition(" ")
    is_noun = not verb.endswith("s") and re.search(r" (?:with|to|in|of|on|for) ", match["s"])
    if is_noun or not re.search(r" |\d", match["v"]):
        return None
    asked = does(match["s"], subject, verb)
    return (f"what {asked}{prep and ' '}{prep}?", match["v"]) if asked else None


# What it is used or supported for makes one answer of several
def _uses(clause: str, about: str) -> Found | None:
    match = _USES.fullmatch(clause)
    subject = subject_of(match["s"], about) if match else ""
    is_named = subject and is_series(match["v"]) and not _VAGUE.match(match["v"])
    if not is_named or not _is_plain(f"{match['v']} {match['end']}".replace(",", "")):
        return None
    asked = does(match["s"], subject, match["verb"])
    return (f"what {asked} {match['end']}?", match["v"]) if asked else None


_FAMILIES: tuple[Callable[[str, str], Found | None], ...] = (
    _figure, _how, _done, _does, _is)


# no word of another clause or of another sentence
def _is_plain(phrase: str) -> bool:
    return not _OPEN.search(phrase) and not _CONDITION.search(phrase)


# a noun phrase, perhaps with one clause about it
def _is_answer(phrase: str) -> bool:
    phrase = re.sub(r" (?:or|and) (?:later|newer|higher|above|greater)$", "", phrase)
    if _VAGUE.match(phrase) or ELSEWHERE.search(phrase):
        return False
    if is_series(phrase):
        return not _OPEN.search(phrase)
    heads = (phrase[:tail.start()] for tail in _TAIL.finditer(phrase))
    return any(map(is_noun_phrase, heads)) and _is_plain(phrase) and len(
        re.findall(r"\b(?:that|which|who|where)\b", phrase)) < 2
