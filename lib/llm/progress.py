"""Show a stage's calls in one progress bar: in place in a terminal or notebook, lines in a log."""

import sys
import time
from typing import TextIO

from tqdm import tqdm

from lib.llm.calls import Calls, dollars

SECONDS_BETWEEN_LINES = 15.0  # lines in a log


class _Lines:
    """A log in which each state of the bar is a separate line."""

    def __init__(self, file: TextIO) -> None:
        self.file = file
        self.flush = file.flush

    def write(self, text: str) -> None:
        if text.strip():
            self.file.write(text.strip() + "\n")


class Progress:
    """A `bar` of decided calls, with tokens, dollars, failures and concurrent calls."""

    def __init__(self, calls: Calls, model: str, n_calls: int) -> None:
        in_place = sys.stderr.isatty() or "ipykernel" in sys.modules
        self.calls, self.next = calls, 0.0  # when to show a state again, on the monotonic clock
        self.bar = tqdm(total=n_calls, desc=model, unit="call", miniters=1, smoothing=0.1,
                        file=sys.stderr if in_place else _Lines(sys.stderr),
                        mininterval=0.5 if in_place else SECONDS_BETWEEN_LINES,
                        dynamic_ncols=sys.stderr.isatty())

    def step(self, n_at_once: int) -> None:
        """Count one more decided call; `n_at_once` calls may be in flight at present."""
        self._write(f"{n_at_once} at once")
        self.bar.update()

    def show(self, n_decided: int, state: str) -> None:
        """Show that `n_decided` calls are decided, and the `state` of the others."""
        self.bar.n = n_decided
        self._write(state)
        if time.monotonic() >= self.next:
            self.next = time.monotonic() + self.bar.mininterval
            self.bar.refresh()

    def _write(self, state: str) -> None:
        tally = self.calls.tally
        tokens = tally.prompt_tokens + tally.completion_tokens
        self.bar.set_postfix_str(f"{tokens:,} tokens, {dollars(tally.usd)}, {tally.failed} failed, "
                                 f"{state}", refresh=False)

    def close(self) -> None:
        """Close the bar; its last state remains visible."""
        self.bar.close()
