"""A small Llama that has learned a few texts by heart, for tests."""

from pathlib import Path

from lib.lab.bases import new_llama, train_tokenizer
from lib.train.config import TrainConfig
from lib.train.corpus import pack
from lib.train.trainer import train


def trained(texts: list[str], output: Path, block_size: int, epochs: int, more=()) -> Path:
    """Train on `texts` and return the folder; `more` is only for the tokenizer."""
    tokenizer = train_tokenizer([*texts, *more], 330)
    model = new_llama(tokenizer, hidden_size=64, layers=2, heads=2, context=128, seed=1)
    config = TrainConfig(
        epochs=epochs,
        global_batch_size=4,
        device_batch_size=4,
        learning_rate=5e-3,
        warmup_steps=5,
        weight_decay=0.0,
        seed=1,
        precision="fp32",
    )
    train(
        model, tokenizer, pack(texts, tokenizer, block_size, "document"), None, config, output, {}
    )
    return output
