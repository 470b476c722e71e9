"""Settings of decoding, and the strings that end an answer; torch is not needed to read them."""

import re
from typing import Literal

from pydantic import PositiveInt
from pydantic.dataclasses import dataclass

from lib.core.arms import is_trained
from lib.core.records import Query
from lib.core.store import artifact_path, made_by, model_source, require_path

STOPS = ("\n\n", "\nQuestion:")  # an answer ends at these, although a base model would continue
_OPEN_TAG = re.compile(r"<(\w+)>\s*\Z")  # the end of a ready-made prompt that opens a tag
Precision = Literal["auto", "fp32", "bf16"]


@dataclass(frozen=True)
class Decoding:
    """Settings for decoding answers apart from model and queries; decoding is always greedy."""

    max_answer_tokens: PositiveInt = 64  # budget of an answer
    max_list_tokens: PositiveInt = 192  # budget of an entity list
    batch_size: PositiveInt = 64  # prompts per forward pass
    prompt_style: Literal["auto", "plain", "chat"] = "auto"  # chat if the template marks turns
    precision: Precision = "auto"  # bf16, fp32, or auto: bf16 on a GPU
    max_read_tokens: PositiveInt = 512  # budget of an answer to a ready-made prompt

    def budget(self, query: Query) -> int:
        """Return the most tokens that an answer to `query` may have."""
        if query.context:
            return self.max_read_tokens
        is_list = query.entity_count is not None
        return self.max_list_tokens if is_list else self.max_answer_tokens


def source_of(study: str, arm: str, base_model: str) -> str:
    """Return what `load` loads for an arm: its own trained model, else `base_model`.

    Raises BadInput if training is not complete: training.json is written last.
    """
    if not is_trained(arm):
        return model_source(base_model)
    manifest = artifact_path(study, "model", arm=arm) / "training.json"
    return str(require_path(manifest, made_by("model", arm=arm)).parent)


def ends_of(query: Query) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the strings that end an answer: stops, which are cut off, and ends, which are kept.

    A ready-made prompt that opens a tag for the answer ends with the closing tag, which is kept.
    """
    if not query.context:
        return STOPS, ()
    # No stop if the reply reasons first: it may name the tag before filling it.
    opened = _OPEN_TAG.search(query.context)
    return (), (f"</{opened[1]}>",) if opened else ()


def before_stop(text: str, stops: tuple[str, ...]) -> str:
    """Return `text` up to the first of `stops` after its first word."""
    text = text.lstrip()
    return text[
        : min((end for end in map(text.find, stops) if end >= 0), default=len(text))
    ].strip()
