"""Unit and scale of the values of a table: from inline XBRL, print, labels, notes, the filing."""

import re
from collections import Counter
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from lxml.html import HtmlElement

from lib.tablequest.cells import (
    Note,
    Placed,
    coin_in,
    folded,
    is_only_note,
    read_note,
    read_number,
    unit_note_in,
)
from lib.tablequest.grid import Layout, Row
from lib.tablequest.records import Cell

# formats of iXBRL (registries 1 to 5) in which a comma begins the decimals
_COMMA_DECIMAL = re.compile(r"comma-?decimal|dotcomma|spacecomma|numcomma$")
_PARTS_OF_ONE = {"-2": "%", "-4": "basis points"}  # by the power of a pure number's tag


class Facts:
    """The units and the periods that a filing's tags name, from its hidden header."""

    def __init__(self, root: HtmlElement) -> None:
        self.named = {}  # parts of units and periods, by their ids
        self.unread, parts = [], {}  # text of a cell, and why its tag cannot be read
        for element in root.xpath("//*[name()='ix:header']//*"):
            kind, text = element.tag.rpartition(":")[2], folded(element.text_content())
            if kind in ("unit", "context"):
                parts = self.named[element.get("id", "")] = {}
            elif kind == "measure":  # the numerator comes first: "USD", "USD/share"
                prefix, _, name = text.rpartition(":")
                words = re.sub(r"(?<=[a-z])(?=[A-Z])|[_-]+", " ", name).lower().replace("pure", "")
                words = words.removesuffix("s") if parts else words
                parts[name.upper() if prefix.lower() == "iso4217" else words] = None
            elif kind in ("startdate", "enddate", "instant"):
                parts[text[:10]] = None

    def cell(self, cell: Placed) -> Cell | None:
        """Return the cell of a tag that is alone in it but for a footnote's mark, signed as the
        concept: an outflow in brackets may be positive.
        """
        if len(cell.tags) != 1 or not self.named:  # without a header, what is printed counts
            return None
        [tag] = cell.tags
        printed = folded(tag.text_content())
        others = re.sub(r"[(\[]\w{1,2}[)\]]\s*$", "", cell.text.replace(printed, "", 1))
        number = read_number(printed)  # 0 for a dash, in a tag marked nil, too
        if not number or re.search(r"\d", others):
            return None
        form, sign = tag.get("format", "").lower(), tag.get("sign", "")
        power = tag.get("scale") or "0"
        names = [tag.get("unitref"), tag.get("contextref")]
        is_plain = re.fullmatch("[-+]?[0-9]{1,2}", power) and sign in ("", "-")
        if not (is_plain and {*names} <= {*self.named}) or _COMMA_DECIMAL.search(form):
            reason = f"a tag with scale {power!r}, sign {sign!r}, format {form!r} and names {names}"
            self.unread.append((cell.text, reason))
            return Cell(text=cell.text, source="tag")
        unit, period = ("/".join(self.named[name]) for name in names)
        part = "" if unit else _PARTS_OF_ONE.get(power, "")
        return Cell(
            text=cell.text,
            value=abs(number.value) * float(f"{sign}1") or 0.0,
            unit=unit or part,
            scale=1.0 if part else float(f"1e{power}"),
            period=period,
            source="tag",
        )


_NAMELESS = re.compile("^(?:ratio|count|places|things)$")
_RATES = ("%", "years", "ratio")
_UNSCALED = re.compile("%|.* points|times|years|months|days|hours|ratio|count|places")
_AWARDS = (
    r"(?:shares?|options|awards|RSU[’']?s?|PSU[’']?s?|SARs|ADSs?|warrants|"
    r"(?:stock|share|restricted|performance|deferred)[- ](?:based )?(?:stock )?units)"
)
_PER_SHARE = (
    rf"\bper[- ](?:[\w-]+ ){{0,4}}?(?:{_AWARDS}|unit|option|award)\b|\bEPS\b|"
    r"\b(?:exercise|grant|strike|stock|share|option|conversion) price|"
    r"\baverage (?:[\w-]+ ){0,3}?(?:fair value|price)"
)
_ASIDE = re.compile(  # figures that a label says beside its own
    r"\([^()]*\$\s?\d[^()]*\)|[$€£]\s?\d*\.?\d+ (?:stated |par )?(?:value )?(?:per [\w -]*?"
    r"(?:share|stock))?|(?<!\d)(?<!\d\.)\d[\d.]*\s?%|\bpar value\b|\bused (?:in|for|to)\b.*|"
    r"\b(?<!\d[,.])\d[\d,.]* (?:[\w-]+ ){0,3}shares\b",
    re.I,
)
_MONEY = (
    r"\$|\b(?:amount|cost|value|expense|income|revenue|cash|price|assets|liabilit|proceeds|"
    r"compensation|equity|sales|payments?)"
)
# What a label, or the words that it begins with, says of its numbers; the first match counts.
_MEANINGS = {
    unit: re.compile(pattern, re.I | re.M)
    for unit, pattern in {
        "ratio": r"\bratio$|\bmultiple$|\b(?:conversion|exchange) rate\b",
        "shares": rf"^(?!.*(?:{_PER_SHARE}|\b(?:cost|expense|compensation(?! plan))\b)).*(?:"
        rf"(?:\b(?:number|amount)|#) of (?:[\w'-]+ ){{0,5}}{_AWARDS}|"
        r"(?:\bnumber|#) of (?:[\w'-]+ ){0,5}(?:units|securities|stock)\b|"
        r"\b(?:average|basic|diluted) (?:[\w-]+[ -]){0,6}shares\b|"
        r"\bshares used\b|\(?in shares\)|\baverage number\b|\bdilutive|^denominator|"
        r"[,—–-]\s*shares$|^shares$|\b(?:average|common) (?:[\w-]+ ){0,3}shares outstanding|"
        r"\bshares (?:authorized|outstanding|issued and|remaining))",
        "share": rf"^(?!.*\b(?:aggregate|total|intrinsic|numerator)\b).*(?:{_PER_SHARE})",
        "money": r"(?:^|\s)\(?[a-z]{0,3}[$€£]\)?$|^amounts?$|"
        r"\b(?:canadian|australian|u\.?s\.?) dollars?$",
        "years": r"\bin years\b|\(years\)|\b(?:li(?:fe|ves)|(?:remaining|average|expected|lease)\b"
        r".* term)(?: \(?years\)?)?$",
        "%": r"%|\bpercent(?:age)?s?\b(?! points?)|\brates?$|\brate (?:of|on)\b|\bvolatility\b|"
        r"\byields?$|\bmargin$|^(?:effective|statutory)\b.*\brate",
        "": rf"^(?=.*\n).*(?:{_MONEY})",
        # numbers of shares, or the money for them
        "done": rf"^(?:[\w,-]+ ){{0,3}}(?:{_AWARDS}|restricted stock) (?:\w+ ){{0,2}}(?:"
        rf"(?:re)?purchased|granted|outstanding|available|exercis|vested|reserved|issued|forfeited)|{_AWARDS}$|^units$",
        "things": r"\b(?:member(?:ship)?s?|subscribers?|users?|tons|barrels|gallons|carloads|miles|"
        r"passengers|policies in force)(?: (?:net )?(?:additions?|losses))?(?: \(\w+\))?$",
        "places": r"\b(?:stores|units|unit counts|sites|locations|warehouses|restaurants|vehicles|"
        r"deliveries)$",
        "count": r"^(?:total )?(?:number|#) of\b|\bheadcount$|\bemployees$",
    }.items()
}
_COIN_ABOVE = re.compile(
    r"\([A-Za-z]{0,3}[$€£¥]\)|\b[A-Z]\w{0,2}\$|"
    r"\b(?:Canadian|Australian|U\.?S\.?) dollars?$",
    re.I,
)


class _Column:
    def __init__(self, heads: Row, cells: Row, label: str) -> None:
        numbers, low = [cell.number for cell in cells if cell.number], _lowest(heads)
        units = {one.unit for one in numbers}
        self.note = read_note(note_above(heads))
        self.money = {*filter(_is_coin, units)}
        self.printed = self.money | units & {"%"}
        self.most = max((abs(one.value) for one in numbers), default=0.0)
        self.first = next((one.unit for one in numbers if one.value), "%")
        self.coins = [*map(coin_in, _COIN_ABOVE.findall(low))]
        is_money = low != "Price" and re.search(_MONEY, low, re.I)
        self.meaning = meaning(low) or ("" if is_money else meaning(label))


class Units:
    """The units of a table in a filing where "$" means `coin`.

    `notes` are the table's or that above it, the last in the same part, and the most frequent.
    """

    def __init__(self, layout: Layout, coin: str, notes: Sequence[Note], caption: str) -> None:
        self.layout, self.note, self.home, self.above = layout, notes[0], coin, caption
        self.notes = list(zip(notes, ("note", "nearest", "majority"), strict=True))
        columns = zip(*layout.cells, strict=True)
        self.columns = [*map(_Column, layout.heads, columns, layout.columns)]
        self.coin = max(set().union(*(column.money for column in self.columns)), default="")
        self.most = max(column.most for column in self.columns)
        labels = (label.rpartition(": ")[2] for label in layout.rows)
        self.is_of_shares = "share" in map(meaning, labels)

    def cells(self, facts: Facts) -> tuple[tuple[Cell, ...], ...]:
        """Return the cells of the table. A tag has the sign of its concept, which a row inverts
        for most of its cells or for none.
        """
        done = []
        for label, cells in zip(self.layout.rows, self.layout.cells, strict=True):
            votes, row = Counter(), []
            names = ["".join(tag.get("name", "") for tag in cell.tags) for cell in cells]
            tagged = [*zip(cells, map(facts.cell, cells), names, self.columns, strict=True)]
            for cell, fact, name, _ in tagged:
                if fact and cell.number:
                    votes[name] += np.sign(cell.number.value * (fact.value or 0))
            for cell, fact, name, column in tagged:
                if fact and fact.value and votes[name] < 0:
                    fact = fact.model_copy(update={"value": -fact.value})
                row.append(fact or self._cell(cell, label, column))
            done.append(tuple(row))
        return tuple(done)

    def _cell(self, cell: Placed, label: str, column: _Column) -> Cell:
        if not cell.is_value:
            return Cell(text=cell.text)
        number, scale, where = cell.number, cell.number.scale or 1.0, ""
        is_coin = _is_coin(number.unit)
        unit = number.unit
        if is_coin or not unit:
            unit = self._by_label(cell, label, column).replace("done", "shares")
        is_per_share = unit == "share"
        if is_coin or unit in ("share", "money", ""):
            unit = number.unit or (self.coin or "$" if unit else self._by_table(column))
        if not number.scale and not _UNSCALED.fullmatch(unit) and not is_per_share:
            scale, where = self._scale(unit, label, column, cell.text)
        source = where or ("print" if unit and unit in {number.unit} | column.printed else "")
        if _is_coin(unit):
            other = self.home if unit == "$" or self.home == "CNY" else "JPY"
            said = (unit, *column.coins, self.note.coin, other)
            unit = next(one for one in said if len(one) == 3) + "/share" * is_per_share
        return Cell(
            text=cell.text,
            value=number.value,
            unit=_NAMELESS.sub("", unit),
            scale=scale,
            source=source,
        )

    def _scale(self, unit: str, label: str, column: _Column, text: str) -> tuple[float, str]:
        own = read_note(unit_note_in(label))
        for note, where in ((own, "note"), (column.note, "note"), *self.notes):
            if where != "note" and (
                not (unit or self.coin)
                or re.search(r"\.\d\d", text)
                or re.search(r"\$100 was|invest\w* of \$100\b(?! [mb])", self.above)
            ):
                break  # it prints no money, or cents, or an index of an investment
            if where == "majority" and self.most >= 1e6:
                break  # it prints whole units
            if (
                unit == "shares"
                and not note.shares
                and where != "note"
                and column.most >= 1e4
                and (column.meaning or not self.coin)
            ):
                continue  # of dollars, or whole shares
            if scale := unit == "shares" and note.shares or note.money:
                return scale, where
        return 1.0, ""

    def _by_label(self, cell: Placed, label: str, column: _Column) -> str:
        parts = label.split(": ")[::-1]
        has_cents = not re.search(r"\d,\d{3}|\d{4}", cell.text)
        if column.meaning and (column.meaning != "share" or has_cents):
            return column.meaning
        is_large = column.money or abs(cell.number.value) >= 100
        for part in parts:
            unit = meaning(part)
            is_of_money = {
                "done": not self.is_of_shares,
                "shares": "par value" in part,
                "places": True,
            }
            is_money = (
                self.coin
                and is_of_money.get(unit)
                or unit in ("share", *_RATES)
                and part != parts[0]
                and not has_cents
                or unit in _RATES
                and "." not in cell.text
                and "in years" not in part
                and is_large
            )
            if unit and not is_money:
                return unit
        return ""

    def _by_table(self, column: _Column) -> str:
        first = next((note for note, _ in self.notes if note.money or note.shares), Note())
        if first.shares and not first.money:
            return "shares"
        printed = column.printed
        if len(printed) == 1 and (printed != {"%"} or column.first in printed):
            return min(printed)
        if re.search(r"\b(?:number|shares) of\b|outstanding:|anti-?dilutive", self.above, re.I):
            return "shares" if re.search(rf"{_AWARDS}|stock", self.above, re.I) else ""
        return self.coin or (first.coin or "$" if first.money and first == self.note else "")


def _lowest(heads: Row) -> str:
    # the lowest header of a column, whose words may be spread over several rows
    cells = [cell for cell in heads if cell and not is_only_note(cell.text)]
    return " ".join(
        cell.text for cell in cells if (cell.start, cell.end) == (cells[-1].start, cells[-1].end)
    )


def _is_coin(unit: str) -> bool:
    return bool(re.fullmatch(r"[$¥]|[A-Z]{3}", unit))


def note_above(heads: Row) -> str:
    """Return the first unit note in these cells, "" if there is none."""
    return next(filter(None, (unit_note_in(cell.text, is_short=True) for cell in heads)), "")


def own_note(layout: Layout) -> str:
    """Return the unit note of a table's titles, or of all its columns; "" if none."""
    first, *others = {*map(note_above, layout.heads)}
    return note_above(layout.titles) or ("" if others else first)


@lru_cache(8192)
def meaning(label: str) -> str:
    """Return what a label says of its numbers: a key of _MEANINGS; "share" is money per share."""
    note = unit_note_in(label)
    text = " ".join(_ASIDE.sub(" ", label.replace(note, " ") if note else label).split())
    head = re.split(r"\s*[,;(]|\b(?:of|at|in|on|to|from|for|by|with|than|as)\b", text)[0].strip()
    said = f"{text}\n{head}"
    return next((unit for unit, pattern in _MEANINGS.items() if pattern.search(said)), "")
