"""Outcomes of a base's runs: a row for each fact and number of exposures, and what is kept.

`question` and `record` are mean log-probabilities of a value, in nats per token, after its question
and after the arm's own words; `answered` and `stored` say whether greedy decoding gives it.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

import pandas as pd
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from lib.core.errors import BadInput
from lib.core.records import Document, Fact
from lib.core.store import made_by, replacing, shown
from lib.exposures.arms import Arm
from lib.exposures.scores import after_question, after_record
from lib.exposures.training import Regime, blocks_of, train_run
from lib.infer.answers import load


def run(
    base_model: str,
    arm: Arm,
    documents: list[Document],
    facts: list[Fact],
    replayed: Sequence[str],
    scored: Sequence[Fact],
    regime: Regime,
    seed: int,
    work: Path,
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Train a run from its base; return its rows and, for each of regime.exposures, what is kept.

    The base itself is scored as exposure 0. `scored` has public facts that are not in `replayed`.
    """
    model, tokenizer = load(base_model, training=True)
    blocks, updates = blocks_of(
        lambda exposure: [one.text for one in arm.write(documents, facts, exposure)],
        replayed,
        tokenizer,
        regime,
        seed,
    )
    rows, left = [], []

    def score(exposures: int) -> None:
        rows.append(_scores(model, tokenizer, arm, documents, facts, exposures))
        left.append({"exposures": exposures, **kept(model, tokenizer, scored)})

    score(0)
    train_run(model, blocks, updates, regime, seed, work, score)
    return pd.concat(rows), pd.DataFrame(left).assign(tokens=blocks.n_tokens, updates=updates[-1])


def _scores(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    arm: Arm,
    documents: list[Document],
    facts: list[Fact],
    exposures: int,
) -> pd.DataFrame:
    texts = {one.document_id: one.text for one in documents}
    asked = after_question(model, tokenizer, facts)
    last = arm.write(documents, facts, max(0, exposures - 1))  # the text that was read last
    read = after_record(model, tokenizer, last, facts)
    return pd.DataFrame(
        [
            {
                "exposures": exposures,
                "product": fact.entity,
                "attribute": fact.attribute,
                "structure": fact.structure,
                "is_named": fact.entity in texts[fact.document_id][fact.start : fact.end],
                "question": round(question.loglik, 3),
                "record": round(record.loglik, 3),
                "answered": question.is_greedy,
                "stored": record.is_greedy,
            }
            for fact, question, record in zip(facts, asked, read, strict=True)
        ]
    )


def kept(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, facts: Sequence[Fact]
) -> dict[str, float]:
    """Return the share of public questions answered, and their log-likelihood in nats a token."""
    scores = after_question(model, tokenizer, facts)
    return {
        "public_answered": sum(one.is_greedy for one in scores) / len(scores),
        "public_loglik": sum(one.loglik for one in scores) / len(scores),
    }


def write_rows(path: Path, rows: pd.DataFrame) -> None:
    """Write rows as CSV, compressed and without a date, so that equal rows give equal files."""
    flags = rows.select_dtypes("bool").columns
    with replacing(path) as temporary:
        rows.astype(dict.fromkeys(flags, int)).to_csv(
            temporary, index=False, compression={"method": "gzip", "mtime": 0}
        )


def read_rows(folder: Path, seeds: Iterable[int] = ()) -> pd.DataFrame:
    """Return the rows of <seed>.csv.gz in `folder`, with a column `base`; default: all seeds.

    Raises BadInput if a file or all are missing.
    """
    names = [f"{seed}.csv.gz" for seed in seeds] or sorted(
        path.name for path in folder.glob("[!.]*.csv.gz")
    )
    missing = [name for name in names if not (folder / name).exists()]
    if missing or not names:
        raise BadInput(
            f"{shown(folder / (missing or ['*.csv.gz'])[0])} is missing: run "
            f"{made_by('outcomes')} first (or `make study`)"
        )
    return pd.concat(
        [pd.read_csv(folder / name).assign(base=int(name.partition(".")[0])) for name in names],
        ignore_index=True,
    )
