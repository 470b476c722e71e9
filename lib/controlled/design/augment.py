"""Add synthetic texts to the raw records: paraphrases, other orders, other structures, questions.

Half of the products, the same in every arm, have question-answer pairs in the arms with pairs. The
facts of the other half show whether the pairs teach more than their own answers.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from lib.augment.wordings import paraphrases
from lib.controlled.design.facts import by_product, question
from lib.controlled.design.latin_square import render
from lib.controlled.records import KnownFact, Rendered
from lib.core.text import listed
from lib.infer.prompts import prompt_for


@dataclass(frozen=True)
class Augmentation:
    """What an arm trains on in addition to the raw records."""

    paraphrases: int = 0  # paragraphs per record, each with all its facts in other words
    permutations: int = 0  # copies per record with its sections and their facts in another order
    pairs: bool = False  # the questions about half of the products, with answers
    are_pairs_first: bool = False  # whether the pairs are trained on before everything else
    every_structure: bool = False  # the record in all other rotations


def augmented(
    rendered: list[Rendered],
    facts: list[KnownFact],
    how: Augmentation,
    rotation: int,
    seed: int,
    structures: Sequence[str],
) -> list[Rendered]:
    """Return `rendered`, the raw records, and what `how` adds to each of them."""
    added = []
    for one, known in zip(rendered, by_product(facts).values(), strict=True):
        texts = paragraphs(known, how.paraphrases, random.Random(f"paraphrase {seed} {one.title}"))
        added += [one.model_copy(update={"text": text}) for text in texts]
    copies = [
        render(facts, rotation, seed, structures, permutation=number)
        for number in range(1, how.permutations + 1)
    ]
    if how.every_structure:
        copies += [
            render(facts, other, seed, structures)
            for other in range(len(structures))
            if other != rotation
        ]
    added += [
        one.model_copy(update={"text": copy.text})
        for each in copies
        for one, copy in zip(rendered, each, strict=True)
    ]
    if how.pairs:
        by_title, paired = {one.title: one for one in rendered}, paired_products(facts)
        added += [
            by_title[fact.product].model_copy(
                update={"text": answered(fact), "is_first": how.are_pairs_first}
            )
            for fact in facts
            if fact.product in paired
        ]
    return [*rendered, *added]


def paragraphs(facts: list[KnownFact], k: int, rng: random.Random) -> list[str]:
    """Return `k` paragraphs, each with every fact once; a fact's wordings differ between them."""
    sentences = [paraphrases(fact.product, fact.attribute, fact.value, k, rng) for fact in facts]
    drawn = [[each[number] for each in sentences] for number in range(k)]
    return [" ".join(rng.sample(each, len(each))) for each in drawn]


def paired_products(facts: list[KnownFact]) -> frozenset[str]:
    """Draw the half of the products that have question-answer pairs; the facts decide which."""
    products = list(by_product(facts))
    rng = random.Random(f"pairs {' '.join(products)}")
    return frozenset(rng.sample(products, len(products) // 2))


def answered(fact: KnownFact) -> str:
    """Return a question with its answer. A list is always written as in prose."""
    return f"{prompt_for(question(fact))} {listed(fact.value)}"
