"""A language of StrucText-Eval in the generator: a writer of texts, and one finder per task."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple

from lib.structext.generate.naming import Letters, Words
from lib.structext.generate.tree import Layout

ERROR_SHARE = 0.8  # of the nodes of a text with structural errors, drawn independently


class Setting(NamedTuple):
    """The input of a writer of texts. `tree` and `rng` decide the structure, `names` fill it."""

    tree: Layout
    depth: int
    size: int  # attributes of a node and words of a paragraph, both times depth
    is_corrected: bool
    rng: Random
    names: Letters | Words
    number: int  # of the sample among those of its kind; labels are balanced over odd and even ones


class Item(NamedTuple):
    """A question's slots, its answer, and the text if it is not the document's own."""

    slots: dict[str, object]
    answer: str
    text: str | None = None


@dataclass(frozen=True)
class Language:
    """A plug-in. `write` makes a document with a field `text`; finders[i] serves task i."""

    write: Callable[[Setting], Any]
    finders: tuple[Callable[[Any, Random], Item], ...]
    deepest: int | None = None  # the most levels below the root for which it has headings


def broken_nodes(setting: Setting, rng: Random) -> set[int]:
    """Draw the nodes that get a structural error; none in every second corrected sample.

    Each node has one with probability ERROR_SHARE, so a faithful text is hardly ever intact: 129
    of 132 official ones have the label True. A corrected text with errors has at least one.
    """
    if setting.is_corrected and setting.number % 2 == 0:
        return set()
    n_nodes = setting.tree.n_nodes
    broken = {node for node in range(n_nodes) if rng.random() < ERROR_SHARE}
    return broken or ({rng.randrange(n_nodes)} if setting.is_corrected else broken)
