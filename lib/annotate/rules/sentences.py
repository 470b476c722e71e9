"""Ask one plain clause for its fact: what a thing is, what does it, how it is done (paper, 3.1).

A clause is never cut: each of its words is in the question or in the answer, so no condition is
lost. Subjects are specific noun phrases, answers noun phrases or figures.
"""

import re
from collections.abc import Callable, Iterator

from lib.annotate.constraints import MAX_SHORT_WORDS, Candidate
from lib.annotate.rules.lists import ELSEWHERE, subject_of
from lib.documents.blocks import sentences
from lib.documents.phrases import folded, is_noun_phrase, is_series
from lib.documents.sites import Site

MAX_SENTENCE_WORDS = 40
MIN_DEFINITION = 4  # words

_NUMBER = r"(?:\d[\d,.]*|two|three|four|five|six|seven|eight|nine|ten|twelve)"
_DONE = r"(?P<done>\w{2,}ed|built|written|sent|set|read|held|kept|found|given|made|run|shown)"
_REFERENCE = re.compile(r"\[([^\]\n]+)\]\[[^\]\n]*\]")
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
        text = _uncapitalized(_REFERENCE.sub(r"\1", span.text), site.text)
        if found := ask_sentence(text):
            core, answer, rule = found
            yield Candidate(site.place() + core, answer, "prose", span.start, span.end,
                            rule=f"sentence: {rule}")


def ask_sentence(text: str) -> tuple[str, str, str] | None:
    """Ask one sentence, given as a reader sees it, for its fact: question, answer and rule."""
    is_long = len(text.split()) > MAX_SENTENCE_WORDS
    if is_long or not text.endswith(".") or re.search(r"[\n|\[;:()]| -+ |\. |^>", text):
        return None
    for ask in _FAMILIES:
        found = ask(text[:-1].strip())
        if found and len(found[1].split()) <= MAX_SHORT_WORDS:
            return (*found, ask.__name__.strip("_"))
    return None


# A sentence with its first word in lower case if `body` has it so, and never as a name
def _uncapitalized(text: str, body: str) -> str:
    first = re.match(r"[A-Z][a-z]+(?= [a-z])", text)
    if not first or re.search(rf"[a-z,] \W?{first[0]}\b", body):
        return text
    plain = first[0].lower()
    return plain + text[first.end():] if re.search(rf"[a-z,] {plain}\b", body) else text


def _is(clause: str) -> Found | None:
    match = re.fullmatch(r"(?P<s>.+?) (?P<be>is|are) (?P<v>.+)", clause, re.S)
    subject = subject_of(match["s"]) if match else ""
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
    is_safe = is_safe and not re.match(r"each |the [a-z ]+\Z", subject)
    return (f"what is {subject}?", value) if is_safe and _is_answer(value) else None


# "Drivers are managed by the X"
def _done(clause: str) -> Found | None:
    match = re.fullmatch(rf"(?P<s>.+?) (?P<aux>is|are|was|were) {_DONE} by "
                         r"(?P<v>(?!.* (?:to|with) ).+ .+)", clause, re.S)
    subject = subject_of(match["s"]) if match else ""
    if not subject or not is_series(match["v"]) or match["done"] in ("used", "followed"):
        return None
    return f"what {match['aux']} {subject} {match['done']} by?", match["v"]


def _how(clause: str) -> Found | None:
    match = re.fullmatch(rf"(?P<s>.+?) (?P<modal>(?:can|must|should) be|is|are) {_DONE} "
                         r"(?P<v>(?:by \w+ing|via|using|with the help of) .+)", clause, re.S)
    subject = subject_of(match["s"]) if match else ""
    if not subject or not _is_plain(match["v"]):
        return None
    modal, _, be = match["modal"].partition(" ")
    return f"how {modal} {subject} {be}{be and ' '}{match['done']}?", match["v"]


_FAMILIES: tuple[Callable[[str], Found | None], ...] = (
    _how, _done, _is)


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
