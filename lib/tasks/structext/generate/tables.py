"""Write two tables about people, joined by primeKey, as CSV; write the tree, one edge per line."""

from collections.abc import Sequence
from random import Random

from lib.tasks.structext.generate.language import Item, Language, Setting, limits_by_answer
from lib.tasks.structext.generate.naming import COLORS
from lib.tasks.structext.generate.tree import trail

BIO = ("primeKey", "gender", "age", "name", "height", "weight", "color")
WORK = ("primeKey", "status", "salary", "company", "location")
GENDERS, STATUSES = ("female", "male"), ("employed", "retired", "unemployed")
HEIGHT_LIMITS = range(150, 181)  # cm, asked about in questions; heights are 120-220
SALARIES = range(1000, 1_000_001)

Person = dict[str, str | int]


class Tables:
    """`bio` and `work`, each with one row per person, in the same order."""

    def __init__(self, setting: Setting) -> None:
        names = setting.names
        self.setting, keys = setting, names.primary_keys(setting.depth)
        self.people = [_drawn(setting, key) for key in keys]
        if setting.is_corrected:
            _balance(self.people, setting.number)
        n_women = sum(one["gender"] == GENDERS[0] for one in self.people)
        women, men = names.women(n_women), names.men(len(keys) - n_women, n_women)
        named = {GENDERS[0]: iter(women), GENDERS[1]: iter(men)}
        for one in self.people:
            one["name"] = next(named[one["gender"]])
        self.text = f"{_csv(BIO, self.people)}\n\n{_csv(WORK, self.people)}"


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


def _csv(columns: Sequence[str], people: list[Person]) -> str:
    return "\n".join(
        [",".join(columns), *(",".join([str(one[name]) for name in columns]) for one in people)]
    )


def _cell(document: Tables, rng: Random) -> Item:
    one, field = rng.choice(document.people), rng.choice(BIO[1:] + WORK[1:])
    return Item({"field": field, "key": one["primeKey"]}, str(one[field]))


def _paid_more(document: Tables, rng: Random) -> Item:
    limit = rng.randint(SALARIES[0], SALARIES[-1])
    salaries = [one["salary"] for one in document.people]
    if document.setting.is_corrected:
        limits = limits_by_answer(salaries, SALARIES[0], SALARIES[-1])
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
    for place in places:  # in this order, so that draws do not depend on names
        if place in heights:
            for answer, limits in limits_by_answer(
                heights[place], HEIGHT_LIMITS[0], HEIGHT_LIMITS[-1]
            ).items():
                choices.setdefault(answer, []).append((place, *limits))
    answer = rng.choice(sorted(choices))
    place, low, high = rng.choice(choices[answer])
    return Item({"place": place, "height": rng.randint(low, high)}, str(answer))


CSV = Language(Tables, (_cell, _paid_more, _of_gender, _join))


MOST_ADDED = 2  # nodes in the chain below a leaf of a corrected tree
N_STARTS = 676  # first names of corrected trees; 26 make too few different texts of two nodes


class Edges:
    """Lines `father->child`, ordered by the child in pre-order; node i is named ids[i].

    A corrected tree has a chain of 0 to MOST_ADDED more nodes below one of its leaves, so that the
    dial `depth` does not give its height away.
    """

    def __init__(self, setting: Setting) -> None:
        tree, self.is_corrected = setting.tree, setting.is_corrected
        self.parent, self.depth = tree.parent, tree.depth
        if self.is_corrected:
            leaf = setting.rng.choice([node for node, last in enumerate(tree.last) if node == last])
            n, level = setting.number % (MOST_ADDED + 1), tree.depth[leaf]
            moved = [above + n if above > leaf else above for above in tree.parent]
            self.parent = [*moved[: leaf + 1], *range(leaf, leaf + n), *moved[leaf + 1 :]]
            self.depth = [
                *tree.depth[: leaf + 1],
                *range(level + 1, level + n + 1),
                *tree.depth[leaf + 1 :],
            ]
        n_nodes, names = len(self.parent), setting.names
        self.ids = names.ids(n_nodes, N_STARTS) if self.is_corrected else names.ids(n_nodes)
        self.text = "\n".join(
            [
                f"{self.ids[parent]}->{name}"
                for parent, name in zip(self.parent[1:], self.ids[1:], strict=True)
            ]
        )


def _height(document: Edges, rng: Random) -> Item:
    return Item({}, str(max(document.depth)))


def _depth(document: Edges, rng: Random) -> Item:
    node = rng.randrange(len(document.parent))
    if document.is_corrected:
        wanted = rng.randint(0, max(document.depth))
        node = rng.choice([node for node, depth in enumerate(document.depth) if depth == wanted])
    return Item({"id": document.ids[node]}, str(document.depth[node]))


def _path(document: Edges, rng: Random) -> Item:
    nodes = trail(document.parent, rng.randrange(len(document.parent)))
    return Item({"id": document.ids[nodes[-1]]}, "->".join(document.ids[node] for node in nodes))


TREE = Language(Edges, (_height, _depth, _path))
