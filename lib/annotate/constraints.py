"""What makes a question fit to ask: every constraint of the annotation prompt, each checked here once (paper, 3.1)."""

import re
from collections.abc import Callable
from dataclasses import dataclass

from lib.core.records import Grounding, Structure
from lib.documents.blocks import STRUCTURE_OF, Block, sentences, structure_at

MAX_SHORT_WORDS = 14  # natural and tabular answers are a word or a short phrase, rarely a simple sentence
MAX_QUESTION_WORDS = 45

_POINTER = re.compile(r"\b(?:above|below|aforementioned|preceding|former|latter|here|following|earlier|this|these|"
                      r"those|previous(?:ly)?)\b", re.I)
_PRONOUN = re.compile(r"\b(?:it|its|itself|they|them|their|theirs|he|she|his|her|we|us|our|you|your|i|my|me)\b", re.I)
_CONTAINER = re.compile(r"\b(?:in|from|of|per|see|by) (?:the|a|an) (?:[\w-]+ )?(?:table|list|figure|bullet|row|"
                        r"column)s?\b|\b(?:table|figure|list) \d", re.I)
_REASONING = re.compile(r"\b(?:why|compare|explain|how would|do you think|difference between)\b", re.I)
_LINK_TARGET = re.compile(r"\]\([^()\s]*(?:\([^()]*\)[^()\s]*)*(?:\s+\"[^\"]*\")?\)|</?[a-zA-Z][^>]*>")
_QUOTED = re.compile(r'"[^"]*"|“[^”]*”')
_FILLER = ("a an the of in on at for to and or is are was were be by with as from what which when where "
           "does do did has have had how many")


@dataclass(frozen=True)
class Candidate:
    """A question that a rule or a model proposes; document.text[start:end] is its source reference."""

    question: str
    answer: str  # one entity a line in an entity list
    structure: Structure
    start: int
    end: int
    longer: str = ""  # the same question with its section named, asked where the short one is ambiguous
    rank: int = 1  # 0 is asked first within its part of the document
    grounding: Grounding = "exact"  # how a model's source reference was found
    grounding_score: float = 1.0


def violation(candidate: Candidate, text: str, blocks: list[Block]) -> str:
    """The first constraint that `candidate` breaks in the document `text`, in words; "" where it keeps them all."""
    return next((reason for reason, broken in _CHECKS if broken(candidate, text, blocks)), "")


def entity_count(candidate: Candidate) -> int | None:
    """Lines of an entity list's answer; None for the other structures."""
    return len(candidate.answer.split("\n")) if candidate.structure == "entity-list" else None


def words(text: str) -> list[str]:
    """Letters and digits of `text` in lower case, link targets, tags and punctuation left out."""
    return re.findall(r"[^\W_]+", _LINK_TARGET.sub(" ", text).lower())


def folded(text: str) -> str:
    """`text` as its words, for comparing two questions or two answers."""
    return " ".join(words(text))


def _is_not_a_question(candidate: Candidate, text: str, blocks: list[Block]) -> bool:
    question = candidate.question
    return (not question.endswith("?") or "\n" in question or len(question.split()) > MAX_QUESTION_WORDS
            or question.count('"') % 2 == 1 or any(question.count(a) != question.count(b) for a, b in ("()", "[]")))


def _points_elsewhere(candidate: Candidate, text: str, blocks: list[Block]) -> bool:
    """A heading or label between quotation marks is a name, whatever words it holds."""
    question = _QUOTED.sub("", candidate.question)
    return bool(_POINTER.search(question) or _PRONOUN.search(question))


def _names_a_container(candidate: Candidate, text: str, blocks: list[Block]) -> bool:
    return bool(_CONTAINER.search(_QUOTED.sub("", candidate.question)))


def _asks_for_reasoning(candidate: Candidate, text: str, blocks: list[Block]) -> bool:
    return bool(_REASONING.search(_QUOTED.sub("", candidate.question)))


def _is_unstated(candidate: Candidate, text: str, blocks: list[Block]) -> bool:
    source = f" {folded(text[candidate.start:candidate.end])} "
    return any(f" {folded(line)} " not in source for line in candidate.answer.split("\n"))


def _is_given_away(candidate: Candidate, text: str, blocks: list[Block]) -> bool:
    told = set(words(candidate.question)) | set(_FILLER.split())
    return all(word in told for word in words(candidate.answer))


def _is_long(candidate: Candidate, text: str, blocks: list[Block]) -> bool:
    answer = candidate.answer
    return candidate.structure != "entity-list" and ("\n" in answer or len(answer.split()) > MAX_SHORT_WORDS)


def _points_back(candidate: Candidate, text: str, blocks: list[Block]) -> bool:
    """An answer that needs the sentence before it is no answer on its own."""
    return candidate.structure != "entity-list" and bool(
        re.match(r"(?:it|this|these|those|they|them|one|that|such)\b", candidate.answer, re.I)
        or re.search(r"\b(?:above|below|as follows|the following|this|these|those)\b", candidate.answer, re.I))


def _has_blank_entity(candidate: Candidate, text: str, blocks: list[Block]) -> bool:
    lines = candidate.answer.split("\n")
    return any(not words(line) for line in lines) or len(set(lines)) < len(lines)


def _is_wide(candidate: Candidate, text: str, blocks: list[Block]) -> bool:
    return candidate.structure == "natural" and len(sentences(text, candidate.start, candidate.end)) > 3


def _disagrees_with_parser(candidate: Candidate, text: str, blocks: list[Block]) -> bool:
    return STRUCTURE_OF.get(structure_at(blocks, candidate.start, candidate.end)) != candidate.structure


_CHECKS: tuple[tuple[str, Callable[[Candidate, str, list[Block]], bool]], ...] = (
    ("the question is not one well-formed question", _is_not_a_question),
    ("the question does not stand alone: it points at something outside itself", _points_elsewhere),
    ("the question names a table or list instead of its subject", _names_a_container),
    ("the question asks for reasoning, not recall", _asks_for_reasoning),
    ("the answer is empty or repeats an entity", _has_blank_entity),
    ("the answer does not stand word for word in the source reference", _is_unstated),
    ("the question gives the answer away", _is_given_away),
    ("the answer is longer than a short phrase", _is_long),
    ("the answer points at something outside itself", _points_back),
    ("the source reference is longer than three sentences", _is_wide),
    ("the label is not the structure that the parser sees there", _disagrees_with_parser),
)
