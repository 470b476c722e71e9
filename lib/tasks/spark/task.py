"""SParK-Eval: questions on technical records, asked without their text, grouped by structure."""

from lib.annotate.queries import annotate
from lib.judge.rules import by_rules
from lib.tasks.task import Asked, Rows, Task


class Spark(Task):
    """The main task; see lib.tasks.task.Task."""

    rules = staticmethod(by_rules)

    def ask(self, rows: Rows, annotate_by, **how: object) -> Asked:
        """Return the queries on the documents, at most `max_queries` on each."""
        return Asked(*annotate(rows["documents"], annotate_by, **how))


TASK = Spark()
