"""List how a run deviates from the paper, with both their settings (sections 3, 4).

Settings come from data/<study>/stages/*.json, where lib.run.notebook writes all parameters. What a
training run did comes from models/<arm>/training.json. What the code fixes and no run records
(AdamW, a linear schedule, greedy decoding, no replay) is as in the paper and has no row.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from lib.analyze.format import fraction
from lib.core.arms import BASE, repeated, split_arm
from lib.core.artifacts import ARTIFACTS
from lib.core.files import artifact_path, load
from lib.core.paths import data_path
from lib.core.records import Record

SAME, DIFFERS, OPEN = "same", "differs", "paper does not say"
RESULT, MISSING = "a result", "not recorded"
COLUMNS = ["stage", "point", "paper", "this run", "comparison"]
STAGES = ANNOTATE, NORMALIZE, TRAIN, INFER, RETENTION, JUDGE, PAIRS = tuple(
    Path(ARTIFACTS[name].made_by[0]).name for name in (
        "queries", "normalized", "model", "answers", "retention", "verdicts", "preferences"))


@dataclass(frozen=True)
class Point:
    """A parameter of a stage's notebook that the paper sets, or leaves open.

    `paper` is its value in the paper: a tuple if the paper gives two, a dict if it differs by arm,
    OPEN if the paper gives none. `text` is how the table shows the paper's side if the value alone
    is not enough.
    """

    stage: str
    point: str
    parameter: str
    paper: object = OPEN
    text: str = ""


_GPT41, _GPT4O = "gpt-4.1-2025-04-14", "gpt-4o-2024-08-06"

POINTS = (
    Point(ANNOTATE, "annotator", "annotator", _GPT41),
    Point(ANNOTATE, "queries per document, at most", "max_queries_per_document", 10),
    Point(NORMALIZE, "normalizer", "normalizer", (_GPT41, _GPT4O),
          f"{_GPT41} (3.2) or {_GPT4O} (4.2)"),
    Point(NORMALIZE, "where segments are cut", "segmentation", "plain", "plain: by semchunk alone"),
    Point(NORMALIZE, "tokens of a segment, at most", "max_segment_tokens", 700),
    Point(NORMALIZE, "tokenizer of these tokens", "base_model", text="not named"),
    Point(NORMALIZE, "kind of document named to the normalizer", "document_kind",
          text="not stated"),
    Point(TRAIN, "base model", "base_model", "meta-llama/Llama-3.1-8B"),
    Point(TRAIN, "share held out", "validation_share", 0.1),
    Point(TRAIN, "seed of the split", "split_seed", 42),
    Point(TRAIN, "packing", "packing",
          text="not stated; nor BOS, EOS and masking across documents"),
    Point(TRAIN, "tokens per sequence", "block_size", 4096),
    Point(TRAIN, "sequences per update", "global_batch_size", 64),
    Point(TRAIN, "sequences per device and step", "device_batch_size", 1),
    Point(TRAIN, "processes", "processes", 8, "8, one per GPU"),
    Point(TRAIN, "peak learning rate", "learning_rate", 5e-6),
    Point(TRAIN, "warm-up updates", "warmup_steps", 20),
    Point(TRAIN, "weight decay", "weight_decay", 0.1),
    Point(TRAIN, "epochs of the schedule", "epochs", {"dapt": 11, "dapt-n": 20}),
    Point(TRAIN, "stopped after epoch", "stop_epoch", {"dapt": None, "dapt-n": 11},
          "dapt: none; dapt-n: 11, by validation loss and gradient norms"),
    Point(TRAIN, "what is equal in the two arms", "match", "epochs"),
    Point(INFER, "endpoint that answers instead of the model", "endpoint_model", ""),
    Point(INFER, "arithmetic of the answers", "precision", text="not stated"),
    Point(INFER, "tokens of an answer, at most", "max_answer_tokens", text="not stated"),
    Point(INFER, "tokens of an entity list, at most", "max_list_tokens", text="not stated"),
    Point(RETENTION, "tasks of general knowledge", "tasks", "hub", "hub: MMLU, HellaSwag, LAMBADA"),
    Point(JUDGE, "pointwise judge", "judge", text="not named"),
    Point(PAIRS, "win-rate judge", "judge", _GPT4O),
)


def deviations(study: str, arms: list[str], seeds: int = 1) -> pd.DataFrame:
    """Return one row per point: stage, point, paper, this run, comparison.

    The comparison is SAME, DIFFERS, OPEN (the paper does not say), RESULT (an outcome, not a
    setting) or MISSING. If the arms, each trained with `seeds` seeds, differ, values are given by
    arm. The row of a missing record names the notebook that writes it: only a stage run by `make
    study` or `python -m lib.run.notebook` has a record.
    """
    trainings = [name for arm in arms if arm != BASE for name in repeated(arm, seeds)]
    rows = [_setting(study, trainings if point.stage == TRAIN else arms, point)
            for point in POINTS]
    rows += [*_recorded_results(study), *_trained(study, trainings)]
    return pd.DataFrame(sorted(rows, key=lambda row: STAGES.index(row[0])), columns=COLUMNS)


def _setting(study: str, arms: list[str], point: Point) -> tuple[str, ...]:
    absent = f"{MISSING}: run {point.stage}.ipynb"
    values = {arm: given.get(point.parameter, absent)
              for arm, given in _parameters(study, point.stage, arms).items()}
    if not values or absent in values.values():
        comparison = MISSING
    elif point.paper == OPEN:
        comparison = OPEN
    else:
        agree = all(_agrees(value, point.paper, arm) for arm, value in values.items())
        comparison = SAME if agree else DIFFERS
    paper = point.paper if isinstance(point.paper, dict) else {"": point.paper}
    return (point.stage, point.point, point.text or _by_arm(paper), _by_arm(values) or MISSING,
            comparison)


def _agrees(value: object, paper: object, arm: str) -> bool:
    if isinstance(paper, dict):
        paper = paper.get(split_arm(arm)[0])
    return value in paper if isinstance(paper, tuple) else value == paper


def _parameters(study: str, stage: str, arms: list[str]) -> dict[str, dict[str, object]]:
    """Return a stage's parameters by arm, or by its records' names; {} if there is no record."""
    names = [f"{stage}-{arm}" for arm in arms]
    if stage not in (TRAIN, INFER, RETENTION, JUDGE):
        found = data_path(study, "stages").glob(f"{stage}*.json")
        names = sorted(path.stem for path in found) or [stage]
    records = {name.removeprefix(stage).removeprefix("-"): _json(study, "stages", f"{name}.json")
               for name in names}
    return {arm: record and {**record["defaulted"], **record["given"]}
            for arm, record in records.items()}


def _json(study: str, *parts: str) -> dict:
    path = data_path(study).joinpath(*parts)
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}


def _by_arm(values: dict[str, object]) -> str:
    """Return "30" if all are equal, else "dapt: 11; dapt-n: 20"."""
    texts = {arm: _text(value) for arm, value in values.items()}
    if len(set(texts.values())) < 2:
        return next(iter(texts.values()), "")
    return "; ".join(f"{arm}: {text}" for arm, text in texts.items())


def _text(value: object) -> str:
    if value in ("", None):
        return "none"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _recorded_results(study: str) -> list[tuple[str, ...]]:
    """Return what was asked about and rewritten, counted in the rows themselves."""
    stages = sorted(Path(notebook).name for notebook in ARTIFACTS["documents"].made_by)
    source = next((f" of {stage}" for stage in stages if _json(study, "stages", f"{stage}.json")),
                  "")

    def in_documents(amount: int, rows: list[Record]) -> str:
        return f"{amount:,} in {len({row.document_id for row in rows}):,} documents{source}"

    results = (
        ("segments", "tokens of the documents", "4M in 42 documents",
         lambda rows: in_documents(sum(row.n_tokens for row in rows), rows)),
        ("queries", "queries", "191 from 10 documents", lambda rows: in_documents(len(rows), rows)),
        ("normalized", "segments with a readable rewrite", "99.4%",
         lambda rows: fraction(sum(not row.dropped for row in rows), len(rows), digits=1)))
    found = []
    for name, point, paper, measure in results:
        stage = Path(ARTIFACTS[name].made_by[0]).name
        is_there = artifact_path(study, name).exists()
        text = measure(load(study, name)) if is_there else f"{MISSING}: run {stage}.ipynb"
        found.append((stage, point, paper, text, RESULT if is_there else MISSING))
    return found


def _trained(study: str, arms: list[str]) -> list[tuple[str, ...]]:
    """Return what each training did, from its training.json."""
    done = {arm: _json(study, "models", arm, "training.json") for arm in arms}
    missing = [arm for arm, training in done.items() if not training]
    for arm, training in done.items():
        config = _json(study, "models", arm, "config.json")
        training["weights"] = config.get("dtype", MISSING)  # without DeepSpeed, gradients' too
    rows = []
    for point, paper, agreed, measure in _MEASURES:
        if missing or not done:
            text = f"{MISSING}: run {TRAIN}.ipynb for {', '.join(missing)}" if missing else MISSING
            rows.append((TRAIN, point, paper, text, MISSING))
            continue
        values = {arm: measure(training) for arm, training in done.items()}
        comparison = agreed
        if agreed not in (OPEN, RESULT):
            comparison = SAME if set(values.values()) == {agreed} else DIFFERS
        rows.append((TRAIN, point, paper, _by_arm(values), comparison))
    return rows


def _warmup_share(training: dict) -> str:
    return f"{training['recipe']['warmup_steps'] / training['history']['updates']:.0%}"


def _last_rate(training: dict) -> str:
    last = training["history"]["epochs"][-1]["learning_rate"]
    return f"{last / training['recipe']['learning_rate']:.1%}"


def _accumulation(training: dict) -> int:
    recipe, processes = training["recipe"], training["fingerprint"]["processes"]
    return recipe["global_batch_size"] // (recipe["device_batch_size"] * processes)


def _hours(training: dict) -> str:
    history, made_on = training["history"], training["fingerprint"]
    hours = history["seconds"] * made_on["processes"] / 3600
    start = history["resumed_at"]  # a killed run leaves no record of its time
    return f"{hours:.2f} on {made_on['device']}" + (f", from update {start} on" if start else "")


# point, the paper's side, the value that agrees with it (RESULT or OPEN: none), and how to read it
_MEASURES: tuple[tuple[str, str, object, Callable[[dict], object]], ...] = (
    ("arithmetic of the training", "bf16", "bf16",
     lambda training: training["fingerprint"]["recipe.precision"]),
    ("type of the saved weights", "bfloat16", "bfloat16", lambda training: training["weights"]),
    ("ZeRO stage (0: no DeepSpeed)", "1", 1,
     lambda training: training["fingerprint"]["zero_stage"]),
    ("gradient accumulation steps per update", "8", 8, _accumulation),
    ("type that gradients are summed in", "not stated", OPEN,
     lambda training: training.get("grad_accum_dtype", training["weights"])),
    ("seed of the training", "not stated; one training per arm", OPEN,
     lambda training: training["recipe"]["seed"]),
    ("tokens trained on per epoch", "4M raw, 1.5M rewritten, less 10%", RESULT,
     lambda training: f"{training['tokens_trained']:,}"),
    ("updates", "dapt: about 151; dapt-n: about 57", RESULT,
     lambda training: training["history"]["updates"]),
    ("warm-up, share of the updates", "dapt: 13%; dapt-n: 35%", RESULT, _warmup_share),
    ("learning rate of the last update, share of the peak", "dapt: 0%; dapt-n: about 55%", RESULT,
     _last_rate),
    ("epoch of the model that is kept", "11", RESULT,
     lambda training: training["history"]["chosen_epoch"]),
    ("device-hours", "dapt: about 2; dapt-n: about 3", RESULT, _hours),
)
