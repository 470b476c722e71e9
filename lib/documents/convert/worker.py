"""Convert files in a child process, so that a bad file can neither hang nor kill the stage.

One child converts file after file and is started again after a failure. It may not exceed its time
and memory, write a file, start a program or reach a network. The last is done with what the system
offers: a network namespace of its own where the kernel allows it, and Python's audit events.
"""

import ctypes
import json
import os
import resource
import select
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

from lib.core.errors import BadInput
from lib.core.paths import REPOSITORY
from lib.documents.convert.formats import converted
from lib.documents.convert.markdown import Converted

MOST_SECONDS = 60  # of processor time for a file, and as many again for each MB
MOST_MEMORY = 2_000_000_000  # bytes of address space
MOST_REPLY = 100_000_000  # bytes

_CLONE_NEWUSER, _CLONE_NEWNET = 0x10000000, 0x40000000  # linux/sched.h
_REFUSED_EVENTS = ("socket.", "subprocess.", "os.system", "os.exec", "os.posix_spawn", "os.fork",
                   "os.spawn", "pty.", "ftplib.", "urllib.", "http.", "webbrowser.")


class Worker:
    """A child process for conversions: use it in a `with` statement."""

    def __init__(self, most_seconds: float = MOST_SECONDS):
        self.most_seconds = most_seconds
        self.child: subprocess.Popen | None = None

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *_) -> None:
        self._stop()

    def converted(self, path: Path, ending: str) -> Converted:
        """Convert a file as `formats.converted` does. Raises BadInput, also at a limit."""
        if self.child is None:
            self._start()
        seconds = self.most_seconds * (1 + path.stat().st_size / 1e6)
        request = json.dumps([os.path.abspath(path), ending, seconds]) + "\n"
        try:
            self.child.stdin.write(request.encode())
            self.child.stdin.flush()
            reply = json.loads(self._line(time.monotonic() + 10 * seconds))
        except (OSError, ValueError) as error:
            code = self._stop()
            late = isinstance(error, TimeoutError) or code == -signal.SIGPROF
            raise BadInput(f"its conversion takes more than {seconds:.0f} s" if late else
                           f"its converter crashed (code {code})") from error
        if reply.get("restart"):
            self._stop()
        if "refused" in reply:
            raise BadInput(reply["refused"])
        return Converted(reply["markdown"], [(at, where) for at, where in reply["positions"]],
                         reply["doubt"])

    def _start(self) -> None:
        paths = os.pathsep.join(filter(None, [str(REPOSITORY), os.environ.get("PYTHONPATH")]))
        self.child = subprocess.Popen(
            [sys.executable, "-m", __name__], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, env={**os.environ, "PYTHONPATH": paths})

    # A negative code is the signal that ended the child
    def _stop(self) -> int | None:
        child, self.child = self.child, None
        if child is None:
            return None
        child.stdout.close()
        with suppress(OSError):  # it may hold a request that the child can no longer read
            child.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            return child.wait(0.2)
        child.kill()
        return child.wait()

    def _line(self, deadline: float) -> bytes:
        file, line = self.child.stdout.fileno(), bytearray()
        while not line.endswith(b"\n"):
            if not select.select([file], [], [], max(0, deadline - time.monotonic()))[0]:
                raise TimeoutError
            piece = os.read(file, 1 << 20)
            line += piece
            if not piece or len(line) > MOST_REPLY:
                raise ValueError("no reply")
        return bytes(line)


def _serve() -> None:
    replies = os.fdopen(os.dup(1), "wb")
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 1)  # a library may print
    _confine()
    for line in sys.stdin.buffer:
        path, ending, seconds = json.loads(line)
        signal.setitimer(signal.ITIMER_PROF, seconds)  # of processor time; then the system ends it
        reply = json.dumps(_reply(Path(path), ending)).encode()
        signal.setitimer(signal.ITIMER_PROF, 0)
        replies.write(reply + b"\n")
        replies.flush()


def _reply(path: Path, ending: str) -> dict:
    try:
        result = converted(path, ending)
    except BadInput as error:
        return {"refused": str(error)}
    except MemoryError:
        return {"refused": f"needs more than {MOST_MEMORY / 1e9:.0f} GB of memory",
                "restart": True}
    except Exception as error:  # a library may raise anything: the file is bad, not the stage
        said = " ".join(str(error).split())[:200]
        return {"refused": f"cannot be converted ({type(error).__name__}: {said})",
                "restart": True}
    return {"markdown": result.markdown, "positions": result.positions, "doubt": result.doubt}


def _confine() -> None:
    limits = {"RLIMIT_AS": MOST_MEMORY, "RLIMIT_FSIZE": 0, "RLIMIT_CORE": 0, "RLIMIT_NOFILE": 256}
    for name, most in limits.items():
        try:
            resource.setrlimit(getattr(resource, name), (most, most))
        except (AttributeError, OSError, ValueError):
            continue  # not every system has every limit
    with suppress(OSError, AttributeError):  # without it, the audit hook below remains
        system = ctypes.CDLL(None)
        if system.unshare(_CLONE_NEWNET):  # a user who may not needs a namespace of users too
            system.unshare(_CLONE_NEWUSER | _CLONE_NEWNET)
    sys.dont_write_bytecode = True
    sys.addaudithook(_refuse_event)


def _refuse_event(event: str, arguments: tuple) -> None:
    writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & (
        os.O_WRONLY | os.O_RDWR | os.O_CREAT)
    if writes or event.startswith(_REFUSED_EVENTS):
        raise PermissionError(f"a converter may not do this: {event}")


if __name__ == "__main__":
    _serve()
