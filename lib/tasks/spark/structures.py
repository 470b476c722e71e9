"""The structures of SParK-Eval in the order of its tables, each with what is its own."""

from lib.annotate.rules.lists import ask_list
from lib.annotate.rules.sentences import ask_prose
from lib.annotate.rules.tables import ask_table
from lib.core.structures import Structure, register
from lib.lab import documents as lab
from lib.normalize.rules import keep, rewrite_list, rewrite_table

STRUCTURES = register(
    Structure(
        name="natural",
        label="prose",
        kind="prose",
        ask=ask_prose,
        rewrite=keep,
        write=lab.sentences,
        called=(
            "natural",
            "natural language",
            "natural text",
            "text",
            "paragraph",
            "sentence",
            "narrative",
        ),
    ),
    Structure(
        name="entity-list",
        label="list",
        kind="list",
        ask=ask_list,
        rewrite=rewrite_list,
        write=lab.bullets,
        called=("entity list", "entities", "bullet list", "enumeration"),
        has_entities=True,
    ),
    Structure(
        name="tabular",
        label="table",
        kind="table",
        ask=ask_table,
        rewrite=rewrite_table,
        write=lab.table_rows,
        called=("tabular", "table row", "row", "cell"),
    ),
)
