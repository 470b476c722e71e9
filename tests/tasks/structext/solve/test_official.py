"""solve.official: files are read, and each answer is literal or has a known fault."""

import gzip
import json
from collections import Counter

import pytest

from lib.core.errors import BadInput
from lib.core.store import REPOSITORY
from lib.tasks.structext.generate.samples import generate
from lib.tasks.structext.records import TASKS, Sample
from lib.tasks.structext.solve.official import load
from tests.tasks.structext.solve.official_faults import FAULTS, fault_of

OFFICIAL = REPOSITORY.parent / "shared" / "structext" / "official-2024-06.jsonl.gz"
LABEL = {"typename": "tree", "node_number": 1, "n_ary_ratio": 1}
ROW = {
    "Question": "\nWhat is the depth of node b? Answer an integer, root is of depth 0. ",
    "Answer": " 1 ",
    "Reference": "a->b",
    "RuleHint": "Count.",
    "Label": LABEL,
    "examples": [
        {
            "Question": "What is the depth of node c? Answer an integer",
            "Answer": "1",
            "Reference": "b->c",
        }
    ],
}
needs_official = pytest.mark.skipif(not OFFICIAL.exists(), reason=f"{OFFICIAL} is absent")


def read(path) -> list[Sample]:
    return [one for first, others in load(path) for one in (first, *others)]


@needs_official
def test_all_official_samples_and_demonstrations_are_read():
    samples = read(OFFICIAL)
    assert len(load(OFFICIAL)) == 348 and len(samples) == 696
    assert {sample.task for sample in samples} == set(TASKS)
    with gzip.open(OFFICIAL, "rt", encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    assert {row["path"]: f"{row['language']}.{row['task_index']}" for row in rows} == {
        sample.id: sample.task for sample in samples if "#" not in sample.id
    }


@needs_official
def test_the_solver_disagrees_with_official_answers_by_documented_faults_only():
    found = Counter(map(fault_of, read(OFFICIAL)))
    assert found == {"": 465, "2": 109, "4": 95, "1": 12, "3": 9, "1+3": 6}


def test_faithful_samples_have_those_faults_and_no_other():
    samples = [
        sample
        for depth, n in ((1, 8), (2, 6), (4, 1))
        for sample in generate("faithful", None, depth, 1, n, 5)
    ]
    assert set(map(fault_of, samples)) == {"", *FAULTS}


def test_a_folder_of_official_files_is_read(tmp_path):
    (tmp_path / "tree" / "depth").mkdir(parents=True)
    (tmp_path / "tree" / "depth" / "1.json").write_text(json.dumps(ROW))
    lines = [json.dumps(ROW), "", json.dumps({**ROW, "path": "x/2.json"}), ""]
    (tmp_path / "some.jsonl").write_text("\n".join(lines))
    (tmp_path / "list.json.gz").write_bytes(gzip.compress(json.dumps([ROW]).encode()))
    assert [row.id for row in read(tmp_path)] == [
        "list.json.gz:1",
        "list.json.gz:1#1",
        "some.jsonl:1",
        "some.jsonl:1#1",
        "x/2.json",
        "x/2.json#1",
        "tree/depth/1.json",
        "tree/depth/1.json#1",
    ]
    first, second = read(tmp_path / "tree" / "depth" / "1.json")
    assert (first.task, first.answer, first.hint) == ("tree.1", "1", "Count.")
    assert first.question.startswith("What")
    assert (second.id, second.reference, second.depth) == ("1.json#1", "b->c", 1)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "not JSON"),
        (json.dumps({**ROW, "Answer": 1}), "bad.json, bad.json: not a sample"),
        (json.dumps([ROW, {**ROW, "Label": {"typename": "tree"}}]), "bad.json:2: .*'node_number'"),
        (json.dumps({**ROW, "Question": "Why?"}), "no known question about tree"),
        (json.dumps({**ROW, "examples": [{"Question": "Q"}]}), "no known question about tree"),
        (json.dumps([{**ROW, "path": "a"}, {**ROW, "path": "a"}]), "two samples are named 'a'"),
    ],
)
def test_a_malformed_file_is_named_with_its_fault(tmp_path, content, message):
    (tmp_path / "bad.json").write_text(content)
    with pytest.raises(BadInput, match=message):
        load(tmp_path / "bad.json")
