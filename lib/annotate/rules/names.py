"""Which words name a thing: a question that has none does not say what it is about."""

import re
from collections import Counter
from collections.abc import Iterable

from lib.core.records import Document
from lib.documents.markdown import Block, title_heading

LEAST = 2  # times that sentences have a name

# what many products run on or speak, and titles that many documents have
_COMMON = frozenset(
    """
android apache api aws azure bash changelog commands config configuration contributing css docker
docs faq git github google graphql html http https install installation ios ipv4 ipv6 java
javascript json kubernetes linux mac macos markdown microsoft mysql node.js npm oauth2 openapi
options postgresql python python3 react readme redis sqlite typescript ubuntu unix usage utf-8
websocket windows""".split()
)
_TERM = re.compile(r"[^\W_][\w.-]*\w")
_SHAPED = re.compile(r"[A-Z][\w.-]*[a-z][A-Z]|[A-Z]\w*-?\d")  # OpenTelemetry, X7, R-9
_PACKAGE = re.compile(r"(@?[a-z][\w./-]+)(?: .*[A-Z].*)?")  # node-fetch, containerd Mounts
_NO_PROSE = re.compile(r"`[^`]*`|\]\([^()]*\)|https?://\S+")
_LARGE = re.compile(r"(?<=[a-z,] )[A-Z][\w-]*[a-z][\w-]*")
_SMALL = re.compile(r"(?<![\w./-])[a-z][\w-]+")


def names_of(documents: Iterable[Document], parsed: Iterable[tuple[Block, ...]]) -> frozenset[str]:
    """Return the proper names: words that sentences have with a capital inside, and seldom without,
    and packages with which a title begins."""
    large, small, packages = Counter(), Counter(), set()
    for document, blocks in zip(documents, parsed, strict=True):
        prose = "\n".join(
            _NO_PROSE.sub(" ", document.text[block.start : block.end])
            for block in blocks
            if block.kind == "prose"
        )
        large.update(_LARGE.findall(prose))
        small.update(_SMALL.findall(prose))
        title = title_heading(blocks)
        package = _PACKAGE.fullmatch(title.text) if title else None
        packages.update(_TERM.findall(package[1]) if package else ())
    return frozenset(
        packages.union(
            word
            for word, count in large.items()
            if count >= max(LEAST, 4 * small[word.lower()] + 4 * small[f"{word.lower()}s"])
        )
    )


def is_named(phrase: str, names: frozenset[str]) -> bool:
    """True if a word of `phrase` is one of the names, or has the shape of a product's name."""
    return any(
        (word in names or _SHAPED.match(word)) and word.lower() not in _COMMON
        for word in _TERM.findall(phrase)
    )
