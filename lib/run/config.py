"""studies/<name>.yaml read and checked whole before anything runs (the house)."""

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import yaml

from lib.core.arms import is_trained, repeated, split_arm
from lib.core.paths import REPOSITORY, data_path, figures_path, verdicts_path
from lib.documents.folder import list_files
from lib.run.parameters import WrongParameter, checked, parameters_of
from lib.run.sources import PER_ARM, SOURCES, VARIANTS, Source

if TYPE_CHECKING:
    from lib.controlled.study import ControlledStudy

UNTRAINED = "base"  # the arm that is the base model as it stands
# `make study` names the folder to the graph here: Snakemake reads --config as YAML and quotes it for a shell by repr(),
# which not every folder's name survives.
FOLDER_VARIABLE = "STUDY_DOCUMENTS"
# Parameters that the graph sets: from a key of the study's file, or from its place in the graph.
SET_BY_GRAPH = {
    "study": "the file's name", "arm": "the key arms", "arms": "the key arms", "folder": "DOCUMENTS=path",
    "seeds": "the key seeds", "retention": "the key variants", "pairs": "the key variants",
    "annotator": "the key annotator", "normalizer": "the key normalizer", "judge": "the key judge",
    "base_model": "the key base_model", "judges": "the keys judge and other_judges", "first_arm": "the key arms",
    "second_arm": "the key arms", "is_ready": "the key source"}
OF_AN_ARM = {name: why for name, why in SET_BY_GRAPH.items() if name != "base_model"}  # where it brings its own model
MODELS = ("base_model", "endpoint_model", "reader")  # what answers for an arm that brings its own
SPENDING = ("max_cost_usd", "mode", "concurrency", "requests_per_minute", "tokens_per_minute", "max_failed_share")
# Stage -> the stage whose parameters of these names are its own too, unless it is told others.
TOLD_ONCE = {"01_pairs": ("05_judge", SPENDING), "06_advice": ("02_normalize", ("document_kind",)),
             "00_samples": ("04_infer", ("max_read_tokens",)), "01_questions": ("04_infer", ("max_read_tokens",))}
KEYS = ("source", "base_model", "annotator", "normalizer", "judge", "other_judges", "seeds", "arms", "variants",
        "notebooks")


class WrongStudy(ValueError):
    """A study's name or file that cannot be run, said so that it can be put right."""


@dataclass(frozen=True)
class Study:
    """What one study is made of; `notebooks` and the values of `arms` hold parameters by notebook."""

    name: str
    source: str
    base_model: str
    annotator: str = "rules"
    normalizer: str = "rules"
    judge: str = "rules"
    other_judges: list[str] = field(default_factory=list)  # whose verdicts are compared with those of `judge`
    seeds: int = 1  # how often each arm is trained
    variants: list[str] = field(default_factory=lambda: list(VARIANTS))
    arms: dict[str, dict] = field(default_factory=dict)
    notebooks: dict[str, dict] = field(default_factory=dict)
    folder: str = ""  # of one's own documents

    @property
    def kind(self) -> Source:
        """What its source brings."""
        return SOURCES[self.source]

    @property
    def stages(self) -> tuple[str, ...]:
        """The notebooks of this study, in order."""
        return (*self.kind.stages, *self.variants)

    @property
    def runs(self) -> list[str]:
        """The arms by name, one trained with several seeds as often: base, dapt, dapt@2, dapt-n, dapt-n@2."""
        return [name for arm in self.arms for name in repeated(arm, self.seeds if is_trained(arm) else 1)]

    @property
    def trained(self) -> list[str]:
        """Those that 03_train makes."""
        return [name for name in self.runs if is_trained(name)]

    @property
    def made_by(self) -> str:
        """The laboratory that makes the base model; "" where none does."""
        parts = Path(self.base_model).parts
        return parts[1] if parts[:1] == ("data",) and parts[2:] == ("models", "base") else ""

    @property
    def labs(self) -> list[str]:
        """Studies whose 00_lab must run: this one's documents, and the base model that another one makes."""
        own = [self.name] if self.source == "lab" else []
        return own + ([self.made_by] if self.made_by and self.made_by not in own else [])

    @property
    def results(self) -> list[Path]:
        """What the figures are drawn from."""
        return [verdicts_path(self.name, self.judge, run) for run in self.runs]

    @property
    def drawing(self) -> list[str]:
        """The rules that draw them: those of the source, and those of the variants that have drawn before."""
        return [stage.removeprefix("06_") for stage in self.stages if stage.startswith("06_") and (
            stage in self.kind.stages or data_path(self.name, "stages", f"{stage}.json").exists())]

    @property
    def told(self) -> Path | None:
        """What `make study` prints at its end; None: Table 2."""
        return figures_path(self.name, self.kind.told) if self.kind.told else None

    def given(self, stage: str, arm: str = "") -> dict[str, object]:
        """The parameters that `stage` is given: what the graph sets, then the file's, an arm's own last."""
        wired = {
            "00_documents": {"folder": self.folder}, "00_filings": {"folder": self.folder},
            "00_samples": {"base_model": self.base_model, "arms": list(self.arms)},
            "01_questions": {"annotator": self.annotator, "base_model": self.base_model},
            "01_annotate": {"annotator": self.annotator},
            "02_normalize": {"normalizer": self.normalizer, "base_model": self.base_model},
            "03_train": {"arm": arm, "base_model": self.base_model},
            "04_infer": {"arm": arm, "base_model": self.base_model} | ({"is_ready": True} if self.kind.any_arm else {}),
            "05_judge": {"arm": arm, "judge": self.judge},
            "06_analyze": {"judge": self.judge, "arms": list(self.arms)},
            "01_analyze": {"judge": self.judge, "arms": self.runs},
            "02_analyze": {"judge": self.judge, "arms": self.runs, "base_model": self.base_model,
                              "baseline": next(iter(self.arms))},
            "00_retention": {"arm": arm, "base_model": self.base_model, "tasks": "lab" if self.made_by else "hub"},
            "01_pairs": {"first_arm": next(iter(self.arms)), "second_arm": arm, "judge": self.judge},
            "02_statistics": {"judge": self.judge, "arms": self.runs},
            "03_ledger": {"judge": self.judge, "arms": list(self.arms)},
            "06_advice": {"judge": self.judge, "arms": self.runs, "base_model": self.base_model,
                          "normalizer": self.normalizer},
            "04_agreement": {"judges": [self.judge, *self.other_judges], "arms": list(self.arms)},
            "05_paper": {"judge": self.judge, "arms": list(self.arms), "seeds": self.seeds,
                         "retention": "00_retention" in self.variants, "pairs": "01_pairs" in self.variants}}
        own, number = split_arm(arm) if arm else ("", 1)
        told, names = TOLD_ONCE.get(stage, ("", ()))
        once = {name: value for name, value in self.notebooks.get(told, {}).items() if name in names}
        given = {"study": self.name, **wired.get(stage, {}), **once, **self.notebooks.get(stage, {}),
                 **(self.arms.get(own, {}).get(stage) or {})}
        if stage == "03_train" and number > 1:
            first = given.get("seed", parameters_of(REPOSITORY / "notebooks" / "03_train.ipynb")["seed"].default)
            given["seed"] = first + number - 1
        return given


def studies() -> list[str]:
    """The names of the studies that can be run."""
    return sorted(path.stem for path in (REPOSITORY / "studies").glob("*.yaml"))


def load_study(name: str, folder: str = "") -> "Study | ControlledStudy":
    """Read and check studies/<name>.yaml; `folder`, else $STUDY_DOCUMENTS, holds the documents if they are one's own.

    Raises WrongStudy or WrongParameter, naming what is legal, for an unknown study, key, arm, notebook or
    parameter and for a value of another type; NoDocuments where `folder` holds none.
    """
    if name not in studies():
        raise WrongStudy(f"no study is called {name!r}: choose {', '.join(studies())}, or write studies/<name>.yaml")
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):  # it becomes a folder and part of commands
        raise WrongStudy(f"studies/{name}.yaml: a study's name has only letters, digits, dots, dashes and "
                         "underscores; rename the file")
    path = REPOSITORY / "studies" / f"{name}.yaml"
    try:
        keys = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise WrongStudy(f"studies/{name}.yaml is not YAML: {error}") from error
    if isinstance(keys, dict) and keys.get("source") == "controlled":
        return _controlled(name, keys, folder)
    study = _study(name, keys)
    study = Study(**{**vars(study), "folder": _folder(study, folder)})
    for stage in study.stages:
        for arm in arms_of(study, stage):
            try:
                checked(REPOSITORY / "notebooks" / f"{stage}.ipynb", study.given(stage, arm))
            except WrongParameter as error:
                raise WrongParameter(f"studies/{name}.yaml: {error}") from error
    for lab in study.labs:
        if lab != name and (lab not in studies() or load_study(lab).source != "lab"):
            raise WrongStudy(f"studies/{name}.yaml, base_model: no study with `source: lab` is called {lab!r}")
    return study


def _controlled(name: str, keys: dict, folder: str) -> "ControlledStudy":
    """A controlled experiment, checked as far as its notebooks' parameters."""
    from lib.controlled.study import KEYS as known
    from lib.controlled.study import SET_BY_GRAPH as wired
    from lib.controlled.study import STAGES as stages
    from lib.controlled.study import controlled_study

    where = f"studies/{name}.yaml"
    _check_keys(where, keys, known)
    _check_notebooks(f"{where}, notebooks", keys.get("notebooks") or {}, stages, wired)
    try:
        study = controlled_study(name, keys)
    except ValueError as error:
        raise WrongStudy(str(error)) from error
    if folder:
        raise WrongStudy(f"the study {name} makes its own documents: leave DOCUMENTS out, or take STUDY=documents")
    for stage, run in (("00_facts", ""), ("01_pretrain", "1"), ("02_run", study.runs[0]),
                       ("03_analyze", "")):
        try:
            checked(REPOSITORY / "notebooks" / f"{stage}.ipynb", study.given(stage, run))
        except WrongParameter as error:
            raise WrongParameter(f"{where}: {error}") from error
    return study


def arms_of(study: Study, stage: str) -> list[str]:
    """The arms that `stage` runs for; [""] for a stage that runs once."""
    if stage not in PER_ARM:
        return [""]
    if stage == "03_train":
        return study.trained
    if stage in VARIANTS:  # of an arm's first training; pairs are the first arm with each other one
        return list(study.arms)[stage == "01_pairs":]
    return study.runs


def _study(name: str, keys: object) -> Study:
    """Check the shape of a study's file and put defaults in."""
    where = f"studies/{name}.yaml"
    _check_keys(where, keys, KEYS)
    if keys.get("source") not in list(SOURCES):  # a value without a hash may be asked for
        raise WrongStudy(f"{where}, source: {keys.get('source')!r} is none of {', '.join(SOURCES)}, controlled")
    for key in ("base_model", "annotator", "normalizer", "judge"):
        if not isinstance(keys.get(key, "rules"), str) or not keys.get(key, "rules"):
            raise WrongStudy(f"{where}, {key}: {keys[key]!r} is not text (rules, a model id, or a folder)")
    if type(keys.get("seeds", 1)) is not int or keys.get("seeds", 1) < 1:
        raise WrongStudy(f"{where}, seeds: {keys['seeds']!r} is no number of trainings: give 1 or more")
    kind = SOURCES[keys["source"]]
    for key, legal in (("variants", kind.variants), ("other_judges", None)):
        _check_list(f"{where}, {key}", keys.get(key, []), legal)
    folders = [str(judge).replace("/", "--") for judge in (keys.get("judge", "rules"), *keys.get("other_judges", []))]
    if len(set(folders)) < len(folders):
        raise WrongStudy(f"{where}, other_judges: {keys['other_judges']} names a judge twice, or the judge itself")
    arms = _arms(where, keys.get("arms") or dict.fromkeys(kind.arms), kind)
    _check_notebooks(f"{where}, notebooks", keys.get("notebooks") or {}, (*kind.stages, *kind.variants))
    return Study(**{"name": name, "base_model": f"data/{name}/models/base", "variants": list(kind.variants), **keys,
                    "notebooks": {stage: given or {} for stage, given in (keys.get("notebooks") or {}).items()},
                    "arms": arms})


def _arms(where: str, arms: object, kind: Source) -> dict[str, dict]:
    """The arms, checked, in the order of every table: the source's own, then others as they stand."""
    if isinstance(arms, list) and all(isinstance(arm, str) for arm in arms):
        arms = dict.fromkeys(arms)
    _check_keys(f"{where}, arms", arms, tuple(arms) if kind.any_arm and isinstance(arms, dict) else kind.arms)
    for arm, own in arms.items():
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", str(arm)):  # it becomes a file's name
            raise WrongStudy(f"{where}, arms: {arm!r} can have only letters, digits, dots, dashes and underscores")
        if is_trained(arm) and arm not in kind.trained:
            raise WrongStudy(f"{where}, arms: {arm!r} cannot be trained here; 03_train makes {', '.join(kind.trained)}")
        brings = kind.any_arm and not is_trained(arm)
        _check_notebooks(f"{where}, arms, {arm}", own or {}, PER_ARM, OF_AN_ARM if brings else SET_BY_GRAPH)
        if brings and arm != UNTRAINED and not {*MODELS} & {*((own or {}).get("04_infer") or {})}:
            raise WrongStudy(f"{where}, arms: {arm!r} is neither {', '.join(kind.arms)} nor an arm of its own: say who"
                             f" answers, such as {arm}: {{04_infer: {{endpoint_model: …}}}}; legal are "
                             f"{', '.join(MODELS)}")
    return {arm: arms[arm] or {} for arm in dict.fromkeys((*kind.arms, *arms)) if arm in arms}


def _check_notebooks(where: str, given: object, legal: tuple[str, ...],
                     set_by_graph: dict[str, str] = SET_BY_GRAPH) -> None:
    _check_keys(where, given, legal)
    for stage, values in given.items():
        if not isinstance(values or {}, dict):
            raise WrongStudy(f"{where}, {stage}: {values!r} is not a set of `parameter: value`")
        for parameter in values or {}:
            if parameter in set_by_graph:
                raise WrongStudy(f"{where}, {stage}, {parameter}: is set by {set_by_graph[parameter]}; remove it here")


def _check_list(where: str, given: object, legal: tuple[str, ...] | None) -> None:
    if not isinstance(given, list) or not all(isinstance(name, str) and name for name in given):
        raise WrongStudy(f"{where}: {given!r} is not a list of names")
    for name in given:
        if legal and name not in legal:
            raise WrongStudy(f"{where}: {name!r} is unknown; choose among {', '.join(legal)}")


def _check_keys(where: str, given: object, legal: tuple[str, ...]) -> None:
    if not isinstance(given, dict):
        raise WrongStudy(f"{where}: {given!r} is not a set of `key: value`; the keys are {', '.join(legal)}")
    for key in given:
        if key not in legal:
            raise WrongStudy(f"{where}: {key!r} is unknown; choose among {', '.join(legal)}")


def _folder(study: Study, folder: str) -> str:
    """The absolute folder of a study of one's own documents or filings; raises where it is missing or not wanted."""
    kind = study.kind
    if not kind.folder:
        if folder:
            raise WrongStudy(f"the study {study.name} makes its own documents: leave DOCUMENTS out, "
                             "or take STUDY=documents")
        return ""
    folder = folder or os.environ.get(FOLDER_VARIABLE, "")
    if not folder:
        if not kind.folder_needed:
            return ""
        raise WrongStudy(f"the study {study.name} reads a folder of {' and '.join(kind.endings)} files: "
                         f"make study STUDY={study.name} {kind.folder}=path")
    place = Path(folder).expanduser()  # not every shell expands the ~ of DOCUMENTS=~/docs
    list_files(place, kind.endings)
    if not str(place.resolve()).isprintable():  # the name travels through YAML, JSON and a notebook
        raise WrongStudy(f"the folder's name {str(place)!r} holds control characters or is not UTF-8: rename it")
    return str(place.resolve())
