"""analyze: each question in its denominator, clusters of texts, constants, and golden tables."""

from pathlib import Path
from types import SimpleNamespace
from zlib import crc32

import pandas as pd
import pytest

from lib.analyze.agreement import Sheet
from lib.core.store import BadInput, artifact_path, data_path, save, write_json, write_text
from lib.structext import analyze, papers
from lib.structext.analyze import ANSWERED, JUDGE, LEFT_OUT
from lib.structext.prompts import as_queries
from lib.structext.score import NO_ROW
from lib.train.trainer import curve_of
from tests.structext.replied import ask, by_number, of_arms, replies_of, right, silent, wrong

GOLDEN = Path(__file__).with_name("tables.csv")


def nothing(one) -> None:
    return None


def mixed(one) -> str | None:
    return (right, wrong, silent, right, nothing)[crc32(one.query_id.encode()) % 5](one)


def tables() -> str:
    """Every table of a run with answers of all kinds, as text."""
    asked = [*ask(), *ask("real-test", is_real=True), *ask(setting="self-cot"), *ask("official")]
    asked += [*ask("test-hard", depth=2, width=2), *ask(setting="few-shot", n_shots=2)]
    left_out = [*ask("test-hard"), *ask(setting="few-shot", n_shots=1)]
    arms = {"base": mixed, "tuned": right}
    rows = of_arms(asked, left_out, True, **arms)
    at = rows[rows.prompt == "base"]
    found = {
        "prompts": analyze.summary(rows, ["suite", "prompt", "arm"]),
        "languages": analyze.summary(analyze.with_all(at), ["suite", "language", "arm"]),
        "heat": analyze.heat(at),
        "floor": analyze.by_depth(at),
        "above_floor": analyze.against(rows, analyze.BLIND, ["suite", "language", "arm"]),
        "shots": analyze.shots(rows),
        "real": analyze.real_and_test(at),
        "official": analyze.both_scores(rows),
        "agreement": papers.paper_agreement(),
    }
    text = [
        f"# {name}\n{table.to_csv(index=False, float_format='%.6g')}"
        for name, table in found.items()
    ]
    return "".join(text)


def test_the_tables_of_a_run_do_not_change():
    assert tables() == GOLDEN.read_text(encoding="utf-8")


def test_every_question_of_every_arm_keeps_its_row_and_says_why_it_has_no_answer():
    asked, left_out = ask(), ask(depth=2)
    reader = by_number(right, wrong, silent, nothing, lambda one: "x" * 300, right)
    rows = of_arms(asked, left_out, reader=reader, silent=silent)
    own = rows[rows.arm == "reader"]
    assert list(own.query_id) == [one.query_id for one in (*asked, *left_out)]
    states = [ANSWERED, ANSWERED, "there is no reply", NO_ROW, ANSWERED, ANSWERED]
    assert list(own.state) == [*states, *[LEFT_OUT] * 6] and len(rows) == 24
    correct = [True, *[False] * 4, True, *[False] * 6]
    assert list(own.rouge_score > 0.75) == list(own.exact == 1) == correct
    # a missing row is unscored, left out is wrong
    assert own[JUDGE].isna().sum() == 1 and own[JUDGE].sum() == 2
    assert list(own.truncated) == [False] * 4 + [True] + [False] * 7
    (row,) = analyze.summary(own, ["suite", "arm"]).itertuples()
    assert (row.n, row.left_out, row.failed, row.no_answer, row.judged) == (12, 6, 1, 1, 11)
    assert (row.rouge_score, row.rouge_asked, row.judge) == pytest.approx((1 / 6, 1 / 3, 2 / 11))
    text = analyze.shown(analyze.summary(own, ["arm"]))
    assert text["judge [95%]"][0].startswith("18.2 [") and "judge_low" not in text


def test_replies_after_steps_of_training_are_scored_beside_the_loss(tmp_path, monkeypatch):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    asked = [*ask(), *ask(setting="procedure")]
    manifest = artifact_path("s", "model", arm="tuned-hint") / "training.json"
    write_json(manifest, {"steps": {"3": 1, "6": 2}})
    logs = '{"loss": 2.5, "step": 3}\n{"step": 6, "train_loss": 2}\n'
    write_text(data_path("s", "logs", "tuned-hint", "log.jsonl"), logs)
    for epoch, reply in enumerate((wrong, by_number(wrong, right)), 1):
        for rows in replies_of(asked[6:], **{"tuned-hint": reply}).values():
            save("s", "replies", rows, arm="tuned-hint", epoch=epoch)
    table = analyze.steps_of("s", asked, ["base", "tuned-hint"]).set_index(["panel", "step"])
    assert table["mean"]["csv"].tolist() == [0, 0.5] and table["mean"]["loss"].tolist() == [2.5]
    assert table["mean"][["tree", "Node.Depth", "PathWalk"]].tolist() == [0, 1] * 3
    assert analyze.steps_of("s", asked, ["base"]).empty
    save("s", "queries", as_queries(asked[:6]))
    save("s", "training", as_queries(asked[6:]), arm="tuned-hint")
    length = SimpleNamespace(updates_an_epoch=3, updates=6)
    with pytest.raises(BadInput, match="tuned-hint learns prompts of procedure, of which the stu"):
        curve_of("s", "tuned-hint", None, [1, 2], length)


def test_questions_on_one_text_are_one_cluster_and_a_real_sample_has_a_twin():
    asked = [*ask(tasks=["json"]), *ask("real-test", tasks=["json"], is_real=True)]
    rows = of_arms(asked, base=right)
    assert rows.groupby("text").size().tolist() == [10] * 2
    assert {tuple(sorted(map(str, suites))) for _, suites in rows.groupby("twin").suite} == {
        ("real-test", "test")
    }

    def changed(one, **changes):
        return one.model_copy(update={"sample": one.sample.model_copy(update=changes)})

    same = [changed(one, reference=asked[0].sample.reference) for one in asked]
    connected = of_arms([*same[:1], *asked[1:-1], same[-1]], base=right)
    assert connected.groupby("text").size().tolist() == [20]


def test_the_best_constant_is_found_by_the_papers_score():
    sample = ask()[0].sample

    def cell(task: str, depth: int, *answers: str):
        changes = [{"task": task, "depth": depth, "answer": answer} for answer in answers]
        return [sample.model_copy(update=change) for change in changes]

    # no answer is frequent, but one shares 4 of 5 words with two others, which share 3
    close = cell("xml.0", 1, "a b c d e", "a b c d f", "a b c g e", "x")
    halves = cell("xml.2", 2, "True", "True", "False", "False")
    constants = analyze.learned([*close, *halves])
    # of equals, the first by name; a task's nearest depth; nothing for another task
    places = [("xml.0", 1), ("xml.2", 2), ("xml.2", 5), ("csv.0", 1)]
    found = [analyze.constant(cell(*place, "")[0], constants) for place in places]
    assert found == ["a b c d e", "False", "False", ""]


def test_people_are_one_arm_and_models_are_beside_them_on_the_same_questions():
    asked = [*ask("test-hard"), *ask(depth=2)]
    rows = of_arms(asked, base=wrong)
    items = analyze.to_answer(asked[:6])
    right_of = {one.query_id: one.sample.answer for one in asked}
    labels = {item.item: right_of[item.query_id] for item in items}
    assert [[*item.texts] for item in items] == [["text", "question"]] * 6
    assert not any(item.texts["text"] == right_of[item.query_id] for item in items)
    none = dict.fromkeys([*labels][:2], "-")
    sheets = [Sheet("person (people)", True, labels), Sheet("person (people-2)", True, none)]
    sheets += [Sheet("reading", False, none), Sheet("other", True, {"item-gone": "x"})]
    both = analyze.beside_readers(rows, asked, items, sheets)
    table = analyze.summary(both, ["arm"]).set_index("arm")
    printed = papers.beside_paper(pd.concat([rows, both[both.arm == "human"]]))
    ours = printed[(printed.model == "human") & (printed.source == "this run")]
    assert [*ours.metric] == ["rouge_score", "judge", "bleu", "exact"] and ours.n.eq(8).all()
    assert table.n.to_dict() == {"base": 6, "human": 8, "reading": 2}
    assert table.rouge_score.tolist() == pytest.approx([0, 6 / 8, 0])
    assert analyze.beside_readers(rows, asked, items, []).empty
    long = asked[0].sample.model_copy(update={"reference": "x" * 40_000})
    assert analyze.to_answer([asked[0].model_copy(update={"sample": long})]) == []


if __name__ == "__main__":  # after a change that is meant
    GOLDEN.write_text(tables(), encoding="utf-8")
