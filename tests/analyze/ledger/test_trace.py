"""The ledger is right for every fact of a laboratory, whatever cuts, drops and holds it out; its words by hand."""

import random
import re
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lib.analyze.ledger.blocks import OtherTraining, Trained, read_trained
from lib.analyze.ledger.check import _ranges, wrong_rows
from lib.analyze.ledger.matching import items_of, nearest, places, worst
from lib.analyze.ledger.segmentations import compare_segmentations
from lib.analyze.ledger.tables import conditional, counts, funnel, lost_rows, right_and_wrong, sentences
from lib.analyze.ledger.trace import LedgerRow, make_ledger, subject_of
from lib.analyze.tables import joined
from lib.annotate.queries import annotate
from lib.core.arms import split_arm
from lib.core.files import write_json, write_records
from lib.core.records import Document, Query, Segment, Verdict
from lib.lab.base_model import train_tokenizer
from lib.lab.documents import make_records
from lib.lab.products import make_products
from lib.normalize.audit import audit
from lib.normalize.rewrite import normalize
from lib.normalize.segments import segment
from lib.train.checkpoints import data_hash
from lib.train.corpus import make_corpus, texts_of

DOCUMENTS, FACTS = make_records(make_products(12, seed=5), 5, public=False)
TOKENIZER = train_tokenizer([document.text for document in DOCUMENTS], 400)
QUERIES, _ = annotate(DOCUMENTS)


def made(max_tokens: int, arm: str, packing: str, block_size: int, segmentation: str = "plain", share: float = 0.15):
    """Segments, rewrites (two of them dropped, as a model's reply may be) and what an arm is trained on."""
    segments = segment(DOCUMENTS, TOKENIZER, max_tokens, segmentation)
    normalized = normalize(segments, DOCUMENTS)
    full = [place for place, row in enumerate(normalized) if row.text]
    for place in random.Random(3).sample(full, 2):
        normalized[place] = normalized[place].model_copy(update={"text": "", "dropped": "no rewrite in the reply"})
    corpus = make_corpus(segments, normalized, arm, share, 42)
    return segments, normalized, Trained(corpus, TOKENIZER, block_size, packing)


@pytest.mark.parametrize(("max_tokens", "arm", "packing", "block_size", "segmentation"), [
    (60, "dapt", "document", 48, "plain"), (60, "dapt-n", "document", 48, "plain"), (25, "dapt", "concat", 40, "plain"),
    (25, "dapt-n", "concat", 40, "table-aware"), (12, "dapt-n", "document", 24, "plain"),
    (12, "dapt", "document", 24, "plain"),
    (700, "dapt-n", "document", 320, "table-aware")])
def test_it_is_right_for_every_fact_of_a_laboratory(max_tokens, arm, packing, block_size, segmentation):
    segments, normalized, trained = made(max_tokens, arm, packing, block_size, segmentation)
    ledger = make_ledger(QUERIES, DOCUMENTS, segments, normalized, {arm: trained})
    assert len(ledger) == len(QUERIES) == len(FACTS) == 108
    assert wrong_rows(ledger, FACTS, QUERIES, DOCUMENTS, segments, normalized, {arm: trained}) == []


def test_every_stage_loses_something_where_it_is_made_to():
    lost = set()
    for max_tokens, arm, packing, block_size in ((60, "dapt-n", "document", 24), (12, "dapt", "document", 24)):
        segments, normalized, trained = made(max_tokens, arm, packing, block_size)
        ledger = make_ledger(QUERIES, DOCUMENTS, segments, normalized, {arm: trained})
        lost |= {row.lost_at for row in ledger}
        assert {row.block for row in ledger} == {"whole", "cut", "nowhere"}
    assert lost == {"", "segment", "extraction", "split", "block"}  # the rules neither miss nor change an answer


@pytest.mark.parametrize("max_tokens", [60, 700])
def test_what_a_rewrite_leaves_out_is_lost_there_and_found_by_the_audit(max_tokens):
    segments, normalized, _ = made(max_tokens, "dapt-n", "document", 48)
    gone = {}
    for fact in random.Random(8).sample(FACTS, 12):
        place = next((n for n, one in enumerate(segments) if one.document_id == fact.document_id
                      and fact.value[0] in normalized[n].text), None)
        if place is not None:
            text = normalized[place].text.replace(fact.value[0], "a value")
            normalized[place] = normalized[place].model_copy(update={"text": text})
            is_telling = fact.structure != "natural" or re.search(r"[A-Z]{2}|[a-z][A-Z]|\d", fact.value[0])
            gone[fact.document_id, fact.start] = (segments[place].segment_id, fact.value[0] if is_telling else "")
    corpus = make_corpus(segments, normalized, "dapt-n", 0.15, 42)
    arms = {"dapt-n": Trained(corpus, TOKENIZER, 320, "document")}
    ledger = make_ledger(QUERIES, DOCUMENTS, segments, normalized, arms)
    assert wrong_rows(ledger, FACTS, QUERIES, DOCUMENTS, segments, normalized, arms) == []
    lost = {row.query_id for row in ledger if row.lost_at == "rewrite"}
    hit = {asked.query_id for asked in QUERIES for (document_id, start) in gone
           if asked.document_id == document_id and start <= asked.start < start + 60}
    assert len(lost) >= 8 and lost <= hit
    audited = {row.segment_id: row for row in audit(segments, DOCUMENTS, normalized)}
    for segment_id, value in gone.values():
        row = audited[segment_id]
        said = " ".join(word for change in (row.lost, row.moved) for words in change.values() for word in words)
        assert all(part in said for part in value.split()), (value, said)


@pytest.mark.parametrize("change", [
    {"start": 0}, {"segments": ["other"]}, {"split": "both"}, {"block": "cut"}, {"rewritten_items": 0},
    {"lost_at": "source"}, {"subject": "Linux"}])
def test_the_check_finds_a_wrong_row(change):
    segments, normalized, trained = made(60, "dapt-n", "document", 48)
    arms = {"dapt-n": trained}
    ledger = make_ledger(QUERIES, DOCUMENTS, segments, normalized, arms)
    ledger[7] = ledger[7].model_copy(update=change)
    wrong = wrong_rows(ledger, FACTS, QUERIES, DOCUMENTS, segments, normalized, arms)
    assert len(wrong) == 1 and ledger[7].query_id in wrong[0]


@settings(max_examples=25, deadline=None)
@given(st.lists(st.text(alphabet="ab é1.|\n", min_size=1, max_size=60).filter(str.strip), min_size=1, max_size=4),
       st.integers(4, 20), st.sampled_from(["document", "concat"]), st.data())
def test_a_stretch_is_whole_in_a_piece_exactly_where_the_piece_holds_it(texts, block_size, packing, data):
    corpus = SimpleNamespace(training=texts, places={})
    trained = Trained(corpus, TOKENIZER, block_size, packing)
    number = data.draw(st.integers(0, len(texts) - 1))
    stretches = [match.span() for match in re.finditer(r"\w+", texts[number])]
    if not stretches:
        return
    start, end = data.draw(st.sampled_from(stretches))
    located = trained.locate(number, start, end)
    assert located.parts
    for piece in located.whole:
        assert texts[number][start:end] in piece.text
        assert set(trained.blocks.input_ids[piece.block]) >= {
            token for token in trained.streams[trained.begins[number][0]][piece.start:piece.end]}
    assert sum(map(len, trained.streams)) == trained.blocks.n_tokens


@pytest.mark.parametrize(("item", "text", "form"), [
    ("8443", "The port is 8443.", "exact"), ("8443", "18443, 8443.5, P-8443 and 8443-2", None),
    ("-20 °C", "at -20 °C", "exact"), ("20 °C", "at -20 °C", None), ("20 °C", "20-40 °C", None),
    ("Hex Key", "a hex  key", "folded"), ("hex key", "a **hex** key", "folded"), ("hex key", "a hexkey", None),
    ("C++", "written in C", None), ("C", "written in C++", None), ("C++", "written in c++.", "folded"),
    ("30 s", "after 0.5 min", "unit"), ("30 s", "after 30 ms", None), ("2 GB", "2048 MB of it", "unit"),
    ("2024-05-07", "on 7 May 2024", "unit"), ("1,024", "1024 places", "unit"), ("5 m", "at 5 m/s", None),
    ("Linux", "[docs](Linux/x.md)", "exact"), ("guide text", "[guide](a/b.md) text", "folded"), ("", "any", None),
    ("guide text", "guide (https://a.b/c) text", "folded"), ("speed in m", "speed (m/s) in m", None),
    ("50", "_Default Value: 50_", "exact"), ("raft_term", "the **raft_term**", "exact"), ("term", "raft_term", None),
    ("≥ 5 V", "5 V", None), ("v1.2", "v1.2.3", None), ("/etc/x.conf", "in /etc/x.conf.", "exact")])
def test_an_answer_stands_in_a_text_or_not(item, text, form):
    found = places(item, text)
    assert [place.form for place in found[:1]] == ([form] if form else [])
    assert all(0 <= place.start < place.end <= len(text) for place in found)


@settings(max_examples=80, deadline=None)
@given(st.text(alphabet="abz 18.,-/\n*", max_size=40), st.text(alphabet="abz 18.,-/\n*", max_size=12),
       st.text(alphabet="abz 18.,-/\n*", max_size=40))
def test_what_is_put_between_blanks_is_found(before, item, after):
    item = re.sub(r"^[^a-z]+|[^a-z]+$", "", item)
    if item:
        text = f"{before} {item} {after}"
        assert any(text[place.start:place.end] == item for place in places(item, text))


def query(**changes) -> Query:
    return Query(**({"query_id": "q", "document_id": "d", "question": "What are the tools of Corvane?",
                     "answer": "drill", "structure": "natural", "source_reference": "", "start": 0, "end": 0,
                     "entity_count": None, "block_type": "prose"} | changes))


def test_the_items_of_an_answer():
    assert items_of(query(answer="drill\nhex key", entity_count=2)) == ["drill", "hex key"]
    assert items_of(query(answer="drill, hex key and pliers")) == ["drill", "hex key", "pliers"]
    assert items_of(query(answer="8443 ")) == ["8443"]
    assert worst(["exact", "unit", "folded"]) == "unit" and worst([]) == "absent"


def test_of_several_places_the_sentence_like_the_question_counts():
    text = "The memory size of Corvane is 80 MB. The port of Corvane is 80."
    assert nearest(places("80", text), text, "What is the port of Corvane?").start == text.rindex("80")
    assert subject_of("What is the port of Corvane P-4?", ["Notes", "Corvane P-4"]) == "Corvane P-4"
    assert subject_of("What is the port?", ["Corvane P-4", "3.5"]) == ""


def traced(rewritten: str, arm: str = "dapt-n", dropped: str = "", **changes) -> LedgerRow:
    """The row of one query on a document of one segment that was rewritten so."""
    text = "# Corvane\n\n- drill\n- hex key\n\nIt restarts after 30 s.\n"
    document = Document(document_id="d", title="Corvane", path="", text=text)
    segments = [Segment(segment_id="s", document_id="d", start=0, end=len(text), text=text, n_tokens=1)]
    rewrites = [row.model_copy(update={"text": rewritten, "dropped": dropped})
                for row in normalize(segments, [document])]
    corpus = texts_of(segments, rewrites, split_arm(arm)[0], [])
    asked = query(**({"answer": "drill\nhex key", "structure": "entity-list", "entity_count": 2,
                      "start": text.index("- drill"), "end": text.index("It")} | changes))
    fallback = corpus if corpus.training else texts_of(segments, rewrites, "dapt", [])
    trained = Trained(fallback, TOKENIZER, 64, "document")
    trained.corpus = corpus
    return make_ledger([asked], [document], segments, rewrites, {arm: trained})[0]


def test_a_list_is_followed_item_by_item():
    row = traced("The tools of Corvane are drill and others.")
    assert (row.source_items, row.rewritten_items, row.rewritten, row.lost_at) == (2, 1, "absent", "rewrite")
    row = traced("The tools of Corvane are a DRILL and a Hex\nKey.")
    assert (row.rewritten, row.block, row.lost_at, row.subject_in_block) == ("folded", "whole", "", True)
    assert "DRILL" in row.passage


def test_a_changed_unit_is_said_and_loses_nothing():
    text = "# Corvane\n\n- drill\n- hex key\n\nIt restarts after 30 s.\n"
    scalar = {"answer": "30 s", "structure": "natural", "entity_count": None, "start": text.index("It"),
              "end": len(text)}
    row = traced("Corvane restarts after 0.5 min.", **scalar)
    assert (row.source, row.rewritten, row.lost_at) == ("exact", "unit", "")
    assert traced("Corvane restarts.", **scalar).lost_at == "rewrite"
    assert traced("Corvane restarts.", arm="dapt@2", **scalar).lost_at == ""
    assert traced("", dropped="no reply", **scalar).lost_at == "extraction"
    assert traced("Corvane restarts.", **scalar | {"answer": "40 s"}).lost_at == "source"


TORN = ("# Corvane\n\nThe tools of Corvane stand in the house, and after a fall in voltage it restarts\nafter 30 s. "
        "It has a red door.\n")


def torn(arm: str = "dapt-n", held_out: tuple[int, ...] = (), block_size: int = 320, cut: str = "after 30 s",
         rewritten: str | None = None) -> LedgerRow:
    """The row of "30 s", whose sentence is cut before or in it into two segments that the rules rewrite."""
    document = Document(document_id="d", title="Corvane", path="", text=TORN)
    borders = [0, TORN.index(cut), len(TORN)]
    segments = [Segment(segment_id=f"s{n}", document_id="d", start=start, end=end, text=TORN[start:end], n_tokens=1)
                for n, (start, end) in enumerate(zip(borders, borders[1:], strict=False))]
    rewrites = normalize(segments, [document])
    if rewritten is not None:
        rewrites[0] = rewrites[0].model_copy(update={"text": rewritten})
    corpus = texts_of(segments, rewrites, arm, [f"s{n}" for n in held_out])
    asked = query(question="After how long does Corvane restart?", answer="30 s", start=TORN.index("The tools"),
                  end=TORN.index(" It has"))
    return make_ledger([asked], [document], segments, rewrites,
                       {arm: Trained(corpus, TOKENIZER, block_size, "document")})[0]


def test_the_tail_of_a_torn_sentence_is_found_in_the_rewrite_where_it_begins():
    row = torn()
    assert (row.segments, row.segment, row.rewritten, row.block, row.lost_at) == (["s1"], "whole", "exact", "whole", "")
    assert row.passage.endswith("restarts after 30 s.") and row.subject_in_segment
    row = torn(held_out=(0,))  # where it stands
    assert (row.rewritten, row.split, row.block, row.lost_at) == ("exact", "held out", "nowhere", "split")
    assert torn(held_out=(1,)).lost_at == ""  # where it does not
    assert torn(rewritten="The tools of Corvane stand in the house.").lost_at == "rewrite"
    assert torn(cut="It has").rewritten == torn(cut="s. It").rewritten == "exact"


def test_a_border_loses_raw_text_only_where_one_side_is_held_out():
    rows = [torn("dapt", block_size=size, cut="s. It") for size in range(8, 24)]
    assert {(row.segment, row.split) for row in rows} == {("cut", "training")}
    assert {(row.block, row.lost_at) for row in rows} == {("cut", "block"), ("whole", "")}
    assert torn("dapt", cut="s. It").lost_at == ""
    assert torn("dapt", held_out=(1,), cut="s. It").lost_at == "segment"
    assert torn("dapt", held_out=(1,)).lost_at == "split"


@pytest.mark.parametrize("packing", ["document", "concat"])
def test_the_check_reads_blocks_that_are_cut_inside_a_character(packing):
    texts = [f"Corvane {n} – the “Café” of {n * 37} – has №{n} tools of 5 µm and “{n * 11} °C”." for n in range(6)]
    trained = Trained(SimpleNamespace(training=texts, places={}), TOKENIZER, 7, packing)
    said, inside = _ranges(trained), 0
    for number, text in enumerate(texts):
        signs = text.encode()
        inside += sum(0 < start < len(signs) and signs[start] & 0xC0 == 0x80 for start, _ in said[number])
        for match in re.finditer(r"\w+", text):
            start, end = (len(text[:place].encode()) for place in match.span())
            is_whole = any(first <= start and end <= last for first, last in said[number])
            assert is_whole == bool(trained.locate(number, *match.span()).whole), match[0]
    assert inside


def test_the_check_says_which_rows_it_cannot_check():
    segments, normalized, trained = made(60, "dapt", "document", 48)
    ledger = make_ledger(QUERIES[:3], DOCUMENTS, segments, normalized, {"dapt": trained})
    trained.corpus.training[0] += " And more."  # that no block holds
    wrong = wrong_rows(ledger, FACTS, QUERIES, DOCUMENTS, segments, normalized, {"dapt": trained})
    assert len(wrong) == 3 and all("cannot be checked: no blocks hold the text" in line for line in wrong)


def test_the_funnel_only_narrows_and_ends_at_what_is_in_training():
    segments, normalized, trained = made(60, "dapt-n", "document", 48)
    ledger = make_ledger(QUERIES, DOCUMENTS, segments, normalized, {"dapt-n": trained})
    table = funnel(ledger)
    for _, cell in table.groupby("structure"):
        assert cell.alive.is_monotonic_decreasing and (cell.low <= cell.share).all() and (cell.share <= cell.high).all()
    whole = table[(table.structure == "all") & (table.stage == "block")].iloc[0]
    reached = sum(row.lost_at == "" for row in ledger)
    assert (whole.n, whole.alive) == (108, reached) and 0 < reached < 108
    assert counts(ledger).set_index("structure").loc["all", "in training"] == reached
    verdicts = [Verdict(query_id=row.query_id, arm="dapt-n", judge="rules", reason="",
                        verdict="incorrect" if row.lost_at else "correct") for row in ledger]
    split = conditional(ledger, joined(QUERIES, verdicts)).set_index(["structure", "kind"])
    assert split.loc[("all", "in training"), "correct"] == split.loc[("all", "in training"), "n"] == reached
    assert split.loc[("all", "not in training"), "correct"] == 0
    said = sentences(ledger, split.reset_index())
    assert f"Of 108 queries, {reached} (" in said and f"{reached}/{reached}" in said
    sample = right_and_wrong(ledger, QUERIES, joined(QUERIES, verdicts), "dapt-n", each=3)
    assert list(sample.verdict) == ["correct"] * 3 + ["incorrect"] * 3
    assert list(sample["lost at"] == "") == [True] * 3 + [False] * 3
    assert all(row.answer.split(",")[0] in row.passage for row in sample[:3].itertuples())
    few = lost_rows(ledger, QUERIES, each=1)
    assert sorted(few["lost at"]) == sorted({row.lost_at for row in ledger} - {""})
    with pytest.raises(ValueError, match="05_judge"):
        conditional(ledger, joined(QUERIES, verdicts)[5:])


def test_the_arm_is_read_as_it_was_trained_and_other_text_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    segments, normalized, trained = made(60, "dapt", "document", 48)
    folder = tmp_path / "data" / "lab" / "models" / "dapt@2"
    TOKENIZER.save_pretrained(folder)
    write_json(folder / "training.json", {
        "held_out": trained.corpus.held_out, "block_size": 48, "packing": "document",
        "identity": {"data.training": data_hash(trained.blocks)}})
    assert read_trained("lab", "dapt@2", segments, normalized).blocks.input_ids == trained.blocks.input_ids
    with pytest.raises(OtherTraining, match="03_train.ipynb with arm dapt@2"):
        read_trained("lab", "dapt@2", segments[:-3], normalized)


def test_rows_are_records(tmp_path):
    segments, normalized, trained = made(60, "dapt", "document", 48)
    ledger = make_ledger(QUERIES[:2], DOCUMENTS, segments, normalized, {"dapt": trained})
    path = write_records(tmp_path / "ledger.jsonl", ledger)
    assert [LedgerRow.model_validate_json(line) for line in path.read_text().splitlines()] == ledger
    with pytest.raises(KeyError, match="01_annotate"):
        make_ledger(QUERIES[:2], [], segments, normalized, {"dapt": trained})


def test_table_aware_segments_keep_the_header_in_sight_and_lose_no_answer():
    rows = "".join(f"| Valve {n} | {n * 137 + 1000} |\n" for n in range(40))
    text = f"# Corvane\n\n| Item | Setting |\n|--|--|\n{rows}"
    document = Document(document_id="d", title="Corvane", path="", text=text)
    asked = [query(query_id=f"q{n}", question=f"What is the setting of valve {n} of Corvane?",
                   answer=str(n * 137 + 1000), structure="tabular", start=document.text.index(f"Valve {n} "),
                   end=document.text.index(" |\n", document.text.index(f"Valve {n} "))) for n in range(40)]
    table = compare_segmentations([document], asked, TOKENIZER, 120, 64).set_index("count")
    assert table.loc["queries on a table"].tolist() == [40, 40] and table.loc["tables cut"].tolist() == [1, 1]
    assert table.loc["of these with the header in sight", "plain"] < 20
    assert table.loc["of these with the header in sight", "table-aware"] == 40
    assert table.loc["with repeated header", "table-aware"] == table.loc["segments", "table-aware"] - 1
    assert table.loc["rewritten exact"].tolist() == [40, 40] and table.loc["cuts inside a row"].tolist() == [0, 0]
