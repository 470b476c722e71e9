"""Locate a study's files by absolute paths, because a kernel may start in any folder."""

import os
import re
from pathlib import Path

import lib
from lib.core.errors import BadInput

REPOSITORY = Path(lib.__file__).resolve().parent.parent  # this file itself may move
OF_PAPERS = ("table", "paper_", "published", "heat")  # how names of results begin that papers have


def package_file(name: str) -> Path:
    """Return the path of a data file of the package, such as "llm/prices.csv".

    Give `name` as a literal: lib.core.digest reads it, so that a changed file re-runs stages.
    """
    return REPOSITORY / "lib" / name


def output_root() -> Path:
    """Return the folder that contains data/ and figures/: $STUDY_ROOT or the repository."""
    return Path(os.environ.get("STUDY_ROOT") or REPOSITORY).resolve()


def data_path(study: str, *parts: str) -> Path:
    """Return data/<study>/<parts>; create its parent folder.

    A replicate's study is named <study>/<seed>. Raises ValueError for a name that cannot be a
    folder's name.
    """
    names = study.split("/")
    if len(names) > 2 or any(Path(name).name != name or name in ("", "..") for name in names):
        raise ValueError(f"{study!r} is not a name for a study: give one word, such as lab")
    return _below("data", study, *parts)


def figures_path(study: str, *parts: str) -> Path:
    """Return figures/<study>/<parts>; create its parent folder."""
    return _below("figures", study, *parts)


def result_path(study: str, file: str) -> Path:
    """Return figures/<study>/paper/<file> for a result that a paper has, else more/<file>."""
    return _below("figures", study, "paper" if file.startswith(OF_PAPERS) else "more", file)


def _below(*parts: str) -> Path:
    path = output_root().joinpath(*parts)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise OSError(
            error.errno,
            f"cannot be written ({error.strerror}): set STUDY_ROOT to a "
            "folder that you may write to",
            str(path.parent),
        ) from error
    return path


def required(path: Path, made_by: str) -> Path:
    """Return `path`. Raises BadInput naming `made_by`, its notebook, if it does not exist."""
    if not Path(path).exists():
        raise BadInput(f"{shown(path)} is missing: run {made_by} first (or `make study`)")
    return path


def shown(path: Path) -> str:
    """Return `path` for display, relative to output_root() if it is below that folder."""
    path, root = Path(path), output_root()
    return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)


def model_source(base_model: str) -> str:
    """Return what `from_pretrained` loads: a folder's path, or a hub id (`org/name`) unchanged.

    A relative path is looked up below output_root(), then below the repository. Raises
    BadInput if the folder does not exist and the name cannot be a hub id.
    """
    for place in (output_root(), REPOSITORY):  # joining an absolute path keeps that path
        if (place / base_model).exists():
            return str(place / base_model)
    if re.fullmatch(r"(?!data/|figures/|[./~])[^/]*/[^/]*", base_model):
        return base_model
    maker = (
        "make base (98 MB)"
        if base_model.startswith("data/base/")
        else "00_lab.ipynb first (or `make study`)"
    )
    raise BadInput(
        f"the base model {base_model} is missing: run {maker}, or set base_model to a "
        "model's folder or a hub id such as meta-llama/Llama-3.1-8B"
    )
