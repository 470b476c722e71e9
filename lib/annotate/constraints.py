"""Check every constraint of the annotation prompt on a question, in one place (paper, 3.1)."""

import re
from dataclasses import dataclass

from lib.core.records import Grounding
from lib.core.structures import STRUCTURES, prose, structure_of
from lib.core.text import folded, words
from lib.documents.markdown import sentences

MAX_SHORT_WORDS = 14  # natural and tabular answers are a word or a short phrase
MAX_QUESTION_WORDS = 45
MAX_SENTENCES = 3  # of a natural source reference

_POINTER = re.compile(
    r"\b(?:above|below|aforementioned|preceding|former|latter|here|following|earlier|this|these|"
    r"those|previous(?:ly)?|it|its|itself|they|them|their|theirs|he|she|his|her|we|us|our|you|your|"
    r"i|my|me)\b",
    re.I,
)
_CONTAINER = re.compile(
    r"\b(?:in|from|of|per|see|by) (?:the|a|an) (?:[\w-]+ )?(?:table|list|figure|bullet|row|"
    r"column)s?\b|\b(?:table|figure|list) \d",
    re.I,
)
_REASONING = re.compile(
    r"\b(?:why|compare|explain|how would|do you think|difference between)\b", re.I
)
_POINTS_BACK = re.compile(
    r"\A(?:it|this|these|those|they|them|one|that|such)\b|"
    r"\b(?:above|below|as follows|the following|this|these|those)\b",
    re.I,
)
_QUOTED = re.compile(r'"[^"]*"|“[^”]*”')
_NO_SPACES = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u4e00-\u9fff]")  # Thai, Japanese, Chinese
_FILLER = (
    "a an the of in on at for to and or is are was were be by with as from what which when "
    "where does do did has have had how many"
)


@dataclass(frozen=True)
class Candidate:
    """A proposed question; document.text[start:end] is its source reference."""

    question: str
    answer: str  # one entity per line in an entity list
    kind: str  # of the block that the answer is in: prose, list or table
    start: int
    end: int
    header: str = ""  # the header row of a cell's table, verbatim
    grounding: Grounding = "exact"  # how a model's source reference was found
    grounding_score: float = 1.0

    @property
    def structure(self) -> str:
        """Return the structure of the block."""
        return structure_of(self.kind).name


def violation(candidate: Candidate, text: str) -> str:
    """Return the first constraint that `candidate` breaks in the document `text`, "" if none."""
    asked, answer, structure = candidate.question, candidate.answer, candidate.structure
    unquoted = _QUOTED.sub("", asked)  # a quoted heading is a name, whatever words it contains
    is_list, lines = STRUCTURES[structure].has_entities, answer.split("\n")
    start, end = candidate.start, candidate.end
    source = f" {folded(text[start:end])} "
    is_unbalanced = any(unquoted.count(a) != unquoted.count(b) for a, b in ("()", "[]"))
    if (
        not asked.endswith(("?", "？"))
        or "\n" in asked
        or len(asked.split()) > MAX_QUESTION_WORDS
        or asked.count('"') % 2
        or is_unbalanced
    ):
        return "the question is not one well-formed question"
    if _POINTER.search(unquoted):
        return "the question is not self-contained: it points at something outside itself"
    if _CONTAINER.search(unquoted):
        return "the question names a table or list instead of its subject"
    if _REASONING.search(unquoted):
        return "the question asks for reasoning, not recall"
    if len(set(lines)) < len(lines) or not all(words(line) for line in lines):
        return "the answer is empty or repeats an entity"
    if any(not _is_in(folded(line), source) for line in lines):
        return "the answer does not appear verbatim in the source reference"
    if set(words(answer)) <= {*words(asked), *_FILLER.split()}:
        return "the question gives the answer away"
    if not is_list and (len(lines) > 1 or len(answer.split()) > MAX_SHORT_WORDS):
        return "the answer is longer than a short phrase"
    if not is_list and _POINTS_BACK.search(answer):
        return "the answer points at something outside itself"
    if structure == prose() and len(sentences(text, start, end)) > MAX_SENTENCES:
        return "the source reference is longer than three sentences"
    return ""


# a script may have no spaces
def _is_in(answer: str, source: str) -> bool:
    if _NO_SPACES.search(answer):
        return answer.replace(" ", "") in source.replace(" ", "")
    return f" {answer} " in source
