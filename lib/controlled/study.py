"""studies/<name>.yaml with `source: controlled`: which structures, arms, rotations and seeds make the runs."""

from dataclasses import dataclass, field
from pathlib import Path

from lib.controlled.design.arms import NORMALIZED_BY_MODEL, RAW, arm_named, rotations_of, runs_of, split_run
from lib.controlled.design.structures import STRUCTURES
from lib.core.paths import data_path, figures_path

KEYS = ("source", "structures", "arms", "seeds", "every_rotation", "normalizer", "notebooks")
STAGES = ("00_facts", "01_pretrain", "02_run", "03_analyze")
SET_BY_GRAPH = {"study": "the file's name", "arm": "the key arms", "rotation": "the key structures",
                "runs": "the key arms", "structures": "the key structures", "arms": "the key arms",
                "normalizer": "the key normalizer"}


@dataclass(frozen=True)
class ControlledStudy:
    """A controlled experiment: bases (one a seed) and runs (arm, rotation, seed)."""

    name: str
    structures: list[str] = field(default_factory=lambda: ["natural", "entity-list", "tabular"])
    arms: list[str] = field(default_factory=lambda: [RAW])
    seeds: int = 3
    every_rotation: list[str] = field(default_factory=lambda: [RAW])  # arms that have all rotations a seed, not one
    normalizer: str = "rules"
    notebooks: dict[str, dict] = field(default_factory=dict)
    source: str = "controlled"
    folder: str = ""

    stages = STAGES
    variants = ()
    labs = ()

    @property
    def runs(self) -> list[str]:
        """The names of all runs: arm-rotation-seed."""
        return runs_of(self.arms, tuple(self.structures), self.seeds, self.every_rotation)

    @property
    def texts(self) -> list[str]:
        """The names of all texts: arm-rotation."""
        return [f"{arm}-{rotation}" for arm in self.arms
                for rotation in range(rotations_of(arm_named(arm, tuple(self.structures))))]

    @property
    def results(self) -> list[Path]:
        """What the figures are drawn from."""
        return [data_path(self.name, "outcomes", f"{run}.jsonl") for run in self.runs]

    @property
    def drawing(self) -> list[str]:
        """The rules that draw them."""
        return ["controlled_analysis"]

    @property
    def told(self) -> Path:
        """What `make study` prints at its end."""
        return figures_path(self.name, "controlled.md")

    def given(self, stage: str, run: str = "") -> dict[str, object]:
        """The parameters that `stage` is given; `run` is a run of 02_run, or a seed of 01_pretrain."""
        writings = {"structures": self.structures, "arms": self.arms}
        wired = {"00_facts": {**writings, "normalizer": self.normalizer}, "01_pretrain": writings,
                 "03_analyze": {"runs": self.runs}}.get(stage, {})
        if stage == "02_run" and run:
            wired = dict(zip(("arm", "rotation", "seed"), split_run(run), strict=True))
        if stage == "01_pretrain" and run:
            wired = {**wired, "seed": int(run)}
        return {"study": self.name, **self.notebooks.get(stage, {}), **wired}


def controlled_study(name: str, keys: dict) -> ControlledStudy:
    """Check the keys of a study's file beyond their names. Raises ValueError saying what is legal."""
    where = f"studies/{name}.yaml"
    own = {stage: given or {} for stage, given in (keys.get("notebooks") or {}).items()}
    study = ControlledStudy(**{"name": name, **keys, "notebooks": own})
    for key in ("structures", "arms", "every_rotation"):
        names = getattr(study, key)
        if not isinstance(names, list) or not all(isinstance(one, str) for one in names) or len({*names}) < len(names):
            raise ValueError(f"{where}, {key}: {names!r} is not a list of different names")
    if unknown := [one for one in study.structures if one not in STRUCTURES]:
        raise ValueError(f"{where}, structures: {unknown[0]!r} is unknown; choose among {', '.join(STRUCTURES)}")
    if len(study.structures) < 2 or RAW not in study.arms:
        raise ValueError(f"{where}: give two structures or more, and the arm {RAW}, which all others are compared with")
    for arm in study.arms:
        try:
            arm_named(arm, tuple(study.structures))
        except ValueError as error:
            raise ValueError(f"{where}, arms: {error}") from error
    if RAW not in study.every_rotation or not set(study.every_rotation) <= set(study.arms):
        raise ValueError(f"{where}, every_rotation: {study.every_rotation} must have {RAW}, whose facts are compared "
                         f"over the rotations, and otherwise only arms of the study: {', '.join(study.arms)}")
    if type(study.seeds) is not int or study.seeds < 1:
        raise ValueError(f"{where}, seeds: {study.seeds!r} is no number of bases: give 1 or more")
    if (NORMALIZED_BY_MODEL in study.arms) != (study.normalizer != "rules"):
        raise ValueError(f"{where}: the arm {NORMALIZED_BY_MODEL} and the key `normalizer` with a model's id come "
                         "together; give both or neither")
    for stage in ("01_pretrain", "02_run"):
        if "seed" in own.get(stage, {}):
            raise ValueError(f"{where}, notebooks, {stage}, seed: is set by the key seeds; remove it here")
    if own.get("02_run", {}).get("curve_every", 1) < 1:
        raise ValueError(f"{where}, notebooks, 02_run, curve_every: give 1 epoch or more")
    return study
