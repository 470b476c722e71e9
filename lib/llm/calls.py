"""The settings of a stage's calls to a model, and their tally."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal
from uuid import uuid4

import pydantic
import yaml
from pydantic import Field, PositiveFloat, PositiveInt

from lib.core.store import REPOSITORY, data_path
from lib.llm.request import Kind

SETTINGS = ("max_cost_usd", "mode", "concurrency", "max_failed_share", "retry")
MAX_COST_USD = 5.0  # of a stage whose study says nothing else; null: no limit
_ENOUGH = 20  # replies, if all are cut, that stop the run
_MOST_SHORTENED = 0.05  # of the calls of a stage: prompts that the endpoint has not read whole
_EARLY = 17.5  # failures above max_failed_share that stop a run before its last call


@dataclass
class Tally:
    """Counts over all calls of a stage; dollars are None if the model has no price."""

    asked: int = 0  # replies that are wanted, those to come included
    cached: int = 0
    new: int = 0
    failed: int = 0
    unserved: int = 0  # of the failed calls, those that only the endpoint can be blamed for
    kinds: Counter = field(default_factory=Counter)  # of replies that are no answer
    models: Counter = field(default_factory=Counter)  # that answered, as the endpoint names them
    cut: int = 0  # replies that are cut at the length limit, cached ones included
    shortened: int = 0  # prompts that were not read whole, those of cached replies included
    lost: int = 0  # calls without an answer, or with an unreadable one, that may be charged
    prompt_tokens: int = 0
    completion_tokens: int = 0
    usd: float | None = 0.0  # of this run, estimates included
    usd_estimated: float = 0.0  # worst cases of calls lost and of replies without a usage


@pydantic.dataclasses.dataclass(config=pydantic.ConfigDict(extra="forbid"))
class Calls:
    """The settings of a stage's calls; pass the same object to every `complete` of the stage.

    Raises ValueError naming a setting that cannot be used.
    """

    cache: Path  # SQLite file, one per study
    stage: str = ""  # shares max_cost_usd with all runs of the same stage, such as those of arms
    max_cost_usd: PositiveFloat | None = None  # that the stage may cost over all runs
    mode: Literal["direct", "batch"] = "direct"  # batch: half the price, done within a day
    concurrency: PositiveInt = 32  # simultaneous calls
    max_failed_share: float = Field(default=0.1, ge=0, le=1)  # of all calls: stop above it
    retry: Sequence[Kind] = ()  # kinds of reply to ask for once more in this run
    tally: Tally = field(default_factory=Tally, init=False)
    run: str = field(default_factory=lambda: uuid4().hex, init=False)  # its row of the money spent

    def __str__(self) -> str:
        tally = self.tally
        money = f"{dollars(tally.usd)}, {dollars(tally.usd_estimated)} of it an estimate"
        kinds = ", ".join(f"{n} {kind}" for kind, n in sorted(tally.kinds.items()))
        models = ", ".join(f"{name} ({n:,})" for name, n in tally.models.most_common(9))
        parts = {
            f"cached {tally.cached} / new {tally.new} / failed {tally.failed}": 1,
            f"{tally.kinds.total()} truncated or refused ({kinds}): retry lists the kinds to ask "
            "for again": kinds,
            f"answered by {models}": models,
            f"{tally.shortened} prompts not read whole": tally.shortened,
            f"{tally.lost} lost in transit or unreadable, which may be charged": tally.lost,
            f"{tally.prompt_tokens:,} tokens in, {tally.completion_tokens:,} out; {money}": (
                tally.new or tally.lost
            ),
        }
        return "; ".join(part for part, is_worth_saying in parts.items() if is_worth_saying)

    def failing(self, last: str) -> str:
        """Return why the stage's failures, the `last` of them named, stop it; else "".

        Prompts that fail may all come first: only faults of the endpoint stop a stage early.
        """
        tally, share = self.tally, self.max_failed_share
        n_failed, n_of, which = tally.failed, tally.asked, ""
        if n_failed <= share * n_of:
            n_of, which = tally.cached + tally.new + tally.failed, "the first "
            n_failed = tally.unserved
            if n_failed <= share * n_of + _EARLY:
                return ""
        return (
            f"{n_failed} of {which}{n_of} calls failed, cached ones included, and "
            f"max_failed_share is {share:g}, the last with: {last}"
        )

    def useless(self, max_tokens: int) -> str:
        """Return why a run stops whose replies are all cut, or whose prompts are; else ""."""
        tally, n = self.tally, self.tally.new + self.tally.cached
        if tally.shortened > _MOST_SHORTENED * tally.asked:
            return (
                f"the endpoint has read only a part of {tally.shortened} prompts and says nothing: "
                "raise its context window (num_ctx, max_model_len), or send less"
            )
        if tally.cut < n or n < _ENOUGH or self.max_failed_share == 1:
            return ""
        return (
            f"all of the first {n} replies are cut at the length limit, the last at "
            f"{max_tokens} tokens: raise it, or set max_failed_share to 1"
        )


def settings_of(section: dict, stage: str) -> dict[str, Any]:
    """Return what the section `llm` of a study file says of a stage: fields of Calls.

    Its key `stages` has settings of single stages, by name. Raises ValueError as Calls does.
    """
    settings: dict[str, Any] = {
        "max_cost_usd": MAX_COST_USD,
        **section,
        **section.get("stages", {}).get(stage, {}),
    }
    settings.pop("stages", None)
    Calls(Path(), **settings)
    return settings


def calls_for(study: str, stage: str) -> Calls:
    """Return the Calls of a `stage` of `study`, with the cache data/<study>/llm.sqlite.

    Its settings are those of studies/<study>.yaml, if there is one.
    """
    path = REPOSITORY / "studies" / f"{study.partition('/')[0]}.yaml"
    keys = yaml.safe_load(path.read_text(encoding="utf-8")) if path.exists() else {}
    return Calls(data_path(study, "llm.sqlite"), stage, **settings_of(keys.get("llm") or {}, stage))


def dollars(amount: float | None) -> str:
    """Format dollars, with six decimals below $1; "price unknown" for None."""
    return "price unknown" if amount is None else f"${amount:,.{2 if amount >= 1 else 6}f}"
