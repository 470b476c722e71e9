"""The ledger is right for every fact of a laboratory, whatever cuts, drops or holds it out."""

import random
import re
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.analyze.ledger.blocks import OtherTraining, Trained, read_trained
from lib.analyze.ledger.segmentations import compare_segmentations
from lib.analyze.ledger.tables import (
    conditional,
    counts,
    funnel,
    lost_rows,
    right_and_wrong,
    sentences,
)
from lib.analyze.ledger.trace import LedgerRow, make_ledger, subject_of
from lib.analyze.statistics.paired import clusters_of
from lib.analyze.tables import joined
from lib.annotate.queries import annotate
from lib.annotate.rules.engine import by_rules as annotate_by_rules
from lib.augment.drafts import augment
from lib.augment.rules import BY_RULES
from lib.core.arms import split_arm
from lib.core.files import write_json, write_records
from lib.core.records import Document, Query, Segment, Verdict
from lib.lab.base_model import train_tokenizer
from lib.lab.documents import make_records
from lib.lab.products import make_products
from lib.normalize.audit import audit
from lib.normalize.rewrite import normalize
from lib.normalize.rules.engine import by_rules as rewrite_by_rules
from lib.normalize.segments import segment
from lib.train.checkpoints import data_hash
from lib.train.texts import corpus_of, make_corpus
from tests.analyze.ledger.oracle import byte_ranges, wrong_rows

DOCUMENTS, FACTS = make_records(make_products(12, seed=5), 5, public=False)
TOKENIZER = train_tokenizer([document.text for document in DOCUMENTS], 400)
QUERIES, _ = annotate(DOCUMENTS, annotate_by_rules)


def made(max_tokens: int, arm: str, packing: str, block_size: int, segmentation: str = "plain"):
    """Return segments, rewrites (two of them dropped) and what an arm is trained on."""
    segments = segment(DOCUMENTS, TOKENIZER, max_tokens, segmentation)
    normalized = normalize(segments, DOCUMENTS, rewrite_by_rules)
    full = [place for place, row in enumerate(normalized) if row.text]
    for place in random.Random(3).sample(full, 2):
        lost = {"text": "", "dropped": "no rewrite in the reply"}
        normalized[place] = normalized[place].model_copy(update=lost)
    augmented = augment(segments, DOCUMENTS, QUERIES, BY_RULES, ["paraphrase"], 2)[0]
    corpus = make_corpus(segments, normalized, arm, 0.15, 42, augmented)
    return segments, normalized, Trained(corpus, TOKENIZER, block_size, packing)


def ledger_and_faults(segments, normalized, arm: str, trained: Trained):
    arms = {arm: trained}
    ledger = make_ledger(QUERIES, DOCUMENTS, segments, normalized, arms)
    return ledger, wrong_rows(ledger, FACTS, QUERIES, DOCUMENTS, segments, normalized, arms)


@pytest.mark.parametrize(("max_tokens", "arm", "packing", "block_size", "segmentation"), [
    (60, "dapt", "document", 48, "plain"), (60, "dapt-n", "document", 48, "plain"),
    (25, "dapt", "concat", 40, "plain"), (25, "dapt-n", "concat", 40, "table-aware"),
    (12, "dapt-n", "document", 24, "plain"), (12, "dapt", "document", 24, "plain"),
    (700, "dapt-n", "document", 320, "table-aware"), (60, "dapt-a", "document", 48, "plain"),
    (25, "dapt-a", "concat", 40, "plain")])
def test_every_row_is_right(max_tokens, arm, packing, block_size, segmentation):
    segments, normalized, trained = made(max_tokens, arm, packing, block_size, segmentation)
    ledger, wrong = ledger_and_faults(segments, normalized, arm, trained)
    assert len(ledger) == len(QUERIES) == len(FACTS) == 108 and wrong == []


def test_every_stage_loses_something_where_it_is_made_to():
    lost = set()
    for max_tokens, arm, block_size in ((60, "dapt-n", 24), (12, "dapt", 24)):
        segments, normalized, trained = made(max_tokens, arm, "document", block_size)
        ledger = make_ledger(QUERIES, DOCUMENTS, segments, normalized, {arm: trained})
        lost |= {row.lost_at for row in ledger}
        assert {row.block for row in ledger} == {"whole", "cut", "nowhere"}
    assert lost == {"", "segment", "extraction", "split", "block"}  # the rules change no answer


@pytest.mark.parametrize("max_tokens", [60, 700])
def test_what_a_rewrite_leaves_out_is_lost_there_and_found_by_the_audit(max_tokens):
    segments, normalized, _ = made(max_tokens, "dapt-n", "document", 48)
    gone = {}
    for fact in random.Random(8).sample(FACTS, 12):
        value = fact.value[0]
        place = next((n for n, one in enumerate(segments) if one.document_id == fact.document_id
                      and value in normalized[n].text), None)
        if place is not None:
            text = normalized[place].text.replace(value, "a value")
            normalized[place] = normalized[place].model_copy(update={"text": text})
            is_telling = fact.structure != "natural" or re.search(r"[A-Z]{2}|[a-z][A-Z]|\d", value)
            gone[fact.document_id, fact.start] = (segments[place].segment_id,
                                                  value if is_telling else "")
    corpus = make_corpus(segments, normalized, "dapt-n", 0.15, 42)
    trained = Trained(corpus, TOKENIZER, 320, "document")
    ledger, wrong = ledger_and_faults(segments, normalized, "dapt-n", trained)
    lost = {row.query_id for row in ledger if row.lost_at == "rewrite"}
    hit = {asked.query_id for asked in QUERIES for document_id, start in gone
           if asked.document_id == document_id and start <= asked.start < start + 60}
    assert wrong == [] and len(lost) >= 8 and lost <= hit
    audited = {row.segment_id: row for row in audit(segments, DOCUMENTS, normalized)}
    for segment_id, value in gone.values():
        row = audited[segment_id]
        found = [word for change in (row.lost, row.moved) for words in change.values()
                 for word in words]
        assert all(part in " ".join(found) for part in value.split()), (value, found)


@pytest.mark.parametrize("change", [
    {"start": 0}, {"segments": ["other"]}, {"split": "both"}, {"block": "cut"},
    {"rewritten_items": 0}, {"lost_at": "source"}, {"subject": "Linux"}])
def test_the_oracle_finds_a_wrong_row(change):
    segments, normalized, trained = made(60, "dapt-n", "document", 48)
    ledger, _ = ledger_and_faults(segments, normalized, "dapt-n", trained)
    ledger[7] = ledger[7].model_copy(update=change)
    wrong = wrong_rows(ledger, FACTS, QUERIES, DOCUMENTS, segments, normalized, {"dapt-n": trained})
    assert len(wrong) == 1 and ledger[7].query_id in wrong[0]


@pytest.mark.parametrize("packing", ["document", "concat"])
def test_the_oracle_reads_blocks_that_are_cut_inside_a_character(packing):
    texts = [f"Corvane {n} – the “Café” of {n * 37} – has №{n} tools of 5 µm and “{n * 11} °C”."
             for n in range(6)]
    trained = Trained(SimpleNamespace(training=texts, places={}), TOKENIZER, 7, packing)
    ranges, inside = byte_ranges(trained), 0
    for number, text in enumerate(texts):
        signs = text.encode()
        inside += sum(0 < start < len(signs) and signs[start] & 0xC0 == 0x80
                      for start, _ in ranges[number])
        for match in re.finditer(r"\w+", text):
            start, end = (len(text[:place].encode()) for place in match.span())
            is_whole = any(first <= start and end <= last for first, last in ranges[number])
            assert is_whole == bool(trained.locate(number, *match.span()).whole), match[0]
    assert inside
    texts[0] += " And more."  # that no block holds
    with pytest.raises(ValueError, match="no blocks hold the text"):
        byte_ranges(trained)


@given(st.lists(st.text(alphabet="ab é1.|\n", min_size=1, max_size=60).filter(str.strip),
                min_size=1, max_size=4),
       st.integers(4, 20), st.sampled_from(["document", "concat"]), st.data())
def test_a_passage_is_complete_exactly_in_pieces_that_hold_it(texts, block_size, packing, data):
    trained = Trained(SimpleNamespace(training=texts, places={}), TOKENIZER, block_size, packing)
    assert sum(map(len, trained.streams)) == trained.blocks.n_tokens
    number = data.draw(st.integers(0, len(texts) - 1))
    spans = [match.span() for match in re.finditer(r"\w+", texts[number])]
    if not spans:
        return
    start, end = data.draw(st.sampled_from(spans))
    located = trained.locate(number, start, end)
    assert located.parts
    stream = trained.streams[trained.begins[number][0]]
    for piece in located.whole:
        assert texts[number][start:end] in piece.text
        assert set(trained.blocks.input_ids[piece.block]) >= set(stream[piece.start:piece.end])


def test_the_subject_is_the_first_name_in_the_question():
    names = ["Notes", "Corvane P-4"]
    assert subject_of("What is the port of Corvane P-4?", names) == "Corvane P-4"
    assert subject_of("What is the port?", ["Corvane P-4", "3.5"]) == ""


def query(**changes) -> Query:
    return Query(**({
        "query_id": "q", "document_id": "d", "question": "What are the tools of Corvane?",
        "answer": "drill", "structure": "natural", "source_reference": "", "start": 0, "end": 0,
        "entity_count": None, "block_type": "prose"} | changes))


TOOLS = "# Corvane\n\n- drill\n- hex key\n\nIt restarts after 30 s.\n"
SCALAR = {"answer": "30 s", "structure": "natural", "entity_count": None,
          "start": TOOLS.index("It"), "end": len(TOOLS)}


def traced(rewritten: str, arm: str = "dapt-n", dropped: str = "", **changes) -> LedgerRow:
    """Return the row of one query on a document of one segment with this rewrite."""
    document = Document(document_id="d", title="Corvane", path="", text=TOOLS)
    segments = [Segment(segment_id="s", document_id="d", start=0, end=len(TOOLS), text=TOOLS,
                        n_tokens=1)]
    rewrites = [row.model_copy(update={"text": rewritten, "dropped": dropped})
                for row in normalize(segments, [document], rewrite_by_rules)]
    corpus = corpus_of(segments, rewrites, split_arm(arm)[0], [])
    tools = {"answer": "drill\nhex key", "structure": "entity-list", "entity_count": 2,
             "start": TOOLS.index("- drill"), "end": TOOLS.index("It")}
    packed = corpus if corpus.training else corpus_of(segments, rewrites, "dapt", [])
    trained = Trained(packed, TOKENIZER, 64, "document")
    trained.corpus = corpus
    return make_ledger([query(**tools | changes)], [document], segments, rewrites,
                       {arm: trained})[0]


def test_a_list_is_followed_item_by_item():
    row = traced("The tools of Corvane are drill and others.")
    assert (row.source_items, row.rewritten_items, row.rewritten, row.lost_at) == (
        2, 1, "absent", "rewrite")
    row = traced("The tools of Corvane are a DRILL and a Hex\nKey.")
    assert (row.rewritten, row.block, row.lost_at, row.subject_in_block) == (
        "folded", "whole", "", True)
    assert "DRILL" in row.passage


def test_a_changed_unit_is_noted_and_loses_nothing():
    row = traced("Corvane restarts after 0.5 min.", **SCALAR)
    assert (row.source, row.rewritten, row.lost_at) == ("exact", "unit", "")


@pytest.mark.parametrize(("rewritten", "changes", "stage"), [
    ("Corvane restarts.", {}, "rewrite"), ("Corvane restarts.", {"arm": "dapt@2"}, ""),
    ("", {"dropped": "no reply"}, "extraction"),
    ("Corvane restarts.", {"answer": "40 s"}, "source")])
def test_the_first_stage_that_loses_an_answer(rewritten, changes, stage):
    assert traced(rewritten, **SCALAR | changes).lost_at == stage


CUT = ("# Corvane\n\nThe tools of Corvane stand in the house, and after a fall in voltage it "
       "restarts\nafter 30 s. It has a red door.\n")


def cut_at(border: str, arm: str = "dapt-n", held_out: tuple[int, ...] = (), block_size: int = 320,
           rewritten: str | None = None) -> LedgerRow:
    """Return the row of "30 s", with a segment border before or in its sentence."""
    document = Document(document_id="d", title="Corvane", path="", text=CUT)
    borders = [0, CUT.index(border), len(CUT)]
    segments = [Segment(segment_id=f"s{n}", document_id="d", start=start, end=end,
                        text=CUT[start:end], n_tokens=1)
                for n, (start, end) in enumerate(zip(borders, borders[1:], strict=False))]
    rewrites = normalize(segments, [document], rewrite_by_rules)
    if rewritten is not None:
        rewrites[0] = rewrites[0].model_copy(update={"text": rewritten})
    corpus = corpus_of(segments, rewrites, arm, [f"s{n}" for n in held_out])
    asked = query(question="After how long does Corvane restart?", answer="30 s",
                  start=CUT.index("The tools"), end=CUT.index(" It has"))
    trained = Trained(corpus, TOKENIZER, block_size, "document")
    return make_ledger([asked], [document], segments, rewrites, {arm: trained})[0]


def test_the_end_of_a_cut_sentence_is_found_in_the_rewrite_where_it_begins():
    border = "after 30 s"
    row = cut_at(border)
    assert (row.segments, row.segment, row.rewritten, row.block, row.lost_at) == (
        ["s1"], "whole", "exact", "whole", "")
    assert row.passage.endswith("restarts after 30 s.") and row.subject_in_segment
    row = cut_at(border, held_out=(0,))  # where it is
    assert (row.rewritten, row.split, row.block, row.lost_at) == (
        "exact", "held out", "nowhere", "split")
    assert cut_at(border, held_out=(1,)).lost_at == ""  # where it is not
    short = "The tools of Corvane stand in the house."
    assert cut_at(border, rewritten=short).lost_at == "rewrite"
    assert cut_at("It has").rewritten == cut_at("s. It").rewritten == "exact"


def test_a_border_loses_raw_text_only_where_one_side_is_held_out():
    rows = [cut_at("s. It", "dapt", block_size=size) for size in range(8, 24)]
    assert {(row.segment, row.split) for row in rows} == {("cut", "training")}
    assert {(row.block, row.lost_at) for row in rows} == {("cut", "block"), ("whole", "")}
    assert cut_at("s. It", "dapt").lost_at == ""
    assert cut_at("s. It", "dapt", held_out=(1,)).lost_at == "segment"
    assert cut_at("after 30 s", "dapt", held_out=(1,)).lost_at == "split"


def test_the_tables_add_up_to_the_ledger():
    segments, normalized, trained = made(60, "dapt-n", "document", 48)
    ledger = make_ledger(QUERIES, DOCUMENTS, segments, normalized, {"dapt-n": trained})
    reached = sum(row.lost_at == "" for row in ledger)
    table = funnel(ledger, clusters_of(QUERIES, FACTS))
    for _, cell in table.groupby("structure"):
        assert cell.alive.is_monotonic_decreasing
        assert ((cell.low <= cell.share) & (cell.share <= cell.high)).all()
    last = table[(table.structure == "all") & (table.stage == "block")].iloc[0]
    assert (last.n, last.alive) == (108, reached) and 0 < reached < 108
    assert counts(ledger).set_index("structure").loc["all", "in training"] == reached

    verdicts = joined(QUERIES, [
        Verdict(query_id=row.query_id, arm="dapt-n", judge="rules", reason="",
                verdict="incorrect" if row.lost_at else "correct") for row in ledger])
    by_reach = conditional(ledger, verdicts)
    cells = by_reach.set_index(["structure", "kind"])
    assert cells.loc[("all", "in training"), ["correct", "n"]].tolist() == [reached, reached]
    assert cells.loc[("all", "not in training"), "correct"] == 0
    summary = sentences(ledger, by_reach)
    assert f"Of 108 queries, {reached} (" in summary and f"{reached}/{reached}" in summary
    with pytest.raises(ValueError, match="05_judge"):
        conditional(ledger, verdicts[5:])

    sample = right_and_wrong(ledger, QUERIES, verdicts, "dapt-n", each=3)
    assert list(sample.verdict) == ["correct"] * 3 + ["incorrect"] * 3
    assert list(sample["lost at"] == "") == [True] * 3 + [False] * 3
    assert all(row.answer.split(",")[0] in row.passage for row in sample[:3].itertuples())
    few = lost_rows(ledger, QUERIES, each=1)
    assert sorted(few["lost at"]) == sorted({row.lost_at for row in ledger} - {""})


def test_an_arm_is_read_as_it_was_trained_and_other_text_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    segments, normalized, trained = made(60, "dapt", "document", 48)
    folder = tmp_path / "data" / "lab" / "models" / "dapt@2"
    TOKENIZER.save_pretrained(folder)
    write_json(folder / "training.json", {
        "held_out": trained.corpus.held_out, "block_size": 48, "packing": "document",
        "fingerprint": {"data.training": data_hash(trained.blocks)}})
    again = read_trained("lab", "dapt@2", segments, normalized)
    assert again.blocks.input_ids == trained.blocks.input_ids
    with pytest.raises(OtherTraining, match="03_train.ipynb with arm dapt@2"):
        read_trained("lab", "dapt@2", segments[:-3], normalized)


def test_rows_are_records_and_a_missing_document_is_named(tmp_path):
    segments, normalized, trained = made(60, "dapt", "document", 48)
    ledger = make_ledger(QUERIES[:2], DOCUMENTS, segments, normalized, {"dapt": trained})
    lines = write_records(tmp_path / "ledger.jsonl", ledger).read_text().splitlines()
    assert [LedgerRow.model_validate_json(line) for line in lines] == ledger
    with pytest.raises(KeyError, match="01_annotate"):
        make_ledger(QUERIES[:2], [], segments, normalized, {"dapt": trained})


def test_table_aware_segments_keep_the_header_in_sight_and_lose_no_answer():
    rows = "".join(f"| Valve {n} | {n * 137 + 1000} |\n" for n in range(40))
    text = f"# Corvane\n\n| Item | Setting |\n|--|--|\n{rows}"
    starts = [text.index(f"Valve {n} ") for n in range(40)]
    asked = [query(query_id=f"q{n}", question=f"What is the setting of valve {n} of Corvane?",
                   answer=str(n * 137 + 1000), structure="tabular", start=start,
                   end=text.index(" |\n", start)) for n, start in enumerate(starts)]
    document = Document(document_id="d", title="Corvane", path="", text=text)
    table = compare_segmentations([document], asked, TOKENIZER, 120, 64).set_index("count")
    assert table.loc["queries on a table"].tolist() == [40, 40]
    assert table.loc["tables cut"].tolist() == [1, 1]
    assert table.loc["cuts inside a row"].tolist() == [0, 0]
    assert table.loc["rewritten exact"].tolist() == [40, 40]
    in_sight = table.loc["of these with the header in sight"]
    assert in_sight["plain"] < 20 and in_sight["table-aware"] == 40
    repeated, segments = (table.loc[name, "table-aware"]
                          for name in ("with repeated header", "segments"))
    assert repeated == segments - 1
