"""A structure is one entry: what the study does with one that is not in lib."""

import json
from collections import Counter

from lib.analyze.plots import draw_bars
from lib.analyze.stats import paired, spread
from lib.annotate.llm_annotator import read_reply
from lib.annotate.questions import annotate
from lib.core.records import STRUCTURES, Document
from lib.core.store import save
from lib.documents.markdown import parse
from lib.lab.facts import ask_facts
from lib.lab.records import ATTRIBUTES, make_products, make_records
from lib.llm.request import Reply
from tests.conftest import run_cells, table
from tests.rows import answer as make_answer
from tests.tiny_model import untrained


def test_a_models_pair_about_code_has_its_structure(code):
    text = "# Orsa\n\n```\nMemory: 16 GB\n```\n"
    pair = {
        "question": "How large is the memory of Orsa?",
        "answer": "16 GB",
        "source_reference": "Memory: 16 GB",
        "source_reference_type": "Code block",
    }
    document = Document(document_id="d", title="Orsa", path="", text=text)
    reply = Reply(json.dumps([pair]), "")
    candidates, rejected = read_reply(reply, document, parse(text), 0, len(text))
    assert [one.structure for one in candidates] == [code] and not rejected


def test_a_laboratory_writes_code_and_every_table_has_its_row(code, tmp_path, monkeypatch):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    documents, facts = make_records(make_products(12, 1), 1)
    assert Counter(fact.structure for fact in facts) == dict.fromkeys(STRUCTURES, 27)
    queries, _ = annotate(documents, ask_facts(facts), len(ATTRIBUTES))
    n = sum(query.structure == code for query in queries)
    assert n > 20 and all(
        fact.structure == query.structure
        for query in queries
        for fact in facts
        if fact.document_id == query.document_id
        and query.start < fact.end
        and fact.start < query.end
    )
    for name, rows in (("documents", documents), ("queries", queries), ("facts", facts)):
        save("four", name, rows)
    run_cells(
        "04_infer",
        study="four",
        arms=["base"],
        base_model=str(untrained(tmp_path / "base", [one.text for one in documents])),
        max_new_tokens=4,
        max_new_tokens_list=4,
    )
    answers = [make_answer(query.answer, query.query_id) for query in queries]
    save("four", "answers", answers, arm="dapt")
    arms = ["base", "dapt"]
    run_cells("05_judge", study="four", arms=arms)
    names = run_cells("06_analyze", study="four", arms=arms)
    for number in (1, 2, 5):
        rows = table(tmp_path / "figures" / "four" / "tables" / f"table{number}.csv")
        counts = {
            int(row["queries" if number == 1 else "n"]) for row in rows if row["structure"] == code
        }
        assert counts and 0 not in counts, number
    drawn, _ = draw_bars(names["by_structure"])
    ticks = [label.get_text().split("\n")[0] for label in drawn.axes[0].get_xticklabels()]
    assert ticks == ["prose", "list", "table", "code", "all"]
    for found in (paired(names["rows"]), spread(names["rows"])):
        assert set(found.n[found.structure == code]) == {n}
