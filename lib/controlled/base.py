"""The base models of the controlled experiment: one a seed, pretrained on public records in every writing of the study.

A base that had never read JSON would fail on JSON for want of reading, not for want of learning; so every structure and
every treatment stands in the public records (but a model's rewriting, whose words no one knows before). Each structure
states as many public facts as each other one, whatever arms there are, because a base that has read more prose than
tables learns prose better. Questions on them are asked as 04_infer asks, and a list is answered in one layout.
"""

import random

from lib.controlled.design.arms import NORMALIZED, RAW, arm_named
from lib.controlled.design.facts import question
from lib.controlled.design.texts import arm_texts
from lib.controlled.records import KnownFact
from lib.core.text import listed
from lib.infer.prompts import prompt_for

Writing = tuple[str, tuple[str, ...], int]  # arm, the structures of its layout, rotation


def writings_of(arms: list[str], structures: tuple[str, ...], renderings: int) -> list[Writing]:
    """The `renderings` of the public records: up to half of them the arms' own, each as often, the rest raw.

    A raw rendering has the structures that were read least so far, so that in the end all are read alike (within one
    rendering; exactly for three structures). Raises ValueError where the renderings do not suffice for that.
    """
    own = list(dict.fromkeys(
        NORMALIZED if arm_named(name, structures).is_mixed else name for name in arms
        if name != RAW and (arm_named(name, structures).is_writing or arm_named(name, structures).is_mixed)))
    for each in range(renderings // 2 // len(own), 0, -1) if own else [0]:
        chosen = _with_raw(own, each, structures, renderings)
        read = shares_read(chosen, structures)
        if max(read.values()) - min(read.values()) <= 1:
            return chosen
    raise ValueError(f"{renderings} renderings do not suffice for {len(structures)} structures, each read alike, and "
                     f"{len(own)} arms with writings of their own: raise renderings of 01_pretrain")


def _with_raw(own: list[str], each: int, structures: tuple[str, ...], renderings: int) -> list[Writing]:
    """`each` renderings of the arms in `own`, then raw ones."""
    chosen: list[Writing] = [(name, structures, number % len(structures) if not name.startswith("table-") else 0)
                             for name in own for number in range(each)]
    raw: list[tuple[str, ...]] = []
    for _ in range(renderings - len(chosen)):
        read = shares_read([*chosen, *((RAW, few, 0) for few in raw)], structures)
        raw.append(tuple(name for name in structures if read[name] < max(read.values()) - 1e-9) or structures)
    return chosen + [(RAW, few, raw[:number].count(few) % len(few)) for number, few in enumerate(raw)]


def shares_read(writings: list[Writing], structures: tuple[str, ...]) -> dict[str, float]:
    """How often a public fact is stated in each structure, on average.

    What rules rewrite counts as natural prose; a catalogue of several products is none of the structures.
    """
    read = dict.fromkeys(structures, 0.0)
    for name, own, _ in writings:
        stated = ("natural",) if name == NORMALIZED else () if name.startswith("table-") else own
        for structure in stated:
            if structure in read:
                read[structure] += 1 / len(stated)
    return read


def public_texts(facts: list[KnownFact], arms: list[str], structures: tuple[str, ...], renderings: int,
                 question_repeats: int, seed: int) -> list[str]:
    """The public records in all writings, and the answered questions on them `question_repeats` times, shuffled."""
    texts = []
    for number, (name, own, rotation) in enumerate(writings_of(arms, structures, renderings)):
        texts += [one.text for one in arm_texts(facts, arm_named(name, own), rotation, seed, rendering=number)]
    texts += [answered(fact) for fact in facts] * question_repeats
    random.Random(f"public {seed}").shuffle(texts)
    return texts


def answered(fact: KnownFact) -> str:
    """A question with its answer; a list as prose names it, because one layout is enough to learn what is asked."""
    return f"{prompt_for(question(fact))} {listed(fact.value)}"
