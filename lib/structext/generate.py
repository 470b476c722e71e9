"""Writers of texts in eight languages over an abstract tree, and finders of the tasks' answers."""

from collections.abc import Collection, Iterable
from functools import lru_cache
from itertools import islice, pairwise
from random import Random
from typing import NamedTuple

import pandas as pd

from lib.structext.names import COLORS, MEN, NO_BOLD, NO_IMAGE, WOMEN, Names

MOST_LEAVES = 2_000_000  # about 2 GB of text; a larger request is taken for a typing error


class Layout(NamedTuple):
    """A complete tree in pre-order; each list has one entry per node, the root first."""

    parent: list[int]  # the root's is -1
    depth: list[int]  # edges from the root
    rank: list[int]  # position among its siblings, from 0
    last: list[int]  # the last node of its subtree
    children: list[list[int]]

    @property
    def leaves(self) -> list[int]:
        """Nodes without children, in order."""
        return [node for node, below in enumerate(self.children) if not below]


def trail(parent: list[int], node: int) -> list[int]:
    """Return the nodes from the root to `node`, both included, by each node's parent."""
    return [*trail(parent, parent[node]), node] if node >= 0 else []


@lru_cache(maxsize=32)
def layout(depth: int, width: float) -> Layout:
    """Return the tree with `depth` levels below the root and int(depth × width) children per node.

    Raises ValueError if a node would have no child, or the tree more than MOST_LEAVES.
    """
    branching = int(depth * width)
    if min(depth, branching) < 1 or min(branching, MOST_LEAVES + 1) ** min(depth, 21) > MOST_LEAVES:
        raise ValueError(
            f"depth {depth}, width {width}: a tree needs a level and a child (1, 1 is a root and a "
            f"leaf), and at most {MOST_LEAVES:,} leaves; give other dials"
        )
    tree = Layout([], [], [], [], [])

    def grow(parent: int, level: int, rank: int) -> int:
        node = len(tree.parent)
        for column, value in zip(tree, (parent, level, rank, node, []), strict=True):
            column.append(value)
        for place in range(branching if level < depth else 0):
            tree.children[node].append(grow(node, level + 1, place))
        tree.last[node] = len(tree.parent) - 1
        return node

    grow(-1, 0, 0)
    return tree


class Setting(NamedTuple):
    """The input of a writer of texts. `tree` and `rng` decide the structure, `names` fill it."""

    tree: Layout
    depth: int
    most: int  # attributes of a node, words of a paragraph
    is_corrected: bool
    rng: Random
    names: Names
    number: int  # the sample's number within its kind; its remainders balance the labels
    is_june: bool = False  # XML as in June 2024, where a tag may have no attribute


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
        "company": names.companies[rng.randrange(7)],
        "location": names.places[rng.randrange(7)],
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
    greatest = [span[-1] + 1, *sorted(values, reverse=True), span[0]]
    limits = {}
    for n, (above, below) in enumerate(pairwise(greatest)):
        low, high = max(below, span[0]), min(above - 1, span[-1])
        if low <= high:
            limits[n] = low, high
    return limits


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
    heights: dict[str, list[int]] = {}
    for one in document.people:
        heights.setdefault(one["location"], []).append(one["height"])
    places = document.setting.names.places
    if not document.setting.is_corrected:
        place, limit = rng.choice(places), rng.choice(HEIGHT_LIMITS)
        answer = sum(height > limit for height in heights.get(place, ()))
        return Item({"place": place, "height": limit}, str(answer))
    choices: dict[int, list[tuple[str, int, int]]] = {}  # answer -> place, least and greatest limit
    for place in filter(heights.get, places):  # in this order, so that draws depend on no name
        for answer, limits in _limits(heights[place], HEIGHT_LIMITS).items():
            choices.setdefault(answer, []).append((place, *limits))
    answer = rng.choice(sorted(choices))
    place, low, high = rng.choice(choices[answer])
    return Item({"place": place, "height": rng.randint(low, high)}, str(answer))


# --- Tree: one edge per line


class Edges:
    """Lines `father->child`, ordered by the child in pre-order; node i is named ids[i].

    A corrected tree has a chain of 0 to MOST_ADDED more nodes below one of its leaves, so that the
    dial `depth` does not give its height away.
    """

    def __init__(self, setting: Setting) -> None:
        tree, self.is_corrected = setting.tree, setting.is_corrected
        self.parent, self.depth = [*tree.parent], [*tree.depth]
        n_starts = 26
        if self.is_corrected:
            leaf, n_starts = setting.rng.choice(tree.leaves), N_STARTS
            n, level = setting.number % (MOST_ADDED + 1), tree.depth[leaf]
            self.parent = [above + n if above > leaf else above for above in tree.parent]
            self.parent[leaf + 1 : leaf + 1] = range(leaf, leaf + n)
            self.depth[leaf + 1 : leaf + 1] = range(level + 1, level + n + 1)
        self.ids = setting.names.ids(len(self.parent), n_starts)
        fathers = [self.ids[above] for above in self.parent[1:]]
        self.text = "\n".join(map("->".join, zip(fathers, self.ids[1:], strict=True)))


def _depth(document: Edges, rng: Random) -> Item:
    node = rng.randrange(len(document.parent))
    if document.is_corrected:
        wanted = rng.randint(0, max(document.depth))
        node = rng.choice([node for node, depth in enumerate(document.depth) if depth == wanted])
    return Item({"id": document.ids[node]}, str(document.depth[node]))


def _node_path(document: Edges, rng: Random) -> Item:
    nodes = trail(document.parent, rng.randrange(len(document.parent)))
    return Item({"id": document.ids[nodes[-1]]}, "->".join(document.ids[node] for node in nodes))


# --- JSON, YAML and XML: nested objects and tags


class Nested:
    """Nested nodes: owners[i] is the node that has the attribute keys[i] with values[i].

    A node has 1 to `most` of them, in June 2024 also none. Subclasses write a node with all
    below it.
    """

    before = ""  # the text before the first node
    indent = " "

    def __init__(self, setting: Setting, avoided: Collection[str] = ()) -> None:
        self.setting, self.tree = setting, setting.tree
        span = range(not setting.is_june, setting.most + 1)
        counts = setting.rng.choices(span, k=len(self.tree.parent))
        if not any(counts):
            counts[0] = 1  # one question needs an attribute in the text
        self.owners = [node for node, count in enumerate(counts) for _ in range(count)]
        self.keys = setting.names.keys(len(self.owners))
        self.values = setting.names.values(len(self.owners), avoided)
        pairs = map(self.pair, self.keys, self.values)
        self.pairs = [[*islice(pairs, count)] for count in counts]
        self.text = self.broken(())

    def broken(self, nodes: Collection[int]) -> str:
        """Return the text with a structural error in each of `nodes`."""
        self.flaws = iter(self.setting.names.flaws(len(nodes)))
        return (self.before + self.written(0, nodes)).removeprefix("\n")

    def excerpt(self, node: int) -> str:
        """Return a node's content as it is in the text, without whitespace around it.

        A faithful answer is re-indented as if outermost, and in YAML has no dash.
        """
        text = self.inner(node, ()).strip()
        if self.setting.is_corrected:
            return text
        line = "\n" + self.indent * self.tree.depth[node]
        return text.removeprefix("- ").replace(line, "\n")

    def below(self, node: int, broken: Collection[int]) -> list[str]:
        """Return each child of a node as it is written."""
        return [self.written(child, broken) for child in self.tree.children[node]]


class Objects(Nested):
    """Objects with id, attributes and `subs`; in corrected texts no value is an object's id."""

    def __init__(self, setting: Setting) -> None:
        self.ids = setting.names.ids(len(setting.tree.parent))
        super().__init__(setting, set(self.ids) if setting.is_corrected else ())

    def inner(self, node: int, broken: Collection[int]) -> str:
        """Return what an excerpt of a node shows: all of it."""
        return self.written(node, broken)


class _Json(Objects):
    def pair(self, key: str, value: str) -> str:
        return f'"{key}":"{value}",'

    def written(self, node: int, broken: Collection[int]) -> str:
        line, below = "\n" + " " * self.tree.depth[node], self.below(node, broken)
        subs = f'"subs":[{",".join(below)}{line if below else ""}]'
        end = [] if node in broken else ["}"]
        return line.join(["", "{", f'"id":"{self.ids[node]}",', *self.pairs[node], subs, *end])


class _Yaml(Objects):
    indent = "  "

    def pair(self, key: str, value: str) -> str:
        # quoted where corrected: bare NO is a boolean in YAML 1.1, and a comma is data
        return f'"{key}": "{value}"' if self.setting.is_corrected else f"{key}: {value},"

    def written(self, node: int, broken: Collection[int]) -> str:
        depth, below = self.tree.depth[node], "".join(self.below(node, broken))
        line = "\n" + "  " * depth
        dash = f"{line[:-2]}- " if depth else line
        subs = ("" if self.setting.is_corrected else " ") + below if below else " []"
        flaw = [f":{next(self.flaws)}"] if node in broken else []
        return line.join(
            [f'{dash}id: "{self.ids[node]}"', *self.pairs[node], f"subs:{subs}", *flaw]
        )


class Tags(Nested):
    """Tags; each one's content ends with a word. In texts of June 2024 some have no attribute.

    Faithful tags and words count from the first letter, so few of them answer most questions.
    """

    before = '<?xml version="1.0" encoding="UTF-8"?>'

    def __init__(self, setting: Setting) -> None:
        names, n_nodes = setting.names, len(setting.tree.parent)
        start = None if setting.is_corrected else 0
        self.ids, self.words = names.tags(n_nodes, start), names.texts(n_nodes, start)
        super().__init__(setting)

    def pair(self, key: str, value: str) -> str:
        """Return an attribute as it is in a tag."""
        return f' {key}="{value}"'

    def written(self, node: int, broken: Collection[int]) -> str:
        """Return a tag with its content; the tags in `broken` have no end."""
        line, tag = "\n" + " " * self.tree.depth[node], self.ids[node]
        start = f"{line}<{tag}{''.join(self.pairs[node])}>"
        return start + self.inner(node, broken) + ("" if node in broken else f"{line}</{tag}>")

    def inner(self, node: int, broken: Collection[int]) -> str:
        """Return the content of a tag: the tags below it and a word."""
        line = "\n" + " " * self.tree.depth[node]
        return "".join([*self.below(node, broken), f"{line} {self.words[node]}"])


def _excerpt(document: Objects | Tags, rng: Random) -> Item:
    node = rng.randrange(len(document.ids))
    return Item({"id": document.ids[node]}, document.excerpt(node))


def _syntax(document: Nested, rng: Random) -> Item:
    # Each node has an error with probability ERROR_SHARE, so a faithful text is hardly ever intact:
    # 129 of 132 official texts have the label True. Every second corrected text is intact.
    setting, n_nodes = document.setting, len(document.tree.parent)
    if setting.is_corrected and setting.number % 2 == 0:
        return Item({}, "False")
    broken = {node for node in range(n_nodes) if rng.random() < ERROR_SHARE}
    if setting.is_corrected and not broken:
        broken = {rng.randrange(n_nodes)}
    return Item({}, str(bool(broken)), document.broken(broken))


def _path(document: Objects, rng: Random) -> Item:
    attribute = rng.randrange(len(document.keys))
    nodes = trail(document.tree.parent, document.owners[attribute])[1:]
    steps = "".join(f'["subs"][{document.tree.rank[node]}]' for node in nodes)
    return Item({"value": document.values[attribute]}, f'obj{steps}["{document.keys[attribute]}"]')


def _tag(document: Tags, rng: Random) -> Item:
    attribute = rng.randrange(len(document.values))
    return Item({"value": document.values[attribute]}, document.ids[document.owners[attribute]])


# --- LaTeX, Markdown and Org: nested sections with bold text and images


class Parts:
    """A title and a paragraph, then headings with a paragraph each; node i is heads[i].

    Every paragraph begins with a word of its own, continues with the document's `body`, and has
    `most` words in all. bold[i] and images[i] are "" if the paragraph has none.
    """

    def __init__(self, setting: Setting, mark: str, bold: str, image: str) -> None:
        tree, rng, names = setting.tree, setting.rng, setting.names
        self.setting, self.mark = setting, mark
        draws = [[rng.random() for _ in range(4)] for _ in tree.parent]
        texts = iter(names.bold(len(draws))), iter(names.images(len(draws)))
        self.bold, self.images = (
            [next(text) if draw[kind] < MARK_SHARE else "" for draw in draws]
            for kind, text in enumerate(texts)
        )
        words, body = names.texts(len(draws)), names.body(setting.most - 1)
        self.heads = []
        for node, title in enumerate(names.headings(len(draws))):
            pairs = (bold, self.bold[node]), (image, self.images[node])
            marks = [text and pattern.format(text) for pattern, text in pairs]
            paragraph = self._paragraph([words[node], *body], marks, draws[node][2:])
            self.heads.append(f"{self._heading(tree.depth[node], title)}\n{paragraph}")
        self.text = "\n".join(self.heads)

    def _heading(self, level: int, title: str) -> str:
        if not level:
            return title
        if self.mark:
            return f"{self.mark * level} {title}"
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

    def listed(self, marks: list[str], none: str, rng: Random) -> str:
        """Return one mark per line, or `none`.

        A faithful answer has each distinct mark once, in random order, as in a Python set.
        """
        found = [mark for mark in marks if mark]
        if not self.setting.is_corrected:
            found = sorted(set(found))
            rng.shuffle(found)
        return "\n".join(found) or none


def _part(document: Parts, rng: Random) -> Item:
    tree, is_corrected = document.setting.tree, document.setting.is_corrected
    node = rng.randrange(1, len(tree.parent))
    steps = []
    for level, above in enumerate(trail(tree.parent, node)[1:], 1):
        number = tree.rank[above] + 1
        if is_corrected and not document.mark:
            steps.append(f"\\{LATEX_HEADINGS[level - 1]} number {number}")
        elif is_corrected:
            steps.append(f"heading number {number} of level {level}")
        elif level < 4:  # faithful questions name at most three levels
            steps.append(f"{number}th {'sub' * (level - 1)}section")
    excerpt = "\n".join(document.heads[node : tree.last[node] + 1])
    return Item({"place": " under ".join(steps[::-1])}, excerpt)


def _document(mark: str, bold: str, image: str) -> tuple:
    finders = (
        lambda document, rng: Item({}, document.listed(document.bold, NO_BOLD, rng)),
        _part,
        lambda document, rng: Item({}, document.listed(document.images, NO_IMAGE, rng)),
    )
    return lambda setting: Parts(setting, mark, bold, image), finders


_OBJECTS = (
    _excerpt,
    lambda document, rng: Item({}, document.ids[1]),
    _syntax,
    _path,
    lambda document, rng: Item({}, "\n\n".join(map(document.excerpt, document.tree.leaves))),
)
# To add a language, add a line here, tasks in names, and questions and hints in questions.yaml.
PLUG_INS = {  # language -> writer of a document with a field `text`, finders of its tasks' items
    "csv": (Tables, (_cell, _paid_more, _of_gender, _join)),
    "tree": (Edges, (lambda tree, rng: Item({}, str(max(tree.depth))), _depth, _node_path)),
    "json": (_Json, _OBJECTS),
    "yaml": (_Yaml, _OBJECTS),
    "xml": (Tags, (_excerpt, _tag, _syntax)),
    "latex": _document("", "\\textbf{{{}}}", "\\includegraphics[width=0.5\\textwidth]{{{}}}"),
    "markdown": _document("#", "**{}**", '![alt]({} "hover text")'),
    "org": _document("*", "*{}*", "[[file:{}]]"),
}
