"""The other studies, tiny, end to end: every notebook's cells in this process, in their order."""

import json
from collections import Counter
from pathlib import Path

import pandas as pd
import pytest

from lib.core.store import REPOSITORY
from lib.exposures.analysis import read_rows
from lib.run.config import load_study
from tests.conftest import check_results, rows, run_cells, run_study_here, table

READERS = {
    "structext-smoke": ("tuned", "solver"),
    "tablequest-smoke": ("base", "constant"),
}
# By language, task, prompt, shots, depth × width; Test beside Real-Test; three scores; judges.
# By level; rivals' ratings; overlap in words; truncation; failures; what people check. The case
# study, recall and a judge that is a model are made over a played endpoint below.
RESULTS = {
    "structext-smoke": "languages.csv tasks.csv prompts.csv shots.csv heat.csv heat_map.png "
    "real.csv real_differences.png scores.csv table_metrics.csv metrics.csv metrics_judged.png "
    "languages_judged.png",
    "tablequest-smoke": "tablequest_accuracy.csv tablequest_accuracy_intervals.png "
    "tablequest_ratings.csv tablequest_ratings_intervals.png "
    "tablequest_words.csv tablequest_lengths.csv tablequest_failures.csv "
    "tablequest_check.csv tablequest_flips.csv",
}


@pytest.fixture(scope="module")
def root(tmp_path_factory) -> Path:
    """The two reading studies, on a tiny base, and the studies that make their own bases."""
    root = tmp_path_factory.mktemp("studies")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("STUDY_ROOT", str(root))
        for name in (*READERS, "exposures-smoke"):
            run_study_here(name)
        yield root


@pytest.mark.parametrize(("study", "results"), RESULTS.items())
def test_each_result_of_a_paper_is_a_file(root, study, results):
    check_results(root / "figures" / study, *results.split())


def test_the_solver_is_right_and_what_each_arm_left_out_is_counted(root):
    figures, data = (root / name / "structext-smoke" for name in ("figures", "data"))
    asked = rows(data / "asked.jsonl")
    assert len(asked) == 2 * 2 * 29  # suites, depths, tasks
    assert [path.stem for path in (data / "skipped_prompts").iterdir()] == ["tuned"]
    left_out = {"tuned": rows(data / "skipped_prompts" / "tuned.jsonl"), "solver": []}
    assert 0 < len(left_out["tuned"]) < len(asked) / 4, "most prompts fit"
    scores = table(figures / "extra" / "prompts.csv")
    for arm, missing in left_out.items():
        own = [row for row in scores if row["arm"] == arm]
        assert sum(int(row["n"]) for row in own) == len(asked)
        assert sum(int(row["left_out"]) for row in own) == len(missing)
    verdicts = [row["verdict"] for row in rows(data / "verdicts" / "scorer" / "solver.jsonl")]
    assert verdicts == ["correct"] * len(asked)
    tested = {row["reference"] for row in rows(data / "samples.jsonl")}
    learned = {row["reference"] for row in rows(data / "training_samples.jsonl")}
    assert learned and not learned & tested
    assert "solver" in (figures / "report.md").read_text(encoding="utf-8")


def test_a_models_verdicts_on_committed_answers_need_neither_key_nor_training(
    tmp_path, monkeypatch
):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    monkeypatch.setenv("OPENAI_API_KEY", "")
    run_study_here("records-judged")
    data, tables = tmp_path / "data/records-judged", tmp_path / "figures/records-judged"
    assert not [*data.glob("models/*")]
    judged = table(tables / "tables" / "table2_judges.csv")
    n = [row["n"] for row in judged if row["structure"] == "all"]
    assert n == ["196"] * 4  # two judges, two arms
    agreed = table(tables / "extra" / "agreement.csv")
    agreed = {
        (row["first_judge"], row["second_judge"]): row["n"]
        for row in agreed
        if row["arm"] == row["structure"] == "all"
    }
    assert agreed == {
        ("shipped", "scorer"): "392",
        ("shipped", "model_reading"): "150",
        ("scorer", "model_reading"): "150",
    }, "every label of the reading is of one of the answers"
    (file,) = (data / "preferences" / "shipped").iterdir()
    preferences = rows(file)
    assert len(preferences) == 2 * 60
    assert not [row for row in preferences if row["verdict"] == "unscored"]


def test_a_model_accepts_sentences_of_structext_that_the_scorer_refuses(tmp_path, monkeypatch):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    monkeypatch.setenv("OPENAI_API_KEY", "")
    run_study_here("structext-judged")
    folder = tmp_path / "figures/structext-judged/extra"
    agreed = pd.read_csv(folder / "agreement.csv").set_index("arm").iloc[1:]
    assert agreed[["n", "agreed", "lenient"]].to_numpy().tolist() == [[58, 13, 45], [58, 58, 0]]
    scores = pd.read_csv(folder / "scores.csv").set_index("arm")
    assert [*scores.judge.mul(58).round()] == [56, 10, 10]
    page = (REPOSITORY / "notebooks/structext/README.md").read_text(encoding="utf-8")
    r = pd.read_csv(folder / "metrics.csv").set_index(["judge", "over", "measure"]).pearson
    r = r.sort_index()["shipped", "answers"]
    for text in (
        f"{r.rouge_l:.2f} with the judge",
        f"the correlation is {r.rouge_score:.2f}.",
        f"gives it {100 * scores.rouge_score['sentence']:.1f}%",
    ):
        assert text in " ".join(page.split())
    sheets = [*(tmp_path / "data/structext-judged/labels").iterdir()]
    assert len(sheets) == 2 and [len(table(path)) for path in sheets] == [60, 60]


def test_a_tuned_arm_learns_replies_to_other_prompts_than_those_asked(root):
    data = root / "data" / "structext-smoke"
    trained = json.loads((data / "models" / "tuned" / "training.json").read_text())
    assert trained["history"]["tokens"] < trained["tokens_in"] / 5, "prompts are read, not learned"
    asked = {row["context"] for row in rows(data / "queries.jsonl")}
    assert not asked & {row["context"] for row in rows(data / "training" / "tuned.jsonl")}


def test_shipped_questions_have_three_levels_and_the_base_reads_what_fits(root):
    figures, data = (root / name / "tablequest-smoke" for name in ("figures", "data"))
    levels = Counter(row["level"] for row in rows(data / "questions.jsonl"))
    assert levels == {"easy": 4, "medium": 4, "hard": 4}
    rejected = [row["reason"] for row in rows(data / "queries_rejected.jsonl")]
    assert len(rejected) == 4 and rejected[0].startswith("not reasonable")
    complete = {row["query_id"]: row["context"] for row in rows(data / "queries.jsonl")}
    assert len(complete) == 2 * 12
    cut = rows(data / "truncated_prompts" / "base.jsonl")
    assert cut and all(len(row["context"]) < len(complete[row["query_id"]]) for row in cut)
    accuracy = pd.read_csv(figures / "tables" / "tablequest_accuracy.csv")
    assert accuracy[(accuracy.arm == "constant") & (accuracy.level == "easy")].accuracy.eq(0).all()
    assert "constant" in (figures / "report.md").read_text(encoding="utf-8")
    sheet = table(data / "labels" / "questions.csv")
    assert Counter(row["structure"] for row in sheet) == levels


def test_every_base_scores_every_fact_of_every_run_at_each_number_of_exposures(root):
    data = root / "data" / "exposures-smoke"
    found = read_rows(data / "outcomes")
    assert set(found.base) == {1, 11}
    runs = found.groupby(["base", "arm", "rotation", "exposures"])
    assert (runs.size() == 6 * 9).all() and len(runs) == 2 * (3 + 3) * 3
    assert found[["question", "record"]].lt(0).all(axis=None)
    raw = found[(found.arm == "raw") & (found.exposures == 2)]
    places = raw.groupby(["base", "product", "attribute"])
    assert (places.structure.nunique() == 3).all() and (places.is_named.nunique() == 1).all()
    assert (raw.groupby("base").is_named.mean() == 0.5).all()
    assert not list((data / "models").glob("*"))  # weights are not kept
    kept = read_rows(data / "retained")
    assert kept.public_answered.between(0, 1).all() and (kept.replay_share == 0.25).all()


def test_the_exposure_study_writes_its_files(root):
    figures = root / "figures" / "exposures-smoke"
    effects = pd.read_csv(figures / "extra" / "effects.csv")
    assert effects.is_primary.sum() == 2 and set(effects.bases) <= {0, 2}
    assert set(pd.read_csv(figures / "extra" / "arms.csv").contrast) == {
        "normalized - raw",
        "rewritten-structures - raw",
        "paraphrase-8 - raw",
    }
    assert (figures / "extra" / "exposures.png").stat().st_size > 5_000
    assert (figures / "exposures.md").read_text(encoding="utf-8").startswith("Over 2 bases")


def test_a_laboratory_draws_the_curve_of_its_own_base(root):
    study = load_study("smoke")  # whose base structext-smoke has made
    run_cells("exposures_run", **study.given("exposures_run", "1"), exposures=[1], n_scored=3)
    run_cells("exposures", **study.given("exposures"))
    figures = root / "figures" / "smoke"
    assert (figures / "exposures.md").read_text(encoding="utf-8").startswith("One base")
    assert pd.read_csv(figures / "extra" / "exposures.csv").n.eq(1).all()
