"""Keys that every study has in common that draws its own documents and bases and names its runs."""

from typing import ClassVar

from pydantic import BaseModel, ConfigDict, field_validator


class OwnRunsStudy(BaseModel):
    """A study without a user's folder; `notebooks` holds parameters by notebook."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    variants: ClassVar[tuple[str, ...]] = ()  # no notebooks beyond its own
    others: ClassVar[tuple[str, ...]] = ()  # it makes its own bases
    folder: ClassVar[str] = ""

    name: str
    source: str
    minutes: int = 0  # on two cores; printed before the study starts
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
