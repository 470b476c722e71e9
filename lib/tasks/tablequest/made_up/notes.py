"""Make up the tables of a report's discussion and notes.

The tables have changes, percentages, nested header rows and roll-forwards.
"""

import random

from lib.tasks.tablequest.made_up.tables import COUNT, MONEY, PRICE, RATE, Line, MadeTable

REGIONS = ("Americas", "Europe", "Asia Pacific", "Middle East and Africa")
_HELD = {"Money market funds": "Level 1", "Government bonds": "Level 2",
         "Corporate debt securities": "Level 2"}
_MADE = ("Adjusted Cost", "Unrealized Gains", "Unrealized Losses", "Fair Value")
_MILLIONS = {MONEY: 1e6}

Years = tuple[int, int, int]  # latest first
Ends = tuple[str, str, str]
Income = dict[str, tuple[int, ...]]  # item -> amounts for the years, in millions


def made_notes(years: Years, ends: Ends, income: Income, random_: random.Random) -> list[MadeTable]:
    """Return tables of sales by region, gross margin, securities, leases, stock units and taxes.

    `ends` are the dates on which `years` end.
    """
    return [_regions(years, income["Total net sales"], random_), _margins(years, income),
            _securities(ends, random_), _leases(years[0], random_), _units(ends, random_),
            _taxes(years, income, random_)]


def _regions(years: Years, total: tuple[int, ...], random_: random.Random) -> MadeTable:
    shares = [random_.uniform(0.5, 1.5) for _ in REGIONS[1:]]
    rows = [[round(amount * share / (sum(shares) + 1) * random_.uniform(0.9, 1.1))
             for amount in total] for share in shares]
    rest = [amount - sum(row[year] for row in rows) for year, amount in enumerate(total)]
    lines = []
    for label, row in zip((*REGIONS, "Total net sales"), [rest, *rows, list(total)], strict=True):
        changes = [float(round(100 * (now / before - 1)))
                   for now, before in zip(row, row[1:], strict=False)]
        lines.append(Line(label, (row[0], changes[0], row[1], changes[1], row[2]),
                          is_sum=label.startswith("Total"),
                          mark="(1)" if label == REGIONS[2] else "",
                          units=(MONEY, RATE, MONEY, RATE, MONEY)))
    a, b, c = map(str, years)
    return MadeTable(
        "Net Sales by Region",
        "The following table shows net sales by region for three years (dollars in millions):",
        (a, f"Change {a} to {b}", b, f"Change {b} to {c}", c), tuple(lines), _MILLIONS,
        header=(tuple((label, 1) for label in (a, "Change", b, "Change", c)),),
        notes=("(1) Asia Pacific includes Australia and New Zealand.",))


def _margins(years: Years, income: Income) -> MadeTable:
    lines = [Line("Gross margin percentage:")]
    for item in ("products", "services"):
        pairs = zip(income[f"cost of {item}"], income[item], strict=True)
        rates = tuple(round(100 * (1 - spent / sold), 1) for spent, sold in pairs)
        lines.append(Line(item.capitalize(), rates, RATE, ("Gross margin percentage",), decimals=1))
    pairs = zip(income["Gross margin"], income["Total net sales"], strict=True)
    lines.append(Line("Total gross margin percentage",
                      tuple(round(100 * margin / sales, 1) for margin, sales in pairs), RATE,
                      is_sum=True, decimals=1))
    return MadeTable("Gross Margin", "Gross margin percentages for three years were as follows:",
                     tuple(map(str, years)), tuple(lines), {})


def _securities(ends: Ends, random_: random.Random) -> MadeTable:
    lines, level, rows = [], "", []
    for label, of_level in _HELD.items():
        values: list[int] = []
        for _ in range(2):
            cost, loss = random_.randint(40, 900), random_.randint(1, 40)
            gain = random_.choice((0, random_.randint(1, 30)))
            values += [cost, gain, -loss, cost + gain - loss]
        rows.append(values)
        if of_level != level:
            level = of_level
            lines.append(Line(f"{level}:"))
        lines.append(Line(label, tuple(values), groups=(level,)))
    lines.append(Line("Total", tuple(map(sum, zip(*rows, strict=True))), is_sum=True))
    return MadeTable(
        "Marketable Securities",
        "The following table presents securities by level of the fair value hierarchy:",
        tuple(f"{end} {label}" for end in ends[:2] for label in _MADE), tuple(lines), _MILLIONS,
        header=(tuple((end, 4) for end in ends[:2]), tuple((label, 1) for label in _MADE * 2)),
        corner="in millions")


def _leases(year: int, random_: random.Random) -> MadeTable:
    rows = [[random_.randint(20, 160), random_.randint(0, 40)] for _ in range(6)]
    labels = [*(str(year + ahead) for ahead in range(1, 6)), "Thereafter"]
    due = [sum(column) for column in zip(*rows, strict=True)]
    interest = [-round(amount * 0.12) for amount in due]
    owed = [a + b for a, b in zip(due, interest, strict=True)]
    named = [*zip(labels, rows, strict=True), ("Total undiscounted liabilities", due),
             ("Less: Imputed interest", interest), ("Total lease liabilities", owed)]
    return MadeTable("Leases", "Lease liability maturities are as follows (in millions):",
                     ("Operating Leases", "Finance Leases", "Total"),
                     tuple(Line(label, (*row, sum(row)), is_sum=label.startswith("Total"))
                           for label, row in named), _MILLIONS)


def _units(ends: Ends, random_: random.Random) -> MadeTable:
    units, lines = (COUNT, PRICE), []
    held, price = random_.randint(900, 4000), random_.uniform(20, 90)
    lines.append(Line(f"Balance as of {ends[2]}", (held, round(price, 2)), units=units))
    for since, until in ((ends[2], ends[1]), (ends[1], ends[0])):
        moves = {"Units granted": random_.randint(200, 900),
                 "Units vested": -random_.randint(100, 500),
                 "Units canceled": -random_.randint(1, 90)}
        for label, amount in moves.items():
            lines.append(Line(label, (amount, round(price * random_.uniform(0.9, 1.4), 2)),
                              groups=(f"{since} to {until}",), units=units))
        held, price = held + sum(moves.values()), price * random_.uniform(1.0, 1.2)
        lines.append(Line(f"Balance as of {until}", (held, round(price, 2)), units=units))
    return MadeTable(
        "Restricted Stock Units", "A summary of restricted stock unit activity is as follows:",
        ("Number of Units (in thousands)", "Weighted-Average Grant-Date Fair Value Per Unit"),
        tuple(lines), {COUNT: 1e3})


def _taxes(years: Years, income: Income, random_: random.Random) -> MadeTable:
    tax, before = (income["Provision for income taxes"],
                   income["Income before provision for income taxes"])
    current = tuple(round(amount * random_.uniform(0.5, 0.7)) for amount in tax)
    deferred = tuple(-random_.randint(0, 60) for _ in tax)
    federal = tuple(a + b for a, b in zip(current, deferred, strict=True))
    foreign = tuple(a - b for a, b in zip(tax, federal, strict=True))
    rates = tuple(round(100 * a / b, 1) for a, b in zip(tax, before, strict=True))
    group = ("Federal",)
    lines = (Line("Federal:"), Line("Current", current, groups=group),
             Line("Deferred", deferred, groups=group), Line("Total", federal, groups=group),
             Line(""), Line("Foreign", foreign),
             Line("Provision for income taxes", tax, is_sum=True),
             Line("Effective tax rate", rates, RATE, decimals=1))
    return MadeTable("Income Taxes",
                     "The provision for income taxes consisted of the following (in millions):",
                     tuple(map(str, years)), lines, _MILLIONS)
