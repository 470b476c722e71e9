"""SParK-Eval: questions on technical records, asked without their text, grouped by structure."""

from lib.annotate.llm_annotator import llm_annotator
from lib.annotate.questions import annotate, draw
from lib.core.records import Document, structure_of
from lib.judge.scorer import score
from lib.lab.facts import ask_facts
from lib.llm.calls import Calls
from lib.tasks.task import Asked, Rows, Task


class Spark(Task):
    """The main task; see lib.tasks.task.Task."""

    needs = {"documents": Document}
    score = staticmethod(score)

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

        `annotator` is a model, or "facts", which asks for `texts["facts"]` of a laboratory.
        """
        is_known = annotator == "facts"
        engine = ask_facts(texts["facts"]) if is_known else llm_annotator(annotator, calls)
        drawn = draw(texts["documents"], max_documents, seed)
        queries, rejected = annotate(drawn, engine, max_queries)
        text_of = {document.document_id: document.text for document in drawn}
        for query in queries:
            source = text_of[query.document_id][query.start : query.end]
            assert query.source_reference == source, query.query_id
            assert query.structure == structure_of(query.block_type).name, query.query_id
        return Asked(queries, rejected)


TASK = Spark()
