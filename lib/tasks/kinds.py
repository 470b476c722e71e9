"""What a study file's key `source` implies: its notebooks, its arms, its folder, its report."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module

from lib.core.arms import ARMS
from lib.documents.folder import SUFFIXES
from lib.tasks.task import SYSTEMS


@dataclass(frozen=True)
class Stage:
    """How often a notebook runs.

    `per` is "" (once), "bases", "trained" (each training), or "runs", "arms", "pairs": each run of
    all seeds, arm with a model of its own, or arm but the first; these three run once if the study
    has its arms together.
    """

    per: str = ""
    every_seed: bool = False  # its parameter `arms` lists the runs of all seeds


@dataclass(frozen=True)
class Kind:
    """A kind of study; `own` has those of its notebooks that no other kind has."""

    stages: tuple[str, ...]  # its notebooks, in order
    variants: tuple[str, ...] = ()
    own: Mapping[str, Stage] = field(default_factory=dict)
    task: str = "spark"  # the system (lib.tasks.task)
    graph: str = "graph.smk"  # its rules, below notebooks/
    arms: tuple[str, ...] = ARMS  # used if a study names none
    trains: str = "dapt"  # how the names of its trained arms begin
    reserved: Mapping[str, str] = field(default_factory=dict)  # names of no arm, and why
    fixed: tuple[str, ...] = ()  # parameters that its keys set, in addition to WIRED
    step: int = 1  # between the seeds of a study that makes its own bases
    folder: str = ""  # the make variable that names the user's own folder
    endings: tuple[str, ...] = ()  # extensions of the files that are read
    report: tuple[str, str] = ("06_analyze", "table2")  # notebook and main table of the report


CHAIN = ("01_annotate", "02_normalize", "03_train", "04_infer", "05_judge", "06_analyze")
# Additional notebooks for a study of documents. All run unless the key `variants` names some.
EVIDENCE = ("retention", "pairs", "statistics", "ledger", "agreement")
CURVE = ("exposures_run", "exposures")

SPARK = {
    "lab": Kind(("00_lab", *CHAIN), (*EVIDENCE, *CURVE)),
    "documents": Kind(("00_documents", *CHAIN), EVIDENCE, folder="DOCUMENTS", endings=SUFFIXES),
    "exposures": Kind(
        CURVE,
        graph="laboratory/exposures.smk",
        fixed=("seed",),
        step=10,  # a base also uses its seed + 1
        report=("exposures", "effects"),
    ),
}


def kinds() -> dict[str, Kind]:
    """Return the kinds of study of all systems, by the value of a study file's key `source`.

    Those of other systems than SParK-Eval stand as KINDS in the module `records` of their package.
    """
    others = [
        import_module(f"{package}.records").KINDS
        for name, package in SYSTEMS.items()
        if name != "spark"
    ]
    return SPARK | {source: kind for found in others for source, kind in found.items()}
