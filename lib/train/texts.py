"""What an arm is trained on, as blocks of tokens: records raw or rewritten (paper, 4.2), or replies to prompts."""

from dataclasses import dataclass, field
from random import Random

from transformers import PreTrainedTokenizerBase

from lib.core.arms import split_arm
from lib.core.files import read_records
from lib.core.paths import data_path
from lib.core.records import Normalized, Query, Segment
from lib.infer.prompts import encoded
from lib.train.corpus import make_corpus
from lib.train.packing import Blocks, pack, pack_replies

TUNED = "tuned"  # how the names of arms begin that learn replies
END = "\n</answer>"  # where a reply to a ready-made prompt ends


@dataclass(frozen=True)
class TrainingTexts:
    """Blocks to train on and to validate with; `told` says how many texts they are of, `example` is one of them."""

    training: Blocks
    validation: Blocks | None
    raw: Blocks  # those of dapt, which `match` counts; of a tuned arm its own
    told: str
    example: str
    facts: dict[str, object] = field(default_factory=dict)  # for training.json


def texts_for(study: str, arm: str, tokenizer: PreTrainedTokenizerBase, *, block_size: int, packing: str,
              validation_share: float, split_seed: int) -> TrainingTexts:
    """The blocks of `arm`: of segments for dapt and dapt-n, of training/<arm>.jsonl for tuned arms.

    Raises MissingInput where a file is missing, ValueError as make_corpus and pack do.
    """
    if arm.startswith(TUNED):
        return _replies(study, arm, tokenizer, block_size, validation_share, split_seed)
    kind, made_by = split_arm(arm)[0], "02_normalize.ipynb"
    segments = read_records(data_path(study, "segments.jsonl"), Segment, made_by)
    normalized = read_records(data_path(study, "normalized.jsonl"), Normalized, made_by)
    corpora = {name: make_corpus(segments, normalized, name, validation_share, split_seed) for name in (kind, "dapt")}
    corpus = corpora[kind]
    blocks = {name: pack(corpora[name].training, tokenizer, block_size, packing) for name in corpora}
    validation = pack(corpus.validation, tokenizer, block_size, packing) if corpus.validation else None
    told = (f"{len(segments)} segments: {len(corpus.held_out)} held out for validation, {len(corpus.dropped)} dropped "
            f"by the normalizer; {len(corpus.training)} texts to train on, {len(corpus.validation)} to validate with")
    return TrainingTexts(blocks[kind], validation, blocks["dapt"], told, corpus.training[0],
                         {"packing": packing, "held_out": corpus.held_out, "dropped": corpus.dropped})


def _replies(study: str, arm: str, tokenizer: PreTrainedTokenizerBase, block_size: int, validation_share: float,
             seed: int) -> TrainingTexts:
    """Ready-made prompts with their reference answers; what no block can hold is left out and counted.

    What is held out is drawn over texts (document_id), so that no text is on both sides.
    """
    path = data_path(study, "training", f"{split_arm(arm)[0]}.jsonl")
    queries = read_records(path, Query, "00_samples.ipynb")
    prompts = encoded(tokenizer, queries, is_ready=True)
    replies = [[*tokens, tokenizer.eos_token_id] for tokens in tokenizer(
        [query.answer + END for query in queries], add_special_tokens=False, split_special_tokens=True)["input_ids"]]
    fit = [place for place in range(len(queries)) if len(prompts[place]) + len(replies[place]) <= block_size]
    documents = sorted({queries[place].document_id for place in fit})
    held = set(Random(seed).sample(documents, round(len(documents) * validation_share)))
    sides = [[place for place in fit if (queries[place].document_id in held) is is_held] for is_held in (False, True)]
    training, validation = (pack_replies(*([rows[place] for place in side] for rows in (prompts, replies)), block_size,
                                         tokenizer.eos_token_id) if side else None for side in sides)
    if training is None:
        raise ValueError(f"no prompt with its answer fits a block of {block_size} tokens: raise block_size")
    told = (f"{len(queries)} prompts with their answers: {len(queries) - len(fit)} are longer than a block of "
            f"{block_size} tokens and left out; {len(sides[0])} to train on, {len(sides[1])} to validate with")
    example = queries[sides[0][0]]
    return TrainingTexts(training, validation, training, told, example.context + example.answer + END,
                         {"held_out": sorted(held), "left_out": len(queries) - len(fit)})
