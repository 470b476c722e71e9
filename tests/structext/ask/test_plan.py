"""lib.structext.ask.plan: prompts counted and paired, and no text both learned and tested."""

import pytest

from lib.structext.ask.plan import Own, asked_in, some_of, training_queries
from lib.structext.generate.samples import suite


def test_each_suite_is_asked_in_each_setting_and_real_test_has_the_structures_of_test():
    lists = list(asked_in(["test", "real-test"], ["base", "few-shot"], [1, 2], per_task=2))
    assert [(rows[0].suite, rows[0].setting, rows[0].n_shots, len(rows)) for rows in lists] == [
        (name, *setting, 2 * 2 * 29) for name in ("test", "real-test")
        for setting in (("base", 0), ("few-shot", 1), ("few-shot", 2))]
    ids = [one.query_id for rows in lists for one in rows]
    assert len(set(ids)) == len(ids)
    pairs = zip(lists[0], lists[3], strict=True)
    assert all(real.sample.id.replace("real-", "") == one.sample.id for one, real in pairs)
    shown = {shot for rows in lists for one in rows for shot in one.demonstrations}
    assert not shown & {one.sample.id for rows in lists for one in rows}


def test_a_custom_suite_has_its_languages_and_dials():
    rows, shots = asked_in(["own"], ["base", "few-shot"], [1], per_task=3,
                           own=Own(["toml", "log"], 2, 2, 3))
    assert {one.sample.language for one in rows} == {"toml", "log"}
    assert len(rows) == 3 * 8 == len(shots)
    assert {one.sample.cell[1:] for one in rows} == {(2, 2)}
    assert all("-n3-" in one.sample.id and "-n3-" in one.demonstrations[0] for one in shots)


def test_what_a_model_named_replaces_real_test_and_nothing_is_asked_instead():
    named = some_of(suite("real-test"), 1)[:4]
    (rows,) = asked_in(["real-test"], ["base"], [], rewritten=named)
    assert [one.sample for one in rows] == named
    with pytest.raises(ValueError, match=r"no sample: .*rewrite_rejected\.jsonl"):
        list(asked_in(["real-test"], ["base"], [], rewritten=[]))


@pytest.mark.parametrize(("suites", "settings", "wrong"), [
    (["tset"], ["base"], "'tset'"), (["test"], ["cot"], "'cot'"), ([], ["base"], "'nothing'")])
def test_an_unknown_suite_or_setting_is_refused(suites, settings, wrong):
    with pytest.raises(ValueError, match=f"{wrong} cannot be asked: choose suites [(]test, "):
        list(asked_in(suites, settings, [1]))


def test_no_text_that_is_tested_is_learned():
    tested = some_of(suite("test"), 8)
    learned, n_left_out = training_queries("tuned-few-shot", tested, per_task=4)
    texts = {f"\n{sample.reference}\n</text>" for sample in tested}
    assert n_left_out > 0 and len(learned) + n_left_out == 4 * 4 * 29
    last = [query.context.split("<text>")[-1] for query in learned]
    assert not [text for text in last if text.startswith(tuple(texts))]
    # two demonstrations and the place to answer
    assert all(query.context.count("<answer>") == 3 for query in learned)
    with pytest.raises(ValueError, match="'dapt' is not trained on StrucText-Eval"):
        training_queries("dapt", [])
