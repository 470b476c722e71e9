"""Segments cover their documents, keep the limit and count their tokens truly."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast

from lib.core.records import Document
from lib.documents.tables import tables_of
from lib.llm.calls import Calls
from lib.normalize import segments as segments_module
from lib.normalize.model import by_model
from lib.normalize.rewrite import normalize
from lib.normalize.segments import segment
from lib.train.texts import make_corpus
from tests.played_model import played

TEXT = ("# Corvane P-417\n\nThe default port is 8443. It listens on all interfaces.\n\n"
        "- Linux\n- QNX\n\n| a | b |\n|--|--|\n| 1 | 2 |\n")


def byte_level(corpus: list[str], vocabulary: int = 400) -> PreTrainedTokenizerFast:
    """Train a byte-level BPE on `corpus`: single digits, one special token that no count holds."""
    tokenizer = Tokenizer(models.BPE())
    digits = pre_tokenizers.Digits(individual_digits=True)
    byte = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([digits, byte])
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.train_from_iterator(corpus, trainers.BpeTrainer(
        vocab_size=vocabulary, initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        special_tokens=["<|end|>"], show_progress=False))
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, bos_token="<|end|>",
                                   eos_token="<|end|>")


TOKENIZER = byte_level([TEXT] * 20)
HEADER = "| Property | Value |\n|--|--|\n"
ROWS = [f"| Valve {n} | {n * 137} |\n" for n in range(40)]


def document(text: str) -> Document:
    return Document(document_id="doc", title="Doc", path="", text=text)


def size(text: str) -> int:
    return len(TOKENIZER.encode(text, add_special_tokens=False))


def pieces(text: str, limit: int, how: str = "table-aware", is_limited: bool = True):
    """Return the segments of `text`, which cover it, within the limit."""
    segments = segment([document(text)], TOKENIZER, limit, how)
    assert "".join(one.text for one in segments) == text
    assert all(one.text == text[one.start:one.end] and one.text for one in segments)
    if is_limited:
        most = limit + max(4, limit // 50)
        assert all(one.n_tokens + size(one.repeated) <= most for one in segments)
    return segments


@given(st.text(alphabet="ab .\n|#-1é\t\r", max_size=300), st.integers(8, 40))
def test_segments_cover_every_text_in_order(text, limit):
    segments = pieces(text, limit, "plain", is_limited=False)
    assert [one.end for one in segments[:-1]] == [one.start for one in segments[1:]]


def test_a_segment_keeps_the_limit_except_for_the_whitespace_after_it():
    segments = pieces(TEXT * 30, 50, "plain")
    assert len(segments) > 10
    assert max(one.n_tokens for one in segments) <= 54
    assert all(one.n_tokens == size(one.text) for one in segments)


def test_a_long_run_of_whitespace_is_a_segment_of_its_own():
    text = "The first.\n" + "\n" * 500 + "The last."
    segments = pieces(text, 40, "plain", is_limited=False)
    assert [one.text.strip() for one in segments] == ["The first.", "", "The last."]


def test_a_text_without_spaces_is_cut_between_its_sentences():
    text = "# 弁\n\n" + "".join(f"弁 {n} を Mesa の 管 に付け「開く。」と書く。" for n in range(60))
    segments = pieces(text, 120, "plain")
    assert len(segments) > 10
    assert all(one.text.rstrip().endswith("書く。") for one in segments if "弁 " in one.text)


@pytest.mark.parametrize("how", ["plain", "table-aware"])
@pytest.mark.parametrize("part", ["弁を開く。" * 9 + "\n\n", "It is red. " * 9 + "\n\n",
                                  "# A\n\n" + HEADER + "| Valve | 7 |\n" * 9 + "\n",
                                  "# A\n\n" + HEADER + "| Valve | 7 |\n" * 900 + "\n"],
                         ids=["full-width", "prose", "tables", "table"])
def test_the_text_to_be_counted_grows_with_the_document(how, part, monkeypatch):
    def work(n_times: int) -> int:
        counted = []
        monkeypatch.setattr(segments_module, "_counter",
                            lambda _: lambda text: counted.append(text) or len(text) // 4)
        segment([document(part * n_times)], TOKENIZER, 100, how)
        return sum(map(len, counted))

    n_times = max(1, 100 // (1 + len(part) // 200))
    assert work(2 * n_times) < 2.3 * work(n_times)


def test_ids_number_the_segments_of_each_document():
    both = [document("One."), Document(document_id="other", title="", path="", text="Two.")]
    ids = [one.segment_id for one in segment(both, TOKENIZER)]
    assert ids == ["doc-s0000", "other-s0000"]


def test_an_empty_document_has_no_segment_and_one_of_whitespace_has_one():
    assert segment([document("")], TOKENIZER) == []
    assert [one.text for one in segment([document(" \n\n")], TOKENIZER)] == [" \n\n"]


@pytest.mark.parametrize(("limit", "how", "message"), [
    (7, "plain", "max_segment_tokens is 7"), (50, "tables", "table-aware")])
def test_a_limit_below_one_character_and_an_unknown_segmentation_are_refused(limit, how, message):
    with pytest.raises(ValueError, match=message):
        segment([document("a")], TOKENIZER, limit, how)


def test_a_table_that_fits_stays_with_its_heading_and_caption():
    table = "## Data sheet\n\nTable 3: what is set.\n\n" + HEADER + "".join(ROWS[:4])
    text = "Corvane is red and heavy. " * 6 + "\n\n" + table + "\nIt is sealed. " * 6
    limit = size(table) + 4
    plain = pieces(text, limit, "plain")
    assert [one for one in plain if table not in one.text and "Valve" in one.text]
    holding, = [one for one in pieces(text, limit) if "Valve" in one.text]
    assert table in holding.text and not holding.repeated


def test_a_long_table_is_cut_between_rows_and_repeats_its_header():
    text = "# Corvane\n\nIt is red.\n\n## Data\n\n" + HEADER + "".join(ROWS) + "\nIt is sealed.\n"
    segments = pieces(text, 120)
    first, *others = [one for one in segments if "| Valve" in one.text]
    assert "## Data\n\n" + HEADER + ROWS[0] in first.text and first.repeated == ""
    assert len(others) > 3
    assert all(one.repeated == HEADER and one.text.startswith("| Valve") for one in others)
    lines = [line for one in segments for line in one.text.splitlines(keepends=True)]
    assert [line for line in lines if "Valve" in line] == ROWS
    assert not any(one.repeated for one in pieces(text, 120, "plain"))
    after = [one for one in segments if "sealed" in one.text and "Valve" not in one.text]
    assert all(one.repeated == "" for one in after)


def test_without_tables_both_segmentations_are_the_same():
    text = TEXT.split("| a")[0] * 20
    assert pieces(text, 50) == pieces(text, 50, "plain")


@given(st.lists(st.sampled_from([
    "# A\n\n", "## Data sheet\n", "It is red. ", "\n\n", HEADER, ROWS[3], "> ", "- x\n",
    "Table 2: all\n\n", "   ", "| |\n", "\r\n", "```\n"]), max_size=40), st.integers(8, 60))
def test_table_aware_segments_cover_every_text_in_order(parts, limit):
    segments = pieces("".join(parts), limit, is_limited=False)
    assert all(one.n_tokens <= limit + max(4, limit // 50) for one in segments)


PROSE = st.integers(7, 20).map(lambda n: "It is red and heavy. " * n + "\n\n")  # not a caption
TABLE = st.tuples(
    st.sampled_from(["", "## Data sheet\n\n", "## Data\n\n### Table\n\nTable 2: all values.\n\n"]),
    st.integers(1, 40), st.integers(1, 3)).map(lambda drawn: (
        drawn[0] + HEADER + "".join(ROWS[:drawn[1]]) + "\n" * drawn[2] + "<!-- end -->\n\n"))


@given(st.lists(st.one_of(PROSE, TABLE), min_size=1, max_size=6), st.integers(110, 400))
def test_tables_are_cut_between_rows_only_and_keep_heading_and_header(parts, limit):
    text = "".join(parts)
    segments = pieces(text, limit)
    for table in tables_of(text):
        within = [one for one in segments if table.start < one.start < table.rows_end]
        assert all(one.start in table.rows[1:] and one.repeated == HEADER for one in within)
        assert not within or size(text[table.start:table.end]) > limit - size(HEADER)
        assert not any(one.repeated for one in segments if one.start == table.start)


def test_a_model_sees_the_repeated_header_and_the_raw_text_does_not_have_it(monkeypatch, tmp_path):
    text = "# Corvane\n\n" + HEADER + "".join(ROWS)
    segments = segment([document(text)], TOKENIZER, 120, "table-aware")
    reply = "Rating: 5\nRemark: a table\nConversion to High-Quality Data:<<<<{{ A. }}>>>>"
    with played(lambda prompt: reply, monkeypatch) as prompts:
        rewrite = by_model("model-x", "records", Calls(tmp_path / "llm.sqlite", concurrency=1))
        rows = normalize(segments, [document(text)], rewrite)
    repeated = [one for one in segments if one.repeated]
    seen = [prompt for prompt in prompts for one in repeated if f"{HEADER}{one.text}" in prompt]
    assert len(seen) == len(repeated) > 1
    assert make_corpus(segments, rows, "dapt", 0.0, 42).training == [text.strip()]
