"""Rewrite samples as Real-Test: a model gives new names from one scenario; texts are rebuilt.

The model sees only lists of names by kind, not the text or the question. Its names are checked, the
text is rebuilt with them, and the solver must then find the generator's answer. Nesting, order,
counts and relations are kept by construction. The model is told to give each value the type of its
field, but only the value's form is checked.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from random import Random
from zlib import crc32

from lib.core.prompts import prompt_template
from lib.core.records import Rejected
from lib.llm.calls import Calls
from lib.llm.complete import complete
from lib.llm.request import Reply, Request
from lib.structext.ask.real_names import KIND_OF, KINDS, Names, by_kind, read_names
from lib.structext.generate.naming import Letters
from lib.structext.generate.samples import PLUG_INS, SUITES, Text, generate, samples_of
from lib.structext.generate.scenarios import SCENARIOS
from lib.structext.generate.tree import layout
from lib.structext.json_lines import Given
from lib.structext.records import Sample
from lib.structext.solve.solver import solve
from lib.structext.solve.unsolvable import Unsolvable

MARKER = "rewritten-"  # marks the ids of rewritten samples
MOST_NAMES = 500  # per reply; a text of Real-Test has at most 200
_MOST_CELLS = 20_000  # nodes × names per node; a larger text is not built
_MOST_FAULTS = 12  # reported to the model


class GivenSample(Sample, Given):
    """One line of input for `python -m lib.structext rewrite`."""


class _Recorded:
    """Letters that record the names they give in `called`, as method -> names."""

    def __init__(self, letters: Letters, called: dict[str, list[str]]) -> None:
        self._letters, self._called = letters, called

    def __getattr__(self, call: str) -> object:
        found = getattr(self._letters, call)
        if not callable(found):
            return self._called.setdefault(call, list(found))

        def recorded(*arguments: object) -> list[str]:
            self._called[call] = found(*arguments)
            return self._called[call]
        return recorded


class _Renamed:
    """Names that answer the same calls with the new name of each recorded one."""

    def __init__(self, called: dict[str, list[str]], new: Names) -> None:
        self._called, self._new = called, new

    def __getattr__(self, call: str) -> object:
        new = [self._new[KIND_OF.get(call, call)][old] for old in self._called[call]]
        is_list = call in ("companies", "places", "services")
        return new if is_list else lambda *_, **__: new


class Unusable(ValueError):
    """Raised if samples cannot be rewritten; the message says why."""


@dataclass
class Draft:
    """A text to be rewritten, with all given questions about it."""

    text: Text
    samples: list[Sample]
    scenario_seed: int
    made: dict[str, Sample] = field(default_factory=dict)  # old id -> new sample
    faults: dict[str, str] = field(default_factory=dict)  # old id -> why there is none

    @cached_property
    def called(self) -> dict[str, list[str]]:
        """Return the names in the text and in its language's questions. Raises Unusable."""
        text, called = self.text, {}
        try:
            n_cells = layout(text.depth, text.width).n_nodes * text.size * text.depth
            if n_cells > _MOST_CELLS:
                raise Unusable(f"the text is too large to be rewritten: {n_cells:,} places for "
                               "names")
            indices = range(len(PLUG_INS[text.language].finders))
            old = list(samples_of(text, indices,
                                  lambda seed, _: _Recorded(Letters(seed), called), ""))
        except Unusable:
            raise
        except (KeyError, ValueError, IndexError) as error:
            raise Unusable(f"its id names no text: {error}") from error
        known = {sample.id: (sample.question, sample.reference, sample.answer) for sample in old}
        for sample in self.samples:
            if known.get(sample.id) != (sample.question, sample.reference, sample.answer):
                raise Unusable(f"{sample.id} differs from what its id says: make the samples again")
        n_names = sum(map(len, by_kind(called).values()))
        if n_names > MOST_NAMES:
            raise Unusable(f"the text has {n_names} names; a reply can have at most {MOST_NAMES}")
        return called

    @property
    def request(self) -> Request:
        """Return the prompt: names by kind, and the next scenario in a seeded order."""
        text, names = self.text, by_kind(self.called)
        kind = f"{text.language} {text.depth} {text.width} {text.size} {text.seed}"
        order = Random(self.scenario_seed).sample(SCENARIOS, len(SCENARIOS))
        prompt = prompt_template("structext/real").render(
            scenario=order[(crc32(kind.encode()) + text.number) % len(order)],
            kinds={kind: KINDS[kind] for kind in names},
            names=json.dumps(names, ensure_ascii=False))
        return Request.ask(prompt, max_tokens=1000 + 30 * sum(map(len, names.values())))

    def read(self, reply: Reply) -> list[str]:
        """Make samples with the names in `reply`; return the faults that the model can correct."""
        if reply.reason:
            self.faults = {sample.id: f"no complete reply, {reply.reason}"
                           for sample in self.samples}
            return []
        names, faults = read_names(reply.text, by_kind(self.called))
        if faults:  # samples made from an earlier reply are kept
            self.faults = {sample.id: "; ".join(faults) for sample in self.samples}
            return faults
        self.made, self.faults = {}, {}
        olds = {int(sample.task.split(".")[1]): sample for sample in self.samples}
        for new in samples_of(self.text, olds, lambda *_: _Renamed(self.called, names), MARKER):
            old = olds[int(new.task.split(".")[1])]
            if _is_solved(new) or not _is_solved(old):  # a faithful one may fail either way
                self.made[old.id] = new
            else:
                self.faults[old.id] = (f"with these names the answer to {new.question!r} is no "
                                       "longer found in the text")
        return list(self.faults.values())


def rewrite(samples: Sequence[Sample], scenario_seed: int, model: str,
            calls: Calls) -> tuple[list[Sample], list[Rejected]]:
    """Return `samples` with names from one scenario per text, and the rest as Rejected, in order.

    All samples on a text share one request. A reply with faulty names, or with names that change an
    answer, is sent back once. Only samples that `generate` made with abstract names can be
    rewritten. A Rejected has the sample's id as document_id and the question as item.
    Raises Stopped as `lib.llm.complete` does.
    """
    drafts: dict[Text, Draft] = {}
    reasons: dict[str, str] = {}
    for sample in samples:
        text = Text.of_sample(sample)
        if text is None:
            reasons[sample.id] = "it is not a sample with abstract names made by `generate`"
        else:
            drafts.setdefault(text, Draft(text, [], scenario_seed)).samples.append(sample)
    usable = []
    for draft in drafts.values():
        try:
            usable.append((draft, draft.request))
        except Unusable as error:
            reasons |= {sample.id: str(error) for sample in draft.samples}
    _ask(usable, model, calls)
    made: dict[str, Sample] = {}
    for draft, _ in usable:
        made |= draft.made
        reasons |= draft.faults
    return [made[sample.id] for sample in samples if sample.id in made], [
        Rejected(document_id=sample.id, item=sample.question, reason=reasons[sample.id])
        for sample in samples if sample.id not in made]


def real_test(model: str, calls: Calls, seed: int = 42, mode: str = "corrected",
              per_task: int = 0) -> tuple[list[Sample], list[Rejected]]:
    """Return the suite real-test with names by `model`: the first samples of Test, rewritten.

    `seed` also assigns the scenarios. `per_task` limits the samples per task, depth and width; 0
    means all 928. Returns and raises as `rewrite` does.
    """
    samples = [sample for depth, width, count in SUITES["real-test"] for sample in generate(
        mode, None, depth, width, min(per_task or count, count), seed)]
    return rewrite(samples, seed, model, calls)


def _ask(drafts: list[tuple[Draft, Request]], model: str, calls: Calls) -> None:
    """Send every draft once; send drafts whose replies had faults once more."""
    again = []
    replies = complete([request for _, request in drafts], model, calls) if drafts else []
    for (draft, request), reply in zip(drafts, replies, strict=True):
        if faults := draft.read(reply):
            prompt = prompt_template("structext/real_repair").render(
                faults=faults[:_MOST_FAULTS], n_more=len(faults) - _MOST_FAULTS)
            again.append((draft, request.then(reply.text, prompt)))
    replies = complete([request for _, request in again], model, calls) if again else []
    for (draft, _), reply in zip(again, replies, strict=True):
        draft.read(reply)


def _is_solved(sample: Sample) -> bool:
    try:
        return solve(sample.language, sample.question, sample.reference) == sample.answer
    except Unsolvable:
        return False
