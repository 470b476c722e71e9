"""What the rules call right in StrucText-Eval: another layout is, another structure is not."""

import json
from collections.abc import Sequence
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lib.core.records import Answer
from lib.structext.analyze.verdicts import judged_by_structure, what_differs
from lib.structext.ask.prompts import Asked, prompts_for
from lib.structext.generate.samples import generate
from lib.structext.records import EXTRA_TASKS, TASKS


@cache
def asked_of(task: str, mode: str = "corrected") -> tuple[Asked, ...]:
    """Four questions on texts of depth 2 and width 2."""
    return tuple(prompts_for(list(generate(mode, [task], 2, 2, 4, 3)), "base"))


def replied(asked: Sequence[Asked], texts: list[str]) -> list[Answer]:
    return [Answer(query_id=one.query_id, arm="a", answer=text, n_tokens=1, truncated=False)
            for one, text in zip(asked, texts, strict=True)]


def verdicts_on(asked: tuple[Asked, ...], texts: list[str]) -> list[str]:
    return [row.verdict for row in judged_by_structure(asked, replied(asked, texts))]


@pytest.mark.parametrize("mode", ["corrected", "faithful"])
def test_the_reference_of_every_task_is_right(mode):
    samples = list(generate(mode, sorted(TASKS) + sorted(EXTRA_TASKS) * (mode == "corrected"), 2, 2, 2, 3))
    asked = prompts_for(samples, "base")
    assert verdicts_on(asked, [f"\n{one.sample.answer} " for one in asked]) == ["correct"] * len(asked)


@pytest.mark.parametrize("task", ["yaml.0", "yaml.4", "json.4", "latex.0", "latex.1", "markdown.1", "org.2"])
@pytest.mark.parametrize("moved", [lambda lines: lines[::-1], lambda lines: [*lines[1:], lines[0]]])
def test_lines_in_another_order_are_wrong_where_the_order_is_asked_for(task, moved):
    asked = tuple(one for one in asked_of(task) if len(set(one.sample.answer.split("\n"))) > 1)
    texts = ["\n".join(moved(one.sample.answer.split("\n"))) for one in asked]
    rows = judged_by_structure(asked, replied(asked, texts))
    assert rows and [row.reason for row in rows if row.verdict != "incorrect" or not row.reason] == []


@pytest.mark.parametrize(("question", "reference", "answer", "reason"), [
    ("Which path leads to it?", 'obj["subs"][1]["PY"]', 'obj["subs"][1]["PY"]["X"]', "line 1 is"),
    ("Which path leads to it?", 'obj["subs"][1]["PY"]', 'obj["subs"][1]["py"]', "upper and lower case differ"),
    ("Which tag has it?", "Q", "q", 'line 1 is "q", not "Q": upper and lower case differ'),
    ("What is the content? Copy it.", "<A>\nb\n</A>\n<C/>", "<C/>\n<A>\nb\n</A>", 'line 1 is "<C/>", not "<A>"'),
    ("What is the content? Copy it.", "yogurt\nlamb", "lamb\nyogurt", "the same in another order"),
    ("Which object? Copy it.", '- id: "a"\n    "B": "c"\n    subs: []', '- id: "a"\n    "B": "c"',
     'ends after 2 of 3 lines, before "subs: []"'),
    ("Which object? Copy it.", '- id: "a"\n    "B": "c"\n    subs: []', '- id: "a"\n    subs: []\n    "B": "c"',
     "the same in another order"),
    ("Which part? Copy it.", "# a\nzebra", "zebra\n# a", 'line 1 is "zebra", not "# a"'),
    ("Which part? Copy it.", "# a\nzebra", "# a\nzebra\n# b", 'further lines after the 2 of the reference, first "#'),
    ("Which texts? Write them in the order of the file.", "a\nb", "b\na", "the same in another order"),
    ("Which path leads to the node?", "a->b", "a->b->c", 'line 1 is "a->b->c", not "a->b"'),
    ("Is it broken?", "True", "True or False", 'line 1 is "True or False", not "True"'),
    ("Which object? Copy it.", 'subs:\n  id: "a"', 'subs:\nid: "a"', "its lines are set otherwise"),
    ("How many?", "12", " \n", "empty answer"),
])
def test_another_structure_is_wrong_and_the_reason_says_what_differs(question, reference, answer, reason):
    assert reason in what_differs(question, reference, answer)
    assert what_differs(question, reference, reference) == ""


@pytest.mark.parametrize(("question", "reference", "answer"), [
    ("Which path leads to the node?", "a->b->c", "a -> b -> c"),
    ("Which path leads to it?", 'obj["subs"][1]["PY"]', "obj['subs'][1]['PY']"),
    ("Which texts are bold? Give them as they stand.", "a\nb", "b\na"),  # nothing says in which order
    ("Which texts? Write them in the order of the file.", "a\nb", "- a\n- b"),
    ("Which object? Copy it.", '- id: "a"\n    "B": "c"\n    subs: []', "```yaml\nid: a\nB: c\nsubs: []\n```"),
])
def test_the_right_answer_in_another_layout_is_right(question, reference, answer):
    assert what_differs(question, reference, answer) == ""


@settings(max_examples=30, deadline=None)
@given(st.sampled_from(["json.0", "json.4"]), st.integers(0, 3), st.integers(0, 6))
def test_json_is_right_at_any_indentation_and_wrong_without_its_last_line(task, number, indent):
    one = asked_of(task)[number]
    objects = [json.loads(part) for part in one.sample.answer.split("\n\n")]
    again = "\n\n".join(json.dumps(part, indent=indent) for part in objects)
    assert what_differs(one.sample.question, one.sample.answer, again) == ""
    assert what_differs(one.sample.question, one.sample.answer, again.rpartition("\n")[0] or "{")


def test_every_question_has_its_verdict_in_order_and_no_row_is_no_error_of_the_model():
    asked = asked_of("tree.2")
    texts = [asked[0].sample.answer.replace("->", " -> "), "", "x"]
    rows = judged_by_structure(asked, replied(asked[:3], texts)[::-1])
    assert [(row.query_id, row.judge, row.arm) for row in rows] == [(one.query_id, "rules", "a") for one in asked]
    assert [row.verdict for row in rows] == ["correct", "incorrect", "incorrect", "unscored"]
    assert rows[1].reason == "empty answer" and rows[3].reason.startswith("no answer row: run 04_infer.ipynb")
    with pytest.raises(ValueError, match="is not in queries.jsonl"):
        judged_by_structure(asked[1:], replied(asked, ["x"] * 4))
