"""The tables of a made-up report's discussion and notes: changes, percentages, header rows that nest, roll-forwards."""

import random

from lib.tablequest.made_up.tables import COUNT, MONEY, PRICE, RATE, Line, MadeTable

REGIONS = ("Americas", "Europe", "Asia Pacific", "Middle East and Africa")
_HELD = ("Money market funds", "Government bonds", "Corporate debt securities")
_MADE = ("Adjusted Cost", "Unrealized Gains", "Unrealized Losses", "Fair Value")


def made_notes(years: tuple[int, int, int], ends: tuple[str, str, str], income: dict[str, tuple[int, ...]],
               random_: random.Random) -> list[MadeTable]:
    """Net sales by region, gross margin, marketable securities, leases, restricted stock units, income taxes.

    `years` and the dates of their ends come latest first, as the amounts of each item of `income`, in millions.
    """
    return [_regions(years, income["Total net sales"], random_), _margins(years, income), _securities(ends, random_),
            _leases(years[0], random_), _units(ends, random_), _taxes(years, income, random_)]


def _header(labels: tuple[str, ...]) -> tuple[tuple[tuple[str, int], ...], ...]:
    return (tuple((label, 1) for label in labels),)


def _regions(years: tuple[int, int, int], total: tuple[int, ...], random_: random.Random) -> MadeTable:
    shares = [random_.uniform(0.5, 1.5) for _ in REGIONS[1:]]
    rows = [[round(amount * share / (sum(shares) + 1) * random_.uniform(0.9, 1.1)) for amount in total]
            for share in shares]
    rows.insert(0, [amount - sum(row[year] for row in rows) for year, amount in enumerate(total)])
    lines = []
    for label, row in zip((*REGIONS, "Total net sales"), [*rows, list(total)], strict=True):
        changes = [float(round(100 * (now / before - 1))) for now, before in zip(row, row[1:], strict=False)]
        values = (row[0], changes[0], row[1], changes[1], row[2])
        mark = "(1)" if label == REGIONS[2] else ""
        lines.append(Line(label, values, is_sum=label.startswith("Total"), mark=mark,
                          units=(MONEY, RATE, MONEY, RATE, MONEY)))
    a, b, c = map(str, years)
    return MadeTable("Net Sales by Region", "The following table shows net sales by region for three years (dollars in "
                     "millions):", (a, f"Change {a} to {b}", b, f"Change {b} to {c}", c),
                     _header((a, "Change", b, "Change", c)), tuple(lines), {MONEY: 1e6},
                     notes=("(1) Asia Pacific includes Australia and New Zealand.",))


def _margins(years: tuple[int, int, int], income: dict[str, tuple[int, ...]]) -> MadeTable:
    rates = {item: tuple(round(100 * (1 - spent / sold), 1) for spent, sold in zip(
        income[f"cost of {item}"], income[item], strict=True)) for item in ("products", "services")}
    whole = tuple(round(100 * x / y, 1) for x, y in zip(income["Gross margin"], income["Total net sales"], strict=True))
    group = ("Gross margin percentage",)
    lines = (Line("Gross margin percentage:"),
             *(Line(item.capitalize(), rate, RATE, group, decimals=1) for item, rate in rates.items()),
             Line("Total gross margin percentage", whole, RATE, is_sum=True, decimals=1))
    labels = tuple(map(str, years))
    return MadeTable("Gross Margin", "Gross margin percentages for three years were as follows:", labels,
                     _header(labels), lines, {})


def _securities(ends: tuple[str, str, str], random_: random.Random) -> MadeTable:
    rows = []
    for _ in _HELD:
        values: list[int] = []
        for _ in range(2):
            cost, loss = random_.randint(40, 900), random_.randint(1, 40)
            gain = random_.choice((0, random_.randint(1, 30)))
            values += [cost, gain, -loss, cost + gain - loss]
        rows.append(values)
    groups = (("Level 1",), ("Level 2",), ("Level 2",))
    lines = (Line("Level 1:"), Line(_HELD[0], tuple(rows[0]), groups=groups[0]), Line("Level 2:"),
             *(Line(label, tuple(row), groups=group) for label, row, group in
               zip(_HELD[1:], rows[1:], groups[1:], strict=True)),
             Line("Total", tuple(map(sum, zip(*rows, strict=True))), is_sum=True))
    return MadeTable("Marketable Securities", "The following table presents securities by level of the fair value "
                     "hierarchy:", tuple(f"{end} {label}" for end in ends[:2] for label in _MADE),
                     (tuple((end, 4) for end in ends[:2]), tuple((label, 1) for _ in range(2) for label in _MADE)),
                     lines, {MONEY: 1e6}, corner="in millions")


def _leases(year: int, random_: random.Random) -> MadeTable:
    rows = [[random_.randint(20, 160), random_.randint(0, 40)] for _ in range(6)]
    labels = [*(str(year + ahead) for ahead in range(1, 6)), "Thereafter"]
    due = [sum(column) for column in zip(*rows, strict=True)]
    interest = [-round(amount * 0.12) for amount in due]
    owed = [a + b for a, b in zip(due, interest, strict=True)]
    named = [*zip(labels, rows, strict=True), ("Total undiscounted liabilities", due),
             ("Less: Imputed interest", interest), ("Total lease liabilities", owed)]
    columns = ("Operating Leases", "Finance Leases", "Total")
    return MadeTable("Leases", "Lease liability maturities are as follows (in millions):", columns, _header(columns),
                     tuple(Line(label, (*row, sum(row)), is_sum=label.startswith("Total")) for label, row in named),
                     {MONEY: 1e6})


def _units(ends: tuple[str, str, str], random_: random.Random) -> MadeTable:
    units = (COUNT, PRICE)
    held, price, lines = random_.randint(900, 4000), random_.uniform(20, 90), []
    lines.append(Line(f"Balance as of {ends[2]}", (held, round(price, 2)), units=units))
    for since, until in ((ends[2], ends[1]), (ends[1], ends[0])):
        moves = {"Units granted": random_.randint(200, 900), "Units vested": -random_.randint(100, 500),
                 "Units canceled": -random_.randint(1, 90)}
        for label, amount in moves.items():
            lines.append(Line(label, (amount, round(price * random_.uniform(0.9, 1.4), 2)),
                              groups=(f"{since} to {until}",), units=units))
        held, price = held + sum(moves.values()), price * random_.uniform(1.0, 1.2)
        lines.append(Line(f"Balance as of {until}", (held, round(price, 2)), units=units))
    columns = ("Number of Units (in thousands)", "Weighted-Average Grant-Date Fair Value Per Unit")
    return MadeTable("Restricted Stock Units", "A summary of restricted stock unit activity is as follows:", columns,
                     _header(columns), tuple(lines), {COUNT: 1e3})


def _taxes(years: tuple[int, int, int], income: dict[str, tuple[int, ...]], random_: random.Random) -> MadeTable:
    tax, before = income["Provision for income taxes"], income["Income before provision for income taxes"]
    federal = tuple(round(amount * random_.uniform(0.5, 0.7)) for amount in tax)
    deferred = tuple(-random_.randint(0, 60) for _ in tax)
    foreign = tuple(a - b - c for a, b, c in zip(tax, federal, deferred, strict=True))
    labels = tuple(map(str, years))
    group = ("Federal",)
    lines = (Line("Federal:"), Line("Current", federal, groups=group), Line("Deferred", deferred, groups=group),
             Line("Total", tuple(a + b for a, b in zip(federal, deferred, strict=True)), groups=group), Line(""),
             Line("Foreign", foreign), Line("Provision for income taxes", tax, is_sum=True),
             Line("Effective tax rate", tuple(round(100 * a / b, 1) for a, b in zip(tax, before, strict=True)), RATE,
                  decimals=1))
    return MadeTable("Income Taxes", "The provision for income taxes consisted of the following (in millions):", labels,
                     _header(labels), lines, {MONEY: 1e6})
