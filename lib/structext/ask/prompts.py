"""What a model is asked about a structured text: the papers' six prompt settings (v2, Prompts), as prompts/structext/.

The requirement of the papers, how the answer is to be laid out, is a part of the question. A text, its question, hint
and demonstrations are data: what in them could pass for a part of the prompt is split (lib.core.untrusted).
"""

import re
from collections.abc import Callable, Sequence
from functools import cache
from typing import NamedTuple

from lib.core.prompts import prompt_template
from lib.core.records import Query, Record, Structure
from lib.core.untrusted import SPLIT, defused
from lib.structext.ask.demonstrations import demonstrations_for
from lib.structext.generate.wording import HINTS
from lib.structext.records import Sample

SETTINGS = {  # setting -> its prompt
    "base": prompt_template("structext/base"),
    "self-cot": prompt_template("structext/self-cot"),
    "ps-cot": prompt_template("structext/ps-cot"),
    "hint": prompt_template("structext/hint"),
    "few-shot": prompt_template("structext/few-shot"),
    "simple-few-shot": prompt_template("structext/few-shot")}
FEW_SHOT = ("few-shot", "simple-few-shot")
REASONING = ("self-cot", "ps-cot")  # the answer stands in tags, after what leads to it
SHOTS = (1, 2, 3, 5)  # of the papers' curve
TAGS = "text|question|hint|answer"
_ELEMENT = re.compile(rf"(?<=<){SPLIT}(?=/?(?:S|SYS)>)")  # of the tags A, B, …: in small letters they open turns
_TABLES = ("csv", "html-table", "markdown-table")
_LISTS = tuple(f"{language}.{index}" for language in ("latex", "markdown", "org") for index in (0, 2))
_LONG = (*_LISTS, "latex.1", "markdown.1", "org.1", "json.0", "json.4", "yaml.0", "yaml.4", "xml.0")


class _Example(NamedTuple):
    """What a prompt shows of a demonstration."""

    text: str
    question: str
    answer: str


class Asked(Record):
    """A sample as one setting asks for it."""

    sample: Sample
    setting: str
    n_shots: int
    demonstrations: tuple[str, ...]  # ids of the samples that are shown with their answers, in order
    prompt: str  # all that the model is given, ready to be asked as it stands
    suite: str = ""  # that a study took the sample from; suites may share samples

    @property
    def query_id(self) -> str:
        """The sample's id between its suite and the setting with its shots: a sample may be asked in many ways."""
        suite, shots = self.suite and f"{self.suite}:", f"-{self.n_shots}" if self.n_shots else ""
        return f"{suite}{self.sample.id}:{self.setting}{shots}"


def prompts_for(samples: Sequence[Sample], setting: str, n_shots: int = 0, pool: Sequence[Sample] | None = None,
                seed: int = 42, suite: str = "") -> list[Asked]:
    """The prompt of each sample, in order, in one of SETTINGS; demonstrations come from `pool` (default: `samples`).

    Raises ValueError for an unknown setting, for shots where a setting has none or none where it needs some, and as
    `demonstrations_for` does.
    """
    if setting not in SETTINGS:
        raise ValueError(f"setting {setting!r} is unknown: choose one of {', '.join(SETTINGS)}")
    if (setting in FEW_SHOT) != (n_shots > 0) or n_shots < 0:
        raise ValueError(f"n_shots is {n_shots}, but {setting} "
                         + ("shows at least 1" if setting in FEW_SHOT else "shows no demonstration: give 0"))
    shown, split = [()] * len(samples), cache(_defused)  # a demonstration is shown many times
    if n_shots:
        shown = demonstrations_for(samples, samples if pool is None else pool, n_shots, seed,
                                   is_shortest=setting == "simple-few-shot")
    return [Asked(sample=sample, setting=setting, n_shots=n_shots, demonstrations=tuple(one.id for one in examples),
                  prompt=_prompt(sample, setting, examples, split), suite=suite)
            for sample, examples in zip(samples, shown, strict=True)]


def as_queries(asked: Sequence[Asked]) -> list[Query]:
    """The same as queries for 04_infer and 05_judge: `context` is the whole prompt, to be asked as it stands.

    The judge needs no more than `question` and `answer`; `document_id` is the same for all questions on one text. A
    fact has no place in a document here, and `structure` is of the study's three whatever fits: tabular for tables,
    entity-list for answers of several lines, natural for the rest; the lists among them have `entity_count`.
    """
    return [Query(query_id=one.query_id, document_id=one.sample.text_id, question=one.sample.question,
                  answer=one.sample.answer, structure=_structure(one.sample), source_reference="", start=0, end=0,
                  entity_count=len(one.sample.answer.splitlines()) if one.sample.task in _LISTS else None,
                  block_type=one.sample.language, context=one.prompt) for one in asked]


def _prompt(sample: Sample, setting: str, examples: Sequence[Sample], split: Callable[[str], str]) -> str:
    raw = [(sample.reference, sample.question, sample.hint or HINTS[sample.task]),
           *((one.reference, one.question, one.answer) for one in examples)]
    shown = [tuple(map(split, part)) for part in raw]
    (text, question, hint), *others = shown
    return SETTINGS[setting].render(text=text, question=question, hint=hint, is_split=shown != raw,
                    examples=[_Example(*part) for part in others])


def _defused(text: str) -> str:
    """`text` that can leave none of TAGS. XML's own <S> stays whole: texts are copied, and no turn of a chat is so."""
    split = defused(text, TAGS)
    return split if SPLIT in text else _ELEMENT.sub("", split)


def _structure(sample: Sample) -> Structure:
    if sample.language in _TABLES:
        return "tabular"
    return "entity-list" if sample.task in _LONG else "natural"
