"""Sentences for a label with its value or values, the product named: the core of the rewrite (paper, 3.2)."""

import re

from lib.core.text import as_label, is_plural, listed
from lib.documents.inline import ended
from lib.documents.subject import Scope

_VERBAL = re.compile(r"\b(?:is|are|was|were|be|been|has|have|had|can|could|may|might|must|should|will|would|do|does|"
                     r"did|if|when|that|which|this|these|those|it|you|we|they|there|following|see|make|note|notes|warning|"
                     r"caution|notice|important|tip|hint|example|examples|e\.g|i\.e|eg|ie)\b", re.I)
_NO_NOUN_AT_END = re.compile(r"(?:\w{2,}ed|in|on|at|by|from|for|with|to|since|of|as|and|or|requires|supports|uses|"
                             r"includes|contains|provides|needs)", re.I)
_INSTRUCTION = re.compile(r"(?:add|allow|always|avoid|bump|click|compile|disable|do|don't|enable|ensure|fix|if|"
                          r"implement|improve|introduce|make|never|please|refactor|remove|see|update|upgrade|use|"
                          r"when)\b", re.I)
_COMMA = re.compile(r",\s+(?![^()]*\))")
_SEMICOLON = re.compile(r";\s+(?![^()]*\))")
_SHORT = 8  # words of a name at most


def is_label(text: str) -> bool:
    """Whether `text`, a list's lead-in or a key with its capital, is a noun phrase that can be said to be something."""
    label = text.strip().rstrip(":").strip()
    words = label.split()
    return (1 <= len(words) <= 6 and not re.search(r"[.!?;:,]\s|[.!?;:,]$", label) and label[0].isupper()
            and not _VERBAL.search(label) and not _NO_NOUN_AT_END.fullmatch(words[-1]))


def is_name_like(text: str) -> bool:
    """Whether a list item is a name or a short phrase, not a sentence or an instruction."""
    return (0 < len(text.split()) <= _SHORT and not re.search(r"[.!?:;](?:\s|$)", text)
            and not _INSTRUCTION.match(text))


def fact_sentence(label: str, value: str, scope: Scope) -> str:
    """"Default port", "8443" -> "The default port of Corvane P-417 is 8443."

    Several values under a plural label are joined with "and". Where label or value is no noun the two stay side by
    side after a colon, because any verb between them would be invented.
    """
    label = label.strip().rstrip(":").strip()
    says_more = re.search(r"[.!?]\s+\S", value) or value.casefold() in ("yes", "no", "true", "false")
    if says_more or not is_label(label[:1].upper() + label[1:]):
        place = f"For {scope.subject}, {_inside(label)}" if scope.is_entity else label
        return ended(f"{place}: {value}")
    many = is_plural(label)
    values = _values(value) if many else [value]
    return ended(f"{_the(label)}{_of(scope, label)} {'are' if many else 'is'} {listed(values)}")


def list_sentence(label: str, values: list[str], scope: Scope, *, is_partial: bool, is_continued: bool) -> str:
    """"Supported platforms:", ["Linux", "QNX"] -> "The supported platforms of Corvane P-417 are Linux and QNX."

    Of a list that a segment's end cuts the sentence says "include", of its continuation "also include".
    """
    label = label.strip().rstrip(":").strip()
    many = is_plural(label)
    verb = "include" if many else "includes"
    if not is_partial:
        verb = "are" if many else "is" if len(values) == 1 else "comprises"
    also = "also " if is_continued else ""
    return ended(f"{_the(label)}{_of(scope, label)} {also}{verb} {listed(values)}")


def row_sentence(header: tuple[str, ...], cells: tuple[str, ...], scope: Scope) -> str:
    """A row of a table with a header: "For controller AVR, the 1 stepper active is 157K and the limit is 99K."

    Empty cells say nothing and are left out; a row label that is missing is not guessed.
    """
    clauses = [f"the {_inside(name)} {'are' if is_plural(name) else 'is'} {value}" if name else value
               for name, value in zip(header[1:], cells[1:], strict=False) if value]
    about = " ".join(filter(None, [_inside(header[0]), cells[0]])) if cells[0] else ""
    if not clauses:
        return ended(f"No value is given for {about}") if about else ""
    said = listed(clauses) if not any(", " in clause for clause in clauses) else "; ".join(clauses)
    if not about:
        return ended(said[:1].upper() + said[1:])
    place = f" in {scope.subject}" if scope.is_entity and scope.subject not in about else ""
    return ended(_once(f"For {about}{place}, {said}"))


def _once(text: str) -> str:
    """`text` with each link target in parentheses said only the first time."""
    seen: set[str] = set()

    def keep(match: re.Match) -> str:
        is_known = match[1] in seen
        seen.add(match[1])
        return "" if is_known else match[0]

    return re.sub(r" \(([^()\s]+/[^()\s]+)\)", keep, text)


def _the(label: str) -> str:
    return "The " + _inside(re.sub(r"^the\s+", "", label, flags=re.I))


def _inside(label: str) -> str:
    """A label inside a sentence; one written in title case ("User Guide") keeps all its capitals."""
    is_title_case = any(re.fullmatch(r"[A-Z][a-z]+", word) for word in label.split()[1:])
    return label.strip().rstrip(":").strip() if is_title_case else as_label(label)


def _of(scope: Scope, label: str) -> str:
    return f" of {scope.subject}" if scope.is_entity and scope.subject.casefold() not in label.casefold() else ""


def _values(value: str) -> list[str]:
    """The values in a cell or after a key: "Linux, QNX, VxWorks"; one that has its "and" already is left alone."""
    parts = (_SEMICOLON if _SEMICOLON.search(value) else _COMMA).split(value)
    return [value] if re.search(r"\band\b", parts[-1]) and len(parts) > 1 and ";" not in value else parts
