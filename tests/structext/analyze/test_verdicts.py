"""lib.structext.analyze.verdicts: another layout is correct, another structure is not."""

import json
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.core.records import Verdict
from lib.structext.analyze.verdicts import judged_by_structure, what_differs
from lib.structext.ask.prompts import Prompted, prompts_for
from lib.structext.generate.samples import generate
from lib.structext.records import EXTRA_TASKS, TASKS
from tests.structext.replied import answered


@cache
def asked_of(task: str) -> tuple[Prompted, ...]:
    """Return four questions on texts of depth 2 and width 2."""
    return tuple(prompts_for(list(generate("corrected", [task], 2, 2, 4, 3)), "base"))


def judged(asked: list[Prompted], texts: list[str]) -> list[Verdict]:
    return judged_by_structure(asked, [answered("a", one.query_id, text)
                                       for one, text in zip(asked, texts, strict=True)])


@pytest.mark.parametrize("mode", ["corrected", "faithful"])
def test_the_reference_of_every_task_is_correct(mode):
    tasks = [*TASKS, *(EXTRA_TASKS if mode == "corrected" else ())]
    asked = prompts_for(list(generate(mode, tasks, 2, 2, 2, 3)), "base")
    rows = judged(asked, [f"\n{one.sample.answer} " for one in asked])
    assert {row.verdict for row in rows} == {"correct"} and len(rows) == len(asked)


@pytest.mark.parametrize("task", ["yaml.0", "yaml.4", "json.4", "latex.0", "latex.1", "markdown.1",
                                  "org.2"])
@pytest.mark.parametrize("moved", [lambda lines: lines[::-1],
                                   lambda lines: [*lines[1:], lines[0]]])
def test_lines_in_another_order_are_wrong_where_the_order_is_asked_for(task, moved):
    asked = [one for one in asked_of(task) if len(set(one.sample.answer.split("\n"))) > 1]
    rows = judged(asked, ["\n".join(moved(one.sample.answer.split("\n"))) for one in asked])
    assert rows and all(row.verdict == "incorrect" and row.reason for row in rows)


PATH, OBJECT = 'obj["subs"][1]["PY"]', '- id: "a"\n    "B": "c"\n    subs: []'


@pytest.mark.parametrize(("question", "reference", "answer", "reason"), [
    ("Which path leads to it?", PATH, f'{PATH}["X"]', "line 1 is"),
    ("Which path leads to it?", PATH, 'obj["subs"][1]["py"]', "upper and lower case differ"),
    ("Which tag has it?", "Q", "q", 'line 1 is "q", not "Q": upper and lower case differ'),
    ("What is the content? Copy it.", "<A>\nb\n</A>\n<C/>", "<C/>\n<A>\nb\n</A>",
     'line 1 is "<C/>", not "<A>"'),
    ("What is the content? Copy it.", "yogurt\nlamb", "lamb\nyogurt", "another order"),
    ("Which object? Copy it.", OBJECT, '- id: "a"\n    "B": "c"',
     'ends after 2 of 3 lines, before "subs: []"'),
    ("Which object? Copy it.", OBJECT, '- id: "a"\n    subs: []\n    "B": "c"', "another order"),
    ("Which part? Copy it.", "# a\nzebra", "zebra\n# a", 'line 1 is "zebra", not "# a"'),
    ("Which part? Copy it.", "# a\nzebra", "# a\nzebra\n# b",
     'after the 2 of the reference, first "#'),
    ("Which texts? Write them in the order of the file.", "a\nb", "b\na", "another order"),
    ("Which path leads to the node?", "a->b", "a->b->c", 'line 1 is "a->b->c", not "a->b"'),
    ("Is it broken?", "True", "True or False", 'line 1 is "True or False", not "True"'),
    ("Which object? Copy it.", 'subs:\n  id: "a"', 'subs:\nid: "a"', "the structure differs"),
    ("How many?", "12", " \n", "empty answer"),
])
def test_another_structure_is_wrong_and_the_reason_says_what_differs(question, reference, answer,
                                                                     reason):
    assert reason in what_differs(question, reference, answer)
    assert what_differs(question, reference, reference) == ""


@pytest.mark.parametrize(("question", "reference", "answer"), [
    ("Which path leads to the node?", "a->b->c", "a -> b -> c"),
    ("Which path leads to it?", PATH, "obj['subs'][1]['PY']"),
    ("Which texts are bold? Give them as they stand.", "a\nb", "b\na"),  # in no particular order
    ("Which texts? Write them in the order of the file.", "a\nb", "- a\n- b"),
    ("Which object? Copy it.", OBJECT, "```yaml\nid: a\nB: c\nsubs: []\n```"),
])
def test_the_correct_answer_in_another_layout_is_correct(question, reference, answer):
    assert what_differs(question, reference, answer) == ""


@given(st.sampled_from(["json.0", "json.4"]), st.integers(0, 3), st.integers(0, 6))
def test_json_is_correct_at_any_indentation_and_wrong_without_its_last_line(task, number, indent):
    sample = asked_of(task)[number].sample
    objects = [json.loads(part) for part in sample.answer.split("\n\n")]
    again = "\n\n".join(json.dumps(part, indent=indent) for part in objects)
    assert what_differs(sample.question, sample.answer, again) == ""
    assert what_differs(sample.question, sample.answer, again.rpartition("\n")[0] or "{")


def test_every_question_has_its_verdict_in_order_and_a_missing_row_is_unscored():
    asked = asked_of("tree.2")
    texts = [asked[0].sample.answer.replace("->", " -> "), "", "x"]
    answers = [answered("a", one.query_id, text)
               for one, text in zip(asked[:3], texts, strict=True)]
    rows = judged_by_structure(asked, answers[::-1])
    assert [(row.query_id, row.judge, row.arm) for row in rows] == [
        (one.query_id, "rules", "a") for one in asked]
    assert [row.verdict for row in rows] == ["correct", "incorrect", "incorrect", "unscored"]
    assert rows[1].reason == "empty answer" and rows[3].reason.startswith("no answer row: run")
    with pytest.raises(ValueError, match="is not in queries.jsonl"):
        judged_by_structure(asked[1:], answers)
