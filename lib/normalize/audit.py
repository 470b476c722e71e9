"""Audit what a rewrite lost or invented: numbers, names, items, negations (paper, 3.2)."""

import re
import unicodedata
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from html import unescape
from itertools import pairwise, product
from typing import NamedTuple

import pandas as pd

from lib.core.records import (
    STRUCTURES,
    Augmented,
    Document,
    Normalized,
    Record,
    Segment,
    structure_of,
)
from lib.core.values import tokens
from lib.documents.markdown import parse, untagged

# unit: an amount; item: a short list item or table cell, kept or lost as a unit
KINDS = ("number", "unit", "path", "version", "name", "item", "negation")
_WORD_KINDS = {  # of a single word; any other is a name
    "version": re.compile(r"\A(?:v?\d+(?:\.\d+){2,}\S*|v\d+(?:\.\d+)*\S*)", re.I),
    "path": re.compile(
        r"\A(?:\S*\w?[/\\]\w\S*|(?:[\d\W](?<!\s))*[^\W\d]\S*\.[A-Za-z][A-Za-z0-9]{0,4})"
    ),
    "number": re.compile(r"\A\W*\d[\d.,:/%°–-]*[^\W\d_]{0,3}\W*"),
}
Facts = dict[str, list[str]]  # by kind
_CHANGES = ("said", "lost", "written", "invented")

SHORT_WORDS = 8  # a cell or item of up to this many words counts as a name
_WORD = re.compile(r"[^\s()\[\]{}<>\"'`*|,;“”‘’]+")
_UNSEEN = re.compile(
    r"<!--(?:(?!<!--).)*?-->|\]\(#[^()\s]*\)|\]\[(?!\d+\])[^\]\n]*\]|^[ >]*\[[^\]\n]+\]:|"
    r"^[ \t]*#{1,6}[ \t]",
    re.M | re.S,
)
_ADDRESS = re.compile(r"<[a-z]+\s[^<>]*?\b(?:href|src)\s*=\s*[\"']([^\"'<>#][^\"'<>]*)[\"']", re.I)
_FACTUAL = re.compile(r"\d|\w[_/\\.@]\w|^/\w|[a-z][A-Z]|[A-Z]{2}")
NEAR = 4  # content words on each side by which two negations are compared
ALIKE_SHARE = 0.5  # of these words that two negations must have in common

_TOKEN = re.compile(r"[^\W_]+(?:[._@:+'-]+[^\W_]+)*")
_TARGET = re.compile(
    r"(?<!\S)[^\s/]*+/\S*"
)  # paths and link targets, which are compared as words elsewhere
_SENTENCE = re.compile(r"(?<=[.!?])(?<!\.\.\.)[\"')\]]*\s+|\n+|(?<!\\)\|")
_ENDING = re.compile(r"(?<=\w{4})(?:ies|ied|ing|ed|es|ly|s|e|y)$")
_FLAG = re.compile(r"\bno\b(?!\s+\w)", re.I)  # "Required: no" has no verb to negate
_NEGATORS = frozenset("not no never neither nor cannot without nothing nobody nowhere".split())
_NEGATIVE = re.compile(  # words that can replace a negator: "not enabled" is "disabled"
    r"(?:un(?!i|der|til|less)|dis(?!k|play|t|c|p|h)|in(?:valid|capable|active|correct|dependent)|"
    r"im(?:possible|mutable)|ir(?:relevant|reversible)|non)\w{2,}|lack\w*|fail\w*|miss\w*|absent|"
    r"absence|prevent\w*|avoid\w*|refus\w*|reject\w*|forbid\w*|prohibit\w*|exclud\w*|except|omit\w*|"
    r"ignor\w*|skip\w*|unless|instead|rather|only|hardly|stop\w*|empty|optional"
)
_STOP = frozenset(
    """
a an the this that these those and or but if then else so as of for in on at by to from with into
than is are was were be been being am has have had do does did can could may might must should
shall will would it its they them their there here you your we our he she which who whom whose what
when where while how all any each every some such only also just more most other both either one two
about above after before below between during over under up out off again further once same own too
very not no nor never cannot without reads read given gives go goes lines line section
text continued ends end list row label value document metadata following follows include includes
comprise comprises image done""".split()
)


class SegmentAudit(Record):
    """One segment compared with its rewrite: words, amounts and items by kind, each once."""

    segment_id: str
    document_id: str
    dropped: str  # why there is no rewrite
    said: Facts  # in the segment
    written: Facts  # in its rewrite, of which no items are taken
    lost: Facts  # in the segment, neither in its rewrite nor in the neighbours'
    invented: Facts  # in the rewrite, and nowhere in the document

    def number(self, *changes: str, kinds: Sequence[str] = KINDS) -> int:
        """Count these changes over `kinds`; a change may also be said or written."""
        return sum(len(getattr(self, change)[kind]) for change in changes for kind in kinds)

    @property
    def fault(self) -> str:
        """Return what is lost or invented, but for names that are in no item; "" if nothing is."""
        said = [
            f"{change} {', '.join(words)}"
            for change, facts in (("it lacks", self.lost), ("only it says", self.invented))
            if (words := [word for kind in KINDS if kind != "name" for word in facts[kind]][:12])
        ]
        return " and ".join(said)


def audit(
    segments: list[Segment], documents: list[Document], normalized: list[Normalized]
) -> list[SegmentAudit]:
    """Return one row per segment, worst first: most lost and invented.

    Words are compared as a set. A number with a unit counts as an amount (30 s is 0.5 min).
    Raises KeyError for a segment without a row in `normalized` or without its document.
    """
    rewrites = {row.segment_id: row for row in normalized}
    near = defaultdict(list)
    for before, after in pairwise(segments):
        if before.document_id == after.document_id:
            near[before.segment_id].append(rewrites[after.segment_id].text)
            near[after.segment_id].append(rewrites[before.segment_id].text)
    rows = _audited(
        segments,
        documents,
        [(rewrites[one.segment_id], "\n\n".join(near[one.segment_id])) for one in segments],
    )
    return sorted(rows, key=lambda row: -row.number("lost", "invented"))


def audit_texts(
    texts: Sequence[Augmented], segments: list[Segment], documents: list[Document]
) -> list[SegmentAudit]:
    """Return one row per augmented text, in their order, compared with its segment as above.

    What a text leaves out is lost. Raises KeyError for an unknown segment or document.
    """
    of_segment = {segment.segment_id: segment for segment in segments}
    return _audited(
        [of_segment[row.segment_id] for row in texts], documents, [(row, "") for row in texts]
    )


def kinds_table(rows: list[SegmentAudit]) -> pd.DataFrame:
    """One row per kind, "all" last: said, lost, lost_percent of said, written, invented,
    invented_percent of written."""
    table = pd.DataFrame(
        {
            name: {kind: sum(row.number(name, kinds=[kind]) for row in rows) for kind in KINDS}
            for name in _CHANGES
        }
    )
    table.loc["all"] = table.sum()
    for part, of in (("lost", "said"), ("invented", "written")):
        share = 100 * table[part] / table[of].where(table[of] > 0)
        table.insert(table.columns.get_loc(part) + 1, f"{part}_percent", share.astype(float))
    return table.rename_axis("kind").reset_index()


def segments_table(rows: list[SegmentAudit]) -> pd.DataFrame:
    """The worst 30 changed segments: counts, the words that are lost or invented, and why."""
    changed = [row for row in rows if row.dropped or row.number("lost", "invented")][:30]
    cells = [
        (
            row.segment_id,
            *map(row.number, _CHANGES),
            _shortened(row.lost),
            _shortened(row.invented),
            row.dropped,
        )
        for row in changed
    ]
    columns = ["segment", *_CHANGES, "words lost", "words invented", "dropped"]
    return pd.DataFrame(cells, columns=columns)


def words_by_structure(segments: list[Segment], rewrites: list[Normalized]) -> pd.DataFrame:
    """Count the words of each structure that are kept as they are, rewritten, or in no rewrite."""
    counts = {name: dict.fromkeys(("kept", "rewritten", "lost"), 0) for name in STRUCTURES}
    for segment, rewrite in zip(segments, rewrites, strict=True):
        text = " ".join(rewrite.text.split())
        for block in parse(segment.text):
            if structure := structure_of(block.kind):
                words = segment.text[block.start : block.end].split()
                is_kept = " ".join(words) in text
                fate = "lost" if rewrite.dropped else "kept" if is_kept else "rewritten"
                counts[structure.name][fate] += len(words)
    return pd.DataFrame(counts).T.rename_axis("structure")


# List items and table cells of up to SHORT_WORDS words, with their starts
def _short_items(source: str) -> list[tuple[int, str]]:
    return [
        (span.start, span.text)
        for block in parse(source)
        for span in (*block.items, *(cell for row in block.rows for cell in row))
        if re.search(r"\w", span.text) and len(span.text.split()) <= SHORT_WORDS
    ]


def _words_in(text: str) -> frozenset[str]:
    return frozenset(map(_folded, set(_WORD.findall(_bare(text)))))


def _bare(text: str) -> str:
    return re.sub(r"`|\*\*|(?<=\S)\[\^[^\W_][\w-]*\]", "", unescape(text))


def _folded(word: str) -> str:
    word = re.sub(r"\\(?=[!-/:-@\[-`{-~])", "", word)
    return unicodedata.normalize("NFKC", word).casefold().strip(".:!?_-–—=~#\\")


class _Negation(NamedTuple):
    sentence: str
    word: str  # a negative word such as "disabled" without its ending; "" for a negator
    near: frozenset[str]  # content words around it


# Markdown, compared without case, markup and surrounding punctuation. `items` are its short items
# and cells, where its document is parsed already.
@dataclass
class _Text:
    text: str
    items: Sequence[str] | None = None

    # The words that carry facts, in order: folded -> as first written. These are numbers, versions,
    # paths, code names and capitals anywhere, and every word of short items and cells. What a
    # reader never sees does not count: targets within the page, labels of link definitions, HTML
    # comments, and HTML tags except for the addresses of links and images.
    @cached_property
    def words(self) -> dict[str, str]:
        items = self.items
        if items is None:
            items = [text for _, text in _short_items(self.text)]
        named = {_folded(word) for text in items for word in _WORD.findall(text)}
        found = {}
        visible = untagged(_ADDRESS.sub(r"\1 \g<0>", _UNSEEN.sub(" ", self.text)))
        for word in dict.fromkeys(_WORD.findall(_bare(visible))):
            folded = _folded(word)
            if folded and (folded in named or _FACTUAL.search(word)):
                found.setdefault(folded, word)
        return found

    @cached_property
    def every_word(self) -> frozenset[str]:
        return _words_in(self.text)

    @cached_property
    def amounts(self) -> dict[object, str]:
        numbers = (one for one in tokens(unescape(self.text)) if one.kind == "number")
        return {one.value: one.text for one in numbers if one.value[0]}  # with a unit

    @cached_property
    def negations(self) -> list[_Negation]:
        found = []
        for sentence in filter(None, map(str.strip, _SENTENCE.split(self.text))):
            words = _folded_words(sentence)
            for place, word in enumerate(words):
                is_negator = word in _NEGATORS or word.endswith("n't")
                if is_negator or _NEGATIVE.fullmatch(word):
                    before = [one for one in words[:place] if one not in _STOP][-NEAR:]
                    after = [one for one in words[place + 1 :] if one not in _STOP][:NEAR]
                    stem = "" if is_negator else word
                    found.append(_Negation(sentence, stem, frozenset([*before, *after])))
        return found

    def missing_in(self, other: "_Text") -> Facts:
        inside = {part for text in self.amounts.values() for part in (text, *text.split())}
        found = {kind: [] for kind in KINDS}
        for folded, word in self.words.items():
            word = word.rstrip(".:!?") or word  # it may have ended a sentence
            matches = (kind for kind, one in _WORD_KINDS.items() if one.fullmatch(word[:200]))
            kind = next(matches, "name")
            if folded not in other.every_word and (kind != "number" or word not in inside):
                found[kind].append(word)
        found["unit"] = [text for value, text in self.amounts.items() if value not in other.amounts]
        found["item"] = [
            item for item in self.items or () if not _words_in(item) - {""} <= other.every_word
        ]
        found["negation"] = _unmatched(self.negations, other.negations)
        return found


def _audited(
    segments: Sequence[Segment],
    documents: list[Document],
    rewrites: Sequence[tuple[Normalized | Augmented, str]],
) -> list[SegmentAudit]:
    by_id, nothing = {document.document_id: document for document in documents}, _Text("")
    items = cache(lambda name: sorted(_short_items(by_id[name].text)))
    whole = cache(lambda name: _Text(f"{by_id[name].title}\n\n{by_id[name].text}"))

    @lru_cache(1)  # the texts of a segment follow each other
    def said_in(segment: Segment) -> _Text:
        of_document = items(segment.document_id)
        first, last = (bisect_left(of_document, (at,)) for at in (segment.start, segment.end))
        return _Text(segment.text, [text for _, text in of_document[first:last]])

    rows = []
    for segment, (rewrite, near) in zip(segments, rewrites, strict=True):
        said, written = said_in(segment), _Text(rewrite.text)
        new = written.missing_in(said)
        invented = written.missing_in(whole(segment.document_id)) if any(new.values()) else new
        rows.append(
            SegmentAudit(
                segment_id=segment.segment_id,
                document_id=segment.document_id,
                dropped=rewrite.dropped,
                said=said.missing_in(nothing),
                written=written.missing_in(nothing),
                lost=said.missing_in(_Text(f"{rewrite.text}\n\n{near}")),
                invented=invented,
            )
        )
    return rows


def _shortened(words: Facts) -> str:
    every = [word for kind in KINDS for word in words[kind]]
    more = f" and {len(every) - 12} more" if len(every) > 12 else ""
    return ", ".join(every[:12]) + more


# The sentences of the negators in `mine` without a counterpart near the same words. Each
# counterpart in `theirs` is used once: a negator, or a negative word that `mine` lacks.
def _unmatched(mine: Sequence[_Negation], theirs: Sequence[_Negation]) -> list[str]:
    n_words = Counter(one.word for one in mine)
    n_words.subtract(one.word for one in theirs)
    left = [one for one in mine if not one.word]
    free = [one for one in theirs if not one.word or n_words[one.word] < 0]
    pairs = product(left, free)
    for pair in sorted(pairs, key=lambda pair: (-_alike(*pair), bool(pair[1].word))):
        if _alike(*pair) >= ALIKE_SHARE and pair[0] in left and pair[1] in free:
            left.remove(pair[0])
            free.remove(pair[1])
    return [one.sentence for one in left]


def _alike(one: _Negation, other: _Negation) -> float:
    size = min(len(one.near), len(other.near))
    return len(one.near & other.near) / size if size else float(one.near == other.near)


def _folded_words(text: str) -> list[str]:
    plain = _FLAG.sub("no-flag", unicodedata.normalize("NFKC", text).replace("’", "'"))
    found = _TOKEN.findall(_TARGET.sub(" ", plain.casefold()))
    return [
        word if re.search(r"\d", word) or word in _STOP else _ENDING.sub("", word) for word in found
    ]
