"""Continual pretraining with transformers' Trainer (paper, 4.2): resumed after a crash, whole or absent at the end."""

import hashlib
import json
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from tqdm import tqdm
from transformers import (
    PreTrainedModel,
    PreTrainedTokenizerBase,
    PrinterCallback,
    Trainer,
    TrainerCallback,
    TrainingArguments,
    default_data_collator,
)
from transformers.utils.logging import disable_progress_bar

from lib.packing import Blocks
from lib.records import write_json

_COMPLETE = "complete"  # written last into a checkpoint: one without it was cut off while it was saved


@dataclass(frozen=True)
class Recipe:
    """What is decided before training; the names are those of transformers' TrainingArguments where it has one."""

    epochs: int
    global_batch_size: int  # sequences an update
    device_batch_size: int  # sequences a forward pass; the rest is accumulated
    learning_rate: float  # peak
    warmup_steps: int
    weight_decay: float
    seed: int
    precision: str = "auto"  # bf16, fp32, or auto: bf16 where the device computes in it

    def __post_init__(self) -> None:
        for name in ("epochs", "global_batch_size", "device_batch_size", "learning_rate"):
            if getattr(self, name) <= 0:
                raise ValueError(f"{name} is {getattr(self, name)}: give more than 0")
        if self.global_batch_size % self.device_batch_size:
            raise ValueError(f"global_batch_size {self.global_batch_size} is no multiple of device_batch_size "
                             f"{self.device_batch_size}: change one of them")
        if self.precision not in ("auto", "bf16", "fp32"):
            raise ValueError(f"precision {self.precision!r} is not one of auto, bf16, fp32")


@dataclass(frozen=True)
class History:
    """What training left: one row an epoch (epoch, loss, validation_loss, gradient_norm, learning_rate) and totals."""

    epochs: list[dict[str, float]]
    updates: int
    seconds: float


def computes_bf16() -> bool:
    """Whether the device has bf16 units; on a CPU without them bf16 is slower than float32."""
    if torch.cuda.is_available():
        return torch.cuda.is_bf16_supported()
    return torch.cpu._is_avx512_bf16_supported() or torch.cpu._is_amx_tile_supported()


def train(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, blocks: Blocks, validation: Blocks | None,
          recipe: Recipe, output: Path, facts: dict[str, object]) -> History:
    """Train `model` on `blocks` and leave it in `output`, an ordinary Hugging Face folder with training.json.

    The work folder beside it is named after everything that decides the weights, so that a killed run goes on from its
    last complete checkpoint and another configuration never does. `facts` (whatever the caller wants recorded)
    goes into training.json, which is written before the folder takes its name: where it stands, training is complete.
    Raises FloatingPointError where the loss is not a number.
    """
    disable_progress_bar()  # transformers' own, one for every checkpoint
    work = output.with_name(f".{output.name}-{_identity(model, blocks, validation, recipe)}")
    done = _checkpoints(work)
    trainer = Trainer(model=model, args=_arguments(recipe, work, validation), train_dataset=blocks,
                      eval_dataset=validation, data_collator=default_data_collator, callbacks=[_Progress()])
    trainer.remove_callback(PrinterCallback)
    model.config.use_cache = False  # with a cache, transformers does not read restarting positions as borders
    if done:
        print(f"goes on from {done[-1].name} of an earlier run")
    result = trainer.train(resume_from_checkpoint=str(done[-1]) if done else None)
    history = History(_per_epoch(trainer.state.log_history), trainer.state.global_step,
                      result.metrics["train_runtime"])
    model.config.use_cache = True
    model.save_pretrained(work / "final")
    tokenizer.save_pretrained(work / "final")
    write_json(work / "final" / "training.json", {"recipe": asdict(recipe), "history": asdict(history), **facts})
    if output.exists():
        shutil.rmtree(output)
    (work / "final").rename(output)
    for stale in output.parent.glob(f".{output.name}-*"):  # this run's, and those of abandoned configurations
        shutil.rmtree(stale)
    return history


def _arguments(recipe: Recipe, work: Path, validation: Blocks | None) -> TrainingArguments:
    bf16 = computes_bf16() if recipe.precision == "auto" else recipe.precision == "bf16"
    return TrainingArguments(
        output_dir=str(work), num_train_epochs=recipe.epochs, learning_rate=recipe.learning_rate,
        per_device_train_batch_size=recipe.device_batch_size, per_device_eval_batch_size=recipe.device_batch_size,
        gradient_accumulation_steps=recipe.global_batch_size // recipe.device_batch_size,
        lr_scheduler_type="linear", warmup_steps=recipe.warmup_steps, weight_decay=recipe.weight_decay,
        bf16=bf16, use_cpu=not torch.cuda.is_available(), seed=recipe.seed, data_seed=recipe.seed,
        logging_strategy="epoch", eval_strategy="epoch" if validation else "no", save_strategy="epoch",
        save_total_limit=2, report_to=[], disable_tqdm=True, dataloader_pin_memory=torch.cuda.is_available())


def _identity(model: PreTrainedModel, blocks: Blocks, validation: Blocks | None, recipe: Recipe) -> str:
    """Hash of weights, data and recipe: the same exactly where the same weights would come out."""
    digest = hashlib.sha256(json.dumps(asdict(recipe), sort_keys=True).encode())
    for name, weights in model.state_dict().items():
        digest.update(name.encode() + weights.detach().cpu().float().contiguous().numpy().tobytes())
    for part in (blocks, validation):
        digest.update(json.dumps([part.input_ids, part.labels, part.position_ids] if part else None).encode())
    return digest.hexdigest()[:16]


def _checkpoints(work: Path) -> list[Path]:
    """The complete checkpoints in `work`, oldest first; the others are removed."""
    found = sorted(work.glob("checkpoint-*"), key=lambda path: int(path.name.split("-")[1]))
    for path in found:
        if not (path / _COMPLETE).exists():
            shutil.rmtree(path)
    return [path for path in found if path.exists()]


def _per_epoch(log: list[dict[str, float]]) -> list[dict[str, float]]:
    epochs: dict[int, dict[str, float]] = {}
    names = {"loss": "loss", "eval_loss": "validation_loss", "grad_norm": "gradient_norm",
             "learning_rate": "learning_rate"}
    for entry in log:
        row = epochs.setdefault(round(entry["epoch"]), {"epoch": round(entry["epoch"])})
        row.update({ours: float(entry[theirs]) for theirs, ours in names.items() if theirs in entry})
    return list(epochs.values())


class _Progress(TrainerCallback):
    """A plain progress bar, a mark in each complete checkpoint, and an end to a run whose loss is not a number."""

    def on_train_begin(self, args, state, control, **kwargs):
        self.bar = tqdm(total=state.max_steps, initial=state.global_step, desc="updates", mininterval=5)

    def on_step_end(self, args, state, control, **kwargs):
        self.bar.update(state.global_step - self.bar.n)

    def on_log(self, args, state, control, logs=None, **kwargs):
        shown = {name: f"{logs[name]:.4f}" for name in ("loss", "eval_loss", "grad_norm") if name in (logs or {})}
        self.bar.set_postfix(shown, refresh=False)
        if any(value == "nan" for value in shown.values()):
            raise FloatingPointError(f"the loss is not a number after update {state.global_step}: lower learning_rate "
                                     f"({args.learning_rate}) or raise warmup_steps ({args.warmup_steps})")

    def on_save(self, args, state, control, **kwargs):
        (Path(args.output_dir) / f"checkpoint-{state.global_step}" / _COMPLETE).touch()

    def on_train_end(self, args, state, control, **kwargs):
        self.bar.close()
