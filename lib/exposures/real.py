"""Real facts as a sentence, a bullet or a row: half of them asked about, half said again."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from random import Random

import pandas as pd
from transformers import PreTrainedTokenizerBase

from lib.analyze.stats import cluster_mean, holm, t_test
from lib.core.records import STRUCTURES, Query, prose
from lib.infer.generate import GenerationConfig, answer, load
from lib.infer.loglik import score
from lib.judge import scorer
from lib.train.config import TrainConfig
from lib.train.corpus import PackedBlocks, pack, pack_questions
from lib.train.trainer import fit

ASKED, SAID, NEITHER = ("asked", "said again", "neither")
_COLUMNS = "| {} | {} | {} |\n|---|---|---|\n"
# What joins facts of each of STRUCTURES, how it states them, and says them again in other words.
_FORMS = (
    (
        " ",
        ("", "The {attribute} of {entity} is {value}."),
        ("", "For {entity}, the {attribute} given is {value}."),
        ("", "It is {value} that is the {attribute} of {entity}."),
    ),
    (
        "\n",
        ("", "- {attribute} of {entity}: {value}"),
        ("", "- {entity}, {attribute}: {value}"),
        ("", "- {value}: {attribute} of {entity}"),
    ),
    (
        "\n",
        (_COLUMNS.format("Item", "Attribute", "Value"), "| {entity} | {attribute} | {value} |"),
        (_COLUMNS.format("Attribute", "Item", "Value"), "| {attribute} | {entity} | {value} |"),
        (_COLUMNS.format("Value", "Attribute", "Item"), "| {value} | {attribute} | {entity} |"),
    ),
)
ASKS = ("Which {attribute} does {entity} have?", "For {entity}, which {attribute} is given?")
TEST = "What is the {attribute} of {entity}?"


def design(facts: pd.DataFrame, rotation: int, half: int | None) -> pd.DataFrame:
    """The facts with their `structure` and `treatment` in a run; without `half`, all have NEITHER.

    A document's facts are in turn in three groups, whose structures change by rotation. Half of a
    group is drawn by lot; `half` 0 asks about these, 1 about the others.
    """
    group, names = facts.number % len(STRUCTURES), list(STRUCTURES)
    drawn = pd.Series(1, facts.index)
    for (document, number), rows in facts.groupby(["document", group]):
        lot = Random(f"{Path(document).name} {number}")
        drawn[lot.sample([*rows.index], len(rows) // 2)] = 0
    treatment = NEITHER if half is None else (drawn == half).map({True: ASKED, False: SAID})
    structure = ((group + rotation) % len(names)).map(names.__getitem__)
    return facts.assign(structure=structure, treatment=treatment)


def texts_of(facts: pd.DataFrame, form: int) -> list[str]:
    """A text a document and structure with all its facts: stated (form 0) or said again (1, 2)."""
    texts = []
    for (_, name), rows in facts.groupby(["document", "structure"], sort=False):
        gap, *forms = _FORMS[list(STRUCTURES).index(name)]
        header, template = forms[form]
        said = gap.join(template.format(**row) for row in rows.to_dict("records"))
        texts.append(f"From {rows.title.iloc[0]}:\n\n{header}{said}")
    return texts


def questions(facts: pd.DataFrame, wordings: Sequence[str] = (TEST,)) -> list[Query]:
    """The question of each fact in each wording."""
    return [
        Query(
            query_id=f"{row['document']}-{row['number']}",
            document_id=row["document"],
            question=wording.format(**row),
            answer=str(row["value"]),
            structure=row["structure"],
            block_type="prose",
        )
        for wording in wordings
        for row in facts.to_dict("records")
    ]


def blocks_of(
    facts: pd.DataFrame,
    also: list[Query],
    tokenizer: PreTrainedTokenizerBase,
    seed: int,
    block_size: int,
) -> tuple[PackedBlocks, dict[str, int]]:
    """An epoch's blocks of a run, and the tokens of each part: stated, asked, said again, also.

    Facts are said again in two wordings in turn, up to the tokens of the questions asked.
    """
    parts = {"stated": pack(texts_of(facts, 0), tokenizer, block_size, "document")}
    asked, said = (facts[facts.treatment == one] for one in (ASKED, SAID))
    if len(asked):
        parts["asked"] = pack_questions(questions(asked, ASKS), tokenizer, block_size)
        rng, again, form = Random(seed), [], 0
        left = parts["asked"].n_tokens
        while left > 0:
            texts, form = texts_of(said, 1 + form % 2), form + 1
            for text in rng.sample(texts, len(texts)):
                if left > 0:
                    again.append(text)
                    left -= len(tokenizer(text)["input_ids"]) + 1  # and its end
        parts["said again"] = pack(again, tokenizer, block_size, "document")
    parts["also"] = pack_questions(also, tokenizer, block_size)
    stated, *others = parts.values()
    return sum(others, stated), {name: part.n_tokens for name, part in parts.items()}


def run(
    base_model: str,
    facts: pd.DataFrame,
    also: list[Query],
    work: Path,
    config: TrainConfig,
    block_size: int,
) -> tuple[pd.DataFrame, dict[str, int]]:
    """Train a base on a run's facts; return each fact's answer, verdict and log-likelihood, and
    tokens an epoch."""
    model, tokenizer = load(base_model, training=True)
    blocks, tokens = blocks_of(facts, also, tokenizer, config.seed, block_size)
    shutil.rmtree(work, ignore_errors=True)  # a killed run starts again
    fit(model, blocks, None, config, work)
    shutil.rmtree(work)
    queries = questions(facts)
    replies = answer((model, tokenizer), queries, "", GenerationConfig(max_new_tokens=24))
    scores = score(model, tokenizer, queries, {}, "", batch_size=64, cloze_context_tokens=0)
    said = [one.answer for one in replies]
    return facts.assign(
        answer=said,
        verdict=[verdict for verdict, *_ in scorer.score(queries, said)],
        loglik=[one.answer_loglik / one.answer_tokens for one in scores],
    ), tokens


def contrasts(rows: pd.DataFrame, value: str) -> pd.DataFrame:
    """The three primary contrasts of `value` over runs and documents, with Holm's p.

    `rows` has the facts of all runs, with `run`. Each fact has every structure and treatment in
    some runs, so it is compared with itself. Variances of documents and of runs add.
    """
    asked, said = (rows[rows.treatment == one] for one in (ASKED, SAID))
    pairs = {f"{ASKED} - {SAID}": (asked, said)}
    for name, part in ((ASKED, asked), (SAID, said)):
        sides = (part[part.structure == one] for one in (list(STRUCTURES)[-1], prose()))
        pairs[f"table - prose where {name}"] = tuple(sides)
    found = []
    for name, (first, second) in pairs.items():
        change, runs = (
            (first.groupby(by)[value].mean() - second.groupby(by)[value].mean()).dropna()
            for by in (["document", "number"], "run")
        )
        mean, error, freedom = cluster_mean(change, change.index.get_level_values("document"))
        parts = [(error**2, freedom), (runs.var() / len(runs), len(runs) - 1)]
        found.append((name, value, len(change), len(runs), mean, *t_test(mean, parts)))
    columns = "contrast value facts runs difference low high p".split()
    table = pd.DataFrame(found, columns=columns)
    return table.assign(p_holm=holm(table.p))
