"""Find a value in the tokens of an answer: any spelling, with articles and auxiliaries between."""

import re
from collections.abc import Iterator

from lib.core.values import Token, solid
from lib.judge.words.wording import singular

_LOOSE = frozenset("a an the is are was were be been being has have had that which its their "
                   "your our also version".split())  # between the words of a phrase
_PHRASE_ENDING = re.compile(r"(?<=[aeiouy][a-z]{2})(?:ing|ed|es|s|e)$|"
                            r"(?<=[a-z][aeiouy][a-z])(?:ing|ed|es|s|e)$")  # smoothing
_PHRASE = 3  # words; a shorter reference is a name, which must be complete

Key = tuple[str, object]


def key(token: Token) -> Key:
    """Return what two equal tokens share: a word's kind and singular, a value's kind and worth."""
    if token.kind != "word":
        return token.kind, token.value
    word = token.word.rstrip("®™")
    word = re.sub(r"^\.(?=[a-z]{2,4}$)", "", word.rstrip("/")) or word  # .png
    return "word", "and" if word == "&" else singular(word)


def first_key(token: Token) -> Key:
    """Return a key that does not depend on inflection, to look a value up by its first word."""
    found = key(token)
    is_inflected = found[0] == "word" and str(found[1]) != "https"
    return ("word", _PHRASE_ENDING.sub("", str(found[1]))) if is_inflected else found


class Wanted:
    """A value that is looked for: the tokens that it must have, in order."""

    def __init__(self, found: list[Token], *, in_list: bool = False) -> None:
        """Take the tokens of a reference, or of one of its entities if it is `in_list`."""
        self.is_time = any(token.value == "every" or token.kind == "number" and token.value[0]
                           in ("time", "month") for token in found)
        has_comma = any(token.text in (",", ";") for token in found)
        self._unread = (",", ";") if in_list and not has_comma else ()
        self.in_list = in_list
        self.shared: set[Key] = set()  # stems that all items of its list have, as the question
        self.tokens = solid(found)
        self.is_name = len(self.tokens) < 2 or all(
            token.kind == "word" and token.text[0].isupper() and token.text.isalpha()
            for token in self.tokens)
        self.is_phrase = len(self.tokens) >= _PHRASE
        self._is_inflected = self.is_phrase or in_list and len(self.tokens) > 1 and all(
            token.text.isalpha() and token.text.islower() for token in self.tokens)
        kept = [token for token in self.tokens if not self._is_loose(token)]
        if self.is_phrase and kept and kept[0].value == "to":
            kept = kept[1:]
        kept = kept or self.tokens
        self.keys = [self._key(token) for token in kept]
        self.first = first_key(kept[0]) if kept else None

    def _key(self, token: Token) -> Key:
        return first_key(token) if self._is_inflected else key(token)

    def _is_loose(self, token: Token) -> bool:
        return self.is_phrase and token.kind == "word" and token.value in _LOOSE

    def end_in(self, found: list[Token], start: int) -> int | None:
        """Return where the value ends if found[start:] begins with it, ignoring punctuation."""
        place, n_lines = start, 0
        for wanted in self.keys:
            while place < len(found) and self._key(found[place]) != wanted and place > start and (
                    self._is_loose(found[place]) or not (
                        found[place].is_solid or found[place].text in self._unread)):
                n_lines += found[place].text == "\n"
                place += 1
            if place >= len(found) or self._key(found[place]) != wanted:
                return None
            place += 1
        marks = [token.text for token in found[start:place]]
        if place < len(found) and marks.count("(") > marks.count(")") and found[place].text == ")":
            place += 1
        return place if n_lines <= self.is_phrase else None  # a long line may be wrapped once

    @property
    def text(self) -> str:
        """The tokens as written, for a reason."""
        return " ".join(token.text for token in self.tokens)


def sort_of(token: Token) -> tuple[str, object]:
    """Return what a rival value must share: the kind, and a number's dimension; "" for a word."""
    if token.kind == "number":
        dimension, amount = token.value
        is_whole = "." not in str(token.text)
        return "number", dimension or ("whole" if is_whole else "decimal")
    if token.kind == "date":
        return "date", ""
    return ("code", "") if re.search(r"\d|/\w|\w/|_", token.word) else ("word", "")


def sentences(found: list[Token]) -> Iterator[list[Token]]:
    """Yield the sentences and lines of a text that have words."""
    sentence: list[Token] = []
    for token in found:
        if token.kind == "end":
            if solid(sentence):
                yield sentence
            sentence = []
        else:
            sentence.append(token)
    if solid(sentence):
        yield sentence


def until_end(rest: list[Token]) -> list[Token]:
    """Return the rest of a sentence or line."""
    end = next((place for place, token in enumerate(rest) if token.kind == "end"), len(rest))
    return rest[:end]


def has(found: list[Token], words: frozenset[str]) -> bool:
    """Return whether a text has one of some words."""
    return any(token.word in words for token in found)


def shown_of(found: list[Token]) -> str:
    """Return the first words of a text, for a reason."""
    return repr(" ".join(token.text for token in found[:6]))
