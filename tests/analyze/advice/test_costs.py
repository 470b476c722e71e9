"""What documents are made of and what interventions cost, counted by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit
from transformers import PreTrainedTokenizerFast

from lib.analyze.advice import costs, words
from lib.core.records import Augmented, Document, Normalized, Query, Segment
from lib.documents.blocks import parse
from lib.llm.prices import cost_usd, price_of

WORDS = PreTrainedTokenizerFast(  # one token per word
    tokenizer_object=Tokenizer(WordLevel({"[UNK]": 0}, unk_token="[UNK]")), unk_token="[UNK]")
WORDS.backend_tokenizer.pre_tokenizer = WhitespaceSplit()
TEXT = ("# Corvane\n\nIt draws little.\n\n- Linux\n- QNX\n\n"
        "  | Port | Use |\n  | --- | --- |\n  | 8443 | admin |\n")
GPT = "gpt-4.1-2025-04-14"


def document(text: str = TEXT) -> Document:
    return Document(document_id="corvane", title="Corvane", path="", text=text)


def segments(*texts: str) -> list[Segment]:
    return [Segment(segment_id=f"s{number}", document_id="corvane", start=TEXT.index(text),
                    text=text, n_tokens=0, end=TEXT.index(text) + len(text))
            for number, text in enumerate(texts)]


def rewrites(*texts: str) -> list[Normalized]:
    return [Normalized(segment_id=f"s{number}", document_id="corvane", rating=None, remark="",
                       text=text, dropped="" if text else "lost")
            for number, text in enumerate(texts)]


def query(number: int, structure: str) -> Query:
    return Query(query_id=f"q{number}", document_id=f"d{number % 10}", question="?", answer="8443",
                 structure=structure, source_reference="", start=0, end=0, entity_count=None,
                 block_type="")


def test_a_token_belongs_to_the_innermost_block_and_all_are_counted():
    asked = [query(1, "tabular"), query(2, "tabular"), query(3, "natural")]
    table = costs.shares([document()], asked, WORDS)
    # "# Corvane"; "It draws little."; "- Linux" and "- QNX"; three rows of five words each
    assert dict(zip(table.kind, table.tokens, strict=True)) == {
        "heading": 2, "prose": 3, "list": 4, "table": 15, "code": 0, "other": 0}
    assert table.tokens.sum() == len(TEXT.split())
    assert costs.mix_of(table) == {"natural": 1 / 3, "entity-list": 0, "tabular": 2 / 3}
    assert list(table.blocks[:3]) == [1, 1, 1]
    assert list(table.statements) == [1, 2, 1, 0, 0, 0]


@given(st.lists(st.sampled_from(["words here", "- one\n- two", "| a |\n| - |\n| b |",
                                 "```\ncode\n```", "<p>", "# T"])))
def test_shares_of_text_add_up_whatever_the_document(pieces):
    table = costs.shares([document("\n\n".join(pieces))], [], WORDS)
    assert table.tokens.sum() == len(" ".join(pieces).split())
    assert table.text_share.sum() == pytest.approx(1 if pieces else 0)
    assert table.blocks.sum() == len(parse("\n\n".join(pieces)))


def test_training_tokens_are_those_of_the_changed_documents_and_scale_to_the_corpus():
    rewritten = rewrites("Corvane draws little power.")
    table = costs.training_costs([document()], segments(TEXT), rewritten, WORDS, 2400)
    table = table.set_index("intervention")
    assert set(table.tokens_before) == {24} and set(table.corpus_before) == {2400}
    after = table.tokens_after
    assert after["normalized"] == 4 and after["mixed"] == 28
    assert after["repeat-header"] == 26  # "Port:" and "Use:"
    assert after["prefix-name"] == 24 + 2 + 3 * 2  # twice "Corvane:"; a cell and its pipe per row
    assert table.corpus_after["mixed"] == 2800
    assert table.tokens_added_percent["mixed"] == pytest.approx(100 * 4 / 24)


def test_an_augmented_corpus_is_the_raw_text_and_the_kept_synthetic_texts():
    texts = [Augmented(segment_id="s0", document_id="corvane", strategy="paraphrase", number=number,
                       text=text, dropped=dropped)
             for number, (text, dropped) in enumerate([("Port 8443 is admin.", ""), ("x", "same")])]
    table = costs.training_costs([document()], segments(TEXT), rewrites("x"), WORDS, 0, texts)
    assert table.set_index("intervention").tokens_after["dapt-a"] == 24 + 4


def test_a_corpus_cannot_be_negative_or_empty():
    with pytest.raises(ValueError, match="corpus_tokens is -1"):
        costs.training_costs([document()], segments(TEXT), rewrites("x"), WORDS, -1)
    with pytest.raises(ValueError, match="have no tokens"):
        costs.training_costs([], [], [], WORDS)


@pytest.fixture()
def _counted_in_words(monkeypatch):
    monkeypatch.setattr(costs, "counter", lambda model: (lambda text: len(text.split()), "words"))


@pytest.mark.usefixtures("_counted_in_words")
def test_a_model_is_paid_for_instructions_with_each_segment_that_it_gets():
    table_at = TEXT.index("  |")
    cuts, rewritten = segments(TEXT[:table_at], TEXT[table_at:]), rewrites("Words.", "")
    table = costs.model_costs([document()], cuts, rewritten, GPT, WORDS)
    cells = table.set_index("sent")
    assert list(cells.segments) == [2, 2, 2, 1]  # the table is in the list
    every, tables = cells.loc["every segment"], cells.loc["segments with a table"]
    assert every.tokens_in == 2 * every.overhead_tokens + 2 + len(TEXT.split())  # and two titles
    assert tables.tokens_in == tables.overhead_tokens + 1 + 15
    form, price = len(costs.REPLY_FORM.split()), price_of(GPT)
    assert every.tokens_out == 2 * form + 1 + 15  # what was dropped counts as long as it is
    assert every.usd == pytest.approx(cost_usd(price, every.tokens_in, every.tokens_out))
    assert every.usd_batch == pytest.approx(every.usd * float(price.batch_factor))
    scaled = costs.model_costs([document()], cuts, rewritten, GPT, WORDS, 240)
    assert scaled.tokens_in[0] == pytest.approx(10 * every.tokens_in, rel=0.01)
    assert scaled.segments[0] == 20


@pytest.mark.usefixtures("_counted_in_words")
def test_an_unknown_price_is_never_zero():
    table = costs.model_costs([document()], segments(TEXT), rewrites("Words."), "my/model", WORDS)
    assert table.usd.isna().all() and set(table.price) == {"price unknown"}
    assert set(words.formatted_model(table).dollars) == {"price unknown"}


@pytest.mark.parametrize(("amount", "text"), [
    (0.0042, "$0.0042"), (0.2, "$0.20"), (1234.5, "$1,234.50"), (np.nan, "price unknown")])
def test_dollars(amount, text):
    assert words.dollars(amount) == text
