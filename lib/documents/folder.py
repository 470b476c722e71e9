"""Read a folder of files as documents; a bad file is listed with a reason (4.1).

Markdown and text are read as they are; PDF, DOCX, HTML and the like are converted to Markdown.
"""

import hashlib
import math
import os
import re
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lib.core.errors import BadInput
from lib.core.records import Document, Rejected
from lib.core.store import write_text
from lib.documents.convert.formats import ENDINGS, Worker
from lib.documents.convert.html import decoded
from lib.documents.convert.markdown import Converted
from lib.documents.language import language_of
from lib.documents.markdown import CONTENT, Block, front_title, parse, title_heading

TEXT = (".md", ".txt")
SUFFIXES = (*TEXT, *ENDINGS)
_NEWER = {
    ".doc": ".docx",
    ".rtf": ".docx",
    ".odt": ".docx",
    ".xls": ".xlsx",
    ".ods": ".xlsx",
    ".ppt": ".pptx",
    ".odp": ".pptx",
    ".rst": ".html",
}
MAX_DOCUMENT_BYTES = 5_000_000  # of text
MAX_FILE_BYTES = 50_000_000  # of a file that is converted to text


@dataclass(frozen=True)
class Reading:
    """The files of a folder; `skipped` are other types, hidden entries and links to folders.

    `converted` are those that were not text, and `tokens` about how many tokens (4 bytes each) a
    document has in each kind of block, both by its id.
    """

    documents: list[Document] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    skipped: list[Rejected] = field(default_factory=list)
    converted: dict[str, Converted] = field(default_factory=dict)
    tokens: dict[str, Counter[str]] = field(default_factory=dict)


def read_folder(folder: Path) -> Reading:
    """Read every file below `folder` that has a known extension, in order of path.

    A document's id and path are the file's path relative to `folder`. Raises BadInput, listing
    what was found, if the folder is missing or no file in it is usable.
    """
    files, skipped = list_files(folder)
    reading, seen = Reading(skipped=skipped), {}
    with Worker() as worker:
        for path in files:
            name = _name(path, folder)
            try:
                result = _markdown(path, worker)
                document, tokens = _document(result, name)
                twin = seen.setdefault(document.text, name)
                if twin != name:
                    raise BadInput(f"same content as {twin}")
            except BadInput as error:
                reading.rejected.append(_left_out(path, folder, str(error)))
            else:
                reading.documents.append(document)
                reading.tokens[name] = tokens
                if path.suffix.lower() not in TEXT:
                    reading.converted[name] = result
    if not reading.documents:
        raise BadInput(
            f"no usable document in {folder}: "
            f"{_found([*reading.rejected, *skipped])}. "
            f"Put {one_of(SUFFIXES)} files with text there"
        )
    return reading


def write_converted(folder: Path, reading: Reading) -> None:
    """Write each converted document to `folder`/<name>.md; replace `folder`."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, result in reading.converted.items():
        write_text(folder / f"{name}.md", result.markdown)


def list_files(
    folder: Path, endings: tuple[str, ...] = SUFFIXES
) -> tuple[list[Path], list[Rejected]]:
    """Return the files below `folder` with these `endings`, sorted, and all others with reasons.

    Raises BadInput if the folder is missing, is not a folder, or contains no such file.
    """
    folder, kinds = Path(folder), one_of(endings)
    if not folder.is_dir():
        what = "is not a folder" if folder.exists() else "does not exist"
        raise BadInput(f"{folder} {what}: name a folder that contains {kinds} files")
    entries = list(_walk(folder, endings))
    files = sorted(path for path, reason in entries if not reason)
    skipped = sorted(
        (_left_out(path, folder, reason) for path, reason in entries if reason),
        key=lambda row: row.item,
    )
    if not files:
        raise BadInput(f"no {kinds} file in {folder}: {_found(skipped)}. Put some there")
    return files, skipped


def fingerprint(folder: Path, endings: tuple[str, ...] = SUFFIXES) -> str:
    """Return a hash of the names and contents of the files that `list_files` finds.

    Raises BadInput as `list_files` does.
    """
    digest = hashlib.sha256()
    for path in list_files(folder, endings)[0]:
        digest.update(_name(path, Path(folder)).encode() + b"\0")
        try:
            digest.update(hashlib.sha256(read_bytes(path, math.inf)).digest())
        except BadInput as error:
            digest.update(str(error).encode())
    return digest.hexdigest()[:16]


# Each file and each entry that is not followed, with the reason why it is not read
def _walk(folder: Path, endings: tuple[str, ...]) -> Iterator[tuple[Path, str]]:
    for place, folders, names in os.walk(folder):
        for path in [Path(place, name) for name in [*folders, *names]]:
            if path.name.startswith("."):
                yield path, "hidden"
            elif path.is_symlink() and not path.resolve().is_relative_to(folder.resolve()):
                yield path, "a link that leaves the folder: put the file itself there"
            elif path.name in names:
                is_document = path.name.lower().endswith(endings)
                newer = _NEWER.get(path.suffix.lower(), "")
                yield (
                    path,
                    ""
                    if is_document
                    else f"save it as {newer}"
                    if newer in endings
                    else (f"not {one_of(endings)}"),
                )
            elif path.is_symlink():  # such links may form loops
                yield path, "link to a folder"
        folders[:] = [name for name in folders if not name.startswith(".")]


def _left_out(path: Path, folder: Path, reason: str) -> Rejected:
    return Rejected(document_id=_name(path, folder), item=_name(path, folder), reason=reason)


# bytes that are not UTF-8 become escapes
def _name(path: Path, folder: Path) -> str:
    relative = os.fsencode(path.relative_to(folder).as_posix())
    return relative.decode("utf-8", "backslashreplace")


def one_of(endings: Sequence[str]) -> str:
    """Return ".md, .txt or .pdf"."""
    return " or ".join(filter(None, [", ".join(endings[:-1]), endings[-1]]))


def _found(rows: list[Rejected]) -> str:
    shown = [f"{row.item}: {row.reason}" for row in rows[:5]] + ["…"] * (len(rows) > 5)
    return f"{len(rows)} found ({'; '.join(shown)})" if rows else "it is empty"


# What is not text is converted in the child process
def _markdown(path: Path, worker: Worker) -> Converted:
    ending = path.suffix.lower()
    if ending in TEXT:
        text = decoded(read_bytes(path))
        return Converted(text.replace("\r\n", "\n").replace("\r", "\n"))
    _check(path, MAX_FILE_BYTES)
    result = worker.converted(path, ending)
    n_bytes = len(result.markdown.encode())
    if n_bytes > MAX_DOCUMENT_BYTES:
        raise BadInput(
            f"{n_bytes / 1e6:.1f} MB of text, over the limit of "
            f"{MAX_DOCUMENT_BYTES / 1e6:.0f}: split it"
        )
    return result


def _document(result: Converted, name: str) -> tuple[Document, Counter[str]]:
    text = result.markdown
    if not text.strip():
        raise BadInput("empty")
    blocks, tokens = parse(text), Counter()
    for block in blocks:
        tokens[block.kind] += -(-len(block.text.strip().encode()) // 4)
    if not any(tokens[kind] for kind in CONTENT):
        kinds = ", ".join(sorted(tokens)) or "nothing"
        raise BadInput(f"no paragraph, list or table, only {kinds}")
    return Document(
        document_id=name,
        title=_title(blocks, name),
        path=name,
        text=text,
        language=language_of(blocks),
        doubt=result.doubt,
    ), tokens


def read_bytes(path: Path, limit: float = MAX_DOCUMENT_BYTES) -> bytes:
    """Return the content of an ordinary file of at most `limit` bytes. Raises BadInput else."""
    _check(path, limit)
    try:
        return path.read_bytes()
    except OSError as error:
        raise BadInput(f"cannot be read ({error.strerror})") from error


def _check(path: Path, limit: float) -> None:
    if not path.is_file():
        raise BadInput("missing, or not an ordinary file")  # reading a pipe would hang
    if (size := path.stat().st_size) > limit:
        raise BadInput(f"{size / 1e6:.1f} MB, over the limit of {limit / 1e6:.0f}: split it")


def _title(blocks: Sequence[Block], name: str) -> str:
    heading = title_heading(blocks)
    return (heading.text if heading else front_title(blocks)) or (
        re.sub(r"[-_\s]+", " ", Path(name).stem).strip()
    )
