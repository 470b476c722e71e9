"""The notebooks of each kind of study, the one table of their names, and keys of every study."""

from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    NonNegativeInt,
    PositiveInt,
    ValidationError,
    model_validator,
)

from lib.core.errors import choices
from lib.core.store import result_path
from lib.llm.calls import SETTINGS, settings_of
from lib.tasks.kinds import Kind, Stage, kinds

KINDS = kinds()
STAGES = {
    "00_lab": Stage(),
    "00_documents": Stage(),
    "01_annotate": Stage(),
    "02_normalize": Stage(),
    "03_train": Stage(per="trained"),
    "04_infer": Stage(per="runs"),
    "05_judge": Stage(per="runs"),
    "06_analyze": Stage(every_seed=True),
    "retention": Stage(per="arms"),
    "pairs": Stage(per="pairs"),
    "statistics": Stage(every_seed=True),
    "ledger": Stage(),
    "agreement": Stage(),
    "exposures_run": Stage(per="bases"),
    "exposures": Stage(),
}
for _kind in KINDS.values():
    STAGES |= _kind.own
# Names of studies and arms become file names and parts of commands.
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
# Parameters that the graph sets from a study's keys.
WIRED = (
    "study",
    "arm",
    "arms",
    "first_arm",
    "folder",
    "seeds",
    "retention",
    "pairs",
    "annotator",
    "normalizer",
    "augmenter",
    "judge",
    "judges",
    "base_model",
    "task",
    "caution",
)


class StudyFile(BaseModel):
    """Keys of every study. `notebooks` holds parameters by notebook."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)
    others: ClassVar[tuple[str, ...]] = ()  # studies of which this one runs a stage

    name: Name
    source: str
    minutes: float = 0  # on two cores; printed before the study starts
    notebooks: dict[str, dict] = {}
    folder: str = ""  # of documents, below the repository or the user's own
    replies: str = ""  # of models: an exported file, imported before the study starts
    llm: dict = {}  # of calls to models (lib.llm.calls.Calls); `stages` has those of single stages
    seeds: PositiveInt = 1  # trainings of an arm, bases or laboratories
    first_seed: NonNegativeInt | None = None  # None: that of the notebook, 1 for bases
    caution: str = ""  # why its numbers mean little: printed, and the report's answer
    threads: NonNegativeInt = 0  # of a stage; 0: all cores, which slows down a tiny model

    @model_validator(mode="after")
    def _check_notebooks(self) -> "StudyFile":
        check_parameters("notebooks", self.notebooks, self.legal, (*WIRED, *self.kind.fixed))
        choose("llm, stages", list(self.llm.get("stages", {})), self.legal)
        for stage in ("", *self.llm.get("stages", {})):
            try:
                settings_of(self.llm, stage)
            except ValidationError as error:
                first = error.errors()[0]
                raise ValueError(
                    f"llm, {first['loc'][-1]}: {first['msg']}; choose among {', '.join(SETTINGS)}"
                ) from error
        return self

    def seed_of(self, number: int, default: int = 1) -> int:
        """Return the seed of training or base `number`, counted from 1."""
        first = default if self.first_seed is None else self.first_seed
        return first + self.kind.step * (number - 1)

    @property
    def numbers(self) -> list[int]:
        """Return the seeds of a study that makes its own bases, which are also their names."""
        return [self.seed_of(n + 1) for n in range(self.seeds)]

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
        return result_path(self.name, f"{self.report[1]}.md")


def choose(where: str, names: list[str], legal: tuple[str, ...]) -> None:
    """Raise ValueError for the first name that is not legal."""
    for name in names:
        if name not in legal:
            raise ValueError(f"{where}: {name!r} is unknown; {choices(name, legal)}")


def check_parameters(
    where: str, given: dict[str, dict], legal: tuple[str, ...], fixed: tuple[str, ...]
) -> None:
    """Raise ValueError for an unknown notebook and for a parameter that the study's keys set."""
    choose(where, list(given), legal)
    for stage, parameters in given.items():
        for name in parameters:
            if name in fixed:
                raise ValueError(
                    f"{where}, {stage}: {name} is set by the study's own keys; remove it here"
                )
