"""Continual pretraining by transformers' Trainer (paper, 4.2); a killed run resumes."""

import importlib.metadata
import json
import math
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import pandas as pd
import torch
from torch.utils.data import Sampler
from tqdm import tqdm
from transformers import (
    AttentionInterface,
    AttentionMaskInterface,
    AutoConfig,
    PreTrainedModel,
    PreTrainedTokenizerBase,
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainingArguments,
    default_data_collator,
)
from transformers.integrations.sdpa_attention import repeat_kv, sdpa_attention_forward
from transformers.masking_utils import eager_mask
from transformers.utils.logging import disable_progress_bar

from lib.core.arms import split_arm
from lib.core.digest import module_digest
from lib.core.store import BadInput, load, note_written, save, shown, tell, write_json
from lib.infer import generate
from lib.infer.loglik import score
from lib.infer.prompts import GenerationConfig
from lib.train.config import (
    NEUTRAL,
    TrainConfig,
    TrainingLength,
    freeze,
    training_length,
    with_adapter,
)
from lib.train.corpus import PackedBlocks, digest
from lib.train.distributed import deepspeed_config, launch

COMPLETE = "complete"  # written last into a checkpoint; missing if saving was interrupted
FINGERPRINT, LOG = "fingerprint.json", "log.jsonl"
ADAPTER = "adapter"  # in a model's folder, whose weights are the base's with the adapter's added
# of answers while a model trains
REPLY = GenerationConfig(max_new_tokens_in_context=256, batch_size=8)

# Attention by batched products, for a small model faster on a CPU than fused kernels. Each product
# takes ROWS queries and only the keys up to the last of these queries, so most of what a causal
# mask hides is never computed. Only whole blocks are so computed: what has a cache goes to SDPA.
PRODUCTS = "batched_products"
ROWS = 80  # queries per product; 64 to 160 are equally fast at 320 tokens
MOST_TOKENS = 1280  # per block; longer ones keep too many probabilities for the backward pass


@dataclass(frozen=True)
class History:
    """A row per epoch (epoch, loss, validation_loss, gradient_norm, learning_rate), and totals."""

    epochs: list[dict[str, float]]
    updates: int
    tokens: int  # targets, counted as often as they were trained on
    seconds: float  # length of this run, which began after update `resumed_at`
    resumed_at: int


def train(
    base: PreTrainedModel | str,
    tokenizer: PreTrainedTokenizerBase,
    blocks: PackedBlocks,
    validation: PackedBlocks | None,
    config: TrainConfig,
    output: Path,
    facts: dict[str, object],
    callbacks: Sequence[TrainerCallback] = (),
) -> History:
    """Train `base` (a model, or for several processes a folder or hub id) into a model's folder.

    Its training.json, with `facts`, is written last. Checkpoints are in .<output>, from which a
    killed run resumes. Raises BadInput if they are another run's, FloatingPointError, ValueError.
    """
    work = output.with_name(f".{output.name}")
    final = work / "final"
    fields = fingerprint(config, blocks, validation, weights_hash(base))
    _prepare(work, fields, config.logging_dir)
    if config.processes > 1:
        if callbacks:
            raise ValueError("eval_epochs are scored in one process: set eval_epochs: []")
        job = {
            "source": base,
            "config": asdict(config),
            "blocks": vars(blocks),
            "validation": validation and vars(validation),
        }
        history = History(**launch(work, job, config.processes))
        write_json(final / "deepspeed.json", deepspeed_config(config))
    else:
        # on a GPU, what LoRA freezes has the type of bf16 arithmetic
        is_float = not config.lora_rank or config.arithmetic() == "fp32"
        model = generate.load(base, training=is_float)[0] if isinstance(base, str) else base
        history = fit(model, blocks, validation, config, work, callbacks)
    tokenizer.save_pretrained(final)
    manifest = {"history": asdict(history), "fingerprint": fields, **facts}
    write_json(final / "training.json", manifest)
    shutil.rmtree(output, ignore_errors=True)
    final.rename(output)
    note_written(output)
    if not config.keep_checkpoints:
        shutil.rmtree(work)
    return history


def fit(
    model: PreTrainedModel,
    blocks: PackedBlocks,
    validation: PackedBlocks | None,
    config: TrainConfig,
    work: Path,
    callbacks: Sequence[TrainerCallback] = (),
) -> History:
    """Train a model into work/final, from the last checkpoint on; raise what `train` raises.

    Under torchrun, every process calls this with the same arguments.
    """
    disable_progress_bar()  # transformers shows one for every checkpoint
    length = training_length(config, blocks)
    arguments = _arguments(config, length, work, has_validation=bool(validation))
    _check_base(model, blocks)
    model.config.use_cache = False  # with a cache, restarting positions are not seen as boundaries
    if config.gradient_checkpointing:
        model.activation_checkpointing_enable()  # so called from transformers 5.23 on
    if config.frozen_layers:
        freeze(model, config.frozen_layers)
    learner = with_adapter(model, config) if config.lora_rank else model
    # Every process gets the same number of blocks, in an order of seed and epoch alone.
    at_once = config.device_batch_size * config.processes
    padded = blocks.padded_to(at_once) if config.processes > 1 else blocks
    trainer = _Trainer(
        learner,
        arguments,
        default_data_collator,
        padded,
        validation,
        callbacks=[_Progress(config), *callbacks],
    )
    trainer.remove_callback(PrinterCallback)
    trainer.order = _Order(len(blocks), len(padded), config.seed, config.shuffle)
    trainer.schedule_updates = length.schedule_updates
    # Trainer would also resume from a shorter run's end, in the middle of an epoch, or beyond it.
    whole = range(0, length.updates + 1, length.updates_an_epoch)
    last = next((path for path in reversed(_checkpoints(work)) if _step(path) in whole), None)
    if last and trainer.is_world_process_zero():
        tell(f"resuming from {last.name} of an earlier run")
    with fastest_attention(model, len(blocks.input_ids[0])):
        result = trainer.train(resume_from_checkpoint=last and str(last))
    model.config.use_cache = True
    if arguments.should_save:
        _save_model(trainer.model, work / "final")
    epochs, seconds = _per_epoch(trainer.state.log_history), result.metrics["train_runtime"]
    resumed_at = _step(last) if last else 0
    return History(epochs, trainer.state.global_step, length.tokens, seconds, resumed_at)


def _save_model(model: torch.nn.Module, final: Path) -> None:
    if not isinstance(model, PreTrainedModel):
        model.save_pretrained(final / ADAPTER)
        model = model.merge_and_unload()
    model.save_pretrained(final)


def _arguments(
    config: TrainConfig, length: TrainingLength, work: Path, has_validation: bool
) -> TrainingArguments:
    on_gpu = torch.cuda.is_available()
    last = -(-length.schedule_updates // 5)
    decay = {"num_decay_steps": last, "min_lr_ratio": 0.1, "decay_type": "linear"}
    os.environ["TENSORBOARD_LOGGING_DIR"] = config.logging_dir or str(work)
    arguments = TrainingArguments(
        output_dir=str(work),
        max_steps=length.updates,
        learning_rate=config.learning_rate,
        per_device_train_batch_size=config.device_batch_size,
        per_device_eval_batch_size=config.device_batch_size,
        gradient_accumulation_steps=config.accumulation,
        deepspeed=deepspeed_config(config) if config.processes > 1 else None,
        adam_beta2=config.adam_beta2,
        lr_scheduler_type=config.lr_scheduler_type,
        lr_scheduler_kwargs=decay if config.lr_scheduler_type == "warmup_stable_decay" else None,
        warmup_steps=config.warmup_steps,
        weight_decay=config.weight_decay,
        bf16=config.arithmetic() == "bf16",
        use_cpu=not on_gpu,
        seed=config.seed,
        logging_strategy="epoch",
        logging_nan_inf_filter=False,
        eval_strategy="epoch" if has_validation else "no",
        save_strategy="epoch",
        save_total_limit=None if config.keep_checkpoints else 2,
        report_to=[*config.report_to],
        run_name="/".join(Path(config.logging_dir).parts[-3::2]),  # study/arm
        disable_tqdm=True,  # its bar needs a widget in a notebook, which no saved copy shows
        dataloader_pin_memory=on_gpu,
    )
    arguments._n_gpu = min(arguments.n_gpu, 1)  # or Trainer would use all visible GPUs
    return arguments


def _check_base(model: PreTrainedModel, blocks: PackedBlocks) -> None:
    name = model.name_or_path or type(model).__name__
    vocabulary = model.get_input_embeddings().num_embeddings
    highest, size = max(map(max, blocks.input_ids)), len(blocks.input_ids[0])
    if highest >= vocabulary:
        raise ValueError(
            f"the tokenizer of {name} produces token {highest}, but the model has "
            f"{vocabulary} tokens: they do not belong together; choose another "
            "base_model"
        )
    longest = getattr(model.config, "max_position_embeddings", None) or size
    if longest < size:
        raise ValueError(
            f"block_size is {size}, but {name} reads at most {longest} tokens: lower block_size"
        )


def _per_epoch(log: list[dict[str, float]]) -> list[dict[str, float]]:
    names = {"eval_loss": "validation_loss", "grad_norm": "gradient_norm"}
    table = pd.DataFrame(log).rename(columns=names)
    table["epoch"] = (table.epoch - 1e-6).map(math.ceil)  # an incomplete last epoch has a row too
    columns = ["epoch", "loss", "gradient_norm", "learning_rate", "validation_loss"]
    last = table.filter(columns).groupby("epoch").last()
    # a row's loss is the mean since the row before
    n_updates = table.step[table.loss.notna()].diff().fillna(table.step)
    sums, n = ((one * n_updates).groupby(table.epoch).sum() for one in (table.loss, 1))
    return last.assign(loss=sums / n).reset_index().to_dict("records")


@dataclass
class ScoreAfter(TrainerCallback):
    """Calls `score` with the model and points[n] after n updates."""

    points: Mapping[int, int]
    score: Callable[[PreTrainedModel, int], object]

    def on_step_end(self, args, state, control, model=None, **kwargs):
        """Score; transformers calls this."""
        if state.global_step in self.points:
            self.score(model, self.points[state.global_step])


def curve_of(
    study: str,
    arm: str,
    tokenizer: PreTrainedTokenizerBase,
    epochs: list[int],
    length: TrainingLength,
) -> list[TrainerCallback]:
    """The callback that scores and saves the answers to all questions after each of `epochs`.

    Complete prompts are answered, those of the kind that the arm learns. Raises BadInput if the
    study asks none of them.
    """
    if not epochs:
        return []
    queries = load(study, "queries")
    if is_ready := bool(queries[0].context):
        learned = load(study, "training", arm=split_arm(arm)[0])
        kinds = tuple({row.query_id[row.query_id.rindex(":") :] for row in learned})
        queries = [query for query in queries if query.query_id.endswith(kinds)]
        if not queries:
            raise BadInput(
                f"arm {arm} learns prompts of {', '.join(kinds).replace(':', '')}, of which the "
                "study asks none: add them to settings of 00_structext, or set eval_epochs: []"
            )

    def score_answers(model: PreTrainedModel, epoch: int) -> None:
        if is_ready:
            rows = generate.answer((model.eval(), tokenizer), queries, arm, REPLY)
        else:
            rows = score(model, tokenizer, queries, {}, arm, batch_size=16, cloze_context_tokens=0)
        save(study, "replies" if is_ready else "curve", rows, arm=arm, epoch=epoch)

    return [ScoreAfter(length.points(epochs), score_answers)]


@dataclass
class _Order(Sampler[int]):
    # `n` blocks are shuffled; padding blocks without loss, up to `length`, come last. (accelerate
    # would repeat blocks instead, and resume several processes with the first epoch's order.)

    n: int
    length: int
    seed: int
    shuffle: bool
    epoch: int = 0

    def set_epoch(self, epoch: int) -> None:
        self.epoch = epoch

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[int]:
        generator = torch.Generator().manual_seed(self.seed + self.epoch)
        order = torch.randperm(self.n, generator=generator).tolist()
        yield from order if self.shuffle else range(self.n)
        yield from range(self.n, self.length)


class _Trainer(Trainer):
    def _get_train_sampler(self, train_dataset=None) -> _Order:
        return self.order

    def create_scheduler(self, num_training_steps: int, optimizer=None):
        return super().create_scheduler(self.schedule_updates, optimizer)  # perhaps not max_steps


@dataclass
class _Progress(TrainerCallback):
    config: TrainConfig

    def on_train_begin(self, args, state, control, **kwargs):
        self._write("w", state, state.log_history)  # without rows after the checkpoint
        self.bar = tqdm(
            total=state.max_steps,
            initial=state.global_step,
            desc="updates",
            mininterval=5,
            disable=not state.is_world_process_zero,
        )

    def on_step_end(self, args, state, control, **kwargs):
        self.bar.update(state.global_step - self.bar.n)
        if steps := self.config.logging_steps:
            control.should_log |= state.global_step % steps == 0

    def on_epoch_end(self, args, state, control, **kwargs):
        control.should_save &= round(state.epoch) % self.config.save_every_epochs == 0

    def _write(self, mode: str, state, rows: list[dict[str, float]]) -> None:
        if (folder := self.config.logging_dir) and state.is_world_process_zero:
            Path(folder).mkdir(parents=True, exist_ok=True)
            with (Path(folder) / LOG).open(mode, encoding="utf-8") as file:
                file.writelines(json.dumps(row) + "\n" for row in rows)

    def on_log(self, args, state, control, logs, **kwargs):
        self._write("a", state, state.log_history[-1:])
        if "loss" in logs:
            self.bar.set_postfix(loss=logs["loss"], refresh=False)
        measured = [logs.get(name, 0.0) for name in ("loss", "eval_loss", "grad_norm")]
        if not all(map(math.isfinite, measured)):
            raise FloatingPointError(
                f"the loss is not a number after update {state.global_step}: lower learning_rate "
                f"({args.learning_rate}) or raise warmup_steps ({args.warmup_steps})"
            )

    def on_save(self, args, state, control, **kwargs):
        if torch.distributed.is_initialized():
            torch.distributed.barrier()  # every process has written its part
        if state.is_world_process_zero:
            (Path(args.output_dir) / f"checkpoint-{state.global_step}" / COMPLETE).touch()

    def on_train_end(self, args, state, control, **kwargs):
        self.bar.close()


def fingerprint(
    config: TrainConfig, blocks: PackedBlocks, validation: PackedBlocks | None, base_weights: str
) -> dict[str, object]:
    """Everything that determines the weights: the same fields give the same weights."""
    settings = {**asdict(config), "precision": config.arithmetic()}
    used = {"deepspeed": config.processes > 1, "peft": config.lora_rank}
    libraries = ["torch", "transformers", "accelerate", *filter(used.get, used)]
    return {
        **{f"recipe.{name}": settings[name] for name in settings if name not in NEUTRAL},
        "device": "cuda" if torch.cuda.is_available() else "cpu",
        "data.training": blocks.digest(),
        "data.validation": validation and validation.digest(),
        "base_weights": base_weights,
        "code": module_digest(__name__)[:16],
        **{f"versions.{name}": importlib.metadata.version(name) for name in libraries},
    }


def weights_hash(base: PreTrainedModel | str) -> str:
    """Hash of a model in memory or of a folder's weight files; for a hub id, the commit."""
    if isinstance(base, PreTrainedModel):
        weights = (one.cpu().float().contiguous() for one in base.state_dict().values())
        return digest(one.numpy().tobytes() for one in weights)
    if not Path(base).is_dir():
        return str(AutoConfig.from_pretrained(base)._commit_hash)
    files = [
        path
        for path in sorted(Path(base).iterdir())
        if path.suffix in (".safetensors", ".bin", ".json") and path.name != "training.json"
    ]
    return digest(part for path in files for part in (path.name.encode(), path.read_bytes()))


def _prepare(work: Path, fields: dict[str, object], logs: str) -> None:
    done, path = _checkpoints(work), work / FINGERPRINT
    if not done:
        for old in (work, logs):
            shutil.rmtree(old, ignore_errors=True)
        write_json(path, fields)
        return
    there = json.loads(path.read_bytes()) if path.exists() else {}
    now = json.loads(json.dumps(fields))
    differences = [
        f"  {name}: {there.get(name)} there, {now.get(name)} now"
        for name in {**now, **there}
        if there.get(name) != now.get(name)
    ]
    if differences:
        told = "\n".join(differences)
        raise BadInput(
            f"{shown(work)} has {len(done)} checkpoint(s) from a different training run, the last "
            f"after update {_step(done[-1])}. Differences:\n{told}\n"
            f"Undo the change to resume, or remove the folder to start over: rm -r {shown(work)}"
        )


# The complete checkpoints in `work`, oldest first; the others are removed
def _checkpoints(work: Path) -> list[Path]:
    every = sorted(work.glob("checkpoint-*"), key=_step)
    for path in every:
        if not (path / COMPLETE).exists():
            shutil.rmtree(path)
    return [path for path in every if path.exists()]


def _step(checkpoint: Path) -> int:
    return int(checkpoint.name.split("-")[1])


@contextmanager
def fastest_attention(model: PreTrainedModel, block_size: int) -> Iterator[None]:
    """Let `model` compute attention by batched products if that is faster: small blocks on a CPU.

    Only SDPA is replaced, because only SDPA is known to compute softmax(QK')V.
    """
    before = model.config._attn_implementation
    if before == "sdpa" and block_size <= MOST_TOKENS and not torch.cuda.is_available():
        model.set_attn_implementation(PRODUCTS)
    try:
        yield
    finally:
        model.set_attn_implementation(before)


def _mask(*, dtype=torch.float32, **how):
    # in the type that attention computes in, so that no layer has to convert it
    if torch.is_autocast_enabled("cpu"):
        dtype = torch.get_autocast_dtype("cpu")
    return eager_mask(dtype=dtype, **how)  # (batch, 1, T, T)


def _attend(module, query, key, value, mask, scaling=None, **how):
    # transformers' interface: `query` is (B, H, T, D), `key` and `value` are (B, KV, T, D), the
    # result is (B, T, H, D). SDPA computes dropout, and answers, which have more keys than queries.
    if how.get("dropout") or key.shape[2] != query.shape[2]:
        return sdpa_attention_forward(module, query, key, value, mask, scaling=scaling, **how)
    n_heads, n_tokens = query.shape[1:3]
    repeats = n_heads // key.shape[1]
    # In autocast, rotary positions return float32, so queries and keys get the values' type.
    query = query * (scaling or query.shape[-1] ** -0.5)
    query, key, value = (
        states.to(value.dtype).flatten(0, 1)  # (B * H, T, D)
        for states in (query, repeat_kv(key, repeats), repeat_kv(value, repeats))
    )
    outputs = []
    for start in reversed(range(0, n_tokens, ROWS)):  # the backward pass then adds upwards
        end = start + ROWS
        scores = torch.bmm(query[:, start:end], key[:, :end].transpose(1, 2))
        scores.view(len(mask), -1, *scores.shape[1:]).add_(mask[:, :, start:end, :end])
        outputs.insert(0, torch.bmm(scores.softmax(-1), value[:, :end]))
    output = torch.cat(outputs, 1).unflatten(0, (-1, n_heads))
    return output.transpose(1, 2).contiguous(), None


AttentionInterface.register(PRODUCTS, _attend)
AttentionMaskInterface.register(PRODUCTS, _mask)
