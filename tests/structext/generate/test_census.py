"""lib.structext.generate.census: rates by hand, and what a blind reply to a suite can reach."""

import pytest

from lib.structext.generate.census import frequent_answers, n_repeated, v1_sizes
from lib.structext.generate.samples import SUITES, generate
from lib.structext.records import LANGUAGES


def test_the_commonest_answer_is_counted_by_task_and_depth():
    first, second, *others = generate(tasks=["tree.1"], per_task=8)
    rows = [first.model_copy(update={"answer": answer}) for answer in ("1", "0", "1", "1")]
    rows += [second.model_copy(update={"depth": 2, "answer": "2"})]
    table = frequent_answers(rows)
    assert table.to_dict("records") == [
        {"task": "tree.1", "depth": 1, "n": 4, "answers": 2, "commonest": "1", "share": 0.75},
        {"task": "tree.1", "depth": 2, "n": 1, "answers": 1, "commonest": "2", "share": 1.0}]
    assert n_repeated([first, second, first, *others, second]) == 2


def test_faithful_suites_repeat_texts_and_corrected_ones_do_not():
    per_task = SUITES["test"][0][2]
    faithful, corrected = (list(generate(mode, ["tree"], per_task=per_task))
                           for mode in ("faithful", "corrected"))
    assert len(corrected) == len(faithful) and n_repeated(corrected) == 0
    assert n_repeated(faithful) == 41 + 27 + 33  # of 64 per task: there are 26 such trees
    train = list(generate("corrected", ["tree.0"], per_task=SUITES["v1-simple"][0][2]))
    assert n_repeated(train) == 0


def test_where_there_are_no_more_texts_it_is_said():
    with pytest.raises(ValueError, match="tree at depth 1, width 1 gave 1,... different texts in"):
        list(generate("corrected", ["tree.0"], per_task=2029))


@pytest.mark.parametrize(("task", "depth", "faithful", "corrected"), [
    ("tree.0", 1, 1.0, 0.34), ("tree.0", 2, 1.0, 0.34), ("tree.1", 2, 0.45, 0.36),
    ("csv.3", 2, 0.8, 0.52), ("csv.2", 2, 0.45, 0.40), ("xml.0", 1, 0.45, 0.1),
    ("xml.1", 1, 0.45, 0.1), ("log.1", 1, 0.55, 0.55), ("json.2", 1, 0.9, 0.5)])
def test_corrected_labels_are_balanced(task, depth, faithful, corrected):
    """No answer is as frequent as `faithful` says of the official way of drawing."""
    shares = {mode: frequent_answers(list(generate(mode, [task], depth, per_task=120))).share[0]
              for mode in ("faithful", "corrected")}
    assert shares["faithful"] >= faithful and shares["corrected"] <= corrected + 0.02


def test_v1_suites_have_the_sizes_of_v1():
    table = v1_sizes()
    assert len(table) == 2 * len(LANGUAGES)
    json = table[table.language == "json"]
    assert json.v1.tolist() == [116, 787] and table.v1.notna().sum() == 2
    assert json.residual_percent.abs().max() < 8  # 122 and 733 characters
    assert table.residual_percent.abs().max() < 15
