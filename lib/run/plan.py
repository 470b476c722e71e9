"""`make plan`: the memory, hours and price that a study's stages would need; nothing is started."""

import argparse
import logging
import sys
from dataclasses import replace
from pathlib import Path

import pandas as pd

from lib.core.store import BadInput, BadStudy, model_source
from lib.documents.folder import Reading, read_folder
from lib.llm.request import counter
from lib.run.config import Study, load_study
from lib.run.look import MODEL, costs

# Of an 8B model, a GPU: published for torchtitan with FSDP on 8 H100 (lib/train/README.md).
_TOKENS_PER_SECOND, _PARAMETERS = 5762, 8.03e9
_PRICED = {"01_annotate": "annotator", "02_normalize": "normalizer", "05_judge": "judge"}


def plan_study(study: Study) -> pd.DataFrame:
    """Estimate the stages of a study of documents: GPU memory, H100 hours, dollars, as text.

    Raises BadInput if no document is usable, or if the base model cannot be found.
    """
    reading = read_folder(Path(study.folder))
    most = study.given("01_annotate").get("max_documents") or None
    asked = replace(reading, documents=reading.documents[:most])
    rows, config = {}, _config(study)
    for stage, key in _PRICED.items():
        model = getattr(study, key) or MODEL  # the study may name none yet
        row = costs(reading if key == "normalizer" else asked, model).loc[stage.split("_")[1]]
        is_free = model == "scorer"
        rows[stage] = [
            "–",
            "–",
            "0" if is_free else row.dollars,
            "by the scorer" if is_free else f"{row.calls} calls of {model}",
        ]
    for run in study.trained:
        rows[f"03_train, {run}"] = _training(study, run, reading, config)
    columns = ["memory per GPU", "H100 hours", "dollars", "how"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def _config(study: Study):
    from transformers import AutoConfig

    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)  # it repeats each attempt
    try:
        return AutoConfig.from_pretrained(model_source(study.base_model))
    except OSError as error:
        return f"{study.base_model} cannot be read: {str(error).splitlines()[0]}"


def _training(study: Study, run: str, reading: Reading, config: object) -> list[str]:
    from lib.train.config import TrainConfig, plan

    given = study.defaults("03_train") | study.given("03_train", run)
    names = given.keys() & TrainConfig.__dataclass_fields__.keys()
    training = TrainConfig(**{name: given[name] for name in names})
    count, _ = counter(study.base_model)
    epochs = training.stop_after_epoch or training.epochs
    tokens = epochs * sum(count(one.text) for one in reading.documents)
    if isinstance(config, str):
        return ["unknown", "unknown", "–", config]
    more = {name: given[name] for name in ("block_size", "processes", "zero_stage")}
    needed = plan(config, training, **more)
    hours = tokens * needed.parameters / _PARAMETERS / _TOKENS_PER_SECOND / 3600
    return [
        f"{needed.bytes_needed / 1e9:,.1f} GB",
        f"{hours:,.3f}",
        "–",
        f"{epochs} epochs, {tokens:,} tokens, {given['processes']} processes",
    ]


def main(arguments: list[str] | None = None) -> int:
    """Run `python -m lib.run.plan paper --documents path`; return 0 on success."""
    parser = argparse.ArgumentParser(prog="python -m lib.run.plan", description=__doc__)
    parser.add_argument("study")
    parser.add_argument("--documents", default="")
    options = parser.parse_args(arguments)
    try:
        study = load_study(options.study, options.documents)
        if not isinstance(study, Study) or study.kind != "documents":
            raise BadStudy(
                f"{options.study} makes its own texts: only a study of documents has a "
                "plan, such as make plan STUDY=paper DOCUMENTS=path"
            )
        print(plan_study(study).to_string())
    except (BadInput, BadStudy, OSError) as error:
        print(f"make plan: {error}", file=sys.stderr)
        return 2
    print(
        "Nothing was started. Tokens at 4 bytes each; rewritten texts as long as raw ones; hours "
        f"at {_TOKENS_PER_SECOND:,} tokens/s\na GPU of an 8B model (published, not measured "
        "here). Not estimated: 04_infer, retention, pairs, writing of checkpoints."
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
