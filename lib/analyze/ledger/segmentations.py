"""Plain against table-aware segments, by what each does to the tables and to the answers in the ledger (paper, 3.2)."""

from bisect import bisect_right

import pandas as pd
from transformers import PreTrainedTokenizerBase

from lib.analyze.ledger.blocks import Trained
from lib.analyze.ledger.matching import FORMS
from lib.analyze.ledger.trace import LedgerRow, make_ledger
from lib.core.records import Document, Query, Segment
from lib.documents.tables import Table, tables_of
from lib.normalize.rewrite import normalize
from lib.normalize.segments import SEGMENTATIONS, segment
from lib.train.corpus import texts_of


def compare_segmentations(documents: list[Document], queries: list[Query], tokenizer: PreTrainedTokenizerBase,
                          max_tokens: int = 700, block_size: int = 320) -> pd.DataFrame:
    """One column a segmentation: tables, and what the ledger says where the rules rewrite and nothing is held out.

    A query on a table has its header where the text that a normalizer gets holds the header row of that table. The
    rules do not need it, because they read the whole document; a model sees its segment only.
    """
    tables = {document.document_id: tables_of(document.text) for document in documents}
    columns = {}
    for how in SEGMENTATIONS:
        segments = segment(documents, tokenizer, max_tokens, how)
        rewrites = normalize(segments, documents)
        ledger = make_ledger(queries, documents, segments, rewrites, {"dapt-n": Trained(
            texts_of(segments, rewrites, "dapt-n", []), tokenizer, block_size, "document")})
        columns[how] = {"segments": len(segments), "with repeated header": sum(bool(one.repeated) for one in segments),
                        **_tables_cut(segments, tables), **_headers(segments, tables, queries), **_answers(ledger)}
    return pd.DataFrame(columns).rename_axis("count").reset_index()


def _tables_cut(segments: list[Segment], tables: dict[str, list[Table]]) -> dict[str, int]:
    borders: dict[str, set[int]] = {}
    for one in segments:
        borders.setdefault(one.document_id, set()).add(one.start)
    every = [(table, borders.get(document_id, set())) for document_id, its in tables.items() for table in its]
    return {"tables": len(every),
            "tables cut": sum(any(table.start < place < table.rows_end for place in places)
                              for table, places in every),
            "tables apart from heading or caption": sum(any(
                table.start < place <= (table.rows[0] if table.rows else table.start) for place in places)
                for table, places in every),
            "cuts inside a row": sum(table.rows[0] < place < table.rows_end and place not in table.rows
                                     for table, places in every if table.rows for place in places)}


def _headers(segments: list[Segment], tables: dict[str, list[Table]], queries: list[Query]) -> dict[str, int]:
    """Queries on a table, and those whose header row is in what a normalizer sees."""
    of_document: dict[str, list[Segment]] = {}
    for one in segments:
        of_document.setdefault(one.document_id, []).append(one)
    asked = seen = 0
    for query in queries:
        table = next((table for table in tables[query.document_id]
                      if query.structure == "tabular" and table.start <= query.start < table.rows_end), None)
        if table:
            own = of_document[query.document_id]
            held = own[bisect_right([one.start for one in own], query.start) - 1]
            asked, seen = asked + 1, seen + (table.header in held.repeated + held.text)
    return {"queries on a table": asked, "of these with the header in sight": seen}


def _answers(ledger: list[LedgerRow]) -> dict[str, int]:
    return {"queries": len(ledger), "answers cut by a segment border": sum(row.segment == "cut" for row in ledger),
            "of these tabular": sum(row.segment == "cut" and row.structure == "tabular" for row in ledger),
            "answers of dropped segments": sum(row.dropped != "" for row in ledger),
            **{f"rewritten {form}": sum(row.rewritten == form for row in ledger) for form in FORMS},
            "cut over blocks": sum(row.block == "cut" for row in ledger),
            "whole in a block": sum(row.lost_at == "" for row in ledger)}
