"""`make look` and `make plan`: what documents hold, and what their study would need; none runs."""

import argparse
import logging
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import pandas as pd

from lib.core.records import STRUCTURES
from lib.core.store import REPOSITORY, BadInput, BadStudy, model_source, shown
from lib.documents.folder import Reading, read_folder
from lib.documents.markdown import parse
from lib.llm.budget import cost_usd, price_of
from lib.llm.request import counter
from lib.run.config import Study, load_study

RECORDS = REPOSITORY / "data" / "records"
MODEL = "gpt-4.1"
PER_DOCUMENT, SEGMENT, ARMS = 10, 700, 3  # questions; tokens of a segment; arms that are judged
_QUESTIONS = "augment_questions"
_MODELS = {  # by prompt
    "annotate": "annotator",
    "normalize": "normalizer",
    _QUESTIONS: "augmenter",
    "judge": "judge",
}
_PAIR, _VERDICT, _ANSWER = 120, 60, 100  # tokens: a pair in a reply, a verdict, a judged answer
_MAX_FILES, _MAX_LINES, _MAX_WIDTH = 10, 5, 100  # files that are listed; of a passage
# Of an 8B model, a GPU: published for torchtitan with FSDP on 8 H100 (lib/train/README.md).
_TOKENS_PER_SECOND, _PARAMETERS = 5762, 8.03e9
_NOTE = (
    "Nothing was started. Tokens at 4 bytes each; rewritten texts as long as raw ones; hours "
    f"at {_TOKENS_PER_SECOND:,} tokens/s\na GPU of an 8B model (published, not measured "
    "here). Not estimated: 04_infer, retention, pairs, writing of checkpoints."
)


def look_at(folder: Path, model: str = MODEL) -> str:
    """Tokens by structure, a passage of each, left-out files, and the estimated cost of `model`.

    Raises BadInput if no file in `folder` is usable.
    """
    reading, price = read_folder(folder), price_of(model)
    left_out = [*reading.rejected, *reading.skipped]
    n_files = len(reading.documents) + len(left_out)
    lines = [f"{len(reading.documents)} of {n_files} files in {shown(folder)} are documents."]
    lines += [f"  left out: {row.rejected_text}: {row.reason}" for row in left_out[:_MAX_FILES]]
    lines += [f"  … {len(left_out) - _MAX_FILES} more"] * (len(left_out) > _MAX_FILES)
    labels = {one.kind: one.label for one in STRUCTURES.values()}
    tokens = pd.DataFrame([*reading.tokens.values()], columns=[*labels]).rename(columns=labels)
    counts = pd.DataFrame({"tokens": tokens.sum().astype(int), "documents": (tokens > 0).sum()})
    lines += ["", counts.to_string(), *_warnings(reading, counts), "", *_passages(reading)]
    asked = pd.read_csv(RECORDS / "CHECKS.csv", keep_default_na=False).iloc[0]
    lines += [
        f"A model's question about {asked.document} of this repository:",
        f"  {asked.question}\n    {asked.reference}\n",
        costs(reading, dict.fromkeys(_MODELS, model)).to_string(),
    ]
    lines += [
        f"  Estimated: 4 bytes a token, {PER_DOCUMENT} questions a document, rewrites as long as "
        f"their segments of {SEGMENT} tokens, answers of {ARMS} arms; no call repeated.",
        f"  prices of {model}: {price.source}, {price.as_of}"
        if price
        else f"  the price of {model} is unknown: add a row to lib/llm/prices.csv",
    ]
    return "\n".join(lines)


def _warnings(reading: Reading, counts: pd.DataFrame) -> list[str]:
    doubted = [f"{one.document_id}: {one.doubt}" for one in reading.documents if one.doubt]
    missing = counts.index[counts.tokens == 0]
    return [f"  No document has a {label}: it cannot be compared." for label in missing] + [
        f"  {len(doubted)} documents have parts in doubt; nothing is asked about these:",
        *(f"    {line}" for line in [*doubted[:5], *["…"] * (len(doubted) > 5)]),
    ] * bool(doubted)


def _passages(reading: Reading) -> list[str]:
    lines = []
    for one in STRUCTURES.values():
        holding = (row for row in reading.documents if reading.tokens[row.document_id][one.kind])
        if document := next(holding, None):
            block = next(each for each in parse(document.text) if each.kind == one.kind)
            text = document.text[block.start : block.end].splitlines()
            text = text[:_MAX_LINES] + ["…"] * (len(text) > _MAX_LINES)
            lines.append(f"{one.label}, in {document.document_id}:")
            lines += [*(f"  {line[:_MAX_WIDTH]}" for line in text), ""]
    return lines


def costs(
    reading: Reading, models: Mapping[str, str], max_documents: int | None = None
) -> pd.DataFrame:
    """Estimate calls, tokens and dollars of `models` by prompt, such as annotate."""
    rows = {}
    for name, model in models.items():
        count, price = counter(model)[0], price_of(model)
        sizes = [count(document.text) for document in reading.documents]
        asked, total = sizes[:max_documents], sum(sizes)
        n_questions = PER_DOCUMENT * len(asked)
        n_answers, n_segments = ARMS * n_questions, sum(-(-size // SEGMENT) for size in sizes)
        calls, read, written = {
            "annotate": (len(asked), sum(asked), n_questions * _PAIR),
            "normalize": (n_segments, total, total),
            _QUESTIONS: (n_segments, total, 3 * total),  # of the shipped replies: 3.0
            "judge": (n_answers, n_answers * _ANSWER, n_answers * _VERDICT),
        }[name]
        prompt = (REPOSITORY / "prompts" / f"{name}.md").read_text(encoding="utf-8")
        sent = calls * count(prompt) + read
        dollars = f"{cost_usd(price, sent, written):,.2f}" if price else "unknown"
        rows[name] = [f"{calls:,}", f"{sent:,}", f"{written:,}", dollars]
    columns = ["calls", "tokens sent", "tokens written", "dollars"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def plan_study(study: Study) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Estimate what a study of documents needs: dollars of models, and memory and H100 hours.

    Raises BadInput if no document is usable, or if the base model cannot be found or read.
    """
    reading = read_folder(Path(study.folder))
    models = {name: getattr(study, key) or MODEL for name, key in _MODELS.items()}
    unused = {_QUESTIONS} - {f"augment_{kind}" for kind in study.written}
    called = {name: models[name] for name in models if models[name] != "scorer"}
    called = {name: model for name, model in called.items() if name not in unused}
    dollars = costs(reading, called, study.given("01_annotate").get("max_documents"))
    return dollars.assign(model=called), _training(study, reading)


def _training(study: Study, reading: Reading) -> pd.DataFrame:
    from transformers import AutoConfig

    from lib.train.config import TrainConfig, plan

    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)  # it repeats each attempt
    try:
        config = AutoConfig.from_pretrained(model_source(study.base_model))
    except OSError as error:
        reason = str(error).splitlines()[0]
        raise BadInput(f"{study.base_model} cannot be read: {reason}") from error
    count, rows = counter(study.base_model)[0], {}
    n_tokens = sum(count(one.text) for one in reading.documents)
    for run in study.trained:
        given = study.defaults("03_train") | study.given("03_train", run)
        own = {name: given[name] for name in given if name in TrainConfig.__dataclass_fields__}
        needed = plan(config, TrainConfig(**own), given["block_size"])
        tokens = (given["stop_after_epoch"] or given["epochs"]) * n_tokens
        hours = tokens * needed.parameters / _PARAMETERS / _TOKENS_PER_SECOND / 3600
        memory = f"{needed.bytes_needed / 1e9:,.1f} GB"
        rows[run] = [memory, f"{hours:,.3f}", f"{tokens:,}", given["processes"]]
    columns = ["memory per GPU", "H100 hours", "tokens", "processes"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


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
            place = Path(folder or RECORDS / "held_out").expanduser()
            after = "next: make study STUDY=documents DOCUMENTS=path, with your models in its file"
            print(f"{look_at(place, options.model or MODEL)}\n\n{after}", flush=True)
            return 0
        study = load_study(name, folder)
        if not isinstance(study, Study) or study.kind != "documents":
            raise BadStudy(
                f"{name} makes its own texts: only a study of documents has a plan, such as "
                "make plan STUDY=paper DOCUMENTS=path"
            )
        print("\n\n".join(table.to_string() for table in plan_study(study)), _NOTE, sep="\n")
    except BrokenPipeError:  # … | head
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (BadInput, BadStudy, OSError) as error:
        print(f"make {'plan' if name else 'look'}: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
