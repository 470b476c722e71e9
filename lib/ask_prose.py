"""Questions on plain factual sentences; where no pattern fits, none is asked (paper, 3.1)."""

import re
from collections.abc import Iterator

from lib.blocks import Block, Span, sentences
from lib.constraints import Candidate
from lib.scope import Scope
from lib.sentence_patterns import PATTERNS, Asked, attribute_of
from lib.verbs import is_participle

_OPENING = re.compile(r"(?:note that|please note that|note|in general|generally|typically|usually|currently|also|additionally|"
                      r"in addition|furthermore|further|moreover|similarly),?:?\s+(?=\S)", re.I)
_DATE = (r"(?:\d{8}|\d{4}-\d{2}-\d{2}|\d{4}/\d{2}/\d{2}|\d{1,2}[./]\d{1,2}[./]\d{4}|\d{1,2} [A-Z][a-z]+ \d{4}|"
         r"[A-Z][a-z]+ \d{1,2}, \d{4}|[A-Z][a-z]+ \d{4})")
_DATED = re.compile(rf"(?P<date>{_DATE}):\s+(?P<said>\S.*)", re.S)
_RELEASED = re.compile(rf"(?P<done>available|released|published|issued) (?:on |since |in |from )?(?P<date>{_DATE})", re.I)
_HAPPENED = re.compile(r"(?P<who>.+?) (?P<aux>has|have) (?:now )?been (?P<done>\w+)(?P<rest>.*)", re.S)
_IS_OUT = re.compile(r"(?P<who>[A-Z][\w.-]*(?: [\w.-]+){0,3}) (?:is |was |has been )?released", re.S)
_LOOSE = re.compile(r"\b(?:this|these|those|it|its|they|their|them|we|our|you|your|one|above|below|following|previous)\b", re.I)


def ask_prose(block: Block, scope: Scope, text: str) -> Iterator[Candidate]:
    """Questions on the sentences of a paragraph, at most one a sentence."""
    dated = None
    for number, sentence in enumerate(sentences(text, block.start, block.end)):
        if "\n>" in text[sentence.start:sentence.end]:
            continue  # a quoted sentence over two lines keeps its markers in the source
        said = sentence.text
        if number == 0:
            dated = _DATED.fullmatch(said)
            said = dated["said"] if dated else said
        found = (_of_date(said, dated["date"], scope) if dated and number == 0 else None) or ask_sentence(said, scope)
        if found:
            yield _candidate(found, sentence, scope)


def ask_sentence(said: str, scope: Scope) -> Asked | None:
    """The question on one sentence, or None; `said` is its visible text."""
    said = re.sub(r"[.!\s]+$", "", _OPENING.sub("", said.strip(), count=1))
    if not said or said.endswith(("?", ":")) or len(said.split()) > 45:
        return None
    released = _RELEASED.fullmatch(said)
    if released and scope.is_version:
        done = "become available" if released["done"].lower() == "available" else f"get {released['done'].lower()}"
        return Asked(f"when did {scope.subject} {done}?", released["date"], True)
    for entity in filter(None, (scope.subject if scope.is_entity else "", scope.product)):
        found = attribute_of(said, entity)
        if found:
            return found
    return next((found for pattern in PATTERNS if (found := pattern(said))), None)


def _of_date(said: str, date: str, scope: Scope) -> Asked | None:
    """A dated entry of a change log: what it says was done, asked for its date."""
    said = re.split(r"(?<=\w)[.;]\s|\s\(", said.rstrip(". "), maxsplit=1)[0]
    out = _IS_OUT.fullmatch(said)
    if out:
        return Asked(f"when was {out['who']} released?", date, True)
    done = _HAPPENED.fullmatch(said)
    if not done or not is_participle(done["done"]) or _LOOSE.search(said) or len(said.split()) > 25:
        return None
    target = re.fullmatch(r" (?P<how>to|by|with|into) (?P<what>\S+)", done["rest"])
    who = done["who"][:1].lower() + done["who"][1:] if re.match(r"[A-Z][a-z]+ ", done["who"]) and not done["who"].startswith("Klip") else done["who"]
    if target and done["done"] in ("renamed", "replaced", "moved", "changed", "increased", "reduced", "raised", "superseded"):
        return Asked(f"what {done['aux']} {who} been {done['done']} {target['how']}?", target["what"])
    if " and " in done["rest"] or "been" in done["rest"]:
        return None
    return Asked(f"when {'was' if done['aux'] == 'has' else 'were'} {who} {done['done']}{done['rest']}?", date)


def _candidate(found: Asked, sentence: Span, scope: Scope) -> Candidate:
    short, longer = (_cap(found.core),) * 2 if found.is_whole else scope.within(found.core)
    if scope.topic and found.is_whole:
        longer = f'Under "{scope.topic}", {found.core}'
    rank = 0 if re.search(r"\d", found.answer) or found.is_whole else 1
    return Candidate(short, found.answer, "natural", sentence.start, sentence.end, longer, rank)


def _cap(core: str) -> str:
    return core[:1].upper() + core[1:]
