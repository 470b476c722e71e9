"""The acquisition curve: it changes no weight, its rows outlive a kill, and its figure shows what was counted."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from statsmodels.stats.proportion import proportion_confint

from lib.analyze.figures.style import save
from lib.analyze.figures.training import draw_acquisition
from lib.core.files import read_records, write_records
from lib.core.records import Query
from lib.lab.base_model import new_llama, train_tokenizer
from lib.train.curve import FILE, Acquired, Acquisition, AcquisitionCallback
from lib.train.trainer import train
from tests.train.test_trainer import RECIPE, TEXTS, blocks_of, run, same, weights


def queries(answers: list[str]) -> list[Query]:
    return [Query(query_id=str(n), document_id="d", question="What is the default port of Ardwin Orbit?", answer=answer,
                  structure="natural" if n else "tabular", source_reference="", start=0, end=0, block_type="prose",
                  entity_count=None) for n, answer in enumerate(answers)]


def test_asking_changes_no_weight_and_leaves_its_rows_beside_the_model(tmp_path):
    recipe = replace(RECIPE, epochs=5)
    run(tmp_path / "plain", recipe)
    tokenizer = train_tokenizer(TEXTS, 320)
    model = new_llama(tokenizer, hidden_size=32, layers=2, heads=2, context=64, seed=1)
    asked = Acquisition(queries(["8443", "1701", "22"]), "dapt", 2, 4)
    train(model, tokenizer, blocks_of(TEXTS[:5], tokenizer), blocks_of(TEXTS[5:], tokenizer), recipe,
          tmp_path / "asked", {}, [AcquisitionCallback(asked, tokenizer)])
    assert same(weights(tmp_path / "plain"), weights(tmp_path / "asked"))
    rows = read_records(tmp_path / "asked" / FILE, Acquired, "03_train.ipynb")
    assert [(row.epoch, row.structure, row.n) for row in rows] == [
        (epoch, structure, n) for epoch in (2, 4, 5) for structure, n in (("natural", 2), ("tabular", 1))]


def test_after_a_kill_the_rows_up_to_its_checkpoint_are_kept(tmp_path):
    rows = [Acquired(arm="dapt", epoch=epoch, structure="natural", correct=1, n=2) for epoch in (5, 10, 15)]
    write_records(tmp_path / FILE, rows)
    callback = AcquisitionCallback(Acquisition([], "dapt", 5, 4), train_tokenizer(TEXTS, 320))
    callback.on_train_begin(SimpleNamespace(output_dir=tmp_path), SimpleNamespace(epoch=12.0), None)
    assert callback.rows == rows[:2]


def test_the_curve_is_the_counts_with_wilson_bands(tmp_path, monkeypatch):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    rows = [Acquired(arm="dapt", epoch=epoch, structure=structure, correct=correct, n=20)
            for structure, counts in (("natural", (1, 12)), ("tabular", (0, 20)))
            for epoch, correct in zip((5, 10), counts, strict=True)]
    figure, plotted = draw_acquisition(rows)
    axes = figure.axes[0]
    assert [list(line.get_ydata()) for line in axes.lines] == [[5, 60], [0, 100]]
    low, high = proportion_confint(12, 20, method="wilson")
    assert tuple(plotted.loc[1, ["low", "high"]]) == pytest.approx((low, high))
    assert len(axes.collections) == 2 and axes.get_ylim()[0] == 0
    assert save("s", "acquisition-dapt", figure, plotted).exists()
