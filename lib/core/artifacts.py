"""List the files in data/<study>, the type of their rows and the notebooks that write them.

Only this table and lib.run know the names of notebooks. Tests compare notebook headers with it.
"""

from dataclasses import dataclass

from lib.core.records import (
    Answer,
    Augmented,
    Document,
    Fact,
    Normalized,
    Query,
    Record,
    Rejected,
    Score,
    Segment,
    Verdict,
)


@dataclass(frozen=True)
class Artifact:
    """A file between two stages; `lib.core.files` replaces `{arm}` and similar slots in `path`."""

    path: str  # below data/<study>
    notebooks: str  # that write it: paths below notebooks/, the usual one first
    kind: type[Record] | None = None  # the type of its rows; None if a study has its own

    @property
    def made_by(self) -> tuple[str, ...]:
        """Return the notebooks that write it."""
        return tuple(self.notebooks.split())


_ASKED_BY = "01_annotate structext/00_samples tablequest/01_questions"
_ANSWERED_BY = "04_infer reading/00_infer"

ARTIFACTS = {
    "documents": Artifact("documents.jsonl", "00_documents 00_lab tablequest/00_filings",
                          Document),
    "documents_rejected": Artifact("documents_rejected.jsonl",
                                   "00_documents tablequest/00_filings", Rejected),
    "documents_public": Artifact("documents_public.jsonl", "00_lab", Document),
    "facts": Artifact("facts.jsonl", "00_lab", Fact),
    "base": Artifact("models/base", "00_lab"),
    "queries": Artifact("queries.jsonl", _ASKED_BY, Query),
    "queries_rejected": Artifact("queries_rejected.jsonl", "01_annotate", Rejected),
    "segments": Artifact("segments.jsonl", "02_normalize", Segment),
    "normalized": Artifact("normalized.jsonl", "02_normalize", Normalized),
    "augmented": Artifact("augmented.jsonl", "02_augment", Augmented),
    "model": Artifact("models/{arm}", "03_train"),
    "answers": Artifact("answers/{arm}.jsonl", _ANSWERED_BY, Answer),
    "scores": Artifact("scores/{arm}.jsonl", _ANSWERED_BY, Score),
    "unanswered": Artifact("unanswered/{arm}.jsonl", _ANSWERED_BY, Rejected),
    "left_out": Artifact("left_out/{arm}.jsonl", "reading/00_infer", Rejected),
    "cut": Artifact("cut/{arm}.jsonl", "reading/00_infer", Query),
    "verdicts": Artifact("verdicts/{judge}/{arm}.jsonl", "05_judge reading/01_judge",
                         Verdict),
    "retention": Artifact("retention/{arm}.jsonl", "evidence/00_retention"),
    "preferences": Artifact("preferences/{judge}/{first}-{second}.jsonl", "evidence/01_pairs"),
    "ledger": Artifact("ledger.jsonl", "evidence/03_ledger"),
    "sheet": Artifact("human/sheet.csv", "evidence/04_agreement"),
    "controlled_facts": Artifact("facts/{seed}.jsonl", "controlled/00_facts"),
    "public_facts": Artifact("public/{seed}.jsonl", "controlled/01_pretrain"),
    "texts": Artifact("texts/{seed}/{text}.jsonl", "controlled/00_facts"),
    "controlled_base": Artifact("models/base-{seed}", "controlled/01_pretrain"),
    "outcomes": Artifact("outcomes/{run}.jsonl", "controlled/02_run"),
    "acquisition": Artifact("acquisition/{run}.jsonl", "controlled/02_run"),
    "reader": Artifact("models/reader-{seed}", "reader/00_reader"),
    "cells": Artifact("cells/{seed}.jsonl", "reader/01_read"),
    "samples": Artifact("samples.jsonl", "structext/00_samples"),
    "asked": Artifact("asked.jsonl", "structext/00_samples"),
    "solved": Artifact("solved.jsonl", "structext/00_samples"),
    "training_samples": Artifact("training_samples.jsonl", "structext/00_samples"),
    "training": Artifact("training/{arm}.jsonl", "structext/00_samples", Query),
    "filings": Artifact("filings.jsonl", "tablequest/00_filings"),
    "grids": Artifact("grids.jsonl", "tablequest/00_filings"),
    "passages": Artifact("passages.jsonl", "tablequest/00_filings"),
    "not_understood": Artifact("not_understood.jsonl", "tablequest/00_filings"),
    "questions": Artifact("questions.jsonl", "tablequest/01_questions"),
    "questions_rejected": Artifact("questions_rejected.jsonl", "tablequest/01_questions",
                                   Rejected),
    "questions_screened": Artifact("questions_screened.jsonl", "tablequest/01_questions"),
    "matches": Artifact("matches/{judge}.jsonl", "tablequest/02_analyze"),
    "grades": Artifact("grades/{grader}.jsonl", "tablequest/02_analyze"),
}
