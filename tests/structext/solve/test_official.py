"""lib.structext.solve.official: files are read, and each answer is literal or has a known fault."""

import gzip
import json
from collections import Counter

import pytest

from lib.core.errors import BadInput
from lib.core.paths import REPOSITORY
from lib.structext.generate.samples import generate
from lib.structext.records import TASKS, Sample
from lib.structext.solve.official import Malformed, load, load_file
from tests.structext.solve.official_faults import FAULTS, UNEXPLAINED, fault_of

OFFICIAL = REPOSITORY.parent / "shared" / "structext" / "official-2024-06.jsonl.gz"
LABEL = {"typename": "tree", "node_number": 1, "n_ary_ratio": 1}
ROW = {"Question": "\nWhat is the depth of node b? Answer an integer, root is of depth 0. ",
       "Answer": " 1 ", "Reference": "a->b", "RuleHint": "Count.", "Label": LABEL,
       "examples": [{"Question": "What is the depth of node c? Answer an integer", "Answer": "1",
                     "Reference": "b->c"}]}
needs_official = pytest.mark.skipif(not OFFICIAL.exists(), reason=f"{OFFICIAL} is absent")


@needs_official
def test_all_official_samples_and_demonstrations_are_read():
    samples = load(OFFICIAL, with_demonstrations=True)
    assert len(load(OFFICIAL)) == 348 and len(samples) == 696
    assert {sample.task for sample in samples} == set(TASKS)
    with gzip.open(OFFICIAL, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    assert {row["path"]: f"{row['language']}.{row['task_index']}" for row in rows} == {
        sample.id: sample.task for sample in samples if "#" not in sample.id}


@needs_official
def test_the_solver_disagrees_with_official_answers_by_documented_faults_only():
    found = Counter(map(fault_of, load(OFFICIAL, with_demonstrations=True)))
    assert found == {"": 465, "2": 109, "4": 95, "1": 12, "3": 9, "1+3": 6}


def test_faithful_samples_have_those_faults_and_no_other():
    samples = [sample for depth, n in ((1, 8), (2, 6), (4, 1))
               for sample in generate("faithful", None, depth, 1, n, 5)]
    assert set(map(fault_of, samples)) == {"", *FAULTS}


BOLD, SECTION = "Extract all bold texts.", "What is the content of {}th section? The"
OBJECT, DEPTH = "What is the object with id b? The", "What is the depth of node {}? An"
HEADINGS, NESTED = "* a\n* b\n** c", '{"id":"a","subs":[\n {\n "id":"b"\n }]}'


@pytest.mark.parametrize(("task", "question", "reference", "answer", "depth", "fault"), [
    ("org.0", BOLD, "*b* *a*", "b\na", 1, ""),
    ("org.0", BOLD, "*b* *a*", "a\nb", 1, "2"),
    ("org.0", BOLD, "*b* *a*", "a\nc", 1, UNEXPLAINED),
    ("org.1", SECTION.format(2), HEADINGS, "** c", 2, UNEXPLAINED),
    ("org.1", SECTION.format(2), HEADINGS, "** c", 4, "3"),
    ("org.1", SECTION.format(3), HEADINGS, "** c", 4, UNEXPLAINED),
    ("json.0", OBJECT, NESTED, '{\n"id":"b"\n}', 1, "4"),
    ("json.0", OBJECT, NESTED, '{\n"id":"c"\n}', 1, UNEXPLAINED),
    ("tree.1", DEPTH.format("b"), "a->b", "2", 1, UNEXPLAINED),
    ("tree.1", DEPTH.format("c"), "a->b", "2", 1, UNEXPLAINED),
])
def test_a_fault_explains_only_the_answer_that_it_gives(task, question, reference, answer, depth,
                                                        fault):
    assert fault_of(Sample(id=task, language=task.split(".")[0], task=task, depth=depth, width=1,
                           question=question, reference=reference, answer=answer, hint="")) == fault


def test_a_folder_of_official_files_is_read(tmp_path):
    (tmp_path / "tree" / "depth").mkdir(parents=True)
    (tmp_path / "tree" / "depth" / "1.json").write_text(json.dumps(ROW))
    lines = [json.dumps(ROW), "", json.dumps({**ROW, "path": "x/2.json"}), ""]
    (tmp_path / "some.jsonl").write_text("\n".join(lines))
    (tmp_path / "list.json.gz").write_bytes(gzip.compress(json.dumps([ROW]).encode()))
    assert [row.id for row in load(tmp_path, with_demonstrations=True)] == [
        "list.json.gz:1", "list.json.gz:1#1", "some.jsonl:1", "some.jsonl:1#1", "x/2.json",
        "x/2.json#1", "tree/depth/1.json", "tree/depth/1.json#1"]
    first, second = load(tmp_path / "tree" / "depth" / "1.json", with_demonstrations=True)
    assert (first.task, first.answer, first.hint) == ("tree.1", "1", "Count.")
    assert first.question.startswith("What")
    assert (second.id, second.reference, second.depth) == ("1.json#1", "b->c", 1)
    assert load_file(tmp_path, tmp_path / "out" / "samples.jsonl") == 4


@pytest.mark.parametrize(("content", "message"), [
    ("{", "not JSON"),
    (json.dumps({**ROW, "Answer": "\ud800"}), "surrogates not allowed"),
    ("[1]", "item 1: not a sample"),
    (json.dumps({**ROW, "Label": {"typename": "tree"}}), "Label needs"),
    (json.dumps({**ROW, "Answer": 1}), "no text in Answer"),
    (json.dumps({**ROW, "Question": "Why?"}), "no known question about tree"),
    (json.dumps({**ROW, "Label": LABEL | {"typename": "log"}}), "no known question about log"),
    (json.dumps({**ROW, "examples": [{"Question": "Q"}]}),
     "example 1: no text in Answer, Reference"),
    (json.dumps([{**ROW, "path": "a"}, {**ROW, "path": "a"}]), "two samples are named 'a'"),
])
def test_a_malformed_file_is_named_with_its_fault(tmp_path, content, message):
    (tmp_path / "bad.json").write_text(content)
    with pytest.raises(Malformed, match=message):
        load(tmp_path / "bad.json")


def test_a_missing_or_empty_place_is_named(tmp_path):
    with pytest.raises(BadInput, match="nowhere"):
        load(tmp_path / "nowhere")
    with pytest.raises(BadInput, match="has no file"):
        load(tmp_path)
    (tmp_path / "a.json.gz").write_bytes(b"no gzip")
    with pytest.raises(Malformed, match="cannot be read"):
        load(tmp_path)
