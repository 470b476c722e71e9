"""StrucText-Eval as a task: prompts in the papers' settings, final answers of replies, scores.

Every prompt names the text's language, as every prompt of the papers does. The papers' instruction
on the layout of the answer is part of the question. `few-shot` shows samples of the same depth and
width, `simple-few-shot` samples of depth 2 and width 1, as the official code does (the paper says:
the shortest training examples). A text, its question, hint and demonstrations are data, so anything
in them that could pass for a part of the prompt is split (lib.core.prompts).
"""

import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache
from itertools import zip_longest
from pathlib import Path
from random import Random
from typing import NamedTuple

from lib.analyze.metrics import LEAST_ROUGE, bleu, exact_match, rouge_l_with_steps
from lib.core.prompts import BREAK_MARK, escape_prompt_markup, prompt_template
from lib.core.records import Answer, Query, Record, Rejected
from lib.core.store import output_root, require_known
from lib.infer.prompts import lengths_of, token_counts
from lib.structext.names import HINTS, V1, Sample
from lib.structext.samples import JUNE, SUITES, generate, load_official, ranked, split, suite
from lib.structext.solve import attempt, procedure
from lib.tasks.task import Final, Room, Rows, Shown, Task

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

    `official` is the file or folder of the suite OFFICIAL. `per_task` is the number of samples of
    a cell (0: the paper's).
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
        pools = {setting: _pool(name, setting, mode) for setting in settings}
        for setting, n_shots in each:
            yield prompts_for(samples, setting, n_shots, pools[setting], name)


def _pool(name: str, setting: str, mode: str) -> list[Sample]:
    if setting == FEW_SHOT[0]:
        return suite(name, SEED + 1, mode, POOL)
    if setting == FEW_SHOT[1]:
        return [*generate(mode, *SIMPLE, POOL, SEED + 1, name == "real-test")]
    return []


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


# the official code loses rows: an empty response raises ValueError, a long text RecursionError
RECURSION_LIMIT = 1000  # CPython's default, under which the official scorer runs
FRAMES = 12  # on that scorer's stack before the recursion begins, approximately
NO_ANSWER = "no <answer> in the reply"
NO_ROW = "no answer row: the query was not asked, or its call failed"
_TAG = re.compile(r"\\?<\s?(/?)\s?answer\s?\\?>", re.I)  # a backslash if Markdown is escaped
# a base model goes on to write tasks of its own
_NEXT = re.compile(r"(?<=</answer>)\s*<(?:text|question)>.*", re.I | re.S)
_THOUGHTS_END = re.compile(r"</think>", re.I)
_THOUGHTS = re.compile(r"\s*<think>", re.I)
_FENCED = re.compile(r"\s*`{3,}\w*\n(.*)\n`{3,}\s*", re.S)
_SHOTS = re.compile(r"-\d+\Z")  # of a query's id, after its prompt setting
_LONGEST = 60  # characters of a line that a reason shows


class Scored(NamedTuple):
    """The scores of a response, each metric 0 to 1."""

    rouge_l: float  # F, as in `rouge` 1.0.1
    rouge_score: float  # the paper's: rouge_l, or 0 below LEAST_ROUGE
    bleu: float
    exact: float  # 1 if equal except for whitespace at both ends
    error: str  # why the row has 0; "" if it was scored
    official_fails: bool  # the official scorer would lose the row, as it is empty or too long


def score(answer: str, response: str | None) -> Scored:
    """Score a response; if it cannot be scored, every metric is 0 and `error` has the reason."""
    response = (response or "").encode("utf-8", "replace").decode()  # unpaired surrogates: "?"
    try:
        if not response.strip():
            raise ValueError("there is no response")
        rouge, steps = rouge_l_with_steps(answer, response)
    except ValueError as empty:
        return Scored(0.0, 0.0, 0.0, 0.0, str(empty), True)
    return Scored(
        rouge,
        rouge if rouge >= LEAST_ROUGE else 0.0,
        bleu(answer, response),
        float(exact_match(answer, response)),
        "",
        steps + FRAMES >= RECURSION_LIMIT,
    )


def final_answer(reply: str | None, setting: str) -> Final:
    """Return the answer in `reply`; if `missing` is set, there is none and the score is 0.

    In a setting that asks for reasoning, the answer is the content of the last <answer> that is not
    empty; the last tag may be unclosed if the reply was truncated or stopped there. In the other
    settings the prompt ends with <answer>, and the answer is the reply up to an end tag; a reply
    that opens the tag again is read as if it had reasoned. Thoughts up to </think> are ignored.
    """
    reply = _NEXT.sub("", _THOUGHTS_END.split(reply or "")[-1]).strip()
    if not reply or _THOUGHTS.match(reply):
        return Final("", "the reply ends in its thoughts" if reply else "there is no reply")
    parts = _TAG.split(reply)  # texts, and between two of them "" or the slash of an end tag
    slashes, is_plain = parts[1::2], setting not in REASONING
    is_open = is_plain and slashes[:1] == ["/"]  # the prompt's own tag is closed first
    text = parts[0].strip() if is_open else _last_content(parts)
    if is_plain and "/" not in slashes:
        text = text or reply
    missing = "the <answer> is empty" if is_plain or slashes else NO_ANSWER
    return Final(text, "" if text else missing)


def as_reply(text: str, setting: str) -> str:
    """Return an answer in the form that a prompt in `setting` asks for; "" stays."""
    return f"<answer>\n{text}\n</answer>" if text and setting in REASONING else text


def scored(one: Prompted, replies: Mapping[str, Answer]) -> Scored:
    """Score the reply to a question; without an answer it is 0, and `error` says why."""
    final = Final("", NO_ROW)
    if row := replies.get(one.query_id):
        final = final_answer(row.answer, one.setting)
    found = score(one.sample.answer, final.text)
    return found._replace(error=final.missing or found.error)


def judged(queries: list[Query], answers: list[str]) -> list[tuple[str, str]]:
    """Return verdict and reason of each answer, as `lib.judge.scorer.judge` needs them.

    An answer is correct if its lines are the reference's, ignoring whitespace and a code fence.
    """
    reasons = map(_difference, [query.answer for query in queries], answers)
    return [
        ("incorrect", reason) if reason else ("correct", "the reference, whatever its whitespace")
        for reason in reasons
    ]


def _difference(reference: str, answer: str) -> str:
    fenced = _FENCED.fullmatch(answer)
    wanted, given = (
        [" ".join(line.split()) for line in text.splitlines() if line.strip()]
        for text in (reference, fenced[1] if fenced else answer)
    )
    pairs = zip_longest(wanted, given, fillvalue="(no line)")
    for number, (one, other) in enumerate(pairs, 1):
        if one != other:
            return f'line {number} is "{other[:_LONGEST]}", not "{one[:_LONGEST]}"'
    return ""


def _last_content(parts: list[str]) -> str:
    befores = [parts[0], *(f"tag {text}" for text in parts[2::2])]
    columns = befores, parts[1::2], parts[2::2], [*parts[3::2], None]
    for before, slash, text, end in [*zip(*columns, strict=False)][::-1]:
        is_closed = end or end is None and not before.rpartition("\n")[2].strip(" \t*`>")
        if not slash and is_closed and text.strip():
            return text.strip()
    return ""


class StrucText(Task):
    """29 tasks on texts in eight languages; see lib.tasks.task.Task."""

    groups, cluster = ("language", "depth", "width"), "text"
    needs = {"asked": Prompted}
    score = staticmethod(judged)

    def fit(self, queries: list[Query], rows: Rows, room: Room) -> Shown:
        """Leave out prompts that do not fit: cutting a structured text would change its structure.

        The note counts reference answers that are longer than a reply may be.
        """
        references = {one.query_id: one.sample.reference for one in rows["asked"]}
        # A text is counted once for all its prompts; only where it fits is a whole prompt counted,
        # because a suite's longest prompts amount to hundreds of megabytes.
        counted = cache(lambda text: token_counts([text], room.tokenizer)[0])
        kept, left_out, most = [], [], room.window - room.reply
        for query in queries:
            length = counted(references[query.query_id])
            if length <= most:
                (length,) = lengths_of([query.context], room.tokenizer)
            if length <= most:
                kept.append(query)
                continue
            reason = f"{length:,} tokens or more and {room.reply:,} for the reply do not fit in "
            row = {"document_id": query.document_id, "rejected_text": query.query_id}
            left_out.append(Rejected(**row, reason=f"{reason}{room.window:,}"))
        answers = token_counts([query.answer for query in kept], room.tokenizer)
        note = (
            f"{sum(length > room.reply for length in answers)} of {len(kept)} reference "
            f"answers are longer than {room.reply} tokens: no reply can give them in full."
        )
        return Shown(kept, [], left_out, note)

    def final(self, query: Query, reply: str) -> Final:
        """Read the final answer of a reply as its prompt setting requires."""
        return final_answer(reply, _SHOTS.sub("", query.query_id.rpartition(":")[2]))

    def replies(self, queries: list[Query], rows: Rows) -> dict[str, str]:
        """Return the solver's replies, which show whether each text has the answer to its question.

        A reply has the form that its prompt asks for, and is empty if the solver fails.
        """
        tried = cache(attempt)  # a sample has several prompts
        return {one.query_id: as_reply(tried(one.sample)[0], one.setting) for one in rows["asked"]}

    def about(self, query: Query, rows: Rows) -> dict[str, object]:
        """Return language, depth, width and text of a query's sample."""
        found = re.search(r"-d(\d+)-w([\d.]+)-", query.query_id)
        depth, width = map(json.loads, found.groups()) if found else (0, 0)
        place = {"depth": depth, "width": width, "text": query.document_id}
        return {"language": query.block_type} | place


TASK = StrucText()
