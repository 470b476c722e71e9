"""What a block is about, so that a question on it stands alone: product, version and section (paper, 3.1)."""

import re
from collections import Counter
from dataclasses import dataclass, replace

from lib.core.records import Document
from lib.core.text import as_label, is_plural
from lib.documents.blocks import Block, plain

# Words that name a kind of document or section, never a product.
_KIND = ("about architecture background basics benchmark benchmarks bootloaders change changelog changes comparison "
         "config configuration contents copyright data datasheet description details doc docs document documentation "
         "example examples faq feature features general getting guide help history index info information installation "
         "installing intro introduction license log manual misc miscellaneous news note notes other overview page "
         "quick readme reference release releases scope section specification specifications start started summary "
         "technical to troubleshooting tutorial usage user version welcome")
_KINDS = frozenset(_KIND.split())
_KIND_WORD = (r"(?:manual|guide|notes?|changelog|readme|documentation|datasheet|data sheet|handbook|reference|overview|"
              r"specifications?)")
_KIND_SUFFIX = re.compile(rf"\s*(?:[:–|]|\s-)\s.*\b{_KIND_WORD}$|"
                          r"(?:\s+(?:user|operator|operating|reference|installation|maintenance|technical|product|quick|"
                          rf"release|service))?\s+{_KIND_WORD}$", re.I)
_NUMBERING = re.compile(r"^(?:\d+(?:\.\d+)*\.?|[A-Z]\.)\s+(?=\D)")
_GENERIC_SECTION = re.compile(r"(?:basic |general |more |further )?(?:summary|overview|introduction|details|info|"
                              r"information|notes?|examples?|general|description|other|misc|scope|changes|contents|"
                              r"about)",
                              re.I)
_VERSION = re.compile(r"(?:version |"
                      r"release )?\[?(?P<name>(?:[A-Za-z][\w.+-]*[ -]){0,4}?)(?P<number>v?\d+(?:\.\d+)+[\w.+-]*)\]?"
                      r"(?:\s*[-–—(:,].*)?", re.I)
_NOUN = re.compile(r"(?:ing|tion|ment|ness|ity|ance|ence|ware|age)$")
_NAMED = re.compile(r"(?<=[a-z,] )[A-Z][A-Za-z]+")
_URL = re.compile(r"\]\([^)]*\)|<?https?://\S+|^\s*(?:```|~~~).*?^\s*(?:```|~~~)", re.M | re.S)


@dataclass(frozen=True)
class Scope:
    """The subject of a block. Where `is_entity`, the subject is a thing that has attributes, else a document's name."""

    subject: str  # "Corvane P-417", "Klipper 0.13.0", "Klipper Bed Mesh"
    topic: str  # the section below the subject, unique in its document; "" where there is none
    is_entity: bool
    is_version: bool = False
    product: str = ""  # a shorter name of the subject that may stand in a sentence
    names: frozenset[str] = frozenset()  # words that the document always writes with a capital
    words: frozenset[str] = frozenset()  # words that it also writes in small letters, with a capital

    def label(self, phrase: str) -> str:
        """A heading, header or lead-in inside a sentence: lower case but for the document's own names."""
        words = phrase.strip().rstrip(":.").split(" ")
        if words[0] in self.names or words[0] == self.product:
            return " ".join(words)
        if all(re.fullmatch(r"[A-Z][a-z]+", word) and word not in self.names for word in words):
            return " ".join(words).lower()
        return as_label(phrase)

    def subject_of(self, phrase: str) -> str:
        """A sentence's subject inside a question: its first word in small letters where it is no name."""
        first, _, rest = phrase.partition(" ")
        is_noun = _NOUN.search(first) or is_plural(first) or is_plural(phrase) and rest.islower()
        is_word = re.fullmatch(r"[A-Z][a-z]+", first) and (
            first in self.words or first not in self.names and first != self.product and is_noun)
        return f"{first.lower()} {rest}".strip() if is_word or first in ("A", "The", "An") else phrase

    def attribute(self, label: str, verb: str) -> tuple[str, str]:
        """Question on `label` of the subject, and the same with its section named."""
        core = f"what {verb} the {label} of"
        if self.is_entity:
            short = f"W{core[1:]} {self.subject}?"
            return short, f'Under "{self.topic}", {core} {self.subject}?' if self.topic else short
        is_named = not self.topic or self.topic.lower() == label.lower()
        asked = f"W{core[1:]} {self.subject}?" if is_named else f'In {self.subject}, {core} "{self.topic}"?'
        return asked, asked

    def within(self, core: str) -> tuple[str, str]:
        """`core`, a question without its place, as a whole question; and the same with its section named."""
        name = self.subject
        named = re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", core) is not None if name else True
        whole = core[:1].upper() + core[1:]
        place = f"{'For' if self.is_entity and not self.is_version else 'In'} {name}"
        short = whole if named else f"{place}, {core}"
        if not self.topic or self.topic.lower() in core.lower():
            return short, short
        longer = f'Under "{self.topic}", {core}' if named else f'Under "{self.topic}" in {name}, {core}'
        return (short if self.is_entity else longer), longer


def scopes(document: Document, blocks: list[Block]) -> list[Scope]:
    """The scope of each block, in order."""
    product = _product(document)
    headings = [block for block in blocks if block.kind == "heading"]
    top = headings[0].level if headings else 0
    is_titled = bool(headings) and top == 1
    counts = Counter(heading.text for heading in headings)
    found = [_scope(document, product, block.headings, is_titled, counts) for block in blocks]
    small = frozenset(word.capitalize() for word in re.findall(r"(?<![\w./-])[a-z]+\b(?![/.]\w)", document.text))
    said = "\n".join(block.text for block in blocks if block.kind in ("prose", "list"))
    names = frozenset(_NAMED.findall(said)) - small
    return [replace(scope, names=names, words=small - {product}) for scope in found]


def version_name(heading: str, product: str) -> str:
    """The release that a heading names, with its product: "v3.5.1 (2024-01-01)" -> "etcd v3.5.1"; "" if none."""
    found = _VERSION.fullmatch(heading.strip())
    if not found:
        return ""
    name = found["name"].strip(" -")
    return f"{name or product or 'version'} {found['number']}"


def _scope(document: Document, product: str, headings: tuple[str, ...], is_titled: bool, counts: Counter[str]) -> Scope:
    title = headings[0] if is_titled and headings else document.title
    below = headings[1:] if is_titled else headings
    name = _title_name(title)
    is_thing = _is_thing(name, product)
    subject = name if is_thing else _document_name(title, product)
    for index in range(len(below) - 1, -1, -1):
        version = version_name(below[index], name if is_thing else product)
        if version:
            return Scope(version, _topic(below[index + 1:], Counter()), True, True, product or name)
    if is_thing and version_name(title, product):
        return Scope(subject, _topic(below, counts), True, True, product)
    return Scope(subject, _topic(below, counts), is_thing, False, product or name)


def _topic(headings: tuple[str, ...], counts: Counter[str]) -> str:
    """The innermost headings that tell this section from every other one of the document."""
    kept: list[str] = []
    for heading in reversed(headings):
        if not _GENERIC_SECTION.fullmatch(heading.strip()):
            kept.append(_NUMBERING.sub("", heading.strip()).rstrip(":").replace('"', "'"))
        if kept and counts[heading] <= 1:
            break
    return ", ".join(reversed(kept))


def _title_name(title: str) -> str:
    name = _KIND_SUFFIX.sub("", title.strip()).strip(" -–:|")
    return re.sub(r"^(?:the|about|welcome to|introduction to)\s+", "", name, flags=re.I)


def _is_thing(name: str, product: str) -> bool:
    """Whether a title names a product: all its words are names, and no other product is the document's own."""
    parts = name.split()
    if not parts or len(parts) > 6 or all(part.lower().strip(",.") in _KINDS for part in parts):
        return False
    if name.lower() == product.lower() or len(parts) == 1 and not product:
        return True
    if not all((part[0].isupper() or part[0].isdigit()) and part.lower() not in _KINDS for part in parts):
        return False
    return not product or product.lower() in name.lower() or any(re.search(r"\d", part) for part in parts)


def _document_name(title: str, product: str) -> str:
    title = plain(title)
    is_slug = title == title.lower() and (" " not in title or bool(product))  # a file's name, for want of a title
    if not title or is_slug:
        return product or title
    return title if not product or product.lower() in title.lower() else f"{product} {title}"


def _product(document: Document) -> str:
    """The longest beginning of the document's name that its text uses as a name, as the text mostly writes it."""
    parts = [part for part in re.split(r"[-_. ]+", document.document_id.rsplit("/", 1)[-1]) if part]
    text = _URL.sub(" ", document.text)
    for length in range(min(len(parts), 4), 0, -1):
        if all(part.lower() in _KINDS or part.isdigit() for part in parts[:length]):
            continue
        found = re.findall(r"(?<![\w/.-])" + "[-_ ]?".join(map(re.escape, parts[:length])) + r"(?![\w/-])", text, re.I)
        forms = Counter(found)
        if len(found) >= (3 if length > 1 else 2):  # the same in small letters is mostly a path or a command
            return max(forms, key=lambda form: (5 * forms[form] >= len(found) and form != form.lower(), forms[form]))
    return ""
