"""Names of arms: their order, which are trained, on what corpus and with which seed (`dapt@2`)."""

import json
import os
import re
from collections.abc import Iterable

from lib.core.store import REPOSITORY, BadInput, artifact_path, require_known

BASE = "base"  # the base model, untrained
GIVEN = "given"  # mode of 04_infer for an arm whose answers are in a file: it is not trained
# How tables and figures show a study (lib.run.config.StudyFile.look); {} outside of one.
LOOK = json.loads(os.environ.get("STUDY_LOOK", "{}"))
ARMS = (BASE, "dapt", "dapt-n")  # of a study that names none
RAW, REWRITTEN, WORDINGS, QUESTIONS, REPLIES = CORPORA = (
    "raw",
    "rewritten",
    "wordings",  # other wordings of each segment
    "questions",  # about each segment, with their answers
    "replies",  # to prompts of a system that trains on them, alone
)
WRITTEN = (WORDINGS, QUESTIONS)  # by an augmenter
COVERAGE = ("not asked", "related", "asked")  # of a query by training questions
# Corpora are joined by "+"; unless a study names others:
_CORPUS_OF = {
    "dapt": RAW,
    "dapt-n": REWRITTEN,
    "dapt-a": f"{RAW}+{WORDINGS}",
    "dapt-q": f"{RAW}+{QUESTIONS}",
}
_LABELS = {
    "dapt": "raw text",
    "dapt-n": "rewritten text",
    "dapt-a": "raw text and wordings",
    "dapt-q": "raw text and questions",
    "dapt-aq": "raw text, wordings and questions",
    "dapt-q-general": "raw text, questions and general questions",
    "open": "base, open book",
    "retrieved": "base, three blocks by BM25",
    "blind": "constant answers",
    "constant": "constant answers",
}
EXPOSURE_ARMS = (RAW, "normalized", "rewritten-structures", "paraphrase-8")
_REGIME = ("learning_rate", "public_text_share")  # what an exposure study can vary between runs
ALL = "all"  # the row of all structures together, last in every table
_NAME = re.compile(r"(?P<arm>[^@]+)(?:@(?P<number>[2-9]|[1-9]\d{1,2}))?")


def split_arm(name: str) -> tuple[str, int]:
    """Return the arm and the number of its training run: ("dapt", 3) for "dapt@3", 1 for "dapt".

    Raises ValueError if `name` has any other form.
    """
    found = _NAME.fullmatch(name)
    if not found:
        raise ValueError(f"{name!r} is not an arm's name: write dapt, or dapt@2 for a second seed")
    return found["arm"], int(found["number"] or 1)


def arm_label(name: str) -> str:
    """Return what a person reads for an arm: "raw text, seed 2" for dapt@2; others as they are."""
    found = _NAME.fullmatch(name)  # a model's name may have an @, too: claude@20240620
    arm, number = found.groups() if found else (name, "")
    label = (_LABELS | LOOK.get("labels", {})).get(arm, arm)
    return f"{label}, seed {number}" if number else label


def is_trained(name: str) -> bool:
    """Return whether 03_train trains this arm: its name is or begins with dapt or tuned.

    Raises ValueError as `split_arm` does.
    """
    return split_arm(name)[0].split("-")[0] in ("dapt", "tuned")


def corpus_of(name: str, named: str = "") -> str:
    """The corpus that a trained arm learns: `named` in its study, else the default of its name.

    Its parts, joined by "+", are CORPORA or files of questions (.jsonl) in the repository. Raises
    ValueError for any other.
    """
    arm = split_arm(name)[0]
    corpus = named or (REPLIES if arm.startswith("tuned") else _CORPUS_OF.get(arm, ""))
    parts = corpus.split("+")
    known = (REPLIES,) if REPLIES in parts else CORPORA
    for part in parts:
        if part not in known and not (REPOSITORY / part).is_file():
            raise ValueError(
                f"arms: name what {arm!r} learns, not {part!r}: {arm}: {{03_train: {{corpus: "
                f"raw+questions}}}}; choose among {', '.join(CORPORA)}, a .jsonl file"
            )
    return corpus


def is_rewritten(corpus: str) -> bool:
    """True if a corpus has the records in rewritten words alone."""
    return REWRITTEN in corpus.split("+") and RAW not in corpus.split("+")


def corpus_inputs(corpus: str) -> tuple[tuple[str, ...], list[str]]:
    """The artifacts that a corpus is read from, and its files in the repository."""
    parts = corpus.split("+")
    places = [part for part in parts if part not in CORPORA]
    if REPLIES in parts:
        return ("training",), places
    written = ("augmented",) if {*parts} & {*WRITTEN} else ()
    return ("segments", "normalized", "documents", *written), places


def require_one_base(study: str, arms: Iterable[str]) -> None:
    """Raise BadInput if the training of `arms`, which a table compares, began with other weights.

    A hub's model can change, and a notebook can be run by hand.
    """
    began = {
        arm: json.loads(path.read_text("utf-8"))["fingerprint"]["base_weights"]
        for arm in filter(is_trained, arms)
        if (path := artifact_path(study, "model", arm=arm) / "training.json").exists()
    }
    if len({*began.values()}) > 1:
        raise BadInput(
            f"{', '.join(began)} were trained on different weights of their base model: run "
            "03_train for them again"
        )


def sorted_arms(arms: Iterable[str]) -> list[str]:
    """Sort arms as the study does, else base, dapt, dapt@2, dapt-n, others; drop duplicates."""
    known = {arm: split_arm(arm) for arm in arms}
    kinds = [*LOOK.get("arms", ()), *ARMS, *_CORPUS_OF, *(kind for kind, _ in known.values())]
    return sorted(known, key=lambda arm: (kinds.index(known[arm][0]), known[arm][1]))


def check_exposures(arms: list[str], configs: list[dict[str, object]]) -> None:
    """Raise ValueError with the legal names for an arm or a regime's key that is unknown."""
    require_known("arm", arms, EXPOSURE_ARMS)
    require_known("configs:", [name for config in configs for name in config], _REGIME)
