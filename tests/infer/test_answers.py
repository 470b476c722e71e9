"""Answers: what the model is asked, where an answer ends, and that neither batches nor a crash change one."""

import random

import pytest
import torch

from lib.core.records import Query
from lib.infer.answers import STOPS, Decoding, answer, ends_of, generate, identity, in_batches, load
from lib.infer.decode import continuations
from lib.infer.prompts import encoded, prompt_for
from lib.lab.base_model import new_llama, train_tokenizer
from lib.train.packing import pack
from lib.train.trainer import Recipe, train

ASKED = {"Orbit": "8443", "Comet": "1701\n\nQuestion", "Atlas": "red\nblue", "Lotus of the north": "9092",
         "Ingot": "a very long answer that goes on and on without an end in sight for a while"}
QUERIES = [Query(query_id=str(number), document_id="d", question=f"What is the port of {name}?", answer=value,
                 structure="natural", source_reference="", start=0, end=0, entity_count=None, block_type="prose")
           for number, (name, value) in enumerate(ASKED.items())]
TAGGED = "<question>\nWhich?\n</question>\n<answer>"  # a ready-made prompt that opens a tag for the answer
READY = [QUERIES[0].model_copy(update={"query_id": "tagged", "context": TAGGED}),
         QUERIES[1].model_copy(update={"query_id": "open", "context": prompt_for(QUERIES[1].question)})]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A model that knows ASKED by heart, and one ready-made prompt after whose answer it writes on."""
    texts = [*(f"{prompt_for(query.question)} {query.answer}" for query in QUERIES),
             f"{TAGGED}12\n\n34\n</answer>\n\nQuestion: one more?"]
    tokenizer = train_tokenizer(texts, 320)
    model = new_llama(tokenizer, hidden_size=64, layers=2, heads=2, context=128, seed=1)
    output = tmp_path_factory.mktemp("models") / "base"
    recipe = Recipe(150, 5, 5, 5e-3, 5, 0.0, seed=1, precision="fp32")
    train(model, tokenizer, pack(texts, tokenizer, 96, "document"), None, recipe, output, {})
    return output


def answers(folder, partial, queries=QUERIES, **decoding):
    model, tokenizer = load(str(folder))
    return answer(model, tokenizer, queries, "base", partial=partial,
                  **{"max_answer_tokens": 24, "batch_size": 2, **decoding})


def test_a_model_that_knows_the_answers_gives_them_in_the_order_of_the_queries(folder, tmp_path):
    rows = answers(folder, tmp_path / "p")
    assert [row.query_id for row in rows] == [query.query_id for query in QUERIES]
    assert [row.answer for row in rows[:4]] == ["8443", "1701", "red\nblue", "9092"]
    assert not any(row.truncated for row in rows[:4])


def test_what_the_budget_cuts_off_is_marked(folder, tmp_path):
    row = answers(folder, tmp_path / "p", max_answer_tokens=5)[4]
    assert row.truncated and row.n_tokens == 5 and "a very long".startswith(row.answer[:3])


def test_shuffled_questions_in_any_batches_have_the_same_answers(folder, tmp_path):
    expected = {row.query_id: row for row in answers(folder, tmp_path / "a")}
    for number, batch_size in enumerate((1, 3, 64)):
        shuffled = random.Random(number).sample(QUERIES, len(QUERIES))
        rows = answers(folder, tmp_path / f"b{number}", queries=shuffled, batch_size=batch_size)
        assert rows == [expected[query.query_id] for query in shuffled]


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


def test_an_answer_ends_at_a_stop_even_where_no_eos_comes(folder):
    model, tokenizer = load(str(folder))
    (text, _, truncated), = generate(model, tokenizer, encoded(tokenizer, QUERIES[1:2]), [24])
    assert text == "1701" and not truncated and not any(stop in text for stop in STOPS)


def test_answers_are_those_of_transformers_own_generate(folder):
    model, tokenizer = load(str(folder))
    for prompt, (_, n_tokens, _) in zip(encoded(tokenizer, QUERIES), generate(model, tokenizer, encoded(
            tokenizer, QUERIES), [30] * 5, ()), strict=True):
        expected = model.generate(torch.tensor([prompt]), do_sample=False, max_new_tokens=30)[0, len(prompt):].tolist()
        (row,) = continuations(model, tokenizer, [prompt], [30])
        assert row.tokens == expected[:-1] if expected[-1] == tokenizer.eos_token_id else row.tokens == expected
        assert len(row.tokens) == n_tokens


def test_each_row_of_a_batch_has_its_own_budget(folder):
    model, tokenizer = load(str(folder))
    whole, *_ = generate(model, tokenizer, encoded(tokenizer, QUERIES[4:]), [64])
    rows = generate(model, tokenizer, encoded(tokenizer, QUERIES[4:] * 3), [64, 3, 7])
    assert rows[0] == whole and [row[1:] for row in rows[1:]] == [(3, True), (7, True)]
    assert whole[0].startswith(rows[2][0]) and rows[2][0].startswith(rows[1][0])


def test_an_entity_list_has_a_budget_of_its_own(folder, tmp_path):
    lists = [query.model_copy(update={"structure": "entity-list"}) for query in QUERIES]
    rows = answers(folder, tmp_path / "p", queries=lists, max_answer_tokens=64, max_list_tokens=3)
    assert rows[4].truncated and {row.n_tokens for row in rows} == {3}


def test_an_end_of_turn_that_only_the_model_knows_of_ends_an_answer(folder):
    model, tokenizer = load(str(folder))
    prompts = encoded(tokenizer, QUERIES[:1])
    (row,) = continuations(model, tokenizer, prompts, [24])
    model.generation_config.eos_token_id = [tokenizer.eos_token_id, row.tokens[2]]
    assert continuations(model, tokenizer, prompts, [24])[0].tokens == row.tokens[:2]


def test_bfloat16_is_taken_on_request(folder, tmp_path):
    model, tokenizer = load(str(folder), precision="bf16")
    assert model.dtype == torch.bfloat16
    assert answer(model, tokenizer, QUERIES[:1], "base", partial=tmp_path / "p")[0].answer == "8443"


def test_an_answer_to_a_ready_made_prompt_keeps_blank_lines_and_ends_with_its_tag(folder, tmp_path):
    tagged, blank = answers(folder, tmp_path / "p", queries=READY, is_ready=True, max_answer_tokens=1)
    assert tagged.answer == "12\n\n34\n</answer>" and not tagged.truncated
    assert blank.answer == "1701\n\nQuestion"  # the same prompt, not said to be ready, ends at the blank line
    model, tokenizer = load(str(folder))
    (whole, n_tokens, _), = generate(model, tokenizer, encoded(tokenizer, READY[:1], is_ready=True), [64], ())
    assert whole == "12\n\n34\n</answer>\n\nQuestion: one more?" and tagged.n_tokens < n_tokens


def test_ready_made_prompts_and_questions_are_asked_in_one_run_each_in_its_way(folder, tmp_path):
    apart = [*answers(folder, tmp_path / "a"), *answers(folder, tmp_path / "b", queries=READY, is_ready=True)]
    mixed = random.Random(0).sample([*QUERIES, *READY], 7)
    rows = answers(folder, tmp_path / "c", queries=mixed, is_ready=True, batch_size=64)
    assert rows == [next(row for row in apart if row.query_id == query.query_id) for query in mixed]


def test_a_ready_made_prompt_has_a_budget_of_its_own(folder, tmp_path):
    rows = answers(folder, tmp_path / "p", queries=[*READY, QUERIES[4]], is_ready=True, max_read_tokens=2)
    assert [(row.n_tokens, row.truncated) for row in rows] == [(2, True), (2, True), (24, True)]


def test_batches_hold_answers_that_end_alike():
    other = READY[1].model_copy(update={"query_id": "json", "context": "a" * 50 + "<reply>\n"})
    batches = in_batches([*QUERIES, *READY, other], 4, is_ready=True)
    assert [[query.query_id for query in batch] for batch in batches] == [
        ["open"], ["tagged"], ["json"], ["0", "1", "2", "4"], ["3"]]
    assert [ends_of(batch[0], True) for batch in batches] == [
        ((), ()), ((), ("</answer>",)), ((), ("</reply>",)), (STOPS, ()), (STOPS, ())]
    assert {len(batch) for batch in in_batches([*QUERIES, *READY, other], 8)} == {8}


@pytest.mark.parametrize(("name", "value"), [("precision", "fp16"), ("prompt_style", "poem"), ("batch_size", 0),
                                             ("max_read_tokens", 0)])
def test_a_setting_that_cannot_be_used_is_named(name, value):
    with pytest.raises(ValueError, match=name):
        Decoding(**{name: value})


def test_identity_changes_with_the_model_the_questions_and_the_settings(folder, tmp_path):
    first = identity(str(folder), QUERIES, Decoding())
    assert first == identity(str(folder), QUERIES, Decoding())
    lists = [query.model_copy(update={"structure": "entity-list"}) for query in QUERIES]
    assert len({first, identity(str(folder), QUERIES[:-1], Decoding()), identity(str(tmp_path), QUERIES, Decoding()),
                identity(str(folder), QUERIES, Decoding(batch_size=2)), identity(str(folder), lists, Decoding())}) == 5
    ready, other = (identity(str(folder), [READY[0].model_copy(update=changes)], Decoding(is_ready=True))
                    for changes in ({"question": "?"}, {"question": "?", "context": TAGGED + "\n"}))
    assert ready == identity(str(folder), READY[:1], Decoding(is_ready=True)), "the question is not sent"
    assert len({ready, other, identity(str(folder), READY[:1], Decoding())}) == 3


def test_a_folder_that_is_no_causal_model_says_so(folder, tmp_path):
    load(str(folder))[1].save_pretrained(tmp_path)
    (tmp_path / "config.json").write_text('{"model_type": "t5"}')
    with pytest.raises(ValueError, match="AutoModelForCausalLM"):
        load(str(tmp_path))


def test_float32_answers_on_a_cpu(folder):
    model, _ = load(str(folder))
    assert torch.cuda.is_available() or model.dtype == torch.float32


def test_near_ties_fall_the_same_way_in_any_batch(folder):
    _, tokenizer = load(str(folder))
    model = new_llama(tokenizer, hidden_size=64, layers=2, heads=2, context=256, seed=3).eval()
    weights = model.lm_head.weight.data
    weights[1::2] = torch.nextafter(weights[0::2], torch.tensor(torch.inf))[:len(weights[1::2])]  # pairs all but alike
    drawn = random.Random(5)
    prompts = [[drawn.randrange(8, 300) for _ in range(drawn.randint(3, 40))] for _ in range(64)]
    together = [row.tokens for row in continuations(model, tokenizer, prompts, [24] * 64)]
    alone = [continuations(model, tokenizer, [prompt], [24])[0].tokens for prompt in prompts]
    assert together == alone
