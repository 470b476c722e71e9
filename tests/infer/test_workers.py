"""Several processes answer as one does; an interrupted run resumes, and only its own files."""

import multiprocessing
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from lib.core.files import write_records
from lib.core.records import Answer, Query
from lib.infer.answers import Decoding, in_batches
from lib.infer.workers import answer_from, fingerprint, remove_partial
from lib.lab.base_model import new_llama, train_tokenizer

QUERIES = [Query(query_id=f"{number:03}", document_id="d", answer="1", structure="natural",
                 question=f"Which {'long ' * (number % 7)}port is {number}?", source_reference="",
                 start=0, end=0, entity_count=None, block_type="prose") for number in range(40)]
IDS = [query.query_id for query in QUERIES]
HOW = Decoding(max_answer_tokens=8, batch_size=4)


def changed(query: Query, **fields: object) -> Query:
    return query.model_copy(update=fields)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> str:
    """Return an untrained model, whose output is arbitrary but always the same."""
    tokenizer = train_tokenizer([query.question for query in QUERIES], 300)
    output = tmp_path_factory.mktemp("models") / "base"
    model = new_llama(tokenizer, hidden_size=32, layers=1, heads=2, context=256, seed=1)
    model.save_pretrained(output)
    tokenizer.save_pretrained(output)
    return str(output)


@pytest.fixture(scope="module")
def expected(folder, tmp_path_factory) -> list[Answer]:
    return answer_from(folder, QUERIES, "base", HOW, tmp_path_factory.mktemp("one"))


def test_a_run_resumes_from_the_files_of_several_processes(folder, expected, tmp_path):
    answer_from(folder, QUERIES, "base", HOW, tmp_path)
    (partial,) = tmp_path.iterdir()
    partial.unlink()
    known = [row.query_id for batch in in_batches(QUERIES, HOW.batch_size)[:3] for row in batch]
    kept = [row.model_copy(update={"answer": "kept"}) for row in expected if row.query_id in known]
    write_records(partial.with_suffix(".0.jsonl"), kept[:8])
    write_records(partial.with_suffix(".1.jsonl"), kept[8:])
    rows = answer_from(folder, QUERIES, "base", HOW, tmp_path)
    assert [row.query_id for row in rows] == IDS
    assert [row for row in rows if row.query_id in known] == kept
    assert all(row == other for row, other in zip(rows, expected, strict=True)
               if row.query_id not in known)


def test_an_incomplete_line_is_answered_again(folder, expected, tmp_path):
    answer_from(folder, QUERIES, "base", HOW, tmp_path)
    (partial,) = tmp_path.iterdir()
    lines = partial.read_text().splitlines(keepends=True)
    partial.write_text("".join(lines[:6]) + lines[6][:20])
    assert answer_from(folder, QUERIES, "base", HOW, tmp_path) == expected
    assert set(partial.read_text().splitlines()) == {line.strip() for line in lines}


def test_two_processes_one_killed_and_one_process_for_the_rest_give_the_answers_of_one(
        folder, tmp_path, tmp_path_factory):
    how = Decoding(max_answer_tokens=120, batch_size=4)
    expected = answer_from(folder, QUERIES, "base", how, tmp_path_factory.mktemp("one"))
    with ThreadPoolExecutor() as pool:
        running = pool.submit(answer_from, folder, QUERIES, "base", how, tmp_path, processes=2)
        while not running.done() and not all(
                any(part.stat().st_size for part in tmp_path.glob(f".base-*.{rank}.jsonl"))
                for rank in range(2)):
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


def test_less_than_one_process_is_refused(folder, tmp_path):
    with pytest.raises(ValueError, match="processes is 0"):
        answer_from(folder, QUERIES, "base", HOW, tmp_path, processes=0)


def test_a_fingerprint_changes_with_the_model_the_queries_and_the_settings(folder, tmp_path):
    lists = [changed(query, structure="entity-list") for query in QUERIES]
    runs = [(folder, QUERIES, HOW), (folder, QUERIES[:-1], HOW), (str(tmp_path), QUERIES, HOW),
            (folder, QUERIES, Decoding()), (folder, lists, HOW)]
    assert len({fingerprint(*run) for run in runs}) == len(runs)
    assert fingerprint(*runs[0]) == fingerprint(*runs[0])
    ready, how = changed(QUERIES[0], context="Read."), Decoding(is_ready=True)
    first = fingerprint(folder, [ready], how)
    assert first == fingerprint(folder, [changed(ready, question="?")], how), "it is not sent"
    assert first != fingerprint(folder, [changed(ready, context="Read!")], how)
