"""Writers of texts in eight languages over an abstract tree, and finders of the tasks' answers."""

import re
from collections.abc import Collection, Iterable
from functools import lru_cache
from itertools import chain, islice, pairwise, product
from random import Random
from typing import NamedTuple

import pandas as pd

from lib.structext.names import COLORS, MEN, NO_BOLD, NO_IMAGE, WOMEN, Names

MOST_LEAVES = 2_000_000  # about 2 GB of text; a larger request is taken for a typing error
Node = tuple[int, ...]  # positions among siblings, from 0, on the way down from the root


@lru_cache(maxsize=32)
def layout(depth: int, width: float) -> list[Node]:
    """Return the tree with `depth` levels below the root and int(depth × width) children per node.

    Nodes are in pre-order. Raises ValueError if a node would have no child, or the tree more than
    MOST_LEAVES.
    """
    branching = int(depth * width)
    if min(depth, branching) < 1 or min(branching, MOST_LEAVES + 1) ** min(depth, 21) > MOST_LEAVES:
        raise ValueError(
            f"depth {depth}, width {width}: a tree needs a level and a child (1, 1 is a root and a "
            f"leaf), and at most {MOST_LEAVES:,} leaves; give other dials"
        )
    levels = (product(range(branching), repeat=level) for level in range(depth + 1))
    return sorted(chain.from_iterable(levels))


class Setting(NamedTuple):
    """The input of a writer of texts. `tree` and `rng` decide the structure, `names` fill it."""

    tree: list[Node]
    depth: int
    most: int  # attributes of a node, words of a paragraph
    is_corrected: bool
    rng: Random
    names: Names
    number: int  # the sample's number within its kind; its remainders balance the labels
    is_june: bool  # XML as in June 2024, where a tag may have no attribute

    @property
    def leaves(self) -> list[Node]:
        """Nodes without children, in order."""
        return [path for path in self.tree if len(path) == self.depth]


class Item(NamedTuple):
    """A question's slots, its answer, and its text if that differs from the document's."""

    slots: dict[str, object]
    answer: str
    text: str | None = None


ERROR_SHARE = 0.8  # probability of an error at each node of a text with structural errors
BIO = ("primeKey", "gender", "age", "name", "height", "weight", "color")
WORK = ("primeKey", "status", "salary", "company", "location")
GENDERS, STATUSES = ("female", "male"), ("employed", "retired", "unemployed")
HEIGHT_LIMITS = range(150, 181)  # cm, asked about in questions; heights are 120-220
SALARIES = range(1000, 1_000_001)
MOST_ADDED = 2  # nodes in the chain below a leaf of a corrected tree
N_STARTS = 676  # first names of corrected trees; 26 make too few different texts of two nodes
MARK_SHARE = 0.5  # share of paragraphs with bold text and, independently, share with an image
LATEX_HEADINGS = ("section", "subsection", "subsubsection", "paragraph", "subparagraph")

Person = dict[str, str | int]


# --- CSV: two tables about people, joined by primeKey


class Tables:
    """`bio` and `work`, each with one row per person, in the same order."""

    def __init__(self, setting: Setting) -> None:
        names = setting.names
        self.setting, keys = setting, names.primary_keys(setting.depth)
        self.people = [_drawn(setting, key) for key in keys]
        if setting.is_corrected:
            _balance(self.people, setting.number)
        n_women = sum(one["gender"] == GENDERS[0] for one in self.people)
        women = iter(names.people(WOMEN, n_women))
        men = iter(names.people(MEN, len(keys) - n_women, n_women))
        for one in self.people:
            one["name"] = next(women if one["gender"] == GENDERS[0] else men)
        rows = pd.DataFrame(self.people)
        tables = (rows.to_csv(columns=each, index=False) for each in (BIO, WORK))
        self.text = "\n".join(tables).rstrip()


def _drawn(setting: Setting, key: str) -> Person:
    rng, names = setting.rng, setting.names
    return {
        "primeKey": key,
        "gender": rng.choice(GENDERS),
        "age": rng.randint(10, 70),
        "height": rng.randint(120, 220),
        "weight": rng.randint(70, 180),
        "color": rng.choice(COLORS),
        "status": rng.choice(STATUSES),
        "salary": rng.randint(SALARIES[0], SALARIES[-1]),
        "company": rng.choice(names.companies),
        "location": rng.choice(names.places),
    }


def _balance(people: list[Person], number: int) -> None:
    # nothing is drawn from the rows' generator, so all modes share the other columns
    women = set(Random(number).sample(range(len(people)), number % (len(people) + 1)))
    for place, one in enumerate(people):
        one["gender"] = GENDERS[place not in women]
        one["age"] = 18 + (one["age"] - 10) * 13 // 15  # 10-70 becomes 18-70
        if one["status"] == "retired" and one["age"] < 55:
            one["status"] = "employed"


def _limits(values: Iterable[int], span: range) -> dict[int, tuple[int, int]]:
    # n -> the least and greatest limit in `span` that n of `values` exceed, if there is one
    least, most = span[0], span[-1] + 1
    inside = (min(max(value, least), most) for value in sorted(values, reverse=True))
    pairs = enumerate(pairwise([most, *inside, least]))
    return {n: (below, above - 1) for n, (above, below) in pairs if below < above}


def _cell(document: Tables, rng: Random) -> Item:
    one, field = rng.choice(document.people), rng.choice(BIO[1:] + WORK[1:])
    return Item({"field": field, "key": one["primeKey"]}, str(one[field]))


def _paid_more(document: Tables, rng: Random) -> Item:
    limit = rng.randint(SALARIES[0], SALARIES[-1])
    salaries = [one["salary"] for one in document.people]
    if document.setting.is_corrected:
        limits = _limits(salaries, SALARIES)
        limit = rng.randint(*limits[rng.choice(sorted(limits))])
    return Item({"salary": limit}, str(sum(salary > limit for salary in salaries)))


def _of_gender(document: Tables, rng: Random) -> Item:
    gender = rng.choice(GENDERS)
    return Item({"gender": gender}, str(sum(one["gender"] == gender for one in document.people)))


def _join(document: Tables, rng: Random) -> Item:
    heights = {  # in this order, so that draws depend on no name
        place: [one["height"] for one in document.people if one["location"] == place]
        for place in document.setting.names.places
    }
    if not document.setting.is_corrected:
        place, limit = rng.choice([*heights]), rng.choice(HEIGHT_LIMITS)
        answer = sum(height > limit for height in heights[place])
        return Item({"place": place, "height": limit}, str(answer))
    choices = {}  # answer -> place, least and greatest limit
    for place in filter(heights.get, heights):
        for answer, limits in _limits(heights[place], HEIGHT_LIMITS).items():
            choices.setdefault(answer, []).append((place, *limits))
    answer = rng.choice(sorted(choices))
    place, low, high = rng.choice(choices[answer])
    return Item({"place": place, "height": rng.randint(low, high)}, str(answer))


# --- Tree: one edge per line


class Edges:
    """Lines `father->child`, ordered by the child in pre-order; a node's name is ids[path].

    A corrected tree has a chain of 0 to MOST_ADDED more nodes below one of its leaves, so that the
    dial `depth` does not give its height away.
    """

    def __init__(self, setting: Setting) -> None:
        tree, self.is_corrected, n_starts = setting.tree, setting.is_corrected, 26
        if self.is_corrected:
            leaf, n_starts = setting.rng.choice(setting.leaves), N_STARTS
            more = range(1, setting.number % (MOST_ADDED + 1) + 1)
            tree = sorted([*tree, *(leaf + (0,) * below for below in more)])
        self.ids = dict(zip(tree, setting.names.ids(len(tree), n_starts), strict=True))
        self.text = "\n".join(f"{self.ids[path[:-1]]}->{self.ids[path]}" for path in tree[1:])


def _depth(document: Edges, rng: Random) -> Item:
    path = rng.choice([*document.ids])
    if document.is_corrected:
        wanted = rng.randint(0, max(map(len, document.ids)))
        path = rng.choice([path for path in document.ids if len(path) == wanted])
    return Item({"id": document.ids[path]}, str(len(path)))


def _node_path(document: Edges, rng: Random) -> Item:
    path = rng.choice([*document.ids])
    nodes = [document.ids[path[:level]] for level in range(len(path) + 1)]
    return Item({"id": nodes[-1]}, "->".join(nodes))


# --- JSON, YAML and XML: nested objects and tags


class Form(NamedTuple):
    """Patterns of a node; `line` is a line break and the node's indentation."""

    indent: str  # a level's
    pair: str  # an attribute
    start: str  # `dash` is `line`, whose last two blanks are a dash below the root
    joint: str  # between nodes
    inside: tuple[str, str]  # of a leaf, of another node
    ends: tuple[str, str]  # intact, with a structural error
    before: str = ""  # the first node


JSON = Form(
    " ",
    '{line}"{key}":"{value}",',
    '{line}{{{line}"id":"{id}",{pairs}{line}"subs":[',
    ",",
    ("]", "{below}{line}]"),
    ("{line}}}", ""),
)
# quoted where corrected: bare NO is a boolean in YAML 1.1, and a comma is data
YAML = Form(
    "  ",
    '{line}"{key}": "{value}"',
    '{dash}id: "{id}"{pairs}{line}subs:',
    "",
    (" []", "{below}"),
    ("", "{line}:{flaw}"),
)
FAITHFUL_YAML = YAML._replace(pair="{line}{key}: {value},", inside=(" []", " {below}"))
XML = Form(
    " ",
    ' {key}="{value}"',
    "{line}<{id}{pairs}>",
    "",
    ("{line} {word}", "{below}{line} {word}"),
    ("{line}</{id}>", ""),
    '<?xml version="1.0" encoding="UTF-8"?>',
)


class Nested:
    """Nested nodes with ids and `attributes`, each with its node, key and value.

    A node has 1 to `most` of them, in June 2024 also none. No value of a corrected text is an
    object's id. Faithful tags and words count from the first letter, so few answer most questions.
    """

    def __init__(self, setting: Setting, form: Form) -> None:
        names, tree, n_nodes = setting.names, setting.tree, len(setting.tree)
        self.setting, self.form = setting, form
        start = None if setting.is_corrected else 0
        ids = names.tags(n_nodes, start) if form is XML else names.ids(n_nodes)
        self.ids = dict(zip(tree, ids, strict=True))
        self.words = dict(zip(tree, names.texts(n_nodes, start), strict=True))
        counts = setting.rng.choices(range(not setting.is_june, setting.most + 1), k=n_nodes)
        if not any(counts):
            counts[0] = 1  # one question needs an attribute in the text
        avoided = ids if setting.is_corrected and form is not XML else ()
        pairs = iter(names.attributes(sum(counts), avoided))
        self.pairs = {
            path: [*islice(pairs, count)] for path, count in zip(tree, counts, strict=True)
        }
        self.attributes = [(path, *pair) for path, pairs in self.pairs.items() for pair in pairs]
        self.text = self.broken(())

    def broken(self, nodes: Collection[Node]) -> str:
        """Return the text with a structural error in each of `nodes`."""
        self.flaws = iter(self.setting.names.flaws(len(nodes)))
        return (self.form.before + self.written((), nodes)).removeprefix("\n")

    def written(self, path: Node, broken: Collection[Node]) -> str:
        """Return a node with all below it."""
        form, line = self.form, "\n" + self.form.indent * len(path)
        ranks = range(self.setting.tree[-1][0] + 1) if len(path) < self.setting.depth else ()
        below = form.joint.join(self.written((*path, rank), broken) for rank in ranks)
        pairs = [form.pair.format(line=line, key=one, value=two) for one, two in self.pairs[path]]
        pattern = form.start + form.inside[bool(below)] + form.ends[path in broken]
        return pattern.format(
            line=line,
            dash=f"{line[:-2]}- " if path else line,
            id=self.ids[path],
            pairs="".join(pairs),
            below=below,
            word=self.words[path],
            flaw=next(self.flaws) if path in broken else "",
        )

    def excerpt(self, path: Node) -> str:
        """Return an object, or a tag's content, as in the text, without whitespace around it.

        A faithful answer is re-indented as if outermost, and in YAML has no dash.
        """
        text = re.sub(r"\A\s*<[^>]*>|</[^>]*>\Z", "", self.written(path, ())).strip()
        if self.setting.is_corrected:
            return text
        return text.removeprefix("- ").replace("\n" + self.form.indent * len(path), "\n")


def _excerpt(document: Nested, rng: Random) -> Item:
    path = rng.choice(document.setting.tree)
    return Item({"id": document.ids[path]}, document.excerpt(path))


def _syntax(document: Nested, rng: Random) -> Item:
    # Each node has an error with probability ERROR_SHARE, so a faithful text is hardly ever intact:
    # 129 of 132 official texts have the label True. Every second corrected text is intact.
    setting = document.setting
    if setting.is_corrected and setting.number % 2 == 0:
        return Item({}, "False")
    broken = {path for path in setting.tree if rng.random() < ERROR_SHARE}
    if setting.is_corrected and not broken:
        broken = {rng.choice(setting.tree)}
    return Item({}, str(bool(broken)), document.broken(broken))


def _path(document: Nested, rng: Random) -> Item:
    path, key, value = rng.choice(document.attributes)
    steps = "".join(f'["subs"][{rank}]' for rank in path)
    return Item({"value": value}, f'obj{steps}["{key}"]')


def _tag(document: Nested, rng: Random) -> Item:
    path, _, value = rng.choice(document.attributes)
    return Item({"value": value}, document.ids[path])


# --- LaTeX, Markdown and Org: nested sections with bold text and images


class Parts:
    """A title and a paragraph, then headings with a paragraph each: heads[path].

    Every paragraph begins with a word of its own, continues with the document's `body`, and has
    `most` words in all. `marks` has its bold text and its image; "" if it has none.
    """

    def __init__(self, setting: Setting, mark: str, *patterns: str) -> None:
        names, n_nodes = setting.names, len(setting.tree)
        self.setting, self.mark, self.marks, self.heads = setting, mark, [], {}
        texts = iter(names.bold(n_nodes)), iter(names.images(n_nodes))
        body, titles = names.body(setting.most - 1), names.headings(n_nodes)
        for path, title, word in zip(setting.tree, titles, names.texts(n_nodes), strict=True):
            *drawn, first, second = (setting.rng.random() for _ in range(4))
            marks = [
                next(text) if share < MARK_SHARE else ""
                for text, share in zip(texts, drawn, strict=True)
            ]
            self.marks.append(marks)
            marked = [text and one.format(text) for one, text in zip(patterns, marks, strict=True)]
            paragraph = self._paragraph([word, *body], marked, [first, second])
            self.heads[path] = f"{self._heading(len(path), title)}\n{paragraph}"
        self.text = "\n".join(self.heads.values())

    def _heading(self, level: int, title: str) -> str:
        if self.mark or not level:
            return f"{self.mark * level} {title}".lstrip()
        place = level if self.setting.is_corrected else min(max(level - 1, 1), 3)  # fault 1
        return f"\\{LATEX_HEADINGS[place - 1]}{{{title}}}"

    def _paragraph(self, words: list[str], marks: list[str], at: list[float]) -> str:
        if self.setting.is_corrected:
            pairs = zip(at, marks, strict=True)
            places = [(int(place * (len(words) + 1)), mark) for place, mark in pairs if mark]
            for place, mark in sorted(places, reverse=True):
                words.insert(place, mark)
            return " ".join(words)
        text, (bold, image) = " ".join(words), marks
        first, second = (int(place * len(text)) for place in at)
        second = second if image else first
        first = first if bold else second
        image = image.replace("file:", "")  # without it, Org's image is a link (fault 11)
        return f"{text[:first]}{bold}{text[first:second]}{image}{text[second:]}"

    def listed(self, kind: int, none: str, rng: Random) -> str:
        """Return one mark of a kind per line, or `none`.

        A faithful answer has each distinct mark once, in random order, as in a Python set.
        """
        found = [marks[kind] for marks in self.marks if marks[kind]]
        if not self.setting.is_corrected:
            found = sorted(set(found))
            rng.shuffle(found)
        return "\n".join(found) or none


def _part(document: Parts, rng: Random) -> Item:
    path, is_corrected = rng.choice(document.setting.tree[1:]), document.setting.is_corrected
    steps = []
    for level, number in enumerate((rank + 1 for rank in path), 1):
        if is_corrected and not document.mark:
            steps.append(f"\\{LATEX_HEADINGS[level - 1]} number {number}")
        elif is_corrected:
            steps.append(f"heading number {number} of level {level}")
        elif level < 4:  # faithful questions name at most three levels
            steps.append(f"{number}th {'sub' * (level - 1)}section")
    parts = [head for one, head in document.heads.items() if one[: len(path)] == path]
    return Item({"place": " under ".join(steps[::-1])}, "\n".join(parts))


def _document(mark: str, *patterns: str) -> tuple:
    return lambda setting: Parts(setting, mark, *patterns), (
        lambda document, rng: Item({}, document.listed(0, NO_BOLD, rng)),
        _part,
        lambda document, rng: Item({}, document.listed(1, NO_IMAGE, rng)),
    )


_OBJECTS = (
    _excerpt,
    lambda document, rng: Item({}, document.ids[(0,)]),  # the root's first child
    _syntax,
    _path,
    lambda document, rng: Item({}, "\n\n".join(map(document.excerpt, document.setting.leaves))),
)
# To add a language, add a line here, tasks in names, and questions and hints in questions.yaml.
PLUG_INS = {  # language -> writer of a document with a field `text`, finders of its tasks' items
    "csv": (Tables, (_cell, _paid_more, _of_gender, _join)),
    "tree": (Edges, (lambda tree, rng: Item({}, str(max(map(len, tree.ids)))), _depth, _node_path)),
    "json": (lambda setting: Nested(setting, JSON), _OBJECTS),
    "yaml": (
        lambda setting: Nested(setting, YAML if setting.is_corrected else FAITHFUL_YAML),
        _OBJECTS,
    ),
    "xml": (lambda setting: Nested(setting, XML), (_excerpt, _tag, _syntax)),
    "latex": _document("", "\\textbf{{{}}}", "\\includegraphics[width=0.5\\textwidth]{{{}}}"),
    "markdown": _document("#", "**{}**", '![alt]({} "hover text")'),
    "org": _document("*", "*{}*", "[[file:{}]]"),
}
