"""SParK-Eval: questions on technical records, asked without their text, grouped by structure."""

from lib.annotate.llm_annotator import llm_annotator
from lib.annotate.questions import annotate, draw
from lib.core.records import Document
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
        queries_per_call: int | None = None,
        diverse: bool = False,
        balance: bool = True,
        seed: int = 42,
        **_: object,
    ) -> Asked:
        """Return the queries on `max_documents` drawn documents, at most `max_queries` on each.

        `annotator` is a model, or "facts", which asks for `texts["facts"]` of a laboratory.
        Raises what `lib.annotate.questions.annotate` and the model's calls do.
        """
        if annotator == "facts":
            engine = ask_facts(texts["facts"])
        else:
            engine = llm_annotator(annotator, calls, queries_per_call)
        drawn = draw(texts["documents"], max_documents, seed, diverse)
        return Asked(*annotate(drawn, engine, max_queries, balance))


TASK = Spark()
