"""Check study files with `source: controlled`, which set the arms, rotations and seeds of runs."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from lib.controlled.design.arms import (
    NORMALIZED_BY_MODEL,
    RAW,
    TWICE,
    arm_named,
    runs_of,
    split_run,
)
from lib.controlled.design.latin_square import STRUCTURES
from lib.core.files import artifact_path
from lib.core.paths import figures_path
from lib.run.stages import CONTROLLED, OwnRunsStudy

_AUGMENT = CONTROLLED[-1]
_SET_BY_KEYS = ("study", "arm", "rotation", "runs", "structures", "arms", "normalizer", "base")


def _different(names: list[str]) -> list[str]:
    if len(set(names)) < len(names):
        raise ValueError(f"{names!r} names something twice")
    return names


Names = Annotated[list[str], AfterValidator(_different)]


class ControlledStudy(OwnRunsStudy):
    """A controlled experiment: facts and a base per seed; runs named by arm, rotation, seed."""

    source: Literal["controlled"]
    structures: Names = ["natural", "entity-list", "tabular"]
    arms: Names = [RAW]
    seeds: int = Field(default=3, ge=1)
    first_base: int = Field(default=1, ge=1)  # number, and seed, of the first base
    every_rotation: Names = [RAW]  # arms with all rotations per seed, not just one
    normalizer: str = "rules"

    @model_validator(mode="after")
    def _legal(self) -> "ControlledStudy":
        if unknown := [one for one in self.structures if one not in STRUCTURES]:
            raise ValueError(f"structures: {unknown[0]!r} is unknown; choose among "
                             f"{', '.join(STRUCTURES)}")
        if len(self.structures) < 2 or RAW not in self.arms:
            raise ValueError(f"structures, arms: give at least two structures, and the arm {RAW}, "
                             "with which all others are compared")
        for arm in self.arms:
            arm_named(arm)
        if RAW not in self.every_rotation or not set(self.every_rotation) <= set(self.arms):
            raise ValueError(f"every_rotation: {self.every_rotation} must include {RAW}, whose "
                             "facts are compared across rotations, and otherwise only arms of the "
                             f"study: {', '.join(self.arms)}")
        if (NORMALIZED_BY_MODEL in self.arms) != (self.normalizer != "rules"):
            raise ValueError(f"arms: the arm {NORMALIZED_BY_MODEL} and the key `normalizer` with a "
                             "model's id belong together; give both or neither")
        self._check_notebooks()
        return self

    def _check_notebooks(self) -> None:
        self.check_notebooks(CONTROLLED, _SET_BY_KEYS)
        for stage, given in self.notebooks.items():
            for name in given:
                if name == "seed" and stage in ("01_pretrain", "02_run"):
                    raise ValueError(f"notebooks, {stage}: seed is set by the key seeds; "
                                     "remove it here")
        if _AUGMENT in self.notebooks and TWICE not in self.arms:
            raise ValueError(f"notebooks, {_AUGMENT}: it compares arms with {TWICE}; add this to "
                             "arms, or remove the notebook")
        if self.notebooks.get("02_run", {}).get("curve_every", 1) < 1:
            raise ValueError("notebooks, 02_run, curve_every: give 1 epoch or more")

    @property
    def stages(self) -> tuple[str, ...]:
        """Return its notebooks: 04_augment only if the file names it among `notebooks`."""
        return CONTROLLED if _AUGMENT in self.notebooks else CONTROLLED[:-1]

    @property
    def runs(self) -> list[str]:
        """Return the names of all runs: arm-rotation-seed."""
        return runs_of(self.arms, len(self.structures), self.bases, self.every_rotation)

    @property
    def bases(self) -> range:
        """Return the numbers of the bases, which are also their seeds."""
        return range(self.first_base, self.first_base + self.seeds)

    @property
    def results(self) -> list[Path]:
        """Return the files that the figures are drawn from."""
        return [artifact_path(self.name, "outcomes", run=run) for run in self.runs]

    @property
    def drawing(self) -> list[str]:
        """Return the rules that draw figures."""
        return ["controlled_analysis", "augmentation"][:len(self.stages) - 3]

    @property
    def summary(self) -> Path:
        """Return the file that `make study` prints last."""
        is_augmented = self.stages == CONTROLLED
        return figures_path(self.name, "augment.md" if is_augmented else "controlled.md")

    def arms_of(self, stage: str) -> list[str]:
        """Return what to check parameters with: a run of 02_run, a seed, or ""."""
        return {"00_facts": ["1"], "01_pretrain": ["1"], "02_run": self.runs[:1]}.get(stage, [""])

    def given(self, stage: str, run: str = "") -> dict[str, object]:
        """Return the parameters of `stage`; `run` is a run of 02_run, or else a seed."""
        wired = {"00_facts": {"structures": self.structures, "normalizer": self.normalizer},
                 "01_pretrain": {"structures": self.structures, "arms": self.arms},
                 **dict.fromkeys(("03_analyze", "04_augment"), {"runs": self.runs})}.get(stage, {})
        if stage == "00_facts" and run:
            wired |= {"base": int(run),
                      "runs": [one for one in self.runs if one.endswith(f"-{run}")]}
        if stage == "02_run" and run:
            wired = dict(zip(("arm", "rotation", "seed"), split_run(run), strict=True))
            if not arm_named(wired["arm"]).adds:
                wired["match"] = "epochs"  # only added texts are matched to raw text in updates
        if stage == "01_pretrain" and run:
            wired = {**wired, "seed": int(run)}
        return {"study": self.name, **self.notebooks.get(stage, {}), **wired}
