"""Read HTML and EPUB without the site around the document."""

import posixpath
import re
from urllib.parse import unquote

from lib.core.errors import BadInput
from lib.documents.convert.elements import HEADINGS, n_words, walked
from lib.documents.convert.markdown import Converted, write_markdown
from lib.documents.convert.package import opened, part, xml

MOST_NESTED = 200
_CONTAINER = "META-INF/container.xml"
_NO_TEXT = frozenset(("titlepage", "cover", "toc", "landmarks", "copyright-page", "page-list"))

_NEVER = frozenset(  # what no reader of the document reads
    "script style template noscript iframe object embed svg canvas audio video button select input "
    "textarea nav footer dialog head map".split()
)
_ROLES = frozenset(
    "navigation banner contentinfo search dialog alertdialog complementary menu "
    "menubar toolbar".split()
)
# parts of class names and ids that sites and site generators give to what is around the document
_FURNITURE = re.compile(
    r"nav(?:bar|igation)?|breadcrumbs?|cookies?|consent|side(?:bar|nav)|toc|menu(?:bar)?|pagination"
    r"|pager|shar(?:e|ing)|social|feedback|related|newsletter|adver(?:t|ts)|ads|promo|footer|banner"
    r"|skip(?:link)?|copyb(?:tn|utton)|clipboard|toolbar|search(?:box)?|versions"
    r"|line(?:nos?|numbers)|printonly|comments|masthead"
)
_MARK = re.compile(
    r"(?:header|hash|anchor|perma)link|skiptocontent|linenos?|sronly|visuallyhidden"
    r"|screenreadertext|copyb(?:tn|utton)"
)
_HIDDEN = re.compile(r"(display\s*:\s*none|visibility\s*:\s*hidden|position\s*:\s*fixed)", re.I)
_CHARSET = re.compile(rb"""(?:charset|encoding)\s*=\s*["']?\s*([\w.:-]+)""", re.I)
_SEGMENT = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")


def read(raw: bytes) -> Converted:
    """Convert an HTML page; nothing that it names is fetched. Raises BadInput."""
    root = tree(decoded(raw))
    _strip_furniture(root)
    main, titles = _main(root), list(root.iter("h1"))
    is_outside = len(titles) == 1 and next(main.iter("h1"), None) is None
    return write_markdown([*(walked(titles[0]) if is_outside else []), *walked(main)])


def tree(text: str):
    """Parse HTML, and XHTML as XML if it is well-formed, without what is never shown.

    Raises BadInput.
    """
    from lxml import etree, html

    if re.search(r"<!DOCTYPE[^<>]*\[", text):
        raise BadInput("it declares entities, which are never resolved")
    common = {
        "encoding": "utf-8",
        "no_network": True,
        "huge_tree": True,
        "remove_comments": True,
        "remove_pis": True,
    }
    raw, root = text.encode(), None
    if "http://www.w3.org/1999/xhtml" in text[:2000]:
        parser = html.XHTMLParser(resolve_entities=False, load_dtd=False, recover=True, **common)
        root = etree.fromstring(raw, parser)
        html.xhtml_to_html(root)
    if root is None or parser.error_log:
        root = etree.fromstring(raw or b"<p>", html.HTMLParser(**common))
    if root is None:
        raise BadInput("empty")
    if root.xpath("*" + "/*" * MOST_NESTED):
        raise BadInput(f"elements nested more than {MOST_NESTED} deep")
    for line_break in root.iter("br"):
        line_break.text = "\n"
    for element in [*root.iter("*")]:
        if element.tag in _NEVER or _is_hidden(element):
            _remove(element)
    return root


def decoded(raw: bytes) -> str:
    """Decode by byte-order mark, else as UTF-8, else as the page declares. Raises BadInput."""
    declared = [name.decode("ascii") for name in _CHARSET.findall(raw[:2048])[:1]]
    has_mark = raw.startswith((b"\xff\xfe", b"\xfe\xff"))
    for name in ["utf-16" if has_mark else "utf-8-sig", *declared]:
        try:
            text = raw.decode(name)
        except (UnicodeDecodeError, LookupError):
            continue
        if "\0" in text:
            raise BadInput("binary, not text (it contains zero bytes)")
        return text
    raise BadInput("neither UTF-8 nor in the encoding that it declares: save it as UTF-8")


# Remove what is around the document, but never most of its words
def _strip_furniture(root) -> None:
    total = n_words(root)
    for element in [one for one in root.iter("*") if _is_furniture(one)]:
        is_whole = element.xpath("self::main|self::article|.//main|.//article")
        if not is_whole and n_words(element) * 2 <= total:
            _remove(element)


def _remove(element) -> None:
    if element.getparent() is not None and element.tag not in ("html", "body"):
        element.drop_tree()


def _is_hidden(element) -> bool:
    return (
        "hidden" in element.attrib
        or element.get("aria-hidden") == "true"
        or bool(_HIDDEN.search(element.get("style", "")))
    )


def _is_furniture(element) -> bool:
    if element.get("role") in _ROLES or element.tag == "a" and element.text in ("#", "¶", "§"):
        return True
    of_heading = {element.tag, *(one.tag for one in element[:1])} & HEADINGS  # as its id is
    tokens = f"{element.get('class', '')} {'' if of_heading else element.get('id', '')}".split()
    if any(_MARK.fullmatch(re.sub(r"[-_]", "", token).lower()) for token in tokens):
        return True
    return any(
        _FURNITURE.fullmatch(part.lower()) for token in tokens for part in _SEGMENT.findall(token)
    )


def _main(root):
    for path in ("//main|//*[@role='main']", "//*[@itemprop='articleBody']", "//article"):
        found = root.xpath(path)
        if len(found) == 1 and n_words(found[0]) * 3 > n_words(root):
            return found[0]
    return root


def read_epub(raw: bytes) -> Converted:
    """Convert the XHTML files of an EPUB in the order of its spine.

    Raises BadInput for what is damaged, a bomb or protected.
    """
    package = opened(raw, _CONTAINER, "EPUB")
    if "META-INF/encryption.xml" in package.namelist():
        raise BadInput("protected (META-INF/encryption.xml)")
    book = next(
        (one.get("full-path", "") for one in xml(package, _CONTAINER).iter("{*}rootfile")), ""
    )
    opf, pieces = xml(package, book), []
    files = {
        one.get("id"): one
        for one in opf.iter("{*}item")
        if "nav" not in one.get("properties", "").split()
    }
    for reference in opf.iter("{*}itemref"):
        if reference.get("idref") not in files:
            continue
        href = unquote(files[reference.get("idref")].get("href", ""))
        name = posixpath.normpath(posixpath.join(posixpath.dirname(book), href))
        root = tree(decoded(part(package, name)))
        kinds = " ".join(root.xpath("//@*[local-name()='type']")).split()
        if not _NO_TEXT & {*kinds}:
            pieces += walked(root)
    return write_markdown(pieces)
