"""The audit finds what is lost or invented, by kind, and the page escapes what documents say."""

import pytest

from lib.core.records import Document, Normalized, Segment
from lib.lab.documents import make_records
from lib.lab.products import make_products
from lib.normalize.audit import KINDS, audit, kind_of, kinds_table, segments_table, sentence
from lib.normalize.audit_page import side_by_side, write_page
from lib.normalize.rewrite import normalize
from lib.normalize.rules.engine import by_rules

SOURCE = ("# Corvane P-417\n\nSee /etc/harbor.conf for v2.10.3 and 36 seconds.\n\n- seal kit\n"
          "- hex key\n\n| Item | Entry |\n|--|--|\n| port | 8443 |\n")
CUT = SOURCE.index("- seal")


def segment(document_id: str, start: int, end: int, text: str) -> Segment:
    return Segment(segment_id=f"{document_id}{start}", document_id=document_id, start=start,
                   end=end, text=text[start:end], n_tokens=1)


def audited(rewrites: list[str], cut: int | None = None, source: str = SOURCE):
    """Return the audit of `source`, intact or cut, with these rewrites; segments and rewrites."""
    document = Document(document_id="s", title="Corvane P-417", path="", text=source)
    bounds = [0, *([cut] if cut else []), len(source)]
    segments = [segment("s", start, end, source)
                for start, end in zip(bounds, bounds[1:], strict=False)]
    rows = [Normalized(segment_id=one.segment_id, document_id="s", rating=None, remark="",
                       text=text, dropped="" if text else "no rewrite in the reply")
            for one, text in zip(segments, rewrites, strict=True)]
    return audit(segments, [document], rows), segments, rows


STATED = ("# Corvane P-417\n\nThe pump is not sealed. It runs at 40 bar and draws 12 A. "
          "A filter must be fitted before the inlet. The housing is made of cast iron.\n\n"
          "| Part | Torque |\n|--|--|\n| flange bolt | 25 |\n| drain plug | 60 |\n")
WRITTEN = ("# Corvane P-417\n\nThe pump is not sealed. It runs at 40 bar and draws 12 A. A filter "
           "must be fitted before the inlet. The housing is made of cast iron.\n\nFor part flange "
           "bolt, the torque is 25. For part drain plug, the torque is 60.")


@pytest.mark.parametrize(("true", "false", "change", "kind"), [
    ("is not sealed", "is sealed", "lost", "negation"),
    ("must be fitted", "must not be fitted", "invented", "negation"),
    ("must be fitted", "mustn't be fitted", "invented", "negation"),
    ("It runs at 40 bar and draws 12 A", "It runs at 12 bar and draws 40 A", "invented", "order"),
    ("is 25. For part drain plug, the torque is 60", "is 60. For part drain plug, the torque is 25",
     "invented", "order"),
    (" The housing is made of cast iron.", "", "lost", "sentence"),
    (" For part drain plug, the torque is 60.", "", "lost", "sentence"),
    ("cast iron.", "cast iron. Magnets must be kept away from its display.", "invented",
     "sentence")])
def test_a_false_or_missing_sentence_is_found(true, false, change, kind):
    [kept], _, _ = audited([WRITTEN], source=STATED)
    assert not kept.is_changed
    [row], _, _ = audited([WRITTEN.replace(true, false)], source=STATED)
    assert getattr(row, change)[kind]


@pytest.mark.parametrize("paraphrase", [
    WRITTEN.replace("is not sealed", "is unsealed"),
    WRITTEN.replace("40 bar", "4 MPa"),
    WRITTEN.replace("A filter must be fitted before the inlet.",
                    "Before the inlet, a filter must be fitted.")])
def test_other_words_for_the_same_are_no_change(paraphrase):
    [row], _, _ = audited([paraphrase], source=STATED)
    assert not row.lost["negation"] and not row.invented["negation"]
    assert not row.lost["sentence"] and not row.invented["sentence"]


@pytest.mark.parametrize(("words", "kind"), [
    ("8443 10,000 20% -20 2024-05-07 36s", "number"), ("/etc/x.conf net/port.md main.py", "path"),
    ("v2 2.10.3 v1.0-rc.1", "version"), ("P-417 VxWorks max_rate gasket", "name")])
def test_the_kind_of_a_word(words, kind):
    assert {kind_of(word) for word in words.split()} == {kind}


def test_a_faithful_rewrite_loses_nothing():
    [row], _, _ = audited(["See /etc/harbor.conf for v2.10.3 of Corvane P-417 and 36 s. It has a "
                           "seal kit, a hex key and the port 8443."])
    assert not row.number("lost", "moved", "invented", "carried") and not row.is_changed
    assert row.said == {"number": 1, "unit": 1, "path": 1, "version": 1, "name": 6, "item": 4,
                        "sentence": 5, "negation": 0, "order": 0}


def test_each_kind_is_found_lost_or_invented():
    [row], _, _ = audited(["See /etc/hidden.conf for v2.10.4 of Corvane P-417 and 36 hours. It has "
                           "a seal and a key, and the port 8444 of QNX."])
    assert row.lost == {
        "number": ["8443"], "unit": ["36 seconds"], "path": ["/etc/harbor.conf"],
        "version": ["v2.10.3"], "name": ["kit", "hex"], "item": ["seal kit", "hex key", "8443"],
        "sentence": row.lost["sentence"], "negation": [], "order": []}
    assert row.invented == {
        "number": ["8444"], "unit": ["36 hours"], "path": ["/etc/hidden.conf"],
        "version": ["v2.10.4"], "name": ["QNX"], "item": [],
        "sentence": ["See /etc/hidden.conf for v2.10.4 of Corvane P-417 and 36 hours."],
        "negation": [], "order": []}
    table = kinds_table([row]).set_index("kind")
    assert list(table.columns) == ["said", "lost", "lost_percent", "moved", "written", "invented",
                                   "invented_percent", "carried"]
    assert list(table.loc["unit", ["said", "lost", "lost_percent"]]) == [1, 1, 100.0]
    assert list(table.loc["all", ["lost", "invented"]]) == [row.number("lost"), 6]
    assert "1/1 units" in sentence([row]) and "6 are nowhere" in sentence([row])


def test_an_amount_written_in_another_unit_is_kept():
    [row], _, _ = audited(["A restart takes 0.6 min."], source="A restart takes 36 seconds.")
    assert row.number("lost", "invented") == 0 and row.said["unit"] == 1


def test_what_is_in_the_next_rewrite_has_moved_and_what_comes_from_elsewhere_is_carried():
    rows, _, _ = audited(
        ["Corvane P-417 has /etc/harbor.conf, v2.10.3, 36 seconds and a seal kit.",
         "Corvane P-417 has a hex key and the port 8443."], CUT)
    by_id = {row.segment_id: row for row in rows}
    second = by_id[f"s{CUT}"]
    assert second.moved["name"] == ["seal", "kit"] and second.number("lost") == 0
    assert second.carried["name"] == ["P-417"]  # from the title
    assert by_id["s0"].number("lost", "invented", "moved") == 0


def test_the_worst_comes_first_and_a_dropped_segment_has_lost_all():
    rows, _, _ = audited(["See /etc/harbor.conf for v2.10.3 and 36 seconds, Corvane P-417.", ""],
                         CUT)
    assert [row.segment_id for row in rows] == [f"s{CUT}", "s0"]
    assert rows[0].lost == {
        "number": ["8443"], "unit": [], "path": [], "version": [],
        "name": ["seal", "kit", "hex", "key", "port"],
        "item": ["seal kit", "hex key", "port", "8443"],
        "sentence": ["seal kit", "hex key", "port", "port 8443"], "negation": [], "order": []}
    table = segments_table(rows)
    assert list(table.segment) == [f"s{CUT}"]
    assert table.dropped[0] and "8443" in table["words lost"][0]
    assert table.lost[0] == table.said[0] == rows[0].number("lost")


def test_the_rules_lose_and_invent_nothing_of_a_laboratory():
    documents, _ = make_records(make_products(6, seed=2), 2, public=False)
    segments = []
    for document in documents:
        cut, text = document.text.index("\n## "), document.text
        segments += [segment(document.document_id, start, end, text)
                     for start, end in ((0, cut), (cut, len(text)))]
    rows = audit(segments, documents, normalize(segments, documents, by_rules))
    assert sum(sum(row.said.values()) for row in rows) > 100
    assert sum(row.number("lost", "invented") for row in rows) == 0
    assert sum(row.said[kind] for row in rows for kind in KINDS) == kinds_table(rows).said.iloc[-1]


def test_the_page_marks_what_is_lost_and_escapes_the_rest(tmp_path, monkeypatch):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    source = "Port 8443 & <script>alert('x')</script> 8443"
    rewrite = "Nothing but <img src=x onerror=alert(1)> 17."
    rows, segments, rewrites = audited([rewrite], source=source)
    page = write_page("lab", rows, segments, rewrites).read_text(encoding="utf-8")
    assert "<script" not in page and "<img" not in page and "&lt;script&gt;" in page
    assert page.count('<mark class="lost">8443</mark>') == 2
    assert ('<mark class="invented">Nothing but &lt;img src=x onerror=alert(1)&gt; 17.</mark>'
            in page and page.startswith("<!DOCTYPE html>"))
    part = side_by_side(rows, segments, rewrites, 3)
    assert "1 of 1 changed segments" in part and "<html" not in part
    assert sentence([]).startswith("There is nothing to audit")


def test_the_page_keeps_the_texts_verbatim_between_the_marks(tmp_path):
    source = "Port 8443,\n  then  9000.\n"
    rows, segments, rewrites = audited(["Port 8443,\nthen\n 9000."], source=source)
    part = side_by_side(rows, segments, rewrites)
    assert "<td>" not in part  # nothing changed
    rows, segments, rewrites = audited(["Port 8443,\nthen\n 900."], source=source)
    part = side_by_side(rows, segments, rewrites)
    assert '<td>Port 8443,\n  then  <mark class="lost">9000</mark>.\n</td>' in part
    assert '<td>Port 8443,\nthen\n <mark class="invented">900</mark>.</td>' in part
