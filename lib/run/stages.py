"""List the notebooks of each kind of study.

A new notebook needs an entry here and a rule in a graph.
"""

from dataclasses import dataclass, field
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, field_validator

from lib.core.arms import ARMS, AUGMENTED
from lib.documents.folder import SUFFIXES
from lib.tablequest.filings.files import ENDINGS as FILING_ENDINGS

_SPENDING = ("max_cost_usd", "mode", "concurrency", "max_failed_share", "retry")


@dataclass(frozen=True)
class Stage:
    """A stage: how often its notebook runs, and what it shares or draws.

    Values of `per`: "": once; "trained": for every arm and seed that 03_train trains; "run": for
    every arm and seed; "arm": for every arm's first seed; "pair": for pairs of arms.
    """

    per: str = ""
    every_seed: bool = False  # whether its parameter `arms` lists the runs of all seeds
    like: dict[str, tuple[str, ...]] = field(default_factory=dict)  # parameters shared, by stage
    draws: str = ""  # the rule of the graph that draws its figures from finished results


STAGES = {
    "00_lab": Stage(),
    "00_documents": Stage(),
    "01_annotate": Stage(),
    "02_normalize": Stage(),
    "02_augment": Stage(),
    "03_train": Stage(per="trained"),
    "04_infer": Stage(per="run"),
    "05_judge": Stage(per="run"),
    "06_analyze": Stage(draws="analyze"),
    "00_retention": Stage(per="arm"),
    "01_pairs": Stage(per="pair", like={"05_judge": _SPENDING}),
    "02_statistics": Stage(every_seed=True, draws="statistics"),
    "03_ledger": Stage(draws="ledger"),
    "04_agreement": Stage(draws="agreement"),
    "05_paper": Stage(draws="paper"),
    "06_advice": Stage(every_seed=True, draws="advice",
                       like={"02_normalize": ("document_kind",)}),
    "00_infer": Stage(per="run"),
    "01_judge": Stage(per="run"),
    "00_samples": Stage(),
    "01_analyze": Stage(every_seed=True, draws="structext"),
    "00_filings": Stage(),
    "01_questions": Stage(like={"00_infer": ("max_read_tokens",)}),
    "02_analyze": Stage(every_seed=True, draws="tablequest"),
}
CHAIN = ("01_annotate", "02_normalize", "03_train", "04_infer", "05_judge", "06_analyze")
AUGMENT = "02_augment"  # part of a study only if it has the arm dapt-a
_FULL_CHAIN = (*CHAIN[:2], AUGMENT, *CHAIN[2:])
_CAN_AUGMENT = (*ARMS[1:], AUGMENTED)
# Additional notebooks for a study of documents. All run unless the key `variants` names some.
EVIDENCE = ("00_retention", "01_pairs", "02_statistics", "03_ledger", "04_agreement", "05_paper",
            "06_advice")


@dataclass(frozen=True)
class Kind:
    """Defaults implied by a value of the key `source`."""

    stages: tuple[str, ...]  # its notebooks, in order
    variants: tuple[str, ...] = ()
    arms: tuple[str, ...] = ARMS  # used if a study names none
    trained: tuple[str, ...] = ARMS[1:]  # the arms that 03_train can train; a study may add them
    any_arm: bool = False  # further arms may be named, each with its own model
    folder: str = ""  # the make variable that names the user's own folder
    is_folder_needed: bool = False
    endings: tuple[str, ...] = ()  # extensions of the files that are read
    summary: str = ""  # file in figures/<study> that `make study` prints last; "": Table 2


KINDS = {
    "lab": Kind(("00_lab", *_FULL_CHAIN), EVIDENCE, trained=_CAN_AUGMENT),
    "documents": Kind(("00_documents", *_FULL_CHAIN), EVIDENCE, trained=_CAN_AUGMENT,
                      folder="DOCUMENTS", is_folder_needed=True, endings=SUFFIXES),
    "structext": Kind(("00_samples", "03_train", "00_infer", "01_judge", "01_analyze"),
                      arms=("base", "tuned"), trained=("tuned", "tuned-hint", "tuned-few-shot"),
                      any_arm=True, summary="structext.md"),
    "tablequest": Kind(("00_filings", "01_questions", "02_normalize", "03_train", "00_infer",
                        "01_judge", "06_analyze", "02_analyze"), any_arm=True,
                       folder="FILINGS", endings=FILING_ENDINGS, summary="tablequest.md"),
}
CONTROLLED = ("00_facts", "01_pretrain", "02_run", "03_analyze", "04_augment")
REPLICATES = ("00_lab", *CHAIN[:-1], "00_replicates")
READER = ("00_reader", "01_read", "02_forms")


class OwnRunsStudy(BaseModel):
    """Keys of every study that draws its own documents and bases, and names its own runs.

    `notebooks` holds parameters by notebook; there is no folder of the user's.
    """

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    variants: ClassVar[tuple[str, ...]] = ()  # no notebooks beyond its own
    others: ClassVar[tuple[str, ...]] = ()  # it makes its own bases
    folder: ClassVar[str] = ""

    name: str
    source: str
    minutes: float = 0  # on two cores; printed before the study starts
    notebooks: dict[str, dict] = {}

    @field_validator("notebooks", mode="before")
    @classmethod
    def _filled(cls, notebooks: object) -> object:
        return ({stage: given or {} for stage, given in notebooks.items()}
                if isinstance(notebooks, dict) else notebooks or {})

    def check_notebooks(self, legal: tuple[str, ...], fixed: tuple[str, ...]) -> None:
        """Raise ValueError for a notebook not in `legal` and a parameter that the study's keys set.

        `fixed` has the names of those parameters.
        """
        for stage, given in self.notebooks.items():
            if stage not in legal:
                raise ValueError(f"notebooks: {stage!r} is unknown; choose among "
                                 f"{', '.join(legal)}")
            for name in given:
                if name in fixed:
                    raise ValueError(f"notebooks, {stage}: {name} is set by the study's own keys; "
                                     "remove it here")
