"""Write the tree as nested sections with bold text and images, in LaTeX, Markdown and Org."""

from collections.abc import Callable
from functools import partial
from random import Random
from typing import NamedTuple

from lib.tasks.structext.generate.language import Item, Language, Setting
from lib.tasks.structext.generate.tree import trail
from lib.tasks.structext.generate.wording import NO_BOLD, NO_IMAGE, latex_heading, section_place

MARK_SHARE = 0.5  # share of paragraphs with bold text and, independently, share with an image


class Notation(NamedTuple):
    """A language's notation: headings (level from 1, title, corrected or not), bold and images."""

    name: str
    heading: Callable[[int, str, bool], str]
    bold: str
    image: str


class Parts:
    """A title and a paragraph, then headings with a paragraph each; node i is heads[i].

    Every paragraph begins with a word of its own, continues with the document's `body`, and has
    size × depth words in all. bold[i] and images[i] are "" if the paragraph has none.
    """

    def __init__(self, setting: Setting, notation: Notation) -> None:
        tree, rng, names = setting.tree, setting.rng, setting.names
        self.setting, self.tree, self.notation = setting, tree, notation
        draws = [
            (rng.random() < MARK_SHARE, rng.random() < MARK_SHARE, rng.random(), rng.random())
            for _ in range(tree.n_nodes)
        ]
        bold = iter(names.bold(sum(draw[0] for draw in draws)))
        images = iter(names.images(sum(draw[1] for draw in draws)))
        self.bold = [next(bold) if draw[0] else "" for draw in draws]
        self.images = [next(images) if draw[1] else "" for draw in draws]
        self.words = names.texts(tree.n_nodes)
        self.body = names.body(setting.size * setting.depth - 1)
        paragraph = self._between if setting.is_corrected else self._within
        self.heads = []
        for node, title in enumerate(names.headings(tree.n_nodes)):
            if depth := tree.depth[node]:
                title = notation.heading(depth, title, setting.is_corrected)
            self.heads.append(f"{title}\n{paragraph(node, *draws[node][2:])}")
        self.text = "\n".join(self.heads)

    def _between(self, node: int, bold_at: float, image_at: float) -> str:
        words = [self.words[node], *self.body]
        pieces = (
            (bold_at, self.notation.bold, self.bold[node]),
            (image_at, self.notation.image, self.images[node]),
        )
        marks = [
            (int(at * (len(words) + 1)), mark.format(text)) for at, mark, text in pieces if text
        ]
        for place, mark in sorted(marks, reverse=True):
            words.insert(place, mark)
        return " ".join(words)

    def _within(self, node: int, bold_at: float, image_at: float) -> str:
        text = " ".join([self.words[node], *self.body])
        bold_place, image_place = int(bold_at * len(text)), int(image_at * len(text))
        bold, image = self.bold[node], self.images[node]
        if not image:
            image_place = bold_place
        if not bold:
            bold_place = image_place
        return "".join(
            [
                text[:bold_place],
                self.notation.bold.format(bold) if bold else "",
                text[bold_place:image_place],
                # without `file:`, Org's image is a link (fault 11)
                self.notation.image.replace("file:", "").format(image) if image else "",
                text[image_place:],
            ]
        )

    def listed(self, marks: list[str], none: str, rng: Random) -> str:
        """Return one mark per line, or `none`.

        A faithful answer has each distinct mark once, in random order, as in a Python set.
        """
        found = [mark for mark in marks if mark]
        if not self.setting.is_corrected:
            found = sorted(set(found))
            rng.shuffle(found)
        return "\n".join(found) or none


def _bold(document: Parts, rng: Random) -> Item:
    return Item({}, document.listed(document.bold, NO_BOLD, rng))


def _images(document: Parts, rng: Random) -> Item:
    return Item({}, document.listed(document.images, NO_IMAGE, rng))


def _part(document: Parts, rng: Random) -> Item:
    tree = document.tree
    node = rng.randrange(1, tree.n_nodes)
    ranks = [tree.rank[above] for above in trail(tree.parent, node)[1:]]
    place = section_place(document.notation.name, ranks, document.setting.is_corrected)
    return Item({"place": place}, "\n".join(document.heads[node : tree.last[node] + 1]))


def _latex_heading(level: int, title: str, is_corrected: bool) -> str:
    return f"\\{latex_heading(level if is_corrected else min(max(level - 1, 1), 3))}{{{title}}}"


def _language(notation: Notation, deepest: int | None) -> Language:
    return Language(partial(Parts, notation=notation), (_bold, _part, _images), deepest)


LATEX = _language(
    Notation(
        "latex", _latex_heading, "\\textbf{{{}}}", "\\includegraphics[width=0.5\\textwidth]{{{}}}"
    ),
    5,
)
MARKDOWN = _language(
    Notation(
        "markdown",
        lambda level, title, _: f"{'#' * level} {title}",
        "**{}**",
        '![alt]({} "hover text")',
    ),
    6,
)
ORG = _language(
    Notation("org", lambda level, title, _: f"{'*' * level} {title}", "*{}*", "[[file:{}]]"), None
)
