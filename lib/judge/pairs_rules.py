"""Two answers compared without a model: by the verdicts of the rules, and by the share of the domain's own words.

Both see the two answers at once, so that the order in which they are given cannot matter (paper, 4.4, our own rules).
"""

from fractions import Fraction

from lib.core.records import Document, Query
from lib.core.values import Value, solid, tokens
from lib.judge.rules import SMALL_WORDS, compare

Decision = tuple[str, str]  # A, B or tie; reason
Word = tuple[str, Value]  # kind and value of a token


def correctness_by_rules(queries: list[Query], pairs: list[tuple[str, str]]) -> list[Decision]:
    """A where only the first answer is right by lib.judge.rules, B where only the second is, else a tie.

    Two wrong answers are a tie, however far off each is; the paper's judge might prefer one.
    """
    decisions = []
    for query, answers in zip(queries, pairs, strict=True):
        outcomes = [compare(query.question, query.answer, answer, query.entity_count) for answer in answers]
        reason = "; ".join(f"{name}: {outcome.reason}" for name, outcome in zip("AB", outcomes, strict=True))
        decisions.append((_better(*(outcome.is_correct for outcome in outcomes)), reason))
    return decisions


def relevance_by_rules(queries: list[Query], pairs: list[tuple[str, str]], documents: list[Document]) -> list[Decision]:
    """A, B or tie by `relevance` to the vocabulary of all `documents`: the larger share is better, equal ones tie.

    Its limits: it knows words and not sense, so that any product's words count alike; a wrong number counts only where
    some document has it, so that memory of values looks like relevance; one word that fits beats a long answer of which
    a tenth does not.
    """
    vocabulary = frozenset(word for document in documents for word in _words(document.text))
    decisions = []
    for query, answers in zip(queries, pairs, strict=True):
        known = [relevance(query.question, answer, vocabulary) for answer in answers]
        shares = [Fraction(hits, n) if n else Fraction(0) for hits, n in known]
        reason = "; ".join(f"{name}: {hits} of {n} words are the domain's"
                           for name, (hits, n) in zip("AB", known, strict=True))
        decisions.append((_better(*shares), reason))
    return decisions


def relevance(question: str, answer: str, vocabulary: frozenset[Word]) -> tuple[int, int]:
    """How many of the words of `answer` are in `vocabulary`, and how many there are: (hits, words).

    Different words, numbers and dates count once each, folded as the judge's rules fold them; words of the question,
    which any model can repeat, and words such as "is" and "and" do not count.
    """
    words = _words(answer) - _words(question)
    return len(words & vocabulary), len(words)


def _words(text: str) -> set[Word]:
    return {(token.kind, token.value) for token in solid(tokens(text)) if token.value not in SMALL_WORDS}


def _better(first: bool | Fraction, second: bool | Fraction) -> str:
    return "A" if first > second else "B" if second > first else "tie"
