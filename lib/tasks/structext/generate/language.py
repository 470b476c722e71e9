"""Define a language of the generator: a writer of texts, and a finder of answers per task."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple

from lib.tasks.structext.generate.naming import Letters, Words
from lib.tasks.structext.generate.tree import Layout

ERROR_SHARE = 0.8  # probability of an error at each node of a text with structural errors


class Setting(NamedTuple):
    """The input of a writer of texts. `tree` and `rng` decide the structure, `names` fill it."""

    tree: Layout
    depth: int
    size: int  # attributes of a node, words of a paragraph; both are multiplied by depth
    is_corrected: bool
    rng: Random
    names: Letters | Words
    number: int  # the sample's number within its kind; its remainders balance the labels
    is_june: bool = False  # XML as in June 2024 (v1), where a tag may have no attribute


class Item(NamedTuple):
    """A question's slots, its answer, and its text if that differs from the document's."""

    slots: dict[str, object]
    answer: str
    text: str | None = None


@dataclass(frozen=True)
class Language:
    """A plug-in. `write` makes a document with a field `text`; finders[i] answers task i."""

    write: Callable[[Setting], Any]
    finders: tuple[Callable[[Any, Random], Item], ...]
    deepest: int | None = None  # levels below the root that it has headings for


def broken_nodes(setting: Setting, rng: Random) -> set[int]:
    """Draw the nodes that get a structural error; every second corrected sample has none.

    Each node has an error with probability ERROR_SHARE, so a faithful text is hardly ever intact:
    129 of 132 official texts have the label True. Other corrected texts have at least one error.
    """
    if setting.is_corrected and setting.number % 2 == 0:
        return set()
    n_nodes = setting.tree.n_nodes
    broken = {node for node in range(n_nodes) if rng.random() < ERROR_SHARE}
    return broken or ({rng.randrange(n_nodes)} if setting.is_corrected else broken)


def limits_by_answer(
    values: Iterable[int], lowest: int, highest: int
) -> dict[int, tuple[int, int]]:
    """Return n -> the least and greatest limit that n of `values` exceed, if there is one."""
    greatest = [highest + 1, *sorted(values, reverse=True), lowest]
    limits = {}
    for n in range(len(greatest) - 1):
        # The limit is below the n-th greatest value and not below the next one.
        low, high = max(greatest[n + 1], lowest), min(greatest[n] - 1, highest)
        if low <= high:
            limits[n] = low, high
    return limits
