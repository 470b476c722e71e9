"""Read HTML: the document without the site around it, as pieces in reading order."""

import re
from contextlib import suppress

from lib.core.errors import BadInput
from lib.documents.convert.elements import HEADINGS, INLINE, is_data, n_words, walked
from lib.documents.convert.markdown import Converted, Piece, made

MOST_NESTED = 200

_NEVER = frozenset(  # what no reader of the document reads
    "script style template noscript iframe object embed svg canvas audio video button select input "
    "textarea nav footer dialog head map".split())
_ROLES = frozenset("navigation banner contentinfo search dialog alertdialog complementary menu "
                   "menubar toolbar".split())
# parts of class names and ids that sites and site generators give to what is around the document
_FURNITURE = frozenset(
    "nav navbar navigation breadcrumb breadcrumbs cookie cookies consent sidebar sidenav toc menu "
    "menubar pagination pager share sharing social feedback related newsletter advert ads promo "
    "footer banner skip skiplink copybtn copybutton clipboard toolbar search searchbox versions "
    "linenos lineno linenumbers printonly comments masthead".split())
_MARKS = frozenset("headerlink hashlink anchorlink permalink skiptocontent lineno linenos sronly "
                   "visuallyhidden screenreadertext copybtn copybutton".split())
_HIDDEN = re.compile(r"(display\s*:\s*none|visibility\s*:\s*hidden|position\s*:\s*fixed)", re.I)
_CHARSET = re.compile(rb"""(?:charset|encoding)\s*=\s*["']?\s*([\w.:-]+)""", re.I)
_SEGMENT = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_CONTAINERS = frozenset("html body div section main article center form table tbody tr td".split())
_CONTENT = frozenset(("p", "pre", "blockquote", "dl", *HEADINGS))


def read(raw: bytes) -> Converted:
    """Convert an HTML page; nothing that it names is fetched. Raises BadInput."""
    return made(main_of(tree(decoded(raw))))


def tree(text: str):
    """Parse HTML, and XHTML as XML if it is well-formed. Raises BadInput."""
    from lxml import etree

    if re.search(r"<!DOCTYPE[^<>]*\[", text):
        raise BadInput("it declares entities, which are never resolved")
    common = {"encoding": "utf-8", "no_network": True, "huge_tree": True,
              "remove_comments": True, "remove_pis": True}
    raw, root = text.encode(), None
    if "http://www.w3.org/1999/xhtml" in text[:2000]:
        with suppress(etree.XMLSyntaxError):
            root = etree.fromstring(raw, etree.XMLParser(
                resolve_entities=False, load_dtd=False, **common))
            for element in root.iter(etree.Element):
                element.tag = etree.QName(element).localname
                for name in list(element.attrib):  # epub:type
                    element.set(etree.QName(name).localname, element.get(name))
    if root is None:
        root = etree.fromstring(raw or b"<p>", etree.HTMLParser(**common))
    if root is None:
        raise BadInput("empty")
    refuse_deep(root)
    return root


def main_of(root) -> list[Piece]:
    """Return the pieces of a page without the site around its document."""
    strip_unread(root)
    _strip_furniture(root)
    main, titles = _main(root), list(root.iter("h1"))
    is_outside = len(titles) == 1 and next(main.iter("h1"), None) is None
    return [*(walked(titles[0]) if is_outside else []), *walked(main)]


def decoded(raw: bytes) -> str:
    """Decode by byte-order mark, else UTF-8, else the page's own declaration."""
    declared = _CHARSET.search(raw[:2048])
    names = [declared[1].decode("ascii")] if declared else []
    marks = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16", b"\xef\xbb\xbf": "utf-8-sig"}
    first = next((name for mark, name in marks.items() if raw.startswith(mark)), "utf-8")
    for name in [first, *names]:
        try:
            text = raw.decode(name)
        except (UnicodeDecodeError, LookupError):
            continue
        if "\0" in text:
            raise BadInput("binary, not HTML (it contains zero bytes)")
        return text
    raise BadInput("neither UTF-8 nor in the encoding that it declares: save it as UTF-8")


def refuse_deep(root) -> None:
    from lxml import etree

    depth = 0
    for event, _ in etree.iterwalk(root, events=("start", "end")):
        depth += 1 if event == "start" else -1
        if depth > MOST_NESTED:
            raise BadInput(f"elements nested more than {MOST_NESTED} deep")


def strip_unread(root) -> None:
    """Remove scripts, controls and hidden elements."""
    for element in list(root.iter("*")):
        if element.tag in _NEVER or _is_hidden(element):
            _remove(element)


# Remove what is around the document, but never most of its words
def _strip_furniture(root) -> None:
    total = n_words(root)
    for element in [one for one in root.iter() if _is_furniture(one)]:
        whole = element.tag in ("html", "body", "main", "article") or n_words(element) * 2 > total
        if not whole and next(element.iter("main", "article"), None) is None:
            _remove(element)


def _remove(element) -> None:
    parent = element.getparent()
    if parent is None or element.tag in ("html", "body"):
        return
    if element.tail:
        before = element.getprevious()
        if before is not None:
            before.tail = (before.tail or "") + element.tail
        else:
            parent.text = (parent.text or "") + element.tail
    parent.remove(element)


def _is_hidden(element) -> bool:
    return ("hidden" in element.attrib or element.get("aria-hidden") == "true"
            or bool(_HIDDEN.search(element.get("style", ""))))


def _is_furniture(element) -> bool:
    if element.get("role") in _ROLES:
        return True
    of_heading = {element.tag, *(one.tag for one in element[:1])} & HEADINGS  # as its id is
    tokens = f"{element.get('class', '')} {'' if of_heading else element.get('id', '')}".split()
    if any(re.sub(r"[-_]", "", token).lower() in _MARKS for token in tokens):
        return True
    if element.tag in INLINE:
        return False
    segments = {part.lower() for token in tokens for part in _SEGMENT.findall(token)}
    if segments & _FURNITURE:
        return True
    links = list(element.iter("a"))  # "back to top" and its kind
    return (element.tag in ("p", "div") and len(links) == 1
            and 0 < n_words(element) == n_words(links[0])
            and links[0].get("href", "") in ("#", "#top"))


def _main(root):
    for path in ("//main|//*[@role='main']", "//*[@itemprop='articleBody']", "//article"):
        found = root.xpath(path)
        if len(found) == 1 and n_words(found[0]) * 3 > n_words(root):
            inner = found[0].xpath(".//article|.//*[@itemprop='articleBody']")
            bodies = [one for one in inner if n_words(one) * 3 > n_words(found[0]) * 2]
            return bodies[-1] if bodies else found[0]
    _strip_links(root)
    place = root
    while True:
        parts = [one for one in place if isinstance(one.tag, str) and n_words(one)]
        largest = max(parts, key=n_words, default=None)
        if (largest is None or largest.tag not in _CONTAINERS or is_data(largest)
                or n_words(largest) * 10 < n_words(place) * 7
                or any(_has_content(one) for one in parts if one is not largest)):
            return place
        place = largest


def _strip_links(root) -> None:
    blocks = [one for one in root.iter() if one.tag not in INLINE | {"html", "body"}]
    marks = [at for at, one in enumerate(blocks) if one.tag in HEADINGS] or [0]
    first = next((at for at in marks if blocks[at].tag == "h1"), marks[0])
    last = max((at for at, one in enumerate(blocks) if one.tag in _CONTENT and _has_content(one)
                or is_data(one)), default=first)
    keep = {id(one) for at in (first, last) for one in (blocks[at], *blocks[at].iterancestors())}
    for at, block in enumerate(blocks):
        words = n_words(block)
        outside = (at < first or at > last) and id(block) not in keep
        if outside and words and 2 * sum(map(n_words, block.iter("a"))) >= words:
            _remove(block)


def _has_content(element) -> bool:
    return any(n_words(one) > sum(map(n_words, one.iter("a"))) for one in element.iter(*_CONTENT))
