"""Real-Test by a model: it names what stands in a sample after one scenario, and the sample is made again with that.

The model sees no text and no question, only lists of names by kind. Its names are checked, the text is written anew
with them, and the solver has to find the answer that the generator finds, so that nesting, order, counts and relations
are kept by construction. That a value fits the type of its field is asked for; only its form is checked.
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

MARKER = "rewritten-"  # in the ids of such samples
MOST_NAMES = 500  # that one reply shall hold; a text of Real-Test has 200 at most
_MOST_CELLS = 20_000  # nodes × what one may hold: a bigger text is not even made
_MOST_FAULTS = 12  # told to the model


class GivenSample(Sample, Given):
    """A line of the input of `python -m lib.structext rewrite`."""


class _Told:
    """Letters that keep what they said: call -> names, in order. Any other names answer the same calls with `new`."""

    def __init__(self, letters: Letters | None, told: dict[str, list[str]], new: Names | None = None) -> None:
        self._letters, self._told, self._new = letters, told, new

    def __getattr__(self, call: str) -> object:
        if self._new is not None:
            new = [self._new[KIND_OF.get(call, call)][old] for old in self._told[call]]
            return new if call in ("companies", "places", "services") else lambda *_, **__: new
        found = getattr(self._letters, call)
        if not callable(found):
            return self._told.setdefault(call, list(found))

        def kept(*arguments: object) -> list[str]:
            self._told[call] = found(*arguments)
            return self._told[call]
        return kept


class Unusable(ValueError):
    """Why samples cannot be rewritten."""


@dataclass
class Draft:
    """One text that is to be rewritten, with all questions on it that were given."""

    text: Text
    asked: list[Sample]
    scenario_seed: int
    made: dict[str, Sample] = field(default_factory=dict)  # old id -> new sample
    faults: dict[str, str] = field(default_factory=dict)  # old id -> why there is none

    @cached_property
    def told(self) -> dict[str, list[str]]:
        """Every name that the text and the questions of its language call for. Raises Unusable."""
        text, told = self.text, {}
        try:
            n_cells = layout(text.depth, text.width).n_nodes * text.size * text.depth
            if n_cells > _MOST_CELLS:
                raise Unusable(f"the text is too big to be rewritten: {n_cells:,} places for names")
            old = list(samples_of(text, range(len(PLUG_INS[text.language].finders)),
                                  lambda seed, _: _Told(Letters(seed), told), ""))
        except (KeyError, ValueError, IndexError) as error:
            raise error if isinstance(error, Unusable) else Unusable(f"its id names no text: {error}") from error
        known = {sample.id: (sample.question, sample.reference, sample.answer) for sample in old}
        for sample in self.asked:
            if known.get(sample.id) != (sample.question, sample.reference, sample.answer):
                raise Unusable(f"{sample.id} is not what its id says: make the samples again")
        n_names = sum(map(len, by_kind(told).values()))
        if n_names > MOST_NAMES:
            raise Unusable(f"the text has {n_names} names, and a reply is to hold {MOST_NAMES} at most")
        return told

    @property
    def request(self) -> Request:
        """The names by kind with the scenario of the text. Scenarios take turns; the seed decides who begins."""
        kind = f"{self.text.language} {self.text.depth} {self.text.width} {self.text.size} {self.text.seed}"
        order = Random(self.scenario_seed).sample(SCENARIOS, len(SCENARIOS))
        scenario, names = order[(crc32(kind.encode()) + self.text.number) % len(order)], by_kind(self.told)
        prompt = prompt_template("structext/real").render(scenario=scenario, kinds={kind: KINDS[kind] for kind in names},
                          names=json.dumps(names, ensure_ascii=False))
        return Request.ask(prompt, max_tokens=1000 + 30 * sum(map(len, names.values())))

    def read(self, reply: Reply) -> list[str]:
        """Make the samples with the names of `reply`; what is wrong with it, as far as the model can mend it."""
        if reply.reason:
            self.faults = {sample.id: f"no whole reply, {reply.reason}" for sample in self.asked}
            return []
        names, wrong = read_names(reply.text, by_kind(self.told))
        if wrong:  # what an earlier reply was good for stays
            self.faults = {sample.id: "; ".join(wrong) for sample in self.asked}
            return wrong
        self.made, self.faults = {}, {}
        indices = {int(sample.task.split(".")[1]): sample for sample in self.asked}
        for new in samples_of(self.text, indices, lambda *_: _Told(None, self.told, names), MARKER):
            old = indices[int(new.task.split(".")[1])]
            if _is_solved(new) or not _is_solved(old):  # a faithful answer may be at fault before and after
                self.made[old.id] = new
            else:
                self.faults[old.id] = f"with these names the answer to {new.question!r} is no longer found in the text"
        return list(self.faults.values())


def rewrite(samples: Sequence[Sample], scenario_seed: int, model: str,
            calls: Calls) -> tuple[list[Sample], list[Rejected]]:
    """`samples` of abstract names with those of one scenario a text, and what could not be rewritten; both in order.

    All samples on a text share one request. A reply with wrong names, or with names that change an answer, is sent back
    once. Only samples of `generate` with abstract names can be rewritten; others are rejected. A Rejected has the
    sample's id as document_id and its question as item. Raises CallsStopped as `lib.llm.complete` does.
    """
    drafts: dict[Text, Draft] = {}
    reasons: dict[str, str] = {}
    for sample in samples:
        text = Text.of_sample(sample)
        if text is None:
            reasons[sample.id] = "it is no sample of abstract names that `generate` made"
        else:
            drafts.setdefault(text, Draft(text, [], scenario_seed)).asked.append(sample)
    usable = []
    for draft in drafts.values():
        try:
            usable.append((draft, draft.request))
        except Unusable as error:
            reasons |= {sample.id: str(error) for sample in draft.asked}
    _ask(usable, model, calls)
    made = {old: new for draft, _ in usable for old, new in draft.made.items()}
    reasons |= {old: reason for draft, _ in usable for old, reason in draft.faults.items()}
    return [made[sample.id] for sample in samples if sample.id in made], [
        Rejected(document_id=sample.id, item=sample.question, reason=reasons[sample.id])
        for sample in samples if sample.id not in made]


def real_test(model: str, calls: Calls, seed: int = 42, mode: str = "corrected",
              per_task: int = 0) -> tuple[list[Sample], list[Rejected]]:
    """The suite real-test with the names of `model`: the first samples of Test, rewritten; `seed` deals the scenarios.

    `per_task` is the most samples of a task in a depth and width; 0: all 928. Returns and raises as `rewrite`.
    """
    samples = [sample for depth, width, count in SUITES["real-test"]
               for sample in generate(mode, None, depth, width, min(per_task or count, count), seed)]
    return rewrite(samples, seed, model, calls)


def _ask(drafts: list[tuple[Draft, Request]], model: str, calls: Calls) -> None:
    """Every draft once, and once more those whose reply had faults."""
    again = []
    replies = complete([request for _, request in drafts], model, calls) if drafts else []
    for (draft, request), reply in zip(drafts, replies, strict=True):
        if faults := draft.read(reply):
            prompt = prompt_template("structext/real_repair").render(faults=faults[:_MOST_FAULTS], n_more=len(faults) - _MOST_FAULTS)
            again.append((draft, request.then(reply.text, prompt)))
    replies = complete([request for _, request in again], model, calls) if again else []
    for (draft, _), reply in zip(again, replies, strict=True):
        draft.read(reply)


def _is_solved(sample: Sample) -> bool:
    try:
        return solve(sample.language, sample.question, sample.reference) == sample.answer
    except Unsolvable:
        return False
