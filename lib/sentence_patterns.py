"""Patterns of plain factual English sentences, each from a sentence to a question and its answer (paper, 3.1)."""

import re
from typing import NamedTuple

from lib.verbs import BASE, is_participle
from lib.wording import as_label, is_plural


class Asked(NamedTuple):
    """A question in lower case without its place, and the answer; `is_whole` where it names its subject itself."""

    core: str
    answer: str
    is_whole: bool = False


_CUT = re.compile(r"\s*(?:;|\s[-–—]\s|,? (?:which|but|although|though|while|whereas|so that|so|because|since)\b|, (?:and|or) (?:\w+ ){0,4}"
                  r"(?:is|are|was|were|has|have|can|will|must|should|may|does|do)\b|\s\().*", re.S)
_LOOSE_START = re.compile(
    r"(?:this|these|those|that|it|its|they|their|there|here|what|which|who|one|you|your|we|our|i|he|she|his|some|most|many|such|each|all|"
    r"any|another|other|both|either|if|when|while|although|though|however|for|in|on|at|by|to|as|with|after|before|during|until|unless|"
    r"once|since|see|please|thus|therefore|hence|then|otherwise|instead|also|e\.g|similarly|no|not|now|only|older|newer|additional|"
    r"further|likewise|consequently|unfortunately|finally|first|second|third|next|last|remaining|previously|and|or|but|so|rather|even|"
    r"examples?|everything|anything|something|nothing|note|more|less|using|adding|setting|running|doing|be|make|do)\b", re.I)
_CLAUSE = re.compile(r"\b(?:which|that|who|whom|whose|if|when|because|where|while|is|are|was|were|be|been|being|has|have|had|can|could|"
                     r"will|would|may|might|must|should|shall|do|does|did|not|never|then|also|only|than|it|they|this|these|you|we|"
                     r"and/or|but|so|as|following|above|below|latter|former|same|previous|here)\b|[,;:()]|\bn't\b", re.I)
_LOOSE_END = re.compile(r"\b(?:to|of|in|on|at|by|for|with|from|and|or|the|a|an|its|also|typically|usually|then|now|not|only|please)$", re.I)
_NAME = re.compile(r"[A-Z]{2,}|\d|_|[a-z][A-Z]|[<>\[\]{}/\"“`-]|(?<=\s)[A-Z][a-z]+")
_NARROW = re.compile(r"\b(?:default|maximum|minimum|max|min|primary|main|of|for|in|between)\b", re.I)
_BAD_VALUE = re.compile(r"(?:that|to|not|no|it|they|them|this|these|those|such|if|when|where|how|why|what|one of|different|similar|"
                        r"more|less|important|possible|necessary|required|able|up to you|the (?:same|following|case|reason))\b", re.I)
_LOOSE_IN_VALUE = re.compile(r"\b(?:if|when|unless|it|they|them|their|its|you|your|we|our|this|these|those|above|below|following|"
                             r"previous|former|latter|otherwise|however|e\.g|i\.e|etc|not)\b", re.I)
_FIXED = re.compile(r"[~<>=±+-]{0,2}\s?\d|[`\"“<\[/{$~]|[A-Z][\w.-]*|\w+_\w+")


def attribute_of(said: str, entity: str) -> Asked | None:
    """An attribute of `entity`, which the sentence names; asked alike whatever its wording."""
    e = re.escape(entity)
    found = next((match for pattern in (
        rf"The (?P<a>.+?) of {e} (?:is|are) (?P<v>.+)",
        rf"{e} (?:has|have) (?:an? |the )?(?P<a>.+?) of (?P<v>.+)",
        rf"(?:On|In|For|With) {e}, the (?P<a>.+?) (?:is|are) (?P<v>.+)",
        rf"{e} uses (?P<v>.+) as its (?P<a>.+)",
        rf"{e}(?:'s|’s|') (?P<a>.+?) (?:is|are) (?P<v>.+)",
        rf"(?P<v>.+?) (?:is|are) the (?P<a>.+) of {e}") if (match := re.fullmatch(pattern, said, re.S))), None)
    if not found or not _is_label(found["a"]):
        return None
    value = _value(found["v"])
    label = as_label(found["a"])
    return Asked(f"what {'are' if is_plural(label) else 'is'} the {label} of {entity}?", value, True) if value else None


def _is_label(phrase: str) -> bool:
    return len(phrase.split()) <= 7 and not _CLAUSE.search(phrase) and not _LOOSE_END.search(phrase)


def _value(phrase: str, most: int = 12) -> str:
    """The phrase up to where a new clause begins; "" where what is left cannot be an answer."""
    phrase = re.sub(r"^(?:now|also|currently|typically|usually|generally|always|only|then) (?:also )?", "", phrase.strip())
    phrase = _CUT.sub("", phrase).strip(" ,")
    if not phrase or len(phrase.split()) > most or _BAD_VALUE.match(phrase) or _LOOSE_IN_VALUE.search(phrase):
        return ""
    return phrase if phrase.count("(") == phrase.count(")") and phrase.count('"') % 2 == 0 else ""


def _subject(phrase: str) -> str:
    """`phrase` as the subject of a question; "" where it leans on another sentence or is no noun phrase."""
    phrase = re.sub(r"\s(?:now|also|currently|typically|usually|generally|always|only|then|commonly)$", "", phrase.strip())
    if not phrase or len(phrase.split()) > 9 or _LOOSE_START.match(phrase) or _CLAUSE.search(phrase) or _LOOSE_END.search(phrase):
        return ""
    return as_subject(phrase) if _NAME.search(phrase) or _NARROW.search(phrase) or re.match(r"[A-Z]\w*$", phrase) else ""


def as_subject(phrase: str) -> str:
    """A sentence's subject inside a question: its first word in lower case where it is no name."""
    return re.sub(r"^(?:The|An?|Support|Using|Option|Several|Most|Every)\b", lambda match: match[0].lower(), phrase)


def _by_default(said: str) -> Asked | None:
    match = re.fullmatch(r"By default,? (?P<s>.+?) (?P<be>is|are) (?P<v>.+)", said, re.S)
    subject, value = (_subject(as_name(match["s"])), _value(match["v"])) if match else ("", "")
    if not subject or not (_FIXED.match(value) or is_participle(value.split(" ")[0])):
        return None
    return Asked(f"what {match['be']} {subject} by default?", value) if _FIXED.match(value) else None


def as_name(phrase: str) -> str:
    """A phrase from the middle of a sentence, as if it began one."""
    return re.sub(r"^(?:the|an?)\b", lambda match: match[0].capitalize(), phrase)


def _copula(said: str) -> Asked | None:
    """"The default port of X is 80": a number, a name or a quoted value."""
    match = re.fullmatch(r"(?P<s>(?:The |An? )?.+?) (?P<be>is|are) (?P<v>.+)", said, re.S)
    subject, value = (_subject(match["s"]), _value(match["v"])) if match else ("", "")
    if not subject or not value or re.search(r"\bthe only\b", said):
        return None
    if re.match(r"(?:an?|the|one of the) \w", value) and match["s"][:2] not in ("A ", "An"):
        return Asked(f"what {match['be']} {subject}?", value) if len(value.split()) > 2 else None
    is_fixed = _FIXED.match(value) and match["s"].startswith("The ")
    return Asked(f"what {match['be']} {subject}?", value) if is_fixed else None


def _verb(said: str) -> Asked | None:
    """"X supports Y": asked with "does" and the verb's base form."""
    match = re.fullmatch(rf"(?P<s>.+?) (?:(?P<modal>can|will|must|should|may) )?(?:(?:also|now|only|currently|typically) )?"
                         rf"(?P<verb>{'|'.join(BASE)}) (?P<prep>(?:on|of|to|in|at|with|for|from|as) )?(?P<v>.+)", said, re.S)
    subject, value = (_subject(match["s"]), _value(match["v"])) if match else ("", "")
    if not subject or not value or re.match(r"(?:only|also|both|either)\b|\w+(?:ing|ly)\b", value):
        return None
    verb, plural = match["verb"], is_plural(match["s"])
    is_base = verb == BASE[verb]
    if is_base and not match["modal"] and not plural:
        return None
    helper = match["modal"] or ("do" if is_base else "does")
    prep = f" {match['prep'].strip()}" if match["prep"] else ""
    return Asked(f"what {helper} {subject} {BASE[verb]}{prep}?", value)


def _passive(said: str) -> Asked | None:
    """"X is stored in Y", "X has been renamed to Y"; a version or date is asked for as such."""
    match = re.fullmatch(r"(?P<s>.+?) (?P<aux>is|are|was|were|has been|have been) (?:(?:now|also|typically|usually|commonly|currently) )?"
                         r"(?P<done>\w+) (?P<prep>to|by|with|in|on|from|as|via|through|at|into|under) (?P<v>.+)", said, re.S)
    subject, value = (_subject(match["s"]), _value(match["v"])) if match else ("", "")
    if not subject or not value or not is_participle(match["done"]) or re.match(r"\w+ing\b", value):
        return None
    first, _, second = match["aux"].partition(" ")
    verb = f"{second} {match['done']}".strip()
    version = re.fullmatch(r"(?:version |release )?v?\d+(?:\.\d+)+\S*|[A-Z]\w+ v?\d+(?:\.\d+)+", value)
    if version and match["prep"] == "in":
        return Asked(f"in which version {first} {subject} {verb}?", value)
    return Asked(f"what {first} {subject} {verb} {match['prep']}?", value)


PATTERNS = (_by_default, _copula, _passive, _verb)
