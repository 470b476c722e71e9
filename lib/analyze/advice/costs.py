"""What my documents are made of, and what each intervention costs for the rest of a corpus: tokens, dollars (3.2)."""

import re
from collections.abc import Callable

import pandas as pd
from transformers import PreTrainedTokenizerBase

from lib.core.prompts import prompt_template
from lib.core.records import STRUCTURES, Document, Normalized, Query, Segment
from lib.core.untrusted import defused
from lib.documents.blocks import STRUCTURE_OF, Block, parse, sentences
from lib.llm.prices import cost_usd, price_of
from lib.llm.tokens import counter
from lib.normalize.interventions import INTERVENTIONS
from lib.train.texts import corpus_of

KINDS = ("prose", "list", "table", "code", "heading", "other")  # of a block; other: raw HTML, blanks between blocks
NORMALIZED, MIXED = "normalized", "mixed"
SHARES = ["kind", "structure", "blocks", "tokens", "text_share", "statements", "statement_share", "queries",
          "query_share"]
TRAINING = ["intervention", "tokens_before", "tokens_after", "tokens_added_percent", "corpus_before", "corpus_after"]
MODEL = ["sent", "segments", "tokens_in", "overhead_tokens", "tokens_out", "usd", "usd_batch", "model", "price",
         "counted"]
# A reply around its rewrite: the form of prompts/normalize.md with a remark of ordinary length.
REPLY_FORM = ("Rating: 7\nRemark: Clear facts on one product, but in a table that a reader has to put together.\n"
              "Conversion to High-Quality Data:<<<<{{  }}>>>>")
_MESSAGE_TOKENS = 4  # a chat template's own, as lib.llm.plan reckons
Count = Callable[[str], int]


def shares(documents: list[Document], queries: list[Query], tokenizer: PreTrainedTokenizerBase) -> pd.DataFrame:
    """One row a kind of block: how many, and tokens, statements and queries with their shares of all; columns SHARES.

    A token counts for the innermost block that holds its last character. A statement is a sentence of prose, a list
    item or a table row: documents may have far more of them than are asked about. A query counts for its structure,
    whatever the parser sees there; code, headings and the rest carry neither.
    """
    n_blocks, n_tokens, n_said = (dict.fromkeys(KINDS, 0) for _ in range(3))
    for document in documents:
        blocks = parse(document.text)
        kinds = _kinds_of_characters(document.text, blocks)
        for block in blocks:
            n_blocks[_kind(block)] += 1
            n_said[_kind(block)] += _statements(document.text, block)
        places = tokenizer(document.text, add_special_tokens=False, return_offsets_mapping=True, verbose=False)
        for start, end in places["offset_mapping"]:
            n_tokens[KINDS[kinds[max(start, end - 1)]]] += 1
    of_structure = pd.Series([query.structure for query in queries], dtype=str).value_counts()
    table = pd.DataFrame([{"kind": kind, "structure": STRUCTURE_OF.get(kind, ""), "blocks": n_blocks[kind],
                           "tokens": n_tokens[kind], "statements": n_said[kind],
                           "queries": int(of_structure.get(STRUCTURE_OF.get(kind, ""), 0))}
                          for kind in KINDS])
    table["text_share"] = table.tokens / max(table.tokens.sum(), 1)
    table["statement_share"] = table.statements / max(table.statements.sum(), 1)
    table["query_share"] = table.queries / max(len(queries), 1)
    return table[SHARES]


def mix_of(table: pd.DataFrame) -> dict[str, float]:
    """structure -> its share of all queries, from `shares`."""
    return {structure: float(table.query_share[table.structure == structure].sum()) for structure in STRUCTURES}


def _statements(text: str, block: Block) -> int:
    prose = len(sentences(text, block.start, block.end)) if block.kind == "prose" else 0
    return prose + len(block.items) + len(block.rows)


def _kind(block: Block) -> str:
    return block.kind if block.kind in KINDS else "other"


def _kinds_of_characters(text: str, blocks: list[Block]) -> bytearray:
    """For each character the index in KINDS of the innermost block that holds it."""
    kinds = bytearray([KINDS.index("other")]) * len(text)
    for block in sorted(blocks, key=lambda block: block.start - block.end):  # the largest first
        kinds[block.start:block.end] = bytes([KINDS.index(_kind(block))]) * (block.end - block.start)
    return kinds


def training_costs(documents: list[Document], segments: list[Segment], normalized: list[Normalized],
                   tokenizer: PreTrainedTokenizerBase, corpus_tokens: int = 0) -> pd.DataFrame:
    """Tokens of one epoch with each intervention, on these documents and scaled to a corpus; columns TRAINING.

    The interventions of lib.normalize.interventions are applied to the documents; NORMALIZED is what 02_normalize wrote, MIXED
    the raw text with it. `corpus_tokens` is the size of the corpus before (0: these documents). Raises ValueError
    where it is negative or there is no token to scale from.
    """
    if corpus_tokens < 0:
        raise ValueError(f"corpus_tokens is {corpus_tokens}: give the corpus' tokens, or 0 for these documents alone")
    count = _counting(tokenizer)
    before = sum(count(text) for text in corpus_of(segments, normalized, "dapt", []).training)
    if not before:
        raise ValueError("the documents have no token: there is nothing to train on, run 00_documents.ipynb again")
    rewritten = sum(count(text) for text in corpus_of(segments, normalized, "dapt-n", []).training)
    after = {NORMALIZED: rewritten, MIXED: before + rewritten,
             **{name: sum(count(intervene(document).strip()) for document in documents)
                for name, intervene in INTERVENTIONS.items()}}
    size = corpus_tokens or before
    return pd.DataFrame([(name, before, tokens, 100 * (tokens / before - 1), size, round(size * tokens / before))
                         for name, tokens in after.items()], columns=TRAINING)


def model_costs(documents: list[Document], segments: list[Segment], normalized: list[Normalized], model: str,
                tokenizer: PreTrainedTokenizerBase, corpus_tokens: int = 0,
                document_kind: str = "technical records") -> pd.DataFrame:
    """What rewriting by `model` costs: all segments, or only those that hold a list, a table or either; columns MODEL.

    A segment is one call: the prompt of prompts/normalize.md with the title and the segment (overhead_tokens is the
    prompt without them), and a reply as long as the rewrite in `normalized` (the segment where it was dropped) in its
    form. Tokens are the model's (`counted` says how), scaled by `corpus_tokens` over the tokens of `segments`. Where
    prices.csv has no row for `model`, price is "price unknown" and the dollars are NaN. A segment without a word is
    not sent.
    """
    count, counted = counter(model)
    price, titles = price_of(model), {document.document_id: document.title for document in documents}
    rewrites = {row.segment_id: row.text for row in normalized}
    own = _counting(tokenizer)
    scale = corpus_tokens / max(sum(own(one.text) for one in segments), 1) if corpus_tokens else 1.0
    overhead = count(prompt_template("normalize").render(document_kind=document_kind, title="", segment="")) + _MESSAGE_TOKENS
    form, holds = count(REPLY_FORM), _structures_of(documents, segments)
    cells = []
    for one in (one for one in segments if re.search(r"\w", one.text)):
        material = {"title": titles[one.document_id], "segment": one.repeated + one.text}
        prompt = prompt_template("normalize").render(document_kind=document_kind,
                          **{name: defused(text, "document_title|part") for name, text in material.items()})
        reply = form + count(rewrites.get(one.segment_id) or one.text)
        cells.append((holds[one.segment_id], count(prompt) + _MESSAGE_TOKENS, reply))
    rows = []
    for sent, wanted in _SENT.items():
        chosen = [(tokens_in, tokens_out) for held, tokens_in, tokens_out in cells if not wanted or held & wanted]
        tokens_in, tokens_out = (round(scale * sum(pair[side] for pair in chosen)) for side in (0, 1))
        usd = [cost_usd(price, tokens_in, tokens_out, batch) if price else float("nan") for batch in (False, True)]
        rows.append((sent, round(scale * len(chosen)), tokens_in, overhead, tokens_out, *usd, model,
                     f"prices of {price.as_of}" if price else "price unknown", counted))
    return pd.DataFrame(rows, columns=MODEL)


_SENT: dict[str, set[str]] = {"every segment": set(), "segments with a list or table": {"entity-list", "tabular"},
                              "segments with a list": {"entity-list"}, "segments with a table": {"tabular"}}


def _structures_of(documents: list[Document], segments: list[Segment]) -> dict[str, set[str]]:
    """segment_id -> structures of the blocks that the segment holds a part of."""
    blocks = {document.document_id: parse(document.text) for document in documents}
    return {one.segment_id: {STRUCTURE_OF[block.kind] for block in blocks[one.document_id]
                             if block.kind in STRUCTURE_OF and block.start < one.end and one.start < block.end}
            for one in segments}


def _counting(tokenizer: PreTrainedTokenizerBase) -> Count:
    return lambda text: len(tokenizer(text, add_special_tokens=False, verbose=False)["input_ids"])
