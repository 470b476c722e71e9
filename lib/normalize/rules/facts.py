"""Write a label with its value as a sentence, if English allows one; else keep the source's colon.

"The port of X is 8443" states a relation. It is written only for a label that is an attribute and
a subject that the record is about (`Part.owner`); anything else stays "Port: 8443".
"""

import re

from lib.core.text import as_label, is_plural, listed
from lib.documents.inline import ended

# Relational nouns: each names a property that has a value, "the size of a thing is a value".
_RELATIONAL = frozenset("""
accuracy address alias amount amperage angle area author average bandwidth baudrate bitrate board
bore brand budget capacity category channel charge class client code color colour command
compatibility component composition connection connector consumption contact content copyright cost
count country creator current cycle date deadline default delay density depth description
destination developer diameter difference dimension direction directory display distance domain
duration edition efficiency encoding energy engine entry extension factor file filename finish
firmware folder force format frequency fuel grade group hardware head height host hostname id
identifier impedance index input installation interface interval inventor label language latency
leader length level licence license lifetime limit line link load location lubricant magnitude
maintainer maker manufacturer mark mass material maximum meaning medium member memory method
minimum mode model module moment motor name namespace noise number objective offset operator order
orientation origin os output owner package parameter parent part password path payload performance
period person phase pin place platform plug policy port position power precision prefix
prerequisite pressure price priority product profile program project property protection protocol
provider publisher purpose quantity radius range rate rating ratio reason recipient region release
replacement repository requirement resistance resolution response responsibility result revision
role room rotation runtime scale schedule schema scope seal sensitivity sensor sequence series
server service severity shape size slogan slot software source space specification speed stage
standard start state status step storage style suffix supplier supply surface symbol system tag
target team technology temperature term text thickness thread threshold throughput time timeout
timestamp title tolerance tool topic torque transport type uncertainty unit uptime url usage use
user username value vendor version viscosity voltage volume wavelength website weight width wiring
year zone""".split())
_IRREGULAR = {"series": "series", "species": "species", "indices": "index", "radii": "radius",
              "axes": "axis", "matrices": "matrix", "bus": "bus", "buses": "bus",
              "status": "status", "os": "os"}
_VERBAL = re.compile(
    r"\b(?:is|are|was|were|be|been|has|have|had|can|could|may|might|must|should|will|would|do|does|"
    r"did|if|when|that|which|this|these|those|it|its|their|our|your|my|you|we|they|there|following|"
    r"see|make|note|notes|warning|caution|notice|important|tip|hint|example|examples|e\.g|i\.e|eg|"
    r"ie)\b", re.I)
_BAD_END = re.compile(
    r"(?:\w{2,}ed|in|on|at|by|from|for|with|to|since|of|as|and|or|requires|supports|uses|"
    r"includes|contains|provides|needs)", re.I)
_DETERMINED = re.compile(r"\S\s+(?:the|an?|your|my|our|its|their|each|every|any|all|no)\b", re.I)
_INSTRUCTION = re.compile(
    r"(?:add|allow|always|avoid|bump|change|check|choose|click|compile|configure|delete|disable|do|"
    r"don't|enable|ensure|fix|get|if|implement|improve|install|introduce|make|never|please|"
    r"refactor|remove|run|see|select|set|specify|update|upgrade|use|verify|when)\b", re.I)
_FLAGS = {*"yes no true false y n x ✓ ✔ ✗ ✘ ✅ ❌ - – —".split()}
TEXTS = ("comment", "comments", "description", "explanation", "meaning", "notes", "purpose",
         "remark", "remarks", "summary")  # their values are sentences, which "is" cannot precede
PICTURE = "image "  # begins the text of a cell that shows only an image
_REFERRING = re.compile(r"\b(?:it|its|itself|they|them|their|this|these|those|"
                        r"such(?!\s+(?:as|that)))\b|"
                        r"^(?:the (?:most|first|second|last|latter|former|others?)(?: \w+)?|some|"
                        r"others?|both|one|none|each|many|several) (?:is|are|was|were)\b", re.I)
_COMPLEMENT = re.compile(r"\w\s+(?:of|for|in|per|from|to)\s+\w")
_PHRASE = re.compile(r"[A-Z][a-z]+ [a-z]+ [a-z]")
_COMMA = re.compile(r",\s+(?![^()]*\))")
_SEMICOLON = re.compile(r";\s+(?![^()]*\))")
_NAME_WORDS = 8  # of a name, at most
_VALUE_WORDS = 10  # of a value that can follow "is", at most
_LABEL_WORDS = 6


def refers(text: str) -> bool:
    """Return whether the first sentence of a text has a pronoun, perhaps for something above it."""
    return _REFERRING.search(re.split(r"(?<=[.!?:])\s", text, maxsplit=1)[0]) is not None


def is_noun_phrase(text: str) -> bool:
    """Return whether a header or lead-in looks like a noun phrase: short, no verb, no clause."""
    label = _bare(text)
    words = label.split()
    return (1 <= len(words) <= _LABEL_WORDS and not re.search(r"[.!?;:,]\s|[.!?;:,]$", label)
            and not _VERBAL.search(label) and not _BAD_END.fullmatch(words[-1])
            and not _DETERMINED.search(label))


def is_attribute(text: str) -> bool:
    """Return whether a label's head is a property with a value: "Default port", not "Set port"."""
    if not is_noun_phrase(text) or " " in _bare(text) and _INSTRUCTION.match(_bare(text)):
        return False
    head = re.split(r"\s(?:of|for|in|on|at|by|with|to|per|from)\s|\s*[(\[]", _bare(text))[0].lower()
    word = head.split()[-1] if head else ""
    return _singular(word) in _RELATIONAL


def is_name_like(text: str) -> bool:
    """Return whether a list item is a name or a short phrase, not a sentence or an instruction."""
    return (0 < len(text.split()) <= _NAME_WORDS and not re.search(r"[.!?:;](?:\s|$)", text)
            and not _INSTRUCTION.match(text))


def fact_sentence(label: str, value: str, owner: str) -> str:
    """Write "Default port", "8443" as "The default port of Corvane P-417 is 8443."

    Several values under a plural label are joined with "and". Where that would be invented, it is
    "For Corvane P-417, the value under Waterproof is yes", without an `owner` the source's colon.
    """
    label = _bare(label)
    if not owner:
        return ended(f"{label}: {value}")
    if not is_fact(label, value):
        return ended(f"For {owner}, {_clause(label, value)}")
    values = values_of(value) if is_plural(label) else [value]
    return ended(f"{_the(label, owner)} {'are' if is_plural(label) else 'is'} {listed(values)}")


def is_fact(label: str, value: str) -> bool:
    """Return whether "the <label> is <value>" is English and says only what the source says."""
    is_flag = value.casefold() in _FLAGS and (  # "the support is no" is no English
        not value.isalpha() or not _bare(label).lower().endswith(("default", "value")))
    return (is_attribute(label) and not is_flag and _is_short(value)
            and not _is_text(label) and not _PHRASE.match(value)
            and not value.startswith(PICTURE))


def list_sentence(label: str, values: list[str], owner: str, *, is_partial: bool,
                  is_continued: bool) -> str:
    """Write "Supported platforms:", ["Linux", "QNX"] as one sentence on `owner`.

    "The supported platforms of Corvane P-417 are Linux and QNX."; for a list cut by the segment's
    end, "include", and for its continuation, "also include".
    """
    several, one = ("include", "includes") if is_partial else (
        "are", "is" if len(values) == 1 else "comprises")
    verb = f"{'also ' if is_continued else ''}{several if is_plural(_bare(label)) else one}"
    return ended(f"{_the(_bare(label), owner)} {verb} {listed(values)}")


def row_sentence(header: tuple[str, ...], cells: tuple[str, ...], owner: str) -> str:
    """Write a table row: "For port 80 in Corvane P-417, the protocol is TCP and the mass is 2 kg."

    Of a header that is no attribute only "the value under Required is no" is said; running text
    follows a colon and ends its sentence. Empty cells are left out. A missing row label is not
    guessed, nor are the columns of a row with fewer cells than the header: "80; TCP."
    """
    if len(header) == 1:
        return ended(f"{_bare(header[0])}: {cells[0]}" if header[0] else cells[0])
    if not any(header) or len(cells) < len(header):
        return ended("; ".join(cell.removesuffix(".") for cell in cells if cell))
    about = about_row(header[0], cells[0])
    named = [pair for pair in zip(header, cells, strict=False) if pair[1]]
    if about is None:
        return " ".join(ended(f"{_bare(name)}: {value}" if name else value)
                        for name, value in named)
    values = named[bool(cells[0]):]
    place = f" in {owner}" if owner and owner not in about else ""
    if not values:
        return ended(f"No value is given for {about}")
    sentences: list[list[str]] = [[]]  # of clauses
    for name, value in values:
        sentences[-1].append(_clause(name, value, "".join(sentences[-1][-1:])))
        if not _is_short(value) or _is_text(name):
            sentences.append([])
    opening = f"For {about}" if about else (
        f"Where nothing is given under {_quoted(header[0])}" if header[0] else
        "In a row with no label")
    if _COMPLEMENT.search(header[0]) and is_fact(header[0], cells[0]):
        opening = f"Where {_clause(header[0], cells[0])}"
    return " ".join(ended(_once(f"{opening}{place}, {listed(clauses)}"))
                    for clauses in sentences if clauses)


def about_row(name: str, cell: str) -> str | None:
    """Return a row's label, "port 80"; None if it cannot follow "for"."""
    if not cell:
        return ""
    if not _is_short(cell) or name and not is_noun_phrase(name):
        return None
    if name and re.fullmatch(r"[a-z]+(?: [a-z]+)*|\W+", cell):
        cell = _quoted(cell)  # "For field name, …" misleads
    is_apart = name and (re.search(r"\d", name) or re.match(r"\d\S* [a-z]", cell))
    return f"{cell} ({name})" if is_apart else f"{_inside(name)} {cell}".strip()


# "the mass is 2 kg", or "the value under Required is no", if that may be no fact
def _clause(name: str, value: str, before: str = "") -> str:
    said, column = value if re.search(r"\w", value) else _quoted(value), _quoted(name)
    be, read = ("are", "read") if is_plural(name) else ("is", "reads")
    if not name or is_fact(name, value):
        return f"the {_inside(name)} {be} {said}" if name else value
    if _is_text(name) or is_attribute(name) and not _is_short(value):
        return f"the {_inside(name)} {read}: {said}"
    if not _is_short(value):
        return f"the text under {column} reads: {value}"
    is_next = before.startswith(("under ", "the value under "))
    return f"under {column} it is {said}" if is_next else f"the value under {column} is {said}"


def _quoted(text: str) -> str:
    return text if '"' in text or re.fullmatch(r"[A-Z]\S*", text) else f'"{text}"'


def _is_text(label: str) -> bool:
    return _bare(label).lower().endswith(TEXTS)


def _is_short(value: str) -> bool:
    is_text = value[:1] not in ("'", '"') and re.search(r"[.!?:]\s+\S|\w[.!?]$", value) or (
        value.count(";") > 1)
    return not is_text and len(value.split()) <= _VALUE_WORDS


def _bare(label: str) -> str:
    return label.strip().rstrip(":").strip()


def _singular(word: str) -> str:
    if word in _IRREGULAR:
        return _IRREGULAR[word]
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if re.search(r"(?:ss|x|ch|sh)es$", word):
        return word[:-2]
    return word[:-1] if word.endswith("s") and not word.endswith("ss") else word


def _once(text: str) -> str:
    for link in dict.fromkeys(re.findall(r" \([^()\s]+/[^()\s]+\)", text)):
        before, _, after = text.partition(link)
        text = before + link + after.replace(link, "")
    return text


def _the(label: str, owner: str) -> str:
    is_unnamed = owner and owner.casefold() not in label.casefold()
    bare = re.sub(r"^the\s+", "", label, flags=re.I)
    return f"The {_inside(bare)}" + (f" of {owner}" if is_unnamed else "")


# title case ("User Guide") is kept
def _inside(label: str) -> str:
    is_title_case = any(re.fullmatch(r"[A-Z][a-z]+", word) for word in label.split()[1:])
    return _bare(label) if is_title_case else as_label(label)


def values_of(value: str) -> list[str]:
    """Split "Linux, QNX, VxWorks", but not a value with its own "and"."""
    parts = (_SEMICOLON if _SEMICOLON.search(value) else _COMMA).split(value)
    has_and = re.search(r"\band\b", parts[-1]) and len(parts) > 1 and ";" not in value
    return [value] if has_and else parts
