"""The tree as a document with parts below parts, in LaTeX, Markdown and Org, with bold texts and images."""

from collections.abc import Callable
from functools import partial
from random import Random
from typing import NamedTuple

from lib.structext.generate.language import Asked, Language, Setting
from lib.structext.generate.wording import NO_BOLD, NO_IMAGE, latex_heading, section_place

MARK_SHARE = 0.5  # of the paragraphs have a bold text, and as many an image


class Notation(NamedTuple):
    """How a language writes a heading (of a level from 1, corrected or not), a bold text and an image."""

    name: str
    heading: Callable[[int, str, bool], str]
    bold: str
    image: str


class Parts:
    """A title and a paragraph, then headings with a paragraph each: node i stands at heads[i].

    Every paragraph begins with a word of its own and goes on with the document's `body`, size × depth words together.
    bold[i] and images[i] are "" where the paragraph has none.
    """

    def __init__(self, setting: Setting, notation: Notation) -> None:
        tree, rng, names = setting.tree, setting.rng, setting.names
        self.setting, self.tree, self.notation = setting, tree, notation
        n_words = setting.size * setting.depth
        draws = [(rng.random() < MARK_SHARE, rng.random() < MARK_SHARE, rng.random(), rng.random())
                 for _ in range(tree.n_nodes)]
        bold = iter(names.bold(sum(draw[0] for draw in draws)))
        images = iter(names.images(sum(draw[1] for draw in draws)))
        self.bold = [next(bold) if draw[0] else "" for draw in draws]
        self.images = [next(images) if draw[1] else "" for draw in draws]
        self.words, self.body = names.texts(tree.n_nodes), names.body(n_words - 1)
        paragraph = self._between if setting.is_corrected else self._within
        paragraphs = [paragraph(node, draw[2], draw[3]) for node, draw in enumerate(draws)]
        self.heads = [
            f"{notation.heading(depth, title, setting.is_corrected) if depth else title}\n{text}"
            for title, depth, text in zip(names.headings(tree.n_nodes), tree.depth, paragraphs, strict=True)]
        self.text = "\n".join(self.heads)

    def _between(self, node: int, bold_at: float, image_at: float) -> str:
        """A paragraph with bold text and image as words of their own."""
        words = [self.words[node], *self.body]
        marks = [(int(at * (len(words) + 1)), mark.format(what)) for at, mark, what in (
            (bold_at, self.notation.bold, self.bold[node]), (image_at, self.notation.image, self.images[node])) if what]
        for place, mark in sorted(marks, reverse=True):
            words.insert(place, mark)
        return " ".join(words)

    def _within(self, node: int, bold_at: float, image_at: float) -> str:
        """A paragraph with marks at any character; text between them stands twice if the image's place comes first."""
        text = " ".join([self.words[node], *self.body])
        cut, resumed = int(bold_at * len(text)), int(image_at * len(text))
        bold, image = self.bold[node], self.images[node]
        if not image:
            resumed = cut
        if not bold:
            cut = resumed
        return (text[:cut] + (self.notation.bold.format(bold) if bold else "") + text[cut:resumed]
                + (self.notation.image.format(image) if image else "") + text[resumed:])

    def listed(self, marks: list[str], none: str, rng: Random) -> str:
        """One mark a line, or `none`. Faithful: each different one once, in no order, as a set of Python has them."""
        found = [mark for mark in marks if mark]
        if not self.setting.is_corrected:
            found = sorted(set(found))
            rng.shuffle(found)
        return "\n".join(found) or none


def _bold(document: Parts, rng: Random) -> Asked:
    return Asked({}, document.listed(document.bold, NO_BOLD, rng))


def _images(document: Parts, rng: Random) -> Asked:
    return Asked({}, document.listed(document.images, NO_IMAGE, rng))


def _part(document: Parts, rng: Random) -> Asked:
    tree = document.tree
    node = rng.randrange(1, tree.n_nodes)
    ranks = [tree.rank[above] for above in tree.trail(node)[1:]]
    return Asked({"place": section_place(document.notation.name, ranks, document.setting.is_corrected)},
                 "\n".join(document.heads[node:tree.last[node] + 1]))


def _latex_heading(level: int, title: str, is_corrected: bool) -> str:
    """Faithful: levels 1 and 2 share \\section, and the lower ones are one too high."""
    return f"\\{latex_heading(level if is_corrected else min(max(level - 1, 1), 3))}{{{title}}}"


def _language(notation: Notation, deepest: int | None) -> Language:
    return Language(partial(Parts, notation=notation), (_bold, _part, _images), deepest)


LATEX = _language(Notation("latex", _latex_heading,
                           "\\textbf{{{}}}", "\\includegraphics[width=0.5\\textwidth]{{{}}}"), 5)
MARKDOWN = _language(Notation("markdown", lambda level, title, _: f"{'#' * level} {title}",
                              "**{}**", '![alt]({} "hover text")'), 6)
ORG = _language(Notation("org", lambda level, title, _: f"{'*' * level} {title}", "*{}*", "[[{}]]"), None)
