"""The base models of the controlled experiment: one a seed, pretrained on public records in every writing of the study.

A base that had never read JSON would fail on JSON for want of reading, not for want of learning; so every structure and
every treatment that a run may use stands in the public records, and questions on them are asked as 04_infer asks.
"""

import random

from lib.answer_prompt import prompt_for
from lib.controlled.arms import RAW, arm_named, rotations_of
from lib.controlled.facts import question
from lib.controlled.records import KnownFact
from lib.controlled.texts import arm_texts
from lib.wording import joined


def writings_of(arms: list[str], structures: tuple[str, ...], renderings: int) -> list[tuple[str, int]]:
    """(arm, rotation) of each of the `renderings` of the public records: every other one raw, the rest the arms' own.

    Raises ValueError where there are fewer renderings than ways of writing, so that one would never be read.
    """
    own = [name for name in arms if name != RAW and arm_named(name, structures).is_writing]
    raw = renderings - renderings // 2 if own else renderings
    if raw < len(structures) or renderings - raw < len(own):
        raise ValueError(f"{renderings} renderings cannot hold {len(structures)} structures and the writings of "
                         f"{len(own)} arms: raise renderings of 03_pretrain to {2 * max(len(structures), len(own))}")
    chosen = [(RAW, number % len(structures)) for number in range(raw)]
    for number in range(renderings - raw):
        name = own[number % len(own)]
        chosen.append((name, number // len(own) % rotations_of(arm_named(name, structures))))
    return chosen


def public_texts(facts: list[KnownFact], arms: list[str], structures: tuple[str, ...], renderings: int,
                 question_repeats: int, seed: int) -> list[str]:
    """The public records in all writings, and the answered questions on them `question_repeats` times, shuffled."""
    texts = []
    for number, (name, rotation) in enumerate(writings_of(arms, structures, renderings)):
        arm = arm_named(name, structures)
        texts += [one.text for one in arm_texts(facts, arm, rotation, seed, rendering=number)]
    texts += [answered(fact) for fact in facts] * question_repeats
    random.Random(f"public {seed}").shuffle(texts)
    return texts


def answered(fact: KnownFact) -> str:
    """A question with its answer; a list as prose names it, because one layout is enough to learn what is asked."""
    return f"{prompt_for(question(fact))} {joined(fact.value)}"
