"""Read study files (studies/<name>.yaml) and check them completely before anything runs."""

import os
import re
from pathlib import Path
from typing import Annotated

import yaml
from pydantic import Field, ValidationError, model_validator

from lib.core.arms import AUGMENTED, BASE, TEXTS, is_trained, split_arm, texts_of
from lib.core.errors import BadStudy, choices, explained
from lib.core.store import REPOSITORY
from lib.documents.folder import list_files, one_of
from lib.run.own import ExposureStudy
from lib.run.parameters import checked, notebook_path, parameters_of
from lib.run.stages import (
    KINDS,
    STAGES,
    WIRED,
    Name,
    StudyFile,
    check_parameters,
    choose,
)
from lib.tasks.kinds import CURVE

# `make study` passes the folder to the graph in this variable, because Snakemake reads --config as
# YAML and quotes it for a shell with repr(), which corrupts some folder names.
FOLDER_VARIABLE = "STUDY_DOCUMENTS"
BASE_VARIABLE = "STUDY_BASE"  # "laboratory" where a study of documents names no base
FOR_SHOW = (
    "This small base cannot learn from your documents: the numbers show that the chain "
    "runs, and nothing else."
)
_BY_ARM = ("reader", "shots")  # may differ between arms that are answered in one execution
_OWN = ("base_model", "endpoint_model", *_BY_ARM)  # each makes an arm that is not trained
_WORLD = ("seed", "n_private", "n_public", "renderings", "question_repeats", "table_share")
_TOGETHER = ("runs", "arms", "pairs")  # run once for all arms if the study has them together
LABORATORY = "laboratory"
_Model = Annotated[str, Field(min_length=1)]


class Study(StudyFile):
    """A study of texts: `arms` holds parameters of single arms, by notebook."""

    source: str
    base_model: str
    annotator: _Model = "rules"
    normalizer: _Model = "rules"
    augmenter: _Model = "rules"  # used if dapt-a is among the arms
    judge: _Model = "rules"
    other_judges: list[str] = []  # their verdicts are compared with those of `judge`
    together: bool = False  # all arms are answered and judged in one execution: for small models
    variants: list[str] = []
    arms: dict[Name, dict[str, dict]]

    @model_validator(mode="before")
    @classmethod
    def _defaults(cls, keys: dict) -> dict:
        kind = KINDS[keys["source"]]
        arms = keys.get("arms") or list(kind.arms)
        if isinstance(arms, list):
            arms = dict.fromkeys(map(str, arms))
        if isinstance(arms, dict):
            order = [arm for arm in dict.fromkeys((*kind.arms, *arms)) if arm in arms]
            arms = {arm: arms[arm] or {} for arm in order}
        base = "" if keys["source"] == "documents" else keys["name"]
        if not (base or keys.get("base_model")) and os.environ.get(BASE_VARIABLE) == LABORATORY:
            base, keys = "lab", {"caution": FOR_SHOW, **keys}
        known = ("annotator", "normalizer", "augmenter") if keys["source"] == "lab" else ()
        return {
            "variants": list(kind.variants),
            "base_model": base and f"data/{base}/models/base",
            **dict.fromkeys(known, "facts"),
            **keys,
            "arms": arms,
        }

    @model_validator(mode="after")
    def _legal(self) -> "Study":
        choose("variants", self.variants, self.kind.variants)
        folders = [judge.replace("/", "--") for judge in (self.judge, *self.other_judges)]
        if len(set(folders)) < len(folders):
            raise ValueError(
                f"other_judges: {self.other_judges} names a judge twice, or the judge itself"
            )
        for arm, own in self.arms.items():
            self._check_arm(arm, own)
        return self

    def _check_arm(self, arm: str, own: dict[str, dict]) -> None:
        if arm in self.kind.reserved:
            raise ValueError(f"arms: {arm!r} {self.kind.reserved[arm]}; choose another name")
        is_own = is_trained(arm)
        if is_own and not arm.startswith(self.kind.trains):
            raise ValueError(f"arms: {arm!r} cannot be trained here; name it {self.kind.trains}-…")
        fixed = tuple(name for name in WIRED if is_own or name != "base_model")
        per_arm = tuple(stage for stage in self.legal if STAGES[stage].per)
        check_parameters(f"arms, {arm}", own, per_arm, fixed)
        alone = [
            stage
            for stage in own
            if STAGES[stage].per in _TOGETHER and set(own[stage]) - {*_BY_ARM}
        ]
        if self.together and alone:
            raise ValueError(
                f"arms, {arm}, {alone[0]}: with `together: true` all arms have the "
                "same parameters; set together to false, or move them to notebooks"
            )
        if not self.together and ":" in str(own.get("04_infer", {}).get("reader")):
            raise ValueError(
                f"arms, {arm}, 04_infer: a reader with another arm's model needs together: true"
            )
        texts = self.texts_of(arm)
        if is_own and texts not in TEXTS and not (texts and (REPOSITORY / texts).is_dir()):
            raise ValueError(
                f"arms: name what {arm!r} learns, not {texts!r}: {arm}: {{03_train: "
                f"{{texts: mixed}}}}; choose among {', '.join(TEXTS)}, or a folder"
            )
        if not is_own and arm != BASE and not set(_OWN) & set(own.get("04_infer", {})):
            raise ValueError(
                f"arms: {arm!r} is neither {BASE}, nor trained ({self.kind.trains}-…)"
                f", nor an arm with a model of its own: {arm}: {{04_infer: "
                f"{{endpoint_model: …}}}}, or {', '.join(_OWN)}; "
                f"{choices(arm, self.kind.arms)}"
            )

    def texts_of(self, arm: str) -> str:
        """Return what a trained arm learns, "" if neither its name nor the study says it."""
        return texts_of(arm, self.given("03_train", arm).get("texts", ""))

    @property
    def stages(self) -> tuple[str, ...]:
        """Return the notebooks of this study, in order."""
        return (*self.kind.stages, *self.variants)

    @property
    def is_augmented(self) -> bool:
        """Return whether an arm learns augmented texts."""
        return AUGMENTED in map(self.texts_of, self.trained)

    @property
    def runs(self) -> list[str]:
        """Return all arms, and trained ones once per seed: base, dapt, dapt@2, dapt-n, dapt-n@2."""
        return [
            name
            for arm in self.arms
            for name in (
                arm,
                *(f"{arm}@{number}" for number in range(2, is_trained(arm) * self.seeds + 1)),
            )
        ]

    @property
    def trained(self) -> list[str]:
        """Return the runs that 03_train trains."""
        return [name for name in self.runs if is_trained(name)]

    @property
    def made_by(self) -> str:
        """Return the laboratory that makes the base model, "" if none does."""
        found = re.fullmatch(r"data/([^/]+)/models/base", self.base_model)
        return found[1] if found else ""

    @property
    def labs(self) -> list[str]:
        """Return the studies whose 00_lab must run for this study's documents or base model."""
        return sorted({self.name if self.source == "lab" else "", self.made_by} - {""})

    @property
    def others(self) -> set[str]:
        """Return the other studies of which this one runs a stage."""
        return {self.made_by} - {"", self.name}

    def arms_of(self, stage: str) -> list[str]:
        """Return the arms that `stage` runs for, each on its own, or [""] if it runs once."""
        per = STAGES[stage].per
        return [""] if self.together and per in _TOGETHER else self.arms_per(per)

    def arms_per(self, per: str) -> list[str]:
        """Return what `Stage.per` names; "arms" are those with a model of their own."""
        arms = list(self.arms)
        if per == "bases":
            return [str(self.world["seed"])]
        return {
            "": [""],
            "trained": self.trained,
            "runs": self.runs,
            "pairs": arms[1:],
            "arms": [arm for arm in arms if arm == BASE or is_trained(arm)],
        }[per]

    @property
    def world(self) -> dict[str, object]:
        """Return the parameters of 00_lab that draw a laboratory's records."""
        given, declared = self.given("00_lab"), parameters_of(notebook_path("00_lab"))
        return {name: given.get(name, declared[name].default) for name in _WORLD}

    def given(self, stage: str, arm: str = "") -> dict[str, object]:
        """Return the parameters of `stage`. The study's file overrides what the graph sets, and
        the arm's own parameters override both."""
        declared = parameters_of(notebook_path(stage))
        given = {name: value for name, value in self._wired(stage, arm).items() if name in declared}
        own, number = split_arm(arm) if arm else ("", 1)
        given |= self.notebooks.get(stage, {}) | self.arms.get(own, {}).get(stage, {})
        if self.together and not arm and STAGES[stage].per in _TOGETHER:
            given |= {
                name: {
                    run: self.given(stage, run).get(name, declared[name].default)
                    for run in self.runs
                }
                for name in _BY_ARM
                if any(name in one.get(stage, {}) for one in self.arms.values())
            }
        if stage == "03_train":
            first = given.get("seed", declared["seed"].default)
            if (seed := self.seed_of(number, first)) != first:
                given["seed"] = seed
        return given

    def _wired(self, stage: str, arm: str) -> dict[str, object]:
        if stage in CURVE:
            return {**self.world, "study": self.name, "base_model": self.base_model}
        first, *_ = self.arms
        each = [arm] if arm else self.arms_per(STAGES[stage].per)
        wired = {
            "study": self.name,
            "arm": arm,
            "first_arm": first,
            "baseline": first,
            "arms": each
            if any(each)
            else self.runs
            if STAGES[stage].every_seed
            else list(self.arms),
            "annotator": self.annotator,
            "normalizer": self.normalizer,
            "augmenter": self.augmenter if stage == "02_normalize" and self.is_augmented else "",
            "judge": self.judge,
            "judges": [self.judge, *self.other_judges],
            "seeds": self.seeds,
            "retention": "retention" in self.variants,
            "pairs": "pairs" in self.variants,
            "tasks": "lab" if self.made_by else "hub",
            "task": self.kind.task,
            "folder": self.folder,
            "caution": self.caution,
        }
        return wired if stage == "00_lab" else wired | {"base_model": self.base_model}


OWN = {"exposures": ExposureStudy}
AnyStudy = Study | ExposureStudy


def studies() -> list[str]:
    """Return the names of the studies that can be run."""
    return sorted(path.stem for path in (REPOSITORY / "studies").glob("*.yaml"))


def load_study(name: str, folder: str = "") -> AnyStudy:
    """Read and check studies/<name>.yaml.

    `folder` (by default $STUDY_DOCUMENTS) contains the user's own documents. Raises BadStudy, which
    says what is legal, and the error of `list_files` for a folder without documents.
    """
    if name not in studies():
        raise BadStudy(
            f"no study is called {name!r}: write studies/<name>.yaml, or {choices(name, studies())}"
        )
    where = f"studies/{name}.yaml"
    try:
        text = (REPOSITORY / where).read_text(encoding="utf-8")
        keys = yaml.safe_load(text)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        mark, problem = (getattr(error, name, None) for name in ("problem_mark", "problem"))
        line = f", line {mark.line + 1}" if mark else ""
        raise BadStudy(f"{where}{line}: not YAML: {problem or error}") from error
    source = keys.get("source") if isinstance(keys, dict) else keys
    if source not in [*KINDS]:
        raise BadStudy(
            _placed(where, text, f", source: {source!r} is unknown; {choices(source, KINDS)}")
        )
    model = OWN.get(source, Study)
    try:
        study = model(**{**keys, "name": name})
    except ValidationError as error:
        raise BadStudy(_placed(where, text, explained(error, model))) from error
    study = study.model_copy(update={"folder": _folder(study, folder)})
    if isinstance(study, Study):
        _check_base(study, where, text)
    for stage in study.stages:
        for arm in study.arms_of(stage):
            try:
                checked(notebook_path(stage), study.given(stage, arm))
            except BadStudy as error:
                raise BadStudy(_placed(where, text, f": {error}")) from error
    return study


def _placed(where: str, text: str, message: str) -> str:
    # Adds the line: the message names keys from the outermost on, and the value at its end.
    scalars = [token for token in yaml.scan(text) if isinstance(token, yaml.ScalarToken)]
    head, _, reason = message.lstrip(":, ").partition(": ")
    line, after = "", 0
    for word in [*head.split(" is ")[0].split(), *reason.split()[:1]]:
        for n, token in enumerate(scalars[after:], after):
            if token.value == word.strip("',"):
                line, after = f", line {token.start_mark.line + 1}", n
                break
    return f"{where}{line}{message}"


def _check_base(study: Study, where: str, text: str) -> None:
    for other in study.others:
        if other not in studies() or load_study(other).source != "lab":
            raise BadStudy(
                _placed(
                    where, text, f", base_model: no study with `source: lab` is called {other!r}"
                )
            )


def _folder(study: AnyStudy, folder: str) -> str:
    kind = study.kind
    if (folder or study.folder) and not kind.folder:
        raise BadStudy(
            f"the study {study.name} makes its own documents: leave DOCUMENTS out, "
            "or set STUDY=documents"
        )
    folder = (
        folder
        or os.environ.get(FOLDER_VARIABLE, "")
        or (study.folder and str(REPOSITORY / study.folder))
    )
    if folder and kind.folder:
        place = Path(folder).expanduser()  # some shells keep the ~ of DOCUMENTS=~/docs
        list_files(place, kind.endings)
        return str(place.resolve())
    if "00_documents" in kind.stages:
        raise BadStudy(
            f"the study {study.name} reads a folder of {one_of(kind.endings)} "
            f"files: make study STUDY={study.name} {kind.folder}=path"
        )
    return ""
