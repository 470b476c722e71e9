"""Several processes answer as one does; an interrupted run resumes, and only its own files."""

import multiprocessing
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from lib.core.records import Query
from lib.infer.decoding import Decoding
from lib.infer.workers import answer_from, remove_partial
from lib.lab.base_model import new_llama, train_tokenizer

QUERIES = [Query(query_id=f"{number:03}", document_id="d", answer="1", structure="natural",
                 question=f"Which {'long ' * (number % 7)}port is {number}?", source_reference="",
                 start=0, end=0, entity_count=None, block_type="prose") for number in range(40)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> str:
    """Return an untrained model, whose output is arbitrary but always the same."""
    tokenizer = train_tokenizer([query.question for query in QUERIES], 300)
    output = tmp_path_factory.mktemp("models") / "base"
    model = new_llama(tokenizer, hidden_size=32, layers=1, heads=2, context=256, seed=1)
    model.save_pretrained(output)
    tokenizer.save_pretrained(output)
    return str(output)


def test_two_processes_one_killed_and_one_process_for_the_rest_give_the_answers_of_one(
        folder, tmp_path, tmp_path_factory):
    how = Decoding(max_answer_tokens=120, batch_size=4)
    expected = answer_from(folder, QUERIES, "base", how, tmp_path_factory.mktemp("one"))
    with ThreadPoolExecutor() as pool:
        running = pool.submit(answer_from, folder, QUERIES, "base", how, tmp_path, 2)
        while not running.done() and not any(
                part.stat().st_size for part in tmp_path.glob(".base-*.jsonl")):
            time.sleep(0.02)
        multiprocessing.active_children()[0].kill()
        with pytest.raises(RuntimeError, match="same command"):
            running.result()
    kept = [line for part in tmp_path.glob(".base-*") for line in part.read_text().splitlines()
            if line.endswith("}")]
    assert 0 < len(kept) < len(QUERIES)
    assert answer_from(folder, QUERIES, "base", how, tmp_path) == expected
    (partial,) = tmp_path.glob(".base-*")
    assert set(kept) <= set(partial.read_text().splitlines()), "kept answers are not made again"
    (tmp_path / ".base-n-0123456789abcdef.jsonl").touch()  # of another arm
    remove_partial(tmp_path, "base")
    assert [path.name for path in tmp_path.glob(".*")] == [".base-n-0123456789abcdef.jsonl"]
