"""Count what decides how hard a suite is: answers given too often, questions repeated, sizes."""

from collections.abc import Sequence

import pandas as pd

from lib.structext.generate.samples import JUNE, suite
from lib.structext.records import LANGUAGES, Sample

V1_CHARACTERS = {"v1-simple": 116, "v1-hard": 787}  # v1, Table 3: mean size of a JSON text
# Mean size of a text of depth 1 and 2 in the official files of June 2024 (18-30 samples each).
JUNE_CHARACTERS = {
    "v1-simple": {"csv": 141.2, "tree": 4.0, "json": 118.1, "yaml": 87.5, "xml": 101.9,
                  "latex": 153.7, "markdown": 123.5, "org": 102.5},
    "v1-hard": {"csv": 196.7, "tree": 31.7, "json": 802.6, "yaml": 621.3, "xml": 532.7,
                "latex": 881.5, "markdown": 721.0, "org": 692.0}}


def frequent_answers(samples: Sequence[Sample]) -> pd.DataFrame:
    """Return, by task and depth, n samples, how many answers, and the commonest with its share."""
    rows = pd.DataFrame([(one.task, one.depth, one.answer) for one in samples],
                        columns=["task", "depth", "answer"])
    return rows.groupby(["task", "depth"], sort=False).answer.agg(
        n="size", answers="nunique", commonest=lambda given: given.mode()[0],
        share=lambda given: given.value_counts(normalize=True).iloc[0]).reset_index()


def n_repeated(samples: Sequence[Sample]) -> int:
    """Return how many samples have the question and the text of an earlier one."""
    return len(samples) - len({(one.question, one.reference) for one in samples})


def v1_sizes(mode: str = "faithful", seed: int = 42) -> pd.DataFrame:
    """Return mean characters of a text by v1's suites and language, beside the published ones.

    Columns: suite, language, n (samples), characters, june (the official files), v1 (its Table 3;
    JSON only), and residual_percent, ours against v1, or against june where v1 gives no size.
    """
    rows = []
    for name in JUNE:
        samples = suite(name, seed, mode)
        for language in LANGUAGES:
            sizes = [len(one.reference) for one in samples if one.language == language]
            characters, june = sum(sizes) / len(sizes), JUNE_CHARACTERS[name][language]
            published = V1_CHARACTERS[name] if language == "json" else None
            rows.append((name, language, len(sizes), characters, june, published,
                         100 * (characters / (published or june) - 1)))
    return pd.DataFrame(rows, columns=["suite", "language", "n", "characters", "june", "v1",
                                       "residual_percent"])
