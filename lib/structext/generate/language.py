"""What a language of StrucText-Eval is to the generator: a way to write a text, and a finder for each of its tasks."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple

from lib.structext.generate.naming import Letters, Words
from lib.structext.generate.tree import Layout

ERROR_SHARE = 0.8  # of the nodes of a text with structural errors, each for itself


class Setting(NamedTuple):
    """What a text is written from. Only `rng` shapes it; `names` fill it."""

    tree: Layout
    depth: int
    size: int  # attributes of a node and words of a paragraph, both times depth
    is_corrected: bool
    rng: Random
    names: Letters | Words
    number: int  # of the sample among those of its kind; odd and even ones take turns where labels are balanced


class Asked(NamedTuple):
    """A question's slots, the answer, and the text where it is not the document's own."""

    slots: dict[str, object]
    answer: str
    text: str | None = None


@dataclass(frozen=True)
class Language:
    """A plug-in. `write` makes a document with a field `text`; finders[i] asks the task `<language>.i` about it."""

    write: Callable[[Setting], Any]
    finders: tuple[Callable[[Any, Random], Asked], ...]
    deepest: int | None = None  # the most levels below the root that its notation has words for


def broken_nodes(setting: Setting, rng: Random) -> set[int]:
    """The nodes that get a structural error; none in every second corrected sample.

    Each node has one with probability ERROR_SHARE, so a faithful text is hardly ever whole: 129 of 132 official ones
    have the label True. A corrected text that shall have an error has at least one.
    """
    if setting.is_corrected and setting.number % 2 == 0:
        return set()
    n_nodes = setting.tree.n_nodes
    broken = {node for node in range(n_nodes) if rng.random() < ERROR_SHARE}
    return broken or ({rng.randrange(n_nodes)} if setting.is_corrected else broken)
