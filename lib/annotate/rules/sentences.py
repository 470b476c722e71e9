"""Ask one plain clause what a named thing is, or for the figure that it labels (paper, 3.1).

A clause is never cut: each of its words is in the question or in the answer, so no condition is
lost.
"""

import re
from collections.abc import Iterator

from lib.annotate.constraints import MAX_SHORT_WORDS, Candidate
from lib.annotate.rules.names import is_named
from lib.documents.markdown import sentences
from lib.documents.phrases import folded, is_noun_phrase, is_series
from lib.documents.sites import Site

MIN_DEFINITION = 4  # words

_REFERENCE = re.compile(r"\[([^\]\n]+)\]\[[^\]\n]*\]")
_LABELLED = re.compile(
    r"The (?P<label>(?:default|maximum|minimum) (?:[a-z]+ ){0,3}(?:of|for) "
    r"(?P<of>.+)) is (?P<value>`?[~<>=±+-]{0,2}\d.*|true|false)\.",
    re.S,
)
_DEFINED = re.compile(
    r"(?P<the>(?:[Tt]he|An?) |)(?P<subject>\S+(?: \S+){0,2}) is "
    r"(?P<value>(?:an?|the) \w.*)\.",
    re.S,
)
_PRAISED = re.compile(
    r"\w+ (?:[\w-]+ ){0,3}?(?:most|more|best|better|good|great|large|small|simple|easy|fast|"
    r"powerful|popular|preferred|recommended|ideal|important|useful|convenient|common|typical|"
    r"crucial|essential|critical|key|must|challenge|problem|issue|reason|example|result|way|new|"
    r"default|freely|number|set|variety|list|main|goal)\b",
    re.I,
)
_OPEN = re.compile(
    r"\b(?:this|these|those|it|its|itself|they|them|their|above|below|following|same|here|you|your|"
    r"we|our|such|see|another|previous|also|too|if|unless|when|while|but|because|so|then|except|"
    r"only|documents?|documentation|guide|page|section|chapter|tutorial|proposal|specification)\b"
    r"|[\"“”?!:;()\[|]",
    re.I,
)
# what may follow the noun phrase of an answer: a relative clause, a participle, an infinitive
_TAIL = re.compile(
    r" (?:that|which|whose|where|capable|written|built|\w{3,}ing|\w{2,}ed|"
    r"to (?!an? |the |that |all |any )) ?(?=\w)"
)


def ask_prose(site: Site) -> Iterator[Candidate]:
    """Yield a question about each sentence that is one plain clause about a named thing."""
    for span in sentences(site.text, site.block.start, site.block.end):
        if found := ask_sentence(_REFERENCE.sub(r"\1", span.text), site.names):
            core, answer = found
            yield Candidate(
                f'In the document "{site.document}", {core}',
                answer,
                "prose",
                span.start,
                span.end,
                rule="sentence: is",
            )


def ask_sentence(text: str, names: frozenset[str] = frozenset()) -> tuple[str, str] | None:
    """Ask one sentence, given as a reader sees it, for its fact: question and answer."""
    if _OPEN.search(text):
        return None
    if match := _LABELLED.fullmatch(text):
        is_safe = is_noun_phrase(match["of"]) and is_named(match["of"], names)
        is_safe = is_safe and is_series(match["value"])
        return (f"what is the {match['label']}?", match["value"]) if is_safe else None
    match = _DEFINED.fullmatch(text)
    if not match or not is_named(match["subject"], names) or not is_noun_phrase(match["subject"]):
        return None
    value = match["value"]
    is_told = any(
        len(word) > 3 and word in folded(value) for word in folded(match["subject"]).split()
    )
    is_safe = MIN_DEFINITION <= len(value.split()) <= MAX_SHORT_WORDS and not is_told
    is_safe = is_safe and not _PRAISED.match(value) and _is_answer(value)
    return (f"what is {match['the'].lower()}{match['subject']}?", value) if is_safe else None


# a noun phrase, perhaps with one clause about it
def _is_answer(phrase: str) -> bool:
    heads = (phrase[: tail.start()] for tail in _TAIL.finditer(phrase))
    return (
        is_series(phrase)
        or "," not in phrase
        and any(map(is_noun_phrase, heads))
        and len(re.findall(r"\b(?:that|which|who|where)\b", phrase)) < 2
    )
