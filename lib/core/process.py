"""How a stage's processes start and end: none outlives its parent, none waits for its garbage."""

import atexit
import ctypes
import gc
import os
import signal
import sys

VARIABLE = "STUDY_PARENT"  # the id of the process that its children must not outlive

_PR_SET_PDEATHSIG = 1


def die_with_parent(variable: str = VARIABLE) -> None:
    """Ask the system to kill this process when its parent ends; exit now if it has.

    The environment `variable` holds the parent's id. If it is not set (a shell started this
    process), nothing happens. Outside Linux, only a parent that has
    already ended is noticed, but a notebook's kernel watches its parent by itself.
    """
    parent = int(os.environ.get(variable) or 0)
    if not parent:
        return
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
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
