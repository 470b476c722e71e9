"""The audit notices planted damages, and lets rewrites by rules and in other words pass."""

from random import Random

import pytest

from lib.core.paths import REPOSITORY
from lib.core.records import Document, Normalized, Segment
from lib.documents.folder import read_folder
from lib.normalize.audit import audit
from lib.normalize.rewrite import normalize
from lib.normalize.rules.engine import by_rules
from lib.normalize.segments import segment
from tests.normalize.damages import DAMAGES, findings
from tests.normalize.paraphrases import PAIRS
from tests.normalize.test_rewrite import TOKENIZER

DOCUMENTS = [Document(document_id=f"d{number}", title="Corvane P-417", path="", text=source)
             for number, (source, _) in enumerate(PAIRS)]
SEGMENTS = [Segment(segment_id=one.document_id, document_id=one.document_id, start=0,
                    end=len(one.text), text=one.text, n_tokens=1) for one in DOCUMENTS]
BY_RULES = [row.text for row in normalize(SEGMENTS, DOCUMENTS, by_rules)]
IN_OTHER_WORDS = [text for _, text in PAIRS]


def found_in(texts: list[str]) -> dict[str, set]:
    """Return what the audit finds in these rewrites of the paraphrases' sources, by segment."""
    rows = [Normalized(segment_id=one.segment_id, document_id=one.document_id, rating=None,
                       remark="", text=text, dropped="")
            for one, text in zip(SEGMENTS, texts, strict=True)]
    return {row.segment_id: findings(row) for row in audit(SEGMENTS, DOCUMENTS, rows)}


@pytest.mark.parametrize("texts", [BY_RULES, IN_OTHER_WORDS], ids=["rules", "words"])
@pytest.mark.parametrize("damage", DAMAGES, ids=lambda damage: damage.__name__)
def test_planted_damages_are_noticed(damage, texts):
    rng = Random(17)
    planted = [damage(text, rng, [other for other in texts if other != text]) for text in texts]
    before = found_in(texts)
    after = found_in([one.text if one else text for one, text in zip(planted, texts, strict=True)])
    noticed = [bool(after[name] - before[name]) for name in
               (where.segment_id for where, one in zip(SEGMENTS, planted, strict=True) if one)]
    least = 0.75 if damage.__name__ == "add_negation" else 0.9
    assert len(noticed) >= 6 and sum(noticed) >= least * len(noticed)


def test_rewrites_by_rules_raise_no_alarm():
    assert not any(found_in(BY_RULES).values())
    documents = [one for one in read_folder(REPOSITORY / "tests" / "data" / "documents").documents
                 if len(one.text) < 20_000]
    segments = segment(documents, TOKENIZER, 700)
    rows = audit(segments, documents, normalize(segments, documents, by_rules))
    assert [row.segment_id for row in rows if not row.dropped and findings(row)] == []


def test_few_faithful_rewrites_in_other_words_raise_an_alarm():
    assert sum(map(bool, found_in(IN_OTHER_WORDS).values())) <= len(PAIRS) // 10
