"""The ledger: where an answer is found, and the first stage that loses it."""

import random

import pytest

from lib.analyze.ledger import (
    STAGES,
    LedgerRow,
    Trained,
    ledger_table,
    make_ledger,
    nearest,
    read_trained,
)
from lib.analyze.tables import joined
from lib.annotate.questions import annotate
from lib.core.arms import corpus_of
from lib.core.records import Document
from lib.core.store import BadInput, write_json
from lib.judge.scorer import split_items
from lib.lab.bases import train_tokenizer
from lib.lab.facts import ask_facts, rewrite_facts
from lib.lab.records import make_products, make_records
from lib.normalize.segment import segment
from lib.train.corpus import pack, read_corpus, split
from tests.rows import query, rewritten, segments_of, verdicts

DOCUMENTS, FACTS = make_records(make_products(12, seed=5), 5)
TOKENIZER = train_tokenizer([document.text for document in DOCUMENTS], 400)
QUERIES, _ = annotate(DOCUMENTS, ask_facts(FACTS))


def prepared(max_tokens: int, arm: str):
    """Return segments, rewrites (two of them dropped) and what an arm is trained on."""
    segments = segment(DOCUMENTS, TOKENIZER, max_tokens)
    normalized = rewrite_facts(segments, DOCUMENTS, FACTS)
    full = [place for place, row in enumerate(normalized) if row.text]
    for place in random.Random(3).sample(full, 2):
        lost = {"text": "", "dropped": "no rewrite in the reply"}
        normalized[place] = normalized[place].model_copy(update=lost)
    kind, held_out = corpus_of(arm), split(segments, 0.15)
    corpus = read_corpus("", kind, segments, normalized, held_out)
    return segments, normalized, Trained(corpus, kind)


@pytest.mark.parametrize(("max_tokens", "arm"), [(60, "dapt"), (25, "dapt-n"), (12, "dapt")])
def test_an_answer_in_training_is_in_a_training_text_and_a_lost_one_in_none(max_tokens, arm):
    segments, normalized, trained = prepared(max_tokens, arm)
    texts = [" ".join(text.split()) for text in trained.corpus.training]
    ledger = make_ledger(QUERIES, DOCUMENTS, segments, normalized, {arm: trained})
    assert len(ledger) == len(QUERIES) == len(FACTS) == 108
    values = [query.answer for query in QUERIES]
    for one, row in zip(QUERIES, ledger, strict=True):
        items = split_items(one.answer, one.entity_count)
        is_there = any(all(item in text for item in items) for text in texts)
        if row.lost_at == "":
            assert is_there, row
        elif values.count(one.answer) == 1 and len(items[0]) > 8:
            assert not is_there, row
    states = {row.query_id: "incorrect" if row.lost_at else "correct" for row in ledger}
    table = ledger_table(ledger, joined(QUERIES, verdicts(arm, states)))
    assert (table[list(STAGES)].diff(axis=1).iloc[:, 1:] <= 0).all(axis=None)
    row, n = table.set_index("structure").loc["all"], [*states.values()].count("correct")
    counts = row[["n", "split", "correct_in", "n_in", "correct_out"]]
    assert [*counts] == [108, n, n, n, 0] and row.low <= row.share <= row.high and 0 < n < 108


TEXT = (
    "# Corvane\n\n- drill\n- hex key\n\nThe case of Corvane stands in the house, and after a "
    "fall in voltage it restarts\nafter 30 s. It has a red door.\n"
)
SENTENCES = {  # of a rewrite, by where each begins in TEXT
    0: "The tools of Corvane are drill and hex key.",
    TEXT.index("The case"): TEXT[TEXT.index("The case") : TEXT.index(" It has")],
    TEXT.index("It has"): "It has a red door.",
}
ASKED = {"question": "What are the tools of Corvane?", "answer": "drill"}
TOOLS = {
    "answer": "drill\nhex key",
    "structure": "entity-list",
    "entity_count": 2,
    "start": TEXT.index("- drill"),
    "end": TEXT.index("The case"),
}
RESTART = {
    "question": "After how long does Corvane restart?",
    "answer": "30 s",
    "start": TEXT.index("The case"),
    "end": TEXT.index(" It has"),
}


def row_of(
    asked: dict,
    arm: str = "dapt-n",
    *,
    border: str = "",
    said: str | None = None,
    dropped: str = "",
    held_out: tuple[str, ...] = (),
) -> LedgerRow:
    """Return the row of one query on TEXT, cut at `border`, whose first rewrite is `said`."""
    document, cut = Document(document_id="d", title="", path="", text=TEXT), TEXT.index(border)
    segments = segments_of("d", *filter(None, (TEXT[:cut], TEXT[cut:])))
    texts = [
        " ".join(text for at, text in SENTENCES.items() if one.start <= at < one.end)
        for one in segments
    ]
    texts[0] = texts[0] if said is None else said
    rewrites = [rewritten(*one, dropped) for one in zip(segments, texts, strict=True)]
    trained = Trained(read_corpus("", corpus_of(arm), segments, rewrites, held_out), corpus_of(arm))
    asked = [query(**ASKED | asked)]
    return make_ledger(asked, [document], segments, rewrites, {arm: trained})[0]


@pytest.mark.parametrize(
    ("asked", "given", "lost_at"),
    [
        (TOOLS, {"said": "The tools of Corvane are drill and others."}, "rewrite"),
        (TOOLS, {"said": "The tools of Corvane are a DRILL and a Hex\nKey."}, ""),
        (RESTART, {"said": "Corvane restarts after 0.5 min."}, ""),  # the same value
        (RESTART, {"said": "Corvane restarts."}, "rewrite"),
        (RESTART, {"said": "Corvane restarts.", "arm": "dapt@2"}, ""),
        (RESTART, {"said": "", "dropped": "no reply", "border": "after 30 s"}, "rewrite"),
        (RESTART | {"answer": "40 s"}, {"said": "Corvane restarts."}, "source"),
        # the end of a sentence is in the rewrite of the segment where it begins
        (RESTART, {"border": "after 30 s"}, ""),
        (RESTART, {"border": "after 30 s", "held_out": ("d/0",)}, "split"),
        # a border loses raw text only if one side is held out
        (RESTART, {"border": "s. It", "arm": "dapt"}, ""),
        (RESTART, {"border": "s. It", "arm": "dapt", "held_out": ("d/1",)}, "segment"),
        (RESTART, {"border": "after 30 s", "arm": "dapt", "held_out": ("d/1",)}, "split"),
    ],
)
def test_the_first_stage_that_loses_an_answer(asked, given, lost_at):
    assert row_of(asked, **given).lost_at == lost_at


@pytest.mark.parametrize(
    ("item", "text", "is_there"),
    [
        ("8443", "The port is 8443.", True),
        ("8443", "18443, 8443.5, P-8443 and 8443-2", False),
        ("-20 °C", "at -20 °C", True),
        ("20 °C", "at -20 °C", False),
        ("Hex Key", "a hex  key", True),
        ("hex key", "a **hex** key", True),
        ("C++", "written in C", False),
        ("C++", "written in c++.", True),
        ("30 s", "after 0.5 min", True),
        ("2 GB", "2048 MB of it", True),
        ("2024-05-07", "on 7 May 2024", True),
        ("5 m", "at 5 m/s", False),
        ("guide text", "[guide](a/b.md) text", True),
        ("", "any", False),
        ("50", "_Default Value: 50_", True),
        ("raft_term", "the **raft_term**", True),
        ("≥ 5 V", "5 V", False),
        ("/etc/x.conf", "in /etc/x.conf.", True),
    ],
)
def test_an_answer_occurs_in_a_text_or_not(item, text, is_there):
    assert (nearest(item, text, "?") is not None) == is_there
    before = "The sum is 80. The port is "  # of several places, that like the question counts
    assert nearest("80", f"{before}80.", "Which port?") == (len(before), len(before) + 2)


def test_an_arm_is_read_as_it_was_trained_and_other_text_is_refused(study_root):
    segments, normalized, trained = prepared(60, "dapt")
    folder = study_root / "data" / "lab" / "models" / "dapt@2"
    TOKENIZER.save_pretrained(folder)
    blocks = pack(trained.corpus.training, TOKENIZER, 48, "document")
    setting = {"base_model": "", "block_size": 48, "packing": "document"}
    setting |= {"fingerprint": {"data.training": blocks.digest()}}
    write_json(folder / "training.json", setting | {"held_out": trained.corpus.held_out})
    again = read_trained("lab", "dapt@2", segments, normalized)
    assert again.corpus == trained.corpus
    with pytest.raises(BadInput, match="03_train.ipynb with arm dapt@2"):
        read_trained("lab", "dapt@2", segments[:-3], normalized)
