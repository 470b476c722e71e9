"""A section's facts as data in a fenced block (CSV, JSON, YAML, XML) or as an HTML table (lib.controlled.design.structures).

A label keeps its words and blanks (JSON and YAML keys may hold them; XML gives it as an attribute), so that formats
differ in their marks and not in their names.
"""

import csv
import io
import json
import random
from collections.abc import Callable
from html import escape

from lib.controlled.design.facts import is_list
from lib.controlled.records import KnownFact
from lib.core.layout import Body, capitalised, laid


def _csv(name: str, facts: list[KnownFact], rng: random.Random, *, is_named: bool = True) -> Body:
    return laid([_csv_line([fact.attribute, ", ".join(fact.value)]) for fact in facts],
                before=f"```csv\n{_csv_line(['property', 'value'])}\n", after="\n```")


def _csv_line(cells: list[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(cells)
    return line.getvalue()


def _json(name: str, facts: list[KnownFact], rng: random.Random, *, is_named: bool = True) -> Body:
    return laid([f"{json.dumps(fact.attribute)}: {json.dumps(_value(fact))}" for fact in facts],
                before="```json\n{\n  ", between=",\n  ", after="\n}\n```")


def _yaml(name: str, facts: list[KnownFact], rng: random.Random, *, is_named: bool = True) -> Body:
    return laid([f"{fact.attribute}:" + "".join(f"\n  - {item}" for item in fact.value) if is_list(fact)
                 else f"{fact.attribute}: {fact.value[0]}" for fact in facts], before="```yaml\n", after="\n```")


def _xml(name: str, facts: list[KnownFact], rng: random.Random, *, is_named: bool = True) -> Body:
    return laid([f"<property name=\"{escape(fact.attribute)}\">{_xml_value(fact)}</property>" for fact in facts],
                before="```xml\n<record>\n  ", between="\n  ", after="\n</record>\n```")


def _xml_value(fact: KnownFact) -> str:
    return "".join(f"<item>{escape(item)}</item>" for item in fact.value) if is_list(fact) else escape(fact.value[0])


def _html_table(name: str, facts: list[KnownFact], rng: random.Random, *, is_named: bool = True) -> Body:
    return laid([f"<tr><th>{escape(capitalised(fact.attribute))}</th><td>{escape(', '.join(fact.value))}</td></tr>"
                 for fact in facts], before="<table>\n  ", between="\n  ", after="\n</table>")


def _value(fact: KnownFact) -> str | list[str]:
    """A value as JSON has it: a string or an array."""
    return fact.value if is_list(fact) else fact.value[0]


CODE_STRUCTURES: dict[str, Callable[..., Body]] = {
    "csv": _csv, "json": _json, "yaml": _yaml, "xml": _xml, "html-table": _html_table,
}
