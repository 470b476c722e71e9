"""How long a controlled experiment will take on this machine, said before it starts."""

import io
import random
import statistics
from contextlib import redirect_stderr

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from lib.controlled.base import public_texts
from lib.controlled.design.arms import NORMALIZED, NORMALIZED_BY_MODEL, arm_named, epochs_of, split_run
from lib.controlled.design.facts import make_facts
from lib.controlled.design.texts import arm_texts
from lib.controlled.study import ControlledStudy
from lib.core.paths import REPOSITORY
from lib.run.parameters import parameters_of
from lib.train.packing import IGNORED, Blocks
from lib.train.plan import throughput
from lib.train.recipe import Recipe

SAMPLE = 12  # products whose texts are made to count their characters
CHARACTERS_A_TOKEN = 3.6  # of these records and questions under the base's own tokenizer
FILLED = 0.93  # share of the places of packed blocks that hold tokens
ASKING = 0.45  # seconds of scoring and answering for each second of training, in a run
START_UP = 14  # seconds of a notebook's start, imports and executed copies
OVERHEAD = 1.1  # of an update and a checkpoint beside the passes that are timed


def predicted(study: ControlledStudy, cores: int) -> str:
    """What `study` takes on `cores` cores, as a sentence: every base and run once, nothing done yet.

    A second or two of training with random tokens gives the speed; the texts of a few products give the sizes.
    """
    values = {stage: {name: parameter.default for name, parameter in
                      parameters_of(REPOSITORY / "notebooks" / f"{stage}.ipynb").items()} | study.given(stage)
              for stage in ("00_facts", "01_pretrain", "02_run")}
    speed = _tokens_a_second(values["01_pretrain"], values["02_run"]["global_batch_size"])
    with redirect_stderr(io.StringIO()):  # the normalizer's bars
        base = _base_tokens(study, values["01_pretrain"]) * OVERHEAD / speed + START_UP
        runs = [_run_tokens(study, run, values) * OVERHEAD * (1 + ASKING) / speed + START_UP for run in study.runs]
    minutes = (study.seeds * base + sum(runs)) / min(cores, study.seeds + len(runs)) / 60
    return (f"{study.seeds} bases of about {base / 60:.0f} minutes and {len(runs)} runs of about "
            f"{statistics.median(runs) / 60:.1f} minutes on one core each: about {minutes:.0f} minutes on {cores} "
            "cores, if nothing of it is done and nothing else runs")


def _base_tokens(study: ControlledStudy, given: dict) -> float:
    texts = public_texts(make_facts(SAMPLE, 0), study.arms, tuple(study.structures), given["renderings"],
                         given["question_repeats"], 0)
    return _tokens(texts) * given["n_public"] / SAMPLE * given["epochs"]


def _run_tokens(study: ControlledStudy, run: str, values: dict[str, dict]) -> float:
    name, rotation, _ = split_run(run)
    written = NORMALIZED if name == NORMALIZED_BY_MODEL else name  # a model's text is about as long as the rules'
    arm = arm_named(written, tuple(study.structures))
    texts = [one.text for one in arm_texts(make_facts(SAMPLE, 0), arm, rotation, 0)]
    epochs = epochs_of(arm.name) * values["02_run"]["epochs"]
    return _tokens(texts) * values["00_facts"]["n_private"] / SAMPLE * epochs


def _tokens(texts: list[str]) -> float:
    return sum(map(len, texts)) / CHARACTERS_A_TOKEN / FILLED


def _tokens_a_second(given: dict, batch: int) -> float:
    """Places a second that one core trains of this Llama, weights and tokens random."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        model = LlamaForCausalLM(LlamaConfig(
            vocab_size=given["vocabulary"], hidden_size=given["hidden_size"],
            intermediate_size=given["hidden_size"] * 8 // 3 // 8 * 8, num_hidden_layers=given["layers"],
            num_attention_heads=given["heads"], num_key_value_heads=given["heads"], tie_word_embeddings=True))
        rng, size = random.Random(0), given["block_size"]
        ids = [[rng.randrange(given["vocabulary"]) for _ in range(size)] for _ in range(batch)]
        labels = [[IGNORED, *row[1:]] for row in ids]
        blocks = Blocks(ids, labels, [list(range(size))] * batch, batch * size, batch * (size - 1))
        recipe = Recipe(1, batch, batch, 1e-4, 0, 0.0, 0)
        return throughput(model, blocks, recipe, recipe.arithmetic())
    finally:
        torch.set_num_threads(threads)
