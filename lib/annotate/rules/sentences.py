"""Ask about plain factual sentences; if no pattern fits, nothing is asked (paper, 3.1)."""

import re
from collections.abc import Iterator
from itertools import pairwise

from lib.annotate.constraints import Candidate
from lib.annotate.rules.codes import ask_code
from lib.annotate.rules.grammar import DATE, is_noun_phrase
from lib.annotate.rules.patterns import Asked, ask_clause, attribute_of, lowered
from lib.annotate.rules.places import Place, Site
from lib.annotate.rules.verbs import is_participle
from lib.documents.blocks import plain, sentences
from lib.documents.reader import Block, Span

MAX_SENTENCE_WORDS = 35
MAX_SENTENCE_CHARACTERS = 600  # with link targets; a pattern takes time in proportion to its square
NO_PATTERN = "no sentence of the paragraph is one plain clause about a named thing"

_OPENING = re.compile(
    r"(?:(?:additionally|furthermore|moreover|in addition|however|therefore|thus|hence|similarly|"
    r"currently),? |(?:please )?note(?: that|:) )(?=\S)", re.I)
_LOWER_START = re.compile(r"(?<=[\w)])\.\s+(?=[a-z/~])")
_DATED = re.compile(rf"(?P<date>{DATE}):\s+(?P<text>\S.*)", re.S)
_RELEASED = re.compile(
    rf"(?P<done>available|released|published|issued) (?:on |since |in |from )?(?P<date>{DATE})",
    re.I)
_HAPPENED = re.compile(
    r"(?P<who>.+?) (?P<aux>has been|have been|was|were) (?P<done>\w+)(?P<rest>.*)", re.S)
_IS_OUT = re.compile(
    r"(?P<who>[A-Z][\w.-]*(?: [\w.-]+){0,3}) (?:is |was |has been )?released", re.S)
_INDEFINITE = re.compile(r"(?:an?|several|some|many|various|multiple|new|more) ", re.I)
_REPLACED = ("renamed", "replaced", "moved", "changed", "increased", "reduced", "raised",
             "superseded")
_REFERENCE_LINK = re.compile(r"\[([^\[\]\n]+)\]\[[^\[\]\n]*\]")
_MARKUP = re.compile(r"^\s*(?:>\s*)?(?:!!!|\?\?\?|:::)|\{[%:]|\n\s*>", re.M)  # of other dialects


def ask_prose(site: Site) -> Iterator[Candidate | str]:
    """Yield questions about a paragraph, at most one per sentence, or why there is none."""
    place, text, found = site.place, site.text, False
    for number, sentence in enumerate(_sentences(site.block, place, text)):
        is_long = sentence.end - sentence.start > MAX_SENTENCE_CHARACTERS
        raw = _REFERENCE_LINK.sub(r"\1", text[sentence.start:sentence.end])
        if is_long or _MARKUP.search(raw):
            continue
        sentence = Span(_REFERENCE_LINK.sub(r"\1", sentence.text), sentence.start, sentence.end)
        dated = _DATED.fullmatch(sentence.text) if number == 0 else None
        asked = (_of_date(dated["text"], dated["date"], place) if dated
                 else ask_sentence(sentence.text, place))
        if asked := asked or (None if dated else ask_code(raw)):
            found = True
            yield _candidate(asked, sentence, place)
    if not found:
        yield NO_PATTERN


def ask_sentence(text: str, place: Place) -> Asked | None:
    """Return the question about one sentence, given as visible text, or None."""
    text = re.sub(r"[.!\s]+$", "", _OPENING.sub("", text.strip()))
    text = text[:1].upper() + text[1:] if text[:4].lower() in ("the ", "all ") else text
    if not text or text.endswith(("?", ":")) or len(text.split()) > MAX_SENTENCE_WORDS:
        return None
    released = _RELEASED.fullmatch(text)
    if released and place.subject.is_version:
        done = released["done"].lower()
        core = f"when was {place.name} {done}?"
        if done == "available":
            core = f"when did {place.name} become available?"
        return Asked(core, released["date"], True)
    for entity in filter(None, (place.name if place.is_entity else "", place.subject.product)):
        if found := attribute_of(text, entity):
            return found
    return ask_clause(text, place)


def _sentences(block: Block, place: Place, text: str) -> Iterator[Span]:
    for sentence in sentences(text, block.start, block.end):
        cuts = [match.end() for match in _LOWER_START.finditer(text, sentence.start, sentence.end)]
        pieces = _pieces(text, [sentence.start, *cuts, sentence.end])
        if cuts and place.is_entity and all(
                attribute_of(piece.text.rstrip("."), place.name) for piece in pieces):
            yield from pieces
        else:
            named = [cut for cut in cuts if text.startswith(place.name, cut)]
            edges = [sentence.start, *named, sentence.end]
            yield from _pieces(text, edges) if named else [sentence]


def _pieces(text: str, edges: list[int]) -> list[Span]:
    raw = [(start, text[start:end].rstrip()) for start, end in pairwise(edges)]
    return [Span(plain(piece), start, start + len(piece)) for start, piece in raw]


def _of_date(text: str, date: str, place: Place) -> Asked | None:
    text = re.split(r"(?<=\w)[.;]\s", text.rstrip(". "), maxsplit=1)[0]
    text = re.sub(r"\s\([^()]*\)$", "", text)  # says more of the same event
    out, done = _IS_OUT.fullmatch(text), _HAPPENED.fullmatch(text)
    if out:
        return Asked(f"when was {out['who']} released?", date, True)
    if not done or not is_participle(done["done"]) or not is_noun_phrase(done["who"]) or (
            _INDEFINITE.match(done["who"])):
        return None
    target = re.fullmatch(r" (?P<how>to|by|with|into) (?P<what>\S+)", done["rest"])
    who = lowered(done["who"], place) or done["who"]
    if target and done["done"] in _REPLACED:
        first, _, been = done["aux"].partition(" ")
        verb = f"{been} {done['done']}".strip()
        return Asked(f"what {first} {who} {verb} {target['how']}?", target["what"])
    rest = re.fullmatch(r"(?: (?:to|from|in|by|with|for|on) (?P<what>.+))?", done["rest"])
    if not rest or rest["what"] and not is_noun_phrase(rest["what"]):
        return None
    was = "were" if done["aux"] in ("have been", "were") else "was"
    return Asked(f"when {was} {who} {done['done']}{done['rest']}?", date)


def _candidate(asked: Asked, sentence: Span, place: Place) -> Candidate:
    # what a sentence says may hold in its section only
    forms = place.within(asked.core)[-1:]
    if asked.is_complete:
        forms = (asked.core[:1].upper() + asked.core[1:],)
        if place.section and not place.subject.is_version:
            forms += (f'Under "{place.section}", {asked.core}',)
    rank = 0 if re.search(r"\d", asked.answer) or asked.is_complete else 1
    return Candidate(forms, asked.answer, "prose", sentence.start, sentence.end, rank)
