"""Answers and log-likelihoods of a small model that knows a few texts by heart, in any batches."""

import random

import pytest
import torch

from lib.core.store import BadInput
from lib.infer.generate import answer, continuations, load
from lib.infer.loglik import Sequence, after_question, likelihood, score, token_scores
from lib.infer.prompts import GenerationConfig, encoded, prompt_for
from lib.lab.bases import new_llama, train_tokenizer
from lib.tasks.answering import remove_partial, source_of
from lib.train.config import TrainConfig
from lib.train.corpus import pack
from lib.train.trainer import train
from tests.rows import query as make_query

ANSWERS = {
    "Orbit": "8443",
    "Comet": "1701\n\nQuestion",
    "Atlas": "red\nblue",
    "Lotus of the north": "9092",
    "Ingot": "a very long answer that goes on and on without an end in sight for a while",
}
QUERIES = [
    make_query(query_id=str(number), question=f"What is the port of {name}?", answer=value)
    for number, (name, value) in enumerate(ANSWERS.items())
]
TAGGED = "<question>\nWhich?\n</question>\n<answer>"  # a ready-made prompt that opens a tag
READY = [
    QUERIES[0].model_copy(update={"query_id": "tagged", "context": TAGGED}),
    QUERIES[1].model_copy(update={"query_id": "open", "context": prompt_for(QUERIES[1].question)}),
]
READ = {  # and never asked about
    name: f"# {name}\n\nThe port of {name} is {port}.\n\n- red\n- deep blue\n"
    for name, port in {"Velum": "8443", "Quoin": "1701", "Sable": "9092", "Drift": "5150"}.items()
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Return a model that has learned all of these texts, and after an answer continues."""
    texts = [
        *(f"{prompt_for(query.question)} {query.answer}" for query in QUERIES),
        f"{TAGGED}12\n\n34\n</answer>\n\nQuestion: one more?",
        *READ.values(),
    ]
    output, tokenizer = tmp_path_factory.mktemp("models") / "base", train_tokenizer(texts, 330)
    model = new_llama(tokenizer, hidden_size=64, layers=2, heads=2, context=128, seed=1)
    config = TrainConfig(
        epochs=100,
        global_batch_size=4,
        device_batch_size=4,
        learning_rate=5e-3,
        warmup_steps=5,
        weight_decay=0.0,
        seed=1,
        precision="fp32",
    )
    train(model, tokenizer, pack(texts, tokenizer, 96, "document"), None, config, output, {})
    return output


@pytest.fixture(scope="module")
def loaded(folder):
    return load(str(folder))


def answers(loaded, queries=QUERIES, **more):
    config = GenerationConfig(**{"max_new_tokens": 24, "batch_size": 2, **more})
    return answer(loaded, queries, "base", config)


def test_shuffled_queries_in_any_batches_have_the_same_answers(loaded):
    expected = {row.query_id: row for row in answers(loaded)}
    assert expected["0"].answer == "8443" and expected["4"].truncated
    for number, batch_size in enumerate((1, 3, 64)):
        shuffled = random.Random(number).sample(QUERIES, len(QUERIES))
        rows = answers(loaded, shuffled, batch_size=batch_size)
        assert rows == [expected[query.query_id] for query in shuffled]


def test_drawn_answers_are_the_same_by_seed_and_beams_find_what_is_known_by_heart(loaded):
    greedy = [row.answer for row in answers(loaded)]
    assert [row.answer for row in answers(loaded, num_beams=2)] == greedy
    cold, warm, again = (
        [row.answer for row in answers(loaded, temperature=value, top_p=0.95, seed=seed)]
        for value, seed in ((0.01, 1), (3.0, 1), (3.0, 1))
    )
    assert cold == greedy != warm == again
    assert warm != [row.answer for row in answers(loaded, temperature=3.0, top_p=0.95, seed=2)]
    assert [row.answer for row in answers(loaded, temperature=3.0, top_k=1)] == greedy


def test_a_run_resumes_after_the_last_complete_line_of_a_killed_one(folder, tmp_path):
    how = GenerationConfig(max_new_tokens=24, batch_size=2)
    expected = answer(str(folder), QUERIES, "base", how, tmp_path)
    (partial,) = tmp_path.glob(".base-*")
    first, second, third, *_ = partial.read_bytes().split(b"\n")
    kept = first.replace(b'"truncated":false', b'"truncated":true')
    assert kept != first
    partial.write_bytes(b"\n".join([kept, second, third[:9]]))
    rows = answer(str(folder), QUERIES, "base", how, tmp_path)
    assert sum(row.truncated for row in rows) == 1 + sum(row.truncated for row in expected), (
        "an answer that is kept is not made again"
    )
    assert [row.answer for row in rows] == [row.answer for row in expected]
    other = answer(str(folder), QUERIES, "base", GenerationConfig(max_new_tokens=1), tmp_path)
    assert other != expected, "another run's file is not resumed"
    (tmp_path / ".base-n-0123456789abcdef.jsonl").touch()  # of another arm
    remove_partial(tmp_path, "base")
    assert [path.name for path in tmp_path.glob(".*")] == [".base-n-0123456789abcdef.jsonl"]


def test_an_end_of_turn_that_only_the_model_knows_ends_an_answer(folder):
    model, tokenizer = load(str(folder))
    prompts = encoded(tokenizer, QUERIES[:1])
    (row,) = continuations(model, tokenizer, prompts, [24])
    model.generation_config.eos_token_id = [tokenizer.eos_token_id, row.tokens[2]]
    assert continuations(model, tokenizer, prompts, [24])[0].tokens == row.tokens[:2]


def test_an_answer_to_a_ready_made_prompt_keeps_blank_lines_and_ends_with_its_tag(loaded):
    tagged, blank = answers(loaded, READY, max_new_tokens=1)
    assert tagged.answer == "12\n\n34\n</answer>" and not tagged.truncated
    assert blank.answer == "1701\n\nQuestion"  # as a question, the prompt ends at the blank line


def test_a_trained_arm_answers_when_its_training_has_ended_and_others_with_the_base(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    assert source_of("s", "base", "org/model") == "org/model"
    own = tmp_path / "data" / "s" / "models" / "dapt@2"
    own.mkdir(parents=True)
    with pytest.raises(BadInput, match="03_train.*dapt@2"):
        source_of("s", "dapt@2", "org/model")
    (own / "training.json").write_text("{}")
    assert source_of("s", "dapt@2", "org/model") == str(own)


def test_a_likelihood_is_the_sum_of_the_scored_tokens_log_probabilities(loaded):
    model, tokenizer = loaded
    tokens = tokenizer(READ["Velum"])["input_ids"]
    expected = torch.log_softmax(model(torch.tensor([tokens])).logits[0].double(), -1)
    for scored in ([5], [9, 10, 12], list(range(1, len(tokens)))):
        found = likelihood(token_scores(model, [Sequence(tokens, scored)], 8)[0])
        by_hand = sum(expected[place - 1, tokens[place]].item() for place in scored)
        assert found.loglik == pytest.approx(by_hand, rel=1e-4) and found.n_tokens == len(scored)
        assert found.is_argmax == all(
            expected[place - 1].argmax() == tokens[place] for place in scored
        )


def test_what_was_read_and_never_asked_is_stored_and_not_answered(loaded):
    queries = []
    for name, text in READ.items():
        source = text.split("\n")[2]
        place = {"start": (start := text.index(source)), "end": start + len(source)}
        said = {"question": f"What is the port of {name}?", "answer": source[-5:-1]}
        own = {"query_id": name, "document_id": name, "source_reference": source}
        queries.append(make_query(**own, **said, **place))
    rows = score(*loaded, queries, READ, "dapt", batch_size=3)
    assert [row.query_id for row in rows] == [*READ]
    assert all(
        row.cloze_is_greedy
        and row.cloze_loglik > -0.7
        and not row.cloze_missing
        and not row.answer_is_greedy
        and row.answer_loglik < row.cloze_loglik
        for row in rows
    )


def test_an_entity_list_is_scored_in_lines_and_in_prose_and_the_more_likely_counts(loaded):
    model, tokenizer = loaded
    asked = make_query(answer="red\ndeep blue", structure="entity-list", entity_count=2)
    layouts = after_question(tokenizer, asked, encoded(tokenizer, [asked])[0])
    scored = [tokenizer.decode([one.tokens[at] for at in one.scored]) for one in layouts]
    assert scored == [" red\ndeep blue", " red and deep blue"]
    each = map(likelihood, token_scores(model, layouts, 1))
    (row,) = score(model, tokenizer, [asked], {}, "base", batch_size=4)
    assert row.answer_loglik == pytest.approx(max(one.loglik for one in each), abs=1e-3)
