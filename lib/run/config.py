"""Read study files (studies/<name>.yaml) and check them completely before anything runs."""

import os
import re
from difflib import get_close_matches
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, Field, ValidationError, model_validator

from lib.core.arms import AUGMENTED, BASE, is_trained, repeated, split_arm
from lib.core.errors import BadStudy
from lib.core.paths import REPOSITORY
from lib.documents.folder import list_files, one_of
from lib.run.own import ControlledStudy, ReaderStudy, ReplicatesStudy
from lib.run.parameters import checked, notebook_path, parameters_of
from lib.run.stages import (
    AUGMENT,
    KINDS,
    STAGES,
    Kind,
    StudyFile,
    check_parameters,
    choose,
    filled,
)
from lib.structext.records import BLIND

# `make study` passes the folder to the graph in this variable, because Snakemake reads --config as
# YAML and quotes it for a shell with repr(), which corrupts some folder names.
FOLDER_VARIABLE = "STUDY_DOCUMENTS"
# Parameters that the graph sets from the study's keys.
_WIRED = ("study", "arm", "arms", "first_arm", "folder", "seeds", "retention", "pairs",
          "annotator", "normalizer", "augmenter", "judge", "judges", "base_model", "task")
_MODELS = ("base_model", "endpoint_model", "reader")  # each names an arm's own model
_NAME = r"[A-Za-z0-9][A-Za-z0-9._-]*"  # names become file names and parts of commands
_TOGETHER = ("runs", "arms", "pairs")  # run once for all arms if the study has them together


class Study(StudyFile):
    """A study of texts: `arms` holds parameters of single arms, by notebook."""

    source: Literal["lab", "documents", "structext", "tablequest"]
    base_model: str = Field(default="", min_length=1, validate_default=False)
    annotator: str = Field(default="rules", min_length=1)
    normalizer: str = Field(default="rules", min_length=1)
    augmenter: str = Field(default="rules", min_length=1)  # used if dapt-a is among the arms
    judge: str = Field(default="rules", min_length=1)
    other_judges: list[str] = []  # their verdicts are compared with those of `judge`
    seeds: int = Field(default=1, ge=1)  # training runs per arm
    together: bool = False  # all arms are answered and judged in one execution: for small models
    variants: list[str] = []
    arms: dict[str, dict[str, dict]] = {}
    folder: str = ""  # the user's own documents

    @model_validator(mode="before")
    @classmethod
    def _defaults(cls, keys: dict) -> dict:
        kind = KINDS[keys["source"]]
        arms = keys.get("arms") or dict.fromkeys(kind.arms)
        if isinstance(arms, list) and all(isinstance(arm, str) for arm in arms):
            arms = dict.fromkeys(arms)
        if not isinstance(arms, dict):
            raise ValueError(f"arms: {arms!r} is not a mapping `arm: notebooks`; "
                             f"the arms are {', '.join(kind.arms)}")
        order = [arm for arm in dict.fromkeys((*kind.arms, *arms)) if arm in arms]
        return {"variants": list(kind.variants), "base_model": f"data/{keys['name']}/models/base",
                **keys, "arms": {arm: filled(arms[arm]) for arm in order}}

    @model_validator(mode="after")
    def _legal(self) -> "Study":
        choose("variants", self.variants, self.kind.variants)
        folders = [judge.replace("/", "--") for judge in (self.judge, *self.other_judges)]
        if len(set(folders)) < len(folders):
            raise ValueError(f"other_judges: {self.other_judges} names a judge twice, "
                             "or the judge itself")
        self.check_notebooks((*self.kind.stages, *self.kind.variants), _WIRED)
        for arm, own in self.arms.items():
            self._check_arm(arm, own)
        return self

    def _check_arm(self, arm: str, own: dict[str, dict]) -> None:
        kind = self.kind
        if not kind.any_arm:
            choose("arms", [arm], tuple(dict.fromkeys((*kind.arms, *kind.trained))))
        if not re.fullmatch(_NAME, arm):
            raise ValueError(f"arms: {arm!r} may contain only letters, digits, dots, dashes and "
                             "underscores")
        if self.source == "structext" and arm == BLIND:
            raise ValueError(f"arms: {BLIND!r} is the floor that 01_analyze computes; choose "
                             "another name")
        if is_trained(arm) and arm not in kind.trained:
            raise ValueError(f"arms: {arm!r} cannot be trained here; 03_train trains "
                             f"{', '.join(kind.trained)}")
        has_own_model = kind.any_arm and not is_trained(arm)
        fixed = tuple(name for name in _WIRED if not (has_own_model and name == "base_model"))
        per_arm = tuple(stage for stage in (*kind.stages, *kind.variants) if STAGES[stage].per)
        check_parameters(f"arms, {arm}", own, per_arm, fixed)
        alone = [stage for stage in own if STAGES[stage].per in _TOGETHER]
        if self.together and alone:
            raise ValueError(f"arms, {arm}, {alone[0]}: with `together: true` all arms have the "
                             "same parameters; set together to false, or move them to notebooks")
        if has_own_model and arm != BASE and not set(_MODELS) & set(own.get("00_infer", {})):
            raise ValueError(f"arms: {arm!r} is neither {', '.join(kind.arms)} nor an arm with a "
                             f"model of its own: name what answers, such as {arm}: {{00_infer: "
                             f"{{endpoint_model: …}}}}; choose among {', '.join(_MODELS)}")

    @property
    def kind(self) -> Kind:
        """Return the defaults implied by the study's source."""
        return KINDS[self.source]

    @property
    def stages(self) -> tuple[str, ...]:
        """Return the notebooks of this study, in order."""
        return tuple(stage for stage in (*self.kind.stages, *self.variants)
                     if stage != AUGMENT or AUGMENTED in self.arms)

    @property
    def runs(self) -> list[str]:
        """Return all arms, and trained ones once per seed: base, dapt, dapt@2, dapt-n, dapt-n@2."""
        return [name for arm in self.arms
                for name in repeated(arm, self.seeds if is_trained(arm) else 1)]

    @property
    def trained(self) -> list[str]:
        """Return the runs that 03_train trains."""
        return [name for name in self.runs if is_trained(name)]

    @property
    def made_by(self) -> str:
        """Return the laboratory that makes the base model, "" if none does."""
        parts = Path(self.base_model).parts
        return parts[1] if parts[:1] == ("data",) and parts[2:] == ("models", "base") else ""

    @property
    def reader(self) -> tuple[str, str]:
        """Return the study of readers that makes the base model, and the reader's seed; "" if none
        does."""
        found = re.fullmatch(rf"data/({_NAME})/models/reader-(\d+)", self.base_model)
        return found.groups() if found else ("", "")

    @property
    def labs(self) -> list[str]:
        """Return the studies whose 00_lab must run for this study's documents or base model."""
        own = [self.name] if self.source == "lab" else []
        return own + ([self.made_by] if self.made_by and self.made_by not in own else [])

    @property
    def others(self) -> list[str]:
        """Return the other studies of which this one runs a stage."""
        return [name for name in (*self.labs, self.reader[0]) if name not in ("", self.name)]

    @property
    def report(self) -> tuple[str, str]:
        """Return the analysis notebook and the main table of the report."""
        return self.kind.report

    def arms_of(self, stage: str) -> list[str]:
        """Return the arms that `stage` runs for, each on its own, or [""] if it runs once."""
        per = STAGES[stage].per
        return [""] if self.together and per in _TOGETHER else self._arms(per)

    def _arms(self, per: str) -> list[str]:
        arms = list(self.arms)
        return {"": [""], "trained": self.trained, "runs": self.runs, "arms": arms,
                "pairs": arms[1:]}[per]

    def given(self, stage: str, arm: str = "") -> dict[str, object]:
        """Return the parameters of `stage`. The study's file overrides what the graph sets, and
        the arm's own parameters override both."""
        declared = parameters_of(notebook_path(stage))
        given = {name: value for name, value in self._wired(stage, arm).items() if name in declared}
        for other, names in STAGES[stage].like.items():
            shared = self.notebooks.get(other, {})
            given |= {name: shared[name] for name in names if name in shared}
        own, number = split_arm(arm) if arm else ("", 1)
        given |= self.notebooks.get(stage, {}) | self.arms.get(own, {}).get(stage, {})
        if stage == "03_train" and number > 1:
            given["seed"] = given.get("seed", declared["seed"].default) + number - 1
        return given

    def _wired(self, stage: str, arm: str) -> dict[str, object]:
        """Return the values that the graph knows; a notebook receives those that it declares."""
        first, *_ = self.arms
        each = [arm] if arm else self._arms(STAGES[stage].per)
        wired = {
            "study": self.name, "arm": arm, "first_arm": first, "baseline": first,
            "arms": each if any(each) else self.runs if STAGES[stage].every_seed else
                list(self.arms),
            "annotator": self.annotator, "normalizer": self.normalizer,
            "augmenter": self.augmenter, "judge": self.judge,
            "judges": [self.judge, *self.other_judges], "seeds": self.seeds,
            "retention": "00_retention" in self.variants, "pairs": "01_pairs" in self.variants,
            "tasks": "lab" if self.made_by else "hub", "task": self.source, "folder": self.folder}
        return wired if stage == "00_lab" else wired | {"base_model": self.base_model}


OWN = {"controlled": ControlledStudy, "replicates": ReplicatesStudy, "reader": ReaderStudy}
AnyStudy = Study | ControlledStudy | ReplicatesStudy | ReaderStudy


def studies() -> list[str]:
    """Return the names of the studies that can be run."""
    return sorted(path.stem for path in (REPOSITORY / "studies").glob("*.yaml"))


def load_study(name: str, folder: str = "") -> AnyStudy:
    """Read and check studies/<name>.yaml.

    `folder` (by default $STUDY_DOCUMENTS) contains the user's own documents. Raises BadStudy, which
    says what is legal, and the error of `list_files` for a folder without documents.
    """
    if name not in studies():
        close = get_close_matches(name, studies(), n=1)
        meant = f"did you mean {close[0]}? Else " if close else ""
        raise BadStudy(f"no study is called {name!r}: {meant}choose {', '.join(studies())}, "
                         "or write studies/<name>.yaml")
    where = f"studies/{name}.yaml"
    if not re.fullmatch(_NAME, name):
        raise BadStudy(f"{where}: a study's name may contain only letters, digits, dots, dashes "
                         "and underscores; rename the file")
    try:
        keys = yaml.safe_load((REPOSITORY / where).read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise BadStudy(f"{where} is not YAML: {error}") from error
    sources = [*KINDS, *OWN]
    if not isinstance(keys, dict) or keys.get("source") not in sources:
        given = keys.get("source") if isinstance(keys, dict) else keys
        raise BadStudy(f"{where}, source: {given!r} is not one of {', '.join(sources)}")
    model = OWN.get(keys["source"], Study)
    try:
        study = model(**{**keys, "name": name})
    except ValidationError as error:
        raise BadStudy(f"{where}{_explained(error, model)}") from error
    if isinstance(study, Study):
        study = study.model_copy(update={"folder": _folder(study, folder)})
        _check_base(study, where)
    elif folder:
        raise BadStudy(_no_folder(name))
    for stage in study.stages:
        for arm in study.arms_of(stage):
            try:
                checked(notebook_path(stage), study.given(stage, arm))
            except BadStudy as error:
                raise BadStudy(f"{where}: {error}") from error
    return study


def _check_base(study: Study, where: str) -> None:
    """Refuse a base model that no laboratory and no study of readers makes."""
    makers = [(lab, "lab") for lab in study.labs if lab != study.name]
    makers += [(study.reader[0], "reader")] * bool(study.reader[0])
    for maker, source in makers:
        if maker not in studies() or load_study(maker).source != source:
            raise BadStudy(f"{where}, base_model: no study with `source: {source}` is called "
                           f"{maker!r}")


def _explained(error: ValidationError, model: type[BaseModel]) -> str:
    """Describe the first error in a study's file: where it is, what is wrong and what is legal."""
    first = error.errors()[0]
    place = "".join(f", {part}" for part in first["loc"])
    match first["type"]:
        case "extra_forbidden":
            legal = [key for key in model.model_fields if key not in ("name", "folder")]
            return f": {first['loc'][-1]!r} is unknown; choose among {', '.join(legal)}"
        case "value_error":
            return f"{place}, {first['ctx']['error']}"
        case _:
            return f"{place}: {first['input']!r}: {first['msg']}"


def _no_folder(name: str) -> str:
    return (f"the study {name} makes its own documents: leave DOCUMENTS out, "
            "or set STUDY=documents")


def _folder(study: Study, folder: str) -> str:
    """Return the absolute path of the user's folder, or "" if the study reads none."""
    kind = study.kind
    if not kind.folder:
        if folder:
            raise BadStudy(_no_folder(study.name))
        return ""
    folder = folder or os.environ.get(FOLDER_VARIABLE, "")
    if not folder:
        if not kind.is_folder_needed:
            return ""
        raise BadStudy(f"the study {study.name} reads a folder of {one_of(kind.endings)} "
                         f"files: make study STUDY={study.name} {kind.folder}=path")
    place = Path(folder).expanduser()  # some shells keep the ~ of DOCUMENTS=~/docs
    list_files(place, kind.endings)
    if not str(place.resolve()).isprintable():  # the name passes through YAML and JSON
        raise BadStudy(f"the folder's name {str(place)!r} contains control characters or is not "
                         "UTF-8: rename it")
    return str(place.resolve())
