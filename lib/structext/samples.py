"""Samples of StrucText-Eval: generated, by suite of the papers, or read from official files.

A text is grown from an abstract tree. Two dials set its difficulty: it has `depth` levels below the
root, and every inner node has depth × `width` children, rounded down. A node has at most depth ×
`size` attributes, and a paragraph as many words. Every text has its own random generator, seeded by
seed, language, dials and number. The structure is drawn independently of the names, so corrected,
faithful and Real-Test samples of the same number share it, except where a correction adds to it.
The official generator's faults, which mode `faithful` keeps and `corrected` avoids, are listed in
notebooks/structext/README.md.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import count
from pathlib import Path
from random import Random
from typing import Any, NamedTuple
from zlib import crc32

from lib.core.store import BadInput, read_lines, require_known, shown
from lib.structext.generate import LATEX_HEADINGS, PLUG_INS, Setting, layout
from lib.structext.names import HINTS, LANGUAGES, MODES, QUESTIONS, SCENARIOS, V1, Names, Sample
from lib.structext.solve import task_of

JUNE = "june"  # Test's dials, and XML as in June 2024: tuned arms learn 9 of 11 of its texts
SIZE = 6
# Suite -> (depth, width, samples of each of the 29 tasks); add a line for your own. From v2,
# section 4. V1's suites, of 3,016, have dials of their own for each language.
SUITES: dict[str, list[tuple[int, int, int]]] = {
    "test": [(1, 1, 64), (2, 1, 64)],  # 3,712
    "real-test": [(1, 1, 16), (2, 1, 16)],  # 928
    "test-hard": [(depth, width, 8) for depth in (1, 2, 3) for width in (1, 2, 3)],  # 2,088
    **dict.fromkeys(V1, [(0, 0, 104)]),
    JUNE: [(1, 1, 104), (2, 1, 104)],  # 6,032
}
SPLIT = (9, 2)  # train to test in v1
ENDINGS = (".json", ".jsonl", ".json.gz", ".jsonl.gz")  # of official files
MOST_REPEATED = 1000  # texts drawn in vain: there are hardly any more of them


class Text(NamedTuple):
    """Everything that determines a text, except its names."""

    mode: str
    language: str
    depth: int
    width: float
    size: float
    seed: int
    number: int  # distinguishes texts that have all else in common
    version: str  # a key of V1, JUNE or ""


def generate(
    mode: str = "corrected",
    depth: int = 1,
    width: int = 1,
    per_task: int = 1,
    seed: int = 42,
    is_real: bool = False,
    version: str = "",
) -> Iterator[Sample]:
    """Yield `per_task` samples of each of the 29 tasks, taking the tasks in turn.

    With `is_real`, names are words of scenarios; a `version` in V1 has dials of its own. Raises
    ValueError for a wrong mode or dial; later, if there are too few different corrected texts.
    """
    require_known("mode", [mode], MODES)
    dials = V1.get(version) or dict.fromkeys(LANGUAGES, (depth, width, SIZE))
    layout(*dials["latex"][:2])
    if mode == "corrected" and dials["latex"][0] > len(LATEX_HEADINGS):
        raise ValueError(f"depth {depth}: latex has headings for {len(LATEX_HEADINGS)} levels only")
    own = version if version in (*V1, JUNE) else ""
    texts = [
        _texts(Text(mode, name, *dials[name], seed, 0, own if name == "xml" or own in V1 else ""))
        for name in LANGUAGES
    ]
    return (
        sample
        for _ in range(per_task)
        for each in texts
        for sample in _samples_of(next(each), is_real)
    )


def suite(name: str, seed: int = 42, mode: str = "corrected", per_task: int = 0) -> list[Sample]:
    """Make the samples of a suite (a key of SUITES).

    `per_task` is their number per task, depth and width; 0: as many as the paper has. Raises
    ValueError for another name, and as `generate` does.
    """
    require_known("suite", [name], SUITES)
    return [
        sample
        for depth, width, most in SUITES[name]
        for sample in generate(
            mode, depth, width, per_task or most, seed, name == "real-test", name
        )
    ]


def split(samples: list[Sample]) -> tuple[list[Sample], list[Sample]]:
    """Split into train and test, as nearly 9 to 2 as possible in each task, depth and width.

    All questions on a text fall on the same side if `samples` includes them all.
    """
    train, test = [], []
    for rank, sample in ranked(samples):
        (test if rank * SPLIT[1] % sum(SPLIT) < SPLIT[1] else train).append(sample)
    return train, test


def ranked(samples: Iterable[Sample]) -> Iterator[tuple[int, Sample]]:
    """Yield each sample after its rank, from 0, in its task, depth and width."""
    counts: Counter = Counter()
    for sample in samples:
        yield counts[sample.cell], sample
        counts[sample.cell] += 1


def _texts(first: Text) -> Iterator[Text]:
    seen: set[str] = set()
    for number in count():
        text = first._replace(number=number)
        if text.mode == "corrected":
            letters = _written(text, False)[0].text
            if number - len(seen) > MOST_REPEATED:
                raise ValueError(
                    f"{text.language} at depth {text.depth}, width {text.width} gave {len(seen):,} "
                    f"different texts in {number:,}: give a lower per_task"
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
    setting = Setting(
        layout(text.depth, text.width),
        text.depth,
        int(text.size * text.depth),
        text.mode == "corrected",
        rng,
        Names(names_seed, SCENARIOS[turn % len(SCENARIOS)] if is_real else None),
        turn,
        text.version == JUNE,
    )
    return PLUG_INS[text.language][0](setting), names_seed


def _samples_of(text: Text, is_real: bool) -> Iterator[Sample]:
    language = text.language
    document, names_seed = _written(text, is_real)
    questions = QUESTIONS["v1" if text.version in V1 else text.mode]
    for index, find in enumerate(PLUG_INS[language][1]):
        task, item = f"{language}.{index}", find(document, Random(names_seed + index + 1))
        yield Sample(
            id=f"{text.mode}-{task}-{'real-' * is_real}d{text.depth}-w{text.width}"
            f"{text.version and f'-{text.version}'}-s{text.seed}-{text.number}",
            language=language,
            task=task,
            depth=text.depth,
            width=text.width,
            hint=HINTS[task],
            answer=item.answer,
            question=questions[task].format(**item.slots),
            reference=document.text if item.text is None else item.text,
        )


def load_official(path: Path) -> list[tuple[Sample, list[Sample]]]:
    """Return the samples of an official file, or of all files below a folder, by path.

    Each comes with its demonstrations (field `examples`): same cell and hint, ids with #1, #2, ….
    Raises BadInput if a file or a sample cannot be read.
    """
    folder, files = path.parent, [path]
    if not path.is_file():
        folder, files = path, sorted(one for one in path.rglob("*") if one.name.endswith(ENDINGS))
    if not files:
        raise BadInput(
            f"{shown(path)} is missing or has no file *{', *'.join(ENDINGS)}: give an "
            "official file of StrucText-Eval, or a folder of them"
        )
    found = []
    for file in files:
        for default, row in _rows(file, file.relative_to(folder).as_posix()):
            try:
                first, *others = _samples(row, default)
            except (AttributeError, KeyError, TypeError, ValueError) as error:
                raise BadInput(
                    f"{shown(file)}, {default}: not a sample ({error!r}); it needs "
                    "Question, Answer, Reference and Label"
                ) from error
            found.append((first, others))
    return found


def _rows(file: Path, name: str) -> Iterator[tuple[str, dict]]:
    lines = read_lines(file)
    try:
        if ".jsonl" in file.name:
            rows = [json.loads(line.strip() or b"null") for line in lines]
        else:
            rows = json.loads(b"\n".join(lines))
        json.dumps(rows, ensure_ascii=False).encode()  # an unpaired surrogate could not be stored
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{shown(file)}: not JSON ({error}); download the file again") from error
    if isinstance(rows, dict):
        return iter([(name, rows)])
    return ((f"{name}:{number}", row) for number, row in enumerate(rows, 1) if row)


def _samples(row: dict, default: str) -> Iterator[Sample]:
    label, name = row["Label"], row.get("path") or default
    language = label["typename"]
    for number, part in enumerate([row, *(row.get("examples") or [])]):
        yield Sample(
            id=f"{name}#{number}" if number else name,
            language=language,
            task=task_of(language, part["Question"]),
            depth=int(label["node_number"]),
            width=int(label["n_ary_ratio"]),
            question=part["Question"].strip(),
            answer=part["Answer"].strip(),
            reference=part["Reference"].strip("\r\n"),
            hint=row.get("RuleHint") or "",
        )
