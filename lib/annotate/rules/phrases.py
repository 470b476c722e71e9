"""Decide which phrases can be the subject of a question, and which its answer (paper, 3.1)."""

import re

from lib.annotate.rules.verbs import BASE
from lib.core.text import is_plural
from lib.documents.subject import Subject

ADVERB = (r"(?:now also|now|also|currently|typically|usually|generally|always|commonly|often|"
          r"normally|mostly|primarily|mainly|last|first|automatically)")
AMOUNT = (r"(?:(?:up to|exactly|at least|at most|no more than|only) )?"
          r"(?:\d[\d,.]*[KkM]?|two|three|four|five|six|seven|eight|nine|ten|twelve)")
DATE = (r"(?:\d{8}|\d{4}-\d{2}-\d{2}|\d{4}/\d{2}/\d{2}|\d{1,2}[./]\d{1,2}[./]\d{4}|"
        r"\d{1,2} [A-Z][a-z]+ \d{4}|[A-Z][a-z]+ \d{1,2}, \d{4}|[A-Z][a-z]+ \d{4})")
# a number, a quoted value or a name
FIXED = re.compile(r"[~<>=±+-]{0,2}\s?\d|[`\"“<\[/{$~]|[A-Z][\w.-]*|\w+_\w+")

# a subject that begins like this refers to another sentence
_REFERS_BACK = re.compile(
    r"(?:this|these|those|that|it|its|they|their|there|here|what|which|who|one|you|your|we|our|i|"
    r"he|she|his|some|most|many|such|each|all|any|another|other|both|either|if|when|while|although|"
    r"though|however|for|in|on|at|by|to|as|with|after|before|during|until|unless|once|since|see|"
    r"please|thus|therefore|hence|then|otherwise|instead|also|e\.g|similarly|no|not|now|only|older|"
    r"newer|additional|further|likewise|consequently|unfortunately|finally|first|second|third|next|"
    r"last|remaining|previously|and|or|but|so|rather|even|everything|anything|something|nothing|"
    r"note|more|less|be|make|do|like|support (?:for|of)|the (?:other|first|second|third|next|last|"
    r"new|old|remaining|result|goal|idea|reason))\b", re.I)
# more than a noun phrase; lower case only, because CAN is a bus
_CLAUSE = re.compile(
    r"\b(?:which|that|who|whom|whose|if|when|because|where|while|is|are|was|were|be|been|being|has|"
    r"have|had|can|could|will|would|may|might|must|should|shall|do|does|did|not|never|then|also|"
    r"only|than|it|they|this|these|you|we|and/or|but|so|as|following|above|below|latter|former|"
    r"same|previous|here|longer)\b|[,;:()]|\s-\s|n't\b")
_OPEN_END = re.compile(
    r"\b(?:to|of|in|on|at|by|for|with|from|and|or|the|a|an|its|also|not|only|please|who|to \w+)$",
    re.I)
_NAME = re.compile(r"[A-Z]{2,}|\d|_|[a-z][A-Z]|[<>\[\]{}/\"“`-]|(?<=\s)[A-Z][a-z]+")
_NARROW = re.compile(
    r"\b(?:default|maximum|minimum|max|min|primary|main|of|for|between)\b|"
    r"(?:^|\s)(?:[\w'-]+\s){3}[\w'-]+$", re.I)
_ELSEWHERE = re.compile(
    r"\b(?:documents?|documentation|website|guides?|pages?|sections?|links?|repository|chapter|"
    r"users?|people|developers?|tests?|examples?|references?|tutorials?)\b", re.I)
_NEXT_CLAUSE = re.compile(
    r"\s*(?:;|\s[-–—]\s|,? (?:which|but|although|though|while|whereas|so that|so|because|since)\b|"
    r", (?:and|or) (?:\w+ ){0,4}(?:is|are|was|were|has|have|can|will|must|should|may|does|do)\b|"
    r" and (?:then |thus |as such )?(?:set|make|makes|is|are|was|were|has|renamed|indicates|will|"
    r"can)\b|\s\([^()]*(?:\)\s*$|\)[,;.]|\) and |$)).*", re.S)
_BAD_VALUE = re.compile(
    r"(?:that|to|not|no|some|it|they|them|this|these|those|such|if|when|where|how|why|what|one of|"
    r"different|similar|more|less|important|possible|necessary|required|able|up to you|"
    r"(?:the |an? )(?:near|same|following|case|reason|good|great|common|few|number|lot|result|"
    r"problem)|the \w+$)\b", re.I)
_VALUE_REFERS = re.compile(
    r"\b(?:and/or|if|when|unless|it|they|them|their|its|you|your|we|our|this|these|those|above|"
    r"below|following|previous|former|latter|otherwise|however|e\.g|i\.e|eg|(?<!/)etc|not|here|"
    r"document|documentation|section|page|website|guides?)\b", re.I)


def subject_in(phrase: str, about: Subject) -> str:
    """Return `phrase` as the subject of a question.

    "" if it refers to another sentence, is not a noun phrase or does not say which thing.
    """
    phrase = re.sub(rf"\s{ADVERB}$", "", phrase.strip())
    words = phrase.split()
    is_order = words and words[0].lower() in BASE and not re.match(
        r"[A-Z]\w* (?:for|of|in)\b", phrase)
    if not words or len(words) > 10 or is_order or _REFERS_BACK.match(phrase) or any(
            pattern.search(phrase) for pattern in (_CLAUSE, _OPEN_END, _ELSEWHERE)):
        return ""
    is_specific = _NAME.search(phrase) or _NARROW.search(phrase) or re.match(r"[A-Z]\w*$", phrase)
    if about.is_entity:  # in a record about one thing, "the sensor cable" is that thing's
        is_specific = (is_specific or phrase == about.name or re.match(r"The [\w-]+ \w", phrase)
                       or len(words) > 1 and is_plural(phrase))
    subject = about.inside(phrase) if is_specific else ""
    # "Schema is …" leaves open which schema
    is_bare = subject != phrase and len(words) == 1 and not (is_plural(subject) or about.is_entity)
    return "" if is_bare else subject


def value_in(phrase: str, most: int = 12) -> str:
    """Return the phrase up to the next clause, "" if that cannot be an answer."""
    phrase = re.sub(rf"^{ADVERB} ", "", phrase.strip())
    phrase = _NEXT_CLAUSE.sub("", phrase).strip(" ,")
    if not phrase or len(phrase.split()) > most:
        return ""
    is_two_sentences = re.search(r"\w\w\.\s+[a-z]", phrase)  # the second in lower case
    is_unbalanced = phrase.count("(") != phrase.count(")") or phrase.count('"') % 2
    is_bad = _BAD_VALUE.match(phrase) or _VALUE_REFERS.search(phrase)
    return "" if is_bad or is_two_sentences or is_unbalanced else phrase


def is_attribute(phrase: str) -> bool:
    """Return whether `phrase` can follow "the" as the name of an attribute."""
    has_clause = _CLAUSE.search(phrase) or _OPEN_END.search(phrase)
    return len(phrase.split()) <= 7 and not has_clause


def matched(pattern: str, text: str, about: Subject) -> tuple[re.Match[str], str, str] | None:
    """Return the match of `pattern`, its group s as a subject and its group v as an answer.

    None if the pattern does not match or a group cannot be used.
    """
    match = re.fullmatch(pattern, text, re.S)
    if not match:
        return None
    subject, value = subject_in(match["s"], about), value_in(match["v"])
    return (match, subject, value) if subject and value else None
