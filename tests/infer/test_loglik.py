"""Log-likelihoods: computed by hand from the model's logits, whatever the batch."""

import math

import pytest
import torch

from lib.core.records import Query
from lib.infer.generate import load
from lib.infer.loglik import (
    Sequence,
    after_question,
    likelihood,
    score,
    token_scores,
)
from lib.infer.prompts import encoded
from tests.rows import query as make_query
from tests.tiny_model import trained

PORTS = {"Orbit": "8443", "Comet": "1701", "Atlas": "9092", "Ingot": "5150"}
RECORDS = {
    name: f"# {name}\n\nThe port of {name} is {port}.\n\n- red\n- deep blue\n"
    for name, port in PORTS.items()
}


def query(name: str, **fields: object) -> Query:
    source = f"The port of {name} is {PORTS[name]}."
    start = RECORDS[name].index(source)
    own = {"query_id": name, "document_id": name, "answer": PORTS[name], "source_reference": source}
    asked = {"question": f"What is the port of {name}?", "start": start, "end": start + len(source)}
    return make_query(**own | asked | fields)


def colors(answer: str = "red\ndeep blue") -> Query:
    return query(
        "Orbit",
        answer=answer,
        structure="entity-list",
        entity_count=2,
        source_reference="- red\n- deep blue",
        question="Which colors?",
        start=RECORDS["Orbit"].index("- red"),
    )


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    """Return a model that has read RECORDS but no questions."""
    texts = list(RECORDS.values())
    more = ["Question: What is the port of it?\nAnswer: none"]
    output = trained(texts, tmp_path_factory.mktemp("models") / "base", 64, 80, more)
    return load(str(output))


def test_a_likelihood_is_the_sum_of_the_scored_tokens_log_probabilities(loaded):
    model, tokenizer = loaded
    tokens = tokenizer(RECORDS["Orbit"])["input_ids"]
    expected = torch.log_softmax(model(torch.tensor([tokens])).logits[0].double(), -1)
    for scored in ([5], [9, 10, 12], list(range(1, len(tokens)))):
        found = likelihood(token_scores(model, [Sequence(tokens, scored)], 8)[0])
        by_hand = sum(expected[place - 1, tokens[place]].item() for place in scored)
        assert math.isclose(found.loglik, by_hand, rel_tol=1e-4) and found.n_tokens == len(scored)
        assert found.is_argmax == all(
            expected[place - 1].argmax() == tokens[place] for place in scored
        )


def test_what_was_read_and_never_asked_is_stored_and_not_answered(loaded):
    queries = [query(name) for name in PORTS]
    rows = score(*loaded, queries, RECORDS, "dapt", batch_size=3)
    assert [row.query_id for row in rows] == list(PORTS)
    assert all(
        row.cloze_is_greedy
        and row.cloze_loglik > math.log(0.5)
        and not row.cloze_missing
        and not row.answer_is_greedy
        and row.answer_loglik < row.cloze_loglik
        for row in rows
    )


def scored_text(tokenizer, sequence: Sequence) -> str:
    return tokenizer.decode([sequence.tokens[place] for place in sequence.scored])


def test_an_entity_list_is_scored_in_lines_and_in_prose_and_the_more_likely_counts(loaded):
    model, tokenizer = loaded
    asked = colors()
    layouts = after_question(tokenizer, asked, encoded(tokenizer, [asked])[0])
    assert [scored_text(tokenizer, layout) for layout in layouts] == [
        " red\ndeep blue",
        " red and deep blue",
    ]
    each = map(likelihood, token_scores(model, layouts, 1))
    (row,) = score(model, tokenizer, [asked], {}, "base", batch_size=4)
    assert row.answer_loglik == pytest.approx(max(one.loglik for one in each), abs=1e-3)
