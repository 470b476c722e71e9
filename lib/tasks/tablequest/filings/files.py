"""Find and read files that may be filings, or reject them with a reason."""

import gzip
import re
import stat
import zlib
from pathlib import Path

from lib.core.errors import BadInput
from lib.core.records import Rejected
from lib.documents.folder import list_files

ENDINGS = (".html", ".htm", ".html.gz", ".htm.gz")
MAX_FILING_BYTES = 100_000_000  # about three times the largest 10-K filings


def bytes_of(path: Path) -> bytes:
    """Return the content of a regular file, decompressed if its name ends with ".gz".

    Raises BadInput beyond MAX_FILING_BYTES, before and after decompression.
    """
    try:
        status = path.stat()
        if not stat.S_ISREG(status.st_mode):
            raise BadInput("not an ordinary file")
        if status.st_size > MAX_FILING_BYTES:
            raise BadInput(f"{status.st_size / 1e6:.0f} MB, over the limit of "
                           f"{MAX_FILING_BYTES / 1e6:.0f}")
        if not status.st_size:
            raise BadInput("empty")
        return _unpacked(path) if path.suffix.lower() == ".gz" else path.read_bytes()
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise BadInput(f"not a complete gzip file ({error})") from error
    except OSError as error:
        raise BadInput(f"cannot be read ({error.strerror})") from error


def _unpacked(path: Path) -> bytes:
    with gzip.open(path) as file:
        raw = file.read(MAX_FILING_BYTES + 1)  # never more, whatever a small file unpacks to
    if len(raw) > MAX_FILING_BYTES:
        raise BadInput(f"unpacks to more than the limit of {MAX_FILING_BYTES / 1e6:.0f} MB")
    if not raw:
        raise BadInput("empty")
    return raw


def list_filings(folder: Path) -> tuple[list[tuple[Path, str]], list[Rejected]]:
    """Return the files to read with their names below the folder, and all others with reasons.

    `folder` may be one file. Raises BadInput, saying what to put there, if there is no file to
    read.
    """
    if folder.is_file():
        return [(folder, folder.name)], []
    files, skipped = list_files(folder, ENDINGS)
    return [(path, path.relative_to(folder).as_posix()) for path in files], skipped


def identifier_of(name: str) -> str:
    """Return a name usable in files and ids, such as "2024-acme" for "2024/acme.html.gz"."""
    stem = re.sub(r"\.html?(?:\.gz)?$", "", name, flags=re.I)
    return re.sub(r"[^A-Za-z0-9.]+", "-", stem).strip("-.") or "filing"
