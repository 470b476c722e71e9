"""Make up a company's figures for three years, with consistent sums, cash flows and changes."""

import random
from collections.abc import Iterable
from dataclasses import dataclass

from lib.tasks.tablequest.made_up.notes import made_notes
from lib.tasks.tablequest.made_up.tables import COUNT, MONEY, PRICE, Line, MadeTable

_FIRST = ("Alder", "Birchwood", "Calder", "Dunmore", "Elmstead", "Farrow", "Glenholt", "Harrow",
          "Ives", "Juniper", "Kestrel", "Larkspur", "Merrow", "Norwell", "Oakhurst", "Penrose",
          "Quarrydale", "Rowan", "Selby", "Thornby")
_SECOND = ("Instruments", "Foods", "Logistics", "Paper", "Tools", "Lighting", "Textiles", "Pumps",
           "Glass", "Marine")
_ENDS = ("December 31", "September 30", "June 30", "March 31")

Years = list[int]  # amounts for three years, latest first


@dataclass(frozen=True)
class Company:
    """A company and its fiscal year."""

    name: str
    slug: str
    year: int
    end: str  # "September 28"
    line: str  # what the company makes

    @property
    def years(self) -> tuple[int, int, int]:
        """Return the years in the report, latest first."""
        return self.year, self.year - 1, self.year - 2

    @property
    def ends(self) -> tuple[str, str, str]:
        """Return the dates on which those years end."""
        return tuple(f"{self.end}, {year}" for year in self.years)


def made_company(random_: random.Random, index: int) -> Company:
    """Return a company; for `index` below 20, the first words of the names all differ."""
    first, second = _FIRST[index % len(_FIRST)], random_.choice(_SECOND)
    number = f" {index // len(_FIRST) + 1}" if index >= len(_FIRST) else ""
    name = f"{first}{number} {second}, Inc."
    slug = "".join(letter.lower() if letter.isalnum() else "-" for letter in name)
    return Company(name, slug.replace("--", "-").strip("-."), random_.choice((2021, 2022, 2023)),
                   random_.choice(_ENDS), second.lower())


def made_tables(company: Company, random_: random.Random) -> list[MadeTable]:
    """Return statements of operations, balance sheet and cash flows, and then the notes' tables."""
    income = _income(random_)
    flows, cash = _flows(company, random_, income["Net income"])
    return [_operations(company, income), _balance(company, random_, cash), flows,
            *made_notes(company.years, company.ends, income, random_)]


def _income(random_: random.Random) -> dict[str, tuple[int, ...]]:
    """Return each item's amounts, in millions (shares in thousands)."""
    products, services = _series(random_, 900, 6000), _series(random_, 200, 2000)
    made = [round(x * random_.uniform(0.5, 0.62)) for x in products]
    served = [round(x * random_.uniform(0.3, 0.4)) for x in services]
    research, selling = ([round(x * random_.uniform(low, 1.6 * low)) for x in products]
                         for low in (0.05, 0.08))
    other = [random_.randint(-90, 60) for _ in products]
    sales, cost, spent = _sum(products, services), _sum(made, served), _sum(research, selling)
    gross = _less(sales, cost)
    operating = _less(gross, spent)
    before = _sum(operating, other)
    tax = [round(x * random_.uniform(0.18, 0.24)) for x in before]
    found = {
        "products": products, "services": services, "cost of products": made,
        "cost of services": served, "Total net sales": sales, "Total cost of sales": cost,
        "Gross margin": gross, "Research and development": research,
        "Selling, general and administrative": selling, "Total operating expenses": spent,
        "Operating income": operating, "Other income/(expense), net": other,
        "Income before provision for income taxes": before, "Provision for income taxes": tax,
        "Net income": _less(before, tax), "shares": _series(random_, 90_000, 400_000)}
    return {item: tuple(amounts) for item, amounts in found.items()}


def _sum(*rows: Iterable[int]) -> Years:
    return [sum(column) for column in zip(*rows, strict=True)]


def _less(first: Iterable[int], *others: Iterable[int]) -> Years:
    return [a - sum(rest) for a, *rest in zip(first, *others, strict=True)]


def _series(random_: random.Random, low: int, high: int) -> Years:
    latest = random_.randint(low, high)
    return [latest, round(latest * random_.uniform(0.85, 1.1)),
            round(latest * random_.uniform(0.75, 1.12))]


def _by_year(company: Company) -> dict:
    return {"columns": tuple(f"Years ended {end}" for end in company.ends),
            "header": ((("Years ended", 3),), tuple((end, 1) for end in company.ends))}


def _operations(company: Company, income: dict[str, tuple[int, ...]]) -> MadeTable:
    def line(label: str, *groups: str, is_sum: bool = False) -> Line:
        return Line(label, income[label], groups=groups, is_sum=is_sum)

    def group(label: str, *lines: Line) -> list[Line]:
        return [Line(f"{label}:"), *lines]

    def per_share(label: str, counts: tuple[int, ...]) -> Line:
        pairs = zip(income["Net income"], counts, strict=True)
        return Line(label, tuple(round(1000 * amount / count, 2) for amount, count in pairs), PRICE,
                    ("Earnings per share",), decimals=2)

    spent, used = "Operating expenses", "Shares used in computing earnings per share"
    shares = income["shares"]
    diluted = tuple(round(count / 0.98) for count in shares)
    lines = (
        *group("Net sales", Line("Products", income["products"], groups=("Net sales",)),
               Line("Services", income["services"], groups=("Net sales",)),
               line("Total net sales", is_sum=True)), Line(""),
        *group("Cost of sales",
               Line("Products", income["cost of products"], groups=("Cost of sales",)),
               Line("Services", income["cost of services"], groups=("Cost of sales",)),
               line("Total cost of sales", is_sum=True), line("Gross margin", is_sum=True)),
        Line(""),
        *group(spent, line("Research and development", spent),
               line("Selling, general and administrative", spent),
               line("Total operating expenses", is_sum=True)), Line(""),
        line("Operating income"), line("Other income/(expense), net"),
        line("Income before provision for income taxes", is_sum=True),
        line("Provision for income taxes"), line("Net income", is_sum=True), Line(""),
        *group("Earnings per share", per_share("Basic", shares), per_share("Diluted", diluted)),
        Line(""),
        *group(used, *(Line(label, counts, COUNT, (used,))
                       for label, counts in (("Basic", shares), ("Diluted", diluted)))))
    intro = ("(In millions, except number of shares, which are reflected in thousands, and "
             "per-share amounts)")
    return MadeTable("CONSOLIDATED STATEMENTS OF OPERATIONS", intro, lines=lines,
                     scales={MONEY: 1e6, COUNT: 1e3}, **_by_year(company))


def _lines(amounts: dict[str, Years], *groups: str) -> list[Line]:
    return [Line(label, tuple(values), groups=groups) for label, values in amounts.items()]


def _total(label: str, amounts: Years, *groups: str) -> Line:
    return Line(label, tuple(amounts), groups=groups, is_sum=True)


def _flows(company: Company, random_: random.Random,
           net: tuple[int, ...]) -> tuple[MadeTable, Years]:
    """Return the cash flows, and the cash at the end of each of the three years."""
    adjusted = {"Depreciation and amortization": _series(random_, 60, 300),
                "Share-based compensation": _series(random_, 20, 120)}
    for label in ("Accounts receivable, net", "Inventories", "Accounts payable"):
        adjusted[label] = [random_.randint(-90, 90) for _ in net]
    bought, dividends = _series(random_, 100, 500), _series(random_, 50, 300)
    debt = [random_.choice((0, random_.randint(50, 400))) for _ in net]
    spent = [-amount for amount in _series(random_, 80, 400)]
    operating = _sum(net, *adjusted.values())
    financing = _less(debt, bought, dividends)
    moved = _sum(operating, spent, financing)
    opening = random_.randint(2500, 4000)
    ends = [opening + sum(moved[index:]) for index in range(3)]
    cash = "Cash and cash equivalents"
    o, i, f = (f"{what} activities" for what in ("Operating", "Investing", "Financing"))
    adjustments = "Adjustments to reconcile net income to cash"
    lines = (
        Line(f"{cash}, beginning balances", (*ends[1:], opening)), Line(""),
        Line(f"{o}:"), Line("Net income", tuple(net), groups=(o,)),
        Line(f"{adjustments}:", groups=(o,)), *_lines(adjusted, o, adjustments),
        _total("Cash generated by operating activities", operating), Line(""), Line(f"{i}:"),
        *_lines({"Payments for property, plant and equipment": spent}, i),
        _total("Cash used in investing activities", spent), Line(""), Line(f"{f}:"),
        *_lines({"Proceeds from issuance of term debt": debt,
                 "Repurchases of common stock": [-amount for amount in bought],
                 "Dividends paid": [-amount for amount in dividends]}, f),
        _total("Cash generated by/(used in) financing activities", financing), Line(""),
        Line("Increase/(Decrease) in cash and cash equivalents", tuple(moved)),
        _total(f"{cash}, ending balances", ends))
    return MadeTable("CONSOLIDATED STATEMENTS OF CASH FLOWS", "(In millions)", lines=lines,
                     scales={MONEY: 1e6}, **_by_year(company)), ends


def _balance(company: Company, random_: random.Random, cash: Years) -> MadeTable:
    def drawn(lows: dict[str, int]) -> dict[str, Years]:
        return {label: _series(random_, low, 4 * low)[:2] for label, low in lows.items()}

    current = {"Cash and cash equivalents": cash[:2],
               **drawn({"Accounts receivable, net": 300, "Inventories": 200})}
    fixed = drawn({"Property, plant and equipment, net": 900, "Goodwill": 400})
    payable = drawn({"Accounts payable": 200, "Other current liabilities": 100})
    debt = drawn({"Term debt": 300})
    sums = [_sum(*amounts.values()) for amounts in (current, fixed, payable)]
    assets, owed = _sum(sums[0], sums[1]), _sum(sums[2], debt["Term debt"])
    a, n, c = "Assets", "Non-current assets", "Current liabilities"
    lines = (
        Line("Assets:"), Line("Current assets:", groups=(a,)),
        *_lines(current, a, "Current assets"),
        _total("Total current assets", sums[0], a, "Current assets"),
        Line(f"{n}:", groups=(a,)), *_lines(fixed, a, n),
        _total("Total non-current assets", sums[1], a, n), _total("Total assets", assets),
        Line(""), Line("Liabilities:"), Line(f"{c}:", groups=("Liabilities",)),
        *_lines(payable, "Liabilities", c),
        _total("Total current liabilities", sums[2], "Liabilities", c),
        *_lines(debt, "Liabilities"), _total("Total liabilities", owed),
        _total("Total shareholders’ equity", _less(assets, owed)))
    return MadeTable("CONSOLIDATED BALANCE SHEETS", "(In millions)", company.ends[:2], lines,
                     {MONEY: 1e6})
