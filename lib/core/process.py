"""Terminate a process when its parent exits, so that a killed study leaves no writer behind."""

import ctypes
import os
import signal
import sys

VARIABLE = "STUDY_PARENT"  # the id of the process that its children must not outlive

_PR_SET_PDEATHSIG = 1


def die_with_parent(variable: str = VARIABLE) -> None:
    """Ask the system to kill this process when its parent ends; exit now if it already has.

    The environment `variable` holds the parent's id. If it is not set (a shell started this
    process), nothing happens. Outside Linux, only a parent that has already ended is noticed, but
    a notebook's kernel watches its parent by itself.
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
