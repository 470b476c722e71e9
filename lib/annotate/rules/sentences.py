"""Questions on plain factual sentences; where no pattern fits, none is asked (paper, 3.1)."""

import re
from collections.abc import Iterator

from lib.annotate.constraints import Candidate
from lib.annotate.rules.patterns import PATTERNS, Asked, attribute_of
from lib.annotate.rules.phrases import DATE, is_attribute, value_in
from lib.annotate.rules.tables import is_noun
from lib.annotate.rules.verbs import is_participle
from lib.core.text import is_plural
from lib.documents.blocks import Block, Span, plain, sentences
from lib.documents.subject import Scope

_OPENING = re.compile(r"(?:note that|please note that|note|in general|generally|typically|usually|currently|also|"
                      r"additionally|in addition|furthermore|further|moreover|similarly|however|as such|thus|therefore|"
                      r"unfortunately),?:?\s+(?=\S)", re.I)
_IS_HEADING = re.compile(r"This (?:(?:chip|device|board|module|command|option|parameter|setting|error|sensor|driver|"
                         r"tool|method|"
                         r"bootloader|micro-controller|function|macro|message|event|plugin|package|component|"
                         r"platform|product|unit) )?(?=(?:is|can|may|will|must|should|\w+s)\b)")
_AND_CLAUSE = re.compile(r"(?: \([^()]*\))?,? and (?=the [^,;]{3,40} (?:is|are|was|were|has|have) )")
_SMALL_START = re.compile(r"(?<=[\w)])\.\s+(?=[a-z/~])")
_LABELLED = re.compile(r"(?!(?:notice|note|warning|caution|danger|tip|important|example|hint|todo|see|info)\b)"
                       r"(?P<label>[A-Za-z][\w /-]{2,40}): (?P<value>[^:]+)", re.I)
_OPEN = re.compile(r"^what .* (?:offer|use|provide|support|implement|include|contain|store)\?$")  # often true of more
_STAND_IN = "HEADING0"
_DATED = re.compile(rf"(?P<date>{DATE}):\s+(?P<said>\S.*)", re.S)
_RELEASED = re.compile(rf"(?P<done>available|released|published|issued) (?:on |since |in |"
                       rf"from )?(?P<date>{DATE})", re.I)
_HAPPENED = re.compile(r"(?P<who>.+?) (?P<aux>has|have) (?:now )?been (?P<done>\w+)(?P<rest>.*)", re.S)
_IS_OUT = re.compile(r"(?P<who>[A-Z][\w.-]*(?: [\w.-]+){0,3}) (?:is |was |has been )?released", re.S)
_REPLACED = ("renamed", "replaced", "moved", "changed", "increased", "reduced", "raised", "superseded")
_LOOSE = re.compile(r"\b(?:this|these|those|it|its|they|their|them|we|our|you|your|one|above|below|following|"
                    r"previous)\b", re.I)


def ask_prose(blocks: list[Block], index: int, scope: Scope, text: str) -> Iterator[Candidate]:
    """Questions on the sentences of the paragraph blocks[index], at most one a main clause."""
    block, above = blocks[index], blocks[index - 1] if index else None
    for number, sentence in enumerate(_sentences(block, scope, text)):
        if "\n>" in text[sentence.start:sentence.end]:
            continue  # a quoted sentence over two lines keeps its markers in the source
        dated = _DATED.fullmatch(sentence.text) if number == 0 else None
        said = dated["said"] if dated else sentence.text
        found = _of_date(said, dated["date"], scope) if dated else None
        if number == 0 and above is not None and above.kind == "heading" and _IS_HEADING.match(said):
            found = _of_heading(said, above.text, scope)
        first, *others = _AND_CLAUSE.split(said)
        asked = [found or ask_sentence(first, scope), *(ask_sentence(_cap(other), scope) for other in others)]
        yield from (_candidate(found, sentence, scope) for found in asked if found)


def _sentences(block: Block, scope: Scope, text: str) -> Iterator[Span]:
    """The sentences of a paragraph, also those that begin with the product, a path or a value in small letters."""
    for sentence in sentences(text, block.start, block.end):
        cuts = [match.end() for match in _SMALL_START.finditer(text, sentence.start, sentence.end)]
        pieces = _pieces(text, [sentence.start, *cuts, sentence.end])
        if cuts and scope.is_entity and all(attribute_of(piece.text.rstrip("."), scope.subject) for piece in pieces):
            yield from pieces
        else:
            named = [cut for cut in cuts if scope.product and text.startswith(scope.product, cut)]
            yield from _pieces(text, [sentence.start, *named, sentence.end]) if named else [sentence]


def _pieces(text: str, edges: list[int]) -> list[Span]:
    raw = [(start, text[start:end].rstrip()) for start, end in zip(edges, edges[1:], strict=False)]
    return [Span(plain(piece), start, start + len(piece)) for start, piece in raw]


def _of_heading(said: str, heading: str, scope: Scope) -> Asked | None:
    """The first sentence of a section, where "this chip" or a bare "this" is what the heading names."""
    if re.match(r"\w+ing\b|(?:how|what|why|when|where|can|if)\b", heading, re.I) or re.search(r'\?$|"', heading):
        return None
    found = ask_sentence(_IS_HEADING.sub(f"{_STAND_IN} ", said, count=1), scope)
    return found._replace(core=found.core.replace(_STAND_IN, f'"{heading}"')) if found else None


def ask_sentence(said: str, scope: Scope) -> Asked | None:
    """The question on one sentence, or None; `said` is its visible text."""
    said = re.sub(r"[.!\s]+$", "", _OPENING.sub("", said.strip(), count=1))
    if not said or said.endswith(("?", ":")) or len(said.split()) > 45:
        return None
    released = _RELEASED.fullmatch(said)
    if released and scope.is_version:
        done = released["done"].lower()
        asked = f"did {scope.subject} become available" if done == "available" else f"was {scope.subject} {done}"
        return Asked(f"when {asked}?", released["date"], True)
    labelled = _LABELLED.fullmatch(said)
    if labelled and scope.is_entity and is_noun(scope.label(labelled["label"])) and is_attribute(labelled["label"]):
        short, _ = scope.attribute(scope.label(labelled["label"]), "are" if is_plural(labelled["label"]) else "is")
        value = value_in(labelled["value"])
        return Asked(f"w{short[1:]}", value, True) if value else None
    for entity in filter(None, (scope.subject if scope.is_entity else "", scope.product)):
        found = attribute_of(said, entity)
        if found:
            return found
    return next((found for pattern in PATTERNS if (found := pattern(said, scope))), None)


def _of_date(said: str, date: str, scope: Scope) -> Asked | None:
    """A dated entry of a change log: what it says was done, asked for its date."""
    said = re.split(r"(?<=\w)[.;]\s|\s\(|, \w+ing\b", said.rstrip(". "), maxsplit=1)[0]
    out = _IS_OUT.fullmatch(said)
    if out:
        return Asked(f"when was {out['who']} released?", date, True)
    done = _HAPPENED.fullmatch(said)
    if not done or not is_participle(done["done"]) or _LOOSE.search(said) or len(said.split()) > 25:
        return None
    target = re.fullmatch(r" (?P<how>to|by|with|into) (?P<what>\S+)", done["rest"])
    who = scope.subject_of(done["who"])
    if target and done["done"] in _REPLACED:
        return Asked(f"what {done['aux']} {who} been {done['done']} {target['how']}?", target["what"])
    if " and " in done["rest"] or "been" in done["rest"]:
        return None
    was = "was" if done["aux"] == "has" or who.startswith("support ") else "were"
    return Asked(f"when {was} {who} {done['done']}{done['rest']}?", date)


def _candidate(found: Asked, sentence: Span, scope: Scope) -> Candidate:
    short, longer = (_cap(found.core),) * 2 if found.is_whole else scope.within(found.core)
    if scope.topic and found.is_whole:
        longer = f'Under "{scope.topic}", {found.core}'
    rank = 0 if re.search(r"\d", found.answer) or found.is_whole else 2 if _OPEN.search(found.core) else 1
    return Candidate(short, found.answer, "natural", sentence.start, sentence.end, longer, rank)


def _cap(core: str) -> str:
    return core[:1].upper() + core[1:]
