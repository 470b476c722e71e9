"""The one table of studies: which notebooks run and when, and which files each of them writes."""

from collections.abc import Mapping
from typing import NamedTuple

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

# The module of each system, which defines its TASK (lib.tasks.task).
SYSTEMS = {
    "spark": "lib.tasks.spark",
    "structext": "lib.structext.prompts",
    "tablequest": "lib.tablequest.answers",
}


class Stage(NamedTuple):
    """A notebook: the artifacts that it writes, for what it runs each time, and what it calls.

    `per` is "" (once), "bases", "trained" (each training), or "runs", "arms", "pairs": each run of
    all seeds, arm with a model of its own, or arm but the first; these three run once if the study
    has its arms together. `calls` are its parameters that name models.
    """

    writes: str = ""
    per: str = ""
    calls: str = ""


STAGES = {
    "00_lab": Stage("documents documents_public facts base"),
    "00_documents": Stage("documents documents_rejected"),
    "01_annotate": Stage("queries queries_rejected questions", calls="annotator"),
    "02_normalize": Stage("segments normalized augmented", calls="normalizer augmenter"),
    "03_train": Stage("model curve replies", per="trained"),
    "04_infer": Stage("answers scores unanswered left_out cut", "runs", "endpoint_model"),
    "05_judge": Stage("verdicts", "runs", "judge"),
    "06_analyze": Stage(),
    "00_structext": Stage("samples asked training_samples queries training"),
    "06_structext": Stage(),
    "00_filings": Stage("filings grids passages not_understood documents documents_rejected"),
    "06_tablequest": Stage("matches grades", calls="judge rater grader"),
    "retention": Stage("retention", per="arms"),
    "pairs": Stage("preferences", "pairs", "judge"),
    "statistics": Stage(),
    "ledger": Stage("ledger"),
    "agreement": Stage("sheet"),
    "export": Stage(),
    "exposures_run": Stage("exposures_base outcomes retained", per="bases"),
    "exposures": Stage(),
}


class Artifact(NamedTuple):
    """A file between two stages; `lib.core.store` replaces `{arm}` and similar slots in `path`."""

    path: str  # below data/<study>
    kind: type[Record] | None  # of its rows; None: as its system says, or it has none


# Kind of rows -> artifacts: name, or name=path where that is not name.jsonl.
_FILES: dict[type[Record] | None, str] = {
    Document: "documents documents_public",
    Rejected: "documents_rejected queries_rejected unanswered=failed_calls/{arm}.jsonl "
    "left_out=skipped_prompts/{arm}.jsonl",
    Fact: "facts",
    Query: "queries training=training/{arm}.jsonl cut=truncated_prompts/{arm}.jsonl",
    Segment: "segments",
    Normalized: "normalized",
    Augmented: "augmented",
    Answer: "answers=answers/{arm}.jsonl replies=curve/{arm}-{epoch}-replies.jsonl",
    Score: "scores=scores/{arm}.jsonl curve=curve/{arm}-{epoch}.jsonl",
    Verdict: "verdicts=verdicts/{judge}/{arm}.jsonl",
    None: "samples asked training_samples questions ledger filings grids passages not_understood "
    "retention=retention/{arm}.jsonl matches=matches/{judge}.jsonl grades=grades/{grader}.jsonl "
    "preferences=preferences/{judge}/{first}-{second}.jsonl outcomes=outcomes/{seed}.csv.gz "
    "retained=retained/{seed}.csv.gz base=models/base exposures_base=models/base-{seed} "
    "model=models/{arm} sheet=labels/answers.csv",
}
ARTIFACTS = {
    name: Artifact(path or f"{name}.jsonl", kind)
    for kind, files in _FILES.items()
    for name, _, path in (one.partition("=") for one in files.split())
}


def writers_of(artifact: str) -> list[str]:
    """Return the notebooks that write an artifact, each in another kind of study."""
    return [name for name, stage in STAGES.items() if artifact in stage.writes.split()]


class Pipeline(NamedTuple):
    """What a study file's key `source` implies."""

    stages: tuple[str, ...]  # its notebooks, in order
    extras: tuple[str, ...] = ()  # more; if `extras` names none: all but EXPORT and "retention" of
    # other systems than SParK
    task: str = "spark"  # one of SYSTEMS
    graph: str = "graph.smk"  # its rules, below notebooks/
    arms: tuple[str, ...] = ("base", "dapt", "dapt-n")  # used if a study names none
    trains: str = "dapt"  # how the names of its trained arms begin
    folder: str = ""  # the make variable that names the user's own folder
    endings: tuple[str, ...] = ()  # of the files that are read there; (): all that can be
    report: tuple[str, str] = ("06_analyze", "table2")  # notebook and main table of the report


MODEL = ("02_normalize", "03_train", "04_infer", "05_judge")
CHAIN = ("01_annotate", *MODEL, "06_analyze")
EVIDENCE = ("retention", "pairs", "statistics", "ledger", "agreement")
EXPORT = "export"  # not by itself: it needs a licence
CURVE = ("exposures_run", "exposures")
PIPELINES: Mapping[str, Pipeline] = {
    "lab": Pipeline(("00_lab", *CHAIN), (*EVIDENCE, *CURVE, EXPORT)),
    "documents": Pipeline(("00_documents", *CHAIN), (*EVIDENCE, EXPORT), folder="DOCUMENTS"),
    "exposures": Pipeline(CURVE, graph="laboratory/exposures.smk", report=("exposures", "effects")),
    "structext": Pipeline(
        ("00_structext", *MODEL[1:], "06_structext"),
        ("agreement", "retention"),
        task="structext",
        graph="structext/graph.smk",
        arms=("base", "tuned"),
        trains="tuned",
        report=("06_structext", "scores"),
    ),
    "tablequest": Pipeline(
        ("00_filings", "01_annotate", *MODEL, "06_tablequest"),
        ("agreement",),
        task="tablequest",
        graph="tablequest/graph.smk",
        folder="FILINGS",
        endings=(".html", ".htm", ".html.gz", ".htm.gz"),
        report=("06_tablequest", "tablequest_accuracy"),
    ),
}
