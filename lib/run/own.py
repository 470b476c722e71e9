"""Studies that make their own records and bases: the exposure study."""

from typing import Literal

from pydantic import PositiveInt, model_validator

from lib.core.arms import RAW
from lib.run.stages import StudyFile

_RUN = "exposures_run"


class ExposureStudy(StudyFile):
    """Runs from many bases, each with records of its own; `seeds` counts the bases."""

    source: Literal["exposures"]
    arms: list[str] = [RAW]
    seeds: PositiveInt = 3
    seeds_of_all_arms: PositiveInt | None = None  # later bases train on raw text alone
    sizes: list[dict[str, PositiveInt]] = []  # of the model, a base each in turn

    @model_validator(mode="after")
    def _legal(self) -> "ExposureStudy":
        from lib.exposures.arms import arm_named  # imports pandas

        for arm in self.arms:
            arm_named(arm)
        if RAW not in self.arms:
            raise ValueError(f"arms: add {RAW}, with which all others are compared")
        return self

    @property
    def runs(self) -> list[str]:
        """Return the names of the bases."""
        return [*map(str, self.numbers)]

    def arms_of(self, stage: str) -> list[str]:
        """Return the bases, or [""] for the analysis."""
        return self.runs if stage == _RUN else [""]

    def wired(self, stage: str, run: str) -> dict[str, object]:
        """Return what the graph sets for base `run` (the first if empty), or for the analysis."""
        if stage != _RUN:
            return {"seeds": self.numbers}
        seed = int(run or self.runs[0])
        n = self.seeds_of_all_arms or self.seeds
        size = self.sizes[self.numbers.index(seed) % len(self.sizes)] if self.sizes else None
        return {
            "seed": seed,
            "arms": self.arms if seed in self.numbers[:n] else [RAW],
            **({"size": size} if size else {}),
        }
