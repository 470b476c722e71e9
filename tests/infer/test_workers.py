"""Several processes answer as one does; one of them killed leaves what the next run goes on with."""

import multiprocessing
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from lib.core.files import write_records
from lib.core.records import Answer, Query
from lib.infer.answers import Decoding, in_batches
from lib.infer.workers import answer_from
from lib.lab.base_model import new_llama, train_tokenizer

QUERIES = [Query(query_id=f"{number:03}", document_id="d", question=f"Which {'long ' * (number % 7)}port is {number}?",
                 answer="1", structure="natural", source_reference="", start=0, end=0, entity_count=None,
                 block_type="prose") for number in range(40)]
HOW = Decoding(max_answer_tokens=8, batch_size=4)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> str:
    """An untrained model: it babbles, always the same."""
    tokenizer = train_tokenizer([query.question for query in QUERIES], 300)
    output = tmp_path_factory.mktemp("models") / "base"
    new_llama(tokenizer, hidden_size=32, layers=1, heads=2, context=256, seed=1).save_pretrained(output)
    tokenizer.save_pretrained(output)
    return str(output)


@pytest.fixture(scope="module")
def expected(folder, tmp_path_factory) -> list[Answer]:
    return answer_from(folder, QUERIES, "base", HOW, tmp_path_factory.mktemp("one"))


def test_two_processes_give_the_answers_of_one_in_the_order_of_the_queries(folder, expected, tmp_path):
    assert answer_from(folder, QUERIES, "base", HOW, tmp_path, processes=2) == expected
    assert [row.query_id for row in expected] == [query.query_id for query in QUERIES]
    assert len(list(tmp_path.iterdir())) == 1, "the parts are merged"


def test_ready_made_prompts_have_their_own_budget(folder, tmp_path):
    queries = [query.model_copy(update={"context": query.question}) if number % 3 else query
               for number, query in enumerate(QUERIES)]
    how = Decoding(max_answer_tokens=3, max_read_tokens=5, batch_size=4, is_ready=True)
    rows = answer_from(folder, queries, "base", how, tmp_path)
    assert [row.n_tokens for row in rows] == [5 if number % 3 else 3 for number in range(40)]


def test_what_several_processes_left_is_gone_on_with_by_one(folder, expected, tmp_path):
    answer_from(folder, QUERIES, "base", HOW, tmp_path)
    (partial,) = tmp_path.iterdir()
    partial.unlink()
    known = [row.query_id for batch in in_batches(QUERIES, HOW.batch_size)[:3] for row in batch]
    kept = [row.model_copy(update={"answer": "kept"}) for row in expected if row.query_id in known]
    write_records(partial.with_suffix(".0.jsonl"), kept[:8])
    write_records(partial.with_suffix(".1.jsonl"), kept[8:])
    rows = answer_from(folder, QUERIES, "base", HOW, tmp_path)
    assert [row.query_id for row in rows] == [query.query_id for query in QUERIES]
    assert [row for row in rows if row.query_id in known] == kept
    assert all(row == other for row, other in zip(rows, expected, strict=True) if row.query_id not in known)


def test_a_killed_process_ends_the_run_with_a_reason_and_the_next_run_asks_only_for_the_rest(folder, tmp_path):
    how = Decoding(max_answer_tokens=120, batch_size=4)
    with ThreadPoolExecutor() as pool:
        running = pool.submit(answer_from, folder, QUERIES, "base", how, tmp_path, processes=2)
        while not running.done() and not any(part.stat().st_size for part in tmp_path.iterdir()):
            time.sleep(0.02)
        multiprocessing.active_children()[0].kill()
        with pytest.raises(RuntimeError, match="the same command asks only for the rest"):
            running.result()
    kept = [line for part in tmp_path.iterdir() for line in part.read_text().splitlines() if line.endswith("}")]
    assert 0 < len(kept) < len(QUERIES)
    rows = answer_from(folder, QUERIES, "base", how, tmp_path)
    assert [row.query_id for row in rows] == [query.query_id for query in QUERIES]
    (partial,) = tmp_path.iterdir()
    assert set(kept) <= set(partial.read_text().splitlines())


def test_no_process_is_refused(folder, tmp_path):
    with pytest.raises(ValueError, match="processes is 0"):
        answer_from(folder, QUERIES, "base", HOW, tmp_path, processes=0)
