"""The official samples read, and every answer that a literal reading does not give put down to a documented fault."""

import gzip
import json

import pytest

from lib.core.paths import REPOSITORY, MissingInput
from lib.structext.generate.samples import generate
from lib.structext.records import TASKS, Sample
from lib.structext.solve.official import Malformed, load, load_file
from lib.structext.solve.official_faults import FAULTS, UNEXPLAINED, by_fault, disagreements

OFFICIAL = REPOSITORY.parent / "shared" / "structext" / "official-2024-06.jsonl.gz"
ROW = {"Question": "\nWhat is the depth of node b? Answer an integer, root is of depth 0. ", "Answer": " 1 ",
       "Reference": "a->b", "RuleHint": "Count.", "Label": {"typename": "tree", "node_number": 1, "n_ary_ratio": 1},
       "examples": [{"Question": "What is the depth of node c? Answer an integer", "Answer": "1", "Reference": "b->c"}]}
needs_official = pytest.mark.skipif(not OFFICIAL.exists(), reason=f"{OFFICIAL} is absent")


@needs_official
def test_all_official_samples_and_demonstrations_are_read():
    samples = load(OFFICIAL, with_demonstrations=True)
    assert len(load(OFFICIAL)) == 348 and len(samples) == 696
    assert {sample.task for sample in samples} == set(TASKS)
    with gzip.open(OFFICIAL, "rt", encoding="utf-8") as lines:
        named = {row["path"]: f"{row['language']}.{row['task_index']}" for row in map(json.loads, lines)}
    assert named == {sample.id: sample.task for sample in samples if "#" not in sample.id}


@needs_official
def test_the_solver_disagrees_with_official_answers_by_documented_faults_only():
    table = by_fault(load(OFFICIAL, with_demonstrations=True))
    assert table.groupby("fault").n.sum().to_dict() == {"": 465, "2": 109, "4": 95, "1": 12, "3": 9, "1+3": 6}
    assert table.n.sum() == 696


def test_faithful_samples_have_those_faults_and_no_other():
    samples = [sample for depth, n in ((1, 8), (2, 6), (4, 1)) for sample in generate("faithful", None, depth, 1, n, 5)]
    assert set(disagreements(samples).fault) == set(FAULTS)


def sample(task: str, question: str, reference: str, answer: str, depth: int = 1) -> Sample:
    return Sample(id=task, language=task.split(".")[0], task=task, depth=depth, width=1, question=question,
                  reference=reference, answer=answer, hint="")


@pytest.mark.parametrize(("row", "fault"), [
    (sample("org.0", "Extract all bold texts.", "*b* *a*", "a\nb"), "2"),
    (sample("org.0", "Extract all bold texts.", "*b* *a*", "a\nc"), UNEXPLAINED),
    (sample("org.1", "What is the content of 2th section? The", "* a\n* b\n** c", "** c", 2), UNEXPLAINED),
    (sample("org.1", "What is the content of 2th section? The", "* a\n* b\n** c", "** c", 4), "3"),
    (sample("org.1", "What is the content of 3th section? The", "* a\n* b\n** c", "** c", 4), UNEXPLAINED),
    (sample("json.0", "What is the object with id b? The", '{"id":"a","subs":[\n {\n "id":"b"\n }]}', '{\n"id":"b"\n}'),
     "4"),
    (sample("json.0", "What is the object with id b? The", '{"id":"a","subs":[\n {\n "id":"b"\n }]}', '{\n"id":"c"\n}'),
     UNEXPLAINED),
    (sample("tree.1", "What is the depth of node b? An", "a->b", "2"), UNEXPLAINED),
    (sample("tree.1", "What is the depth of node c? An", "a->b", "2"), UNEXPLAINED),
])
def test_a_fault_explains_only_the_answer_that_it_gives(row, fault):
    assert disagreements([row]).fault.tolist() == [fault]


def test_a_folder_of_official_files_is_read(tmp_path):
    (tmp_path / "tree" / "depth").mkdir(parents=True)
    (tmp_path / "tree" / "depth" / "1.json").write_text(json.dumps(ROW))
    (tmp_path / "some.jsonl").write_text(json.dumps(ROW) + "\n\n" + json.dumps({**ROW, "path": "x/2.json"}) + "\n")
    (tmp_path / "list.json.gz").write_bytes(gzip.compress(json.dumps([ROW]).encode()))
    assert [row.id for row in load(tmp_path, with_demonstrations=True)] == [
        "list.json.gz:1", "list.json.gz:1#1", "some.jsonl:1", "some.jsonl:1#1", "x/2.json", "x/2.json#1",
        "tree/depth/1.json", "tree/depth/1.json#1"]
    first, second = load(tmp_path / "tree" / "depth" / "1.json", with_demonstrations=True)
    assert (first.task, first.answer, first.hint, first.question[:4]) == ("tree.1", "1", "Count.", "What")
    assert (second.id, second.reference, second.depth) == ("1.json#1", "b->c", 1)
    assert load_file(tmp_path, tmp_path / "out" / "samples.jsonl") == 4


@pytest.mark.parametrize(("content", "message"), [
    ("{", "no JSON"),
    (json.dumps({**ROW, "Answer": "\ud800"}), "surrogates not allowed"),
    ("[1]", "item 1: not a sample"),
    (json.dumps({**ROW, "Label": {"typename": "tree"}}), "Label needs"),
    (json.dumps({**ROW, "Answer": 1}), "no text in Answer"),
    (json.dumps({**ROW, "Question": "Why?"}), "no known question about tree"),
    (json.dumps({**ROW, "Label": {**ROW["Label"], "typename": "log"}}), "no known question about log"),
    (json.dumps({**ROW, "examples": [{"Question": "Q"}]}), "example 1: no text in Answer, Reference"),
    (json.dumps([{**ROW, "path": "a"}, {**ROW, "path": "a"}]), "two samples are named 'a'"),
])
def test_a_malformed_file_is_named_with_its_fault(tmp_path, content, message):
    (tmp_path / "bad.json").write_text(content)
    with pytest.raises(Malformed, match=message):
        load(tmp_path / "bad.json")


def test_a_missing_or_empty_place_is_named(tmp_path):
    with pytest.raises(MissingInput, match="nowhere"):
        load(tmp_path / "nowhere")
    with pytest.raises(MissingInput, match="has no file"):
        load(tmp_path)
    (tmp_path / "a.json.gz").write_bytes(b"no gzip")
    with pytest.raises(Malformed, match="cannot be read"):
        load(tmp_path)
