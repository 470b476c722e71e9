"""Name a block's document and section in a question, so that it stands alone (paper, 3.1)."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from lib.core.records import Document
from lib.documents.blocks import plain
from lib.documents.reader import Block
from lib.documents.subject import Subject

# nouns that say what kind of thing a name names: "the HTTP output plugin"
_THING = (r"(?:plugin|filter|processor|provider|middleware|module|driver|exporter|receiver|"
          r"connector|service|server|client|library|component|operator|controller|protocol|"
          r"command|package|backend|frontend|agent|adapter|extension|sensor|tool)")
_PROPER = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+(?:[A-Z][a-z]+)*(?: [A-Z][a-z]+)?")
_DOCUMENT_WORD = re.compile(r"\s+(?:documentation|docs|reference|guide|manual|readme)$", re.I)
_ABSTRACT = re.compile(r"(?:ing|ity|tion|sion|ment|ance|ence|ness|proposal|notes?|guide|readme|"
                       r"glossary|overview|basics)$", re.I)
_LEAST_SHARE = 0.6  # of a folder's documents that must name a product for it to be the folder's
_FEW_DOCUMENTS = 4
_OPENING = 1500  # characters in which a document introduces its subject
# sections about the whole subject, which a question need not name
_WHOLE = re.compile(
    r"(?:(?:general|basic|key|main|technical|reference|supported|available|common|full) )?"
    r"(?:summary|overview|introduction|description|details|info|information|general|about|scope|"
    r"explanation|usage|settings?|options?|parameters?|properties|attributes|fields|keys|facts|"
    r"points|data|changes|specifications?|data ?sheet|at a glance|reference|configuration|"
    r"(?:configuration|plugin) (?:options?|parameters?|settings?|reference|keys|file))", re.I)
# sections that say nothing of what they hold
_VAGUE = re.compile(
    r"(?:others?|misc\w*|notes?|remarks?|(?:more |further |additional )?examples?(?: .*)?|"
    r"(?:more|further|additional) .*|see also|references?|(?:useful )?links?|resources?|"
    r"related .*|next steps?|guidance|faq|tips?|appendix|changes|(?:table of )?contents?|"
    r"(?:open )?questions?|open issues|future .*|.* reading|acknowledg\w+|credits|"
    r"(?:internal )?details|troubleshooting|motivation|background|prior art.*)", re.I)
_EXAMPLE = re.compile(r"\b(?:examples?|samples?|tutorial|walk-?through|demo)(?: \d+|:.*|\s*\(.*)?$|"
                      r"^examples? (?:of|for|with|using)\b", re.I)
_LOOSE = re.compile(r"(?:.* )?(?:faq|glossary|notes|changes|changelog|news|readme|appendix|index|"
                    r"comparison|alternatives|overview|troubleshooting|questions)", re.I)
_ANCHOR = re.compile(r"\s*\{[#:.][^}]*\}\s*$")
_NUMBERING = re.compile(r"^(?:\d{1,2}(?:\.\d{1,2})*\.?|[A-Z]\.)\s+(?=\D)")


@dataclass(frozen=True)
class Place:
    """How a question says where its fact is."""

    name: str  # "Corvane P-417", "the HTTP output plugin of Fluent Bit", '"Setup" (Fluent Bit)'
    section: str  # the headings that a question may have to name; "" if all of `name` is meant
    outer: str  # the heading above these, to be named if the question itself has the words of them
    is_entity: bool  # `name` has attributes: "the default port of <name>"
    is_vague: bool  # the nearest heading says nothing of what the section holds
    is_loose: bool  # the document is about many things: its sections must be named
    is_example: bool  # what the section states holds in an example only
    subject: Subject

    def attribute(self, label: str, verb: str) -> tuple[str, ...]:
        """Return the question about `label` of this place's subject."""
        if self.subject.is_version or self.is_entity and not self.section:
            link = "in" if self.subject.is_version else "of"
            return (f"What {verb} the {label} {link} {self.name}?",)
        return self.within(f"what {verb} the {label}?")[-1:]

    def within(self, core: str) -> tuple[str, ...]:
        """Return `core`, a question without its place, with the name, then with the section."""
        is_named = re.search(rf"(?<![\w-]){re.escape(self.name)}(?![\w-])", core)
        is_thing = self.is_entity and not self.subject.is_version
        short = f"{'For' if is_thing else 'In'} {self.name}, {core}"
        if is_named:
            short = core[:1].upper() + core[1:]
        section = self.outer if self.section.lower() in core.lower() else self.section
        if not section or section.lower() in core.lower():
            return (short,)
        longer = f'Under "{section}"{"" if is_named else f" in {self.name}"}, {core}'
        return (longer,) if self.is_loose else (short, longer)


@dataclass(frozen=True)
class Outline:
    """A document's title, if its first heading is one, and how often each heading occurs."""

    title: str
    counts: Counter[str]


class Names:
    """The names of a folder's documents: no two are alike, and all name the folder's product."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self.product = _folder_product(documents)
        self._found = {document.document_id: self._of(document) for document in documents}
        self._counts = Counter(name.lower() for name, _ in self._found.values())
        self._titles = Counter(_bare(document.title).lower() for document in documents)

    def place(self, document: Document, subject: Subject, headings: Sequence[str],
              outline: Outline) -> Place:
        """Return the place of a block below `headings` of a document with this outline."""
        name, is_entity = self._named(document, subject)
        below = headings[1:] if headings[:1] == (outline.title,) else headings
        if subject.is_version:
            return Place(subject.name, subject.topic, "", True, False, False, False, subject)
        is_vague = bool(below) and _VAGUE.fullmatch(_bare(below[-1])) is not None
        is_loose = _LOOSE.fullmatch(_bare(document.title)) is not None
        is_example = any(_EXAMPLE.search(heading) for heading in below)
        return Place(name, *_section(below, outline.counts), is_entity, is_vague, is_loose,
                     is_example, subject)

    def _named(self, document: Document, subject: Subject) -> tuple[str, bool]:
        name, is_entity = self._found[document.document_id]
        is_shared = self._titles[_bare(document.title).lower()] > 1 and not is_entity
        if self._counts[name.lower()] > 1 or is_shared:
            stem = re.sub(r"\.\w+$", "", document.document_id)
            return f"{name if is_entity else _quoted(document.title)} ({stem})", is_entity
        title = document.title
        if title == title.lower() and _letters(subject.document) == _letters(title):
            return subject.document, True  # the title is only the file's name
        own = subject.name.rsplit(" ", 1)[-1]
        is_thing = subject.is_entity and not subject.is_version and not _ABSTRACT.search(own) and (
            not self.product or subject.name == self.product or re.search(r"\d", subject.name)
        ) and subject.name.lower() in (title or subject.name).lower()
        return (subject.name, True) if is_thing and not is_entity else (name, is_entity)

    def _of(self, document: Document) -> tuple[str, bool]:
        title = _bare(document.title or document.document_id)
        has_product = self.product and self.product in document.text
        of = f" of {self.product}" if has_product else ""
        stem = _DOCUMENT_WORD.sub("", title)
        if self.product:
            stem = re.sub(rf"\b{self.product}\b", "", stem).strip(" &-–:|")
        pattern = (rf"\b[Tt]he [_*`]*(?P<own>{re.escape(stem)})[_*`]*"
                   rf"(?P<kind>(?: [\w-]+)? {_THING}(?: {_THING})?)\b")
        opening = document.text[:_OPENING]
        is_name = 0 < len(stem.split()) <= 4 and not _ABSTRACT.search(stem)
        found = re.search(pattern, opening, re.I) if is_name else None
        if found:
            own = stem if stem != stem.capitalize() or found["own"].islower() else found["own"]
            return f"the {own}{found['kind']}{of}", True
        if has_product and self.product not in title:
            return f"{_quoted(title)} ({self.product})", False
        return _quoted(title), False


def _letters(name: str) -> str:
    """Return the letters of a name, without the words that only say what kind of record it is."""
    return re.sub(r"changelog|readme|notes|manual|guide|[^a-z]", "", name.lower())


def _quoted(title: str) -> str:
    return f'"{_bare(title)}"'


@lru_cache(4096)  # each heading is needed for all of its blocks
def _bare(heading: str) -> str:
    """Return a heading without number, anchor and quotation marks of its own."""
    bare = _NUMBERING.sub("", _ANCHOR.sub("", plain(heading)).strip()).rstrip(":")
    return bare.replace('"', "'")


def _section(below: Sequence[str], counts: Counter[str]) -> tuple[str, str]:
    """Join the innermost headings that distinguish a section, and return the one above them."""
    named = [(_bare(heading), counts[heading]) for heading in reversed(below)]
    named = [(bare, count) for bare, count in named
             if not _WHOLE.fullmatch(bare) and not _VAGUE.fullmatch(bare)]
    unique = next((at for at, (_, count) in enumerate(named) if count <= 1), len(named) - 1)
    kept, rest = named[:unique + 1], named[unique + 1:]
    return ", ".join(bare for bare, _ in reversed(kept)), rest[0][0] if rest else ""


def _folder_product(documents: Sequence[Document]) -> str:
    """Return the name that most documents of a folder use, "" if there is none."""
    used: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for document in documents:
        found = Counter(_PROPER.findall(document.text))
        total.update(found)
        used.update(name for name, count in found.items() if count > 1)
    if len(documents) < _FEW_DOCUMENTS or not used:
        return ""
    name = max(used, key=lambda name: (used[name], total[name], name))
    return name if used[name] >= _LEAST_SHARE * len(documents) else ""


def outline_of(blocks: Sequence[Block]) -> Outline:
    """Return the outline of a document."""
    headings = [block for block in blocks if block.kind == "heading"]
    title = headings[0].text if headings and headings[0].level == 1 else ""
    return Outline(title, Counter(heading.text for heading in headings))
