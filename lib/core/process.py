"""A process that dies with the one that started it, so that a killed study leaves no writer behind (the house)."""

import ctypes
import os
import signal
import sys

VARIABLE = "STUDY_PARENT"  # the process id that a child of ours must not outlive

_PR_SET_PDEATHSIG = 1


def die_with_parent(variable: str = VARIABLE) -> None:
    """Ask the kernel to kill this process when its parent ends; end at once where that has already happened.

    The parent's id is read from the environment `variable`; where it is not set (someone's shell started us),
    nothing happens. Outside Linux only the check is made, and a notebook's kernel watches its parent by itself.
    """
    parent = int(os.environ.get(variable) or 0)
    if not parent:
        return
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it ended before the line above
        os._exit(1)


def be_parent() -> None:
    """From here on, children that call die_with_parent() are bound to this process."""
    os.environ[VARIABLE] = str(os.getpid())
