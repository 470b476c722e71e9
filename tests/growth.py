"""Measure how work grows without a clock: count its calls, and end what does not end."""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager


def calls(work: Callable, *arguments) -> int:
    """Count the functions, of Python and of C, that one piece of work calls."""
    count = 0

    def one_more(_frame, event: str, _argument) -> None:
        nonlocal count
        count += event in ("call", "c_call")

    sys.setprofile(one_more)
    try:
        work(*arguments)
    finally:
        sys.setprofile(None)
    return count


@contextmanager
def ends(seconds: int = 60) -> Iterator[None]:
    """Fail on work that does not end, such as a regular expression that tries every split.

    Inputs are made so long that linear work takes well under a second and quadratic work takes
    minutes: a busy machine does not fail it.
    """

    def fail(*_) -> None:
        raise TimeoutError(f"did not end in {seconds} s")

    signal.signal(signal.SIGALRM, fail)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
