"""Select the prompts that fit in a model's context window; count the others, truncate none."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pandas as pd

from lib.reading.context_window import Tokenizer, lengths_of, token_counts
from lib.structext.ask.prompts import Prompted
from lib.structext.records import EXTRA_LANGUAGES, LANGUAGES, Sample

_KEYS = ["suite", "setting", "n_shots", "language", "depth", "width"]
COLUMNS = [*_KEYS, "n", "fits", "left_out", "longest_prompt", "longest_answer",
           "answers_over_budget"]


@dataclass(frozen=True)
class Fit:
    """The prompts that can be sent to a model, the others, and a table that counts both."""

    fitting: list[Prompted]  # in order
    left_out: list[Prompted]  # not sent, so they score 0; their prompts are emptied
    samples: list[Sample]  # the samples of all prompts, once each
    table: pd.DataFrame  # COLUMNS, one row per group of prompts; lengths in tokens


def fit_prompts(lists: Iterable[Sequence[Prompted]], tokenizer: Tokenizer, window: int,
                answer_budget: int) -> Fit:
    """Separate prompts by whether they fit in `window` tokens, `answer_budget` of them reserved.

    A length is that of the text as sent, with BOS and the model's chat template. If the structured
    text alone does not fit, its length is used instead of the prompt's, because a suite's longest
    prompts amount to hundreds of megabytes. The table also counts reference answers longer than
    the budget for the reply: no reply can give them in full.
    Raises ValueError for a window or budget below 1, and as `lib.infer.prompts.is_chat` does.
    """
    if window < 1 or answer_budget < 1:
        raise ValueError(f"window {window}, answer_budget {answer_budget}: each must be at least "
                         "1 token")
    fitting, left_out, samples, rows = [], [], {}, []
    known: dict[str, int] = {}  # tokens of each structured text
    for prompts in lists:
        answers = token_counts([one.sample.answer for one in prompts], tokenizer)
        lengths = _lengths(prompts, tokenizer, window - answer_budget, known)
        for one, length, answer in zip(prompts, lengths, answers, strict=True):
            sample, fits = one.sample, length + answer_budget <= window
            samples[sample.id] = sample
            rows.append((one.suite, one.setting, one.n_shots, sample.language, sample.depth,
                         sample.width, length, answer, fits))
            if fits:
                fitting.append(one)
            else:
                left_out.append(one.model_copy(update={"prompt": ""}))
    table = pd.DataFrame(rows, columns=[*_KEYS, "prompt", "answer", "fits"])
    return Fit(fitting, left_out, list(samples.values()), _table(table, answer_budget))


def _lengths(prompts: Sequence[Prompted], tokenizer: Tokenizer, room: int,
             known: dict[str, int]) -> list[int]:
    """Return each prompt's length in tokens, or that of its text if the text exceeds `room`."""
    texts = [text for text in {one.sample.reference: None for one in prompts} if text not in known]
    known.update(zip(texts, token_counts(texts, tokenizer), strict=True))
    lengths = [known[one.sample.reference] for one in prompts]
    places = [place for place, length in enumerate(lengths) if length <= room]
    counted = lengths_of([prompts[place].prompt for place in places], tokenizer)
    for place, length in zip(places, counted, strict=True):
        lengths[place] = length
    return lengths


def _table(rows: pd.DataFrame, answer_budget: int) -> pd.DataFrame:
    """Count the prompts, one per row of `rows`; only languages are reordered, into fixed order."""
    languages = pd.CategoricalDtype([*LANGUAGES, *EXTRA_LANGUAGES], ordered=True)
    groups = rows.astype({"fits": int, "language": languages}).assign(
        over=rows.answer > answer_budget).groupby(_KEYS, sort=False, observed=True)
    table = groups.agg(n=("fits", "size"), fits=("fits", "sum"), longest_prompt=("prompt", "max"),
                       longest_answer=("answer", "max"), answers_over_budget=("over", "sum"))
    table = table.reset_index().assign(left_out=lambda table: table.n - table.fits)[COLUMNS]
    order = table.groupby(_KEYS[:3], sort=False).ngroup().rename("order")
    return table.join(order).sort_values(["order", *_KEYS[3:]], ignore_index=True)[COLUMNS]
