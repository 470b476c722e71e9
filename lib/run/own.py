"""Studies that make their own documents and bases: controlled, replicates, reader."""

from typing import ClassVar, Literal

from pydantic import Field, NonNegativeInt, PositiveInt, model_validator

from lib.controlled.design.arms import (
    NORMALIZED_BY_MODEL,
    RAW,
    TWICE,
    arm_named,
    runs_of,
    split_run,
)
from lib.core.arms import ARMS
from lib.run.stages import StudyFile, check_parameters
from lib.tasks.spark.structures import STRUCTURES

_AUGMENT = "04_augment"


class ControlledStudy(StudyFile):
    """A controlled experiment: facts and a base per seed; runs named by arm, rotation, seed."""

    source: Literal["controlled"]
    structures: list[Literal[tuple(STRUCTURES)]] = list(STRUCTURES)
    arms: list[str] = [RAW]
    seeds: PositiveInt = 3
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
        seeded = {stage: self.notebooks.get(stage, {}) for stage in ("01_pretrain", "02_run")}
        check_parameters("notebooks", seeded, self.legal, ("seed",))
        return self

    @property
    def stages(self) -> tuple[str, ...]:
        """Return its notebooks: 04_augment only if the file names it among `notebooks`."""
        return self.legal if _AUGMENT in self.notebooks else self.kind.stages

    @property
    def report(self) -> tuple[str, str]:
        """Return the analysis notebook and the main table of the report."""
        return (_AUGMENT, "hypotheses") if _AUGMENT in self.stages else self.kind.report

    @property
    def runs(self) -> list[str]:
        """Return the names of all runs: arm-rotation-seed."""
        return runs_of(self.arms, len(self.structures), self.numbers, [RAW])

    def arms_of(self, stage: str) -> list[str]:
        """Return the seeds or runs of `stage`, [""] if it runs once."""
        seeds = [*map(str, self.numbers)]
        return {"00_facts": seeds, "01_pretrain": seeds, "02_run": self.runs}.get(stage, [""])

    def wired(self, stage: str, run: str) -> dict[str, object]:
        """Return what the graph sets; `run` is a run of 02_run, or else a seed."""
        match stage:
            case "00_facts":
                return {"structures": self.structures, "normalizer": self.normalizer,
                        "base": int(run),
                        "runs": [one for one in self.runs if one.endswith(f"-{run}")]}
            case "01_pretrain":
                return {"structures": self.structures, "arms": self.arms, "seed": int(run)}
            case "02_run":
                arm, rotation, seed = split_run(run)
                # only added texts are matched to raw in updates
                matched = {} if arm_named(arm).adds else {"match": "epochs"}
                return {"arm": arm, "rotation": rotation, "seed": seed, **matched}
            case _:
                return {"runs": self.runs}


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
        return {"03_train": self.runs, "00_replicates": [""]}.get(
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
            "00_lab": {"seed": int(number)}, "02_normalize": base,
            "03_train": base | {"arm": arm, "seed": int(number), "split_seed": int(number)},
            "04_infer": base | arms, "05_judge": arms}.get(stage, {})


class ReaderStudy(StudyFile):
    """Readers with lessons, weights and tables of their own, one per seed."""

    source: Literal["reader"]
    seeds: PositiveInt = 3

    @property
    def runs(self) -> list[str]:
        """Return the readers' seeds, which are also the names of their files."""
        return [*map(str, self.numbers)]

    def arms_of(self, stage: str) -> list[str]:
        """Return the readers of `stage`, [""] for the analysis."""
        return [""] if stage == "02_forms" else self.runs

    def wired(self, stage: str, seed: str) -> dict[str, object]:
        """Return what the graph sets for the reader `seed` (the first if empty)."""
        if stage == "02_forms":
            return {"seeds": [*map(int, self.runs)]}
        return {"seed": int(seed or self.first_seed)}
