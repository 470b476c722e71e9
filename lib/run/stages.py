"""The notebooks of each kind of study, the one table of their names, and keys of every study."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import BaseModel, ConfigDict, Field, model_validator

from lib.core.arms import ARMS, AUGMENTED
from lib.core.paths import figures_path
from lib.documents.folder import SUFFIXES
from lib.tasks.tablequest.filings.files import ENDINGS as FILING_ENDINGS

_SPENDING = ("max_cost_usd", "mode", "concurrency", "max_failed_share", "retry")


@dataclass(frozen=True)
class Stage:
    """How often a notebook runs, and the parameters that it shares.

    `per` is "" (once), "trained" (each training), or "runs", "arms", "pairs": each run of all
    seeds, arm, or arm but the first; these three run once if the study has its arms together.
    """

    per: str = ""
    every_seed: bool = False  # its parameter `arms` lists the runs of all seeds
    like: dict[str, tuple[str, ...]] = field(default_factory=dict)  # shared parameters, by stage


STAGES = {
    "00_lab": Stage(),
    "00_documents": Stage(),
    "01_annotate": Stage(),
    "02_normalize": Stage(),
    "02_augment": Stage(),
    "03_train": Stage(per="trained"),
    "04_infer": Stage(per="runs"),
    "05_judge": Stage(per="runs"),
    "06_analyze": Stage(),
    "00_retention": Stage(per="arms"),
    "01_pairs": Stage(per="pairs", like={"05_judge": _SPENDING}),
    "02_statistics": Stage(every_seed=True),
    "03_ledger": Stage(),
    "04_agreement": Stage(),
    "05_paper": Stage(),
    "00_infer": Stage(per="runs"),
    "01_judge": Stage(per="runs"),
    "00_samples": Stage(),
    "01_analyze": Stage(every_seed=True),
    "00_filings": Stage(),
    "01_questions": Stage(like={"00_infer": ("max_read_tokens",)}),
    "02_analyze": Stage(every_seed=True),
}
CHAIN = ("01_annotate", "02_normalize", "03_train", "04_infer", "05_judge", "06_analyze")
AUGMENT = "02_augment"  # part of a study only if it has the arm dapt-a
_FULL_CHAIN = (*CHAIN[:2], AUGMENT, *CHAIN[2:])
_CAN_AUGMENT = (*ARMS[1:], AUGMENTED)
# Additional notebooks for a study of documents. All run unless the key `variants` names some.
EVIDENCE = ("00_retention", "01_pairs", "02_statistics", "03_ledger", "04_agreement", "05_paper")


@dataclass(frozen=True)
class Kind:
    """Defaults implied by a value of the key `source`."""

    stages: tuple[str, ...]  # its notebooks, in order
    variants: tuple[str, ...] = ()
    arms: tuple[str, ...] = ARMS  # used if a study names none
    trained: tuple[str, ...] = ARMS[1:]  # the arms that 03_train can train; a study may add them
    fixed: tuple[str, ...] = ()  # parameters that its keys set, in addition to WIRED
    any_arm: bool = False  # further arms may be named, each with its own model
    folder: str = ""  # the make variable that names the user's own folder
    endings: tuple[str, ...] = ()  # extensions of the files that are read
    report: tuple[str, str] = ("06_analyze", "table2")  # notebook and main table of the report


KINDS = {
    "lab": Kind(("00_lab", *_FULL_CHAIN), EVIDENCE, trained=_CAN_AUGMENT),
    "documents": Kind(("00_documents", *_FULL_CHAIN), EVIDENCE, trained=_CAN_AUGMENT,
                      folder="DOCUMENTS", endings=SUFFIXES),
    "structext": Kind(("00_samples", "03_train", "00_infer", "01_judge", "01_analyze"),
                      arms=("base", "tuned"), trained=("tuned", "tuned-hint", "tuned-few-shot"),
                      any_arm=True, report=("01_analyze", "structext")),
    "tablequest": Kind(("00_filings", "01_questions", "02_normalize", "03_train", "00_infer",
                        "01_judge", "06_analyze", "02_analyze"), any_arm=True,
                       folder="FILINGS", endings=FILING_ENDINGS,
                       report=("02_analyze", "tablequest")),
    "controlled": Kind(("00_facts", "01_pretrain", "02_run", "03_analyze"), ("04_augment",),
                       fixed=("rotation", "runs", "structures", "base"),
                       report=("03_analyze", "contrasts")),
    "replicates": Kind(("00_lab", *CHAIN[:-1], "00_replicates"),
                       fixed=("replicates", "seed", "split_seed"),
                       report=("00_replicates", "summary")),
    "reader": Kind(("00_reader", "01_read", "02_forms"), fixed=("seed",),
                   report=("02_forms", "forms")),
}
# Names of studies and arms become file names and parts of commands.
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
# Parameters that the graph sets from a study's keys.
WIRED = ("study", "arm", "arms", "first_arm", "folder", "seeds", "retention", "pairs",
         "annotator", "normalizer", "augmenter", "judge", "judges", "base_model", "task")


class StudyFile(BaseModel):
    """Keys of every study. `notebooks` holds parameters by notebook."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
    others: ClassVar[tuple[str, ...]] = ()  # studies of which this one runs a stage

    name: Name
    source: str
    minutes: float = 0  # on two cores; printed before the study starts
    notebooks: dict[str, dict] = {}
    folder: str = ""  # the user's own documents

    @model_validator(mode="after")
    def _check_notebooks(self) -> "StudyFile":
        check_parameters("notebooks", self.notebooks, self.legal, (*WIRED, *self.kind.fixed))
        return self

    @property
    def legal(self) -> tuple[str, ...]:
        """Return the notebooks that the study's file may name."""
        return (*self.kind.stages, *self.kind.variants)

    @property
    def stages(self) -> tuple[str, ...]:
        """Return the notebooks of this study, in order."""
        return self.kind.stages

    @property
    def kind(self) -> Kind:
        """Return the defaults implied by the study's source."""
        return KINDS[self.source]

    @property
    def report(self) -> tuple[str, str]:
        """Return the analysis notebook and the main table of the report."""
        return self.kind.report

    def given(self, stage: str, run: str = "") -> dict[str, object]:
        """Return the parameters of `stage` for `run`, one of its `arms_of`."""
        return {"study": self.name, **self.notebooks.get(stage, {}), **self.wired(stage, run)}

    @property
    def main_table(self) -> Path:
        """Return the path of the Markdown table that `make study` prints."""
        return figures_path(self.name, f"{self.report[1]}.md")


def choose(where: str, names: list[str], legal: tuple[str, ...]) -> None:
    """Raise ValueError for the first name that is not legal."""
    for name in names:
        if name not in legal:
            raise ValueError(f"{where}: {name!r} is unknown; choose among {', '.join(legal)}")


def check_parameters(where: str, given: dict[str, dict], legal: tuple[str, ...],
                     fixed: tuple[str, ...]) -> None:
    """Raise ValueError for an unknown notebook and for a parameter that the study's keys set."""
    choose(where, list(given), legal)
    for stage, parameters in given.items():
        for name in parameters:
            if name in fixed:
                raise ValueError(f"{where}, {stage}: {name} is set by the study's own keys; "
                                 "remove it here")
