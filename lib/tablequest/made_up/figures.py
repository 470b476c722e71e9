"""The figures of a made-up company for three years, such that sums, cash flows and changes agree."""

import random
from dataclasses import dataclass

from lib.tablequest.made_up.notes import made_notes
from lib.tablequest.made_up.tables import COUNT, MONEY, PRICE, Line, MadeTable

_FIRST = ("Alder", "Birchwood", "Calder", "Dunmore", "Elmstead", "Farrow", "Glenholt", "Harrow", "Ives", "Juniper",
          "Kestrel", "Larkspur", "Merrow", "Norwell", "Oakhurst", "Penrose", "Quarrydale", "Rowan", "Selby", "Thornby")
_SECOND = ("Instruments", "Foods", "Logistics", "Paper", "Tools", "Lighting", "Textiles", "Pumps", "Glass", "Marine")
_ENDS = ("December 31", "September 30", "June 30", "March 31")


@dataclass(frozen=True)
class Company:
    """Who reports, and on which year."""

    name: str
    slug: str
    year: int
    end: str  # "September 28"
    line: str  # what it makes

    @property
    def years(self) -> tuple[int, int, int]:
        """The years in the report, latest first."""
        return self.year, self.year - 1, self.year - 2

    @property
    def period(self) -> str:
        """The fiscal year's end as printed."""
        return self.date(self.year)

    @property
    def signed(self) -> str:
        """When the report was signed."""
        return f"March 1, {self.year + 1}"

    @property
    def business(self) -> str:
        """What it does, in a paragraph."""
        return (f"{self.name} makes and services {self.line} for industrial customers. It sells through its own "
                f"branches and through dealers, and it reports by region.")

    def date(self, year: int) -> str:
        """The end of the fiscal year `year`."""
        return f"{self.end}, {year}"

    def remark(self, heading: str) -> str:
        """A paragraph that refers to the table above it."""
        return (f"The table above shows the {heading.lower()} that {self.name} reports. Changes reflect volumes, "
                f"prices and currency; no single customer accounted for more than a tenth of net sales.")

    def policy(self, heading: str) -> str:
        """A paragraph at the head of a note."""
        return f"{self.name} accounts for {heading.lower()} as described in its accounting policies."


def made_company(random_: random.Random, index: int) -> Company:
    """A company that no other `index` below 20 shares its first name with."""
    first, second = _FIRST[index % len(_FIRST)], random_.choice(_SECOND)
    number = f" {index // len(_FIRST) + 1}" if index >= len(_FIRST) else ""
    name = f"{first}{number} {second}, Inc."
    slug = "".join(letter.lower() if letter.isalnum() else "-" for letter in name).replace("--", "-").strip("-.")
    return Company(name, slug, random_.choice((2021, 2022, 2023)), random_.choice(_ENDS), second.lower())


def made_tables(company: Company, random_: random.Random) -> list[MadeTable]:
    """Statements of operations, balance sheet, cash flows; then net sales by region, gross margin, and the notes."""
    income = _income(random_)
    flows, cash = _flows(company, random_, income["Net income"])
    return [_operations(company, income), _balance(company, random_, cash), flows,
            *made_notes(company.years, tuple(map(company.date, company.years)), income, random_)]


def _income(random_: random.Random) -> dict[str, tuple[int, ...]]:
    """Each item's amounts of three years, latest first, in millions; shares in thousands."""
    products, services = _series(random_, 900, 6000), _series(random_, 200, 2000)
    made = [round(x * random_.uniform(0.5, 0.62)) for x in products]
    served = [round(x * random_.uniform(0.3, 0.4)) for x in services]
    research, selling = ([round(x * random_.uniform(low, 1.6 * low)) for x in products] for low in (0.05, 0.08))
    other = [random_.randint(-90, 60) for _ in products]
    total = _sum(products, services)
    gross = [x - y - z for x, y, z in zip(total, made, served, strict=True)]
    spent = _sum(research, selling)
    operating = [x - y for x, y in zip(gross, spent, strict=True)]
    before = _sum(operating, other)
    tax = [round(x * random_.uniform(0.18, 0.24)) for x in before]
    found = {"products": products, "services": services, "cost of products": made, "cost of services": served,
             "Total net sales": total, "Total cost of sales": _sum(made, served), "Gross margin": gross,
             "Research and development": research, "Selling, general and administrative": selling,
             "Total operating expenses": spent, "Operating income": operating, "Other income/(expense), net": other,
             "Income before provision for income taxes": before, "Provision for income taxes": tax,
             "Net income": [x - y for x, y in zip(before, tax, strict=True)],
             "shares": _series(random_, 90_000, 400_000)}
    return {item: tuple(amounts) for item, amounts in found.items()}


def _sum(*rows: list[int]) -> list[int]:
    return [sum(column) for column in zip(*rows, strict=True)]


def _series(random_: random.Random, low: int, high: int) -> list[int]:
    """Three years' amounts, latest first."""
    latest = random_.randint(low, high)
    return [latest, round(latest * random_.uniform(0.85, 1.1)), round(latest * random_.uniform(0.75, 1.12))]


def _by_year(company: Company) -> dict:
    ends = tuple(company.date(year) for year in company.years)
    return {"columns": tuple(f"Years ended {end}" for end in ends),
            "header": ((("Years ended", 3),), tuple((end, 1) for end in ends))}


def _operations(company: Company, income: dict[str, tuple[int, ...]]) -> MadeTable:
    def line(label: str, *groups: str, is_sum: bool = False) -> Line:
        return Line(label, income[label], groups=groups, is_sum=is_sum)

    net, shares = income["Net income"], income["shares"]
    spent, used = "Operating expenses", "Shares used in computing earnings per share"
    diluted = tuple(round(x / 0.98) for x in shares)
    lines = (
        Line("Net sales:"), Line("Products", income["products"], groups=("Net sales",)),
        Line("Services", income["services"], groups=("Net sales",)), line("Total net sales", is_sum=True), Line(""),
        Line("Cost of sales:"), Line("Products", income["cost of products"], groups=("Cost of sales",)),
        Line("Services", income["cost of services"], groups=("Cost of sales",)),
        line("Total cost of sales", is_sum=True), line("Gross margin", is_sum=True), Line(""),
        Line(f"{spent}:"), line("Research and development", spent), line("Selling, general and administrative", spent),
        line("Total operating expenses", is_sum=True), Line(""), line("Operating income"),
        line("Other income/(expense), net"), line("Income before provision for income taxes", is_sum=True),
        line("Provision for income taxes"), line("Net income", is_sum=True), Line(""), Line("Earnings per share:"),
        *(Line(label, tuple(round(1000 * x / y, 2) for x, y in zip(net, counts, strict=True)), PRICE,
               ("Earnings per share",), decimals=2) for label, counts in (("Basic", shares), ("Diluted", diluted))),
        Line(""), Line(f"{used}:"), Line("Basic", shares, COUNT, (used,)), Line("Diluted", diluted, COUNT, (used,)))
    return MadeTable("CONSOLIDATED STATEMENTS OF OPERATIONS",
                     "(In millions, except number of shares, which are reflected in thousands, and per-share amounts)",
                     lines=lines, scales={MONEY: 1e6, COUNT: 1e3}, **_by_year(company))


def _flows(company: Company, random_: random.Random, net: list[int]) -> tuple[MadeTable, list[int]]:
    """The cash flows, and the cash at the end of each of the three years."""
    worn, paid = _series(random_, 60, 300), _series(random_, 20, 120)
    changes = [[random_.randint(-90, 90) for _ in net] for _ in range(3)]
    bought, dividends = _series(random_, 100, 500), _series(random_, 50, 300)
    debt = [random_.choice((0, random_.randint(50, 400))) for _ in net]
    spent = _series(random_, 80, 400)
    operating = [sum(row) for row in zip(net, worn, paid, *changes, strict=True)]
    financing = [c - a - b for a, b, c in zip(bought, dividends, debt, strict=True)]
    moved = [a - b + c for a, b, c in zip(operating, spent, financing, strict=True)]
    opening = random_.randint(2500, 4000)
    ends = [opening + sum(moved[index:]) for index in range(3)]
    starts = [*ends[1:], opening]
    o, a = ("Operating activities",), ("Operating activities", "Adjustments to reconcile net income to cash")
    f = ("Financing activities",)
    lines = (
        Line("Cash and cash equivalents, beginning balances", tuple(starts)), Line(""), Line("Operating activities:"),
        Line("Net income", tuple(net), groups=o), Line("Adjustments to reconcile net income to cash:", groups=o),
        Line("Depreciation and amortization", tuple(worn), groups=a),
        Line("Share-based compensation", tuple(paid), groups=a),
        *(Line(label, tuple(row), groups=a) for label, row in
          zip(("Accounts receivable, net", "Inventories", "Accounts payable"), changes, strict=True)),
        Line("Cash generated by operating activities", tuple(operating), is_sum=True), Line(""),
        Line("Investing activities:"),
        Line("Payments for property, plant and equipment", tuple(-x for x in spent), groups=("Investing activities",)),
        Line("Cash used in investing activities", tuple(-x for x in spent), is_sum=True), Line(""),
        Line("Financing activities:"), Line("Proceeds from issuance of term debt", tuple(debt), groups=f),
        Line("Repurchases of common stock", tuple(-x for x in bought), groups=f),
        Line("Dividends paid", tuple(-x for x in dividends), groups=f),
        Line("Cash generated by/(used in) financing activities", tuple(financing), is_sum=True), Line(""),
        Line("Increase/(Decrease) in cash and cash equivalents", tuple(moved)),
        Line("Cash and cash equivalents, ending balances", tuple(ends), is_sum=True))
    return MadeTable("CONSOLIDATED STATEMENTS OF CASH FLOWS", "(In millions)", lines=lines, scales={MONEY: 1e6},
                     **_by_year(company)), ends


def _balance(company: Company, random_: random.Random, cash: list[int]) -> MadeTable:
    ends = tuple(company.date(year) for year in company.years[:2])
    amounts = {label: _series(random_, low, 4 * low)[:2] for label, low in (
        ("Accounts receivable, net", 300), ("Inventories", 200), ("Property, plant and equipment, net", 900),
        ("Goodwill", 400), ("Accounts payable", 200), ("Other current liabilities", 100), ("Term debt", 300))}
    current = _sum(cash[:2], amounts["Accounts receivable, net"], amounts["Inventories"])
    fixed = _sum(amounts["Property, plant and equipment, net"], amounts["Goodwill"])
    owed = _sum(amounts["Accounts payable"], amounts["Other current liabilities"])
    assets = _sum(current, fixed)
    equity = [a - b - c for a, b, c in zip(assets, owed, amounts["Term debt"], strict=True)]
    a, n, c = ("Assets", "Current assets"), ("Assets", "Non-current assets"), ("Liabilities", "Current liabilities")
    lines = (
        Line("Assets:"), Line("Current assets:", groups=a[:1]),
        Line("Cash and cash equivalents", tuple(cash[:2]), groups=a),
        *(Line(label, tuple(amounts[label]), groups=a) for label in ("Accounts receivable, net", "Inventories")),
        Line("Total current assets", tuple(current), groups=a, is_sum=True),
        Line("Non-current assets:", groups=a[:1]),
        *(Line(label, tuple(amounts[label]), groups=n) for label in ("Property, plant and equipment, net", "Goodwill")),
        Line("Total non-current assets", tuple(fixed), groups=n, is_sum=True),
        Line("Total assets", tuple(assets), is_sum=True), Line(""), Line("Liabilities:"),
        Line("Current liabilities:", groups=c[:1]),
        *(Line(label, tuple(amounts[label]), groups=c) for label in ("Accounts payable", "Other current liabilities")),
        Line("Total current liabilities", tuple(owed), groups=c, is_sum=True),
        Line("Term debt", tuple(amounts["Term debt"]), groups=c[:1]),
        Line("Total liabilities", tuple(_sum(owed, amounts["Term debt"])), is_sum=True),
        Line("Total shareholders’ equity", tuple(equity), is_sum=True))
    return MadeTable("CONSOLIDATED BALANCE SHEETS", "(In millions)", ends, (tuple((end, 1) for end in ends),), lines,
                     {MONEY: 1e6})
