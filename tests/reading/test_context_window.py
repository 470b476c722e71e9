"""What does not fit a local model's window is not asked, and said; an endpoint's window is as given."""

import pytest

from lib.core.records import Query
from lib.infer.answers import Decoding
from lib.lab.base_model import new_llama, train_tokenizer
from lib.reading.context_window import in_window

SIZES = (5, 60, 300)  # words of the prompts


@pytest.fixture(scope="module")
def source(tmp_path_factory) -> str:
    folder = tmp_path_factory.mktemp("model")
    tokenizer = train_tokenizer(["word and word again"] * 3, 300)
    new_llama(tokenizer, hidden_size=16, layers=1, heads=2, context=128, seed=1).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return str(folder)


def queries() -> list[Query]:
    return [Query(query_id=f"q{size}", document_id="d", question="?", answer="1", structure="natural",
                  source_reference="", start=0, end=0, entity_count=None, block_type="json",
                  context="word " * size) for size in SIZES]


def test_a_local_model_is_asked_what_its_own_window_holds(source, monkeypatch, tmp_path):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    how = Decoding(max_read_tokens=16, is_ready=True)
    seen = in_window("s", queries(), source, how, is_local=True)
    assert [query.query_id for query in seen.asked] == ["q5", "q60"] and not seen.short
    assert [row.item for row in seen.too_long] == ["q300"] and "do not fit in 128" in seen.too_long[0].reason
    assert len(in_window("s", queries(), source, how, is_local=True, window=40).asked) == 1
    assert len(in_window("s", queries(), "gpt-4o", how, is_local=False).asked) == len(SIZES)
    assert len(in_window("s", queries(), source, Decoding(), is_local=True).asked) == len(SIZES), "not ready-made"
