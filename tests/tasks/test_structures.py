"""A structure is one entry: what the study does with one that is not in lib."""

import ast
from collections import Counter

import pytest

from lib.analyze.figures.plots import draw_accuracy
from lib.analyze.statistics.paired import paired
from lib.analyze.statistics.seeds import spread
from lib.annotate.queries import annotate
from lib.core.digest import reached
from lib.core.records import Answer
from lib.core.stages import CHAIN, EVIDENCE
from lib.core.store import REPOSITORY, load, save
from lib.documents.folder import read_folder
from lib.lab.base_model import new_llama, train_tokenizer
from lib.lab.documents import facts_asked, make_records
from lib.lab.engines import ask_facts
from lib.lab.products import ATTRIBUTES, make_products
from lib.run.config import notebook_path
from lib.tasks.spark.structures import STRUCTURES
from tests.conftest import run_cells, table


def test_names_of_structures_are_in_two_files_of_lib():
    names = {structure.name for structure in STRUCTURES.values()}
    found = {
        path.relative_to(REPOSITORY)
        for path in (REPOSITORY / "lib").rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and node.value in names
    }
    assert sorted(map(str, found)) == [
        "lib/tasks/spark/structures.py",
        "lib/tasks/structext/ask/prompts.py",
    ]


@pytest.mark.parametrize(
    "stage",
    [
        "00_lab",
        *sorted({*CHAIN} - {"01_annotate", "03_train", "04_infer"}),
        *EVIDENCE,
        "exposures_run",
        "exposures",
    ],
)
def test_notebooks_that_use_structures_register_them(stage):
    assert "lib.tasks.spark.structures" in reached(notebook_path(stage))


def test_a_real_document_is_asked_about_code_and_its_lines_become_sentences(
    code, tmp_path, monkeypatch
):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    documents = read_folder(REPOSITORY / "data" / "technical").documents
    save("real", "documents", documents)
    train_tokenizer([documents[0].text], 400).save_pretrained(tmp_path / "base")
    run_cells("01_annotate", study="real")
    asked = [query for query in load("real", "queries") if query.structure == code]
    assert len(asked) >= 5
    assert {query.question: query.answer for query in asked}[
        'In the document "nats bench", what is the memory?'
    ] == "16 GB"
    run_cells("02_normalize", study="real", base_model=str(tmp_path / "base"))
    text = " ".join(row.text for row in load("real", "normalized"))
    assert "The memory is 16 GB. The system firmware version is" in text
    assert "nats-server -m 8222 -js" in text


def test_a_laboratory_writes_code_and_every_table_has_its_row(code, tmp_path, monkeypatch):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    documents, facts = make_records(make_products(12, 1), 1, public=False)
    assert Counter(fact.structure for fact in facts) == dict.fromkeys(STRUCTURES, 27)
    queries, _ = annotate(documents, ask_facts(facts), len(ATTRIBUTES))
    n = sum(query.structure == code for query in queries)
    assert n > 20 and all(
        {fact.structure for fact in facts_asked(query, facts)} == {query.structure}
        for query in queries
    )
    tokenizer = train_tokenizer([document.text for document in documents], 400)
    model = new_llama(tokenizer, hidden_size=16, layers=1, heads=2, context=512, seed=1)
    for part in (model, tokenizer):
        part.save_pretrained(tmp_path / "base")
    for name, rows in (("documents", documents), ("queries", queries), ("facts", facts)):
        save("four", name, rows)
    run_cells(
        "04_infer",
        study="four",
        arms=["base"],
        base_model=str(tmp_path / "base"),
        max_answer_tokens=4,
        max_list_tokens=4,
    )
    save(
        "four",
        "answers",
        [
            Answer(
                query_id=query.query_id,
                arm="dapt",
                answer=query.answer,
                n_tokens=1,
                truncated=False,
            )
            for query in queries
        ],
        arm="dapt",
    )
    arms = ["base", "dapt"]
    run_cells("05_judge", study="four", arms=arms)
    names = run_cells("06_analyze", study="four", arms=arms)
    for number in (1, 2, 5):
        rows = table(tmp_path / "figures" / "four" / "paper" / f"table{number}.csv")
        counts = {
            int(row["queries" if number == 1 else "n"]) for row in rows if row["structure"] == code
        }
        assert counts and 0 not in counts, number
    drawn, _ = draw_accuracy(names["by_structure"])
    ticks = [label.get_text().split("\n")[0] for label in drawn.axes[0].get_xticklabels()]
    assert ticks == ["prose", "list", "table", "code", "all"]
    for found in (paired(names["rows"]), spread(names["rows"])):
        assert set(found.n[found.structure == code]) == {n}
