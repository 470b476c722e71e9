"""analyze: each question in its denominator, clusters of texts, constants, and golden tables."""

from pathlib import Path
from types import SimpleNamespace
from zlib import crc32

import nbformat
import pandas as pd
import pytest

from lib.analyze.agreement import Sheet
from lib.core.store import (
    BadInput,
    artifact_path,
    data_path,
    figures_path,
    result_path,
    save,
    write_json,
    write_text,
)
from lib.run.parameters import notebook_path
from lib.structext import analyze
from lib.structext.prompts import as_queries
from lib.train.trainer import curve_of
from tests.structext.replied import ask, of_arms, replies_of, right, wrong

GOLDEN = Path(__file__).with_name("tables.csv")


def drawn(*cells: str, **names) -> None:
    """Run cells of 06_structext with `names` in the study s."""
    sources = {one.id: one.source for one in nbformat.read(notebook_path("06_structext"), 4).cells}
    names |= {"study": "s", "display": lambda _: None}
    for name in ("imports", "imports-structext", *cells):
        exec(sources[name], names)


def mixed(one) -> str | None:
    replies = (right(one), wrong(one), "", right(one), None, "x" * 300)
    return replies[crc32(one.query_id.encode()) % len(replies)]


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
        "agreement": analyze.paper_agreement(),
        "people": analyze.summary(beside, ["suite", "arm"]),
        "published": analyze.beside_paper(pd.concat([rows, human])),
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
    later = (wrong, lambda one: wrong(one) if one == asked[6] else right(one))
    for epoch, reply in enumerate(later, 1):
        for rows in replies_of(asked[6:], **{"tuned-hint": reply}).values():
            save("s", "replies", rows, arm="tuned-hint", epoch=epoch)
    drawn("steps", asked=asked, arms=["base", "tuned-hint"])
    table = pd.concat(pd.read_csv(path) for path in figures_path("s").rglob("steps_*.csv"))
    means = table.set_index(["figure", "panel", "step"]).sort_index()["mean"]
    assert means["language", "csv"].tolist() == [0, 0.5] and means["loss"].tolist() == [2.5]
    assert means["kind"][["Node.Depth", "PathWalk"]].tolist() == [0, 1] * 2
    assert means["all"].tolist() == [0, pytest.approx(5 / 6)]
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
    assert {tuple(suites) for _, suites in rows.groupby("twin").suite} == {("test", "real-test")}
    same = asked[-1].sample.model_copy(update={"reference": asked[0].sample.reference})
    connected = of_arms([*asked[:-1], asked[-1].model_copy(update={"sample": same})], base=right)
    assert connected.groupby("text").size().tolist() == [20]


def test_a_sheet_to_answer_has_no_answer_and_no_text_longer_than_a_cell():
    asked = ask("test-hard")
    long = asked[0].sample.model_copy(update={"reference": "x" * 40_000})
    items = analyze.to_answer([*asked, asked[0].model_copy(update={"sample": long})])
    texts = [(one.sample.reference, one.sample.question) for one in asked]
    assert [(*item.texts.values(), *item.texts) for item in items] == [
        (*both, "text", "question") for both in texts
    ]


def test_heat_has_a_panel_for_each_arm_asked_and_nothing_for_a_cell_left_out():
    hard = [one for depth in (1, 2) for one in ask("test-hard", depth=depth, width=2)]
    asked = [*ask(), *ask("real-test", is_real=True), *hard]
    rows = of_arms(asked, ask("test-hard", depth=3), base=mixed, tuned=right)
    figure, plotted = analyze.draw_heat(analyze.heat(rows), ["tuned"])
    assert set(plotted.arm) == {"tuned"} and set(plotted.suite) == {"test-hard"}
    assert figure.axes[0].get_title("left") == "tuned"
    assert [text.get_text() for text in figure.axes[0].texts] == ["100.0\nSD 0.0\nand 0.0"] * 2
    sizes = analyze.summary(rows.assign(suite="all"), ["suite", "arm", "input", "nodes"])
    figure, plotted = analyze.draw_heat(sizes, ["tuned"], "input", "nodes")
    assert (plotted.n - plotted.left_out).sum() == len(asked)
    assert "\nn = " in figure.axes[0].texts[0].get_text()
    assert figure.axes[0].get_ylabel() == "Input"


def test_scores_by_number_of_shots_begin_without_any(tmp_path, monkeypatch):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    few = [one for n in (1, 2) for one in ask(setting="few-shot", n_shots=n)]
    arms = {"base": lambda one: right(one) if one.n_shots else wrong(one)}
    drawn("shots-figure", rows=of_arms([*ask(), *few], **arms))
    table = pd.read_csv(result_path("s", "shots_scores.csv"))
    assert dict(zip(table.shots, table.score.round(), strict=True)) == {0: 0, 1: 100, 2: 100}


if __name__ == "__main__":  # after a change that is meant
    GOLDEN.write_text(tables(), encoding="utf-8")
