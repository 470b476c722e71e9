"""Sheets: what is drawn, hidden and read. Agreement: tables by hand, intervals over documents."""

import csv
import io
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.analyze.agreement import (
    PERSON,
    Item,
    Sheet,
    agreement,
    clustered_coefficients,
    coefficients,
    correlations,
    draw,
    flips,
    items_of,
    measured,
    paired_verdicts,
    read_sheet,
    sheets_of,
    verdicts_of,
)
from lib.core.records import STRUCTURES, Query, Verdict
from lib.core.store import BadInput
from lib.run.provenance import labels_digest
from tests import rows as made
from tests.rows import STATES, answer, query


def queries_of(structures: list[str]) -> list[Query]:
    return [
        query(f"q{n}", structure=name, answer=f"{n}", question=f"Which {n}?")
        for n, name in enumerate(structures)
    ]


def verdicts(judge: str, states: str, arm: str = "dapt") -> list[Verdict]:
    return made.verdicts(arm, {f"q{n}": STATES[one] for n, one in enumerate(states)}, judge)


def study(n: int = 40, text: str = "answer {}"):
    """Return queries of three structures, two arms' answers, and verdicts (few are correct)."""
    queries = queries_of(([*STRUCTURES] * n)[:n])
    answers = [
        answer(text.format(n), one.query_id, arm)
        for arm in ("base", "dapt")
        for n, one in enumerate(queries)
    ]
    states = ("0100000010" * n)[:n]
    return queries, answers, verdicts("scorer", "0" * n, "base") + verdicts("scorer", states)


@pytest.fixture
def items():
    return items_of(*study())


def cells_of(path) -> list[list[str]]:
    text = path.read_bytes().decode("utf-8-sig")
    return list(csv.reader(io.StringIO(text, newline="")))


def test_every_stratum_is_drawn_in_turn_and_the_same_seed_draws_the_same(items):
    drawn = draw(items, 36, seed=3)
    counts, sizes = (Counter(item.stratum for item in part) for part in (drawn, items))
    most = max(counts.values())
    assert counts.total() == 36 == len({item.item for item in drawn})
    assert all(counts[key] in (n, most, most - 1) for key, n in sizes.items())
    assert draw(items[::-1], 36, seed=3) == drawn != draw(items, 36, seed=4)
    assert len(draw(items, 1000, seed=3)) == len(items) == 80


def test_a_name_changes_with_whatever_a_label_depends_on(items):
    assert items[0].item == "item-ebc46b02ae04"  # as on sheets that are filled in already
    other, fewer = (
        {item.item for item in items_of(*study(*given))} for given in ((40, "x"), (20,))
    )
    names = {item.item for item in items}
    assert fewer < names and not names & other
    queries, answers, verdicts = study(3)
    assert len(items_of(queries, answers, verdicts[:2])) == 2, "only what the judge has judged"


@pytest.fixture
def folder(study_root):
    """The folder of a study's sheets."""
    return study_root / "data" / "s" / "labels"


def test_the_sheets_show_neither_arm_nor_judge_nor_verdict(items, folder):
    assert sheets_of("s", "answers", draw(items, 10, 1), n=2) == []
    path, second = folder / "answers.csv", folder / "answers-2.csv"
    header, *lines = cells_of(path)
    assert header == ["item", "question", "reference answer", "answer", "label", "reader: ?"]
    assert len(lines) == 10 and not any(line[-2] for line in lines)
    assert second.read_bytes() == path.read_bytes()
    text = path.read_text(encoding="utf-8-sig").replace("incorrect", "")
    for word in ("dapt", "base", "scorer", "correct", "natural", "tabular"):
        assert word not in text


FORMULAS = ["=1+1", "+1", "-20 °C", "@SUM(A1)", " =cmd|'/c calc'!A0", "\tx", "\n-1", "\uff1d1"]
TEXTS = st.tuples(st.text() | st.sampled_from(FORMULAS), st.text(min_size=1))


@given(st.lists(TEXTS, min_size=1, max_size=4))
def test_any_text_is_written_and_no_cell_starts_a_formula(tmp_path_factory, texts):
    items = [
        item._replace(texts={"question": question, "answer": text + "\x00\ud800"})
        for item, (question, text) in zip(items_of(*study(len(texts))), texts, strict=False)
    ]
    root = tmp_path_factory.mktemp("sheet")
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("STUDY_ROOT", str(root))
        assert sheets_of("s", "answers", items) == []
    lines = cells_of(root / "data" / "s" / "labels" / "answers.csv")
    assert [line[0] for line in lines[1:]] == [item.item for item in items]
    assert not {cell.strip()[:1] for line in lines for cell in line} & set("=+-@\uff1d")


def test_only_a_header_makes_a_person_of_a_reader_and_labels_stay(items, folder):
    sheets_of("s", "answers", items[:2], n=3)
    first, second, third = (folder / f"answers{end}.csv" for end in ("", "-2", "-3"))
    third.write_text(third.read_text().replace("reader: ?", "Reader: person "))
    sheets_of("s", "answers", items[:3], n=3)  # who reads is known before the first label
    for path in (first, second):
        path.write_text(path.read_text().replace('"","', '"correct","', 1))
    third.write_text(third.read_text().replace('"","', '"unsure","'))
    found = sheets_of("s", "answers", items[:3], n=3)
    assert [(one.name, one.is_person) for one in found] == [
        ("answers-2", False),
        ("person (answers-3)", True),
        ("answers", False),
    ]
    sheets_of("s", "answers", items[:5], n=3)
    header, *lines = cells_of(third)
    assert "Reader: person" in header and len(lines) == 5
    assert [line[header.index("label")] for line in lines] == ["unsure"] * 3 + [""] * 2


def test_a_sheet_to_answer_takes_any_text_and_keeps_it_when_it_grows(items, folder):
    folder.mkdir(parents=True)
    path = folder / "people.csv"
    path.write_text('item,text,label,Reader: Ann\na,"x, y","A->b\n=c"\nb,z,\nc,z,- 1\n')
    for size in (0, 2, 4):
        (sheet,) = sheets_of("s", "people", items[:size], ())
        assert sheet == ("people", False, {"a": "A->b\n=c", "c": "- 1"})
    header, *lines = cells_of(path)
    assert header[3] == "Reader: Ann" and lines[2][2] == "'- 1" and len(lines) == 7
    with pytest.raises(BadInput, match="people.csv are both called 'people': rename one"):
        sheets_of("s", "people", [], (), readings=[str(path)])


SHEET = "item,question,label\nitem-a,Which?,correct\nitem-b,Which?,\nitem-c,Which?,INCORRECT \n"


@pytest.mark.parametrize(
    "raw",
    [
        SHEET.encode("utf-8-sig"),
        SHEET.replace(",", "\t").replace("\n", "\r\n").encode(),
        b"label;ITEM ;note\n;;\n\nincorrect;item-c;x\nCorrect;item-a;\n;item-b;\n;;;;\n",
        "label;item;question\ncorrect;item-a;Größe?\nincorrect;item-c;\n".encode("cp1252"),
    ],
)
def test_any_form_that_a_spreadsheet_saves_is_read(raw, tmp_path):
    (tmp_path / "s.csv").write_bytes(raw)
    assert read_sheet(tmp_path / "s.csv").labels == {"item-a": "correct", "item-c": "incorrect"}


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
        read_sheet(tmp_path / "s.csv")


def test_the_digest_changes_with_labels_alone(tmp_path):
    path, found = tmp_path / "sheet.csv", []
    rows = "item,label\na,", "item,label\na,correct\nb,", "label,item\ncorrect,a"
    for text in (*rows, "item,label\na,incorrect", "item,label\na,b\na,c"):
        path.write_text(f"{text}\n")
        found.append(labels_digest(tmp_path))
    assert labels_digest(tmp_path / "none") == found[0] == "" and found[1] == found[2]
    assert len({*found}) == 4


def test_a_label_is_a_verdict_of_the_sheets_reader(items):
    labels = {items[0].item: "unsure", items[2].item: "correct", "item-gone": "correct"}
    found = verdicts_of(items, Sheet("answers", False, labels))
    assert [(row.verdict, row.judge) for row in found] == [
        ("unscored", "answers"),
        ("correct", "answers"),
    ]


def test_the_published_example_of_two_raters_and_three_categories():
    """The two abstractors of K. L. Gwet's R package irrCAC, whose vignette prints the values."""
    found = coefficients(np.array([[13, 0, 0], [0, 20, 7], [0, 4, 56]]))
    assert found == pytest.approx({"agreement": 0.89, "kappa": 0.7964094, "ac1": 0.8493305})


def test_intervals_are_over_documents():
    """Four equal answers per document add nothing to one, and one document has no interval."""
    tables = np.repeat(np.eye(4).reshape(4, 2, 2), [12, 4, 2, 6], axis=0)
    once, alike = clustered_coefficients(tables), clustered_coefficients(4 * tables)
    assert alike == pytest.approx(once) and once["kappa_low"] < once["kappa"] < once["kappa_high"]
    one = clustered_coefficients(tables.sum(axis=0, keepdims=True))
    assert one["kappa"] == pytest.approx(once["kappa"]) and np.isnan(one["agreement_low"])
    assert np.isnan([*clustered_coefficients(np.zeros((3, 2, 2))).values()]).all()
    equal = clustered_coefficients(np.repeat([[[3, 1], [1, 3]]], 4, axis=0))
    assert equal["agreement"] == 0.75 and np.isnan(equal["agreement_low"]), "nothing varies"


QUERIES = queries_of(["natural"] * 3 + ["tabular"] * 2)


def test_unscored_is_counted_and_shown_and_is_in_no_coefficient():
    judges = {"rules": verdicts("rules", "1010-"), "m": verdicts("m", "100--")}
    table = agreement(paired_verdicts(QUERIES, judges)).set_index("structure")
    assert list(table.index) == ["natural", "tabular", "all"]
    columns = ["n", "unscored_first", "unscored_second", "scored", "agreed", "lenient", "strict"]
    assert table.loc["all", columns].tolist() == [5, 1, 2, 3, 2, 1, 0]
    assert table.scored["tabular"] == 0 and np.isnan(table.agreement["tabular"])


def test_every_pair_of_judges_has_its_arms_and_an_answer_on_a_sheet_its_weight():
    judges = {
        "rules": verdicts("rules", "11110") + verdicts("rules", "00000", "base"),
        "m": verdicts("m", "11111") + verdicts("m", "1111", "base"),
        PERSON: verdicts(PERSON, "10"),
    }
    strata = "1011"  # of which the sheet has two
    items = [Item("", f"q{n}", "dapt", "natural", one, {}) for n, one in enumerate(strata)]
    rows = paired_verdicts(QUERIES, judges, items, [PERSON])
    table = agreement(rows)
    table = table[table.structure == "all"].set_index(["first_judge", "second_judge", "arm"])
    assert table.n.loc["rules", "m"].to_dict() == {"all": 9, "base": 4, "dapt": 5}
    person = table.loc["rules", PERSON, "all"]
    assert (person.agreed, person.scored, person.agreement) == (1, 2, 0.75)  # 3 of 3 + 1
    found = rows.groupby(["first_judge", "second_judge"]).weight.agg(list)
    assert found["rules", "m"] == [1] * 9 and found["rules", PERSON] == [3, 1]


def test_flips_are_counted_over_pairs_that_were_asked_and_scored_in_both_orders():
    rows = pd.DataFrame({"verdict": "A tie tie unscored tie".split(), "cluster": [*"abcde"]})
    rows = rows.assign(judge="m", is_flipped=rows.cluster == "b", is_asked=rows.cluster != "e")
    [found] = flips(rows, ["judge"], "cluster").itertuples()
    assert [found.n, found.flips, found.ties] == [3, 1, 1]
    assert found.low < found.rate == 1 / 3 < found.high
    assert flips(rows.assign(is_asked=False), ["judge"], "cluster").empty


def test_metrics_correlate_with_the_judge_who_agrees_with_them():
    """Word scores 1, 0, 1, 0 over three arms; tests/notebooks/test_studies.py has real ones."""
    queries, arms = [query(f"q{n}", answer="good") for n in range(4)], ("base", "dapt", "dapt-n")
    answers = [answer(["good", "bad"][n % 2], f"q{n}", arm) for arm in arms for n in range(4)]
    judges = {"m": [row for arm in arms for row in verdicts("m", "10--", arm)]}
    table = correlations(measured(queries, answers, judges), judges).set_index(["measure", "over"])
    assert table.pearson["rouge_score", "answers"] == pytest.approx(1)
    assert np.isnan(table.pearson["bleu", "arms"]), "arms do not differ"
    assert [table.n["exact_match", over] for over in ("answers", "arms")] == [6, 3]  # of 12
