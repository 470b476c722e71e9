"""Write prompts about structured texts in the papers' settings, from prompts/structext/.

Every prompt names the text's language, as every prompt of the papers does. The papers' instruction
on the layout of the answer is part of the question. `few-shot` shows samples of the same depth and
width, `simple-few-shot` samples of depth 2 and width 1, as the official code does (the paper says:
the shortest training examples). A text, its question, hint and demonstrations are data, so anything
in them that could pass for a part of the prompt is split (lib.core.prompts).
"""

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from random import Random

from lib.core.prompts import BREAK_MARK, escape_prompt_markup, prompt_template
from lib.core.records import Query, Record
from lib.core.store import output_root, require_known
from lib.structext.names import HINTS, V1, Sample
from lib.structext.samples import JUNE, SUITES, generate, load_official, ranked, split, suite
from lib.structext.solve import procedure

FEW_SHOT = ("few-shot", "simple-few-shot")
SIMPLE = (2, 1)  # depth and width, in the official code (Generation/datagen_simplefewshot.py)
SETTINGS = {  # setting -> its prompt
    "base": prompt_template("structext/base"),
    "self-cot": prompt_template("structext/self-cot"),
    "ps-cot": prompt_template("structext/ps-cot"),
    "hint": prompt_template("structext/hint"),
    # the hint and a reply in steps, as v1 tuned a model
    "procedure": prompt_template("structext/procedure"),
} | dict.fromkeys(FEW_SHOT, prompt_template("structext/few-shot"))
REASONING = ("self-cot", "ps-cot", "procedure")  # the answer is in tags, after the reasoning
# v1's sets for fine-tuning -> setting and shots; a corpus with a file makes its fourth, "mix"
SETS = {"base": ("base", 0), "2-shot": (FEW_SHOT[0], 2), "rule-hint": ("procedure", 0)}
TAGS = "text|question|hint|answer"
# <S> and <SYS> in XML are split like chat turns and joined again: in capitals they are not turns.
_ELEMENT = re.compile(rf"(?<=<){BREAK_MARK}(?=/?(?:S|SYS)>)")
POOL = 24  # samples per task, depth and width from which demonstrations are drawn
SEED = 42  # of tested texts; demonstrations and training use the next two
OFFICIAL = "official"  # a suite of published samples, with the demonstrations in their files


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
        return f"{self.suite and f'{self.suite}:'}{self.sample.id}:{self.name}"

    @property
    def name(self) -> str:
        """Return setting and shots: "base", "few-shot-2"."""
        return f"{self.setting}-{self.n_shots}" if self.n_shots else self.setting


def asked_in(
    suites: Sequence[str],
    settings: Sequence[str],
    shots: Sequence[int],
    *,
    mode: str = "corrected",
    per_task: int = 0,
    official: str | Path = "",
) -> Iterator[list[Prompted]]:
    """Yield the prompts of a study, one list per suite, setting and number of shots.

    `official` is the file or folder of the suite OFFICIAL. `per_task` limits the samples of a cell
    (0: the suite's number).
    """
    require_known("suite", suites or [""], (*SUITES, OFFICIAL))
    require_known("setting", settings or [""], SETTINGS)
    require_known("number of shots", map(str, shots), [*map(str, range(1, POOL))])
    each = [(setting, n) for setting in settings for n in (shots if setting in FEW_SHOT else [0])]
    for name in suites:
        if name == OFFICIAL:
            yield from _published(official, each, per_task)
            continue
        samples = suite(name, SEED, mode, per_task)
        cells = {FEW_SHOT[0]: SUITES[name], FEW_SHOT[1]: [(*SIMPLE, 0)]}
        pools = {
            setting: [
                sample
                for *dials, _ in cells.get(setting, ())
                for sample in generate(
                    mode,
                    *dials,
                    POOL,
                    SEED + 1,
                    name == "real-test",
                    name * (setting == FEW_SHOT[0]),
                )
            ]
            for setting in settings
        }
        for setting, n_shots in each:
            yield prompts_for(samples, setting, n_shots, pools[setting], name)


def _published(
    path: str | Path, each: Sequence[tuple[str, int]], per_task: int
) -> Iterator[list[Prompted]]:
    if not path or FEW_SHOT[1] in dict(each):
        raise ValueError(
            f"the suite {OFFICIAL} needs the parameter official (a file or a folder), and not the "
            f"setting {FEW_SHOT[1]}: its files have demonstrations, which few-shot shows"
        )
    shown = dict(load_official(output_root() / Path(path).expanduser()))
    samples = some_of(list(shown), per_task)
    for setting, n_shots in each:
        kept = [one for one in samples if not n_shots or len(shown[one]) == n_shots]
        own = [shown[one][:n_shots] for one in kept]
        yield prompts_for(kept, setting, n_shots, suite=OFFICIAL, own=own)


def training_samples(
    tested: Iterable[Sample], suites: Collection[str] = (), *, mode: str = "corrected"
) -> tuple[list[Sample], int]:
    """Return the training split, less the samples whose text is in `tested`, and their number.

    It is 9 of 11 texts of v1's halves if only they are in `suites`, else of JUNE, drawn with
    another seed: the same small text may come again.
    """
    names = V1 if suites and V1.keys() >= {*suites} else (JUNE,)
    drawn = [sample for name in names for sample in split(suite(name, SEED + 2, mode))[0]]
    texts = {sample.reference for sample in tested}
    kept = [sample for sample in drawn if sample.reference not in texts]
    return kept, len(drawn) - len(kept)


def lessons(samples: Sequence[Sample], form: str, pool: Sequence[Sample]) -> list[Query]:
    """Return prompts with the replies that an arm learns: one of SETS, with examples from `pool`.

    A sample that the solver answers otherwise has no procedure and is left out.
    """
    require_known("learned:", [form], SETS)
    setting, n_shots = SETS[form]
    if setting in REASONING:
        samples = [
            one.model_copy(update={"answer": f"{steps}\n\n<answer>\n{one.answer}"})
            for one in samples
            if (steps := procedure(one))
        ]
    return as_queries(prompts_for(samples, setting, n_shots, pool, "train"))


def some_of(samples: Sequence[Sample], per_task: int) -> list[Sample]:
    """Return the first `per_task` of each task, depth and width, in order; all if 0."""
    return [sample for rank, sample in ranked(samples) if not per_task or rank < per_task]


def prompts_for(
    samples: Sequence[Sample],
    setting: str,
    n_shots: int = 0,
    pool: Sequence[Sample] = (),
    suite: str = "",
    *,
    own: Sequence[Sequence[Sample]] = (),
) -> list[Prompted]:
    """Return the prompt of each sample, in order, in one of SETTINGS.

    Demonstrations are drawn from `pool`, or are each sample's `own`, published with it. Raises
    ValueError as `demonstrations_for` does.
    """
    escape = cache(_defused)  # a demonstration is shown many times
    shown = own or demonstrations_for(samples, pool, n_shots, setting)
    return [
        Prompted(
            sample=sample,
            setting=setting,
            n_shots=n_shots,
            suite=suite,
            demonstrations=tuple(one.id for one in examples),
            prompt=_prompt(sample, setting, examples, escape),
        )
        for sample, examples in zip(samples, shown, strict=True)
    ]


def demonstrations_for(
    samples: Sequence[Sample],
    pool: Sequence[Sample],
    n_shots: int,
    setting: str = "few-shot",
) -> list[tuple[Sample, ...]]:
    """Return, for each sample in order, `n_shots` of `pool` with other texts.

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
            raise ValueError(
                f"{' '.join(map(str, cell))} (task, depth, width): the pool has {len(others)} "
                f"texts in addition to that of {sample.id}, too few for {n_shots} shots"
            )
        Random(f"{SEED} {sample.id}").shuffle(others)
        chosen.append(tuple(others[:n_shots]))
    return chosen


def as_queries(prompted: Sequence[Prompted]) -> list[Query]:
    """Return `prompted` as queries; `context` is the complete prompt.

    All questions on a text share `document_id`. A sample has no place in a document.
    """
    return [
        Query(
            query_id=one.query_id,
            document_id=one.sample.text_id,
            question=one.sample.question,
            answer=one.sample.answer,
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
        examples=others,
    )


def _defused(text: str) -> str:
    split = escape_prompt_markup(text, TAGS)
    return split if BREAK_MARK in text else _ELEMENT.sub("", split)
