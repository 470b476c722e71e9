"""Say what each kind of study asks, and which of its tables and figures come first."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Kind:
    """What is special in the report of one kind of study; tables and figures by file name."""

    question: str
    table: str  # the main table; the first in this Markdown file
    figures: tuple[str, ...]  # the main figure is the first that exists
    trust: tuple[str, ...]  # tables on how far the numbers can be trusted
    limits: tuple[str, ...]  # what no number of this study can say
    texts: tuple[str, ...] = ()  # Markdown files with the findings in full


_MODEL = "The interval of a study covers only what the study repeats, such as questions or seeds."
_GENERATED = "Generated records are more uniform than documents that people have written."

_CHAIN = Kind(
    "From which structures of the documents does a model learn facts in continual pretraining, and "
    "does rewriting them as prose help?", "table2", ("seeds", "accuracy"),
    ("seeds_paired", "unscored", "agreement", "human"),
    (_MODEL, "No interval covers another base model: run the study `replicates` for that.",
     "Judges err: label the blinded answers in data/<study>/human/sheet.csv and run again."),
    ("report.md", "statistics.md"))

KINDS = {
    "lab": _CHAIN,
    "documents": _CHAIN,
    "replicates": Kind(
        "Do the laboratory's findings hold for other records, another base and another order of "
        "training?", "summary", ("replicates",), (), (_MODEL, _GENERATED), ("replicates.md",)),
    "controlled": Kind(
        "Is the same fact learned less well from a list or a table than from prose, and what "
        "helps?", "contrasts", ("contrasts_forest", "bases"), ("shuffled", "known", "planted"),
        (_MODEL, _GENERATED), ("controlled.md",)),
    "augment": Kind(
        "Which texts, added to the raw records at equal updates, make a stored fact answerable?",
        "hypotheses", ("augmentations",), ("shuffled", "known"), (_MODEL, _GENERATED),
        ("augment.md",)),
    "structext": Kind(
        "Can a model read the structure of a text in its prompt?", "structext",
        ("languages_scores", "heat_map"), ("above_floor", "agreement"),
        (_MODEL, "A score at or below that of the arm blind is no evidence of reading."),
        ("structext.md",)),
    "tablequest": Kind(
        "Can a model read the tables of annual reports, and what does it learn from them?",
        "tablequest", ("tablequest_accuracy_intervals",),
        ("tablequest_models", "tablequest_recall"),
        (_MODEL, "A prompt that exceeds the context window loses the end of its passage."),
        ("tablequest.md",)),
    "reader": Kind(
        "Is the table form that is read best also learned best?", "forms", ("forms",),
        ("differences",), (_MODEL, "A model of four million parameters says nothing about large "
                           "ones."), ("reader.md",)),
}
