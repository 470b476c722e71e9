"""Make samples of StrucText-Eval, one by one or as the papers' suites: same seed, same bytes.

A text is grown from an abstract tree. Two dials set its difficulty: it has `depth` levels below the
root, and every inner node has depth × `width` children. A third, `size`, sets how much a node
holds. Every text has its own random generator, seeded by seed, language, dials and number. The
structure is drawn independently of the names, so corrected, faithful and Real-Test samples of the
same number share it, except where a correction adds to it. The official generator's faults, which
mode `faithful` keeps and `corrected` avoids, are listed in notebooks/structext/README.md.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import count
from random import Random
from typing import Any, NamedTuple
from zlib import crc32

from lib.tasks.structext.generate import objects, parts, tables
from lib.tasks.structext.generate.language import Language, Setting
from lib.tasks.structext.generate.naming import names_for
from lib.tasks.structext.generate.tree import layout
from lib.tasks.structext.generate.wording import HINTS, QUESTIONS
from lib.tasks.structext.records import LANGUAGES, MODES, TASKS, Sample

# To add a language, add a line here, tasks in records, and questions and hints in questions.yaml.
PLUG_INS: dict[str, Language] = {
    "csv": tables.CSV,
    "tree": tables.TREE,
    "json": objects.JSON,
    "yaml": objects.YAML,
    "xml": objects.XML,
    "latex": parts.LATEX,
    "markdown": parts.MARKDOWN,
    "org": parts.ORG,
}

# Suite -> (depth, width, samples of each of the 29 tasks), from v2, section 4. Depths 1 and 2 stand
# for the halves of v1, whose lengths (its Table 3) they were not chosen by.
SUITES: dict[str, list[tuple[int, int, int]]] = {
    "test": [(1, 1, 64), (2, 1, 64)],  # 3,712
    "real-test": [(1, 1, 16), (2, 1, 16)],  # 928
    "test-hard": [(depth, width, 8) for depth in (1, 2, 3) for width in (1, 2, 3)],  # 2,088
    "v1-simple": [(1, 1, 104)],  # 3,016
    "v1-hard": [(2, 1, 104)],  # 3,016
}
JUNE = ("v1-simple", "v1-hard")  # v1 is of June 2024, where an XML tag may have no attribute
SPLIT = (9, 2)  # train to test in v1
SIZE = 6  # a node's size in the papers
PER_TASK = 16  # samples of each task where 0 are asked for and no suite says how many
MOST_REPEATED = 1000  # texts drawn in vain: there are hardly any more of them


class Text(NamedTuple):
    """Everything that determines a text, except its names."""

    mode: str
    language: str
    depth: int
    width: int
    size: int
    seed: int
    number: int  # distinguishes texts that have all else in common
    is_june: bool = False  # XML of June 2024

    @property
    def dials(self) -> str:
        """Return the suffix of its samples' ids."""
        size = f"-n{self.size}" if self.size != SIZE else ""
        june = "-june" if self.is_june else ""
        return f"d{self.depth}-w{self.width}{size}{june}-s{self.seed}-{self.number}"


def generate(
    mode: str = "corrected",
    tasks: Iterable[str] | None = None,
    depth: int = 1,
    width: int = 1,
    per_task: int = 1,
    seed: int = 42,
    size: int = SIZE,
    is_real: bool = False,
    is_june: bool = False,
) -> Iterator[Sample]:
    """Make `per_task` samples of each of `tasks` (0: PER_TASK), taking the tasks in turn.

    `tasks` default to the benchmark's 29; a language's name means all its tasks. `size` × depth is
    the greatest number of attributes of a node, and the number of words in a paragraph. With
    `is_real`, names are words of scenarios instead of letters; with `is_june`, XML is as in v1. A
    corrected text is made once: the number of one that occurred before is left out.
    Raises ValueError for an unknown mode or task, a dial below 1, a text that would be too large,
    and a depth for which a language has no headings; and while samples are made, if there are too
    few different texts.
    """
    if mode not in MODES:
        raise ValueError(f"mode {mode!r} is unknown: choose one of {', '.join(MODES)}")
    if per_task < 0 or size < 1:
        raise ValueError(
            f"per_task {per_task}, size {size}: give at least 1, or per_task 0 for {PER_TASK}"
        )
    layout(depth, width)
    wanted = _wanted(tasks)
    for language in wanted:
        deepest = PLUG_INS[language].deepest
        if mode == "corrected" and deepest and depth > deepest:
            raise ValueError(
                f"depth {depth}: {language} has headings for {deepest} levels only; "
                f"leave {language} out, or give a depth of at most {deepest}"
            )
    texts = {
        language: _texts(
            Text(mode, language, depth, width, size, seed, 0, is_june and language == "xml")
        )
        for language in wanted
    }
    return (
        sample
        for _ in range(per_task or PER_TASK)
        for language, indices in wanted.items()
        for sample in _samples_of(next(texts[language]), indices, is_real)
    )


def suite(name: str, seed: int = 42, mode: str = "corrected", per_task: int = 0) -> list[Sample]:
    """Make the samples of a suite (a key of SUITES), as many as the paper has.

    `per_task` limits the samples per task, depth and width; 0 means no limit. Raises ValueError for
    another name, and as `generate` does.
    """
    if name not in SUITES:
        raise ValueError(f"suite {name!r} is unknown: choose one of {', '.join(SUITES)}")
    return [
        sample
        for depth, width, most in SUITES[name]
        for sample in generate(
            mode,
            None,
            depth,
            width,
            min(per_task or most, most),
            seed,
            is_real=name == "real-test",
            is_june=name in JUNE,
        )
    ]


def split(samples: list[Sample]) -> tuple[list[Sample], list[Sample]]:
    """Split into train and test, as nearly 9 to 2 as possible in each task, depth and width.

    All questions on a text fall on the same side if `samples` includes them all.
    """
    counts: dict[tuple, int] = {}
    train, test = [], []
    for sample in samples:
        place = counts.get(sample.cell, 0)
        counts[sample.cell] = place + 1
        (test if place * SPLIT[1] % sum(SPLIT) < SPLIT[1] else train).append(sample)
    return train, test


def _wanted(tasks: Iterable[str] | None) -> dict[str, list[int]]:
    names = set(TASKS) if tasks is None else set(tasks)
    requested = names - set(PLUG_INS)
    requested |= {task for task in TASKS if task.split(".")[0] in names}
    unknown = requested.difference(TASKS)
    if unknown or not requested:
        raise ValueError(
            f"unknown tasks {', '.join(sorted(unknown)) or '(none were given)'}: "
            f"choose languages ({', '.join(LANGUAGES)}) or tasks "
            "such as json.3"
        )
    wanted: dict[str, list[int]] = {}
    for language, index in (task.split(".") for task in TASKS if task in requested):
        wanted.setdefault(language, []).append(int(index))
    return wanted


def _texts(first: Text) -> Iterator[Text]:
    seen: set[str] = set()
    for text in (first._replace(number=number) for number in count()):
        if text.mode == "corrected":
            letters = _written(text, False)[0].text
            if text.number - len(seen) > MOST_REPEATED:
                raise ValueError(
                    f"{text.language} at depth {text.depth}, width {text.width} gave "
                    f"{len(seen):,} different texts in {text.number:,}: give a lower "
                    "per_task"
                )
            if letters in seen:
                continue
            seen.add(letters)
        yield text


@lru_cache(maxsize=1)  # a text is compared with earlier ones, and then asked about
def _written(text: Text, is_real: bool) -> tuple[Any, int]:
    kind = f"{text.seed} {text.language} {text.depth} {text.width} {text.size}"
    rng = Random(f"{kind} {text.number}")
    names_seed = rng.getrandbits(40)
    turn = crc32(kind.encode()) + text.number
    return PLUG_INS[text.language].write(
        Setting(
            layout(text.depth, text.width),
            text.depth,
            text.size,
            text.mode == "corrected",
            rng,
            names_for(is_real, names_seed, turn),
            turn,
            text.is_june,
        )
    ), names_seed


def _samples_of(text: Text, indices: Iterable[int], is_real: bool) -> Iterator[Sample]:
    language = text.language
    document, names_seed = _written(text, is_real)
    for index in indices:
        task = f"{language}.{index}"
        item = PLUG_INS[language].finders[index](document, Random(names_seed + index + 1))
        yield Sample(
            id=f"{text.mode}-{task}-{'real-' * is_real}{text.dials}",
            language=language,
            task=task,
            depth=text.depth,
            width=text.width,
            hint=HINTS[task],
            answer=item.answer,
            question=QUESTIONS[text.mode][task].format(**item.slots),
            reference=document.text if item.text is None else item.text,
        )
