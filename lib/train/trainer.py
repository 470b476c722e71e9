"""Run continual pretraining with transformers' Trainer (paper, 4.2); it resumes after a crash."""

import math
import shutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
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
from lib.core.store import load, save, write_json
from lib.infer.loglik import score
from lib.train.attention import fastest_attention
from lib.train.checkpoints import (
    COMPLETE,
    checkpoints,
    fingerprint,
    prepare,
    step,
    weights_hash,
)
from lib.train.packing import PackedBlocks
from lib.train.recipe import Recipe, training_length


@dataclass(frozen=True)
class History:
    """A row per epoch (epoch, loss, validation_loss, gradient_norm, learning_rate), and totals."""

    epochs: list[dict[str, float]]
    updates: int
    tokens: int  # targets, counted as often as they were trained on
    seconds: float  # length of this run, which began after update `resumed_at`
    resumed_at: int


def train(
    model: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase,
    blocks: PackedBlocks,
    validation: PackedBlocks | None,
    recipe: Recipe,
    output: Path,
    facts: dict[str, object],
    callbacks: Sequence[TrainerCallback] = (),
) -> History:
    """Train `model` in this process into `output`, a Hugging Face folder with training.json.

    The work folder .<output> has checkpoints and their fingerprint, so a killed run resumes from
    the last complete one. `facts` goes into training.json, whose presence means that training is
    complete. Raises BadInput if the work folder is from a different training run,
    FloatingPointError if the loss is not a number, and ValueError if the model does not suit.
    """
    work = output.with_name(f".{output.name}")
    fields = fingerprint(recipe, blocks, validation, weights_hash(model), module_digest(__name__))
    prepare(work, fields)
    history = fit(lambda: model, blocks, validation, recipe, work, callbacks)
    tokenizer.save_pretrained(work / "final")
    finish(work, output, history, {"recipe": asdict(recipe), "fingerprint": fields, **facts})
    return history


def fit(
    load: Callable[[], PreTrainedModel],
    blocks: PackedBlocks,
    validation: PackedBlocks | None,
    recipe: Recipe,
    work: Path,
    callbacks: Sequence[TrainerCallback] = (),
    *,
    processes: int = 1,
    deepspeed: dict[str, object] | None = None,
) -> History:
    """Train the model that `load` returns, from the last complete checkpoint on, into work/final.

    Under torchrun, every process calls this with the same arguments. Raises ValueError if a
    different number of processes was started, and what `train` raises.
    """
    disable_progress_bar()  # transformers shows one for every checkpoint
    length = training_length(recipe, blocks)
    # The arguments come before the model, because ZeRO-3 shards the model while it is loaded.
    arguments = _arguments(recipe, length.updates, work, validation, processes, deepspeed)
    model = load()
    if not deepspeed or deepspeed["zero_optimization"]["stage"] < 3:  # a sharded one cannot run yet
        check_base(model, blocks)
    model.config.use_cache = False  # with a cache, restarting positions are not seen as boundaries
    if recipe.gradient_checkpointing:
        model.activation_checkpointing_enable()  # so called from transformers 5.23 on
    trainer = _trainer(model, arguments, blocks, validation, recipe, processes, callbacks)
    trainer.schedule_updates = length.schedule_updates
    # Trainer would also resume from a shorter run's end, in the middle of an epoch.
    ends = [path for path in checkpoints(work) if step(path) % length.updates_an_epoch == 0]
    last = ends[-1] if ends else None
    if last and trainer.is_world_process_zero():
        print(f"resuming from {last.name} of an earlier run", flush=True)
    with fastest_attention(model, len(blocks.input_ids[0]), arguments.device):
        result = trainer.train(resume_from_checkpoint=str(last) if last else None)
    model.config.use_cache = True
    trainer.save_model(str(work / "final"))
    if arguments.should_save:
        (work / "final" / "training_args.bin").unlink()  # a pickle, which is unsafe to load
    return History(
        _per_epoch(trainer.state.log_history),
        trainer.state.global_step,
        length.tokens,
        result.metrics["train_runtime"],
        step(last) if last else 0,
    )


def _arguments(
    recipe: Recipe,
    updates: int,
    work: Path,
    validation: PackedBlocks | None,
    processes: int,
    deepspeed: dict[str, object] | None,
) -> TrainingArguments:
    on_gpu = torch.cuda.is_available()
    arguments = TrainingArguments(
        output_dir=str(work),
        max_steps=updates,
        learning_rate=recipe.learning_rate,
        per_device_train_batch_size=recipe.device_batch_size,
        per_device_eval_batch_size=recipe.device_batch_size,
        gradient_accumulation_steps=recipe.accumulation(processes),
        deepspeed=deepspeed,
        lr_scheduler_type=recipe.lr_scheduler_type,
        warmup_steps=recipe.warmup_steps,
        weight_decay=recipe.weight_decay,
        bf16=recipe.arithmetic() == "bf16",
        use_cpu=not on_gpu,
        seed=recipe.seed,
        data_seed=recipe.seed,
        logging_strategy="epoch",
        logging_nan_inf_filter=False,
        eval_strategy="epoch" if validation else "no",
        save_strategy="epoch",
        save_total_limit=2,
        report_to=[],
        disable_tqdm=True,
        dataloader_pin_memory=on_gpu,
    )
    if arguments.world_size != processes:  # this read starts torch.distributed
        raise ValueError(
            f"{arguments.world_size} processes were started, but processes is "
            f"{processes}: set it to what the launcher starts on all nodes together"
        )
    arguments._n_gpu = min(arguments.n_gpu, 1)  # or Trainer would use all visible GPUs
    return arguments


def _trainer(
    model: PreTrainedModel,
    arguments: TrainingArguments,
    blocks: PackedBlocks,
    validation: PackedBlocks | None,
    recipe: Recipe,
    processes: int,
    callbacks: Sequence[TrainerCallback],
) -> "_Trainer":
    # Every process gets the same number of blocks, in an order that depends on seed and epoch only.
    even = blocks.padded_to(recipe.device_batch_size * processes) if processes > 1 else blocks
    order = _Order(len(blocks), len(even), recipe.seed)
    trainer = _Trainer(
        model=model,
        args=arguments,
        train_dataset=even,
        eval_dataset=validation,
        data_collator=default_data_collator,
        callbacks=[_Progress(order, recipe.checkpoint_epochs), *callbacks],
    )
    trainer.order = order
    trainer.remove_callback(PrinterCallback)
    return trainer


def finish(work: Path, output: Path, history: History, manifest: dict[str, object]) -> None:
    """Write training.json, then rename work/final to `output`."""
    final = work / "final"
    write_json(final / "training.json", {"history": asdict(history), **manifest})
    if output.exists():
        shutil.rmtree(output)
    final.rename(output)
    shutil.rmtree(work)


def check_base(model: PreTrainedModel, blocks: PackedBlocks) -> None:
    """Raise ValueError with a remedy if `model` cannot be trained on `blocks`."""
    name = model.config.name_or_path or type(model).__name__
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
    epochs: dict[int, dict[str, float]] = {}
    names = {
        "loss": "loss",
        "eval_loss": "validation_loss",
        "grad_norm": "gradient_norm",
        "learning_rate": "learning_rate",
    }
    for entry in log:
        number = math.ceil(entry["epoch"] - 1e-6)  # an incomplete last epoch also has a row
        row = epochs.setdefault(number, {"epoch": number})
        row.update(
            {ours: float(entry[theirs]) for theirs, ours in names.items() if theirs in entry}
        )
    return list(epochs.values())


class AfterEpochs(TrainerCallback):
    """Call `score` with the model and the number of each of `epochs` that ends."""

    def __init__(
        self, epochs: Sequence[int], score: Callable[[PreTrainedModel, int], object]
    ) -> None:
        self.epochs, self.score = epochs, score

    def on_epoch_end(self, args, state, control, model=None, **kwargs):
        """Score in evaluation mode; transformers calls this."""
        epoch = math.ceil(state.epoch - 1e-6)
        if epoch in self.epochs:
            model.eval()
            self.score(model, epoch)
            model.train()


class _Order(Sampler[int]):
    # `n` blocks are shuffled; padding blocks without loss, up to `length`, come last. (accelerate
    # would repeat blocks instead, and resume several processes with the first epoch's order.)

    def __init__(self, n: int, length: int, seed: int) -> None:
        self.n, self.length, self.seed, self.epoch = n, length, seed, 0

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[int]:
        generator = torch.Generator().manual_seed(self.seed + self.epoch)
        yield from torch.randperm(self.n, generator=generator).tolist()
        yield from range(self.n, self.length)


class _Trainer(Trainer):
    order: _Order
    schedule_updates: int  # may differ from max_steps

    def _get_train_sampler(self, train_dataset=None) -> _Order:
        return self.order

    def create_scheduler(self, num_training_steps: int, optimizer=None):
        return super().create_scheduler(self.schedule_updates, optimizer)


class _Progress(TrainerCallback):
    def __init__(self, order: _Order, checkpoint_epochs: int) -> None:
        self.order, self.checkpoint_epochs = order, checkpoint_epochs

    def on_train_begin(self, args, state, control, **kwargs):
        self.bar = tqdm(
            total=state.max_steps,
            initial=state.global_step,
            desc="updates",
            mininterval=5,
            disable=not state.is_world_process_zero,
        )

    def on_epoch_begin(self, args, state, control, **kwargs):
        self.order.epoch = round(state.epoch)

    def on_epoch_end(self, args, state, control, **kwargs):
        control.should_save &= round(state.epoch) % self.checkpoint_epochs == 0

    def on_step_end(self, args, state, control, **kwargs):
        self.bar.update(state.global_step - self.bar.n)

    def on_log(self, args, state, control, logs=None, **kwargs):
        measured = {
            name: logs[name] for name in ("loss", "eval_loss", "grad_norm") if name in (logs or {})
        }
        self.bar.set_postfix(
            {name: f"{value:.4f}" for name, value in measured.items()}, refresh=False
        )
        if not all(map(math.isfinite, measured.values())):
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


def curve_of(
    study: str, arm: str, tokenizer: PreTrainedTokenizerBase, epochs: list[int]
) -> list[TrainerCallback]:
    """Return the callback that scores the answers to all questions after each of `epochs`."""
    if not epochs:
        return []
    queries = load(study, "queries")
    return [
        AfterEpochs(
            epochs,
            lambda model, epoch: save(
                study,
                "curve",
                score(model, tokenizer, queries, {}, arm, batch_size=16, cloze_tokens=0),
                arm=arm,
                epoch=epoch,
            ),
        )
    ]
