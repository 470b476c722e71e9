"""Check study files with `source: replicates`: independent laboratories, compared as one sample."""

from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field, model_validator

from lib.core.arms import ARMS
from lib.core.files import artifact_path
from lib.core.paths import figures_path
from lib.run.stages import CHAIN, REPLICATES, OwnRunsStudy

STEP = 10  # between two replicates' seeds, because a laboratory also uses its seed + 1
_SET_BY_KEYS = ("study", "arm", "arms", "replicates", "base_model", "seed", "split_seed",
                "annotator", "normalizer", "judge")


class ReplicatesStudy(OwnRunsStudy):
    """Independent laboratories: each draws its records, world, weights and order of training."""

    stages: ClassVar[tuple[str, ...]] = REPLICATES
    arms: ClassVar[tuple[str, ...]] = ARMS[1:]  # one training each

    source: Literal["replicates"]
    replicates: int = Field(default=12, ge=2)
    first_seed: int = Field(default=1010, ge=0)  # the others follow in steps of 10

    @model_validator(mode="after")
    def _legal(self) -> "ReplicatesStudy":
        self.check_notebooks(REPLICATES, _SET_BY_KEYS)
        return self

    @property
    def numbers(self) -> list[str]:
        """Return the replicates' seeds, which are also the names of their folders."""
        return [str(self.first_seed + STEP * n) for n in range(self.replicates)]

    @property
    def runs(self) -> list[str]:
        """Return the names of all trainings: seed-arm."""
        return [f"{number}-{arm}" for number in self.numbers for arm in self.arms]

    @property
    def results(self) -> list[Path]:
        """Return the files that the figures are drawn from."""
        return [artifact_path(f"{self.name}/{number}", "verdicts", judge="rules", arm=arm)
                for number in self.numbers for arm in self.arms]

    @property
    def drawing(self) -> list[str]:
        """Return the rules that draw figures."""
        return ["replicates_analysis"]

    @property
    def summary(self) -> Path:
        """Return the file that `make study` prints last."""
        return figures_path(self.name, "replicates.md")

    def arms_of(self, stage: str) -> list[str]:
        """Return what to check parameters with: a training for a stage of the chain, or ""."""
        return [self.runs[0]] if stage in ("00_lab", *CHAIN) else [""]

    def given(self, stage: str, run: str = "") -> dict[str, object]:
        """Return the parameters of `stage`; `run` is seed-arm, or a seed alone."""
        own = self.notebooks.get(stage, {})
        if stage == self.stages[-1]:
            return {"study": self.name, **own, "replicates": self.numbers, "arms": list(self.arms)}
        number, _, arm = run.partition("-")
        study = f"{self.name}/{number}"
        wired = {"00_lab": {"seed": int(number)},
                 "02_normalize": {"base_model": f"data/{study}/models/base"},
                 "03_train": {"base_model": f"data/{study}/models/base", "arm": arm,
                              "seed": int(number), "split_seed": int(number)},
                 "04_infer": {"base_model": f"data/{study}/models/base", "arm": arm},
                 "05_judge": {"arm": arm}}.get(stage, {})
        return {"study": study, **own, **wired}
