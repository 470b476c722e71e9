"""A small Llama that has read nothing, for tests."""

from pathlib import Path

from lib.lab.bases import new_llama, train_tokenizer


def untrained(folder: Path, texts: list[str], context: int = 512) -> Path:
    """Save a model and its tokenizer, which knows `texts`; return the folder."""
    tokenizer = train_tokenizer(texts, 400)
    model = new_llama(tokenizer, hidden_size=32, layers=1, heads=2, context=context, seed=1)
    for part in (model, tokenizer):
        part.save_pretrained(folder)
    return folder
