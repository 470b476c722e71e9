"""Write prompts about structured texts in the papers' six settings (v2), from prompts/structext/.

Every prompt names the text's language, as every prompt of the papers does. The papers' instruction
on the layout of the answer is part of the question. `few-shot` shows samples of the same depth and
width, `simple-few-shot` samples of depth 2 and width 1, as the official code does (the paper says:
the shortest training examples). A text, its question, hint and demonstrations are data, so anything
in them that could pass for a part of the prompt is split (lib.core.prompts).
"""

import re
from collections.abc import Callable, Sequence
from functools import cache
from random import Random

from lib.core.prompts import SPLIT, defused, prompt_template
from lib.core.records import Query, Record
from lib.tasks.structext.generate.wording import HINTS
from lib.tasks.structext.records import Sample

FEW_SHOT = ("few-shot", "simple-few-shot")
SIMPLE = (2, 1)  # depth and width, in the official code (Generation/datagen_simplefewshot.py)
SETTINGS = {  # setting -> its prompt
    "base": prompt_template("structext/base"),
    "self-cot": prompt_template("structext/self-cot"),
    "ps-cot": prompt_template("structext/ps-cot"),
    "hint": prompt_template("structext/hint"),
    "few-shot": prompt_template("structext/few-shot"),
    "simple-few-shot": prompt_template("structext/few-shot"),
}
REASONING = ("self-cot", "ps-cot")  # the answer is in tags, after the reasoning
TAGS = "text|question|hint|answer"
# <S> and <SYS> in XML are split like chat turns and joined again: in capitals they are not turns.
_ELEMENT = re.compile(rf"(?<=<){SPLIT}(?=/?(?:S|SYS)>)")
_LISTS = tuple(
    f"{language}.{index}" for language in ("latex", "markdown", "org") for index in (0, 2)
)
_LONG = (*_LISTS, "latex.1", "markdown.1", "org.1", "json.0", "json.4", "yaml.0", "yaml.4", "xml.0")


class Prompted(Record):
    """A sample with its prompt in one setting."""

    sample: Sample
    setting: str
    n_shots: int
    demonstrations: tuple[str, ...]  # ids of the samples shown with their answers, in order
    prompt: str  # all that the model is given, sent unchanged; "" in asked.jsonl, see queries.jsonl
    suite: str = ""  # the suite that the sample was taken from; suites may share samples

    @property
    def query_id(self) -> str:
        """Join suite, sample, setting and shots, because a sample may have several prompts."""
        suite = self.suite and f"{self.suite}:"
        shots = f"-{self.n_shots}" if self.n_shots else ""
        return f"{suite}{self.sample.id}:{self.setting}{shots}"


def prompts_for(
    samples: Sequence[Sample],
    setting: str,
    n_shots: int = 0,
    pool: Sequence[Sample] | None = None,
    seed: int = 42,
    suite: str = "",
    *,
    own: Sequence[Sequence[Sample]] | None = None,
) -> list[Prompted]:
    """Return the prompt of each sample, in order, in one of SETTINGS.

    Demonstrations are drawn from `pool` (default: `samples`), or are each sample's `own`, which
    were published with it. Raises ValueError for an unknown setting, for a number of shots that it
    does not allow, and as `demonstrations_for` does.
    """
    if setting not in SETTINGS:
        raise ValueError(f"setting {setting!r} is unknown: choose one of {', '.join(SETTINGS)}")
    is_few_shot = setting in FEW_SHOT
    if is_few_shot != (n_shots > 0) or n_shots < 0:
        raise ValueError(
            f"n_shots is {n_shots}, but {setting} shows "
            + ("at least 1" if is_few_shot else "no demonstration: give 0")
        )
    shown, split = [()] * len(samples), cache(_defused)  # a demonstration is shown many times
    if n_shots:
        shown = own or demonstrations_for(
            samples, samples if pool is None else pool, n_shots, seed, setting
        )
    return [
        Prompted(
            sample=sample,
            setting=setting,
            n_shots=n_shots,
            suite=suite,
            demonstrations=tuple(one.id for one in examples),
            prompt=_prompt(sample, setting, examples, split),
        )
        for sample, examples in zip(samples, shown, strict=True)
    ]


def demonstrations_for(
    samples: Sequence[Sample],
    pool: Sequence[Sample],
    n_shots: int,
    seed: int = 42,
    setting: str = "few-shot",
) -> list[tuple[Sample, ...]]:
    """Return, for each sample in order, `n_shots` of `pool` with other texts, drawn by `seed`.

    A draw depends on the sample's id and its part of the pool alone, and a draw of more shots
    extends the draw of fewer. Raises ValueError if the pool has too few other texts.
    """
    parts: dict[tuple, dict[str, Sample]] = {}  # cell -> its samples, one per text
    for one in sorted(pool, key=lambda one: one.id):
        parts.setdefault(one.cell, {}).setdefault(one.reference, one)
    chosen = []
    for sample in samples:
        cell = sample.cell if setting == "few-shot" else (sample.task, *SIMPLE)
        others = [one for text, one in parts.get(cell, {}).items() if text != sample.reference]
        if len(others) < n_shots:
            task, depth, width = cell
            raise ValueError(
                f"{task} at depth {depth}, width {width}: the pool has {len(others)} "
                f"texts in addition to that of {sample.id}, too few for {n_shots} "
                "shots; generate a pool with more samples per task"
            )
        Random(f"{seed} {sample.id}").shuffle(others)
        chosen.append(tuple(others[:n_shots]))
    return chosen


def as_queries(prompted: Sequence[Prompted]) -> list[Query]:
    """Return `prompted` as queries to answer and judge; `context` is the complete prompt.

    The judge needs only `question` and `answer`. All questions on a text share `document_id`. A
    sample has no place in a document; `structure` is the closest of the study's three: tabular for
    tables, entity-list for answers of several lines, natural for the rest. Lists of names also have
    `entity_count`.
    """
    return [
        Query(
            query_id=one.query_id,
            document_id=one.sample.text_id,
            question=one.sample.question,
            answer=one.sample.answer,
            structure=_structure(one.sample),
            source_reference="",
            start=0,
            end=0,
            entity_count=(
                len(one.sample.answer.splitlines()) if one.sample.task in _LISTS else None
            ),
            block_type=one.sample.language,
            context=one.prompt,
        )
        for one in prompted
    ]


def _prompt(
    sample: Sample, setting: str, examples: Sequence[Sample], split: Callable[[str], str]
) -> str:
    raw = [
        (sample.reference, sample.question, sample.hint or HINTS[sample.task]),
        *((one.reference, one.question, one.answer) for one in examples),
    ]
    shown = [tuple(map(split, part)) for part in raw]
    (text, question, hint), *others = shown
    return SETTINGS[setting].render(
        language=sample.language,
        text=text,
        question=question,
        hint=hint,
        is_split=shown != raw,
        examples=[dict(zip(("text", "question", "answer"), part, strict=True)) for part in others],
    )


def _defused(text: str) -> str:
    split = defused(text, TAGS)
    return split if SPLIT in text else _ELEMENT.sub("", split)


def _structure(sample: Sample) -> str:
    if sample.language == "csv":
        return "tabular"
    return "entity-list" if sample.task in _LONG else "natural"
