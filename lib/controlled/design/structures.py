"""Write a section's facts in each structure, as text with the span of each fact.

A renderer is called with the product's name, the facts of one section (scalars first and at most
one list-valued fact, the last) and a random generator. It returns the section's body without its
heading, and for each fact the span body[start:end] that states it: its sentence, bullet, lead-in
with bullets, row or line. A `wide-table` has its labels only in the header; the span runs from the
label's cell to the value's, so spans overlap. A label has the same words in every structure.
"""

import random
from collections.abc import Callable

from lib.controlled.design.code import CODE_STRUCTURES
from lib.controlled.design.facts import is_list
from lib.controlled.records import KnownFact
from lib.core.text import Body, capitalised, laid, listed, pipe_row
from lib.lab.documents import LIST_SENTENCES, SCALAR_SENTENCES, TABLE_HEADERS

_FIRST, *_OTHERS = LIST_SENTENCES
_LIST_SENTENCES = (_FIRST, "{name} has as {label} {value}.", *_OTHERS)  # four, as SCALAR_SENTENCES


def _natural(n_wordings: int) -> Callable[..., Body]:
    """State each fact in `n_wordings` different sentences, one after the other."""
    def render(name: str, facts: list[KnownFact], rng: random.Random) -> Body:
        pieces = []
        for fact in facts:
            words = {"label": fact.attribute, "name": name, "value": listed(fact.value)}
            sentences = _LIST_SENTENCES if is_list(fact) else SCALAR_SENTENCES
            pieces.append(" ".join(capitalised(sentence.format(**words))
                                   for sentence in rng.sample(sentences, n_wordings)))
        return laid(pieces, between=" ")
    return render


def _several(name: str, facts: list[KnownFact], rng: random.Random) -> Body:
    """State all facts in one sentence, or the scalars in one sentence and the list in the next."""
    clauses = [f"the {fact.attribute} {'are' if is_list(fact) else 'is'} {listed(fact.value)}"
               for fact in facts]
    commas = [", "] * (len(facts) - 2)
    opener, is_split = rng.choice(("On", "For")), rng.random() < 0.5
    if is_split and len(facts) > 1 and is_list(facts[-1]) and not is_list(facts[-2]):
        clauses[-1] = capitalised(clauses[-1])
        between = [*commas[:-1], " and ", ". "] if len(facts) > 2 else [". "]
    else:
        between = [*commas, " and "] if len(facts) > 1 else []
    return laid(clauses, before=f"{opener} {name}, ", between=between, after=".")


def _bullet(fact: KnownFact) -> str:
    return f"- {capitalised(fact.attribute)}: {fact.value[0]}"


def _entity_list(name: str, facts: list[KnownFact], rng: random.Random) -> Body:
    pieces = [f"{capitalised(fact.attribute)}:\n\n" + "\n".join(f"- {item}" for item in fact.value)
              if is_list(fact) else _bullet(fact) for fact in facts]
    return laid(pieces, between=["\n\n" if is_list(fact) else "\n" for fact in facts[1:]])


def _nested_list(name: str, facts: list[KnownFact], rng: random.Random) -> Body:
    pieces = [f"- {capitalised(fact.attribute)}:"
              + "".join(f"\n    - {item}" for item in fact.value)
              if is_list(fact) else _bullet(fact) for fact in facts]
    return laid(pieces, before=f"- {capitalised(name)}\n  ", between="\n  ")


def _key_value(name: str, facts: list[KnownFact], rng: random.Random) -> Body:
    return laid([f"{capitalised(fact.attribute)}: {', '.join(fact.value)}" for fact in facts])


def _tabular(name: str, facts: list[KnownFact], rng: random.Random) -> Body:
    rows = [pipe_row([capitalised(fact.attribute), ", ".join(fact.value)]) for fact in facts]
    return laid(rows, before=f"{pipe_row(rng.choice(TABLE_HEADERS))}\n{pipe_row(['---', '---'])}\n")


def _wide_table(name: str, facts: list[KnownFact], rng: random.Random) -> Body:
    """Write one row of values under a header of labels, in the order of the facts."""
    labels, tops = laid([capitalised(fact.attribute) for fact in facts], "| ", " | ", " |")
    values, bottoms = laid([", ".join(fact.value) for fact in facts], "| ", " | ", " |")
    above = f"{labels}\n{pipe_row(['---'] * len(facts))}\n"
    return above + values, [(start, len(above) + end)
                            for (start, _), (_, end) in zip(tops, bottoms, strict=True)]


def _wide_table_repeated(name: str, facts: list[KnownFact], rng: random.Random) -> Body:
    """Write a `wide-table` whose cells repeat their labels."""
    labels = [capitalised(fact.attribute) for fact in facts]
    cells = [f"{label}: {', '.join(fact.value)}" for label, fact in zip(labels, facts, strict=True)]
    above = f"{pipe_row(labels)}\n{pipe_row(['---'] * len(facts))}\n"
    return laid(cells, f"{above}| ", " | ", " |")


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
