"""Name a block's document and section in a question, so that it stands alone (paper, 3.1)."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from lib.annotate.rules.products import products_of
from lib.core.records import Document
from lib.documents.blocks import CONTENT, front_title, plain, title_heading
from lib.documents.reader import Block
from lib.documents.subject import Subject

# nouns that say what kind of thing a name names: "the HTTP output plugin"
_THING = (r"(?:plugin|filter|processor|provider|middleware|module|driver|exporter|receiver|"
          r"connector|service|server|client|library|component|operator|controller|protocol|"
          r"command|package|backend|frontend|agent|adapter|extension|sensor|tool)")
_DOCUMENT_WORD = re.compile(r"\s+(?:documentation|docs|reference|guide|manual|readme)$", re.I)
_ABSTRACT = re.compile(r"(?:ing|ity|tion|sion|ment|ance|ence|ness|proposal|notes?|guide|readme|"
                       r"glossary|overview|basics)$", re.I)
# below a heading that is the comment of a configuration file
_ASSIGNMENTS = re.compile(r"(?:(?:\[[\w.-]+\]|[a-z][\w.-]* ?[:=] ?\S+)(?:\s+|\Z))+")
_NO_RELEASE = re.compile(r"^version |\b(?:in|of|for|from|to|since)\b")  # "Features in v3.4"
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
_LOOSE = re.compile(
    r"design|introduction|(?:.* )?(?:faq|glossary|notes|changes|changelog|news|readme|appendix|"
    r"index|comparison|alternatives|overview|troubleshooting|questions)", re.I)
_ANCHOR = re.compile(r"\s*\{[#:.][^}]*\}\s*$")
_TEMPLATE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}")  # code of a site's builder
_NUMBERING = re.compile(r"^(?:\d{1,2}(?:\.\d{1,2})*\.?|[A-Z]\.)\s+(?=\D)")


@dataclass(frozen=True)
class Place:
    """How a question says where its fact is."""

    # "Corvane P-417", "the HTTP output plugin of Fluent Bit", '"Setup" (Fluent Bit)'; "" if nothing
    # says what the document is about
    name: str
    section: str  # the headings that a question may have to name; "" if all of `name` is meant
    outer: str  # the heading above these, to be named if the question itself has the words of them
    is_entity: bool  # `name` has attributes: "the default port of <name>"
    is_vague: bool  # the nearest heading says nothing of what the section holds
    is_loose: bool  # the document is about many things: its sections must be named
    is_example: bool  # what the section states holds in an example only
    subject: Subject
    title: str = ""  # if `name` is this in quotation marks, with or without `product`
    product: str = ""

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
        if self.title and re.search(rf"(?<![\w-]){re.escape(self.title)}(?![\w-])", core, re.I):
            is_named = self.product in core  # the title would be said twice
            short = f"In {self.product}, {core}"
        if is_named:
            short = core[:1].upper() + core[1:]
        section = self.outer if self.section.lower() in core.lower() else self.section
        if not section or section.lower() in core.lower():
            return (short,)
        longer = f'Under "{section}"{"" if is_named else f" in {self.name}"}, {core}'
        return (longer,) if self.is_loose else (short, longer)


@dataclass(frozen=True)
class Site:
    """The block that a structure is to ask about."""

    block: Block
    above: Block  # the one before it, empty if there is none
    place: Place
    text: str  # of its document
    labels: Counter[tuple[tuple[str, ...], str]]  # row labels of tables, in all and by headings


@dataclass(frozen=True)
class Outline:
    """A document's title, if its first heading is one, and how often each heading occurs."""

    title: str
    is_titled: bool  # it is a heading above all else, or in the front matter
    counts: Counter[str]


class Names:
    """The names of documents: no two are alike, and all name the product of their folder."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self._products = products_of(documents)
        self._found = {document.document_id: self._of(document) for document in documents}
        self._counts = Counter(name.lower() for name, _ in self._found.values())
        self._titles = Counter(_bare(document.title).lower() for document in documents)

    def place(self, document: Document, subject: Subject, headings: Sequence[str],
              outline: Outline) -> Place:
        """Return the place of a block below `headings` of a document with this outline."""
        name, is_entity = self._named(document, subject)
        title = _bare(document.title)
        folder_product = self._products.get(document.document_id, "")
        product = next((one for one in (folder_product, subject.product)
                        if one and name == f"{_quoted(title)} ({one})"), "")
        is_known = folder_product != "" or product != ""
        if not is_known and not _is_clear(name, is_entity, subject, outline, title):
            name = ""
        below = headings[1:] if headings[:1] == (outline.title,) else headings
        if subject.is_version:
            of = re.sub(r"\s*v?\d\S*$", "", subject.name).lower()
            is_own = of in f"{folder_product} {subject.product} {title}".lower()
            name = subject.name if is_own and not _NO_RELEASE.search(subject.name) else ""
            return Place(name, subject.topic, "", True, False, False, False, subject)
        is_vague = bool(below) and _VAGUE.fullmatch(_bare(below[-1])) is not None
        is_loose = _LOOSE.fullmatch(_bare(document.title)) is not None
        is_example = any(_EXAMPLE.search(heading) for heading in below)
        title = title if product or name == _quoted(title) else ""
        return Place(name, *_section(below, outline.counts), is_entity, is_vague, is_loose,
                     is_example, subject, title, product)

    def _named(self, document: Document, subject: Subject) -> tuple[str, bool]:
        name, is_entity = self._found[document.document_id]
        product = self._products.get(document.document_id, "")
        title = _bare(document.title)
        is_shared = self._titles[title.lower()] > 1 or product and _LOOSE.fullmatch(title)
        if self._counts[name.lower()] > 1 or is_shared and not is_entity:
            stem = re.sub(r"\.\w+$", "", document.document_id)
            if is_entity:
                return f"{name} ({stem})", True
            of = f"{product}, " if product and product.lower() not in stem.lower() else ""
            return f"{_quoted(document.title)} ({of}{stem})", False
        title = document.title
        if title == title.lower() and (own := _written(title, document.text, subject.product)):
            return own, True  # the title is only the file's name
        own = subject.name.rsplit(" ", 1)[-1]
        # a heading in capitals is a name only if it is the product's or has a number
        is_thing = subject.is_entity and not subject.is_version and not _ABSTRACT.search(own) and (
            subject.name == (product or subject.product) or re.search(r"\d", subject.name)
        ) and subject.name.lower() in (title or subject.name).lower()
        if is_thing and not is_entity:
            return subject.name, True
        own = subject.product or title
        if not product and name == _quoted(title) and own.lower() not in title.lower() and (
                own.lower() in document.document_id.lower()):
            name = f"{name} ({own})"  # the file is named after the product
        return name, is_entity

    def _of(self, document: Document) -> tuple[str, bool]:
        title = _bare(document.title or document.document_id)
        product = self._products.get(document.document_id, "")
        of = f" of {product}" if product else ""
        stem = _DOCUMENT_WORD.sub("", title)
        if product:
            stem = re.sub(rf"\b{re.escape(product)}\b", "", stem).strip(" &-–:|")
        pattern = (rf"\b[Tt]he [_*`]*(?P<own>{re.escape(stem)})[_*`]*"
                   rf"(?P<kind>(?: [\w-]+)? {_THING}(?: {_THING})?)\b")
        opening = document.text[:_OPENING]
        is_name = 0 < len(stem.split()) <= 4 and not _ABSTRACT.search(stem)
        found = re.search(pattern, opening, re.I) if is_name else None
        if found:
            own = stem if stem != stem.capitalize() or found["own"].islower() else found["own"]
            return f"the {own}{found['kind']}{of}", True
        if product and product.lower() not in title.lower():
            return f"{_quoted(title)} ({product})", False
        return _quoted(title), False


def _is_clear(name: str, is_entity: bool, subject: Subject, outline: Outline, title: str) -> bool:
    if is_entity and name != title or " " in name.strip('"') and name == title:
        return True
    if not outline.is_titled:
        return False  # the file's name, or a heading within the text
    if " of " in name:
        return True
    if len(title.split()) > 1:
        is_loose = _LOOSE.fullmatch(title) or _VAGUE.fullmatch(title)
        return not is_loose or any(
            word in subject.names for word in re.findall(r"\w+", subject.section))
    # headings begin with a capital, except names that do not
    is_name = title in subject.names or title == title.lower()
    return is_name or re.search(r"\d|[a-z][A-Z]|[A-Z]{2}", title) is not None


@lru_cache(64)  # the whole text is searched, for each of its sections
def _written(title: str, text: str, product: str) -> str:
    words = re.findall(r"[^\W\d_]+", re.sub(r"changelog|readme|notes|manual|guide", "", title))
    name = "[-_ ]?".join(map(re.escape, words))
    forms = Counter(re.findall(rf"(?<![\w/.-]){name}(?![\w/-])", text, re.I)) if words else {}
    best = max(forms, key=forms.get, default="")
    is_name = title != best == product or re.search(r"\w.*[A-Z]", best)
    return best if is_name else ""


def _quoted(title: str) -> str:
    return f'"{_bare(title)}"'


@lru_cache(4096)  # each heading is needed for all of its blocks
def _bare(heading: str) -> str:
    bare = _NUMBERING.sub("", _ANCHOR.sub("", plain(_TEMPLATE.sub("", heading))).strip())
    bare = re.sub(r"\s+#+$", "", bare).rstrip(":")
    return bare.replace('"', "'")


def _section(below: Sequence[str], counts: Counter[str]) -> tuple[str, str]:
    named = [(_bare(heading), counts[heading]) for heading in reversed(below)]
    named = [(bare, count) for bare, count in named
             if not _WHOLE.fullmatch(bare) and not _VAGUE.fullmatch(bare)]
    unique = next((at for at, (_, count) in enumerate(named) if count <= 1), len(named) - 1)
    kept, rest = named[:unique + 1], named[unique + 1:]
    return ", ".join(bare for bare, _ in reversed(kept)), rest[0][0] if rest else ""


def outline_of(blocks: Sequence[Block]) -> Outline:
    """Return the outline of a document."""
    heading = title_heading(blocks)
    shown = [block for block in blocks if block.kind in (*CONTENT, "heading", "code")]
    is_comment = len(shown) > 1 and _ASSIGNMENTS.fullmatch(shown[1].text) is not None
    is_first = heading is not None and shown[0] is heading and not is_comment
    counts = Counter(block.text for block in blocks if block.kind == "heading")
    return Outline(heading.text if heading else "", is_first or front_title(blocks) != "", counts)
