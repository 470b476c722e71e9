"""Texts of the base models: one base per seed, pretrained on public records in all forms.

A base that had never read a table would fail on tables because it cannot read them, not because it
cannot learn from them. The public records therefore have every structure and every treatment.
Each structure states equally many public facts, whatever arms there are, because a base that has
read more prose than tables learns prose better.
"""

import random
from collections.abc import Sequence

from lib.controlled.design.arms import NORMALIZED, PARAPHRASE, RAW, arm_named
from lib.controlled.design.augment import answered
from lib.controlled.design.texts import arm_texts
from lib.controlled.records import KnownFact
from lib.core.structures import prose

Writing = tuple[str, tuple[str, ...], int]  # arm, the structures of its layout, rotation


def writings_of(arms: list[str], structures: tuple[str, ...], renderings: int) -> list[Writing]:
    """Choose the `renderings` of the public records: up to half as the arms write, the rest raw.

    Each arm's writing occurs equally often, and each structure is read equally often (within one
    rendering). Raises ValueError if there are too few renderings for that.
    """
    own = list(dict.fromkeys(filter(None, (arm_named(name).writing for name in arms))))
    most = renderings // 2 // len(own) if own else 0
    if PARAPHRASE in own:  # half of the prose that the base reads is worded as raw prose
        most = max(1, min(most, renderings // 2 // len(structures) // len(own)))
    for each in range(most, 0, -1) if own else [0]:
        chosen = _with_raw(own, each, structures, renderings)
        read = shares_read(chosen, structures).values()
        if max(read) - min(read) <= 1:
            return chosen
    raise ValueError(
        f"{renderings} renderings are too few for {len(structures)} structures, "
        f"each read equally often, and {len(own)} arms with writings of their own: "
        "raise the base's `renderings`"
    )


def _with_raw(
    own: list[str], each: int, structures: tuple[str, ...], renderings: int
) -> list[Writing]:
    chosen: list[Writing] = [
        (name, structures, number % len(structures)) for name in own for number in range(each)
    ]
    raw: list[tuple[str, ...]] = []
    for _ in range(renderings - len(chosen)):
        read = shares_read([*chosen, *((RAW, few, 0) for few in raw)], structures)
        most = max(read.values())
        raw.append(tuple(name for name in structures if read[name] < most - 1e-9) or structures)
    return chosen + [
        (RAW, few, raw[:number].count(few) % len(few)) for number, few in enumerate(raw)
    ]


def shares_read(writings: list[Writing], structures: Sequence[str]) -> dict[str, float]:
    """Return how often a public fact is stated in each structure, on average.

    Text rewritten by rules and paraphrases count as natural prose.
    """
    read = dict.fromkeys(structures, 0.0)
    for name, own, _ in writings:
        stated = (prose(),) if name in (NORMALIZED, PARAPHRASE) else own
        for structure in stated:
            if structure in read:
                read[structure] += 1 / len(stated)
    return read


def public_texts(
    facts: list[KnownFact],
    arms: list[str],
    structures: tuple[str, ...],
    renderings: int,
    question_repeats: int,
    seed: int,
) -> list[str]:
    """Return all writings of the public records and the repeated, answered questions, shuffled."""
    texts = []
    for number, (name, own, rotation) in enumerate(writings_of(arms, structures, renderings)):
        rendered = arm_texts(facts, arm_named(name), rotation, seed, own, number)
        texts += [one.text for one in rendered]
    texts += [answered(fact) for fact in facts] * question_repeats
    random.Random(f"public {seed}").shuffle(texts)
    return texts
