"""Check study files with `source: reader`: readers of several seeds, trained and compared here."""

from pathlib import Path
from typing import ClassVar, Literal

from pydantic import Field, model_validator

from lib.core.files import artifact_path
from lib.core.paths import figures_path
from lib.run.stages import READER, OwnRunsStudy


class ReaderStudy(OwnRunsStudy):
    """Readers with lessons, weights and tables of their own, one per seed."""

    stages: ClassVar[tuple[str, ...]] = READER

    source: Literal["reader"]
    first_seed: int = Field(default=1, ge=0)
    readers: int = Field(default=3, ge=1)  # the others' seeds follow the first

    @model_validator(mode="after")
    def _legal(self) -> "ReaderStudy":
        self.check_notebooks(READER, ("study", "seed", "seeds"))
        return self

    @property
    def runs(self) -> list[str]:
        """Return the readers' seeds, which are also the names of their files."""
        return [str(self.first_seed + n) for n in range(self.readers)]

    @property
    def results(self) -> list[Path]:
        """Return the files that the figures are drawn from."""
        return [artifact_path(self.name, "cells", seed=seed) for seed in self.runs]

    @property
    def drawing(self) -> list[str]:
        """Return the rules that draw figures."""
        return ["reader_analysis"]

    @property
    def summary(self) -> Path:
        """Return the file that `make study` prints last."""
        return figures_path(self.name, "reader.md")

    def arms_of(self, stage: str) -> list[str]:
        """Return what to check parameters with: a reader, or "" for the analysis."""
        return [self.runs[0]] if stage in self.stages[:2] else [""]

    def given(self, stage: str, seed: str = "") -> dict[str, object]:
        """Return the parameters of `stage` for the reader `seed` (the first if empty), or of the
        analysis."""
        wired = {"seed": int(seed or self.first_seed)} if stage in self.stages[:2] else {
            "seeds": [int(one) for one in self.runs]}
        return {"study": self.name, **self.notebooks.get(stage, {}), **wired}
