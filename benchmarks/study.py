"""Growth of a study's time and memory with its records.

python -m benchmarks study
"""

import json
import os
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.documents import peak, scaling

FACTORS = (1, 4, 16)  # times the laboratory's private records
PRODUCTS, BLOCK, BATCH = 60, 320, 4  # those of 00_lab.ipynb and 03_train.ipynb
STAGES = ("import", "generate", "annotate", "normalize", "pack", "answer", "judge", "train")


def measured(factor: int) -> dict[str, float]:
    """Run one chain over `factor` times the private records; return counts, seconds, memory."""
    seconds: dict[str, float] = {}
    memory: list[float] = []
    stages = _chain(factor)
    started = time.perf_counter()
    for name in STAGES:
        counts = next(stages)
        now = time.perf_counter()
        seconds[f"{name}, s"], started = now - started, now
        memory.append(peak())
    return {
        **counts,
        **seconds,
        "memory after the imports, MB": memory[0],
        "peak above it, MB": memory[-1] - memory[0],
    }


def _chain(factor: int):
    """Run the chain on new records, one stage at a time; yield the counts so far."""
    import torch  # imported here, so that the parent of the measured processes stays small

    from lib.annotate import questions as annotate
    from lib.infer.generate import answer
    from lib.infer.prompts import GenerationConfig
    from lib.judge import scorer
    from lib.lab.bases import new_llama, train_tokenizer
    from lib.lab.facts import ask_facts, rewrite_facts
    from lib.lab.records import ATTRIBUTES, make_products, make_records
    from lib.normalize import segment as segments
    from lib.train.config import TrainConfig
    from lib.train.corpus import pack
    from lib.train.trainer import train

    yield {}
    documents, facts = make_records(make_products(PRODUCTS * factor, 11), 11)
    few = [document.text for document in documents[: PRODUCTS * FACTORS[0]]]
    tokenizer = train_tokenizer(few, 1536)  # of the same size whatever the factor
    yield {}
    queries, _ = annotate.annotate(documents, ask_facts(facts), len(ATTRIBUTES))
    yield {}
    pieces = segments.segment(documents, tokenizer)
    rewritten = rewrite_facts(pieces, documents, facts)
    yield {}
    blocks = pack([row.text for row in rewritten if row.text], tokenizer, BLOCK, "document")
    counts = {"documents": len(documents), "queries": len(queries), "tokens": blocks.n_tokens}
    yield counts
    torch.manual_seed(1)
    model = new_llama(tokenizer, hidden_size=256, layers=4, heads=4, context=4 * BLOCK, seed=1)
    tokenizer.padding_side = "left"
    with (
        tempfile.TemporaryDirectory() as folder
    ):  # an untrained model uses up its budget of tokens, so every query costs the same
        config = GenerationConfig(max_new_tokens=16, max_new_tokens_list=16)
        answers = answer((model.eval(), tokenizer), queries, "dapt", config)
        yield counts
        scorer.judge(queries, answers, scorer.score)
        yield counts
        config = TrainConfig(
            epochs=2,
            global_batch_size=BATCH,
            device_batch_size=BATCH,
            learning_rate=5e-4,
            warmup_steps=1,
            weight_decay=0.1,
            seed=1,
        )
        train(model, tokenizer, blocks, None, config, Path(folder) / "m", {})
        yield counts


def main() -> str:
    """Return the measurement as Markdown."""
    return "\n".join(
        [
            "## The study as a whole",
            "",
            f"`python -m benchmarks study`; {os.cpu_count()} cores. The chain over more "
            f"records, once "
            "each: questions on known facts, answers of 16 tokens, two epochs. Growth as below:",
            "",
            *scaling(FACTORS, __spec__.name, "{}"),
        ]
    )


if __name__ == "__main__":
    print(json.dumps(measured(int(sys.argv[1]))))
