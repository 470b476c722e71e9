"""List the files in data/<study>, the type of their rows and the notebooks that write them.

A system adds its own (`register`). Tests compare notebook headers with it.
"""

from dataclasses import dataclass, replace

from lib.core.records import (
    Answer,
    Augmented,
    Document,
    Fact,
    Loss,
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
    """A file between two stages; `lib.core.store` replaces `{arm}` and similar slots in `path`."""

    path: str  # below data/<study>
    notebooks: str  # that write it: paths below notebooks/, the usual one first
    kind: type[Record] | None = None  # the type of its rows; None if a study has its own

    @property
    def made_by(self) -> tuple[str, ...]:
        """Return the notebooks that write it."""
        return tuple(self.notebooks.split())


ARTIFACTS = {
    "documents": Artifact("documents.jsonl", "00_documents 00_lab", Document),
    "documents_rejected": Artifact("documents_rejected.jsonl", "00_documents", Rejected),
    "documents_public": Artifact("documents_public.jsonl", "00_lab", Document),
    "facts": Artifact("facts.jsonl", "00_lab", Fact),
    "base": Artifact("models/base", "00_lab"),
    "queries": Artifact("queries.jsonl", "01_annotate", Query),
    "queries_rejected": Artifact("queries_rejected.jsonl", "01_annotate", Rejected),
    "segments": Artifact("segments.jsonl", "02_normalize", Segment),
    "normalized": Artifact("normalized.jsonl", "02_normalize", Normalized),
    "augmented": Artifact("augmented.jsonl", "02_normalize", Augmented),
    "training": Artifact("training/{arm}.jsonl", "", Query),  # of arms that learn replies
    "model": Artifact("models/{arm}", "03_train"),
    "answers": Artifact("answers/{arm}.jsonl", "04_infer", Answer),
    "scores": Artifact("scores/{arm}.jsonl", "04_infer", Score),
    "curve": Artifact("curve/{arm}-{epoch}.jsonl", "03_train", Score),
    "losses": Artifact("losses/{arm}.jsonl", "04_infer", Loss),
    "unanswered": Artifact("unanswered/{arm}.jsonl", "04_infer", Rejected),
    "left_out": Artifact("left_out/{arm}.jsonl", "04_infer", Rejected),
    "cut": Artifact("cut/{arm}.jsonl", "04_infer", Query),
    "verdicts": Artifact("verdicts/{judge}/{arm}.jsonl", "05_judge", Verdict),
    "retention": Artifact("retention/{arm}.jsonl", "extra/retention"),
    "preferences": Artifact("preferences/{judge}/{first}-{second}.jsonl", "extra/pairs"),
    "ledger": Artifact("ledger.jsonl", "extra/ledger"),
    "sheet": Artifact("human/sheet.csv", "extra/agreement"),
    "exposures_base": Artifact("models/base-{seed}", "laboratory/exposures_run"),
    "outcomes": Artifact("outcomes/{seed}.csv.gz", "laboratory/exposures_run"),
    "kept": Artifact("kept/{seed}.csv.gz", "laboratory/exposures_run"),
}


def register(own: dict[str, Artifact], **also: str) -> None:
    """Add the artifacts of a system, and its notebooks that write artifacts of all systems."""
    ARTIFACTS.update(own)
    for name, notebook in also.items():
        known = ARTIFACTS[name]
        if notebook not in known.made_by:
            ARTIFACTS[name] = replace(known, notebooks=f"{known.notebooks} {notebook}".strip())
