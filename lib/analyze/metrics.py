"""Compare a text with its reference by exact match, F1, BLEU and ROUGE-L, each from 0 to 1.

ROUGE-L follows PyPI's `rouge` 1.0.1, which a published official scorer calls, without
recursion. That package splits a text at full stops and whitespace and counts each word once. R and
A are the sets of words of response and answer. U is the set of words on *one* longest common
subsequence of a pair of sentences, united over all pairs. Then recall is |U|/|R|, precision is
|U|/|A| and F = 2PR / (P + R + 1e-8). U depends on the subsequence chosen, so ties are broken as in
the package. The table of lengths is kept as bit vectors (Hyyrö 2004, "Bit-parallel LCS-length
computation revisited"), one integer per row: 10,000 by 10,000 words take 13 MB.
"""

import re
from collections import Counter, defaultdict

from sacrebleu.metrics import BLEU

from lib.core.store import BadInput

LEAST_ROUGE = 0.75  # a response with less scores 0 (StrucText-Eval v2, 4.2)
WORD_METRICS = ("exact_match", "f1", "bleu", "rouge_l")
_BLEU = BLEU(effective_order=True)  # as sacrebleu advises for a single sentence


def exact_match(answer: str, response: str) -> bool:
    """Return whether `response` equals `answer`, ignoring outer whitespace; empty ones never do."""
    return bool(response.strip()) and response.strip() == answer.strip()


def f1(answer: str, response: str) -> float:
    """Return the harmonic mean of precision and recall over words with repetition, as in SQuAD."""
    wanted, given = Counter(words_in(answer)), Counter(words_in(response))
    n = wanted.total() + given.total()
    return 2 * (wanted & given).total() / n if n else 0.0


def words_in(text: str) -> list[str]:
    """Return the words and numbers of a text in lower case."""
    return re.findall(r"\d+(?:[.,]\d+)*%?|\w+", text.casefold())


def bleu(answer: str, response: str) -> float:
    """Return sacrebleu's sentence BLEU with effective order, as a fraction."""
    return _BLEU.sentence_score(response.strip(), [answer.strip()]).score / 100


def word_scores(reference: str, answer: str) -> dict[str, float]:
    """Return WORD_METRICS of an answer, each from 0 to 1."""
    try:
        rouge = rouge_l(reference, answer)
    except BadInput:
        rouge = 0.0
    scores = float(exact_match(reference, answer)), f1(reference, answer), bleu(reference, answer)
    return dict(zip(WORD_METRICS, (*scores, rouge), strict=True))


def rouge_l(answer: str, response: str) -> float:
    """Return the F score of ROUGE-L. Raises BadInput if the package would raise ValueError."""
    return rouge_l_with_steps(answer, response)[0]


def rouge_l_with_steps(answer: str, response: str) -> tuple[float, int]:
    """Return `rouge_l`, and how deeply the official scorer would recurse.

    The depth is the number of cells on the longest path back through a table of lengths. The answer
    is the "hypothesis", as in the official code. Raises BadInput as `rouge_l` does.
    """
    evaluated, reference = _sentences(answer), _sentences(response)
    if not evaluated or not reference:
        empty = "response" if evaluated else "answer"
        raise BadInput(f"the {empty} is empty: it has no score; count it as 0")
    union: set[str] = set()
    longest = 0
    for x in reference:
        known = set(x)
        for y in evaluated:
            # without a common word, the path runs left along the last row
            words, steps = (set(), len(y)) if known.isdisjoint(y) else common_words(x, y)
            union |= words
            longest = max(longest, steps)
    recall, precision = (len(union) / len(set().union(*part)) for part in (reference, evaluated))
    return 2.0 * (precision * recall / (precision + recall + 1e-8)), longest


def common_words(x: list[str], y: list[str]) -> tuple[set[str], int]:
    """Return the words on the longest common subsequence that the package finds, and its steps.

    The package walks back from the last cell of the table: diagonally at a match, otherwise up if
    the cell above is larger, otherwise left. In a row's bit vector, a 0 at j means that the length
    increases there; at a mismatch, the cell above is then larger.
    """
    rows = _rows(x, y)
    found: set[str] = set()
    i, j, steps = len(x), len(y), 0
    while i and j:
        steps += 1
        if x[i - 1] == y[j - 1]:
            i, j = i - 1, j - 1
            found.add(x[i])
        elif not rows[i] >> (j - 1) & 1:
            i -= 1
        else:
            j -= 1
    return found, steps


def _rows(x: list[str], y: list[str]) -> list[int]:
    matches: dict[str, int] = defaultdict(int)
    for place, word in enumerate(y):
        matches[word] |= 1 << place
    full = (1 << len(y)) - 1
    rows = [full]  # row 0: nothing grows
    for word in x:
        matched = rows[-1] & matches[word]
        rows.append(((rows[-1] + matched) | (rows[-1] - matched)) & full)
    return rows


def _sentences(text: str) -> list[list[str]]:
    return [part.split() or [""] for part in text.split(".") if part]
