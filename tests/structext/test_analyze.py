"""analyze: each question in its denominator, clusters of texts, constants, and golden tables."""

from pathlib import Path
from types import SimpleNamespace
from zlib import crc32

import pandas as pd
import pytest

from lib.analyze.agreement import Sheet
from lib.core.store import BadInput, artifact_path, data_path, save, write_json, write_text
from lib.structext import analyze, papers
from lib.structext.prompts import as_queries
from lib.train.trainer import curve_of
from tests.structext.replied import ask, by_number, of_arms, replies_of, right, silent, wrong

GOLDEN = Path(__file__).with_name("tables.csv")


def nothing(one) -> None:
    return None


def long(one) -> str:
    return "x" * 300


def mixed(one) -> str | None:
    replies = (right, wrong, silent, right, nothing, long)
    return replies[crc32(one.query_id.encode()) % len(replies)](one)


def tables() -> str:
    """Every table of a run with answers of all kinds, and with people's and a reader's, as text."""
    hard = ask("test-hard", depth=2, width=2)
    asked = [*ask(), *ask("real-test", is_real=True), *ask(setting="self-cot"), *ask("official")]
    asked += [*hard, *ask("v1-hard"), *ask(setting="few-shot", n_shots=2)]
    left_out = [*ask("test-hard"), *ask(setting="few-shot", n_shots=1)]
    rows = of_arms(asked, left_out, True, base=mixed, tuned=right)
    at = rows[rows.prompt == "base"]
    answers = {one.query_id: one.sample.answer for one in hard}
    items = analyze.to_answer(hard)
    labels = {item.item: answers[item.query_id] for item in items}
    none = dict.fromkeys([*labels][:2], "-")
    sheets = [Sheet("person (people)", True, labels), Sheet("person (people-2)", True, none)]
    sheets += [Sheet("reading", False, none), Sheet("other", True, {"item-gone": "x"})]
    beside = analyze.beside_readers(at, hard, items, sheets)
    human = beside[beside.arm == analyze.HUMAN]
    found = {
        "prompts": analyze.summary(rows, ["suite", "prompt", "arm"]),
        "as shown": analyze.shown(analyze.summary(rows, ["suite", "prompt", "arm"])),
        "states": rows.groupby(["arm", "state"], observed=True).size().reset_index(name="n"),
        "languages": analyze.summary(analyze.with_all(at), ["suite", "language", "arm"]),
        "heat": analyze.heat(at),
        "floor": analyze.by_depth(at),
        "above_floor": analyze.against(rows, analyze.BLIND, ["suite", "language", "arm"]),
        "shots": analyze.shots(rows),
        "real": analyze.real_and_test(at),
        "official": analyze.both_scores(rows),
        "agreement": papers.paper_agreement(),
        "people": analyze.summary(beside, ["suite", "arm"]),
        "published": papers.beside_paper(pd.concat([rows, human])),
    }
    text = [
        f"# {name}\n{table.to_csv(index=False, float_format='%.6g')}"
        for name, table in found.items()
    ]
    return "".join(text)


def test_the_tables_of_a_run_do_not_change():
    """A question without an answer counts 0; one without a row is unscored; left out is wrong."""
    assert tables() == GOLDEN.read_text(encoding="utf-8")


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


def test_a_sheet_to_answer_has_no_answer_and_no_text_longer_than_a_cell():
    asked = ask("test-hard")
    long = asked[0].sample.model_copy(update={"reference": "x" * 40_000})
    items = analyze.to_answer([*asked, asked[0].model_copy(update={"sample": long})])
    texts = [(one.sample.reference, one.sample.question) for one in asked]
    assert [(*item.texts.values(), *item.texts) for item in items] == [
        (*both, "text", "question") for both in texts
    ]
    assert analyze.beside_readers(of_arms(asked, base=wrong), asked, items, []).empty


if __name__ == "__main__":  # after a change that is meant
    GOLDEN.write_text(tables(), encoding="utf-8")
