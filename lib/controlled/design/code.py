"""Write a section's facts as data in a code block (CSV, JSON, YAML, XML) or as an HTML table.

A label keeps its words and spaces, so that formats differ in markup, not in names: JSON and YAML
allow spaces in keys, and in XML it is an attribute. Renderers: lib.controlled.design.structures.
"""

import csv
import io
import json
import random
from collections.abc import Callable
from html import escape

from lib.controlled.design.facts import is_list
from lib.controlled.records import KnownFact
from lib.core.text import Body, capitalised, laid


def _csv(name: str, facts: list[KnownFact], rng: random.Random) -> Body:
    return laid([_csv_line([fact.attribute, ", ".join(fact.value)]) for fact in facts],
                before=f"```csv\n{_csv_line(['property', 'value'])}\n", after="\n```")


def _csv_line(cells: list[str]) -> str:
    line = io.StringIO()
    csv.writer(line, lineterminator="").writerow(cells)
    return line.getvalue()


def _json(name: str, facts: list[KnownFact], rng: random.Random) -> Body:
    values = [fact.value if is_list(fact) else fact.value[0] for fact in facts]
    return laid([f"{json.dumps(fact.attribute)}: {json.dumps(value)}"
                 for fact, value in zip(facts, values, strict=True)],
                before="```json\n{\n  ", between=",\n  ", after="\n}\n```")


def _yaml(name: str, facts: list[KnownFact], rng: random.Random) -> Body:
    values = ["".join(f"\n  - {item}" for item in fact.value) if is_list(fact)
              else f" {fact.value[0]}" for fact in facts]
    return laid([f"{fact.attribute}:{value}" for fact, value in zip(facts, values, strict=True)],
                before="```yaml\n", after="\n```")


def _xml(name: str, facts: list[KnownFact], rng: random.Random) -> Body:
    values = ["".join(f"<item>{escape(item)}</item>" for item in fact.value) if is_list(fact)
              else escape(fact.value[0]) for fact in facts]
    return laid([f"<property name=\"{escape(fact.attribute)}\">{value}</property>"
                 for fact, value in zip(facts, values, strict=True)],
                before="```xml\n<record>\n  ", between="\n  ", after="\n</record>\n```")


def _html_table(name: str, facts: list[KnownFact], rng: random.Random) -> Body:
    cells = [(escape(capitalised(fact.attribute)), escape(", ".join(fact.value))) for fact in facts]
    return laid([f"<tr><th>{label}</th><td>{value}</td></tr>" for label, value in cells],
                before="<table>\n  ", between="\n  ", after="\n</table>")


CODE_STRUCTURES: dict[str, Callable[..., Body]] = {
    "csv": _csv, "json": _json, "yaml": _yaml, "xml": _xml, "html-table": _html_table,
}
