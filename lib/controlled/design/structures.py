"""A section's facts in each structure, as running text, and where each fact stands in it.

A renderer is called as renderer(name, facts, rng, is_named=True) with the facts of one section, scalars first and at
most one list-valued fact, the last. It returns the section's body without heading, and for each fact the span
body[start:end] that states it: its sentence, bullet, lead-in with bullets, row or line. In a table that says its labels
once, above (`wide-table`), the span runs from the label's cell to the value's, so spans overlap there.
The words of a label are the same in every structure, and `is_named=False` says "this unit" where prose would name it.
"""

import random
from collections.abc import Callable

from lib.controlled.design.code import CODE_STRUCTURES
from lib.controlled.design.facts import is_list
from lib.controlled.records import KnownFact
from lib.core.layout import Body, capitalised, laid, pipe_row
from lib.core.text import listed

# The product comes before the value: a sentence that begins with the value would test recall in reverse.
_SCALAR_SENTENCES = (
    "The {label} of {name} is {value}.",
    "{name} has a {label} of {value}.",
    "On {name}, the {label} is {value}.",
    "For {name}, the {label} is {value}.",
)
_LIST_SENTENCES = (
    "The {label} of {name} are {value}.",
    "{name} has as {label} {value}.",
    "On {name}, the {label} are {value}.",
    "For {name}, the {label} are {value}.",
)
_TABLE_HEADERS = (("Property", "Value"), ("Item", "Entry"), ("Parameter", "Setting"))


def _name(name: str, is_named: bool) -> str:
    return name if is_named else "this unit"


def _natural(n_wordings: int) -> Callable[..., Body]:
    """One sentence a fact, or the fact in `n_wordings` different sentences, one after the other."""
    def render(name: str, facts: list[KnownFact], rng: random.Random, *, is_named: bool = True) -> Body:
        pieces = []
        for fact in facts:
            phrasings = rng.sample(_LIST_SENTENCES if is_list(fact) else _SCALAR_SENTENCES, n_wordings)
            pieces.append(" ".join(capitalised(phrasing.format(label=fact.attribute, name=_name(name, is_named),
                                                               value=listed(fact.value))) for phrasing in phrasings))
        return laid(pieces, between=" ")
    return render


def _several(name: str, facts: list[KnownFact], rng: random.Random, *, is_named: bool = True) -> Body:
    """All facts in one sentence, or the scalars in one and the list in the next."""
    who = _name(name, is_named)
    clauses = [f"the {fact.attribute} {'are' if is_list(fact) else 'is'} {listed(fact.value)}" for fact in facts]
    commas = [", "] * (len(facts) - 2)
    opener, is_split = rng.choice(("On", "For")), rng.random() < 0.5
    if is_split and len(facts) > 1 and is_list(facts[-1]) and not is_list(facts[-2]):
        clauses[-1] = capitalised(clauses[-1])
        between = [*commas[:-1], " and ", ". "] if len(facts) > 2 else [". "]
    else:
        between = [*commas, " and "] if len(facts) > 1 else []
    return laid(clauses, before=f"{opener} {who}, ", between=between, after=".")


def _entity_list(name: str, facts: list[KnownFact], rng: random.Random, *, is_named: bool = True) -> Body:
    pieces = [f"{capitalised(fact.attribute)}:\n\n" + "\n".join(f"- {item}" for item in fact.value) if is_list(fact)
              else f"- {capitalised(fact.attribute)}: {fact.value[0]}" for fact in facts]
    return laid(pieces, between=["\n\n" if is_list(fact) else "\n" for fact in facts[1:]])


def _nested_list(name: str, facts: list[KnownFact], rng: random.Random, *, is_named: bool = True) -> Body:
    pieces = [f"- {capitalised(fact.attribute)}:" + "".join(f"\n    - {item}" for item in fact.value) if is_list(fact)
              else f"- {capitalised(fact.attribute)}: {fact.value[0]}" for fact in facts]
    return laid(pieces, before=f"- {capitalised(_name(name, is_named))}\n  ", between="\n  ")


def _key_value(name: str, facts: list[KnownFact], rng: random.Random, *, is_named: bool = True) -> Body:
    return laid([f"{capitalised(fact.attribute)}: {', '.join(fact.value)}" for fact in facts])


def _tabular(name: str, facts: list[KnownFact], rng: random.Random, *, is_named: bool = True) -> Body:
    rows = [pipe_row([capitalised(fact.attribute), ", ".join(fact.value)]) for fact in facts]
    return laid(rows, before=f"{pipe_row(rng.choice(_TABLE_HEADERS))}\n{pipe_row(['---', '---'])}\n")


def _wide_table(name: str, facts: list[KnownFact], rng: random.Random, *, is_named: bool = True) -> Body:
    """One row of values under a header of labels, cells in the order of the facts."""
    labels, label_spans = laid([capitalised(fact.attribute) for fact in facts], "| ", " | ", " |")
    values, value_spans = laid([", ".join(fact.value) for fact in facts], "| ", " | ", " |")
    above = f"{labels}\n{pipe_row(['---'] * len(facts))}\n"
    return above + values, [(label[0], len(above) + value[1])
                            for label, value in zip(label_spans, value_spans, strict=True)]


def _wide_table_repeated(name: str, facts: list[KnownFact], rng: random.Random, *, is_named: bool = True) -> Body:
    """As `wide-table`, but a cell says its label too: the table with its header repeated."""
    labels = [capitalised(fact.attribute) for fact in facts]
    cells = [f"{label}: {', '.join(fact.value)}" for label, fact in zip(labels, facts, strict=True)]
    return laid(cells, f"{pipe_row(labels)}\n{pipe_row(['---'] * len(facts))}\n| ", " | ", " |")


STRUCTURES: dict[str, Callable[..., Body]] = {
    "natural": _natural(1),
    "entity-list": _entity_list,
    "tabular": _tabular,
    "key-value": _key_value,
    **CODE_STRUCTURES,
    "wide-table": _wide_table,
    "wide-table-repeated": _wide_table_repeated,
    "nested-list": _nested_list,
    "prose-several": _several,
    "prose-2": _natural(2),
    "prose-4": _natural(4),
}
