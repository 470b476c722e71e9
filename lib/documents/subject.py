"""Find what a block is about, so that a question about it is self-contained (paper, 3.1)."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from lib.core.records import Document
from lib.core.text import as_label
from lib.documents.blocks import title_heading
from lib.documents.inline import plain
from lib.documents.reader import Block

# Words that name a kind of document or section, never a product.
_KINDS = frozenset("""
about advanced appendix architecture arguments attributes authors background basic basics benchmark
benchmarks bootloaders caveats change changelog changes characteristics comparison conclusion
config configuration configurations contact contents contributing copyright credits data datasheet
definitions deployment description details development doc docs document documentation example
examples faq feature features fields general get getting glossary goals guide handbook help history
important index info information installation installing intro introduction issues known license
limitations limits links log manual misc miscellaneous motivation news note notes options other
others output outputs overview page parameters prerequisites properties proposal questions quick
readme reference references related release releases remarks requirements resources result results
scope section security see settings setup specification specifications start started steps summary
support syntax technical terminology terms tips to troubleshooting tutorial upgrade upgrading usage
user values version warning warnings welcome""".split())
_LINKING = frozenset("a also an and by for further how in more of on or the this with &".split())
# Sections that describe the very subject of what is above them; "Examples" or "Notes" do not.
_DESCRIBING = frozenset("""
about attributes characteristics config configuration configurations data datasheet description
details fields general info information introduction options overview parameters properties
reference settings specification specifications summary technical values""".split())
# headings that only announce facts about the owner, which name the owner themselves
ANNOUNCEMENTS = {
    "at a glance", "data", "data sheet", "description", "details", "entries", "file", "general",
    "information", "introduction", "key points", "notes", "overview", "particulars", "properties",
    "record", "reference", "reference data", "remarks", "settings", "specification",
    "specifications", "summary"}
_KIND_WORD = (r"(?:manual|guide|notes?|changelog|readme|documentation|datasheet|data sheet|"
              r"handbook|reference|overview|specifications?)")
_KIND_SUFFIX = re.compile(
    rf"\s*(?:[:–|]|\s-)\s.*\b{_KIND_WORD}$|(?:\s+(?:user|operator|operating|reference|installation|"
    rf"maintenance|technical|product|quick|release|service))?\s+{_KIND_WORD}$", re.I)
_NUMBERING = re.compile(r"^(?:\d+(?:\.\d+)*\.?|[A-Z]\.)\s+(?=\D)")
_GENERIC_SECTION = re.compile(
    r"(?:basic |general |more |further )?(?:summary|overview|introduction|details|info|information|"
    r"notes?|examples?|general|description|other|misc|scope|changes|contents|about)", re.I)
_VERSION = re.compile(
    r"(?:version |release )?\[?(?P<name>(?:[A-Za-z][\w.+-]*[ -]){0,4}?)"
    r"(?P<number>v?\d+(?:\.\d+)+[\w.+-]*)\]?(?:\s*[-–—(:,].*)?", re.I)
_NAMED = re.compile(r"(?<=[a-z,] )[A-Z][A-Za-z]+")
_LOWER = re.compile(r"(?<![\w./-])[a-z]+\b(?![/.]\w)")
_URL = re.compile(r"https?://\S+")
_CODE_NAME = re.compile(r"-{1,2}\w\S*|<\S+>|\S*[\w)][._/:@]\w\S*|\w*[a-z]\w*[A-Z]\w*|[A-Z]{2,}\w*|"
                        r"(?=\S*\d)\S*[^\W\d]\S*")  # --flag, a.b, camelCase, TMC2209


@dataclass(frozen=True)
class Subject:
    """What a block is about: a thing with attributes if `is_entity`, else a document's name."""

    name: str  # "Corvane P-417", "Klipper 0.13.0", "Klipper Bed Mesh"
    topic: str  # the section within it, unique in its document; "" if there is none
    is_entity: bool
    is_version: bool = False
    product: str = ""  # a shorter name that may appear in a sentence
    names: frozenset[str] = frozenset()  # words that the document always capitalizes
    words: frozenset[str] = frozenset()  # capitalized forms of words that also occur in lower case
    document: str = ""  # the name of the document or its product, whatever the section
    section: str = ""  # the nearest heading below the title, without its number
    section_kind: str = ""  # thing: names one; kind: "Other", "Limits"; else topic; "" if none
    sections: tuple[str, ...] = ()  # the headings that lead to this section, outermost first
    owner: str = ""  # the only name of which an attribute may be stated here; "" if unknown

    def label(self, phrase: str) -> str:
        """Return a heading or header as it reads inside a sentence: lower case except names."""
        words = phrase.strip().rstrip(":.").split(" ")
        if words[0] in self.names or words[0] == self.product:
            return " ".join(words)
        is_plain = [re.fullmatch(r"[A-Z][a-z]+", word) and word not in self.names for word in words]
        return " ".join(words).lower() if all(is_plain) else as_label(phrase)


def subjects(document: Document, blocks: Sequence[Block]) -> list[Subject]:
    """Return the subject of each block, in order."""
    reader = _Sections(document, blocks)
    found = {path: reader.subject(path) for path in dict.fromkeys(
        block.headings for block in blocks)}
    return [found[block.headings] for block in blocks]


def version_name(heading: str, product: str) -> str:
    """Return the release named by a heading: "v3.5.1 (2024-01-01)" -> "etcd v3.5.1", or ""."""
    found = _VERSION.fullmatch(heading.strip())
    name = found["name"].strip(" -") if found else ""
    return f"{name or product or 'version'} {found['number']}" if found else ""


class _Sections:
    def __init__(self, document: Document, blocks: Sequence[Block]) -> None:
        running = "\n".join(_running(blocks))
        self.product = _product(document, running)
        headings = [block for block in blocks if block.kind == "heading"]
        self.title = document.title
        self.is_titled = title_heading(blocks) is not None
        self.counts = Counter(heading.text for heading in headings)
        self.words = frozenset(word.capitalize() for word in set(_LOWER.findall(running)))
        self.names = frozenset(_NAMED.findall(running)) - self.words
        self.words -= {self.product}

    def subject(self, headings: tuple[str, ...]) -> Subject:
        """Return the subject of the blocks below these headings."""
        title = headings[0] if self.is_titled and headings else self.title
        below = headings[1:] if self.is_titled else headings
        name = re.sub(r"^(?:the|about|welcome to|introduction to)\s+", "",
                      _KIND_SUFFIX.sub("", title.strip()).strip(" -–:|"), flags=re.I)
        is_thing = _is_thing(name, self.product)
        paper = name if is_thing else _document_name(title, self.product)
        for index in range(len(below) - 1, -1, -1):
            version = version_name(below[index], name if is_thing else self.product)
            if version:
                below = below[index + 1:]
                return self._placed(version, below, Counter(), paper, product=self.product or name,
                                    is_entity=True, is_version=True)
        is_version = is_thing and version_name(title, self.product) != ""
        product = self.product if is_version else self.product or name
        return self._placed(paper, below, self.counts, paper, product=product, is_entity=is_thing,
                            is_version=is_version)

    def _placed(self, name: str, below: tuple[str, ...], counts: Counter[str], document: str, *,
                product: str, is_entity: bool, is_version: bool) -> Subject:
        bare = tuple(_bare(heading) for heading in below)
        kinds = [self._kind(section) for section in bare]
        owner = name if is_entity else ""
        for section, kind in zip(bare, kinds, strict=True):
            if kind == "thing":
                owner = section
            elif section.casefold() not in ANNOUNCEMENTS and (
                    kind == "topic" or not _is_describing(section)):
                owner = ""
        first = len(below) - 1
        while first > 0 and (kinds[first] == "kind" or counts[below[first]] > 1):
            first -= 1
        return Subject(
            name, _topic(below, counts), is_entity, is_version, product, self.names, self.words,
            document, section=bare[-1] if bare else "", section_kind=kinds[-1] if kinds else "",
            sections=bare[max(first, 0):], owner=owner)

    def _kind(self, section: str) -> str:
        words = [word.strip(",.:()") for word in section.split()]
        if all(word.lower() in _KINDS | _LINKING or word.isdigit() for word in words):
            return "kind"
        is_name = len(words) <= 5 and all(
            _CODE_NAME.fullmatch(word) or word in self.names or word == self.product
            for word in words)
        return "thing" if is_name else "topic"


def _running(blocks: Sequence[Block]) -> Iterator[str]:
    for block in blocks:
        if block.kind == "prose":
            yield _URL.sub(" ", block.text)
        elif block.kind == "list":
            yield from (_URL.sub(" ", item.text) for item in block.items)


def _bare(heading: str) -> str:
    return _NUMBERING.sub("", heading.strip()).rstrip(":").strip()


def _is_describing(section: str) -> bool:
    return all(word in _DESCRIBING | _LINKING for word in section.lower().split())


def _topic(headings: tuple[str, ...], counts: Counter[str]) -> str:
    kept: list[str] = []
    for heading in reversed(headings):
        if not _GENERIC_SECTION.fullmatch(heading.strip()):
            kept.append(_bare(heading).replace('"', "'"))
        if kept and counts[heading] <= 1:
            break
    return ", ".join(reversed(kept))


def _is_thing(name: str, product: str) -> bool:
    parts = name.split()
    if not parts or len(parts) > 6 or all(_is_kind(part.strip(",.")) for part in parts):
        return False
    if name.lower() == product.lower() or len(parts) == 1 and not product:
        return True
    if not all((part[0].isupper() or part[0].isdigit()) and not _is_kind(part)
               for part in parts):
        return False
    return (not product or product.lower() in name.lower()
            or any(re.search(r"\d", part) for part in parts))


def _is_kind(word: str) -> bool:
    return word.lower() in _KINDS


def _document_name(title: str, product: str) -> str:
    title = plain(title)
    # without a title, a document is named after its file
    is_slug = title == title.lower() and (" " not in title or bool(product))
    if not title or is_slug:
        return product or title
    return title if not product or product.lower() in title.lower() else f"{product} {title}"


def _product(document: Document, running: str) -> str:
    stem = document.document_id.rsplit("/", 1)[-1]
    parts = [part for part in re.split(r"[-_. ]+", stem) if part]
    for length in range(min(len(parts), 4), 0, -1):
        if all(_is_kind(part) or part.isdigit() for part in parts[:length]):
            continue
        name = "[-_ ]?".join(map(re.escape, parts[:length]))
        forms = Counter(re.findall(rf"(?<![\w/.-]){name}(?![\w/-])", running, re.I))
        if forms.total() >= (3 if length > 1 else 2):  # lower case is mostly a path or a command
            best = max(forms, key=lambda form: (
                5 * forms[form] >= forms.total() and form != form.lower(), forms[form]))
            if best.lower() in document.title.lower() or not _is_word(best.lower(), running):
                return best
    return ""


# Whether a text uses a name as an ordinary noun: "the pipeline", "pipelines"
def _is_word(name: str, running: str) -> bool:
    word = re.escape(name)
    articles = len(re.findall(rf"\b(?:an?|the|this|each|every|any|your|our|its) {word}\b", running,
                              re.I))
    n_bare = len(re.findall(rf"(?<![\w/.-]){word}(?![\w/-])", running))
    return 3 * articles > n_bare or re.search(rf"\b{word}s\b", running) is not None
