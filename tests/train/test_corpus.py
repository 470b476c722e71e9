"""What an arm is trained on: both hold out the same segments, every token is predicted once."""

import copy
import gzip
import json
from pathlib import Path

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from transformers import default_data_collator

from lib.core.arms import RAW, REWRITTEN
from lib.core.records import Augmented, Document, Normalized, Query, Segment
from lib.core.store import REPOSITORY, artifact_path, save, write_records, write_text
from lib.infer.generate import continuations
from lib.infer.loglik import after_question
from lib.infer.prompts import encoded
from lib.lab.bases import new_llama, train_tokenizer
from lib.retention import QUESTIONS
from lib.train.corpus import (
    END,
    GENERAL,
    IGNORED,
    Corpus,
    PackedBlocks,
    for_arm,
    pack,
    pack_questions,
    read_corpus,
    split,
    with_replay,
)
from tests.conftest import rows
from tests.rows import query, rewritten, segments_of

TOKENIZER = train_tokenizer(["What is the port? 8443 <answer>\n</answer>", "a b c d"] * 4, 300)


def rows_of(**texts: list[str]) -> tuple[list[Segment], list[Normalized]]:
    """Cut documents as given; the normalizer writes capitals and drops every second segment."""
    segments = [one for name, pieces in texts.items() for one in segments_of(name, *pieces)]
    return segments, [
        rewritten(one, "" if one.segment_id.endswith("/1") else one.text.upper())
        for one in segments
    ]


ROWS = SEGMENTS, _ = rows_of(**{name: [f"{name}{n} " for n in range(5)] for name in "abcd"})


def corpora(*kinds: str, share: float = 0.2, rows=ROWS) -> list[Corpus]:
    return [read_corpus("s", kind, *rows, split(rows[0], share)) for kind in kinds]


def test_all_arms_hold_out_the_same_segments_and_lose_no_other():
    raw, prose, both = corpora(RAW, REWRITTEN, "raw+rewritten")
    assert raw.held_out == prose.held_out and len(raw.held_out) == 4
    kept = [row for row in SEGMENTS if row.segment_id not in raw.held_out]
    assert sorted(" ".join(raw.training).split()) == sorted(row.text.strip() for row in kept)
    assert (
        prose.dropped
        == both.dropped
        == [row.segment_id for row in kept if row.segment_id.endswith("/1")]
    )
    written = [row.text.strip().upper() for row in kept if row.segment_id not in prose.dropped]
    assert sorted(" ".join(prose.training).split()) == sorted(written)
    assert both.training == raw.training + prose.training and both.validation == raw.validation
    cut = rows_of(a=["# A\n\n| x |\n", "| --- |\n| 1 |\n"])  # raw text is joined again
    assert corpora(RAW, share=0, rows=cut)[0].training == ["# A\n\n| x |\n| --- |\n| 1 |"]
    with pytest.raises(ValueError, match="a/1.*02_normalize"):
        corpora(REWRITTEN, rows=(SEGMENTS, ROWS[1][:1]))


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch) -> Path:
    """Return the folder of the study's data."""
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    return tmp_path


def augmented(strategy: str, text: str, answer: str = "", dropped: str = "") -> list[Augmented]:
    """Return one text or question of each segment."""
    return [
        Augmented(
            segment_id=one.segment_id,
            document_id=one.document_id,
            strategy=strategy,
            number=1,
            text=text.format(one.text),
            dropped=dropped,
            answer=answer,
        )
        for one in SEGMENTS
    ]


def test_an_arm_learns_synthetic_texts_of_its_training_segments():
    made, asked = augmented("wordings", "said of {}"), augmented("questions", "{}?", "7")
    left_out = augmented("wordings", "invented", dropped="invents 7")[:1]
    left_out += augmented("wordings", "", dropped="no fact")[1:2]
    save("s", "augmented", [*made, *asked, *left_out])
    raw, more, both = corpora(RAW, "raw+wordings", "raw+questions")
    added, questions = (
        [row.text for row in some if row.segment_id not in raw.held_out] for some in (made, asked)
    )
    assert more.training == raw.training + added and more.validation == raw.validation
    assert (more.places, more.held_out, more.dropped) == (raw.places, raw.held_out, [])
    assert both.training == raw.training and {one.answer for one in both.pairs} == {"7"}
    assert [one.question for one in both.pairs] == questions


def test_a_titled_segment_is_a_text_that_opens_with_its_title_and_section():
    pieces = ["# A\n\nOne.\n", "\n## B #\n\nTwo.\n", "Three.\n"]
    rows = rows_of(a=pieces)
    save("s", "documents", [Document(document_id="a", title="T", path="", text="".join(pieces))])
    corpus = read_corpus("s", RAW, *rows, [], is_titled=True)
    assert corpus.training == [
        "From T, A:\n\n# A\n\nOne.",
        "From T, B:\n\n## B #\n\nTwo.",
        "From T, B:\n\nThree.",
    ]
    for (text, place), piece in zip(corpus.places.values(), pieces, strict=True):
        assert corpus.training[text][place:].lstrip("\n ").startswith(piece.strip()[:2])


@pytest.fixture
def study(root) -> list[Query]:
    """Return eight prompts on four texts; the file has another one that is too long."""
    queries = [
        query(f"q{n}", document_id=f"d{n // 2}", answer=f"800{n}", context=f"Port {n}?\n<answer>\n")
        for n in range(8)
    ]
    path = artifact_path("s", "training", arm="tuned")
    write_records(path, [*queries, query("q8", context="long " * 99)])
    return queries


def texts(arm: str = "tuned@2", **more):
    how = {"block_size": 64, "packing": "document", "validation_fraction": 0.25}
    return for_arm("s", arm, TOKENIZER, **how | more)


def learned(labels: list[list[int]]) -> str:
    return TOKENIZER.decode([label for row in labels for label in row if label != IGNORED])


def test_a_reply_is_learned_after_its_prompt_as_04_infer_sends_it(study):
    made = texts()
    assert "1 are longer than a block of 64" in made.summary
    assert "6 to train on, 2 to validate with" in made.summary
    assert made.facts["left_out"] == 1 and len(made.facts["held_out"]) == 1
    kept = [one for one in study if one.document_id not in made.facts["held_out"]]
    expected = "".join(f"{one.answer}{END}{TOKENIZER.eos_token}" for one in kept)
    assert sorted(learned(made.training.labels)) == sorted(expected)
    for ids in encoded(TOKENIZER, kept):
        assert any(
            ids == row[start : start + len(ids)]
            for row in made.training.input_ids
            for start in range(len(row))
        )


def test_general_questions_replace_every_second_sample_of_a_mix(study, root):
    for corpus, n_own in (("replies", 8), ("replies+data/general/replay.jsonl", 4)):
        made = texts(corpus=corpus, block_size=99, validation_fraction=0)
        assert learned(made.training.labels).count(END) == n_own
    lines = [{"question": f"Who is\u2028{name}?", "answer": "I"} for name in "abcd"]
    text = "\n".join(json.dumps(line, ensure_ascii=False) for line in lines)
    (root / "own.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    held = texts(corpus=f"replies+{root}/own.jsonl.gz", validation_fraction=0.5).facts["held_out"]
    assert len(held) == 4 and 0 < sum("Who is" in one for one in held) < 4  # each is a text


def test_a_question_is_learned_in_the_very_tokens_in_which_its_answer_is_scored():
    one = query(question="What is the port?", answer="8443")
    (scored,) = after_question(TOKENIZER, one, encoded(TOKENIZER, [one])[0])
    learned = pack_questions([one], TOKENIZER, 64)
    assert learned.input_ids[0][: len(scored.tokens)] == scored.tokens
    targets = [label for label in learned.labels[0] if label != IGNORED]
    assert targets == [*(scored.tokens[place] for place in scored.scored), TOKENIZER.eos_token_id]
    assert pack_questions([one, query(question="Why? " * 64)], TOKENIZER, 64) == learned


def test_replayed_texts_are_a_share_of_what_is_read_and_none_is_one_of_the_200(study, root):
    for name, own in zip(
        ("segments", "normalized"), rows_of(a=["What is the port? 8443 "] * 200), strict=True
    ):
        save("s", name, own)
    write_text(root / "own" / "a.md", "Valve 9 is red. " * 50)
    for arm in ("dapt", "tuned"):
        plain = texts(arm, block_size=512, validation_fraction=0)
        for share in (0.4, {str(root / "own"): 0.4}):
            mixed = with_replay(plain, TOKENIZER, share, 512)
            n_own, n_all = plain.training.n_tokens, mixed.training.n_tokens
            assert 0 <= (n_all - n_own) / n_all - 0.4 < 0.1  # the last piece ends it
            assert mixed.training.labels[: len(plain.training)] == plain.training.labels
        assert "Valve 9 is red." in learned(mixed.training.labels[len(plain.training) :])
        assert "Valve 9 is red." in mixed.texts[-1] and str(root) in mixed.facts["replayed"]
    pool, asked = (
        {one["question"] for one in rows(it)} for it in (REPOSITORY / GENERAL, QUESTIONS)
    )
    assert len(asked) == 200 and not pool & asked


def test_blocks_too_small_for_any_pair_are_an_error(study):
    with pytest.raises(ValueError, match="no prompt with its reply that fits a block of 4"):
        texts(block_size=4)
    assert texts(validation_fraction=0.0).validation is None


SHORT = ["The default port of Ardwin K-12 is 8443.", "| Port | 17 |", "a", "Valve 9 " * 40]


def targets(blocks: PackedBlocks) -> list[int]:
    return sorted(label for row in blocks.labels for label in row if label != IGNORED)


def small_model():
    model = new_llama(TOKENIZER, hidden_size=32, layers=2, heads=2, context=128, seed=1).eval()
    model.config.use_cache = False
    return model


def total_loss(model, blocks: PackedBlocks) -> float:
    batch = default_data_collator([blocks[index] for index in range(len(blocks))])
    with torch.no_grad():
        return float(model(**batch).loss) * blocks.n_targets


@given(
    texts=st.lists(st.text(min_size=1).filter(str.strip), min_size=1, max_size=6),
    block_size=st.integers(2, 40),
    packing=st.sampled_from(["document", "concat"]),
)
@example(texts=["<s>"], block_size=2, packing="document")
def test_every_token_is_a_target_once(texts, block_size, packing):
    blocks = pack(texts, TOKENIZER, block_size, packing)
    streams = [
        TOKENIZER(text, split_special_tokens=True)["input_ids"] + [TOKENIZER.eos_token_id]
        for text in texts
    ]
    expected = sorted(token for stream in streams for token in stream)
    for stream in streams if packing == "document" else streams[:1]:
        expected.remove(stream[0])  # nothing precedes it
    assert targets(blocks) == expected
    assert blocks.n_tokens == sum(map(len, streams)) and blocks.n_targets == len(expected)
    rows = blocks.input_ids + blocks.labels + blocks.position_ids
    assert all(len(row) == block_size for row in rows)


def test_no_text_sees_another_in_document_packing():
    """The loss of packed texts is that of each text alone; with concat it is not."""
    model, short = small_model(), SHORT[:3]
    packed = pack(short, TOKENIZER, 96, "document")
    assert len(packed) == 1
    alone = sum(total_loss(model, pack([text], TOKENIZER, 96, "document")) for text in short)
    assert total_loss(model, packed) == pytest.approx(alone, rel=1e-5)
    concat = pack(short, TOKENIZER, 96, "concat")
    assert total_loss(model, concat) != pytest.approx(alone, rel=1e-3)


def test_a_tokenizer_without_an_end_is_refused():
    tokenizer = copy.deepcopy(TOKENIZER)
    tokenizer.eos_token = None
    for use in (
        lambda: pack_questions([query()], tokenizer, 64),
        lambda: continuations(small_model(), tokenizer, [[3]], [1]),
    ):
        with pytest.raises(ValueError, match="no EOS token"):
            use()
