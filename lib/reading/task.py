"""Run reading tasks: studies whose prompts contain the text that the model reads.

Each task implements `Task` (lib.structext.task, lib.tablequest.task). The notebooks in
notebooks/reading choose a task and run it with the functions below.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from lib.core.records import Answer, Query, Rejected, Verdict
from lib.llm.tokens import counter, tokenizer_of
from lib.reading.context_window import Tokenizer, window_of

if TYPE_CHECKING:
    from lib.infer.decoding import Decoding

NO_MEMORY = "asked without a text: this reader only reads"


@dataclass(frozen=True)
class Shown:
    """The queries sent to a model, in order, and the rest, too long for its context window."""

    queries: list[Query]
    cut: list[Query]  # those of `queries` whose passage lost its end
    too_long: list[Rejected]
    note: str = ""  # what else limits the replies, in a sentence


class Task(Protocol):
    """The parts of inference and judging that depend on how a study writes its prompts."""

    def fitted(self, study: str, queries: list[Query], tokenizer: Tokenizer, window: int,
               how: "Decoding") -> Shown:
        """Return the queries cut to fit `window` tokens, with room for the reply."""

    def finals(self, study: str, queries: list[Query],
               answers: list[Answer]) -> Mapping[str, Any]:
        """Return query_id -> one arm's final answer as `text`, or why it is `missing`."""

    def judged_by_rules(self, study: str, queries: list[Query],
                        answers: list[Answer]) -> list[Verdict]:
        """Return one verdict per query on one arm's final `answers`, by the task's rules."""

    def replies_by_rules(self, study: str, queries: list[Query]) -> Mapping[str, str]:
        """Return query_id -> the reply of the task's own reader, which needs no model."""


def shown_to_model(task: Task, study: str, queries: list[Query], source: str, how: "Decoding", *,
                   is_local: bool, window: int = 0) -> Shown:
    """Return the queries in the form in which they can be sent to the model `source`.

    Without `window` (tokens), the context window is taken from a local model's configuration. That
    of an endpoint's model is unknown, so its prompts are not cut. With it, a served folder's own
    tokenizer counts, as for a local model; for a name, see `lib.llm.tokens.counter`.
    """
    if not (is_local or window):
        return Shown(queries, [], [])
    is_folder = is_local or Path(source).is_dir()
    tokenizer = tokenizer_of(source) if is_folder else counter(source)[0]
    return task.fitted(study, queries, tokenizer, window or window_of(source), how)


def answers_by_rules(task: Task, study: str, queries: list[Query],
                     arm: str) -> tuple[list[Answer], list[Rejected]]:
    """Return the reader's answers in order, and the queries without a text, which it cannot answer.

    An answer is empty if the reader finds none. Token counts are 0, because no model writes any.
    """
    replies = task.replies_by_rules(study, queries)
    unread = [Rejected(document_id=query.document_id, item=query.query_id, reason=NO_MEMORY)
              for query in queries if query.query_id not in replies]
    return [Answer(query_id=query.query_id, arm=arm, answer=replies[query.query_id], n_tokens=0,
                   truncated=False) for query in queries if query.query_id in replies], unread


def final_answers(task: Task, study: str, queries: list[Query],
                  answers: list[Answer]) -> tuple[list[Answer], dict[str, str]]:
    """Return one arm's answers reduced to the final answer, and query_id -> why one has none.

    Raises ValueError as `lib.judge.verdicts.answers_of_one_arm` does.
    """
    finals = task.finals(study, queries, answers)
    missing = {query_id: final.missing for query_id, final in finals.items() if final.missing}
    return [row.model_copy(update={"answer": finals[row.query_id].text})
            for row in answers], missing


def explained(verdicts: list[Verdict], missing: Mapping[str, str]) -> list[Verdict]:
    """Return the verdicts; if a reply has no final answer, its verdict gives the reason."""
    return [verdict.model_copy(update={"reason": missing[verdict.query_id]})
            if verdict.verdict == "incorrect" and verdict.query_id in missing else verdict
            for verdict in verdicts]
