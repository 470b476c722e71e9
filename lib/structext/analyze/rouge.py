"""ROUGE-L as the official scorer has it: PyPI's `rouge` 1.0.1, without its recursion (StrucText-Eval v2).

That package splits a text at full stops and blanks, and counts each word once: with R and A the sets of words of
response and answer, and U the union over all pairs of sentences of the words on *one* longest common subsequence,
recall = |U|/|R|, precision = |U|/|A|, F = 2·P·R / (P + R + 1e-8). Which subsequence is taken decides U, so ties are
broken as there. Its table is a dictionary and its way back a recursion: about 1,000 words are its end. Ours is the bit
vector of Hyyrö (2004, "Bit-parallel LCS-length computation revisited") with one row in √n kept.
"""

from math import isqrt

RECURSION_LIMIT = 1000  # CPython's default, under which the official scorer runs
FRAMES = 12  # about so many are on its stack before the recursion begins


class EmptyText(ValueError):
    """A text without a word between its full stops; the official scorer raises and drops the row."""


def rouge_l(answer: str, response: str) -> float:
    """F of ROUGE-L, 0 to 1, called as the official code does: the answer is the "hypothesis".

    Raises EmptyText where the package raises ValueError.
    """
    return rouge_l_with_steps(answer, response)[0]


def rouge_l_with_steps(answer: str, response: str) -> tuple[float, int]:
    """`rouge_l`, and the longest way back through a table, in cells: how deep the official scorer would recurse."""
    evaluated, reference = _sentences(answer), _sentences(response)
    if not evaluated or not reference:
        raise EmptyText(f"the {'response' if evaluated else 'answer'} is empty: it has no score; count it as 0")
    union: set[str] = set()
    longest = 0
    for x in reference:
        known = set(x)
        for y in evaluated:
            if known.isdisjoint(y):  # nothing to find; the way runs left along the last row
                longest = max(longest, len(y))
                continue
            words, steps = common_words(x, y)
            union |= words
            longest = max(longest, steps)
    recall, precision = (len(union) / len({word for words in part for word in words})
                         for part in (reference, evaluated))
    return 2.0 * (precision * recall / (precision + recall + 1e-8)), longest


def is_too_deep(steps: int) -> bool:
    """Whether the official scorer would end with a RecursionError after so many steps back."""
    return steps + FRAMES >= RECURSION_LIMIT


def _sentences(text: str) -> list[list[str]]:
    """The words between full stops; a sentence of blanks alone is one empty word, as there."""
    return [part.split() or [""] for part in text.split(".") if part]


def common_words(x: list[str], y: list[str]) -> tuple[set[str], int]:
    """The set of words on the longest common subsequence that the package walks back along, and the steps of that walk.

    From the last cell: a match goes diagonally, else up where the cell above is larger, else left. In the bit vector
    of a row a zero at j says that the length grows there; on a mismatch that is just where the cell above is larger.
    """
    found: set[str] = set()
    steps = 0
    i, j = len(x), len(y)
    while i and j and x[i - 1] == y[j - 1]:  # a common end is on the way whatever stands before it
        i, j, steps = i - 1, j - 1, steps + 1
        found.add(x[i])
    rows = _Rows(x[:i], y[:j]) if i and j else None
    while i and j:
        steps += 1
        if x[i - 1] == y[j - 1]:
            i, j = i - 1, j - 1
            found.add(x[i])
        elif rows.grows(i, j):
            i -= 1
        else:
            j -= 1
    return found, steps


class _Rows:
    """The rows of the table of lengths as bit vectors of len(y) bits: one in √len(x) kept, the others made again."""

    def __init__(self, x: list[str], y: list[str]):
        self.x, self.width = x, len(y)
        self.matches: dict[str, int] = {}
        places: dict[str, list[int]] = {}
        for place, word in enumerate(y):
            places.setdefault(word, []).append(place)
        for word in set(x) & set(places):
            bits = bytearray(len(y) // 8 + 1)
            for place in places[word]:
                bits[place >> 3] |= 1 << (place & 7)
            self.matches[word] = int.from_bytes(bits, "little")
        self.block = max(1, isqrt(len(x)))
        self.full = (1 << self.width) - 1
        self.kept = [self.full]  # row 0: nothing grows
        row = self.full
        for number, word in enumerate(x, 1):
            row = self._next(row, word)
            if number % self.block == 0:
                self.kept.append(row)
        self.first, self.open = -1, []

    def _next(self, row: int, word: str) -> int:
        matched = row & self.matches.get(word, 0)
        return ((row + matched) | (row - matched)) & self.full

    def grows(self, i: int, j: int) -> bool:
        """Whether the length at (i, j) is greater than at (i, j - 1); i, j count from 1."""
        if i // self.block != self.first:
            self.first = i // self.block
            start = self.first * self.block
            rows = [self.kept[self.first]]
            for word in self.x[start:start + self.block - 1]:
                rows.append(self._next(rows[-1], word))
            self.open = [row.to_bytes(self.width // 8 + 1, "little") for row in rows]
        return not self.open[i % self.block][(j - 1) >> 3] >> ((j - 1) & 7) & 1
