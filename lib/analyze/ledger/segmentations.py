"""Compare plain with table-aware segments by what each does to tables and answers (paper, 3.2)."""

from bisect import bisect_right
from collections import defaultdict
from typing import TYPE_CHECKING

import pandas as pd

from lib.analyze.ledger.blocks import Trained
from lib.analyze.ledger.matching import FORMS
from lib.analyze.ledger.trace import LedgerRow, make_ledger
from lib.core.records import Document, Query, Segment
from lib.documents.tables import Table, tables_of
from lib.normalize.rewrite import normalize
from lib.normalize.rules.engine import by_rules
from lib.normalize.segments import SEGMENTATIONS, segment
from lib.train.texts import corpus_of

if TYPE_CHECKING:  # slow to import, and only named here
    from transformers import PreTrainedTokenizerBase


def compare_segmentations(documents: list[Document], queries: list[Query],
                          tokenizer: "PreTrainedTokenizerBase", max_tokens: int = 700,
                          block_size: int = 320) -> pd.DataFrame:
    """Return one column per segmentation: counts of its tables, and of the rules' ledger for it.

    Nothing is held out. A query on a table has its header in sight if the text sent to a
    normalizer has that table's header row. The rules do not need it, because they read the complete
    document; a model sees only its segment.
    """
    tables = {document.document_id: tables_of(document.text) for document in documents}
    columns = {}
    for how in SEGMENTATIONS:
        segments = segment(documents, tokenizer, max_tokens, how)
        rewrites = normalize(segments, documents, by_rules)
        corpus = corpus_of(segments, rewrites, "dapt-n", [])
        trained = Trained(corpus, tokenizer, block_size, "document")
        ledger = make_ledger(queries, documents, segments, rewrites, {"dapt-n": trained})
        of_document = defaultdict(list)
        for one in segments:
            of_document[one.document_id].append(one)
        columns[how] = {"segments": len(segments),
                        "with repeated header": sum(bool(one.repeated) for one in segments),
                        **_tables_cut(of_document, tables),
                        **_headers(of_document, tables, queries), **_answers(ledger)}
    return pd.DataFrame(columns).rename_axis("count").reset_index()


def compare_sizes(documents: list[Document], queries: list[Query], trained: Trained,
                  sizes: list[int]) -> pd.DataFrame:
    """Return `compare_segmentations` at several sizes, with `trained`'s tokenizer and blocks."""
    block_size = len(trained.blocks.input_ids[0])
    tables = [compare_segmentations(documents, queries, trained.tokenizer, size, block_size)
              .set_index("count").add_suffix(f", {size} tokens") for size in sizes]
    return pd.concat(tables, axis=1).reset_index() if tables else pd.DataFrame({"count": []})


def _tables_cut(segments: dict[str, list[Segment]],
                tables: dict[str, list[Table]]) -> dict[str, int]:
    borders = {name: {one.start for one in own} for name, own in segments.items()}
    every = [(table, table.rows[0] if table.rows else table.start, borders.get(name, set()))
             for name, own in tables.items() for table in own]
    return {"tables": len(every),
            "tables cut": sum(any(table.start < cut < table.rows_end for cut in cuts)
                              for table, _, cuts in every),
            "tables apart from heading or caption": sum(
                any(table.start < cut <= first_row for cut in cuts)
                for table, first_row, cuts in every),
            "cuts inside a row": sum(first_row < cut < table.rows_end and cut not in table.rows
                                     for table, first_row, cuts in every if table.rows
                                     for cut in cuts)}


def _headers(segments: dict[str, list[Segment]], tables: dict[str, list[Table]],
             queries: list[Query]) -> dict[str, int]:
    asked = in_sight = 0
    for query in queries:
        table = next((table for table in tables[query.document_id] if query.structure == "tabular"
                      and table.start <= query.start < table.rows_end), None)
        if table:
            own = segments[query.document_id]
            held = own[bisect_right([one.start for one in own], query.start) - 1]
            asked += 1
            in_sight += table.header in held.repeated + held.text
    return {"queries on a table": asked, "of these with the header in sight": in_sight}


def _answers(ledger: list[LedgerRow]) -> dict[str, int]:
    cut = [row for row in ledger if row.segment == "cut"]
    return {"queries": len(ledger), "answers cut by a segment border": len(cut),
            "of these tabular": sum(row.structure == "tabular" for row in cut),
            "answers of dropped segments": sum(row.dropped != "" for row in ledger),
            **{f"rewritten {form}": sum(row.rewritten == form for row in ledger) for form in FORMS},
            "cut over blocks": sum(row.block == "cut" for row in ledger),
            "whole in a block": sum(row.lost_at == "" for row in ledger)}
