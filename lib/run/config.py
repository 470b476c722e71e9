"""Study files (studies/<name>.yaml), checked before anything runs."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    NonNegativeInt,
    PositiveInt,
    ValidationError,
    model_validator,
)

from lib.core.arms import (
    ALL,
    BASE,
    GIVEN,
    RAW,
    WRITTEN,
    check_exposures,
    corpus_inputs,
    corpus_of,
    is_trained,
    split_arm,
)
from lib.core.records import STRUCTURES, listed
from lib.core.stages import CURVE, EXPORT, PIPELINES, STAGES, Pipeline
from lib.core.store import REPOSITORY, BadStudy, choices, explained, require_known
from lib.documents.folder import SUFFIXES, list_files
from lib.llm.calls import Calls, settings_of
from lib.run.parameters import check, notebook_path, parameters_of

# `make study` passes the folder to the graph in this variable, because Snakemake reads --config as
# YAML and quotes it for a shell with repr(), which corrupts some folder names.
FOLDER_VARIABLE = "STUDY_DOCUMENTS"
BASE_VARIABLE = "STUDY_BASE"  # "laboratory" where a study of documents names no base
FOR_SHOW = (
    "This small base cannot learn from your documents: the numbers show that the chain "
    "runs, and nothing else."
)
LABORATORY = "laboratory"
_MODE = "mode"  # of 04_infer; may differ between arms of one execution
_OWN = ("base_model", "endpoint_model", _MODE)  # each makes an arm that is not trained
_WORLD = ("seed", "n_private", "n_public", "renderings")  # of 00_lab, which draw its records
_TOGETHER = ("runs", "arms", "pairs")  # run once for all arms if the study has them together
_NO_MODELS = (None, "", "facts", "scorer")
WRITERS = {"annotator": "01_annotate", "normalizer": "02_normalize", "augmenter": "02_normalize"}
_Files = Annotated[list[str], BeforeValidator(lambda one: [one] if isinstance(one, str) else one)]
# Names of studies and arms become file names and parts of commands.
_Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]


class StudyFile(BaseModel):
    """Keys of every study. `notebooks` holds parameters by notebook."""

    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)

    name: _Name
    kind: str  # one of PIPELINES
    expected_minutes: float = 0  # on two cores; printed before the study starts
    notebooks: dict[str, dict] = {}
    folder: str = ""  # of documents, below the repository or the user's own
    replies: _Files = []  # of models: exported files, imported before the study starts
    prompts: str = ""  # a folder of its own prompts; what it lacks is read from prompts/
    llm: dict = {}  # of calls to models (lib.llm.calls.Calls); `stages` has those of single stages
    seeds: list[NonNegativeInt] = []  # one training of each arm, or one base, for each
    disclaimer: str = ""  # why its numbers mean little: printed, and the report's answer
    threads: NonNegativeInt = 0  # of a stage; 0: all cores, which slows down a tiny model
    extras: list[str] = []  # more notebooks
    column: Literal["single", "double"] | Annotated[float, Field(gt=1, lt=20)] = "double"  # inches
    font: Literal["sans-serif", "serif"] = "sans-serif"  # of figures
    labels: dict[str, str] = {}  # what tables and figures call arms and structures
    colors: dict[str, Annotated[str, Field(pattern="^#[0-9a-fA-F]{6}$")]] = {}  # of the same

    @model_validator(mode="after")
    def _check_stages(self) -> "StudyFile":
        legal = (*self.pipeline.stages, *self.pipeline.extras)
        require_known("notebooks:", self.notebooks, legal)
        require_known("extras:", self.extras, self.pipeline.extras)
        for key in ("labels", "colors"):
            require_known(f"{key}:", getattr(self, key), (*self.arms, *STRUCTURES, ALL))
        if len({*self.labels.values()}) < len(self.labels):
            raise ValueError("labels: two are the same; give each arm and structure its own")
        if self.prompts:
            own, shipped = (
                [str(one.relative_to(root)) for one in root.rglob("*.md")]
                for root in (REPOSITORY / self.prompts, REPOSITORY / "prompts")
            )
            require_known(f"prompts, {self.prompts}:", own or ["nothing there"], sorted(shipped))
        own = self.llm.get("stages", {})
        require_known("llm, stages:", own, legal)
        try:
            for stage in ("", *own):
                settings_of(self.llm, stage)
        except ValidationError as error:
            first = error.errors()[0]
            raise ValueError(
                f"llm, {first['loc'][-1]}: {first['msg']}; choose among "
                f"{', '.join([*Calls.__dataclass_fields__][2:-1])}"
            ) from error
        return self

    @property
    def pipeline(self) -> Pipeline:
        """Return what the study's kind implies."""
        return PIPELINES[self.kind]

    def reruns(self, stage: str) -> list[str]:
        """Settings of the calls of `stage` without which it would have other replies."""
        settings = settings_of(self.llm, stage)
        return [*settings.get("retry", []), *["json_schema"] * settings.get("json_schema", False)]

    @property
    def look(self) -> dict[str, object]:
        """How tables and figures show it (lib.core.arms.LOOK)."""
        own = {"column", "font", "labels", "colors"}
        return self.model_dump(include=own) | {"arms": [*self.arms]}

    @property
    def stages(self) -> tuple[str, ...]:
        """Return the notebooks of this study, in order."""
        return (*self.pipeline.stages, *self.extras)

    @property
    def others(self) -> set[str]:
        """Return the other studies of which this one runs a stage."""
        return {*getattr(self, "labs", ())} - {self.name}

    def own(self, stage: str, run: str = "") -> dict[str, object]:
        """Return the parameters of `stage` that the study's file sets."""
        return self.notebooks.get(stage, {})

    def given(self, stage: str, run: str = "") -> dict[str, object]:
        """Return all parameters of `stage` for `run`, one of its `arms_of`: what the graph sets and
        the notebook declares, and what the study's file sets."""
        declared = parameters_of(notebook_path(stage))
        wired = {name: one for name, one in self.wired(stage, run).items() if name in declared}
        return wired | self.own(stage, run)

    def calls(self) -> Iterator[tuple[str, str, str, dict[str, object]]]:
        """Each stage and parameter that names a model, the model, and the stage's parameters."""
        for stage in self.stages:
            for run in self.arms_of(stage):
                given = self.given(stage, run)
                others = getattr(self, "other_judges", ()) if stage == "05_judge" else ()
                for key in STAGES[stage].calls.split():
                    for model in (given.get(key), *others):
                        if model not in _NO_MODELS:
                            yield stage, key, model, given

    def defaults(self, stage: str) -> dict[str, object]:
        """Return the parameters of `stage`, with the file's values before the notebook's own."""
        declared = parameters_of(notebook_path(stage))
        return {name: one.default for name, one in declared.items()} | StudyFile.own(self, stage)


class Study(StudyFile):
    """A study of texts: `arms` holds parameters of single arms, by notebook."""

    base_model: str
    annotator: str = ""
    normalizer: str = ""
    augmenter: str = ""  # of an arm that learns wordings or questions
    judge: Annotated[str, Field(min_length=1)] = "scorer"
    other_judges: list[str] = []  # their verdicts are compared with those of `judge`
    one_process_for_all_arms: bool = False  # answers and judges them in turn: for small models
    arms: dict[_Name, dict[str, dict]]

    @model_validator(mode="before")
    @classmethod
    def _defaults(cls, keys: dict) -> dict:
        kind = keys["kind"]
        pipeline = PIPELINES[kind]
        arms = keys.get("arms") or list(pipeline.arms)
        if isinstance(arms, list):
            arms = dict.fromkeys(map(str, arms))
        if isinstance(arms, dict):
            order = dict.fromkeys((pipeline.arms[0], *arms))  # the base first
            arms = {arm: arms[arm] or {} for arm in order if arm in arms}
        base = "" if kind == "documents" else keys["name"]
        if not (base or keys.get("base_model")) and os.environ.get(BASE_VARIABLE) == LABORATORY:
            base, keys = "lab", {"disclaimer": FOR_SHOW, **keys}
        return {
            "extras": [
                one
                for one in pipeline.extras
                if one not in (EXPORT, "retention" * (pipeline.task != "spark"))
            ],
            "base_model": base and f"data/{base}/models/base",
            "annotator": {"lab": "facts", "tablequest": "shipped"}.get(kind, ""),
            "normalizer": "facts" * (kind == "lab"),
            **keys,
            "arms": arms,
        }

    @model_validator(mode="after")
    def _legal(self) -> "Study":
        folders = [judge.replace("/", "--") for judge in (self.judge, *self.other_judges)]
        if len(set(folders)) < len(folders):
            raise ValueError(
                f"other_judges: {self.other_judges} names a judge twice, or the judge itself"
            )
        for arm, own in self.arms.items():
            require_known(
                f"arms, {arm}:", own, [stage for stage in self.stages if STAGES[stage].per]
            )
            for stage in own:
                if self._runs_once(stage) and {*own[stage]} - {_MODE}:
                    raise ValueError(
                        f"arms, {arm}, {stage}: all arms have the same parameters; "
                        "set one_process_for_all_arms to false, or move them to notebooks"
                    )
            self._check_arm(arm, own.get("04_infer", {}))
        unused = {"augmenter": not self.written, "normalizer": not self.trained}
        for key, stage in WRITERS.items():
            model = getattr(self, key)  # without a base, there is only a look
            is_used = stage in self.stages and not unused.get(key) and (self.base_model or model)
            if is_used and (not model or (key, model) == ("augmenter", "facts")):
                raise ValueError(
                    f"{key}: {model!r} names no model: set annotator, normalizer and judge to "
                    "models, such as gpt-4.1"
                )
        return self

    def _runs_once(self, stage: str) -> bool:
        return self.one_process_for_all_arms and STAGES[stage].per in _TOGETHER

    def _check_arm(self, arm: str, infer: dict) -> None:
        trains = self.pipeline.trains
        if is_trained(arm):
            if not arm.startswith(trains):
                raise ValueError(f"arms: {arm!r} cannot be trained here; name it {trains}-…")
            self.corpus_of(arm)
        elif arm != BASE and not {*_OWN} & {*infer}:
            raise ValueError(
                f"arms: {arm!r} is neither {BASE}, nor trained ({trains}-…), nor an arm with a "
                f"model of its own: {arm}: {{04_infer: {{endpoint_model: …}}}}, or "
                f"{', '.join(_OWN)}; {choices(arm, self.pipeline.arms)}"
            )

    def corpus_of(self, arm: str) -> str:
        """The corpus that a trained arm learns. Raises ValueError if none is named."""
        return corpus_of(arm, self.own("03_train", arm).get("corpus", ""))

    def corpus_files(self, arm: str) -> list[str]:
        """Files and folders of the repository that an arm's training reads."""
        replayed = self.own("03_train", arm).get("replay_share")
        own = corpus_inputs(self.corpus_of(arm))[1]
        return own + [*replayed] if isinstance(replayed, dict) else own

    @property
    def written(self) -> list[str]:
        """The texts that an augmenter writes for the arms: wordings, questions or both."""
        parts = {part for arm in self.trained for part in self.corpus_of(arm).split("+")}
        return [kind for kind in WRITTEN if kind in parts]

    @property
    def runs(self) -> list[str]:
        """Return all arms, and trained ones once per seed: base, dapt, dapt@2, dapt-n, dapt-n@2.

        An arm with a seed of its own is trained once.
        """
        more = [f"@{number}" for number in range(2, len(self.seeds) + 1)]
        return [arm + run for arm in self.arms for run in ("", *more * self._is_repeated(arm))]

    def _is_repeated(self, arm: str) -> bool:
        return is_trained(arm) and "seed" not in self.arms[arm].get("03_train", {})

    @property
    def trained(self) -> list[str]:
        """Return the runs that 03_train trains: none whose answers are given."""
        return [
            run
            for run in filter(is_trained, self.runs)
            if self.own("04_infer", run).get(_MODE) != GIVEN
        ]

    @property
    def made_by(self) -> str:
        """Return the laboratory that makes the base model, "" if none does."""
        found = re.fullmatch(r"data/([^/]+)/models/base", self.base_model)
        return found[1] if found else ""

    @property
    def labs(self) -> list[str]:
        """Return the studies whose 00_lab must run for this study's documents or base model."""
        return sorted({self.name if self.kind == "lab" else "", self.made_by} - {""})

    def arms_of(self, stage: str) -> list[str]:
        """Return the arms that `stage` runs for, each on its own, or [""] if it runs once."""
        per = STAGES[stage].per
        return self.arms_per(per) if per and not self._runs_once(stage) else [""]

    def arms_per(self, per: str) -> list[str]:
        """Return what `Stage.per` names; "arms" are those with a model of their own."""
        arms = list(self.arms)
        return {
            "": [],
            "bases": [str(self.defaults("00_lab")["seed"])],
            "trained": self.trained,
            "runs": self.runs,
            "pairs": arms[1:],
            "arms": [arm for arm in arms if arm == BASE or arm in self.trained],
        }[per]

    def own(self, stage: str, run: str = "") -> dict[str, object]:
        """Return the parameters of `stage` that the study's file sets, the arm's own first."""
        own = {"tasks": "lab" if self.made_by else "hub"} if stage == "retention" else {}
        arm = self.arms.get(run.partition("@")[0], {})
        own |= super().own(stage) | arm.get(stage, {})
        if not run and any(_MODE in arm.get(stage, {}) for arm in self.arms.values()):
            own[_MODE] = {
                arm: (self.defaults(stage) | self.own(stage, arm))[_MODE] for arm in self.runs
            }
        return own

    def wired(self, stage: str, run: str = "") -> dict[str, object]:
        """Return what the graph sets for `stage` and the study's file may not, from its keys."""
        shared: dict[str, object] = {"study": self.name, "base_model": self.base_model}
        if stage in CURVE:
            lab = self.defaults("00_lab")
            return shared | {name: lab[name] for name in _WORLD}
        if stage == "03_train" and run and self.seeds and self._is_repeated(split_arm(run)[0]):
            shared["seed"] = self.seeds[split_arm(run)[1] - 1]
        return shared | {
            "arm": run,
            "first_arm": next(iter(self.arms)),
            "arms": [run] if run else self.arms_per(STAGES[stage].per) or self.runs,
            "annotator": self.annotator,
            "normalizer": self.normalizer,
            "augmenter": self.augmenter if self.written else "",
            "written": self.written,
            "judge": self.judge,
            "judges": [self.judge, *self.other_judges],
            "task": self.pipeline.task,
            "folder": self.folder,
            "disclaimer": self.disclaimer,
        }


class ExposureStudy(StudyFile):
    """Runs from many bases, each with records of its own; `seeds` names the bases."""

    arms: list[str] = [RAW]
    seeds: list[NonNegativeInt] = Field([1], min_length=1)
    full_seeds: PositiveInt | None = None  # later bases train on raw text alone

    @model_validator(mode="after")
    def _legal(self) -> "ExposureStudy":
        check_exposures(self.arms, self.notebooks.get("exposures_run", {}).get("configs", []))
        if RAW not in self.arms:
            raise ValueError(f"arms: add {RAW}, with which all others are compared")
        if {seed + 1 for seed in self.seeds} & {*self.seeds}:
            raise ValueError("seeds: leave a gap of two, because a base also uses its seed + 1")
        return self

    @property
    def runs(self) -> list[str]:
        """Return the names of the bases."""
        return [*map(str, self.seeds)]

    def arms_of(self, stage: str) -> list[str]:
        """Return the bases, or [""] for the analysis."""
        return self.runs if STAGES[stage].per else [""]

    def wired(self, stage: str, run: str = "") -> dict[str, object]:
        """Return what the graph sets for base `run` (the first if empty), or for the analysis."""
        if not STAGES[stage].per:
            return {"study": self.name, "seeds": self.seeds}
        n = self.runs.index(run) if run else 0
        arms = [RAW] if self.full_seeds and n >= self.full_seeds else self.arms
        return {"study": self.name, "seed": self.seeds[n], "arms": arms}


AnyStudy = Study | ExposureStudy


def studies() -> list[str]:
    """Return the names of the studies that can be run."""
    return sorted(path.stem for path in (REPOSITORY / "studies").glob("*.yaml"))


def load_study(name: str, folder: str = "", needs_folder: bool = True) -> AnyStudy:
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
        keys = yaml.safe_load((REPOSITORY / where).read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise BadStudy(f"{where}: not YAML: {' '.join(str(error).split())}") from error
    keys = keys if isinstance(keys, dict) else {"kind": keys}
    kind = keys.get("kind")
    model = ExposureStudy if kind == "exposures" else Study
    try:
        if kind not in [*PIPELINES]:
            raise BadStudy(f"kind: {kind!r} is unknown; {choices(kind, PIPELINES)}")
        study = model(**{**keys, "name": name})
        study = study.model_copy(update={"folder": _folder(study, folder, needs_folder)})
        _check_study(study)
    except ValidationError as error:
        raise BadStudy(where + explained(error, model)) from error
    except BadStudy as error:
        raise BadStudy(f"{where}: {error}") from error
    return study


def _check_study(study: AnyStudy) -> None:
    for other in study.others:
        if other not in studies() or load_study(other).kind != "lab":
            raise BadStudy(f"base_model: no study with `kind: lab` is called {other!r}")
    for stage in study.stages:
        for run in study.arms_of(stage):
            is_open = run and not is_trained(run)  # it may have another model than the base
            fixed = {*study.wired(stage, run)} - ({"base_model"} if is_open else set())
            for name in fixed & {*study.own(stage, run)}:
                raise BadStudy(
                    f"notebook {stage}, parameter {name} is set by the study's own keys; "
                    "remove it here"
                )
            check(notebook_path(stage), study.given(stage, run))


def _folder(study: AnyStudy, folder: str, needs_folder: bool) -> str:
    pipeline = study.pipeline
    if not pipeline.folder:
        if folder or study.folder:
            raise BadStudy(
                "it makes its own documents: leave DOCUMENTS out, or set STUDY=documents"
            )
        return ""
    endings = pipeline.endings or SUFFIXES
    folder = folder or os.environ.get(FOLDER_VARIABLE, "") or study.folder
    if folder:  # some shells keep the ~ of DOCUMENTS=~/docs
        place = REPOSITORY / folder if folder == study.folder else Path(folder).expanduser()
        list_files(place, endings)
        place = place.resolve()  # a clone that moves runs nothing again
        return str(place.relative_to(REPOSITORY) if place.is_relative_to(REPOSITORY) else place)
    if needs_folder and "00_documents" in pipeline.stages:
        raise BadStudy(
            f"it reads a folder of {listed(endings, 'or')} files: make study STUDY={study.name} "
            f"{pipeline.folder}=path"
        )
    return ""
