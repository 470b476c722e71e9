"""Continual pretraining with transformers' Trainer (paper, 4.2): resumed after a crash, whole or absent at the end."""

import math
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError
from torch.utils.data import Sampler
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

from lib.core.digest import module_digest
from lib.core.files import write_json
from lib.core.paths import shown
from lib.train.attention import fastest_attention
from lib.train.checkpoints import COMPLETE, checkpoints, drop, identity, prepare, step, weights_hash
from lib.train.checks import check_base
from lib.train.packing import Blocks
from lib.train.recipe import Extent, Recipe, extent

__all__ = ["History", "Recipe", "fit", "train"]


@dataclass(frozen=True)
class History:
    """What training left: one row an epoch (epoch, loss, validation_loss, gradient_norm, learning_rate) and totals."""

    epochs: list[dict[str, float]]
    updates: int
    tokens: int  # targets, each counted as often as it was trained on
    seconds: float  # of this run, from update `resumed_at` on
    resumed_at: int
    chosen_epoch: int  # whose model was kept


def train(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase, blocks: Blocks, validation: Blocks | None,
          recipe: Recipe, output: Path, facts: dict[str, object],
          callbacks: Sequence[TrainerCallback] = ()) -> History:
    """Train `model` on `blocks` in this process and leave it in `output`, a Hugging Face folder with training.json.

    The work folder .<output> beside it holds checkpoints and identity.json, so that a killed run goes on from its last
    complete checkpoint. `facts` (whatever the caller wants recorded) goes into training.json, which is written before
    the folder takes its name: where it stands, training is complete.
    Raises OtherCheckpoint where the work folder is another training's, FloatingPointError where the loss is not a
    number, ValueError for a model that does not fit the blocks, OSError where something cannot be saved.
    """
    work = output.with_name(f".{output.name}")
    fields = identity(recipe, blocks, validation, weights_hash(model), module_digest(__name__))
    prepare(work, fields)
    history = fit(lambda: model, blocks, validation, recipe, work, callbacks)
    tokenizer.save_pretrained(work / "final")
    finish(work, output, history, {"recipe": asdict(recipe), "identity": fields, **facts})
    return history


def fit(load: Callable[[], PreTrainedModel], blocks: Blocks, validation: Blocks | None, recipe: Recipe, work: Path,
        callbacks: Sequence[TrainerCallback] = (), *, processes: int = 1,
        deepspeed: dict[str, object] | None = None) -> History:
    """Train what `load` gives, from the last complete checkpoint in `work` where there is one, into work/final.

    Under torchrun every process calls this, with the same arguments. `load` is called after TrainingArguments are
    made, because ZeRO-3 shards a model while it is loaded.
    Raises ValueError where another number of processes was started, and as `train` does.
    """
    disable_progress_bar()  # transformers' own, one for every checkpoint
    length = extent(recipe, blocks)
    arguments = _arguments(recipe, length, work, validation, processes, deepspeed)
    if arguments.world_size != processes:  # asking for it starts torch.distributed, which ZeRO-3 needs to load a model
        raise ValueError(f"{arguments.world_size} processes were started and the training is for {processes}: set "
                         "processes to what the launcher starts on all nodes together")
    arguments._n_gpu = min(arguments.n_gpu, 1)  # Trainer would else spread one process's batch over all GPUs it sees
    model = load()
    if not deepspeed or deepspeed["zero_optimization"]["stage"] < 3:  # a sharded model has no forward pass yet
        check_base(model, blocks, recipe.device_batch_size)
    model.config.use_cache = False  # with a cache, transformers does not read restarting positions as borders
    even = blocks.padded_to(recipe.device_batch_size * processes) if processes > 1 else blocks
    order = _Order(len(blocks), len(even), recipe.seed)
    trainer = _Trainer(order, length.schedule_updates, model=model, args=arguments, train_dataset=even,
                       eval_dataset=validation, data_collator=default_data_collator,
                       callbacks=[_Progress(order), *callbacks])
    trainer.remove_callback(PrinterCallback)
    last = _last(work, length)
    if last and trainer.is_world_process_zero():
        print(f"goes on from {last.name} of an earlier run", flush=True)
    with fastest_attention(model, len(blocks.input_ids[0]), arguments.device):
        result = trainer.train(resume_from_checkpoint=str(last) if last else None)
    model.config.use_cache = True
    trainer.save_final()
    rows = _per_epoch(trainer.state.log_history)
    best = min(rows, key=lambda row: row.get("validation_loss", math.inf)) if recipe.choose != "last" else rows[-1]
    return History(rows, trainer.state.global_step, length.tokens, result.metrics["train_runtime"],
                   step(last) if last else 0, int(best["epoch"]))


def finish(work: Path, output: Path, history: History, manifest: dict[str, object]) -> None:
    """Write training.json and give the model in work/final, with what callbacks wrote, the name `output`."""
    write_json(work / "final" / "training.json", {"history": asdict(history), **manifest})
    for rows in work.glob("[!.]*.jsonl"):
        rows.rename(work / "final" / rows.name)
    if output.exists():
        shutil.rmtree(output)
    (work / "final").rename(output)
    shutil.rmtree(work)


def _arguments(recipe: Recipe, length: Extent, work: Path, validation: Blocks | None, processes: int,
               deepspeed: dict[str, object] | None) -> TrainingArguments:
    if recipe.choose == "validation_loss" and not validation:
        raise ValueError("choose is validation_loss, and nothing is held out: give a validation_share above 0")
    return TrainingArguments(
        output_dir=str(work), max_steps=length.updates, learning_rate=recipe.learning_rate,
        per_device_train_batch_size=recipe.device_batch_size, per_device_eval_batch_size=recipe.device_batch_size,
        gradient_accumulation_steps=recipe.accumulation(processes), deepspeed=deepspeed,
        lr_scheduler_type="linear", warmup_steps=recipe.warmup_steps, weight_decay=recipe.weight_decay,
        bf16=recipe.arithmetic() == "bf16", use_cpu=not torch.cuda.is_available(),
        seed=recipe.seed, data_seed=recipe.seed, logging_strategy="epoch", logging_nan_inf_filter=False,
        eval_strategy="epoch" if validation else "no", save_strategy="epoch",
        load_best_model_at_end=recipe.choose == "validation_loss", metric_for_best_model="loss",
        report_to=[], disable_tqdm=True, dataloader_pin_memory=torch.cuda.is_available())


def _last(work: Path, length: Extent) -> Path | None:
    """The checkpoint to go on from. One within an epoch is the end of a training, which Trainer would train on from."""
    done = [path for path in checkpoints(work) if step(path) % length.updates_an_epoch == 0]
    return done[-1] if done else None


def _per_epoch(log: list[dict[str, float]]) -> list[dict[str, float]]:
    epochs: dict[int, dict[str, float]] = {}
    names = {"loss": "loss", "eval_loss": "validation_loss", "grad_norm": "gradient_norm",
             "learning_rate": "learning_rate"}
    for entry in log:
        number = math.ceil(entry["epoch"] - 1e-6)  # a last epoch that is not whole has its row too
        row = epochs.setdefault(number, {"epoch": number})
        row.update({ours: float(entry[theirs]) for theirs, ours in names.items() if theirs in entry})
    return list(epochs.values())


class _Order(Sampler[int]):
    """The order of the blocks, another in every epoch, the same for any number of processes.

    `n` blocks are shuffled; those without loss, which fill `length`, come last. (accelerate repeats blocks instead, and
    begins with the first epoch's order again where a run on several processes goes on.)
    """

    def __init__(self, n: int, length: int, seed: int) -> None:
        self.n, self.length, self.seed, self.epoch = n, length, seed, 0

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[int]:
        generator = torch.Generator().manual_seed(self.seed + self.epoch)
        yield from torch.randperm(self.n, generator=generator).tolist()
        yield from range(self.n, self.length)


class _Trainer(Trainer):
    """Trainer with our order of the blocks, a schedule that may outlast the training, and errors that help."""

    def __init__(self, order: _Order, schedule_updates: int, **given) -> None:
        self.order, self.schedule_updates = order, schedule_updates
        super().__init__(**given)

    def _get_train_sampler(self, train_dataset=None) -> _Order:
        return self.order

    def create_scheduler(self, num_training_steps: int, optimizer=None):
        return super().create_scheduler(self.schedule_updates, optimizer)

    def _save_checkpoint(self, model, trial) -> None:
        with _saving(Path(self.args.output_dir) / f"checkpoint-{self.state.global_step}"):
            super()._save_checkpoint(model, trial)

    def save_final(self) -> None:
        """The model alone, as an ordinary Hugging Face folder."""
        folder = Path(self.args.output_dir) / "final"
        with _saving(folder):
            self.save_model(str(folder))
        if self.args.should_save:
            (folder / "training_args.bin").unlink()  # a pickle that no one should have to load


@contextmanager
def _saving(path: Path):
    """Whatever goes wrong while `path` is written, as an error that says what to do.

    torch and safetensors say of a full disk no more than that writing failed, each as an error of its own.
    """
    try:
        yield
    except (OSError, RuntimeError, SafetensorError) as error:
        free = shutil.disk_usage(path.parent).free / 1e9
        raise OSError(f"{shown(path)} could not be saved ({str(error).splitlines()[0]}); {free:.1f} GB are free on its "
                      "disk. Free some space and run the same command again: it goes on from the last complete "
                      "checkpoint") from error


class _Progress(TrainerCallback):
    """A plain progress bar, a mark in each complete checkpoint, and an end to a run whose loss is not a number."""

    def __init__(self, order: _Order) -> None:
        self.order = order

    def on_train_begin(self, args, state, control, **kwargs):
        self.bar = tqdm(total=state.max_steps, initial=state.global_step, desc="updates", mininterval=5,
                        disable=not state.is_world_process_zero)

    def on_epoch_begin(self, args, state, control, **kwargs):
        self.order.epoch = round(state.epoch)

    def on_step_end(self, args, state, control, **kwargs):
        self.bar.update(state.global_step - self.bar.n)

    def on_log(self, args, state, control, logs=None, **kwargs):
        shown = {name: logs[name] for name in ("loss", "eval_loss", "grad_norm") if name in (logs or {})}
        self.bar.set_postfix({name: f"{value:.4f}" for name, value in shown.items()}, refresh=False)
        if not all(map(math.isfinite, shown.values())):
            raise FloatingPointError(f"the loss is not a number after update {state.global_step}: lower learning_rate "
                                     f"({args.learning_rate}) or raise warmup_steps ({args.warmup_steps})")

    def on_save(self, args, state, control, **kwargs):
        """Every process has written its part before the mark is set, and the mark is set before older ones go."""
        if torch.distributed.is_initialized():
            torch.distributed.barrier()
        if state.is_world_process_zero:
            work = Path(args.output_dir)
            (work / f"checkpoint-{state.global_step}" / COMPLETE).touch()
            for old in checkpoints(work)[:-2]:
                if str(old) != state.best_model_checkpoint:
                    drop(old)

    def on_train_end(self, args, state, control, **kwargs):
        self.bar.close()
