"""Ask about plain factual sentences; if no pattern fits, nothing is asked (paper, 3.1)."""

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise

from lib.annotate.constraints import Candidate
from lib.annotate.rules.patterns import PATTERNS, Asked, attribute_of
from lib.annotate.rules.phrases import DATE, is_attribute, value_in
from lib.annotate.rules.tables import is_noun
from lib.annotate.rules.verbs import is_participle
from lib.core.text import is_plural
from lib.documents.blocks import Block, Span, plain, sentences
from lib.documents.subject import Subject

MAX_SENTENCE_WORDS = 45

_OPENING = re.compile(
    r"(?:note that|please note that|note|in general|generally|typically|usually|currently|also|"
    r"additionally|in addition|furthermore|further|moreover|similarly|however|as such|thus|"
    r"therefore|unfortunately),?:?\s+(?=\S)", re.I)
_IS_HEADING = re.compile(
    r"This (?:(?:chip|device|board|module|command|option|parameter|setting|error|sensor|driver|"
    r"tool|method|bootloader|micro-controller|function|macro|message|event|plugin|package|"
    r"component|platform|product|unit) )?(?=(?:is|can|may|will|must|should|\w+s)\b)")
_HEADING = "HEADING0"  # replaces "this chip" while the sentence is matched
_BAD_HEADING = re.compile(r"(?:\w+ing|how|what|why|when|where|can|if)\b|.*(?:\?\Z|\")", re.I)
_AND_CLAUSE = re.compile(
    r"(?: \([^()]*\))?,? and (?=the [^,;]{3,40} (?:is|are|was|were|has|have) )")
_LOWER_START = re.compile(r"(?<=[\w)])\.\s+(?=[a-z/~])")
_LABELLED = re.compile(
    r"(?!(?:notice|note|warning|caution|danger|tip|important|example|hint|todo|see|info)\b)"
    r"(?P<label>[A-Za-z][\w /-]{2,40}): (?P<value>[^:]+)", re.I)
_BROAD = re.compile(  # often true of several things
    r"^what .* (?:offer|use|provide|support|implement|include|contain|store)\?$")
_DATED = re.compile(rf"(?P<date>{DATE}):\s+(?P<text>\S.*)", re.S)
_RELEASED = re.compile(
    rf"(?P<done>available|released|published|issued) (?:on |since |in |from )?(?P<date>{DATE})",
    re.I)
_HAPPENED = re.compile(
    r"(?P<who>.+?) (?P<aux>has|have) (?:now )?been (?P<done>\w+)(?P<rest>.*)", re.S)
_IS_OUT = re.compile(
    r"(?P<who>[A-Z][\w.-]*(?: [\w.-]+){0,3}) (?:is |was |has been )?released", re.S)
_REPLACED = ("renamed", "replaced", "moved", "changed", "increased", "reduced", "raised",
             "superseded")
_REFERS = re.compile(
    r"\b(?:this|these|those|it|its|they|their|them|we|our|you|your|one|above|below|following|"
    r"previous)\b", re.I)


def ask_prose(blocks: Sequence[Block], index: int, about: Subject,
              text: str) -> Iterator[Candidate]:
    """Yield questions about the paragraph blocks[index], at most one per main clause."""
    block, above = blocks[index], blocks[index - 1] if index else None
    for number, sentence in enumerate(_sentences(block, about, text)):
        if "\n>" in text[sentence.start:sentence.end]:
            continue  # a quoted sentence of two lines keeps its markers in the source
        dated = _DATED.fullmatch(sentence.text) if number == 0 else None
        words = dated["text"] if dated else sentence.text
        found = _of_date(words, dated["date"], about) if dated else None
        if number == 0 and above and above.kind == "heading" and _IS_HEADING.match(words):
            found = _of_heading(words, above.text, about)
        first, *others = _AND_CLAUSE.split(words)
        yield from (_candidate(asked, sentence, about) for asked in (
            found or ask_sentence(first, about),
            *(ask_sentence(_capitalized(other), about) for other in others)) if asked)


def ask_sentence(text: str, about: Subject) -> Asked | None:
    """Return the question about one sentence, given as visible text, or None."""
    text = re.sub(r"[.!\s]+$", "", _OPENING.sub("", text.strip(), count=1))
    if not text or text.endswith(("?", ":")) or len(text.split()) > MAX_SENTENCE_WORDS:
        return None
    released = _RELEASED.fullmatch(text)
    if released and about.is_version:
        done = released["done"].lower()
        core = f"when was {about.name} {done}?"
        if done == "available":
            core = f"when did {about.name} become available?"
        return Asked(core, released["date"], True)
    labelled = _LABELLED.fullmatch(text)
    if labelled and about.is_entity and is_attribute(labelled["label"]):
        label, value = about.label(labelled["label"]), value_in(labelled["value"])
        if is_noun(label):
            verb = "are" if is_plural(labelled["label"]) else "is"
            core = about.attribute(label, verb)[0]
            return Asked(f"w{core[1:]}", value, True) if value else None
    for entity in filter(None, (about.name if about.is_entity else "", about.product)):
        if found := attribute_of(text, entity):
            return found
    return next((found for pattern in PATTERNS if (found := pattern(text, about))), None)


def _sentences(block: Block, about: Subject, text: str) -> Iterator[Span]:
    """Split also before the product, a path or a value in lower case."""
    for sentence in sentences(text, block.start, block.end):
        cuts = [match.end() for match in _LOWER_START.finditer(text, sentence.start, sentence.end)]
        pieces = _pieces(text, [sentence.start, *cuts, sentence.end])
        if cuts and about.is_entity and all(
                attribute_of(piece.text.rstrip("."), about.name) for piece in pieces):
            yield from pieces
        else:
            named = [cut for cut in cuts if about.product and text.startswith(about.product, cut)]
            edges = [sentence.start, *named, sentence.end]
            yield from _pieces(text, edges) if named else [sentence]


def _pieces(text: str, edges: list[int]) -> list[Span]:
    raw = [(start, text[start:end].rstrip()) for start, end in pairwise(edges)]
    return [Span(plain(piece), start, start + len(piece)) for start, piece in raw]


def _of_heading(text: str, heading: str, about: Subject) -> Asked | None:
    """Ask about a section's first sentence, in which "this chip" is what the heading names."""
    if _BAD_HEADING.match(heading):
        return None
    found = ask_sentence(_IS_HEADING.sub(f"{_HEADING} ", text, count=1), about)
    return found._replace(core=found.core.replace(_HEADING, f'"{heading}"')) if found else None


def _of_date(text: str, date: str, about: Subject) -> Asked | None:
    """Ask about a dated entry in a change log: for the date, or for a replacement."""
    text = re.split(r"(?<=\w)[.;]\s|\s\(|, \w+ing\b", text.rstrip(". "), maxsplit=1)[0]
    out, done = _IS_OUT.fullmatch(text), _HAPPENED.fullmatch(text)
    if out:
        return Asked(f"when was {out['who']} released?", date, True)
    if (not done or not is_participle(done["done"]) or _REFERS.search(text)
            or len(text.split()) > 25):
        return None
    target = re.fullmatch(r" (?P<how>to|by|with|into) (?P<what>\S+)", done["rest"])
    who = about.inside(done["who"])
    if target and done["done"] in _REPLACED:
        core = f"what {done['aux']} {who} been {done['done']} {target['how']}?"
        return Asked(core, target["what"])
    if " and " in done["rest"] or "been" in done["rest"]:
        return None
    was = "was" if done["aux"] == "has" or who.startswith("support ") else "were"
    return Asked(f"when {was} {who} {done['done']}{done['rest']}?", date)


def _candidate(asked: Asked, sentence: Span, about: Subject) -> Candidate:
    short, longer = about.within(asked.core)
    if asked.is_complete:
        short = longer = _capitalized(asked.core)
        longer = f'Under "{about.topic}", {asked.core}' if about.topic else short
    rank = 2 if _BROAD.search(asked.core) else 1
    if re.search(r"\d", asked.answer) or asked.is_complete:
        rank = 0
    return Candidate(short, asked.answer, "natural", sentence.start, sentence.end, longer, rank)


def _capitalized(core: str) -> str:
    return core[:1].upper() + core[1:]
