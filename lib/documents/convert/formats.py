"""Convert a file by its extension, in a child process with limits (4.1).

A bad file can neither hang nor kill the stage: the child may not exceed its time and memory, write
a file, start a program or reach a network.
"""

import os
import resource
import signal
import sys
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path

from lib.core.errors import BadInput
from lib.documents.convert import docx, html, office, pdf
from lib.documents.convert.markdown import Converted

MOST_SECONDS = 60  # for a file, and as many again for each MB
MOST_MEMORY = 2_000_000_000  # bytes of address space

_READERS = {
    ".html": html.read,
    ".htm": html.read,
    ".xhtml": html.read,
    ".docx": docx.read,
    ".pdf": pdf.read,
    ".xlsx": office.read_xlsx,
    ".csv": office.read_csv,
    ".tsv": office.read_csv,
    ".pptx": office.read_pptx,
    ".epub": html.read_epub,
}
ENDINGS = tuple(_READERS)
_REFUSED_EVENTS = (
    "socket.",
    "subprocess.",
    "os.system",
    "os.exec",
    "os.posix_spawn",
    "os.fork",
    "os.spawn",
    "pty.",
    "ftplib.",
    "urllib.",
    "http.",
    "webbrowser.",
)


class Worker:
    """A child process that converts file after file, started again after a failure."""

    def __init__(self, most_seconds: float = MOST_SECONDS):
        self.most_seconds = most_seconds
        self.pool: ProcessPoolExecutor | None = None

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *_) -> None:
        if self.pool:
            self.pool.shutdown()

    def converted(self, path: Path, ending: str) -> Converted:
        """Convert a file to Markdown. Raises BadInput with the reason, also at a limit."""
        if self.pool is None:
            self.pool = ProcessPoolExecutor(1, get_context("spawn"), confine)
        seconds = self.most_seconds * (1 + path.stat().st_size / 1e6)
        try:
            return self.pool.submit(_within, path, ending, seconds).result()
        except BrokenProcessPool as error:
            self.pool = None
            raise BadInput(f"its converter crashed, or took more than {seconds:.0f} s") from error


def converted(source: Path | bytes, ending: str) -> Converted:
    """Convert a file to Markdown; `ending` such as ".pdf" says how it is read.

    Nothing in it is executed and nothing that it names is fetched. Raises BadInput.
    """
    raw = source if isinstance(source, bytes) else Path(source).read_bytes()
    if not raw.strip():
        raise BadInput("empty")
    result = _READERS[ending.lower()](raw)
    if not result.markdown.strip():
        raise BadInput("no text in it")
    return result


def _within(path: Path, ending: str, seconds: float) -> Converted:
    signal.setitimer(signal.ITIMER_REAL, seconds)  # then the system ends the process
    try:
        return converted(path, ending)
    except BadInput:
        raise
    except MemoryError as error:
        raise BadInput(f"needs more than {MOST_MEMORY / 1e9:.0f} GB of memory") from error
    except Exception as error:  # a library may raise anything: the file is bad, not the stage
        reason = " ".join(str(error).split())[:200]
        raise BadInput(f"cannot be converted ({type(error).__name__}: {reason})") from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def confine() -> None:
    """Limit this process for good: memory, files, programs, network."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)  # a library may print
    os.dup2(nowhere, 2)
    limits = {"RLIMIT_AS": MOST_MEMORY, "RLIMIT_FSIZE": 0, "RLIMIT_CORE": 0, "RLIMIT_NOFILE": 256}
    for name, most in limits.items():
        with suppress(AttributeError, OSError, ValueError):  # not every system has every limit
            resource.setrlimit(getattr(resource, name), (most, most))
    sys.dont_write_bytecode = True
    sys.addaudithook(_refuse_event)


def _refuse_event(event: str, arguments: tuple) -> None:
    writes = (
        event == "open"
        and isinstance(arguments[2], int)
        and arguments[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
    )
    if writes or event.startswith(_REFUSED_EVENTS):
        raise PermissionError(f"a converter may not do this: {event}")
