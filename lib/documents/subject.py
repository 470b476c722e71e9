"""Find what a block is about, so that a question about it is self-contained (paper, 3.1)."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from lib.core.records import Document
from lib.core.text import as_label, is_plural
from lib.documents.blocks import Block, plain

# Words that name a kind of document or section, never a product.
_KINDS = """
about architecture background basics benchmark benchmarks bootloaders change changelog changes
comparison config configuration contents copyright data datasheet description details doc docs
document documentation example examples faq feature features general getting guide help history
index info information installation installing intro introduction license log manual misc
miscellaneous news note notes other overview page quick readme reference release releases scope
section specification specifications start started summary technical to troubleshooting tutorial
usage user version welcome"""
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
_NOUN = re.compile(r"(?:ing|tion|ment|ness|ity|ance|ence|ware|age)$")
_NAMED = re.compile(r"(?<=[a-z,] )[A-Z][A-Za-z]+")
_URL = re.compile(r"\]\([^)]*\)|<?https?://\S+|^\s*(?:```|~~~).*?^\s*(?:```|~~~)", re.M | re.S)


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

    def label(self, phrase: str) -> str:
        """Return a heading or header as it reads inside a sentence: lower case except names."""
        words = phrase.strip().rstrip(":.").split(" ")
        if words[0] in self.names or words[0] == self.product:
            return " ".join(words)
        is_plain = [re.fullmatch(r"[A-Z][a-z]+", word) and word not in self.names for word in words]
        return " ".join(words).lower() if all(is_plain) else as_label(phrase)

    def inside(self, phrase: str) -> str:
        """Return a sentence's subject as it reads inside a question: first word in lower case."""
        first, _, rest = phrase.partition(" ")
        is_noun = _NOUN.search(first) or is_plural(first) or is_plural(phrase) and rest.islower()
        is_name = first in self.names or first == self.product
        is_word = re.fullmatch(r"[A-Z][a-z]+", first) and (
            first in self.words or not is_name and is_noun)
        is_lower = is_word or first in ("A", "The", "An")
        return f"{first.lower()} {rest}".strip() if is_lower else phrase

    def attribute(self, label: str, verb: str) -> tuple[str, str]:
        """Return the question about `label` of the subject, without and with its section."""
        core = f"hat {verb} the {label} of"
        if self.is_entity:
            short = f"W{core} {self.name}?"
            return short, f'Under "{self.topic}", w{core} {self.name}?' if self.topic else short
        if not self.topic or self.topic.lower() == label.lower():
            return (f"W{core} {self.name}?",) * 2
        return (f'In {self.name}, w{core} "{self.topic}"?',) * 2

    def within(self, core: str) -> tuple[str, str]:
        """Return `core`, a question without its place, completed without and with its section."""
        name = self.name
        is_named = not name or re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", core)
        place = f"{'For' if self.is_entity and not self.is_version else 'In'} {name}"
        short = core[:1].upper() + core[1:] if is_named else f"{place}, {core}"
        if not self.topic or self.topic.lower() in core.lower():
            return short, short
        longer = f'Under "{self.topic}"{"" if is_named else f" in {name}"}, {core}'
        return (short if self.is_entity else longer), longer


def subjects(document: Document, blocks: Sequence[Block]) -> list[Subject]:
    """Return the subject of each block, in order."""
    product = _product(document)
    headings = [block for block in blocks if block.kind == "heading"]
    is_titled = bool(headings) and headings[0].level == 1
    counts = Counter(heading.text for heading in headings)
    found = [_subject(document, product, block.headings, is_titled, counts) for block in blocks]
    lower = re.findall(r"(?<![\w./-])[a-z]+\b(?![/.]\w)", document.text)
    words = frozenset(word.capitalize() for word in lower)
    texts = "\n".join(block.text for block in blocks if block.kind in ("prose", "list"))
    names = frozenset(_NAMED.findall(texts)) - words
    return [replace(subject, names=names, words=words - {product}) for subject in found]


def version_name(heading: str, product: str) -> str:
    """Return the release named by a heading: "v3.5.1 (2024-01-01)" -> "etcd v3.5.1", or ""."""
    found = _VERSION.fullmatch(heading.strip())
    name = found["name"].strip(" -") if found else ""
    return f"{name or product or 'version'} {found['number']}" if found else ""


def _subject(document: Document, product: str, headings: tuple[str, ...], is_titled: bool,
             counts: Counter[str]) -> Subject:
    title = headings[0] if is_titled and headings else document.title
    below = headings[1:] if is_titled else headings
    name = re.sub(r"^(?:the|about|welcome to|introduction to)\s+", "",
                  _KIND_SUFFIX.sub("", title.strip()).strip(" -–:|"), flags=re.I)
    is_thing = _is_thing(name, product)
    for index in range(len(below) - 1, -1, -1):
        version = version_name(below[index], name if is_thing else product)
        if version:
            topic = _topic(below[index + 1:], Counter())
            return Subject(version, topic, True, True, product or name)
    subject = name if is_thing else _document_name(title, product)
    is_version = is_thing and version_name(title, product) != ""
    return Subject(subject, _topic(below, counts), is_thing, is_version,
                   product if is_version else product or name)


def _topic(headings: tuple[str, ...], counts: Counter[str]) -> str:
    """Join the innermost headings that distinguish this section from the others."""
    kept: list[str] = []
    for heading in reversed(headings):
        if not _GENERIC_SECTION.fullmatch(heading.strip()):
            bare = _NUMBERING.sub("", heading.strip()).rstrip(":")
            kept.append(bare.replace('"', "'"))
        if kept and counts[heading] <= 1:
            break
    return ", ".join(reversed(kept))


def _is_thing(name: str, product: str) -> bool:
    """Return whether a title names a product: names only, and not another product's."""
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
    return word.lower() in _KINDS.split()


def _document_name(title: str, product: str) -> str:
    title = plain(title)
    # without a title, a document is named after its file
    is_slug = title == title.lower() and (" " not in title or bool(product))
    if not title or is_slug:
        return product or title
    return title if not product or product.lower() in title.lower() else f"{product} {title}"


def _product(document: Document) -> str:
    """Return the longest prefix of the file name that the text uses as a name."""
    stem = document.document_id.rsplit("/", 1)[-1]
    parts = [part for part in re.split(r"[-_. ]+", stem) if part]
    text = _URL.sub(" ", document.text)
    for length in range(min(len(parts), 4), 0, -1):
        if all(_is_kind(part) or part.isdigit() for part in parts[:length]):
            continue
        name = "[-_ ]?".join(map(re.escape, parts[:length]))
        found = re.findall(rf"(?<![\w/.-]){name}(?![\w/-])", text, re.I)
        forms = Counter(found)
        if len(found) >= (3 if length > 1 else 2):  # lower case is mostly a path or a command
            return max(forms, key=lambda form: (
                5 * forms[form] >= len(found) and form != form.lower(), forms[form]))
    return ""
