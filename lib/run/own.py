"""Studies that make their own documents and bases: controlled, replicates, reader."""

from typing import ClassVar, Literal

from pydantic import Field, model_validator

from lib.controlled.design.arms import (
    NORMALIZED_BY_MODEL,
    RAW,
    TWICE,
    arm_named,
    runs_of,
    split_run,
)
from lib.controlled.design.latin_square import STRUCTURES
from lib.core.arms import ARMS
from lib.run.stages import CONTROLLED, READER, REPLICATES, StudyFile, check_parameters

_AUGMENT = CONTROLLED[-1]
_STEP = 10  # between two replicates' seeds, because a laboratory also uses its seed + 1


class ControlledStudy(StudyFile):
    """A controlled experiment: facts and a base per seed; runs named by arm, rotation, seed."""

    legal: ClassVar[tuple[str, ...]] = CONTROLLED
    fixed: ClassVar[tuple[str, ...]] = ("rotation", "runs", "structures", "base")

    source: Literal["controlled"]
    structures: list[Literal[tuple(STRUCTURES)]] = list(STRUCTURES)
    arms: list[str] = [RAW]
    seeds: int = Field(default=3, ge=1)
    first_base: int = Field(default=1, ge=1)  # number, and seed, of the first base
    normalizer: str = "rules"

    @model_validator(mode="after")
    def _legal(self) -> "ControlledStudy":
        for arm in self.arms:
            arm_named(arm)
        if len(set(self.structures)) < 2 or RAW not in self.arms:
            raise ValueError(f"structures, arms: give at least two structures, and the arm {RAW}, "
                             "with which all others are compared")
        if (NORMALIZED_BY_MODEL in self.arms) != (self.normalizer != "rules"):
            raise ValueError(f"arms: the arm {NORMALIZED_BY_MODEL} and the key `normalizer` with a "
                             "model's id belong together; give both or neither")
        if _AUGMENT in self.notebooks and TWICE not in self.arms:
            raise ValueError(f"notebooks, {_AUGMENT}: it compares arms with {TWICE}; add this to "
                             "arms, or remove the notebook")
        seeded = {stage: own for stage, own in self.notebooks.items() if stage in CONTROLLED[1:3]}
        check_parameters("notebooks", seeded, CONTROLLED, ("seed",))
        return self

    @property
    def stages(self) -> tuple[str, ...]:
        """Return its notebooks: 04_augment only if the file names it among `notebooks`."""
        return CONTROLLED if _AUGMENT in self.notebooks else CONTROLLED[:-1]

    @property
    def report(self) -> tuple[str, str]:
        """Return the analysis notebook and the main table of the report."""
        return self.stages[-1], "hypotheses" if self.stages == CONTROLLED else "contrasts"

    @property
    def runs(self) -> list[str]:
        """Return the names of all runs: arm-rotation-seed."""
        return runs_of(self.arms, len(self.structures), self.bases, [RAW])

    @property
    def bases(self) -> range:
        """Return the numbers of the bases, which are also their seeds."""
        return range(self.first_base, self.first_base + self.seeds)

    def arms_of(self, stage: str) -> list[str]:
        """Return the seeds or runs of `stage`, [""] if it runs once."""
        seeds = [str(base) for base in self.bases]
        return {"00_facts": seeds, "01_pretrain": seeds, "02_run": self.runs}.get(stage, [""])

    def given(self, stage: str, run: str) -> dict[str, object]:
        """Return the parameters of `stage`; `run` is a run of 02_run, or else a seed."""
        match stage:
            case "00_facts":
                wired = {"structures": self.structures, "normalizer": self.normalizer,
                         "base": int(run),
                         "runs": [one for one in self.runs if one.endswith(f"-{run}")]}
            case "01_pretrain":
                wired = {"structures": self.structures, "arms": self.arms, "seed": int(run)}
            case "02_run":
                wired = dict(zip(("arm", "rotation", "seed"), split_run(run), strict=True))
                if not arm_named(wired["arm"]).adds:
                    wired["match"] = "epochs"  # only added texts are matched to raw in updates
            case _:
                wired = {"runs": self.runs}
        return {"study": self.name, **self.notebooks.get(stage, {}), **wired}


class ReplicatesStudy(StudyFile):
    """Independent laboratories: each draws its records, world, weights and order of training."""

    stages: ClassVar[tuple[str, ...]] = REPLICATES
    fixed: ClassVar[tuple[str, ...]] = ("replicates", "seed", "split_seed")
    arms: ClassVar[tuple[str, ...]] = ARMS[1:]  # one training each
    report: ClassVar[tuple[str, str]] = (REPLICATES[-1], "summary")

    source: Literal["replicates"]
    replicates: int = Field(default=12, ge=2)
    first_seed: int = Field(default=1010, ge=0)  # the others follow in steps of 10

    @property
    def numbers(self) -> list[str]:
        """Return the replicates' seeds, which are also the names of their folders."""
        return [str(self.first_seed + _STEP * n) for n in range(self.replicates)]

    @property
    def runs(self) -> list[str]:
        """Return the names of all trainings: seed-arm."""
        return [f"{number}-{arm}" for number in self.numbers for arm in self.arms]

    def arms_of(self, stage: str) -> list[str]:
        """Return the trainings or replicates of `stage`, [""] for the analysis."""
        if stage == self.stages[-1]:
            return [""]
        return self.runs if stage == "03_train" else self.numbers

    def given(self, stage: str, run: str) -> dict[str, object]:
        """Return the parameters of `stage`; `run` is seed-arm, or a seed alone."""
        own = self.notebooks.get(stage, {})
        if stage == self.stages[-1]:
            return {"study": self.name, **own, "replicates": self.numbers, "arms": list(self.arms)}
        number, _, arm = run.partition("-")
        study, arms = f"{self.name}/{number}", {"arms": list(self.arms)}
        base = {"base_model": f"data/{study}/models/base"}
        wired = {"00_lab": {"seed": int(number)}, "02_normalize": base,
                 "03_train": base | {"arm": arm, "seed": int(number), "split_seed": int(number)},
                 "04_infer": base | arms, "05_judge": arms}.get(stage, {})
        return {"study": study, **own, **wired}


class ReaderStudy(StudyFile):
    """Readers with lessons, weights and tables of their own, one per seed."""

    stages: ClassVar[tuple[str, ...]] = READER
    fixed: ClassVar[tuple[str, ...]] = ("seed",)
    report: ClassVar[tuple[str, str]] = (READER[-1], "forms")

    source: Literal["reader"]
    first_seed: int = Field(default=1, ge=0)
    readers: int = Field(default=3, ge=1)  # the others' seeds follow the first

    @property
    def runs(self) -> list[str]:
        """Return the readers' seeds, which are also the names of their files."""
        return [str(self.first_seed + n) for n in range(self.readers)]

    def arms_of(self, stage: str) -> list[str]:
        """Return the readers of `stage`, [""] for the analysis."""
        return self.runs if stage in self.stages[:2] else [""]

    def given(self, stage: str, seed: str) -> dict[str, object]:
        """Return the parameters of `stage` for the reader `seed` (the first if empty)."""
        wired = {"seed": int(seed or self.first_seed)} if stage in self.stages[:2] else {
            "seeds": [int(one) for one in self.runs]}
        return {"study": self.name, **self.notebooks.get(stage, {}), **wired}
