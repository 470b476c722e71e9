"""Segments cover their documents, keep the limit and count their tokens truly."""

from hypothesis import given
from hypothesis import strategies as st

from lib.core.arms import RAW
from lib.core.records import Document
from lib.documents.tables import tables_of
from lib.lab.base_model import train_tokenizer
from lib.llm.calls import Calls
from lib.normalize.model import by_model
from lib.normalize.rewrite import normalize
from lib.normalize.segments import segment
from lib.train.texts import corpus_of
from tests.played_model import played

TEXT = ("# Corvane P-417\n\nThe default port is 8443. It listens on all interfaces.\n\n"
        "- Linux\n- QNX\n\n| a | b |\n|--|--|\n| 1 | 2 |\n")


TOKENIZER = train_tokenizer([TEXT] * 20, 400)
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
    assert corpus_of(segments, rows, RAW, []).training == [text.strip()]
