"""SParK-Eval: questions on technical records, asked without their text, grouped by structure."""

from lib.annotate.model.pairs import by_model
from lib.annotate.queries import annotate, draw
from lib.annotate.rules.engine import by_rules as ask_by_rules
from lib.core.records import Document
from lib.core.structures import structure_of
from lib.judge.rules import by_rules
from lib.lab.engines import ask_facts
from lib.llm.calls import Calls
from lib.tasks.spark import structures  # noqa: F401 (registers them)
from lib.tasks.task import Asked, Rows, Task


class Spark(Task):
    """The main task; see lib.tasks.task.Task."""

    needs = {"documents": Document}
    rules = staticmethod(by_rules)

    def ask(
        self,
        texts: Rows,
        annotator: str,
        calls: Calls,
        *,
        max_queries: int = 10,
        max_documents: int | None = None,
        seed: int = 42,
        **_: object,
    ) -> Asked:
        """Return the queries on `max_documents` drawn documents, at most `max_queries` on each.

        The rules see all documents: a question that two answer differently is not asked. "facts"
        asks for `texts["facts"]`, which a laboratory knows.
        """
        documents = texts["documents"]
        drawn = draw(documents, max_documents, seed)
        engine = (
            ask_by_rules
            if annotator == "rules"
            else ask_facts(texts["facts"])
            if annotator == "facts"
            else by_model(annotator, calls)
        )
        found = annotate(documents if annotator == "rules" else drawn, engine, max_queries)
        ids = {document.document_id for document in drawn}
        return Asked(*([row for row in rows if row.document_id in ids] for rows in found))

    def checks(self, asked: Asked, texts: Rows) -> list[str]:
        """Check that source references are verbatim and labels those of their blocks."""
        of_document = {document.document_id: document.text for document in texts["documents"]}
        for query in asked.queries:
            text = of_document[query.document_id]
            assert query.source_reference == text[query.start : query.end], query.query_id
            assert query.structure == structure_of(query.block_type).name, query.query_id
        return [
            f"all {len(asked.queries)} source references are verbatim; each label is the "
            "structure of its block"
        ]


TASK = Spark()
