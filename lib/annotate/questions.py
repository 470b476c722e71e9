"""Questions on documents: proposals, constraints of the prompt, balanced choice (paper, 3.1)."""

import random
import re
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import NamedTuple

import pandas as pd

from lib.core.prompts import casefold_words, words
from lib.core.records import STRUCTURES, Document, Query, Rejected, prose, structure_of
from lib.documents.markdown import sentences

MAX_SAME_ANSWERS = 3  # questions of a document
FEW = 20  # questions of a structure; fewer give wide intervals
FATES, NONE = ["kept", "refused"], "no structure"
MAX_SHORT_WORDS = 14  # natural and tabular answers are a word or a short phrase
MAX_QUESTION_WORDS = 45
MAX_SENTENCES = 3  # of a natural source reference

# A word points for sure where it has no noun of its own: the table below, not below 160 bar
_PARTS = (
    r"(?:section|paragraph|table|list|figure|example|option|step|row|column|page|text|diagram"
    r"|drawing|picture|image|chart|snippet)s?"
)
_PLACE = (
    r"\b(?:this|these|here|aforementioned|(?:the|as) (?:above|below|following|follows))\b"
    r"(?!\.\w|-(?!mentioned|named))"
    rf"|\b(?:{_PARTS}|which of the [\w-]+) (?:above|below)\b(?! (?:[\dA-Z`]|(?:the|an?)\b))"
    r"|\b(?:in|from|see|by|per|after|before|do|does|did) the (?:previous|preceding|next|earlier)"
    rf" {_PARTS}\b(?! \d)|\bsuch an?\b|\Awhich ones?\b(?! of\b)"
    r"|\b(?:above|below)(?=\W*\Z|[,;:)]| (?:is|are|for)\b)"
    r"|\b(?:we|our|my|me)\b(?!-)|\b(?:can|did|do|may|must|should) I\b(?!/)"
)
_POINTER = re.compile(_PLACE)
# these may stand for what the question names: a name, a number, code, "the pump … it", and what
# does something to its own: "does etcd store its keys"
_PRONOUN = (
    r"(?:its?|itself|they|them|theirs?|he|she|his|hers?|us|those(?! that| wh)"
    r"|the (?:former|latter))\b"
)
_ACTIVE = (
    rf"\b(?:do|does|did|can|may|must|should|will) (?!(?:{_PRONOUN}|the|an?|one)\b)[\w-]+ \w+ "
    r"(?:.{0,120} )?(?:its|their)\b"
)
_UNNAMED = re.compile(
    r"(?!.*(?:(?<!\bits)(?<!\btheir) \W?(?!(?:US|IT)\b)[A-Z]|[\d`\"“]|\b(?:the|an?) .{0,120}"
    rf"\b(?:it|they)\b|{_ACTIVE}))"
    rf".*\b(?!itself|(?:its|their) own){_PRONOUN}"
)
_CONTAINER = re.compile(
    r"\b(?:in|from|of|per|see|by) the (?:[\w-]+ )?(?:table|list|figure|bullet|row|column)s?\b"
    rf"(?! Q\b)|\b(?:table|figure|list) \d|\bdoes the {_PARTS} (?:show|say|give|contain|list)\b",
    re.I,
)
_REASONING = re.compile(
    r"\b(?:why|how would|you think|difference between)\b|\A(?:compare|explain)\b|how do.*compare",
    re.I,
)
_POINTS_BACK = re.compile(rf"(?:{_PRONOUN}|that\b|such\b|one (?:of|that|which)\b)|.*?(?:{_PLACE})")
_QUOTED = re.compile(r""""[^"]*"|“[^“”]*”|`[^`]*`|«[^«»]*»|(?<!\w)['‘„][^'‘’„“]*['’“](?!\w)""")
_NO_SPACES = re.compile(r"[\u0e00-\u0e7f\u3040-\u30ff\u4e00-\u9fff]")  # Thai, Japanese, Chinese
_FILLER = (
    "a an the of in on at for to and or is are was were be by with as from what which when "
    "where does do did has have had how many"
)


class Candidate(NamedTuple):
    """A proposed question; document.text[start:end] is its source reference."""

    question: str
    answer: str  # one entity per line in an entity list
    block_type: str  # of the block that the answer is in: prose, list or table
    start: int
    end: int
    source_header: str = ""  # the header row of a cell's table, verbatim

    @property
    def structure(self) -> str:
        """The structure of the block."""
        return structure_of(self.block_type).name


Proposals = tuple[list[Candidate], list[Rejected]]
# An annotator: (documents, max_queries) -> for each document, candidates and what was left out.
Propose = Callable[[list[Document], int], list[Proposals]]


def draw(
    documents: list[Document], count: int | None, seed: int, diverse: bool = False
) -> list[Document]:
    """Draw `count` documents to ask about, in their order; all if `count` is None or too large.

    If `diverse`, all but the first are those whose words are least like those of the drawn ones.
    """
    if count is None or count >= len(documents):
        return documents
    chosen = random.Random(seed).sample(range(len(documents)), count)
    if diverse:
        from sklearn.feature_extraction.text import TfidfVectorizer

        vectors = TfidfVectorizer().fit_transform(one.text for one in documents)
        alike, chosen = (vectors @ vectors.T).toarray(), chosen[:1]
        while len(chosen) < count:
            chosen.append(alike[chosen].max(axis=0).argmin())
    return [documents[at] for at in sorted(chosen)]


def annotate(
    documents: list[Document], propose: Propose, max_queries: int = 10, balance: bool = True
) -> tuple[list[Query], list[Rejected]]:
    """At most `max_queries` queries per document, and each rejected proposal with a reason.

    They are spread over structures, or the first ones if not `balance`. `propose` is
    `llm_annotator(…)` or `ask_facts(…)`. Raises ValueError if max_queries is below 1.
    """
    if max_queries < 1:
        raise ValueError(f"max_queries is {max_queries}: ask for at least 1 query per document")
    proposals = propose(documents, max_queries)
    answers = defaultdict(set)
    for candidate in (one for candidates, _ in proposals for one in candidates):
        answers[casefold_words(candidate.question)].add(_answer_key(candidate))
    queries, rejected = [], []
    for document, (candidates, unread) in zip(documents, proposals, strict=True):
        name = document.document_id
        chosen, refused = _choose(document, candidates, answers, max_queries, balance)
        queries += [_query(document, number, one) for number, one in enumerate(chosen, 1)]
        left_out = [(one.question, reason, one.structure) for one, reason in refused]
        if not candidates and not unread:
            left_out = [(document.title, "no question was proposed", "")]
        rejected += unread + [
            Rejected(document_id=name, rejected_text=text, reason=reason, structure=structure)
            for text, reason, structure in left_out
        ]
    return queries, rejected


def yields(queries: list[Query], rejected: list[Rejected]) -> pd.DataFrame:
    """Count the questions kept and refused, in rows by structure."""
    fates = [Counter(one.structure or NONE for one in own) for own in (queries, rejected)]
    table = pd.DataFrame(dict(zip(FATES, fates, strict=True))).fillna(0)
    return table.reindex([name for name in (*STRUCTURES, NONE) if name in table.index])


# the order of entities does not make another answer
def _answer_key(candidate: Candidate) -> str:
    return "; ".join(sorted(map(casefold_words, candidate.answer.split("\n"))))


def _choose(
    document: Document,
    candidates: list[Candidate],
    answers: dict[str, set[str]],
    max_queries: int,
    balance: bool,
) -> tuple[list[Candidate], list[tuple[Candidate, str]]]:
    fit, refused, same = {}, [], Counter()
    for one in candidates:
        question, answer = casefold_words(one.question), _answer_key(one)
        reason = violation(one, document.text)
        if not reason and len(answers[question]) > 1:
            reason = "the question has another answer elsewhere in the documents"
        if not reason and question in fit:
            reason = "the same question is asked already"
        if not reason and same[answer] == MAX_SAME_ANSWERS:
            reason = f"{MAX_SAME_ANSWERS} questions of the document have this answer already"
        if reason:
            refused.append((one, reason))
        else:
            fit[question] = one
            same[answer] += 1
    found = [*fit.values()]
    chosen = sorted(
        _balance(found, max_queries) if balance else found[:max_queries],
        key=lambda one: (one.start, one.end, one.question),
    )
    full = f"fits, but the document already has its {max_queries} queries"
    return chosen, refused + [(one, full) for one in found if one not in chosen]


def _balance(fit: list[Candidate], count: int) -> list[Candidate]:
    fit = sorted(fit, key=lambda one: one.start)
    pools = {name: [one for one in fit if one.structure == name] for name in STRUCTURES}
    shares = dict.fromkeys(STRUCTURES, 0)
    for _ in range(min(count, len(fit))):
        not_empty = [name for name in STRUCTURES if shares[name] < len(pools[name])]
        shares[min(not_empty, key=shares.get)] += 1
    return [
        pool[round(part * len(pool) / shares[structure])]
        for structure, pool in pools.items()
        for part in range(shares[structure])
    ]


def _query(document: Document, number: int, candidate: Candidate) -> Query:
    lines = candidate.answer.split("\n")
    return Query(
        **candidate._asdict(),
        query_id=f"{document.document_id}-q{number:03d}",
        document_id=document.document_id,
        structure=candidate.structure,
        source_reference=document.text[candidate.start : candidate.end],
        entity_count=len(lines) if STRUCTURES[candidate.structure].has_entities else None,
    )


def violation(candidate: Candidate, text: str) -> str:
    """The first constraint of the prompt that `candidate` breaks in the document `text`, or ""."""
    asked, answer, structure = candidate.question, candidate.answer, candidate.structure
    unquoted = _QUOTED.sub("Q", asked)  # a quoted heading is a name, whatever words it contains
    is_list, lines = STRUCTURES[structure].has_entities, answer.split("\n")
    quoted = text[candidate.start : candidate.end]
    source = f" {casefold_words(quoted)} "
    checks = {
        "the question is not one well-formed question": not re.search(
            r"[?？؟\u037e]\Z|[\u0370-\u03ff].*;\Z", asked
        )
        or len(asked.split()) > MAX_QUESTION_WORDS
        or re.search(r'(?<!\d)"', unquoted)
        or any(unquoted.count(a) != unquoted.count(b) for a, b in ("()", "[]")),
        "the question is not self-contained: it points at something outside itself": (
            _POINTER.search(_lowered(unquoted)) or _UNNAMED.match(_lowered(asked))
        ),
        "the question names a table or list instead of its subject": _CONTAINER.search(unquoted),
        "the question asks for reasoning, not recall": _REASONING.search(unquoted),
        "the answer is empty or repeats an entity": len(set(lines)) < len(lines)
        or not all(map(words, lines)),
        "the answer does not appear verbatim in the source reference": any(
            not _is_in(casefold_words(line), source) for line in lines
        ),
        "the question gives the answer away": set(words(answer))
        <= {*words(asked), *_FILLER.split()},
        "the answer is longer than a short phrase": not is_list
        and (len(lines) > 1 or len(answer.split()) > MAX_SHORT_WORDS),
        "the answer points at something outside itself": not is_list
        and _POINTS_BACK.match(_lowered(answer)),
        "the source reference is longer than three sentences": structure == prose()
        and len(sentences(quoted)) > MAX_SENTENCES,
    }
    return next((reason for reason, is_broken in checks.items() if is_broken), "")


# "It is", but not "IT"
def _lowered(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]


# a script may have no spaces
def _is_in(answer: str, source: str) -> bool:
    if _NO_SPACES.search(answer):
        return answer.replace(" ", "") in source.replace(" ", "")
    return f" {answer} " in source
