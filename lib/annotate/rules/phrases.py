"""When a phrase of a sentence may be the subject of a question, and when it may be its answer (paper, 3.1)."""

import re

from lib.annotate.rules.verbs import BASE
from lib.core.text import is_plural
from lib.documents.subject import Scope

ADVERB = (r"(?:now also|now|also|currently|typically|usually|generally|always|commonly|often|normally|mostly|"
          r"primarily|mainly|last|first|automatically)")
AMOUNT = (r"(?:(?:up to|exactly|at least|at most|no more than|only) )?"
          r"(?:\d[\d,.]*[KkM]?|two|three|four|five|six|seven|eight|nine|ten|twelve)")
DATE = (r"(?:\d{8}|\d{4}-\d{2}-\d{2}|\d{4}/\d{2}/\d{2}|\d{1,2}[./]\d{1,2}[./]\d{4}|\d{1,2} [A-Z][a-z]+ \d{4}|"
        r"[A-Z][a-z]+ \d{1,2}, \d{4}|[A-Z][a-z]+ \d{4})")
FIXED = re.compile(r"[~<>=±+-]{0,2}\s?\d|[`\"“<\[/{$~]|[A-Z][\w.-]*|\w+_\w+")  # a number, a name, a quoted value

# Words that lean on another sentence: a subject that begins so does not stand alone.
_LOOSE_START = re.compile(
    r"(?:this|these|those|that|it|its|they|their|there|here|what|which|who|one|you|your|we|our|i|he|she|his|some|"
    r"most|many|"
    r"such|each|all|any|another|other|both|either|if|when|while|although|though|however|for|in|on|at|by|to|as|with|"
    r"after|before|during|until|unless|once|since|see|please|thus|therefore|hence|then|otherwise|instead|also|e\.g|"
    r"similarly|no|not|"
    r"now|only|older|newer|additional|further|likewise|consequently|unfortunately|finally|first|second|third|next|last|"
    r"remaining|previously|and|or|but|so|rather|even|everything|anything|something|nothing|note|more|less|be|make|"
    r"do|like|"
    r"support (?:for|of)|the (?:other|first|second|third|next|last|new|old|remaining|result|goal|idea|reason))\b", re.I)
# Words of a clause: a phrase that holds one is more than a noun phrase. In small letters only: CAN is a bus.
_CLAUSE = re.compile(
    r"\b(?:which|that|who|whom|whose|if|when|because|where|while|is|are|was|were|be|been|being|has|have|had|can|"
    r"could|will|"
    r"would|may|might|must|should|shall|do|does|did|not|never|then|also|only|than|it|they|this|these|you|we|and/or|"
    r"but|so|as|following|above|below|latter|former|same|previous|here|longer)\b|[,;:()]|\s-\s|n't\b")
_LOOSE_END = re.compile(r"\b(?:to|of|in|on|at|by|for|with|from|and|or|the|a|an|its|also|not|only|please|who|"
                        r"to \w+)$", re.I)
_NAME = re.compile(r"[A-Z]{2,}|\d|_|[a-z][A-Z]|[<>\[\]{}/\"“`-]|(?<=\s)[A-Z][a-z]+")
_NARROW = re.compile(r"\b(?:default|maximum|minimum|max|min|primary|main|of|for|between)\b|(?:^|"
                     r"\s)(?:[\w'-]+\s){3}[\w'-]+$", re.I)
_ELSEWHERE = re.compile(r"\b(?:documents?|documentation|website|guides?|pages?|sections?|links?|repository|chapter|"
                        r"users?|people|developers?|tests?|examples?|references?|tutorials?)\b", re.I)
_CUT = re.compile(r"\s*(?:;|\s[-–—]\s|,? (?:which|but|although|though|while|whereas|so that|so|because|since)\b|"
                  r", (?:and|or) (?:\w+ ){0,4}(?:is|are|was|were|has|have|can|will|must|should|may|does|do)\b|"
                  r" and (?:then |thus |as such )?(?:set|make|makes|is|are|was|were|has|renamed|indicates|will|"
                  r"can)\b|\s\([^()]*(?:\)\s*$|\)[,;.]|\) and |$)).*", re.S)
_BAD_VALUE = re.compile(r"(?:that|to|not|no|some|it|they|them|this|these|those|such|if|when|where|how|why|what|"
                        r"one of|different|similar|"
                        r"more|less|important|possible|necessary|required|able|up to you|(?:the |an? )(?:near|same|"
                        r"following|case|reason|good|great|common|few|number|lot|result|problem)|the \w+$)\b", re.I)
_LOOSE_VALUE = re.compile(r"\b(?:and/or|if|when|unless|it|they|them|their|its|you|your|we|our|this|these|those|"
                          r"above|below|following|"
                          r"previous|former|latter|otherwise|however|e\.g|i\.e|eg|(?<!/)etc|not|here|document|"
                          r"documentation|section|page|website|guides?)\b", re.I)


def subject_in(phrase: str, scope: Scope) -> str:
    """`phrase` as the subject of a question; "" where it leans on another sentence or is no noun phrase."""
    phrase = re.sub(rf"\s{ADVERB}$", "", phrase.strip())
    words = phrase.split()
    if not words or len(words) > 10 or words[0].lower() in BASE and not re.match(r"[A-Z]\w* (?:for|of|in)\b", phrase):
        return ""
    if any(pattern.search(phrase) for pattern in (_CLAUSE, _LOOSE_END, _ELSEWHERE)) or _LOOSE_START.match(phrase):
        return ""
    is_told = _NAME.search(phrase) or _NARROW.search(phrase) or re.match(r"[A-Z]\w*$", phrase)
    if scope.is_entity:  # a record about one thing: "the sensor cable" is that thing's
        is_told = (is_told or phrase == scope.subject or re.match(r"The [\w-]+ \w", phrase)
                   or len(words) > 1 and is_plural(phrase))
    subject = scope.subject_of(phrase) if is_told else ""
    is_bare = subject != phrase and len(words) == 1 and not (is_plural(subject) or scope.is_entity)
    return "" if is_bare else subject  # "Schema is …" says of which schema somewhere else


def value_in(phrase: str, most: int = 12) -> str:
    """The phrase up to where a new clause begins; "" where what is left cannot be an answer."""
    phrase = _CUT.sub("", re.sub(rf"^{ADVERB} ", "", phrase.strip())).strip(" ,")
    if not phrase or len(phrase.split()) > most or _BAD_VALUE.match(phrase) or _LOOSE_VALUE.search(phrase):
        return ""
    if re.search(r"\w\w\.\s+[a-z]", phrase):
        return ""  # two sentences, the second in small letters
    return phrase if phrase.count("(") == phrase.count(")") and phrase.count('"') % 2 == 0 else ""


def is_attribute(phrase: str) -> bool:
    """Whether `phrase` can stand after "the" as the name of an attribute."""
    return len(phrase.split()) <= 7 and not _CLAUSE.search(phrase) and not _LOOSE_END.search(phrase)


def matched(pattern: str, said: str, scope: Scope) -> tuple[re.Match[str], str, str] | None:
    """The match of `pattern`, its group s as a subject and its group v as an answer; None where one does not hold."""
    match = re.fullmatch(pattern, said, re.S)
    if not match:
        return None
    subject, value = subject_in(match["s"], scope), value_in(match["v"])
    return (match, subject, value) if subject and value else None
