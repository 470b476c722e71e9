"""Prices and tokens: dollars by hand, rows that a user adds, and counts that never hang."""

from pathlib import Path

import pytest
import tokenizers
from hypothesis import given, settings
from hypothesis import strategies as st

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
            "a,1,,2,,,,2026-11-21,s\n# a comment\nb,one,,2,,,,2026-11-21,s",
            r"row 'b': (?s:.*)input_usd_per_million\n.*'one'",
        ),
        ("a,1,,,,,,2026-11-21,s", "output_usd_per_million\n +Field required"),
        ("a,-1,,2,,,,2026-11-21,s", "input_usd_per_million\n.*'-1'"),
        ("a,1,,2,,,,yesterday,s", "as_of\n.*'yesterday'"),
        ("a,1,2,,,2026-11-21,s", "output_usd_per_million\n +Field required"),
    ],
)
def test_a_bad_row_is_an_error_that_names_its_column(tmp_path: Path, rows, complaint) -> None:
    table = tmp_path / "prices.csv"
    table.write_text(HEAD + rows + "\n")
    with pytest.raises(ValueError, match=complaint):
        price_of("a", table)


@pytest.fixture(scope="module")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the tokenizer of a byte-level BPE trained here."""
    folder = tmp_path_factory.mktemp("model")
    train_tokenizer(["the price of a token of a table"] * 20, 300).save_pretrained(folder)
    tokenizer = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.enable_truncation(5)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


@settings(deadline=None)
@given(text=st.text() | st.text(alphabet="€é 漢字😀\x00a"))
def test_no_text_has_more_tokens_than_bytes(model_folder: Path, text: str) -> None:
    count, how = counter(str(model_folder))
    estimated, guessed = counter("gpt-4o")
    assert (how, guessed) == ("counted by the model's tokenizer", ESTIMATE)
    assert estimated("a" * 9) == 3
    assert min(1, len(text)) <= count(text) <= upper_bound(text)
