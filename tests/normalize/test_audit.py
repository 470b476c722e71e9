"""The audit finds what is lost or invented, by kind, in rewrites in other words."""

import re
from pathlib import Path

import pytest

from lib.core.records import Document
from lib.normalize.audit import audit, kinds_table, words_by_structure
from tests.conftest import table
from tests.rows import rewritten, segments_of

# Faithful rewrites in other words, by hand, about devices and programs that do not exist
PAIRS = [tuple(row.values()) for row in table(Path(__file__).with_name("paraphrases.csv"))]
SOURCE = (
    "# Corvane P-417\n\nSee /etc/harbor.conf for v2.10.3 and 36 seconds.\n\n- seal kit\n"
    "- hex key\n\n| Item | Entry |\n|--|--|\n| port | 8443 |\n"
)


def audited(rewrites: list[str], source: str = SOURCE):
    """Return the audit of `source` with a rewrite, its segment, and the row of the rewrite."""
    document = Document(document_id="s", title="Corvane P-417", path="", text=source)
    segments = segments_of("s", source)
    rows = list(map(rewritten, segments, rewrites))
    return audit(segments, [document], rows), segments, rows


def test_each_kind_is_found_lost_or_invented():
    [row], _, _ = audited(
        [
            "See /etc/hidden.conf for v2.10.4 of Corvane P-417 and 36 hours. It has "
            "a seal and a key, and the port 8444 of QNX."
        ]
    )
    lost, invented = (
        {kind: words for kind, words in found.items() if words}
        for found in (row.lost, row.invented)
    )
    assert lost == {
        "number": ["8443"],
        "unit": ["36 seconds"],
        "path": ["/etc/harbor.conf"],
        "version": ["v2.10.3"],
        "name": ["kit", "hex"],
        "item": ["seal kit", "hex key", "8443"],
    }
    assert invented == {
        "number": ["8444"],
        "unit": ["36 hours"],
        "path": ["/etc/hidden.conf"],
        "version": ["v2.10.4"],
        "name": ["QNX"],
    }
    table = kinds_table([row]).set_index("kind")
    assert list(table.loc["unit", ["said", "lost", "lost_percent"]]) == [1, 1, 100.0]
    assert list(table.loc["all", ["lost", "invented"]]) == [row.number("lost"), 5]


def test_an_amount_written_in_another_unit_is_kept():
    [row], _, _ = audited(["A restart takes 0.6 min."], source="A restart takes 36 seconds.")
    assert row.number("lost", "invented") == 0 and row.said["unit"] == ["36 seconds"]


STATED = (
    "# Corvane P-417\n\nThe pump is not sealed. A filter must be fitted before the inlet.\n\n"
    "| Part | Coating |\n|--|--|\n| flange bolt | not painted |\n"
)
WRITTEN = (
    "The pump is not sealed. A filter must be fitted before the inlet. For part flange "
    "bolt, the coating is not painted."
)


@pytest.mark.parametrize(
    ("true", "false", "change"),
    [
        ("is not sealed", "is sealed", "lost"),
        ("is not painted", "is painted", "lost"),
        ("must be fitted", "must not be fitted", "invented"),
        ("must be fitted", "mustn't be fitted", "invented"),
    ],
)
def test_a_negation_that_is_lost_or_added_is_found(true, false, change):
    for kept in (WRITTEN, WRITTEN.replace("is not sealed", "is unsealed")):
        [row], _, _ = audited([kept], source=STATED)
        assert not row.lost["negation"] and not row.invented["negation"]
    [row], _, _ = audited([WRITTEN.replace(true, false)], source=STATED)
    assert getattr(row, change)["negation"]


def pairs_audited(change=lambda text: text) -> list:
    """Return the audits of the rewrites in other words, changed."""
    return [audited([change(text)], source=source)[0][0] for source, text in PAIRS]


@pytest.mark.parametrize(
    ("pattern", "new", "least"),
    [
        (r"(?<=\w) not\b|(?<=can)not\b", "", 0.9),
        (r"\b(is|are|must be)\b(?! not)", r"\1 not", 0.75),
        (r"\b\d+\b", "9917", 0.9),
    ],
)
def test_planted_damages_are_noticed(pattern, new, least):
    damaged = [bool(re.search(pattern, text)) for _, text in PAIRS]
    rows = pairs_audited(lambda text: re.sub(pattern, new, text, count=1))
    noticed = [
        row.number("lost", "invented") > 0
        for row, is_damaged in zip(rows, damaged, strict=True)
        if is_damaged
    ]
    assert len(noticed) >= 4 and sum(noticed) >= least * len(noticed)


def test_few_faithful_rewrites_in_other_words_raise_an_alarm():
    assert sum(row.number("lost", "invented") > 0 for row in pairs_audited()) <= len(PAIRS) // 10


def test_words_are_counted_by_what_became_of_their_structure():
    text = "A pump runs.\n\n- red\n- blue\n\n| a | b |\n| - | - |\n| 1 | 2 |\n"
    _, segments, rows = audited(["A pump runs. Red and blue; b of 1 is 2."], source=text)
    fates = words_by_structure(segments, rows)
    assert fates.loc["natural"].tolist() == [3, 0, 0]
    assert fates.loc["tabular"].kept == 0 < fates.loc["tabular"].rewritten
    fates = words_by_structure(segments, audited([""], source=text)[2])
    assert fates.loc["natural"].tolist() == [0, 0, 3]
