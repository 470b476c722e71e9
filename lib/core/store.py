"""Paths of a study's files, their rows (complete or absent), and the four exceptions."""

import gzip
import json
import os
import re
import sys
import zlib
from collections.abc import Iterable
from contextlib import contextmanager
from difflib import get_close_matches
from functools import cache
from pathlib import Path
from typing import TextIO, TypeVar
from unicodedata import category

from pydantic import BaseModel, ValidationError

import lib
from lib.core.records import Record
from lib.core.stages import ARTIFACTS, writers_of

REPOSITORY = Path(lib.__file__).resolve().parent.parent
PROMPTS = "STUDY_PROMPTS"  # names a study's own folder of prompts
WRITTEN = "STUDY_WRITTEN"  # names a file that collects the paths which a stage writes
OF_PAPERS = ("table", "paper_", "published", "heat")  # how names of results begin that papers have
_STEERING = ("Cc", "Cf", "Cs", "Zl", "Zp")  # Unicode: controls, formats, surrogates, line ends
R = TypeVar("R", bound=Record)


class BadStudy(ValueError):
    """A study file, a parameter or a command that cannot be used; nothing has run yet."""


class BadInput(ValueError):
    """A file, a document or a record that cannot be used, or one that is missing."""


class BadReply(ValueError):
    """A model's or an endpoint's reply that cannot be used."""


class Stopped(RuntimeError):
    """Work ended before it was complete; what is finished is kept, the same command resumes."""


def choices(name: object, legal: Iterable[str]) -> str:
    """Return "choose among a, b", and the one that `name` resembles, for an error message."""
    legal = list(legal)
    close = get_close_matches(str(name), legal, 1)
    return f"choose among {', '.join(legal)}" + "".join(f". Did you mean {one}?" for one in close)


def require_known(what: str, names: Iterable[str], legal: Iterable[str]) -> None:
    """Raise ValueError with the legal names for the first of `names` that is not one of them."""
    for name in names:
        if name not in legal:
            raise ValueError(f"{what} {name!r} is unknown; {choices(name, legal)}")


def explained(error: ValidationError, model: type[BaseModel]) -> str:
    """Return the first error of `model` as ", key, key: what is wrong", with the legal keys."""
    first = error.errors()[0]
    place = "".join(f", {part}" for part in first["loc"])
    match first["type"]:
        case "extra_forbidden":
            legal = [key for key in model.model_fields if key != "name"]
            return f": {first['loc'][-1]!r} is unknown; {choices(first['loc'][-1], legal)}"
        case "list_type":
            return f"{place}: {first['input']!r} is no list: write [{first['input']}, …]"
        case "value_error":
            return f"{place}, {first['ctx']['error']}"
        case _:
            return f"{place}: {first['input']!r}: {first['msg']}"


def package_file(name: str) -> Path:
    """Return the path of a data file of the package, such as "llm/prices.csv".

    Give `name` as a literal: lib.core.digest reads it, so that a changed file re-runs stages.
    """
    return REPOSITORY / "lib" / name


def prompt_file(name: str) -> Path:
    """The file of a prompt: in the study's own folder, or if that lacks it in prompts/."""
    own = REPOSITORY / (os.environ.get(PROMPTS) or "prompts") / f"{name}.md"
    return own if own.is_file() else REPOSITORY / "prompts" / f"{name}.md"


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
    """Return figures/<study>/tables/<file> for a result that a paper has, else more/<file>."""
    return _below("figures", study, "tables" if file.startswith(OF_PAPERS) else "extra", file)


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


def require_path(path: Path, made_by: str) -> Path:
    """Return `path`. Raises BadInput naming `made_by`, its notebook, if it does not exist."""
    if not path.exists():
        raise BadInput(f"{shown(path)} is missing: run {made_by} first (or `make study`)")
    return path


def shown(path: Path) -> str:
    """Return `path` for display, relative to output_root() if it is below that folder."""
    root = output_root()
    return str(path.relative_to(root)) if path.is_relative_to(root) else str(path)


def printable(text: object) -> str:
    """Return `text` with what could steer a terminal escaped, except line ends and tabs."""
    return "".join(
        ascii(one)[1:-1] if category(one) in _STEERING and one not in "\n\t" else one
        for one in str(text)
    )


def tell(*texts: object, end: str = "\n", file: TextIO | None = None) -> None:
    """Print texts as `printable`, at once: names of files and words of endpoints are in them."""
    print(*map(printable, texts), end=end, file=file, flush=True)


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


def artifact_path(study: str, name: str, **keys: object) -> Path:
    """Return the path of an artifact, such as `artifact_path("lab", "answers", arm="dapt")`.

    Slashes in a model id become dashes: each judge has a single folder. Creates the parent folder.
    """
    filled = {key: str(value).replace("/", "--") for key, value in keys.items()}
    return data_path(study, *ARTIFACTS[name].path.format(**filled).split("/"))


def made_by(name: str, **keys: object) -> str:
    """Name the notebooks that write an artifact, for a message: "04_infer.ipynb with arm dapt"."""
    notebooks = " or ".join(f"{notebook}.ipynb" for notebook in writers_of(name))
    return notebooks + "".join(f" with {key} {value}" for key, value in keys.items())


def require_artifact(study: str, name: str, **keys: object) -> Path:
    """Return an artifact's path. Raises BadInput naming its notebook if it does not exist."""
    return require_path(artifact_path(study, name, **keys), made_by(name, **keys))


def load(
    study: str, name: str, kind: type[R] | None = None, *, optional: bool = False, **keys: object
) -> list:
    """Return the rows of an artifact; with several names as `arm`, those of their files in order.

    `kind` is the record type if the table of artifacts names none. With `optional`, a missing file
    counts as empty. Raises BadInput as `read_records` does.
    """
    if isinstance(arms := keys.get("arm"), Iterable) and not isinstance(arms, str):
        return [
            row
            for arm in arms
            for row in load(study, name, kind, optional=optional, **keys | {"arm": arm})
        ]
    path = artifact_path(study, name, **keys)
    if optional and not path.exists():
        return []
    return read_records(path, kind or ARTIFACTS[name].kind or Record, made_by(name, **keys))


def save(
    study: str, name: str, rows: Iterable[Record], *, optional: bool = False, **keys: object
) -> Path:
    """Write the rows of an artifact of `study` and print its path and number of rows.

    An `optional` one without rows has no file, so that none of an earlier run remains.
    """
    rows, path = list(rows), artifact_path(study, name, **keys)
    if optional and not rows:
        path.unlink(missing_ok=True)
        return path
    write_records(path, rows)
    tell(f"{shown(path)}: {len(rows)} rows")
    return path


@contextmanager
def replacing(path: Path):
    """Yield a temporary path, which replaces `path` on success and is removed after a failure.

    The file is therefore complete or absent, whatever stops the process.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.partial")
    try:
        yield temporary
        os.replace(temporary, path)
        note_written(path)
    except OSError as error:
        raise OSError(
            error.errno,
            f"{error.strerror or error} while writing {path}; the file was "
            "not kept. Free some space (or check the folder's permissions) and run the "
            "same command again",
        ) from error
    finally:
        temporary.unlink(missing_ok=True)


def read_lines(path: Path) -> list[bytes]:
    """Return the lines of a file; one that ends in .gz is decompressed. Raises BadInput."""
    content = path.read_bytes()
    try:
        return (gzip.decompress(content) if path.suffix == ".gz" else content).splitlines()
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise BadInput(
            f"{shown(path)} is not a complete gzip file ({error}): restore it"
        ) from error


def note_written(path: Path) -> None:
    """Note a file or folder for the record of the stage that writes it.

    A kernel without a record prints once what `make study` will do, if the study is finished.
    """
    if collected := os.environ.get(WRITTEN):  # labels are a person's
        with open(collected, "a", encoding="utf-8") as file:
            file.write(f"{path}\n" * ("/labels/" not in shown(path)))
    elif "ipykernel.kernelapp" in sys.modules:  # the runner has other parts of ipykernel
        for study in Path(shown(path)).parts[1:2]:
            _warn_once(study)


@cache
def _warn_once(study: str) -> None:
    if (output_root() / "data" / study / "run.json").exists():
        tell(
            f"{study} is a finished study: `make study STUDY={study}` will put what is saved here "
            f"aside and run its stage again; work in a copy (make copy STUDY={study} AS=name)"
        )


def write_text(path: Path, text: str) -> Path:
    """Write `text` completely or not at all."""
    with replacing(path) as temporary, open(temporary, "w", encoding="utf-8", newline="\n") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    return path


def write_records(path: Path, records: Iterable[Record]) -> Path:
    """Write records as JSON lines, completely or not at all."""
    return write_text(path, "".join(record.model_dump_json() + "\n" for record in records))


def write_json(path: Path, value: object) -> Path:
    """Write one JSON value, indented, completely or not at all."""
    return write_text(path, json.dumps(value, indent=1, ensure_ascii=False, default=str) + "\n")


def read_records(path: Path, kind: type[R], made_by: str) -> list[R]:
    """Read the JSON lines of `path` as `kind`.

    Raises BadInput naming the notebook `made_by` if the file is absent, and file and line if a row
    does not fit `kind`.
    """
    rows = []
    # bytes: a line may not be UTF-8
    for number, line in enumerate(read_lines(require_path(path, made_by)), 1):
        try:
            rows.append(kind.model_validate_json(line))
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"])) or "the line"
            raise BadInput(
                f"{shown(path)}, line {number}: {where}: {first['msg']}; "
                f"remove the file and run {made_by} again"
            ) from error
    return rows
