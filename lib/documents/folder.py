"""A folder of one's own .md and .txt files as documents; a bad file is listed with its reason (paper, 4.1)."""

import hashlib
import math
import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from lib.core.records import Document, Rejected
from lib.documents.blocks import STRUCTURE_OF, Block, parse

SUFFIXES = (".md", ".txt")
MAX_DOCUMENT_BYTES = 5_000_000

_FRONT_MATTER_TITLE = re.compile(r"^title[ \t]*:[ \t]*(.+?)[ \t]*$", re.M)


class NoDocuments(ValueError):
    """A folder that is not there, or that holds nothing usable."""


class Unusable(ValueError):
    """Why one file cannot be a document."""


@dataclass(frozen=True)
class Reading:
    """What came of every file of a folder; `skipped` are those of other types, hidden ones and linked folders."""

    documents: list[Document]
    rejected: list[Rejected]
    skipped: list[Rejected]


def read_folder(folder: Path) -> Reading:
    """Read every .md and .txt file below `folder`, in the order of their paths.

    A document's id and path are the file's path relative to `folder`. Raises NoDocuments, saying what was found,
    where the folder is missing or no file of it is usable.
    """
    files, skipped = list_files(folder)
    documents, rejected, seen = [], [], {}
    for path in files:
        name = _name(path, folder)
        try:
            document = _read(path, name)
            twin = seen.setdefault(hashlib.sha256(document.text.encode()).digest(), name)
            if twin != name:
                raise Unusable(f"same content as {twin}")
        except Unusable as error:
            rejected.append(Rejected(document_id=name, item=name, reason=str(error)))
        else:
            documents.append(document)
    if not documents:
        raise NoDocuments(f"no usable document in {folder}: " + _found(rejected, skipped)
                          + ". Put .md or .txt files with text there")
    return Reading(documents, rejected, skipped)


def list_files(folder: Path, endings: tuple[str, ...] = SUFFIXES) -> tuple[list[Path], list[Rejected]]:
    """The files of these `endings` below `folder`, sorted, and what else lies there with the reason why it is skipped.

    Raises NoDocuments where the folder is missing, is no folder, or holds no such file.
    """
    folder, kinds = Path(folder), " or ".join(endings)
    if not folder.is_dir():
        what = "is not a folder" if folder.exists() else "does not exist"
        raise NoDocuments(f"{folder} {what}: name a folder that holds {kinds} files")
    files, skipped = [], []
    for path, reason in _walk(folder, endings):
        if reason:
            skipped.append(Rejected(document_id=_name(path, folder), item=_name(path, folder), reason=reason))
        else:
            files.append(path)
    if not files:
        raise NoDocuments(f"no {kinds} file in {folder}: " + _found([], skipped) + ". Put some there")
    return sorted(files), sorted(skipped, key=lambda row: row.item)


def fingerprint(folder: Path, endings: tuple[str, ...] = SUFFIXES) -> str:
    """Hash of the names and contents of the files that `list_files` finds: another one means another study.

    Raises NoDocuments as `list_files` does.
    """
    digest = hashlib.sha256()
    for path in list_files(folder, endings)[0]:
        digest.update(_name(path, Path(folder)).encode() + b"\0")
        try:
            digest.update(hashlib.sha256(_bytes(path, math.inf)).digest())
        except Unusable as error:
            digest.update(str(error).encode())
    return digest.hexdigest()[:16]


def _walk(folder: Path, endings: tuple[str, ...]) -> Iterator[tuple[Path, str]]:
    """Yield every file with the reason to skip it, "" for a document; linked folders may loop and are not entered."""
    closed: list[OSError] = []
    for place, folders, names in os.walk(folder, onerror=closed.append, followlinks=False):
        entered = []
        for name in folders:
            path = Path(place, name)
            reason = "hidden" if name.startswith(".") else "link to a folder" if path.is_symlink() else ""
            if reason:
                yield path, reason
            else:
                entered.append(name)
        folders[:] = entered
        for name in names:
            is_document = Path(name).suffix.lower() in endings
            reason = "hidden" if name.startswith(".") else "" if is_document else f"not {' or '.join(endings)}"
            yield Path(place, name), reason
    for error in closed:
        yield Path(error.filename), f"cannot be listed ({error.strerror})"


def _name(path: Path, folder: Path) -> str:
    """Relative path with forward slashes; bytes that are no UTF-8 are shown as escapes, so that it can be written."""
    return os.fsencode(path.relative_to(folder).as_posix()).decode("utf-8", "backslashreplace")


def _found(rejected: list[Rejected], skipped: list[Rejected]) -> str:
    rows = [*rejected, *skipped]
    shown = "; ".join(f"{row.item}: {row.reason}" for row in rows[:5]) + ("; …" if len(rows) > 5 else "")
    return f"{len(rows)} found ({shown})" if rows else "it is empty"


def _read(path: Path, name: str) -> Document:
    text = _decoded(_bytes(path))
    if not text.strip():
        raise Unusable("empty")
    blocks = parse(text)
    if not any(block.kind in STRUCTURE_OF and block.text.strip() for block in blocks):
        kinds = ", ".join(sorted({block.kind for block in blocks})) or "nothing"
        raise Unusable(f"no paragraph, list or table, only {kinds}")
    return Document(document_id=name, title=_title(blocks, name), path=name, text=text)


def _bytes(path: Path, limit: float = MAX_DOCUMENT_BYTES) -> bytes:
    """Raises Unusable where `path` is too large, cannot be read, or is no ordinary file (a pipe would hang)."""
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise Unusable("not an ordinary file")
        if status.st_size > limit:
            raise Unusable(f"{status.st_size / 1e6:.1f} MB, over the limit of {limit / 1e6:.0f}: split it")
        return path.read_bytes()
    except OSError as error:
        raise Unusable(f"cannot be read ({error.strerror})") from error


def _decoded(raw: bytes) -> str:
    """UTF-8 with or without its mark; every newline becomes a line feed."""
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise Unusable("UTF-16, not UTF-8: save it as UTF-8")
    if b"\0" in raw:
        raise Unusable(f"binary (a zero byte at position {raw.index(0)})")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        byte = f"byte 0x{raw[error.start]:02x} at position {error.start}"
        raise Unusable(f"not UTF-8 ({byte}): save it as UTF-8") from error
    return text.replace("\r\n", "\n").replace("\r", "\n")


def _title(blocks: list[Block], name: str) -> str:
    """The first heading of level 1, else the front matter's title, else the file's name in words."""
    for block in blocks:
        if block.kind == "heading" and block.level == 1 and block.text:
            return block.text
    if blocks[0].kind == "front-matter" and (match := _FRONT_MATTER_TITLE.search(blocks[0].text)):
        return match[1].strip("\"'")
    return re.sub(r"[-_\s]+", " ", Path(name).stem).strip()
