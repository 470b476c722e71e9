"""Measure what documents consist of and what rewriting costs in tokens and dollars (paper, 3.2)."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import pandas as pd
from lib.core.untrusted import defused
from lib.normalize.interventions import INTERVENTIONS

from lib.core.arms import AUGMENTED
from lib.core.files import made_by
from lib.core.prompts import prompt_template
from lib.core.records import STRUCTURES, Augmented, Document, Normalized, Query, Segment
from lib.documents.blocks import STRUCTURE_OF, Block, parse, sentences
from lib.llm.prices import cost_usd, price_of
from lib.llm.tokens import counter
from lib.train.texts import corpus_of

if TYPE_CHECKING:  # slow to import, and only named here
    from transformers import PreTrainedTokenizerBase

# kinds of blocks; "other" is raw HTML, and whitespace between blocks
KINDS = ("prose", "list", "table", "code", "heading", "other")
NORMALIZED, MIXED = "normalized", "mixed"
SHARES = ["kind", "structure", "blocks", "tokens", "text_share", "statements", "statement_share",
          "queries", "query_share"]
TRAINING = ["intervention", "tokens_before", "tokens_after", "tokens_added_percent",
            "corpus_before", "corpus_after"]
MODEL = ["sent", "segments", "tokens_in", "overhead_tokens", "tokens_out", "usd", "usd_batch",
         "model", "price", "counted"]
# a reply without its rewrite, as in prompts/normalize.md, with a remark of typical length
REPLY_FORM = ("Rating: 7\nRemark: Clear facts on one product, but in a table that a reader has to "
              "put together.\nConversion to High-Quality Data:<<<<{{  }}>>>>")
_MESSAGE_TOKENS = 4  # added by a chat template, as in lib.llm.budget.plan
_SENT: dict[str, set[str]] = {
    "every segment": set(), "segments with a list or table": {"entity-list", "tabular"},
    "segments with a list": {"entity-list"}, "segments with a table": {"tabular"}}


def shares(documents: list[Document], queries: list[Query],
           tokenizer: "PreTrainedTokenizerBase") -> pd.DataFrame:
    """Return one row per kind of block: tokens, statements and queries, with their shares.

    The columns are SHARES. A token counts for the innermost block that holds its last character. A
    statement is a sentence of prose, a list item or a table row; only some of them are queried. A
    query counts for its structure. Code, headings and the rest have no statements or queries.
    """
    n_blocks, n_tokens, n_statements = Counter(), Counter(), Counter()
    for document in documents:
        blocks = parse(document.text)
        for block in blocks:
            n_blocks[_kind(block)] += 1
            n_statements[_kind(block)] += len(block.items) + len(block.rows)
            if block.kind == "prose":
                n_statements["prose"] += len(sentences(document.text, block.start, block.end))
        kinds = _kinds_of_characters(document.text, blocks)
        encoded = tokenizer(document.text, add_special_tokens=False, return_offsets_mapping=True,
                            verbose=False)
        n_tokens.update(KINDS[kinds[max(start, end - 1)]]
                        for start, end in encoded["offset_mapping"])
    n_queries = Counter(query.structure for query in queries)
    rows = []
    for kind in KINDS:
        structure = STRUCTURE_OF.get(kind, "")
        rows.append((kind, structure, n_blocks[kind],
                     n_tokens[kind], n_tokens[kind] / max(n_tokens.total(), 1),
                     n_statements[kind], n_statements[kind] / max(n_statements.total(), 1),
                     n_queries[structure], n_queries[structure] / max(len(queries), 1)))
    return pd.DataFrame(rows, columns=SHARES)


def mix_of(table: pd.DataFrame) -> dict[str, float]:
    """Map each structure to its share of all queries, from `shares`."""
    return {structure: float(table.query_share[table.structure == structure].sum())
            for structure in STRUCTURES}


def _kind(block: Block) -> str:
    return block.kind if block.kind in KINDS else "other"


def _kinds_of_characters(text: str, blocks: Sequence[Block]) -> bytearray:
    """Return for each character the index in KINDS of the innermost block that holds it."""
    kinds = bytearray([KINDS.index("other")]) * len(text)
    for block in sorted(blocks, key=lambda block: block.start - block.end):  # the largest first
        index, length = KINDS.index(_kind(block)), block.end - block.start
        kinds[block.start:block.end] = bytes([index]) * length
    return kinds


def training_costs(documents: list[Document], segments: list[Segment],
                   normalized: list[Normalized], tokenizer: "PreTrainedTokenizerBase",
                   corpus_tokens: int = 0, augmented: Sequence[Augmented] = ()) -> pd.DataFrame:
    """Return the tokens of one epoch with each intervention, in columns TRAINING.

    The interventions of lib.normalize.interventions are applied to the documents. NORMALIZED means
    training on `normalized`, MIXED on raw text and `normalized`, AUGMENTED on raw text and
    `augmented` (left out if there are none). The tokens are scaled to a corpus of `corpus_tokens`
    before any intervention (0: these documents). Raises ValueError if that is negative or there are
    no tokens to scale from.
    """
    if corpus_tokens < 0:
        raise ValueError(f"corpus_tokens is {corpus_tokens}: give the number of tokens, or 0 for "
                         "these documents alone")
    count = _counting(tokenizer)
    before, rewritten, more = (
        sum(map(count, corpus_of(segments, normalized, arm, [], augmented).training))
        for arm in ("dapt", "dapt-n", AUGMENTED))
    if not before:
        raise ValueError("the documents have no tokens: there is nothing to train on, run "
                         f"{made_by('documents')} again")
    after = {NORMALIZED: rewritten, MIXED: before + rewritten,
             **({AUGMENTED: more} if augmented else {}),
             **{name: sum(count(intervene(document).strip()) for document in documents)
                for name, intervene in INTERVENTIONS.items()}}
    size = corpus_tokens or before
    return pd.DataFrame([(name, before, tokens, 100 * (tokens / before - 1), size,
                          round(size * tokens / before)) for name, tokens in after.items()],
                        columns=TRAINING)


def model_costs(documents: list[Document], segments: list[Segment], normalized: list[Normalized],
                model: str, tokenizer: "PreTrainedTokenizerBase", corpus_tokens: int = 0,
                document_kind: str = "technical records") -> pd.DataFrame:
    """Return the costs of rewriting by `model`: all segments, or those with a list or table.

    The columns are MODEL. Each segment with a word is one call. Its prompt is prompts/normalize.md
    with the title and the segment; overhead_tokens counts the prompt without these. Its reply is
    assumed to be REPLY_FORM with the rewrite in `normalized`, or with the segment if that was
    dropped. Tokens are counted as `counted` says, and scaled to `corpus_tokens`. If prices.csv has
    no row for `model`, price is "price unknown" and the dollars are NaN.
    """
    count, counted = counter(model)
    price, own = price_of(model), _counting(tokenizer)
    titles = {document.document_id: document.title for document in documents}
    rewrites = {row.segment_id: row.text for row in normalized}
    scale = 1.0
    if corpus_tokens:
        scale = corpus_tokens / max(sum(own(one.text) for one in segments), 1)

    def tokens_in(title: str, text: str) -> int:
        prompt = prompt_template("normalize").render(
            document_kind=document_kind, title=defused(title, "document_title|part"),
            language="en", segment=defused(text, "document_title|part"))
        return count(prompt) + _MESSAGE_TOKENS

    overhead, form = tokens_in("", ""), count(REPLY_FORM)
    structures = _structures_of(documents, segments)
    calls = [(structures[one.segment_id],
              tokens_in(titles[one.document_id], one.repeated + one.text),
              form + count(rewrites.get(one.segment_id) or one.text))
             for one in segments if re.search(r"\w", one.text)]
    rows = []
    for sent, wanted in _SENT.items():
        chosen = [call for call in calls if not wanted or call[0] & wanted]
        n_in, n_out = (round(scale * sum(call[side] for call in chosen)) for side in (1, 2))
        usd = [cost_usd(price, n_in, n_out, batch) if price else float("nan")
               for batch in (False, True)]
        rows.append((sent, round(scale * len(chosen)), n_in, overhead, n_out, *usd, model,
                     f"prices of {price.as_of}" if price else "price unknown", counted))
    return pd.DataFrame(rows, columns=MODEL)


def _structures_of(documents: list[Document], segments: list[Segment]) -> dict[str, set[str]]:
    """Map each segment_id to the structures of the blocks that the segment overlaps."""
    blocks = {document.document_id: parse(document.text) for document in documents}
    return {one.segment_id: {STRUCTURE_OF[block.kind] for block in blocks[one.document_id]
                             if block.kind in STRUCTURE_OF
                             and block.start < one.end and one.start < block.end}
            for one in segments}


def _counting(tokenizer: "PreTrainedTokenizerBase") -> Callable[[str], int]:
    return lambda text: len(tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])
