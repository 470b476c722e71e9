"""01_pairs and 04_agreement cell by cell on a small laboratory: without a key or a label, then with a played judge."""

import csv
import re

import nbformat
import pandas as pd
import pytest

from lib.analyze.agreement.sheet import items_of, read_labels
from lib.annotate.queries import annotate
from lib.core.files import read_records, write_records
from lib.core.paths import REPOSITORY, MissingInput, answers_path, data_path, figures_path, verdicts_path
from lib.core.records import Answer, Query
from lib.judge.pairs import Preference
from lib.judge.verdicts import judge
from lib.lab.documents import make_records
from lib.lab.products import make_products
from lib.llm.calls import Calls
from tests.played_model import played, within

ARMS = ("base", "dapt")


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    """A study whose base repeats another query's answer, and whose dapt answers half of them, lists in part."""
    root = tmp_path_factory.mktemp("judges")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STUDY_ROOT", str(root))
        documents, _ = make_records(make_products(3, seed=2), seed=2, public=False)
        queries = annotate(documents)[0]
        write_records(data_path("s", "documents.jsonl"), documents)
        write_records(data_path("s", "queries.jsonl"), queries)
        texts = {"base": [query.answer for query in queries[1:] + queries[:1]],
                 "dapt": [query.answer if n % 2 else query.answer.split("\n")[0] for n, query in enumerate(queries)]}
        for arm in ARMS:
            answers = [Answer(query_id=query.query_id, arm=arm, answer=text, n_tokens=1, truncated=False)
                       for query, text in zip(queries, texts[arm], strict=True)]
            write_records(answers_path("s", arm), answers)
            write_records(verdicts_path("s", "rules", arm), judge(queries, answers))
    return root


def run(stage: str, capsys, **given: object) -> str:
    """The cells of a notebook in one namespace, with the parameters `given`; what they printed."""
    names: dict[str, object] = {}
    for cell in nbformat.read(REPOSITORY / "notebooks" / f"{stage}.ipynb", 4).cells:
        if cell.cell_type == "code":
            exec(compile(cell.source, f"{stage}:{cell.id}", "exec"), names)
            names.update(given if cell.id == "parameters" else {})
    return capsys.readouterr().out


def lenient_judge(prompt: str) -> str:
    """One entity of a list is enough for it; of two answers it prefers the first that has that entity."""
    wanted = within(prompt, "reference").split("\n")[0]
    if answer := within(prompt, "answer"):
        return f"It is said. [[{wanted in answer}]]" if "mumble" not in answer else "?"
    first, second = (wanted in within(prompt, tag) for tag in ("first", "second"))
    return f"Seen. [[{'Tie' if not first and not second else 'First' if first else 'Second'}]]"


def test_one_judge_and_no_label_write_the_sheet_and_say_what_is_missing(root, monkeypatch, capsys):
    monkeypatch.setenv("STUDY_ROOT", str(root))
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    printed = run("04_agreement", capsys, study="s", arms=list(ARMS), sample_size=20)
    assert "rules is the only judge" in printed and "no label yet: fill in data/s/human/sheet.csv" in printed
    assert "agreement: not there" in printed and read_labels(data_path("s", "human", "sheet.csv")) == {}
    assert set(pd.read_csv(figures_path("s", "list_items.csv")).arm) == set(ARMS)
    assert figures_path("s", "list_items_intervals.pdf").exists() and not figures_path("s", "human.csv").exists()
    with pytest.raises(MissingInput, match="05_judge.ipynb with judge m and arm base"):
        run("04_agreement", capsys, study="s", arms=list(ARMS), judges=["rules", "m"])


def test_a_study_without_lists_says_so(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    queries = [Query(query_id="q", document_id="d", question="Which port?", answer="8443", structure="natural",
                     source_reference="", start=0, end=0, block_type="prose", entity_count=None)]
    answers = [Answer(query_id="q", arm="base", answer="9000", n_tokens=1, truncated=False)]
    write_records(data_path("s", "queries.jsonl"), queries)
    write_records(answers_path("s", "base"), answers)
    write_records(verdicts_path("s", "rules", "base"), judge(queries, answers))
    printed = run("04_agreement", capsys, study="s", arms=["base"])
    assert "0 of 1 answers are to a list" in printed and "1 of 1 answers with a text are drawn" in printed
    assert not list(figures_path("s", "x").parent.iterdir())


def test_a_judge_who_writes_the_mark_alone_gives_preferences_with_a_reason(root, monkeypatch, capsys):
    monkeypatch.setenv("STUDY_ROOT", str(root))
    with played(lambda prompt: "[[Tie]]", monkeypatch):
        run("01_pairs", capsys, study="s", judge="terse")
    rows = read_records(data_path("s", "preferences", "terse", "base-dapt.jsonl"), Preference, "05")
    assert {row.verdict for row in rows} == {"tie"}
    assert {row.reason for row in rows if row.is_asked} == {"the mark alone"}


def test_rules_prefer_without_a_key(root, monkeypatch, capsys):
    monkeypatch.setenv("STUDY_ROOT", str(root))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    printed = run("01_pairs", capsys, study="s")
    assert "no model was asked" in printed and "0 by construction" in printed
    rows = read_records(data_path("s", "preferences", "rules", "base-dapt.jsonl"), Preference, "05")
    assert sum(row.verdict == "B" for row in rows if row.criterion == "correctness") > len(rows) / 6


def test_a_second_judge_and_a_persons_labels_give_every_table(root, monkeypatch, capsys):
    monkeypatch.setenv("STUDY_ROOT", str(root))
    queries = read_records(data_path("s", "queries.jsonl"), Query, "01")
    with played(lenient_judge, monkeypatch):
        for arm in ARMS:
            answers = read_records(answers_path("s", arm), Answer, "04")
            calls = Calls(data_path("s", "llm.sqlite"))
            write_records(verdicts_path("s", "org/m", arm), judge(queries, answers, "org/m", calls))
        printed = run("01_pairs", capsys, study="s", judge="org/m")
    assert (turned := re.search(r"correctness: (\d+) of (\d+) pairs", printed)) and int(turned[2]) > 0
    read_records(data_path("s", "preferences", "org--m", "base-dapt.jsonl"), Preference, "05")

    answers = [answer for arm in ARMS for answer in read_records(answers_path("s", arm), Answer, "04")]
    verdict = {item.item: item.verdict for item in items_of(queries, answers, judge_rows(answers, queries))}
    path = data_path("s", "human", "sheet.csv")
    lines = list(csv.reader(path.read_text(encoding="utf-8-sig").splitlines()))  # as a person's spreadsheet saves it
    path.write_text("\n".join(";".join((line[0], verdict.get(line[0], "label"))) for line in lines if line[0] in verdict
                              or line[0] == "item"), encoding="cp1252")
    before = path.read_bytes()
    printed = run("04_agreement", capsys, study="s", arms=list(ARMS), judges=["rules", "org/m"], sample_size=20)
    assert path.read_bytes() == before and " answers are labelled, 0 labels are of other answers" in printed
    table = pd.read_csv(figures_path("s", "agreement.csv"))
    whole = table[(table.arm == "all") & (table.structure == "all")].iloc[0]
    assert whole.n == len(answers) and whole.agreed < whole.scored
    person = pd.read_csv(figures_path("s", "human.csv")).set_index(["judge", "structure"])
    assert person.loc[("rules", "all")].agreement == 1 and person.loc[("org/m", "all")].leniency > 0
    for name in ("agreement.md", "confusion.tex", "human.md", "agreement_intervals.pdf", "human_intervals.png"):
        assert figures_path("s", name).stat().st_size > 0

    # a new training changes every answer, and the second judge is gone
    for arm in ARMS:
        answers = [answer.model_copy(update={"answer": f"{answer.answer} so" if n else " "})
                   for n, answer in enumerate(read_records(answers_path("s", arm), Answer, "04"))]
        write_records(answers_path("s", arm), answers)
        write_records(verdicts_path("s", "rules", arm), judge(queries, answers))
    labels = read_labels(path)
    figures_path("s", "agreement_of_others.csv").write_text("not ours")
    printed = run("04_agreement", capsys, study="s", arms=list(ARMS), sample_size=20)
    assert read_labels(path) == labels and len(path.read_text(encoding="utf-8-sig").splitlines()) > len(lines) + 20
    assert f": 0 answers are labelled, {len(labels)} labels are of other answers; 20 of" in printed
    assert "answers with a text are drawn; 2 have none" in printed
    assert all(f"{name}: not there" in printed for name in ("agreement", "confusion", "human"))
    left = {name.name for name in figures_path("s", "x").parent.iterdir() if name.suffix in (".csv", ".pdf", ".md")}
    assert left >= {"list_items.csv", "list_items_intervals.pdf", "agreement_of_others.csv"}
    assert not {name for name in left if name.startswith(("agreement.", "agreement_i", "confusion", "human"))}


def test_a_sheet_that_make_clean_would_remove_is_refused(root, monkeypatch, capsys):
    monkeypatch.setenv("STUDY_ROOT", str(root))
    with pytest.raises(ValueError, match="write sheet as 'human/labels.xlsx'"):
        run("04_agreement", capsys, study="s", arms=list(ARMS), sheet="labels.xlsx")


def judge_rows(answers: list[Answer], queries: list[Query]):
    return [row for arm in ARMS for row in judge(queries, [answer for answer in answers if answer.arm == arm])]
