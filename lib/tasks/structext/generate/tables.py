"""Write two tables about people, bio and work, joined by primeKey, as CSV."""

from random import Random

from lib.tasks.structext.generate.language import Item, Language, Setting, limits_by_answer
from lib.tasks.structext.generate.naming import COLORS

BIO = ("primeKey", "gender", "age", "name", "height", "weight", "color")
WORK = ("primeKey", "status", "salary", "company", "location")
GENDERS, STATUSES = ("female", "male"), ("employed", "retired", "unemployed")
HEIGHT_LIMITS = range(150, 181)  # cm, asked about in questions; heights are 120-220
SALARIES = range(1000, 1_000_001)

Row = tuple[str | int, ...]


class Tables:
    """`bio` and `work`, each with one row per person, in the same order."""

    def __init__(self, setting: Setting) -> None:
        rng, names = setting.rng, setting.names
        n_rows = setting.depth
        self.setting, self.keys = setting, names.primary_keys(n_rows)
        rows = [(rng.choice(GENDERS), rng.randint(10, 70), rng.randint(120, 220),
                 rng.randint(70, 180), rng.choice(COLORS), rng.choice(STATUSES),
                 rng.randint(SALARIES[0], SALARIES[-1]), rng.randrange(7), rng.randrange(7))
                for _ in range(n_rows)]
        if setting.is_corrected:
            rows = _balanced(rows, setting.number)
        n_women = sum(row[0] == GENDERS[0] for row in rows)
        people = dict(zip(GENDERS, (iter(names.women(n_women)),
                                    iter(names.men(n_rows - n_women, n_women))), strict=True))
        self.bio: list[Row] = []
        self.work: list[Row] = []
        for key, (gender, age, height, weight, color, status, pay, company, place) in zip(
                self.keys, rows, strict=True):
            self.bio.append((key, gender, age, next(people[gender]), height, weight, color))
            self.work.append((key, status, pay, names.companies[company], names.places[place]))
        self.text = "\n\n".join(map(_csv, ([BIO, *self.bio], [WORK, *self.work])))


def _balanced(rows: list[tuple], number: int) -> list[tuple]:
    # nothing is drawn from the rows' generator, so all modes share the other columns
    women = set(Random(number).sample(range(len(rows)), number % (len(rows) + 1)))
    balanced = []
    for place, (_, drawn, height, weight, color, status, *others) in enumerate(rows):
        age = 18 + (drawn - 10) * 13 // 15  # 10-70 becomes 18-70
        status = "employed" if status == "retired" and age < 55 else status
        balanced.append((GENDERS[place not in women], age, height, weight, color, status, *others))
    return balanced


def _csv(table: list[Row]) -> str:
    return "\n".join([",".join(map(str, row)) for row in table])


def _cell(document: Tables, rng: Random) -> Item:
    place, field = rng.randrange(len(document.keys)), rng.choice(BIO[1:] + WORK[1:])
    columns, rows = (BIO, document.bio) if field in BIO else (WORK, document.work)
    return Item({"field": field, "key": document.keys[place]},
                str(rows[place][columns.index(field)]))


def _paid_more(document: Tables, rng: Random) -> Item:
    limit, column = rng.randint(SALARIES[0], SALARIES[-1]), WORK.index("salary")
    salaries = [row[column] for row in document.work]
    if document.setting.is_corrected:
        limits = limits_by_answer(salaries, SALARIES[0], SALARIES[-1])
        limit = rng.randint(*limits[rng.choice(sorted(limits))])
    return Item({"salary": limit}, str(sum(salary > limit for salary in salaries)))


def _of_gender(document: Tables, rng: Random) -> Item:
    gender, column = rng.choice(GENDERS), BIO.index("gender")
    return Item({"gender": gender}, str(sum(row[column] == gender for row in document.bio)))


def _join(document: Tables, rng: Random) -> Item:
    heights: dict[str, list[int]] = {}
    for bio, work in zip(document.bio, document.work, strict=True):
        heights.setdefault(work[WORK.index("location")], []).append(bio[BIO.index("height")])
    places = document.setting.names.places
    if not document.setting.is_corrected:
        place, limit = rng.choice(places), rng.choice(HEIGHT_LIMITS)
        answer = sum(height > limit for height in heights.get(place, ()))
        return Item({"place": place, "height": limit}, str(answer))
    choices: dict[int, list[tuple[str, int, int]]] = {}  # answer -> place, least and greatest limit
    for place in places:  # in this order, so that draws do not depend on names
        if place in heights:
            for answer, limits in limits_by_answer(
                    heights[place], HEIGHT_LIMITS[0], HEIGHT_LIMITS[-1]).items():
                choices.setdefault(answer, []).append((place, *limits))
    answer = rng.choice(sorted(choices))
    place, low, high = rng.choice(choices[answer])
    return Item({"place": place, "height": rng.randint(low, high)}, str(answer))


_FINDERS = (_cell, _paid_more, _of_gender, _join)
CSV = Language(Tables, _FINDERS)
