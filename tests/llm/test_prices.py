"""Prices and tokens: dollars by hand, rows that a user adds, and counts of tokens."""

from pathlib import Path

import pytest
import tokenizers

from lib.lab.bases import train_tokenizer
from lib.llm.calls import cost_usd, price_of
from lib.llm.request import ESTIMATE, counter, upper_bound

HEAD = (
    "model,input_usd_per_million,cache_write_usd_per_million,output_usd_per_million,"
    "batch_factor,context_tokens,max_output_tokens,as_of,source\n"
)


@pytest.mark.parametrize(
    ("model", "n_in", "n_out", "is_batch", "dollars"),
    [
        ("gpt-4o-mini", 1, 0, False, 0.00000015),  # no integer of microdollars
        ("gpt-4.1", 1_000, 500, False, 0.006),
        ("gpt-4.1", 1_000, 500, True, 0.003),
        ("gpt-4o-2024-08-06", 6_000 * 1_200, 6_000 * 300, True, 18.0),
        ("gpt-5.6-luna", 1_000_000, 1_000_000, False, 1.45),  # cache write: 0.25, not 0.20
        ("mistral-large-2512", 1_000_000, 0, True, 0.5),  # no batch price is known: in full
    ],
)
def test_dollars_are_exact_to_the_token(model, n_in, n_out, is_batch, dollars) -> None:
    assert cost_usd(price_of(model), n_in, n_out, batch=is_batch) == dollars


@pytest.mark.parametrize(
    ("rows", "complaint"),
    [
        (
            "b,1,,2,,,,2026-11-21,s\n# a comment\na,one,,2,,,,2026-11-21,s",
            r"row 'a': (?s:.*)input_usd_per_million\n.*'one'",
        ),
        ("a,1,,,,,,2026-11-21,s", "output_usd_per_million\n +Field required"),
        ("a,1,,2,,,,yesterday,s", "as_of\n.*'yesterday'"),
        ("a,1,2,,,2026-11-21,s", "output_usd_per_million\n +Field required"),
    ],
)
def test_a_bad_row_is_an_error_that_names_its_column(tmp_path: Path, rows, complaint) -> None:
    table = tmp_path / "prices.csv"
    table.write_text(HEAD + rows + "\n")
    with pytest.raises(ValueError, match=complaint):
        price_of("a", table)


def test_tokens_are_counted_by_a_local_tokenizer_and_estimated_without_one(tmp_path: Path) -> None:
    train_tokenizer(["the price of a token of a table"] * 20, 300).save_pretrained(tmp_path)
    tokenizer = tokenizers.Tokenizer.from_file(str(tmp_path / "tokenizer.json"))
    tokenizer.enable_truncation(5)
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    (count, how), (estimated, guessed) = counter(str(tmp_path)), counter("gpt-4o")
    assert (how, guessed) == ("counted by the model's tokenizer", ESTIMATE)
    assert estimated("a" * 9) == 3
    for text in ("€é 漢字😀\x00a", "a price of 12 tokens"):
        assert 5 < count(text) <= upper_bound(text)
