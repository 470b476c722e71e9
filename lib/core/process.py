"""How a stage's processes start and end: none outlives its parent, none waits for its garbage."""

import atexit
import ctypes
import gc
import os
import signal
import sys

VARIABLE = "STUDY_PARENT"  # the id of the process that its children must not outlive

_PR_SET_PDEATHSIG = 1


def die_with_parent(variable: str = VARIABLE, sent: int = signal.SIGKILL) -> None:
    """Ask the system to send this process a signal when its parent ends; exit now if it has.

    The environment `variable` holds the parent's id. If it is not set (a shell started this
    process, or a process on another node), nothing happens. Outside Linux, only a parent that has
    already ended is noticed, but a notebook's kernel watches its parent by itself.
    """
    parent = int(os.environ.get(variable) or 0)
    if not parent:
        return
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, sent)
    if os.getppid() != parent:  # it ended before the line above
        os._exit(1)


def be_parent() -> None:
    """Make children that call die_with_parent() end with this process."""
    os.environ[VARIABLE] = str(os.getpid())


def collect_seldom() -> None:
    """Collect garbage at every 50,000 new objects, and none at the end.

    A fifth of the time in which torch and transformers are imported goes to collections.
    """
    gc.set_threshold(50_000, 20, 20)
    atexit.register(gc.freeze)


def main(command: list[str]) -> None:
    """Become `command`, which is terminated when this process's parent ends.

    It can be srun, which needs SIGTERM to end its tasks. They may run on other nodes, where this
    process's id means nothing.
    """
    die_with_parent(sent=signal.SIGTERM)
    os.environ.pop(VARIABLE, None)
    os.execvp(command[0], command)


if __name__ == "__main__":
    main(sys.argv[1:])
