"""The acquisition curve: it changes no weight, survives a kill, and is drawn from the counts."""

from dataclasses import replace
from types import SimpleNamespace

from lib.analyze.figures.training import draw_acquisition
from lib.core.files import write_records
from lib.core.records import Query
from lib.lab.base_model import train_tokenizer
from lib.train.curve import FILE, Acquired, Acquisition, AcquisitionCallback, read_curve
from lib.train.trainer import train
from tests.train.test_trainer import RECIPE, TEXTS, blocks_of, new_model, run, same, weights


def query(number: int, structure: str, answer: str = "8443") -> Query:
    return Query(query_id=str(number), document_id="d", structure=structure, answer=answer,
                 question="What is the default port of Ardwin Orbit?", source_reference="",
                 start=0, end=0, block_type="prose", entity_count=None)


def test_asking_changes_no_weight_and_leaves_its_rows_with_the_model(tmp_path):
    recipe = replace(RECIPE, epochs=5)
    run(tmp_path / "plain", recipe)
    tokenizer = train_tokenizer(TEXTS, 320)
    queries = [query(0, "tabular"), query(1, "natural", "1701"), query(2, "natural", "22")]
    asked = AcquisitionCallback(Acquisition(queries, "dapt", 2, 4), tokenizer)
    train(new_model(tokenizer), tokenizer, blocks_of(TEXTS[:5]), blocks_of(TEXTS[5:]), recipe,
          tmp_path / "asked", {}, [asked])
    assert same(weights(tmp_path / "plain"), weights(tmp_path / "asked"))
    rows = read_curve(tmp_path / "asked")
    assert [(row.epoch, row.structure, row.n) for row in rows] == [
        (epoch, structure, n) for epoch in (2, 4, 5)
        for structure, n in (("natural", 2), ("tabular", 1))]


def test_after_a_kill_the_rows_up_to_its_checkpoint_are_kept(tmp_path):
    rows = [Acquired(arm="dapt", epoch=epoch, structure="natural", correct=1, n=2)
            for epoch in (5, 10, 15)]
    write_records(tmp_path / FILE, rows)
    callback = AcquisitionCallback(Acquisition([], "dapt", 5, 4), train_tokenizer(TEXTS, 320))
    callback.on_train_begin(SimpleNamespace(output_dir=tmp_path), SimpleNamespace(epoch=12.0), None)
    assert callback.rows == rows[:2]


def test_the_figure_is_the_counts():
    rows = [Acquired(arm="dapt", epoch=epoch, structure=structure, correct=correct, n=20)
            for structure, counts in (("natural", (1, 12)), ("tabular", (0, 20)))
            for epoch, correct in zip((5, 10), counts, strict=True)]
    figure, _ = draw_acquisition(rows)
    axes = figure.axes[0]
    assert [list(line.get_ydata()) for line in axes.lines] == [[5, 60], [0, 100]]
    assert not axes.collections, "a band of counts would take clustered queries as independent"
    assert axes.get_ylim()[0] == 0
