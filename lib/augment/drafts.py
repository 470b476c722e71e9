"""Make synthetic texts from segments, check each against its source, and count what is kept.

Varied forms let knowledge be retrieved (Allen-Zhu and Li 2023, arXiv:2309.14316), and questions
with answers teach how it is asked for (Jiang et al. 2024, arXiv:2402.12847).
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from lib.core.prompts import prompt_template
from lib.core.records import Augmented, Document, Query, Segment
from lib.core.text import folded
from lib.normalize.audit import SegmentAudit, audit_texts

TESTED = "asks what a question of the test asks"
_COLUMNS = ["strategy", "texts", "kept", "asked_by_test", "tokens", "written", "invented"]
_CHECKED = ["number", "unit", "path", "version", "name", "item", "negation"]  # not to be invented


@dataclass(frozen=True)
class Draft:
    """A text before it is checked, or the reason why none was written."""

    segment_id: str
    text: str
    dropped: str = ""
    asks: tuple[int, int] | None = None  # of a pair: document.text[start:end] has the answer


# (segments, documents by id, k) -> texts, or for a segment without any the reason
Strategy = Callable[[list[Segment], dict[str, Document], int], list[Draft]]


def pair_text(question: str, answer: str) -> str:
    """Return a question and its answer in the form in which 04_infer asks."""
    asked = prompt_template("answer").render(question=question, context="").rstrip()
    return f"{asked} {answer}" if "\n" not in answer else f"{asked}\n{answer}"


def augment(
    segments: list[Segment],
    documents: list[Document],
    queries: list[Query],
    engine: Mapping[str, Strategy],
    strategies: Sequence[str],
    k: int,
) -> tuple[list[Augmented], list[SegmentAudit]]:
    """Return the texts of all strategies, and the audit of each row that has a text.

    `engine` is what `lib.augment.model.by_model` or `lib.lab.engines.vary_facts` returns. A
    text is dropped if it asks what a query asks, of the same passage, or if it states what is
    nowhere in its document. Raises ValueError for a strategy that `engine` lacks.
    """
    if not engine:
        return [], []
    if unknown := [name for name in strategies if name not in engine] or not strategies:
        raise ValueError(
            f"strategies {unknown if strategies else '[]'}: choose among "
            f"{', '.join(engine)}, which this augmenter can do"
        )
    by_id = {document.document_id: document for document in documents}
    of_segment = {segment.segment_id: segment.document_id for segment in segments}
    is_tested, rows = _test_of(queries), []
    for strategy in strategies:
        numbers = Counter()
        for draft in engine[strategy](segments, by_id, k):
            numbers[draft.segment_id] += 1
            own = of_segment[draft.segment_id]
            dropped = draft.dropped or (TESTED if is_tested(own, draft) else "")
            rows.append(
                Augmented(
                    segment_id=draft.segment_id,
                    document_id=own,
                    strategy=strategy,
                    number=numbers[draft.segment_id],
                    text=draft.text,
                    dropped=dropped,
                )
            )
    audits = audit_texts([row for row in rows if row.text], segments, documents)
    audit_of = iter(audits)
    return [_checked(row, next(audit_of)) if row.text else row for row in rows], audits


def _test_of(queries: list[Query]) -> Callable[[str, Draft], bool]:
    asked = [(folded(one.question), one.document_id, one.start, one.end) for one in queries]

    def is_tested(document_id: str, draft: Draft) -> bool:
        text, (start, end) = folded(draft.text), draft.asks or (0, 0)
        return any(
            question in text or own == document_id and first < end and start < last
            for question, own, first, last in asked
        )

    return is_tested


def _checked(row: Augmented, audit: SegmentAudit) -> Augmented:
    words = [word for kind in _CHECKED for word in audit.invented[kind]]
    if row.dropped or not words:
        return row
    return row.model_copy(update={"dropped": f"invents {', '.join(words[:5])}"})


def strategies_table(
    rows: list[Augmented], audits: list[SegmentAudit], count: Callable[[str], int]
) -> pd.DataFrame:
    """Return one row per strategy, "all" last; `count` returns a text's tokens.

    `tokens` counts those of kept texts, `written` the words, amounts and items of all texts, and
    `invented` those that are nowhere in the document.
    """
    written = [row for row in rows if row.text]
    table = pd.DataFrame(
        [
            {
                "strategy": row.strategy,
                "texts": 1,
                "kept": not row.dropped,
                "asked_by_test": row.dropped == TESTED,
                "tokens": 0 if row.dropped else count(row.text),
                "written": sum(audit.written[kind] for kind in _CHECKED),
                "invented": sum(len(audit.invented[kind]) for kind in _CHECKED),
            }
            for row, audit in zip(written, audits, strict=True)
        ],
        columns=_COLUMNS,
    )
    by_strategy = table.groupby("strategy", sort=False).sum().astype(int)
    by_strategy.loc["all"] = by_strategy.sum()
    return by_strategy.reset_index()
