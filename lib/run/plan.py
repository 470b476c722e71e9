"""`make look` and `make plan`: what documents hold, and what their study would need; none runs."""

import argparse
import logging
import os
import sys
from functools import cache
from typing import Any

import pandas as pd

from lib.annotate.llm_annotator import Budget, chunk, token_budget
from lib.core import prompts
from lib.core.arms import QUESTIONS, WORDINGS
from lib.core.records import STRUCTURES
from lib.core.store import PROMPTS, REPOSITORY, BadInput, BadStudy, model_source, shown, tell
from lib.documents.folder import Reading, read_folder
from lib.documents.markdown import parse
from lib.llm.calls import cost_usd, price_of
from lib.llm.request import counter
from lib.run.config import WRITERS, Study, load_study

RECORDS = REPOSITORY / "data" / "records"
MODEL = "gpt-4.1"
_PROMPTS = {  # by what is written, or by the parameter that names the model
    WORDINGS: "augment_paraphrase",
    QUESTIONS: "augment_questions",
    "annotator": "annotate",
    "normalizer": "normalize",
    "endpoint_model": "answer_chat",
    "judge": "judge",
}
# Tokens written for a token of a record, and in a pair: of the shipped replies
_WRITTEN = {"normalize": 1.2, WORDINGS: 3.8, QUESTIONS: 3.0}
_PAIR, _ANSWER, _VERDICT = 92, 60, 60  # tokens; an answer is judged with its question
_PAGE, _MOST = 3000, 0.5  # characters; share of the tokens in one file
_SLOTS = dict.fromkeys(
    "title text language segment document_kind context question reference answer criterion first "
    "second".split(),
    "",
) | {"count": 10}
# Of an 8B model, a GPU: published for torchtitan with FSDP on 8 H100 (lib/train/README.md).
_H100 = 5762 * 6 * 8.03e9  # operations a second
_SIZE = 1024  # of the matrices whose products are timed
_TWO_CORES = 3.5e11  # operations a second, where the expected_minutes of studies were measured
_EFFICIENCY = 0.4  # of training, to products of large matrices: measured on two cores
_ESTIMATED = (
    "  Estimated: 4 bytes a token, max_queries questions a document, rewrites as long as the "
    "segments; no call repeated."
)
_NOTE = (
    f"Nothing was started. Hours here: training at {_EFFICIENCY:.0%} of this machine's speed in "
    "large matrix products;\nH100 hours: at a published speed of an 8B model. Not estimated: "
    "answers, retention, exposures_run."
)
_NEXT = (
    "next: name a base_model and your models in studies/{0}.yaml; make plan STUDY={0} "
    "DOCUMENTS=path\ntells its memory and hours, make study STUDY={0} DOCUMENTS=path runs it"
)


def look_at(study: Study, model: str = "") -> str:
    """Tokens by file, a passage of each structure, left-out files, prices, and each training.

    With `model`, as if that wrote and judged everything, and nothing were trained. Raises BadInput
    if no file is usable, or if the base model cannot be found or read.
    """
    own = {"base_model": "", **dict.fromkeys((*WRITERS, "judge"), model)}
    missing = {key: MODEL for key in WRITERS if not getattr(study, key)}
    study = study.model_copy(update=own if model else missing)
    os.environ[PROMPTS] = study.prompts
    folder = REPOSITORY / study.folder
    reading = read_folder(folder)
    n, left_out, price = len(reading.documents), reading.rejected, costs(reading, study)
    lines = [f"{n} of {n + len(left_out)} files in {shown(folder)} are documents."]
    lines += _first([f"  left out: {row.rejected_text}: {row.reason}" for row in left_out], 10)
    whole = dict.fromkeys(("calls", "sent", "written"), "{:,.0f}".format)
    training = f"{trainings(reading, study).to_string()}\n{_NOTE}" if study.base_model else ""
    lines += [
        *("", *_files(reading), "", *_passages(reading)),
        f"The arms {', '.join(study.arms)} need:",
        price.to_string(formatters=whole, float_format="{:,.2f}".format, na_rep="unknown"),
        _ESTIMATED,
        *map(_source, filter(None, price.index.unique("model"))),
        *("", training or _NEXT.format(study.name)),
    ]
    return "\n".join(lines)


def _source(model: str) -> str:
    if price := price_of(model):
        return f"  prices of {model}: {price.source}, {price.as_of}"
    return f"  the price of {model} is unknown: add a row to lib/llm/prices.csv"


def _first(lines: list[str], n: int) -> list[str]:
    return lines[:n] + [f"  … {len(lines) - n} more"] * (len(lines) > n)


def _files(reading: Reading) -> list[str]:
    labels = {one.kind: one.label for one in STRUCTURES.values()}
    files = pd.DataFrame(reading.tokens, [*labels]).T.rename(columns=labels).fillna(0).astype(int)
    files["language"] = [one.language or "unclear" for one in reading.documents]
    files["pages"] = [-(-len(one.text) // _PAGE) for one in reading.documents]
    tokens = files[[*labels.values()]]
    shares, total = tokens.sum(axis=1) / tokens.sum().sum(), tokens.sum()
    files.loc["total"] = [*total, "", files.pages.sum()]
    lines = [files.to_string(), f"  Tokens of 4 bytes; pages of {_PAGE:,} characters."]
    if _MOST < (most := shares.max()) < 1:
        lines.append(
            f"  {shares.idxmax()} has {most:.0%} of the tokens: most results are about it."
        )
    lines += [
        f"  No document has a {one}: it cannot be compared." for one in total[total == 0].index
    ]
    doubted = [f"    {one.document_id}: {one.doubt}" for one in reading.documents if one.doubt]
    return lines + [
        f"  parts in doubt in {len(doubted)} of the documents; nothing is asked about these:",
        *_first(doubted, 5),
    ] * bool(doubted)


def _passages(reading: Reading) -> list[str]:
    lines = []
    for one in STRUCTURES.values():
        holding = (row for row in reading.documents if reading.tokens[row.document_id][one.kind])
        if document := next(holding, None):
            block = next(each for each in parse(document.text) if each.kind == one.kind)
            text = document.text[block.start : block.end].splitlines()
            lines.append(f"{one.label}, in {document.document_id}:")
            lines += [*_first([f"  {line[:100]}" for line in text], 5), ""]
    return lines


def costs(reading: Reading, study: Study) -> pd.DataFrame:
    """Estimate calls, tokens sent and written, and dollars, by stage, prompt and model."""
    annotated, texts = study.defaults("01_annotate"), [one.text for one in reading.documents]
    asked, count = texts[: annotated["max_documents"]], counter("")[0]
    room = Budget(count, study.defaults("02_normalize")["max_segment_tokens"] * 7 // 8, 0)
    n_segments, n_tokens = sum(len(chunk(text, room)) for text in texts), sum(map(count, texts))
    n_questions, rows = annotated["max_queries"] * len(asked), []
    sizes = {one: (n_segments, n_tokens, n_tokens * more) for one, more in _WRITTEN.items()}
    for stage, key, model, given in study.calls():
        n, price = len(given.get("arms", "1")) * n_questions, price_of(model)
        names = study.written if key == "augmenter" else [_PROMPTS[key]]
        if stage == "pairs":
            names = ["judge_pairwise"] * 4  # two criteria in both orders
        for prompt in names:
            calls, read, written = sizes.get(prompt, (n, n * _ANSWER, n * _VERDICT))
            if prompt == "annotate":
                limits = annotated["max_queries"], annotated["queries_per_call"]
                room = token_budget(model, *limits)
                calls = sum(len(chunk(text, room)) for text in asked)
                read, written = sum(map(count, asked)), n_questions * _PAIR
            template = prompts.prompt_template(_PROMPTS.get(prompt, prompt))
            sent = calls * count(template.render(_SLOTS)) + read
            dollars = cost_usd(price, sent, round(written))
            rows.append((stage, prompt, model, calls, sent, written, dollars))
    table = pd.DataFrame(rows, columns="stage prompt model calls sent written dollars".split())
    table = table.groupby(["stage", "prompt", "model"], sort=False).sum(skipna=False)
    table.loc["total", "", ""] = table.sum(skipna=False)
    return table


def trainings(reading: Reading, study: Study) -> pd.DataFrame:
    """Memory, hours and tokens of each training of the base model.

    Raises BadInput if the base model cannot be found or read.
    """
    from transformers import AutoConfig

    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)  # it repeats each attempt
    try:
        model = AutoConfig.from_pretrained(model_source(study.base_model))
    except OSError as error:
        reason = str(error).splitlines()[0]
        raise BadInput(f"{study.base_model} cannot be read: {reason}") from error
    count = counter(study.base_model)[0]
    n_tokens = sum(count(one.text) for one in reading.documents)
    rows = {}
    for run in study.trained:
        given = study.defaults("03_train") | study.given("03_train", run)
        length = sum(_WRITTEN.get(part, 1) for part in study.corpus_of(run).split("+"))
        rows[run] = _training(model, given, n_tokens * length * (1 - given["validation_fraction"]))
    columns = ["memory per GPU", "hours here", "H100 hours", "tokens", "processes"]
    return pd.DataFrame(rows, columns).T


def _training(model, given: dict[str, Any], n_tokens: float) -> list[object]:
    from lib.train.config import TrainConfig, plan

    own = {name: given[name] for name in given if name in TrainConfig.__dataclass_fields__}
    config = TrainConfig(**own)
    needed = plan(model, config, given["block_size"])
    tokens = (config.stop_after_epoch or config.epochs) * n_tokens
    if config.max_steps:
        tokens = config.max_steps * config.global_batch_size * given["block_size"]
    # forward, for the inputs, for the weights unless LoRA freezes them, perhaps forward again
    passes = 3 - bool(config.lora_rank) + config.gradient_checkpointing
    work = 2 * passes * needed.parameters * tokens / 3600
    hours = [f"{work / speed:,.3f}" for speed in (_EFFICIENCY * _speed(), _H100)]
    return [f"{needed.bytes_needed / 1e9:,.1f} GB", *hours, f"{tokens:,.0f}", config.processes]


@cache
def _speed() -> float:
    # Operations a second of all cores, as busy as they are, or of one GPU
    from lib.train.config import computes_bf16, seconds_of_product

    dtype = "bfloat16" if computes_bf16() else "float32"
    return 2 * _SIZE**3 / seconds_of_product(_SIZE, dtype)


def main(arguments: list[str] | None = None) -> int:
    """Run `python -m lib.run.plan [study] [--documents path] [--model id]`; without a study, look.

    Returns 0 on success.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("study", nargs="?")
    parser.add_argument("--documents", default="")
    parser.add_argument("--model", default="", help="whose price a look estimates")
    options = parser.parse_args(arguments)
    name, folder = options.study, options.documents
    try:
        if not name:
            study = load_study("documents", folder or str(RECORDS / "held_out"))
            text = look_at(study, options.model or MODEL)
        elif (study := load_study(name, folder)).kind == "documents":
            text = look_at(study)
        elif minutes := study.expected_minutes:
            here = minutes * _TWO_CORES / _speed()
            text = f"{name}: {minutes:g} min on two cores; on this machine {here:,.0f}"
        else:
            raise BadStudy(f"{name} has no plan: no expected_minutes is in its file")
        tell(text)
    except BrokenPipeError:  # … | head
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (ValueError, OSError) as error:
        tell(f"make {'plan' if name else 'look'}: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
