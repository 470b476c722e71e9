"""Where a run departs from the paper: its settings as the run recorded them, beside the paper's (sections 3 and 4).

Settings come from data/<study>/stages/*.json, which lib.run.notebook writes with the parameters given and defaulted;
what a training did comes from models/<arm>/training.json. Nothing about the run is written here. What the code fixes
and no run records (AdamW, a linear schedule, greedy decoding, no replay) is the same as in the paper and in no row.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass

import pandas as pd

from lib.core.arms import repeated, split_arm
from lib.core.files import read_records
from lib.core.paths import data_path
from lib.core.records import Normalized, Query, Segment

SAME, DIFFERS, OPEN, RESULT, MISSING = "same", "differs", "paper does not say", "a result", "not recorded"
COLUMNS = ["stage", "point", "paper", "this run", "comparison"]
UNTRAINED = "base"


@dataclass(frozen=True)
class Point:
    """A parameter of a notebook that the paper sets, or leaves open.

    `paper` is the paper's value, a tuple of values that it names both, or a dict of them by arm; OPEN where it names
    none. `said` is how the table words the paper's side, where the value alone does not.
    """

    notebook: str
    point: str
    parameter: str
    paper: object = OPEN
    said: str = ""


_GPT41, _GPT4O = "gpt-4.1-2025-04-14", "gpt-4o-2024-08-06"

POINTS = (
    Point("01_annotate", "annotator", "annotator", _GPT41),
    Point("01_annotate", "queries a document, at most", "max_queries_per_document", 10),
    Point("02_normalize", "normalizer", "normalizer", (_GPT41, _GPT4O), f"{_GPT41} (3.2) or {_GPT4O} (4.2)"),
    Point("02_normalize", "where segments are cut", "segmentation", "plain", "plain: by semchunk alone"),
    Point("02_normalize", "tokens of a segment, at most", "max_segment_tokens", 700),
    Point("02_normalize", "tokenizer of these tokens", "base_model", said="not named"),
    Point("02_normalize", "what the documents are called to the normalizer", "document_kind", said="not stated"),
    Point("03_train", "base model", "base_model", "meta-llama/Llama-3.1-8B"),
    Point("03_train", "share held out", "validation_share", 0.1),
    Point("03_train", "seed of the split", "split_seed", 42),
    Point("03_train", "packing", "packing", said="not stated; nor BOS, EOS and masking across documents"),
    Point("03_train", "tokens a sequence", "block_size", 4096),
    Point("03_train", "sequences an update", "global_batch_size", 64),
    Point("03_train", "sequences a device and step", "device_batch_size", 1),
    Point("03_train", "processes", "processes", 8, "8, one a GPU"),
    Point("03_train", "peak learning rate", "learning_rate", 5e-6),
    Point("03_train", "warm-up updates", "warmup_steps", 20),
    Point("03_train", "weight decay", "weight_decay", 0.1),
    Point("03_train", "epochs of the schedule", "epochs", {"dapt": 11, "dapt-n": 20}),
    Point("03_train", "stopped after epoch", "stop_epoch", {"dapt": None, "dapt-n": 11},
          "dapt: none; dapt-n: 11, by validation loss and gradient norms"),
    Point("03_train", "what the two arms have alike", "match", "epochs"),
    Point("04_infer", "endpoint that answers instead of the model", "endpoint_model", ""),
    Point("04_infer", "arithmetic of the answers", "precision", said="not stated"),
    Point("04_infer", "tokens of an answer, at most", "max_answer_tokens", said="not stated"),
    Point("04_infer", "tokens of an entity list, at most", "max_list_tokens", said="not stated"),
    Point("00_retention", "tasks of general knowledge", "tasks", "hub", "hub: MMLU, HellaSwag, LAMBADA"),
    Point("05_judge", "pointwise judge", "judge", said="not named"),
    Point("01_pairs", "win-rate judge", "judge", _GPT4O),
)
_OF_TRAINED, _OF_ARMS = ("03_train",), ("04_infer", "00_retention", "05_judge")


def departures(study: str, arms: list[str], seeds: int = 1) -> pd.DataFrame:
    """One row a point: stage, point, paper, this run, comparison; each arm trained with `seeds` seeds.

    The comparison is "same", "differs", "paper does not say", "a result" (what came out; no setting) or "not
    recorded". What the arms do not share is given by arm. A missing record's row names the notebook that writes it:
    only a stage run by `make study` or `python -m lib.run.notebook` has one.
    """
    trainings = [name for arm in arms if arm != UNTRAINED for name in repeated(arm, seeds)]
    rows = [_setting(study, trainings if point.notebook in _OF_TRAINED else arms, point) for point in POINTS]
    rows += [*_corpus(study), *_rewritten(study), *_trained(study, trainings)]
    return pd.DataFrame(sorted(rows, key=lambda row: row[0]), columns=COLUMNS)  # sorting keeps a stage's own order


def _setting(study: str, arms: list[str], point: Point) -> tuple[str, ...]:
    found = _recorded(study, point.notebook, arms)
    values = {arm: settings[point.parameter] if settings and point.parameter in settings
              else f"{MISSING}: run {point.notebook}.ipynb" for arm, settings in found.items()}
    is_missing = any(not settings or point.parameter not in settings for settings in found.values()) or not found
    same = {arm: _agrees(value, _of_arm(point.paper, arm)) for arm, value in values.items()}
    comparison = MISSING if is_missing else OPEN if point.paper == OPEN else SAME if all(same.values()) else DIFFERS
    said = point.said or (_by_arm(point.paper) if isinstance(point.paper, dict) else _text(point.paper))
    return point.notebook, point.point, said, _by_arm(values) or MISSING, comparison


def _recorded(study: str, notebook: str, arms: list[str]) -> dict[str, dict[str, object] | None]:
    """Parameters of `notebook`, defaulted and given, by arm (or by the rest of the record's name); None: no record."""
    wanted = arms
    if notebook not in _OF_ARMS + _OF_TRAINED:
        wanted = sorted(path.stem.removeprefix(notebook).removeprefix("-")
                        for path in data_path(study).glob(f"stages/{notebook}*.json")) or [""]
    found = {arm: _json(study, "stages", f"{notebook}-{arm}.json" if arm else f"{notebook}.json") for arm in wanted}
    return {arm: record and {**record["defaulted"], **record["given"]} for arm, record in found.items()}


def _json(study: str, *parts: str) -> dict | None:
    path = data_path(study).joinpath(*parts)
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def _of_arm(paper: object, arm: str) -> object:
    return paper.get(split_arm(arm)[0]) if isinstance(paper, dict) else paper


def _agrees(value: object, paper: object) -> bool:
    return value in paper if isinstance(paper, tuple) else value == paper


def _by_arm(values: dict[str, object]) -> str:
    """"30" where all have it, else "dapt: 11; dapt-n: 20"."""
    texts = {arm: _text(value) for arm, value in values.items()}
    if len(set(texts.values())) < 2:
        return next(iter(texts.values()), "")
    return "; ".join(f"{arm}: {text}" for arm, text in texts.items())


def _text(value: object) -> str:
    return "none" if value in ("", None) else f"{value:g}" if isinstance(value, float) else str(value)


def _corpus(study: str) -> list[tuple[str, ...]]:
    """What was asked about, from the records themselves."""
    source = next((path.stem for path in sorted(data_path(study).glob("stages/00_*.json"))), "")
    rows = []
    for name, kind, made_by, point, paper in (
            ("segments.jsonl", Segment, "02_normalize", "tokens of the documents", "4M in 42 documents"),
            ("queries.jsonl", Query, "01_annotate", "queries", "191 from 10 documents")):
        if not data_path(study, name).exists():
            rows.append((made_by, point, paper, f"{MISSING}: run {made_by}.ipynb", MISSING))
            continue
        records = read_records(data_path(study, name), kind, f"{made_by}.ipynb")
        amount = sum(record.n_tokens for record in records) if kind is Segment else len(records)
        rows.append((made_by, point, paper, f"{amount:,} in {len({record.document_id for record in records}):,} "
                     f"documents{source and ' of ' + source}", RESULT))
    return rows


def _rewritten(study: str) -> list[tuple[str, ...]]:
    row = ("02_normalize", "segments whose rewriting could be read", "99.4%")
    if not data_path(study, "normalized.jsonl").exists():
        return [(*row, f"{MISSING}: run 02_normalize.ipynb", MISSING)]
    records = read_records(data_path(study, "normalized.jsonl"), Normalized, "02_normalize.ipynb")
    kept = sum(not record.dropped for record in records)
    return [(*row, f"{kept}/{len(records)} = {kept / len(records):.1%}" if records else "0/0", RESULT)]


def _trained(study: str, arms: list[str]) -> list[tuple[str, ...]]:
    """What each training did, from its training.json."""
    done = {arm: _training(study, arm) for arm in arms}
    rows = []
    for point, paper, agreed, measure in _MEASURES:
        if not done or not all(done.values()):
            missing = [arm for arm, training in done.items() if not training]
            rows.append(("03_train", point, paper, f"{MISSING}: run 03_train.ipynb for {', '.join(missing)}"
                         if missing else MISSING, MISSING))
            continue
        values = {arm: measure(training) for arm, training in done.items()}
        comparison = agreed if agreed in (OPEN, RESULT) else SAME if set(values.values()) == {agreed} else DIFFERS
        rows.append(("03_train", point, paper, _by_arm(values), comparison))
    return rows


def _training(study: str, arm: str) -> dict | None:
    """training.json, and as `weights` the type of the saved weights: without DeepSpeed gradients are summed in it."""
    training, config = (_json(study, "models", arm, name) for name in ("training.json", "config.json"))
    return training and {**training, "weights": (config or {}).get("dtype", MISSING)}


def _warmup_share(training: dict) -> str:
    return f"{training['recipe']['warmup_steps'] / training['history']['updates']:.0%}"


def _last_rate(training: dict) -> str:
    return f"{training['history']['epochs'][-1]['learning_rate'] / training['recipe']['learning_rate']:.1%}"


def _accumulation(training: dict) -> int:
    recipe = training["recipe"]
    return recipe["global_batch_size"] // (recipe["device_batch_size"] * training["identity"]["processes"])


def _hours(training: dict) -> str:
    history, identity = training["history"], training["identity"]
    part = f", from update {history['resumed_at']} on" if history["resumed_at"] else ""  # a killed run leaves no time
    return f"{history['seconds'] * identity['processes'] / 3600:.2f} on {identity['device']}{part}"


# point, the paper's side, the value that agrees with it (RESULT or OPEN: none can), how to read it from a training.json
_MEASURES: tuple[tuple[str, str, object, Callable[[dict], object]], ...] = (
    ("arithmetic of the training", "bf16", "bf16", lambda training: training["identity"]["recipe.precision"]),
    ("type of the saved weights", "bfloat16", "bfloat16", lambda training: training["weights"]),
    ("ZeRO stage (0: no DeepSpeed)", "1", 1, lambda training: training["identity"]["zero_stage"]),
    ("steps of accumulation an update", "8", 8, _accumulation),
    ("type that gradients are summed in", "not stated", OPEN,
     lambda training: training.get("grad_accum_dtype", training["weights"])),
    ("seed of the training", "not stated; one training an arm", OPEN, lambda training: training["recipe"]["seed"]),
    ("tokens trained on an epoch", "4M raw, 1.5M rewritten, less 10%", RESULT,
     lambda training: f"{training['tokens_trained']:,}"),
    ("updates", "dapt: about 151; dapt-n: about 57", RESULT, lambda training: training["history"]["updates"]),
    ("warm-up, share of the updates", "dapt: 13%; dapt-n: 35%", RESULT, _warmup_share),
    ("learning rate of the last update, share of the peak", "dapt: 0%; dapt-n: about 55%", RESULT, _last_rate),
    ("epoch of the model that is kept", "11", RESULT, lambda training: training["history"]["chosen_epoch"]),
    ("device-hours", "dapt: about 2; dapt-n: about 3", RESULT, _hours),
)
