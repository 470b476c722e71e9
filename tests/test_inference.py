"""Answers: what the model is asked, where an answer ends, and that neither batches nor a crash change one."""

import pytest
import torch

from lib.inference import STOPS, answer, generate, identity, load, prompt_for
from lib.laboratory_base import new_llama, train_tokenizer
from lib.packing import pack
from lib.records import Query
from lib.training import Recipe, train

ASKED = {"Orbit": "8443", "Comet": "1701\n\nQuestion", "Atlas": "red\nblue", "Lotus of the north": "9092",
         "Ingot": "a very long answer that goes on and on without an end in sight for a while"}
QUERIES = [Query(query_id=str(number), document_id="d", question=f"What is the port of {name}?", answer=value,
                 structure="natural", source_reference="", start=0, end=0, entity_count=None, block_type="prose")
           for number, (name, value) in enumerate(ASKED.items())]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model that knows ASKED by heart."""
    texts = [f"{prompt_for(query.question)} {query.answer}" for query in QUERIES]
    tokenizer = train_tokenizer(texts, 320)
    model = new_llama(tokenizer, hidden_size=64, layers=2, heads=2, context=128, seed=1)
    output = tmp_path_factory.mktemp("models") / "base"
    recipe = Recipe(150, 5, 5, 5e-3, 5, 0.0, seed=1, precision="fp32")
    train(model, tokenizer, pack(texts, tokenizer, 96, "document"), None, recipe, output, {})
    return output


def answers(folder, partial, batch_size=2, queries=QUERIES, max_answer_tokens=24):
    model, tokenizer = load(str(folder))
    return answer(model, tokenizer, queries, "base", max_answer_tokens=max_answer_tokens, batch_size=batch_size,
                  partial=partial)


def test_a_model_that_knows_the_answers_gives_them_in_the_order_of_the_queries(folder, tmp_path):
    rows = answers(folder, tmp_path / "p")
    assert [row.query_id for row in rows] == [query.query_id for query in QUERIES]
    assert [row.answer for row in rows[:4]] == ["8443", "1701", "red\nblue", "9092"]
    assert not any(row.truncated for row in rows[:4])


def test_what_the_budget_cuts_off_is_marked(folder, tmp_path):
    row = answers(folder, tmp_path / "p", max_answer_tokens=5)[4]
    assert row.truncated and row.n_tokens == 5 and "a very long".startswith(row.answer[:3])


@pytest.mark.parametrize("batch_size", [1, 3, 64])
def test_neither_batch_size_nor_order_changes_an_answer(folder, tmp_path, batch_size):
    expected = {row.query_id: row for row in answers(folder, tmp_path / "a")}
    rows = answers(folder, tmp_path / "b", batch_size=batch_size, queries=QUERIES[::-1])
    assert {row.query_id: row for row in rows} == expected


def test_a_broken_run_goes_on_and_a_half_written_line_is_asked_again(folder, tmp_path):
    partial = tmp_path / "p"
    expected = answers(folder, partial)
    lines = partial.read_text().splitlines(keepends=True)
    partial.write_text("".join(lines[:2]) + lines[2][:20])
    assert answers(folder, partial) == expected
    assert sorted(partial.read_text().splitlines()) == sorted("".join(lines).splitlines())


def test_finished_batches_are_not_asked_again(folder, tmp_path):
    partial = tmp_path / "p"
    answers(folder, partial)
    known = partial.read_text().replace('"answer":"8443"', '"answer":"kept"')
    partial.write_text(known)
    assert answers(folder, partial)[0].answer == "kept"


def test_a_prompt_has_exactly_one_bos_as_a_training_block_has(folder):
    _, tokenizer = load(str(folder))
    prompt = tokenizer(prompt_for("Who?"))["input_ids"]
    block = pack([prompt_for("Who?")], tokenizer, 64, "document").input_ids[0]
    assert prompt.count(tokenizer.bos_token_id) == 1 and block[:len(prompt)] == prompt


def test_a_question_cannot_fill_a_slot_of_the_prompt():
    assert prompt_for("{{ 7 * 7 }}?") == "Question: {{ 7 * 7 }}?\nAnswer:"


def test_an_answer_ends_at_a_stop_even_where_no_eos_comes(folder):
    model, tokenizer = load(str(folder))
    (text, _, truncated), = generate(model, tokenizer, [prompt_for(QUERIES[1].question)], 24)
    assert text == "1701" and not truncated and not any(stop in text for stop in STOPS)


def test_identity_changes_with_the_model_the_questions_and_the_settings(folder, tmp_path):
    first = identity(str(folder), QUERIES, 24, 2)
    assert first == identity(str(folder), QUERIES, 24, 2)
    assert len({first, identity(str(folder), QUERIES[:-1], 24, 2), identity(str(folder), QUERIES, 25, 2),
                identity(str(tmp_path), QUERIES, 24, 2)}) == 4


def test_a_folder_that_is_no_causal_model_says_so(folder, tmp_path):
    load(str(folder))[1].save_pretrained(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "t5"}')
    with pytest.raises(ValueError, match="AutoModelForCausalLM"):
        load(str(tmp_path))


def test_float32_answers_on_a_cpu(folder):
    model, _ = load(str(folder))
    assert torch.cuda.is_available() or model.dtype == torch.float32
