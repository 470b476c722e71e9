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

from lib.core.errors import BadInput
from lib.core.prompts import prompt_template
from lib.core.records import Rejected
from lib.llm.calls import Calls
from lib.llm.complete import complete
from lib.llm.request import Reply, Request
from lib.structext.ask.real_names import KIND_OF, KINDS, Names, by_kind, read_names
from lib.structext.generate.naming import Letters
from lib.structext.generate.samples import PLUG_INS, SUITES, Text, generate, samples_of
from lib.structext.generate.scenarios import SCENARIOS
from lib.structext.records import Sample
from lib.structext.solve.solver import solve

MARKER = "rewritten-"  # marks the ids of rewritten samples
_MOST_FAULTS = 12  # reported to the model


class _Recorded:
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
    def __init__(self, called: dict[str, list[str]], new: Names) -> None:
        self._called, self._new = called, new

    def __getattr__(self, call: str) -> object:
        new = [self._new[KIND_OF.get(call, call)][old] for old in self._called[call]]
        is_list = call in ("companies", "places")
        return new if is_list else lambda *_, **__: new


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
        """Return the names in the text and in its language's questions, by method of Letters."""
        called: dict[str, list[str]] = {}
        indices = range(len(PLUG_INS[self.text.language].finders))
        for _ in samples_of(self.text, indices, lambda seed, _: _Recorded(Letters(seed), called),
                            ""):
            pass
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
    """Return `samples`, made by `generate`, with a scenario's names, and those that have none.

    All samples on a text share one request. A reply with faulty names, or with names that change an
    answer, is sent back once. Raises as `lib.llm.complete` does.
    """
    drafts: dict[Text, Draft] = {}
    for sample in samples:
        text = Text.of_sample(sample)
        drafts.setdefault(text, Draft(text, [], scenario_seed)).samples.append(sample)
    _ask([(draft, draft.request) for draft in drafts.values()], model, calls)
    made = {old: new for draft in drafts.values() for old, new in draft.made.items()}
    reasons = {old: fault for draft in drafts.values() for old, fault in draft.faults.items()}
    return [made[sample.id] for sample in samples if sample.id in made], [
        Rejected(document_id=sample.id, item=sample.question, reason=reasons[sample.id])
        for sample in samples if sample.id not in made]


def real_test(model: str, calls: Calls, seed: int = 42, mode: str = "corrected",
              per_task: int = 0) -> tuple[list[Sample], list[Rejected]]:
    """Return the suite real-test with names by `model`: the first samples of Test, rewritten.

    `seed` also assigns the scenarios. `per_task` limits the samples per task, depth and width; 0
    means all 928.
    """
    samples = [sample for depth, width, count in SUITES["real-test"] for sample in generate(
        mode, None, depth, width, min(per_task or count, count), seed)]
    return rewrite(samples, seed, model, calls)


def _ask(drafts: list[tuple[Draft, Request]], model: str, calls: Calls) -> None:
    again = []
    replies = complete([request for _, request in drafts], model, calls)
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
    except BadInput:
        return False
