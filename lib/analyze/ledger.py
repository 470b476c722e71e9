"""Each answer traced from its words in a document to the texts that an arm was trained on."""

import json
import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from typing import Literal, NamedTuple, get_args

import numpy as np
import pandas as pd

from lib.analyze.tables import COUNTS, fraction, table2
from lib.core.arms import corpus_of, is_rewritten
from lib.core.records import Document, Normalized, Query, Record, Segment, by_document
from lib.core.store import BadInput, artifact_path, made_by, require_path, shown
from lib.core.values import solid, tokens
from lib.documents.markdown import parse
from lib.infer.prompts import tokenizer_of
from lib.judge.scorer import split_items
from lib.train.corpus import Corpus, pack, read_corpus

Stage = Literal["source", "segment", "extraction", "rewrite", "split"]
STAGES: tuple[Stage, ...] = get_args(Stage)
Span = tuple[int, int]
_PART = re.compile(r"(?:(?<![\w)\]])[-−–])?\d+(?:[.,:]\d+)*|[^\W\d_]+|[+#%°=≥≤±$€£¥]")
_GAP = r"(?:\]\([^()\s]*\)|</?\w[^>\n]*>|[\W_])"  # markup, targets of links, punctuation
_SENTENCE = re.compile(r"[^\n]+?(?:[.?!](?=\s)|$)", re.M)


class LedgerRow(Record):
    """One query's answer on its way into an arm's training."""

    query_id: str
    arm: str
    structure: str
    segments: list[str]  # those with the answer's characters
    dropped: str  # why one of these has no rewrite; "" if all have one, and for raw text
    passage: str  # the answer's sentence or line in the text that is (or would be) trained on
    split: Literal["training", "held out", "both"]  # side of the segments that have the items
    lost_at: Stage | Literal[""]  # the first stage that did not keep it complete; "": in training


class Trained(NamedTuple):
    """An arm's training texts, and the name of their corpus."""

    corpus: Corpus
    texts: str


def read_trained(
    study: str, arm: str, segments: list[Segment], normalized: list[Normalized]
) -> Trained:
    """Return what `arm` was trained on, from its own training.json and tokenizer.

    Raises BadInput if the segments and rewrites do not give the blocks that its weights come from.
    """
    folder, notebook = artifact_path(study, "model", arm=arm), made_by("model", arm=arm)
    path = require_path(folder / "training.json", notebook)
    facts = json.loads(path.read_text(encoding="utf-8"))
    kind, held_out = corpus_of(arm, facts.get("texts", "")), facts["held_out"]
    is_titled = facts.get("is_titled", False)
    corpus = read_corpus(study, kind, segments, normalized, held_out, is_titled)
    blocks = pack(corpus.training, tokenizer_of(folder), facts["block_size"], facts["packing"])
    trained = facts.get("own_blocks") or facts["fingerprint"]["data.training"]  # with no replay
    if blocks.digest() != trained:
        raise BadInput(
            f"{shown(path)}: {arm} was trained on other text than segments.jsonl and "
            f"normalized.jsonl hold now: run {notebook} again"
        )
    return Trained(corpus, kind)


def make_ledger(
    queries: list[Query],
    documents: list[Document],
    segments: list[Segment],
    normalized: list[Normalized],
    arms: dict[str, Trained],
) -> list[LedgerRow]:
    """Return one row per query and trained arm."""
    texts = {document.document_id: document.text for document in documents}
    rewrites = {row.segment_id: row for row in normalized}
    of_document = by_document(segments)
    return [
        _trace(query, texts[name], of_document[name], rewrites, arm, trained)
        for arm, trained in arms.items()
        for query in queries
        for name in [query.document_id]
    ]


def _trace(
    query: Query,
    text: str,
    segments: list[Segment],
    rewrites: dict[str, Normalized],
    arm: str,
    trained: Trained,
) -> LedgerRow:
    is_raw, held_out = not is_rewritten(trained.texts), set(trained.corpus.held_out)
    items = split_items(query.answer, query.entity_count)
    found = [nearest(item, text[query.start : query.end], query.question) for item in items]
    spans = [span and (query.start + span[0], query.start + span[1]) for span in found]
    known = [*filter(None, spans)] or [(query.start, query.end)]
    holding = _overlapping(segments, min(known)[0], max(end for _, end in known))
    ids = [one.segment_id for one in holding]
    reasons = [rewrites[one].dropped for one in ids if not is_raw and rewrites[one].dropped]
    if is_raw:
        kept = [span and _in_raw_text(span, text, holding, trained) for span in spans]
    else:  # a rewrite may move a sentence that a border cuts into a neighbour
        near = [one for one in _reached(query, segments, text) if one not in ids]
        kept = [
            _in_rewrites(item, ids, rewrites, query.question, trained)
            or _in_rewrites(item, near, rewrites, query.question, trained)
            for item in items
        ]
    is_there = all(kept)
    homes = {one[0] for one in kept} if is_there and not is_raw else set(ids)
    split = "training" if not homes & held_out else "held out" if homes <= held_out else "both"
    is_whole = len(ids) == 1 or is_there and split != "both"
    reached = [all(found), is_whole, is_there or not reasons, is_there, split == "training"]
    lost = (stage for stage, is_kept in zip(STAGES, reached, strict=True) if not is_kept)
    return LedgerRow(
        query_id=query.query_id,
        arm=arm,
        structure=query.structure,
        segments=ids,
        dropped="; ".join(dict.fromkeys(reasons)),
        split=split,
        passage=" … ".join(dict.fromkeys(one[1] for one in kept if one)),
        lost_at=next(lost, ""),
    )


def _in_raw_text(
    span: Span, text: str, holding: list[Segment], trained: Trained
) -> tuple[str, str] | None:
    own = [one.segment_id for one in _overlapping(holding, *span)]
    texts = {trained.corpus.places.get(name, ("held out",))[0] for name in own}
    return (own[0], around(text, span)) if len(texts) == 1 else None


def _in_rewrites(
    item: str, ids: Iterable[str], rewrites: dict[str, Normalized], question: str, trained: Trained
) -> tuple[str, str] | None:
    found = [(one, span) for one in ids if (span := nearest(item, rewrites[one].text, question))]
    if not found:
        return None
    name, span = min(found, key=lambda pair: pair[0] not in trained.corpus.places)
    return name, around(rewrites[name].text, span)


def _reached(query: Query, segments: list[Segment], text: str) -> list[str]:
    items = [item for block in parse(text) for item in block.items]
    met = [query, *_overlapping(items, query.start, query.end)]
    start, end = min(span.start for span in met), max(span.end for span in met)
    # a rewrite states a list with its lead-in, which may end the segment before
    return [one.segment_id for one in _overlapping(segments, start - 1, end)]


def _overlapping(spans: list, start: int, end: int) -> list:
    return [one for one in spans if one.start < end and start < one.end]


def nearest(item: str, text: str, question: str) -> Span | None:
    """Return the span of `item` whose sentence shares the most words with `question`, or None.

    Case and markup do not count. Failing that, the sentence with its values in another unit.
    """
    asked = set(_words(question))
    spans = [match.span() for match in _pattern(item).finditer(text)] or [
        match.span() for match in _SENTENCE.finditer(text) if _has_values(item, match[0])
    ]
    return max(spans, default=None, key=lambda span: len(asked & set(_words(around(text, span)))))


@lru_cache(4096)
def _pattern(item: str) -> re.Pattern:
    item, place, parts = unicodedata.normalize("NFKC", item.strip()), 0, ""
    for match in _PART.finditer(item):
        if not parts:  # the span of "/etc" has its slash
            parts = f"(?:{re.escape(item[: match.start()])})?"
            parts += r"(?<![-−–])" * match[0][0].isdigit()
        else:
            parts += _GAP + ("*?" if match.start() == place else "+?")
        parts, place = parts + re.escape(match[0]), match.end()
    return re.compile(
        r"(?<![^\W_])(?<![^\W_]_)(?<!\+)(?<!\d[.,:])"
        + (parts or r"(?!)")
        + r"(?!_?[^\W_]|[+#]|[.,:]\d|[-–]\w|/\w)",
        re.I,
    )


def _words(text: str) -> list[str]:
    return _PART.findall(text.casefold())


@lru_cache(65536)
def _values(text: str) -> tuple[tuple[str, object], ...]:
    return tuple((token.kind, token.value) for token in solid(tokens(text)))


def _has_values(item: str, sentence: str) -> bool:
    wanted, there = _values(item), _values(sentence)
    return any(kind != "word" for kind, _ in wanted) and any(
        there[place : place + len(wanted)] == wanted for place in range(len(there))
    )


def around(text: str, span: Span) -> str:
    """Return the sentence or line of `span`, at most 300 characters on either side."""
    begin = max(text.rfind(mark, 0, span[0]) for mark in (". ", "\n", "? ", "! ")) + 1
    ends = [end for mark in (". ", "\n") if (end := text.find(mark, span[1])) >= 0]
    return text[max(begin, span[0] - 300) : min([*ends, len(text), span[1] + 300])].strip()


def ledger_table(ledger: list[LedgerRow], verdicts: pd.DataFrame) -> pd.DataFrame:
    """Return answers complete after each stage by arm and structure, and accuracy on both sides.

    Keys ending in _in are on answers in training, _out on others; 95% intervals over clusters.
    """
    lost = pd.DataFrame(map(vars, ledger), columns=["arm", "query_id", "lost_at"])
    rows = verdicts.merge(lost, on=["arm", "query_id"])
    arrived = {}
    for place, stage in enumerate(STAGES, 1):
        is_lost = rows.lost_at.isin(STAGES[:place])
        arrived[stage] = table2(rows.assign(verdict=np.where(is_lost, "incorrect", "correct")))
    last, sides = arrived["split"], ("in", "out")
    table = last[["arm", "structure", "n"]].rename(columns={"arm": "trained arm"})
    table = table.assign(**{stage: one.correct for stage, one in arrived.items()})
    table = table.assign(share=last.accuracy, low=last.low, high=last.high)
    split = table2(rows.assign(side=np.where(rows.lost_at == "", *sides)), side=sides)
    for side in sides:
        counts = split.loc[split.side == side, COUNTS].reset_index(drop=True)
        table = table.join(counts.add_suffix(f"_{side}"))
    return table


def formatted(table: pd.DataFrame) -> pd.DataFrame:
    """Format `ledger_table` with one row per arm and structure."""
    shares = {
        "in training": ["split", "n", "low", "high"],
        "correct, in training": ["correct_in", "n_in", "low_in", "high_in"],
        "correct, not in training": ["correct_out", "n_out", "low_out", "high_out"],
    }
    text = table[["trained arm", "structure", "n", *STAGES[:-1]]]
    text = text.rename(columns={stage: f"after {stage}" for stage in STAGES})
    return text.assign(
        **{
            name: [fraction(*row, digits=1) for row in table[columns].itertuples(index=False)]
            for name, columns in shares.items()
        }
    )
