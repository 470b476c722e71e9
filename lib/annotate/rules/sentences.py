"""Ask one plain clause for its fact: copula, passive, numbers, names in code (paper, 3.1).

A clause is never cut: each of its words is in the question or in the answer, so no condition is
lost. Subjects are specific noun phrases, answers noun phrases or figures.
"""

import re
from collections.abc import Callable, Iterator

from lib.annotate.constraints import Candidate
from lib.annotate.rules.lists import base_of, lowered
from lib.core.text import is_plural
from lib.core.units import unit_of
from lib.documents.blocks import sentences
from lib.documents.phrases import (
    CLAUSAL,
    VAGUE,
    folded,
    is_attribute,
    is_noun_phrase,
    is_series,
    is_specific,
    is_value,
    singular,
)
from lib.documents.sites import Site

MAX_ANSWER_WORDS = 14
MAX_SENTENCE_WORDS = 40
MIN_DEFINITION = 4  # words

_DATE = (r"(?:\d{4}-\d{2}-\d{2}|\d{1,2} [A-Z][a-z]+ \d{4}|[A-Z][a-z]+ \d{1,2}, \d{4}|"
         r"(?:[A-Z][a-z]+ )?(?:19|20)\d\d)")
_VERSION = r"(?:[Vv]ersion |[A-Z][a-z]+ )?v?\d+(?:\.\d+)+[\w.-]*"
_ADVERB = r"(?:(?:now|currently|typically|usually|always|normally|automatically|only) )?"
_TIME = r"(?:milliseconds?|ms|seconds?|s|minutes?|min|hours?|h|days?|weeks?|months?|years?)"
_NUMBER = r"(?:\d[\d,.]*|two|three|four|five|six|seven|eight|nine|ten|twelve)"
_PARTICIPLE = (r"(?P<done>\w{2,}ed|built|written|sent|set|read|held|kept|found|given|made|run|"
               r"shown|split|known|driven|bound|chosen|drawn|put)")
_FIGURE = re.compile(
    r"(?P<s>.+?) (?:(?P<modal>can|must|may|will) )?(?P<verb>[a-z]{3,})(?P<out> out| off)? "
    r"(?P<prep>(?:after|every|for|within|up to|at most|at least|exactly|about) )?"
    rf"(?P<n>{_NUMBER})(?P<what> ?\S.*)", re.S)
_HOW_LONG = {"after": "after how long", "every": "how often", "for": "for how long",
             "within": "within what time"}
_RELATES = re.compile(
    rf"(?P<s>.+?) {_ADVERB}(?P<verb>defaults?|listens?|depends?|maps?|corresponds?|refers?|"
    r"consists?|belongs?|inherits?|runs?|stands?|relies|rely|applies|apply|conforms?) "
    r"(?P<prep>to|on|of|from|for) (?P<v>.+)", re.S)
_PRAISED = re.compile(
    r"(?:an?|the) (?:[\w-]+ ){0,3}?(?:most|more|best|better|good|great|large|small|simple|easy|"
    r"fast|powerful|popular|preferred|recommended|ideal|important|useful|convenient|modern|common|"
    r"typical|crucial|essential|critical|key|must|challenge|problem|issue|reason|example|result)\b",
    re.I)
_ELSEWHERE = re.compile(r"\b(?:documents?|documentation|docs|guides?|pages?|sections?|chapter|"
                        r"examples?|tutorials?|proposal|specification)\b", re.I)
_CODE = r"[*_]*`(?P<code>[^`\n]+)`[*_]*"
_KIND = r"(?P<kind>[a-z][a-z-]*(?: [a-z][a-z-]*)?)"
_SAID = re.compile(  # "The `x` option sets the size of Y."
    rf"The (?P<pre>(?:[\w-]+ )*?){_CODE} {_KIND} "
    r"(?P<said>(?:is used to|\w+s|can be used to) .+)", re.S)
_USE = re.compile(  # "Use the `x` option to set the size of Y."
    rf"(?:You can use|Use) the (?P<pre>(?:[\w-]+ )*?){_CODE} {_KIND} to (?P<said>.+)", re.S)
_NOT_KINDS = re.compile(r"\b(?:value|section|is|are|was|has|can|to|of|in|on|at|by|for|from|with|"
                        r"and|or|which|that|\w+ed|\w+s)\b")
_OPEN = re.compile(
    r"\b(?:this|these|those|it|its|itself|they|them|their|above|below|following|same|here|you|your|"
    r"we|our|such|see|example|another|previous|also)\b|[\"“”?!:;()]", re.I)

_PARTICLES = frozenset("out off with over about into only than nearly almost between from".split())

Found = tuple[str, str, str]  # question without its place, answer, rule


def ask_prose(site: Site) -> Iterator[Candidate]:
    """Yield a question about each sentence that is one plain clause about a named thing."""
    start = site.block.start
    for span in sentences(site.text, start, site.block.end):
        raw = site.text[span.start:span.end]
        if found := ask_sentence(span.text, raw, f"{site.section} {site.document}"):
            core, answer, rule = found
            yield Candidate(site.place() + core, answer, "prose", span.start, span.end,
                            rule=f"sentence: {rule}")


def ask_sentence(text: str, raw: str, about: str = "") -> Found | None:
    """Ask one sentence, given as a reader sees it and as Markdown, for its fact.

    `about` is what its section and its document are called.
    """
    is_long = len(text.split()) > MAX_SENTENCE_WORDS
    has_more = text.count(". ") or re.search(r"[\n|]|!\[|[;:()]| - ", text)
    if is_long or has_more or not text.endswith("."):
        return None
    clause, raw = text[:-1].strip(), raw.strip().rstrip(".")
    for ask in _FAMILIES:
        found = ask(clause, raw, about)
        if found and len(found[1].split()) <= MAX_ANSWER_WORDS:
            return (*found, ask.__name__.strip("_"))
    return None


def _code(clause: str, raw: str, about: str) -> tuple[str, str] | None:
    for pattern, verb in ((_SAID, ""), (_USE, "is used to ")):
        match = pattern.fullmatch(raw)
        if not match:
            continue
        said = re.sub(r"[`*]", "", match["said"])
        is_fit = 5 <= len(said.split()) <= 24 and not _OPEN.search(said) and "](" not in said
        is_kind = not _NOT_KINDS.search(match["kind"]) and not match["pre"]
        is_guessed = any(part[:4] in folded(said) for part in folded(match["code"]).split()
                         if len(part) > 2)
        if is_fit and is_kind and not is_guessed:
            return f"which {match['kind']} {verb}{said}?", match["code"]
    return None


def _copula(clause: str, raw: str, about: str) -> tuple[str, str] | None:
    match = re.fullmatch(rf"(?P<s>.+?) (?P<be>is|are) {_ADVERB}(?P<v>.+)", clause, re.S)
    if not match or not is_specific(match["s"], about):
        return None
    subject, value = match["s"], match["v"]
    is_figure = re.match(rf"[~<>=±+-]{{0,2}}(?:\d|{_NUMBER}\b)|[/$]\w|`|v\d|true\Z|false\Z", value)
    is_label = re.match(r"The [\w ]+ (?:of|for) |The (?:default|maximum|minimum) ", subject)
    if is_label and is_figure and _is_answer(value):
        return f"what {match['be']} {lowered(subject)}?", value
    is_defined = re.match(r"an? \w|the \w", value) and len(value.split()) >= MIN_DEFINITION
    if not is_defined or _PRAISED.match(value) or match["be"] == "are" or not _is_defined(value):
        return None
    if any(len(word) > 3 and word in folded(value) for word in folded(subject).split()):
        return None
    return f"what is {lowered(subject)}?", value


def _passive(clause: str, raw: str, about: str) -> tuple[str, str] | None:
    match = re.fullmatch(
        rf"(?P<s>.+?) (?P<aux>is|are|was|were|has been|have been) {_ADVERB}{_PARTICIPLE} "
        r"(?P<prep>by|for|in|on|from|to|at|with|under) (?P<v>.+)", clause, re.S)
    if not match or not _is_clear(match["s"], about) or _ELSEWHERE.search(match["v"]):
        return None
    subject, value, prep = lowered(match["s"]), match["v"], match["prep"]
    first, _, second = match["aux"].partition(" ")
    verb = f"{second} {match['done']}".strip()
    if prep in ("in", "on") and re.fullmatch(_DATE, value):
        return f"when {first} {subject} {verb}?", value
    if prep == "for" and re.fullmatch(rf"{_NUMBER} {_TIME}", value):
        return f"for how long {first} {subject} {verb}?", value
    if prep == "in" and re.fullmatch(_VERSION, value):
        return f"in which version {first} {subject} {verb}?", value
    is_one = not re.search(r" (?:in|on|by|from|as|via|with|at|through|to|into|during|for) ", value)
    is_named = re.search(r"\d|_|\w[./]\w|[a-z][A-Z]|[A-Z]{2}|(?<!^)\b[A-Z]", value) or (
        prep == "by" and len(value.split()) > 1)
    is_weak = match["done"] in ("based", "used", "need") or prep == "for"
    if is_weak or not is_one or not is_named or not _is_answer(value):
        return None
    if prep in ("in", "on", "under", "at"):
        is_place = re.fullmatch(r"(?:stored|located|defined|saved|written|placed|installed|kept|"
                                r"configured|declared|listed|created)", match["done"])
        return (f"where {first} {subject} {verb}?", f"{prep} {value}") if is_place else None
    return f"{prep} what {first} {subject} {verb}?", value


def _how(clause: str, raw: str, about: str) -> tuple[str, str] | None:
    match = re.fullmatch(r"(?P<s>.+?) "
                         r"(?P<modal>(?:can|may|must|should|MUST|SHOULD|MAY) be|is|are) "
                         rf"{_PARTICIPLE} "
                         r"(?P<v>(?:by \w+ing|via|using|with the help of) .+)", clause, re.S)
    if not match or not _is_clear(match["s"], about) or not _is_plain(match["v"]):
        return None
    modal, _, be = match["modal"].lower().partition(" ")
    done = f"{be} {match['done']}".strip()
    return f"how {modal} {lowered(match['s'])} {done}?", match["v"]


# "Access tokens expire after 45 minutes", "The buffer holds 36 hours of data"
def _figure(clause: str, raw: str, about: str) -> tuple[str, str] | None:
    match = _FIGURE.fullmatch(clause)
    if not match or not _is_clear(match["s"], about) or match["verb"] in CLAUSAL | _PARTICLES:
        return None
    verb, subject, modal = match["verb"], match["s"], match["modal"]
    is_singular = verb.endswith("s") and not verb.endswith("ss")
    base = verb if modal else base_of(verb)
    if not base or not modal and is_singular == is_plural(subject):
        return None
    helper = modal or ("does" if is_singular else "do")
    asked = f"{helper} {lowered(subject)} {base}{match['out'] or ''}"
    prep, what = (match["prep"] or "").strip(), match["what"].strip()
    figure = f"{match['n']}{match['what']}"
    if prep in _HOW_LONG and re.fullmatch(_TIME, what):
        return f"{_HOW_LONG[prep]} {asked}?", f"every {figure}" if prep == "every" else figure
    if base in ("weigh", "cost", "draw", "consume") and unit_of(what):
        return f"how much {asked}?", f"{prep} {figure}".strip()
    is_counted = prep not in _HOW_LONG and is_plural(what) and is_noun_phrase(what)
    return (f"how many {what} {asked}?", f"{prep} {match['n']}".strip()) if is_counted else None


# "The load is limited to 80", "UDP has a maximum size of 65535 bytes", "X is available in Y 2"
def _state(clause: str, raw: str, about: str) -> tuple[str, str] | None:
    match = re.fullmatch(r"(?P<s>.+?) (?P<be>is|are) (?P<how>limited to|compatible with|"
                         r"equivalent to|responsible for|independent of|available in) (?P<v>.+)",
                         clause, re.S)
    if match and _is_clear(match["s"], about) and _is_plain(match["v"]):
        how, _, prep = match["how"].rpartition(" ")
        is_version = re.match(r"(?:[A-Z][\w-]* ){0,3}(?:version )?v?\d", match["v"])
        if how != "available" or is_version:
            asked = "in which version" if how == "available" else "what"
            end = "" if how == "available" else f" {prep}"
            return f"{asked} {match['be']} {lowered(match['s'])} {how}{end}?", match["v"]
    match = _RELATES.fullmatch(clause)
    if match and _is_clear(match["s"], about) and _is_answer(match["v"]) and (
            is_plural(match["s"]) != match["verb"].endswith("s")):
        helper = "does" if match["verb"].endswith("s") else "do"
        return (f"what {helper} {lowered(match['s'])} {base_of(match['verb'])} {match['prep']}?",
                match["v"])
    match = re.fullmatch(r"(?P<s>.+?) (?:has|have) an? (?P<a>[a-z][\w -]+) of (?P<v>.+)", clause,
                         re.S)
    if match and is_specific(match["s"], about) and is_attribute(match["a"]) and re.match(
            r"\d", match["v"]) and is_value(match["v"]):
        return f"what is the {match['a']} of {lowered(match['s'])}?", match["v"]
    return None


_FAMILIES: tuple[Callable[[str, str, str], tuple[str, str] | None], ...] = (
    _figure, _state, _code, _passive, _how, _copula)


# "The buffer" is clear in its section, "the value" is not
def _is_clear(phrase: str, about: str) -> bool:
    own = phrase.split()
    is_bare = len(own) == 1 and is_plural(own[0]) and own[0].istitle()
    is_one = len(own) == 2 and own[0] == "The" or is_bare
    return is_specific(phrase, about) or is_one and is_noun_phrase(phrase) and (
        singular(own[-1]) not in VAGUE and not own[-1].endswith(("ing", "ed")))


def _is_answer(phrase: str) -> bool:
    return is_series(phrase) and not re.match(r"(?:no|every|\w+ing)\b", phrase, re.I)


# no word of another clause or of another sentence
def _is_plain(phrase: str) -> bool:
    return not _OPEN.search(phrase) and not re.search(
        r"\b(?:if|unless|when|while|but|because|so|then|and then)\b|,", phrase)


# a noun phrase, perhaps with one relative clause
def _is_defined(phrase: str) -> bool:
    found = re.search(r" (?:that|which|who|whose|where) (?=\w)", phrase)
    if not found:
        return _is_answer(phrase)
    return is_noun_phrase(phrase[:found.start()]) and _is_plain(phrase[found.end():]) and (
        len(re.findall(r"\b(?:that|which|who|where)\b", phrase)) == 1)
