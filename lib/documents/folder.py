"""Read a folder of files as documents; a bad file is listed with a reason (4.1).

Markdown and text are read as they are; PDF, DOCX, HTML and the like are converted to Markdown.
"""

import hashlib
import math
import os
import re
import shutil
import stat
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from lib.core.errors import BadInput
from lib.core.files import write_text
from lib.core.records import Document, Rejected
from lib.documents.blocks import CONTENT, Block, front_title, parse, title_heading
from lib.documents.convert.formats import ENDINGS
from lib.documents.convert.markdown import Converted
from lib.documents.convert.worker import Worker
from lib.documents.language import language_of

TEXT = (".md", ".txt")
SUFFIXES = (*TEXT, *ENDINGS)
MAX_DOCUMENT_BYTES = 5_000_000  # of text
MAX_FILE_BYTES = 50_000_000  # of a file that is converted to text


@dataclass(frozen=True)
class Reading:
    """The files of a folder; `skipped` are other types, hidden entries and links to folders.

    `converted` are those that were not text, and `kinds` how many blocks of each kind a document
    has, both by its id.
    """

    documents: list[Document]
    rejected: list[Rejected]
    skipped: list[Rejected]
    converted: dict[str, Converted] = field(default_factory=dict)
    kinds: dict[str, Counter[str]] = field(default_factory=dict)


def read_folder(folder: Path) -> Reading:
    """Read every file below `folder` that has a known extension, in order of path.

    A document's id and path are the file's path relative to `folder`. Raises BadInput, listing
    what was found, if the folder is missing or no file in it is usable.
    """
    files, skipped = list_files(folder)
    reading, seen = Reading([], [], skipped), {}
    with Worker() as worker:
        for path in files:
            name = _name(path, folder)
            try:
                made = _markdown(path, worker)
                document, kinds = _document(made, name)
                twin = seen.setdefault(hashlib.sha256(document.text.encode()).digest(), name)
                if twin != name:
                    raise BadInput(f"same content as {twin}")
            except BadInput as error:
                reading.rejected.append(_left_out(path, folder, str(error)))
            else:
                reading.documents.append(document)
                reading.kinds[name] = kinds
                if path.suffix.lower() not in TEXT:
                    reading.converted[name] = made
    if not reading.documents:
        raise BadInput(f"no usable document in {folder}: "
                       f"{_found([*reading.rejected, *skipped])}. "
                       f"Put {one_of(SUFFIXES)} files with text there")
    return reading


def by_format(reading: Reading) -> dict[str, dict[str, int]]:
    """Return, for each extension, how many files were read, rejected and read with a doubt."""
    counts: dict[str, dict[str, int]] = {}
    kinds = {"read": [one.document_id for one in reading.documents],
             "rejected": [row.item for row in reading.rejected],
             "doubted": [one.document_id for one in reading.documents if one.doubt]}
    for kind, names in kinds.items():
        for name in names:
            row = counts.setdefault(Path(name).suffix.lower(), dict.fromkeys(kinds, 0))
            row[kind] += 1
    return dict(sorted(counts.items()))


def write_converted(folder: Path, reading: Reading) -> None:
    """Write each converted document to `folder`/<name>.md with its positions; replace `folder`."""
    shutil.rmtree(folder, ignore_errors=True)
    for name, made in reading.converted.items():
        write_text(folder / f"{name}.md", made.shown())


def list_files(folder: Path,
               endings: tuple[str, ...] = SUFFIXES) -> tuple[list[Path], list[Rejected]]:
    """Return the files below `folder` with these `endings`, sorted, and all others with reasons.

    Raises BadInput if the folder is missing, is not a folder, or contains no such file.
    """
    folder, kinds = Path(folder), one_of(endings)
    if not folder.is_dir():
        what = "is not a folder" if folder.exists() else "does not exist"
        raise BadInput(f"{folder} {what}: name a folder that contains {kinds} files")
    entries = list(_walk(folder, endings))
    files = sorted(path for path, reason in entries if not reason)
    skipped = sorted((_left_out(path, folder, reason) for path, reason in entries if reason),
                     key=lambda row: row.item)
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
            digest.update(hashlib.sha256(_bytes(path, math.inf)).digest())
        except BadInput as error:
            digest.update(str(error).encode())
    return digest.hexdigest()[:16]


def _walk(folder: Path, endings: tuple[str, ...]) -> Iterator[tuple[Path, str]]:
    closed: list[OSError] = []
    # links to folders may form loops, so they are not followed
    for place, folders, names in os.walk(folder, onerror=closed.append, followlinks=False):
        for name in folders:
            if name.startswith("."):
                yield Path(place, name), "hidden"
            elif os.path.islink(os.path.join(place, name)):
                yield Path(place, name), "link to a folder"
        folders[:] = [name for name in folders if not name.startswith(".")]
        for name in names:
            is_document = name.lower().endswith(endings)
            other = "" if is_document else f"not {one_of(endings)}"
            yield Path(place, name), "hidden" if name.startswith(".") else other
    for error in closed:
        yield Path(error.filename), f"cannot be listed ({error.strerror})"


def _left_out(path: Path, folder: Path, reason: str) -> Rejected:
    return Rejected(document_id=_name(path, folder), item=_name(path, folder), reason=reason)


# bytes that are not UTF-8 become escapes
def _name(path: Path, folder: Path) -> str:
    relative = os.fsencode(path.relative_to(folder).as_posix())
    return relative.decode("utf-8", "backslashreplace")


def one_of(endings: Sequence[str]) -> str:
    """Return ".md, .txt or .pdf"; of a long list, without other spellings of the same format."""
    shown = [one for one in endings if len(endings) < 4 or one[-1] != "m" and one != ".xhtml"]
    return " or ".join(filter(None, [", ".join(shown[:-1]), shown[-1]]))


def _found(rows: list[Rejected]) -> str:
    shown = [f"{row.item}: {row.reason}" for row in rows[:5]] + ["…"] * (len(rows) > 5)
    return f"{len(rows)} found ({'; '.join(shown)})" if rows else "it is empty"


# what is not text is converted in the child process
def _markdown(path: Path, worker: Worker) -> Converted:
    ending = path.suffix.lower()
    if ending in TEXT:
        return Converted(_decoded(_bytes(path)))
    _check(path, MAX_FILE_BYTES)
    made = worker.converted(path, ending)
    n_bytes = len(made.markdown.encode())
    if n_bytes > MAX_DOCUMENT_BYTES:
        raise BadInput(f"{n_bytes / 1e6:.1f} MB of text, over the limit of "
                       f"{MAX_DOCUMENT_BYTES / 1e6:.0f}: split it")
    return made


def _document(made: Converted, name: str) -> tuple[Document, Counter[str]]:
    text = made.markdown
    if not text.strip():
        raise BadInput("empty")
    blocks = parse(text)
    if not any(block.kind in CONTENT and block.text.strip() for block in blocks):
        kinds = ", ".join(sorted({block.kind for block in blocks})) or "nothing"
        raise BadInput(f"no paragraph, list or table, only {kinds}")
    document = Document(document_id=name, title=_title(blocks, name), path=name, text=text,
                        language=language_of(blocks), doubt=made.doubt)
    return document, Counter(block.kind for block in blocks)


def _bytes(path: Path, limit: float = MAX_DOCUMENT_BYTES) -> bytes:
    _check(path, limit)
    try:
        return path.read_bytes()
    except OSError as error:
        raise BadInput(f"cannot be read ({error.strerror})") from error


def _check(path: Path, limit: float) -> None:
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise BadInput("not an ordinary file")  # reading a pipe would hang
        if status.st_size > limit:
            size = f"{status.st_size / 1e6:.1f} MB"
            raise BadInput(f"{size}, over the limit of {limit / 1e6:.0f}: split it")
        path.open("rb").close()
    except OSError as error:
        raise BadInput(f"cannot be read ({error.strerror})") from error


# every line break becomes a line feed
def _decoded(raw: bytes) -> str:
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise BadInput("UTF-16, not UTF-8: save it as UTF-8")
    if b"\0" in raw:
        raise BadInput(f"binary (a zero byte at position {raw.index(0)})")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        byte = f"byte 0x{raw[error.start]:02x} at position {error.start}"
        raise BadInput(f"not UTF-8 ({byte}): save it as UTF-8") from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _title(blocks: Sequence[Block], name: str) -> str:
    heading = title_heading(blocks)
    first = next((block.text for block in blocks if block.level == 1 and block.text), "")
    return (heading.text if heading else front_title(blocks)) or first or (
        re.sub(r"[-_\s]+", " ", Path(name).stem).strip())
