"""The blinded sheet: what is drawn, what it hides, and what spreadsheets make of it."""

import csv
import io
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.analyze.agreement.sheet import (
    ANSWERS,
    QUESTIONS,
    draw,
    items_of,
    labels_digest,
    labels_of,
    questions_of,
    ratings,
    read_labels,
    sheet_path,
    verdicts_of,
    weights,
)
from lib.core.errors import BadInput, BadStudy
from lib.core.records import Answer, Query, Verdict
from lib.core.structures import STRUCTURES


def study(n: int = 40, text: str = "answer {}"):
    """Return queries of three structures, two arms' answers, and verdicts (few are correct)."""
    queries = [
        Query(
            query_id=f"q{number}",
            document_id="d",
            question=f"Which {number}?",
            answer=f"{number}",
            structure=[*STRUCTURES][number % 3],
            source_reference="",
            start=0,
            end=0,
            block_type="prose",
            entity_count=None,
        )
        for number in range(n)
    ]
    answers = [
        Answer(
            query_id=query.query_id,
            arm=arm,
            answer=text.format(query.query_id),
            n_tokens=1,
            truncated=False,
        )
        for arm in ("base", "dapt")
        for query in queries
    ]
    verdicts = [
        Verdict(
            query_id=row.query_id,
            arm=row.arm,
            judge="scorer",
            reason="",
            verdict="correct"
            if row.query_id.endswith(("1", "8")) and row.arm == "dapt"
            else "incorrect",
        )
        for row in answers
    ]
    return queries, answers, verdicts


@pytest.fixture
def items():
    return items_of(*study())


def cells_of(path) -> list[list[str]]:
    text = path.read_bytes().decode("utf-8-sig")
    return list(csv.reader(io.StringIO(text, newline="")))


def test_every_stratum_is_drawn_in_turn_and_the_same_seed_draws_the_same(items):
    drawn = draw(items, 36, seed=3)
    counts, all_counts = (
        Counter((item.structure, item.arm, item.verdict) for item in part)
        for part in (drawn, items)
    )
    assert len(drawn) == 36 == len({item.item for item in drawn})
    assert set(counts) == set(all_counts)
    assert all(
        counts[key] in (n, max(counts.values()), max(counts.values()) - 1)
        for key, n in all_counts.items()
    )
    assert draw(items[::-1], 36, seed=3) == drawn != draw(items, 36, seed=4)
    assert len(draw(items, 1000, seed=3)) == len(items) == 80 and draw(items, 0, seed=3) == []
    order = [item.arm for item in drawn]
    assert order not in (sorted(order), sorted(order, reverse=True))


def test_a_name_changes_with_whatever_a_label_depends_on(items):
    other = items_of(*study(text="another {}"))
    assert not {item.item for item in items} & {item.item for item in other}
    assert {item.item for item in items_of(*study(20))} < {item.item for item in items}
    queries, answers, verdicts = study(3)
    assert len(items_of(queries, answers, verdicts[:2])) == 2, "only what the judge has judged"


def test_the_sheet_shows_neither_arm_nor_judge_nor_verdict(items, tmp_path):
    path = tmp_path / "sheet.csv"
    assert labels_of(path, draw(items, 10, 1)) == {}
    header, *lines = cells_of(path)
    assert header == ["item", *ANSWERS.shows, "label"] and len(lines) == 10
    assert not any(line[-1] for line in lines)
    text = path.read_text(encoding="utf-8-sig").replace("incorrect", "")
    for word in ("dapt", "base", "scorer", "correct", "natural", "tabular"):
        assert word not in text


FORMULAS = ["=1+1", "+1", "-20 °C", "@SUM(A1)", " =cmd|'/c calc'!A0", "\tx", "\n-1", "\uff1d1"]


@given(
    st.lists(
        st.tuples(st.text() | st.sampled_from(FORMULAS), st.text(min_size=1)),
        min_size=1,
        max_size=4,
    )
)
def test_any_text_is_written_and_no_cell_starts_a_formula(tmp_path_factory, texts):
    items = [
        replace(item, texts=(question, "1", text + "\x00\ud800"))
        for item, (question, text) in zip(items_of(*study(len(texts))), texts, strict=False)
    ]
    path = tmp_path_factory.mktemp("sheet") / "s.csv"
    assert labels_of(path, items) == {}
    lines = cells_of(path)
    assert [line[0] for line in lines[1:]] == [item.item for item in items]
    assert not {cell.strip()[:1] for line in lines for cell in line} & set("=+-@\uff1d")
    assert read_labels(path) == {}


SHEET = "item,question,label\nitem-a,Which?,correct\nitem-b,Which?,\nitem-c,Which?,INCORRECT \n"


@pytest.mark.parametrize(
    "raw",
    [
        SHEET.encode("utf-8-sig"),
        SHEET.replace(",", ";").encode("cp1252"),
        SHEET.replace(",", "\t").encode(),
        SHEET.replace("\n", "\r\n").encode(),
        b"label;ITEM ;note\n;;\n\nincorrect;item-c;x\nCorrect;item-a;\n;item-b;\n;;;;\n",
        "label;item;question\ncorrect;item-a;Größe?\nincorrect;item-c;\n".encode("cp1252"),
    ],
)
def test_any_form_that_a_spreadsheet_saves_is_read(raw, tmp_path):
    (tmp_path / "s.csv").write_bytes(raw)
    assert read_labels(tmp_path / "s.csv") == {"item-a": "correct", "item-c": "incorrect"}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("item,label\nitem-a,correct\n\nitem-b,corect\n", "item-b: label 'corect' should be"),
        ("item,label\nitem-a,correct\nitem-a,incorrect\n", "item-a is labelled correct and incorr"),
        ("item,label\n,correct\n", "a row without an item"),
        ("", "no column 'item'"),
        ("name,label\nx,correct\n", "no column 'item'"),
    ],
)
def test_an_invalid_sheet_names_item_and_remedy(text, message, tmp_path):
    (tmp_path / "s.csv").write_text(text)
    with pytest.raises(BadInput, match=message):
        read_labels(tmp_path / "s.csv")


@pytest.mark.parametrize("sheet", ["labels.csv", "human/labels.xlsx", "human/../mine.csv", ""])
def test_a_sheet_outside_the_folder_that_is_kept_is_refused(sheet, tmp_path, monkeypatch):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    with pytest.raises(BadStudy, match="make clean` keeps: write sheet as 'human/.*csv'"):
        sheet_path("s", sheet)
    assert sheet_path("s", "human/x.csv") == tmp_path / "data" / "s" / "human" / "x.csv"


def test_the_digest_changes_with_labels_alone(tmp_path):
    path, found = tmp_path / "sheet.csv", []
    for text in (
        "item,label\na,\n",
        "item,label\na,correct\nb,\n",
        "label,item\ncorrect,a\n",
        "item,label\na,incorrect\n",
        "item,label\na,corect\n",
    ):
        path.write_text(text)
        found.append(labels_digest(path))
    assert labels_digest(tmp_path / "none.csv") == found[0] == "" and found[1] == found[2]
    assert len({*found}) == 4


def test_a_label_is_a_verdict_that_stands_for_its_stratum(items):
    labels = {items[0].item: "unsure", items[2].item: "correct", "item-gone": "correct"}
    assert [row.verdict for row in verdicts_of(items, labels, "person")] == ["unscored", "correct"]
    sizes = Counter(item.stratum for item in items)
    assert list(weights(items, labels).values()) == [
        sizes[items[0].stratum],
        sizes[items[2].stratum],
    ]


def test_questions_are_rated_by_structure_with_their_denominators(tmp_path):
    path = tmp_path / "questions.csv"
    queries = [
        query.model_copy(update={"document_id": f"d{number // 3}"})
        for number, query in enumerate(study(12)[0])
    ]
    items = questions_of(queries)
    assert labels_of(path, items, QUESTIONS) == {}
    header, *lines = cells_of(path)
    assert header[1:-1] == [*QUESTIONS.shows] and len(lines) == 12
    text = path.read_text(encoding="utf-8-sig").replace(',""\n', ',"good"\n', 9)
    path.write_text(text.replace(',""\n', ',"poor"\n', 1))
    with pytest.raises(BadInput, match="label 'good' should be correct"):
        read_labels(path)
    table = ratings(items, read_labels(path, QUESTIONS)).set_index(["by", "group", "label"])
    table = table.sort_index()
    assert dict(table.loc[("all", "all"), "share"]) == {"good": 0.9, "poor": 0.1, "wrong": 0}
    assert set(table.n.xs("structure")) == {3, 4} and {*table.n.xs("all")} == {10}
    low, high = table.loc[("all", "all", "good"), ["low", "high"]]
    assert low < 0.9 < high
