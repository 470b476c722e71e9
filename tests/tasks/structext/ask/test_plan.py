"""ask.plan: prompts counted and paired, and no text both learned and tested."""

import json

import pytest

from lib.core.store import REPOSITORY
from lib.tasks.structext.ask.plan import (
    TRAINING_SUITES,
    asked_in,
    some_of,
    training_queries,
    training_samples,
)
from lib.tasks.structext.generate.samples import split, suite

OFFICIAL = REPOSITORY.parent / "shared" / "structext" / "official-2024-06.jsonl.gz"


def test_each_suite_is_asked_in_each_setting_and_real_test_has_the_structures_of_test():
    lists = list(asked_in(["test", "real-test"], ["base", "few-shot"], [1, 2], per_task=2))
    assert [(rows[0].suite, rows[0].setting, rows[0].n_shots, len(rows)) for rows in lists] == [
        (name, *setting, 2 * 2 * 29)
        for name in ("test", "real-test")
        for setting in (("base", 0), ("few-shot", 1), ("few-shot", 2))
    ]
    ids = [one.query_id for rows in lists for one in rows]
    assert len(set(ids)) == len(ids)
    pairs = zip(lists[0], lists[3], strict=True)
    assert all(real.sample.id.replace("real-", "") == one.sample.id for one, real in pairs)
    shown = {shot for rows in lists for one in rows for shot in one.demonstrations}
    assert not shown & {one.sample.id for rows in lists for one in rows}


@pytest.mark.parametrize(
    ("suites", "settings", "wrong"),
    [(["tset"], ["base"], "'tset'"), (["test"], ["cot"], "'cot'"), ([], ["base"], "'nothing'")],
)
def test_an_unknown_suite_or_setting_is_refused(suites, settings, wrong):
    with pytest.raises(ValueError, match=f"{wrong} cannot be asked: choose suites [(]test, "):
        list(asked_in(suites, settings, [1]))


def published(tmp_path):
    """Write four samples in the official form, with 0, 1, 1 and 2 demonstrations."""

    def row(letter):
        return {
            "Question": f"What is the depth of node {letter}? Answer an integer",
            "Answer": "1",
            "Reference": f"a->{letter}",
        }

    label = {"typename": "tree", "node_number": 1, "n_ary_ratio": 1}
    samples = [
        row("bcde"[n])
        | {
            "path": f"{n}.json",
            "Label": label,
            "RuleHint": "Count.",
            "examples": [row(shot) for shot in shots],
        }
        for n, shots in enumerate(["", "f", "g", "hi"])
    ]
    path = tmp_path / "official.jsonl"
    path.write_text("".join(json.dumps(sample) + "\n" for sample in samples))
    return path


def test_published_samples_are_asked_with_their_own_demonstrations(tmp_path):
    path = published(tmp_path)
    base, hint, one_shot, two_shots = asked_in(
        ["official"], ["base", "hint", "few-shot"], [1, 2], official=path
    )
    assert [len(rows) for rows in (base, hint, one_shot, two_shots)] == [4, 4, 2, 1]
    assert [one.demonstrations for one in one_shot] == [("1.json#1",), ("2.json#1",)]
    assert two_shots[0].demonstrations == ("3.json#1", "3.json#2")
    assert [f"<text>\na->{letter}\n</text>" in two_shots[0].prompt for letter in "bcdefghi"] == [
        letter in "ehi" for letter in "bcdefghi"
    ]
    assert "<hint>\nCount.\n</hint>" in hint[0].prompt
    assert base[0].query_id == "official:0.json:base"
    (few,) = asked_in(["official"], ["base"], [], per_task=1, official=path)
    assert len(few) == 1
    for settings, file in ((["simple-few-shot"], path), (["base"], "")):
        with pytest.raises(ValueError, match="the suite official needs the parameter official"):
            list(asked_in(["official"], settings, [1], official=file))


@pytest.mark.skipif(not OFFICIAL.exists(), reason=f"{OFFICIAL} is absent")
def test_the_official_files_of_june_2024_are_asked():
    counts = [
        len(rows)
        for rows in asked_in(["official"], ["base", "few-shot"], [1, 2, 3], official=OFFICIAL)
    ]
    assert counts == [348, 116, 116, 0]


def test_no_text_that_is_tested_is_learned():
    tested = some_of(suite("test"), 8)
    samples, n_left_out = training_samples(tested)
    assert not {one.reference for one in samples} & {one.reference for one in tested}
    drawn = sum(len(split(suite(name))[0]) for name in TRAINING_SUITES)
    assert n_left_out > 0 and len(samples) + n_left_out == drawn
    samples = some_of(samples, 4)
    learned = training_queries("tuned-few-shot", samples)
    assert [query.answer for query in learned] == [one.answer for one in samples]
    # two demonstrations and the place to answer
    assert all(query.context.count("<answer>") == 3 for query in learned)
    few = some_of(samples, 2)  # too few texts in a cell to show two others
    assert training_queries("tuned-few-shot", few) == []
    with pytest.raises(ValueError, match="'dapt' is not trained on StrucText-Eval"):
        training_queries("dapt", [])
