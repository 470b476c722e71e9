"""An event loop whose clock jumps to the next timer, so that hours of waiting take no time."""

import asyncio
import selectors
from collections.abc import Coroutine


class _Jumping(selectors.DefaultSelector):
    """Waits for no file: moves the loop's clock instead."""

    now = 0.0

    def select(self, timeout: float | None = None) -> list:
        ready = super().select(0)
        if not ready and timeout:
            self.now += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """`time()` is virtual, in seconds."""

    def __init__(self) -> None:
        self.selector = _Jumping()
        super().__init__(self.selector)

    def time(self) -> float:
        return self.selector.now


def seconds_of(main: Coroutine) -> float:
    """Run a coroutine; return the virtual seconds that it took."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        runner.run(main)
        return runner.get_loop().time()
