"""Records that readers' answers are kept in."""

from typing import Literal

from lib.core.records import Record


class CellAnswer(Record):
    """Whether a reader gave a cell's value word for word.

    "read": its table was in the prompt; "learned": only in the training texts, which had questions
    about other tables; "practised": these other tables' questions, asked again.
    """

    task: Literal["read", "learned", "practised"]
    form: str
    table: int
    question: int
    n_cells: int  # of the table
    distance: int  # characters between the value and the end of the table
    correct: bool
