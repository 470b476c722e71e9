"""Studies that make their own documents and bases: controlled and replicates."""

from typing import ClassVar, Literal

from pydantic import Field, NonNegativeInt, PositiveInt, model_validator

from lib.controlled.design.arms import (
    RAW,
    TWICE,
    arm_named,
    runs_of,
    split_run,
)
from lib.core.arms import ARMS
from lib.run.stages import StudyFile
from lib.tasks.spark.structures import STRUCTURES

_RUN, _ANALYSIS = "controlled_run", "controlled"


class ControlledStudy(StudyFile):
    """A controlled experiment: facts and a base per seed; runs named by arm, rotation, seed."""

    source: Literal["controlled"]
    structures: list[Literal[tuple(STRUCTURES)]] = list(STRUCTURES)
    arms: list[str] = [RAW]
    seeds: PositiveInt = 3

    @model_validator(mode="after")
    def _legal(self) -> "ControlledStudy":
        for arm in self.arms:
            arm_named(arm)
        if len(set(self.structures)) < 2 or RAW not in self.arms:
            raise ValueError(f"structures, arms: give at least two structures, and the arm {RAW}, "
                             "with which all others are compared")
        if self._adds_texts and TWICE not in self.arms:
            raise ValueError(f"notebooks, {_ANALYSIS}: transfer compares arms with {TWICE}; add "
                             "this to arms, or remove transfer")
        return self

    @property
    def _adds_texts(self) -> bool:
        return bool(self.notebooks.get(_ANALYSIS, {}).get("transfer"))

    @property
    def report(self) -> tuple[str, str]:
        """Return the analysis notebook and the main table of the report."""
        return (_ANALYSIS, "hypotheses") if self._adds_texts else self.kind.report

    @property
    def runs(self) -> list[str]:
        """Return the names of all runs: arm-rotation-seed."""
        return runs_of(self.arms, len(self.structures), self.numbers, [RAW])

    def arms_of(self, stage: str) -> list[str]:
        """Return the runs, or [""] for the analysis."""
        return self.runs if stage == _RUN else [""]

    def wired(self, stage: str, run: str) -> dict[str, object]:
        """Return what the graph sets for `run` (the first if empty), or for the analysis."""
        if stage == _ANALYSIS:
            return {"runs": self.runs}
        arm, rotation, seed = split_run(run or self.runs[0])
        # only added texts are matched to raw in updates
        matched = {} if arm_named(arm).adds else {"match": "epochs"}
        return {"arm": arm, "rotation": rotation, "seed": seed, "structures": self.structures,
                "arms": self.arms, **matched}


class ReplicatesStudy(StudyFile):
    """Independent laboratories: each draws its records, world, weights and order of training."""

    arms: ClassVar[tuple[str, ...]] = ARMS[1:]  # one training each

    source: Literal["replicates"]
    seeds: int = Field(default=12, ge=2)
    first_seed: NonNegativeInt = 1010

    @property
    def runs(self) -> list[str]:
        """Return the names of all trainings: seed-arm."""
        return [f"{number}-{arm}" for number in self.numbers for arm in self.arms]

    def arms_of(self, stage: str) -> list[str]:
        """Return the trainings or replicates of `stage`, [""] for the analysis."""
        return {"03_train": self.runs, "replicates": [""]}.get(
            stage, [*map(str, self.numbers)])

    def wired(self, stage: str, run: str) -> dict[str, object]:
        """Return what the graph sets; `run` is seed-arm, a seed alone, or "" for the analysis."""
        arms = {"arms": list(self.arms)}
        if not run:
            return {"replicates": [*map(str, self.numbers)]} | arms
        number, _, arm = run.partition("-")
        study = {"study": f"{self.name}/{number}"}
        base = {"base_model": f"data/{self.name}/{number}/models/base"}
        return study | {
            "00_lab": {"seed": int(number)}, "01_annotate": {"annotator": "facts"},
            "02_normalize": base | {"normalizer": "facts"},
            "03_train": base | {"arm": arm, "seed": int(number), "split_seed": int(number)},
            "04_infer": base | arms, "05_judge": arms}.get(stage, {})
