"""What a question lets an answer repeat, and words that turn a meaning around."""

import re
from dataclasses import dataclass
from functools import lru_cache

from lib.core.units import unit_of
from lib.core.values import Token, folded, in_unit, tokens

Key = tuple[str, object]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


NEGATIONS = _words(
    "not no never without except excluding excludes besides nor neither none nothing unlike "
    "instead rather wrong incorrect false hardly unless unable fails lacks failed"
)
HEDGES = _words(
    "or either maybe perhaps possibly probably likely might could presumably unsure "
    "unclear unknown depending depends sometimes some any"
)
BOUNDS = _words("atleast atmost above below nearly almost under over rangeto")
PAST = _words(
    "formerly previously originally former until earlier old older deprecated obsolete "
    "replaced removed dropped longer"
)
TURNS = (
    NEGATIONS
    | HEDGES
    | BOUNDS
    | PAST
    | _words(
        "but however although wait actually correction sorry more less fewer only than "
        "another other "
        "outdated superseded too false most least average minimum maximum"
    )
)
OPENERS = _words(
    "before after which so because when while if by in at on for with as since from "
    "using via that including who where during per to of through"
)
FILLERS = OPENERS | _words(
    "is are was were be been being am it its it's this these that those they them their there here "
    "he she we you your i has have had having a an the and do does did done can may must should "
    "will would shall also each all both every called named namely use uses used using support "
    "supports supported require requires required need needs needed run runs contain contains "
    "include includes consist consists equals amounts make makes made take takes taken give gives "
    "given get gets set value answer default about into up out under located found stored kept "
    "available list listed known namely exactly just simply always usually normally "
    "typically generally currently one "
    "according manual documentation document specification table section please keep keeps hold "
    "holds lasts reach reaches see look choose press begin total per what how much well "
    "version release number code model type port file directory path command step period time "
    "times times: item items tcp udp able"
)
_SIGNS = dict.fromkeys("yes true enabled on active enable".split(), True) | dict.fromkeys(
    "no false disabled off inactive disable".split(), False
)
_ASKED_UNIT = re.compile(
    r"(?:\bin |\(|\bhow many |\bnumber of )"
    r"(%|°?[A-Za-zμΩ][A-Za-z0-9μΩ·/]*)",
    re.I,
)
_SEVERAL = re.compile(
    r"\bwh(?:at|o|ich)(?: \S+){0,2}? (?:are|were)\b|\b(?:list|name|give)\b(?: all)? the\b"
    r"|\b(?:which|what) (?:\S+ ){0,3}?(?!does )\S{3,}(?<![sui])s\b|\b(?:which|what) \S+ies\b",
    re.I,
)
_POLAR = _words("is are was were does do did can may must will should has have could")
_ORDERED = re.compile(
    r"(?<!in )(?<!any )\border\b(?! number)|\bin (?:(?!any)\w+ )?order\b(?! to\b)|\bsequence\b"
    r"|\brank|step by step|chronological|ascending|descending|first\b.{0,20} last\b",
    re.I,
)
_MAXIMUM = re.compile(
    r"\b(?:max|maximum|most|limit|largest|longest|highest)\b|"
    r"\bhow (?:many|much|long|far)\b.* (?:may|can|allow)\b",
    re.I,
)
_MINIMUM = re.compile(r"\b(?:min|minimum|least|smallest|shortest|lowest)\b", re.I)


@lru_cache(20_000)
def stem(word: str) -> str:
    """Return a word without its inflection."""
    word = word.removesuffix("'s").removesuffix("'").strip(".®™")
    if not word.replace("-", "").isalpha() or len(word) < 4 or word.endswith(("ss", "us")):
        return word
    bare = re.sub(r"(?:ies|ied)$", "y", word)
    bare = re.sub(r"(?<=[a-z]{3})(?:ing|ed|es|er|ly|ion|e|s)$", "", bare)
    bare = re.sub(r"(?<=[a-z]{3})(?:at|e)$", "", bare) if bare != word else re.sub("s$", "", bare)
    return bare[:-1] if len(bare) > 3 and bare[-1] == bare[-2] else bare


def key(token: Token) -> Key:
    """Return what two tokens of one meaning share."""
    if token.kind != "word" or sort_of(token) == "code" and token.word.endswith("s"):  # HTTPS
        return token.kind, token.value
    return "word", stem(token.word)


def sort_of(token: Token) -> str:
    """Return what a rival must share: number, date, code, name, or word."""
    text = token.text.rstrip(".")
    if token.kind != "word":
        return token.kind
    if re.search(r"\d|\w[/_@]|/\w|\w\.\w|^[.-]\w", text) or sum(map(str.isupper, text)) > 1:
        return "code"
    return "name" if text[:1].isupper() else "word"


def sign_of(token: Token) -> bool | None:
    """Return True for yes or on, False for no or off, else None."""
    return _SIGNS.get(token.word) if token.kind == "word" else None


@dataclass(frozen=True)
class Question:
    """What the judge reads in a question."""

    text: str
    unit: str  # that it asks for, or ""
    keys: frozenset[Key]
    tokens: tuple[Token, ...]

    def read(self, text: str) -> list[Token]:
        """Return the tokens of `text`: compounds apart, amounts in the unit asked for."""
        found: list[Token] = []
        for token in tokens(text):
            if token.kind == "word" and re.fullmatch(r"[A-Za-z]{2,}(?:-[A-Za-z]{2,})+", token.text):
                found += [Token("word", part.lower(), part) for part in token.text.split("-")]
            else:
                found.append(in_unit(token, self.unit) if self.unit else token)
        return self._bounded(found)

    # "at most" repeats a question for a maximum
    def _bounded(self, found: list[Token]) -> list[Token]:
        loose = {
            word
            for word, pattern in (("atmost", _MAXIMUM), ("atleast", _MINIMUM))
            if pattern.search(self.text)
        }
        return [token for token in found if token.word not in loose]

    def allows(self, token: Token) -> bool:
        """Return whether a restatement may have this token: a word of the question, a filler."""
        if not token.is_solid or key(token) in self.keys:
            return True
        is_name = not token.text.islower() and (
            token.text.isupper() and len(token.text) > 2 or token.word not in FILLERS
        )  # CAN, Holding
        return (
            bool({token.word, stem(token.word)} & FILLERS)
            and not is_name
            and (token.word not in TURNS)
        )

    def turn(self, found: list[Token], reference: list[Token]) -> Token | None:
        """Return the first word of an answer that may change what it says, or None."""
        known = set(map(key, reference))
        changing = TURNS | {"before", "after", "was", "were", "had"}
        return next(
            (
                token
                for token in found
                if token.word in changing
                and key(token) not in known
                and (key(token) not in self.keys or token.word in HEDGES)
            ),
            None,
        )

    @property
    def is_plural(self) -> bool:
        """Whether it asks for several things."""
        return bool(_SEVERAL.search(self.text))

    @property
    def is_polar(self) -> bool:
        """Whether it asks for yes or no."""
        return bool(self.tokens) and self.tokens[0].word in _POLAR

    @property
    def is_ordered(self) -> bool:
        """Whether it asks for an order."""
        return bool(_ORDERED.search(self.text))

    def loses_denial(self, found: list[Token]) -> bool:
        """Return whether an answer repeats the question, but not its "not"."""
        own = set(map(key, found))
        denials = {one for one in self.keys if one[1] in NEGATIONS}
        return bool(
            denials
            and not any(one[1] in NEGATIONS for one in own)
            and {one for one in own & self.keys if one[1] not in FILLERS}
        )


@lru_cache(512)  # every arm's answer to it is judged
def question_of(question: str) -> Question:
    """Read a question, in one spelling."""
    found = tokens(question)
    units = [match[1] for match in _ASKED_UNIT.finditer(folded(question)) if unit_of(match[1])]
    parts = [part for token in found if token.kind == "word" for part in token.word.split("-")]
    keys = {key(token) for token in found if token.is_solid}
    return Question(
        question,
        units[-1] if units else "",
        frozenset(keys | {("word", stem(part)) for part in parts}),
        tuple(found),
    )
