"""The circuits: an untrained Llama continues repeated text and looks for the asked value."""

import torch

from lib.infer.prompts import prompt_for
from lib.lab.base_model import new_llama, train_tokenizer
from lib.reader.cells import distance
from lib.reader.circuit import induce
from lib.reader.lessons import asked_table, grid_lessons
from lib.reader.tokens import reader_tokenizer
from lib.tablequest.ask.serialize import FORMS

TOKENIZER = train_tokenizer(["abcdefgh " * 20], 260)


def continued(is_induced: bool, seed: int) -> float:
    """Return the share of the second half of random repeated tokens that is predicted."""
    model = new_llama(TOKENIZER, hidden_size=256, layers=3, heads=4, context=512, seed=seed,
                      rope_theta=500_000.0).eval()
    if is_induced:
        induce(model, seed)
    half = torch.randperm(250, generator=torch.Generator().manual_seed(seed))[:100] + 3
    tokens = torch.cat([half, half])
    with torch.no_grad():
        told = model(input_ids=tokens[None]).logits[0].argmax(-1)
    return float((told[100:-1] == tokens[101:]).float().mean())


def test_repeated_text_is_continued_before_any_training_and_not_without_the_circuit():
    assert min(continued(True, seed) for seed in (1, 2, 3)) > 0.5
    assert max(continued(False, seed) for seed in (1, 2, 3)) < 0.1


def test_an_untrained_model_attends_more_to_the_asked_value_than_to_others():
    tokenizer = reader_tokenizer(list(grid_lessons(60, 1, labels="short")), 1500)
    model = new_llama(tokenizer, hidden_size=256, layers=2, heads=4, context=512, seed=1,
                      rope_theta=500_000.0).eval()
    model.set_attn_implementation("eager")
    induce(model, 1)
    shares, chances = [], []
    for n in range(40):
        grid, (asked, *_) = asked_table(f"attended {n}", 4, 4, 1, "short", 0)
        text = FORMS["list"](grid)
        read = tokenizer(f"{prompt_for(asked.question, text)} ", return_offsets_mapping=True)
        with torch.no_grad():
            seen = model(torch.tensor([read["input_ids"]]), output_attentions=True)
        weights = seen.attentions[1][0, 1, -1]  # of the head that looks up, by token
        ends = {len(text) - distance(grid, "list", row, column) - 1: (row, column)
                for row in range(len(grid.rows)) for column in range(len(grid.columns))}
        of_cell = {ends[end - 1]: float(weight) for weight, (_, end) in zip(
            weights, read["offset_mapping"], strict=True) if end - 1 in ends}
        shares.append(of_cell[asked.row, asked.column] / sum(of_cell.values()))
        chances.append(1 / len(of_cell))
    assert sum(shares) > 1.5 * sum(chances)
