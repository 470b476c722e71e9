"""Read DOCX with mammoth: what its XML says about code, levels and numbers is put in its way first.

Tracked changes are read as accepted; hidden text, headers, footers, comments and pictures are left
out. The XML is rewritten in memory, because mammoth sees neither fonts of styles nor numbers.
"""

import io
import re
import zipfile
from collections import defaultdict

from lib.documents.convert import elements, html
from lib.documents.convert.markdown import Converted, made
from lib.documents.convert.package import opened, part, refuse_entities, xml

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_MONOSPACE = re.compile(r"courier|consol|mono|menlo|typewriter|lucida console|inconsolata|"
                        r"andale|fixedsys|terminal", re.I)
_CODE_STYLE = re.compile(r"source ?code|preformatted|verbatim|^code\b|code ?(?:block|listing)|"
                         r"html (?:code|preformatted)|plain text", re.I)
_STYLE_MAP = "\n".join([
    "p.StudyCode => pre:separator('\\n')", "r.StudyCode => code",
    "p[style-name='Title'] => h1:fresh",
    *(f"p.StudyHeading{level} => h{level}:fresh" for level in range(1, 7)),
    "b => ", "i => ", "strike => "])


def read(raw: bytes) -> Converted:
    """Convert a DOCX file. Raises BadInput for what is damaged, encrypted, a bomb or has macros."""
    import mammoth
    from lxml import etree

    package = opened(raw, "word/document.xml", "DOCX")
    refuse_entities(package)
    body, numbers = _prepared(package)
    with io.BytesIO() as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as rewritten:
            for name in package.namelist():
                if name.startswith("word/media/"):
                    continue
                is_body = name == "word/document.xml"
                rewritten.writestr(name, body if is_body else part(package, name))
        file.seek(0)
        page = mammoth.convert_to_html(file, style_map=_STYLE_MAP, external_file_access=False,
                                       convert_image=lambda _: []).value
    root = etree.fromstring(f"<div>{page}</div>", etree.HTMLParser(huge_tree=True))
    if root is None:
        return made([])
    html.refuse_deep(root)
    _place(root, numbers)
    return made(elements.walked(root, "paragraph"))


def _prepared(package: zipfile.ZipFile) -> tuple[bytes, dict[int, int]]:
    from lxml import etree

    styles = _Styles(xml(package, "word/styles.xml") if "word/styles.xml" in package.namelist()
                     else etree.Element(_W + "styles"))
    counters = (_Counters(xml(package, "word/numbering.xml"))
                if "word/numbering.xml" in package.namelist() else None)
    root, numbers = xml(package, "word/document.xml"), {}
    etree.strip_tags(root, _W + "fldSimple")  # mammoth leaves out the text of a field
    for run in list(root.iter(_W + "r")):
        if styles.is_hidden(run):
            run.getparent().remove(run)
        elif styles.is_monospace(run):
            _set_style(run, "r", "StudyCode")
    for at, paragraph in enumerate(root.iter(_W + "p"), 1):
        level = styles.level(paragraph)
        if level:
            _set_style(paragraph, "p", f"StudyHeading{min(level, 6)}")
        elif styles.is_code(paragraph):
            _set_style(paragraph, "p", "StudyCode")
            for style in paragraph.iter(_W + "rStyle"):
                style.getparent().remove(style)
        elif counters and (number := counters.number(paragraph)):
            numbers[at] = number
        mark = etree.Element(_W + "bookmarkStart", {_W + "name": f"paragraph-{at}"})
        properties = paragraph.find(_W + "pPr")
        paragraph.insert(0 if properties is None else paragraph.index(properties) + 1, mark)
    return etree.tostring(root), numbers


def _place(root, numbers: dict[int, int]) -> None:
    placed = set()
    for element in root.iter("*"):
        element.sourceline = 0
    for mark in list(root.iter("a")):
        name = mark.get("id", "")
        if name.startswith("paragraph-"):
            at = int(name[10:])
            block = next(one for one in mark.iterancestors() if one.tag not in elements.INLINE)
            if block.tag == "li" and at in numbers:
                block.set("value", str(numbers[at]))
            for one in {block, *block.iterancestors("table")} - placed:
                one.sourceline = at
                placed.add(one)
        elif mark.get("href", "").startswith(("#footnote-ref", "#endnote-ref")):
            mark.text = ""  # the arrow back to the text


def _set_style(element, kind: str, name: str) -> None:
    properties = element.find(f"{_W}{kind}Pr")
    if properties is None:
        properties = element.makeelement(f"{_W}{kind}Pr")
        element.insert(0, properties)
    for old in properties.findall(f"{_W}{kind}Style"):
        properties.remove(old)
    style = properties.makeelement(f"{_W}{kind}Style", {_W + "val": name})
    properties.insert(0, style)


def _value(element, path: str) -> str | None:
    found = element.find("/".join(_W + step for step in path.split("/")))
    return None if found is None else found.get(_W + "val", "")


class _Styles:
    def __init__(self, root):
        self.by_id = {style.get(_W + "styleId"): style for style in root.iter(_W + "style")}

    def chain(self, element, path: str):
        yield element
        name, seen = _value(element, path), set()
        while name in self.by_id and name not in seen:
            seen.add(name)
            yield self.by_id[name]
            name = _value(self.by_id[name], "basedOn")

    def is_hidden(self, run) -> bool:
        values = (_value(one, "rPr/vanish") for one in self.chain(run, "rPr/rStyle"))
        return next((one for one in values if one is not None), "0") not in ("0", "false")

    def is_monospace(self, run) -> bool:
        for one in self.chain(run, "rPr/rStyle"):
            fonts = one.find(f"{_W}rPr/{_W}rFonts")
            if fonts is not None and (name := fonts.get(_W + "ascii")):
                return bool(_MONOSPACE.search(name))
        return False

    def level(self, paragraph) -> int:
        """Return a heading's level, 0 if the paragraph is none."""
        for one in self.chain(paragraph, "pPr/pStyle"):
            name = re.fullmatch(r"heading ([1-9])", (_value(one, "name") or "").lower())
            outline = _value(one, "pPr/outlineLvl")
            if name or outline:
                return int(name[1]) if name else (int(outline) + 1) % 10  # 9 is body text
        return 0

    def is_code(self, paragraph) -> bool:
        """Whether its style is one for code, or all of its words are in a monospaced font."""
        _, *styles = self.chain(paragraph, "pPr/pStyle")
        if any(_CODE_STYLE.search(_value(style, "name") or "") for style in styles):
            return True
        if paragraph.find(f"{_W}pPr/{_W}numPr") is not None or any(
                True for _ in paragraph.iterancestors(_W + "tc")):
            return False
        runs = [run for run in paragraph.iter(_W + "r")
                if "".join(text.text or "" for text in run.iter(_W + "t")).strip()]
        return bool(runs) and all(_value(run, "rPr/rStyle") == "StudyCode" for run in runs)


# Numbers of numbered paragraphs, as Word counts them (ECMA-376, 17.9)
class _Counters:
    def __init__(self, root):
        self.abstract = {one.get(_W + "numId"): _value(one, "abstractNumId")
                         for one in root.iter(_W + "num")}
        self.starts: dict[tuple[str, int], int] = {}
        for one in root.iter(_W + "abstractNum"):
            for level in one.iter(_W + "lvl"):
                key = one.get(_W + "abstractNumId"), int(level.get(_W + "ilvl", 0))
                self.starts[key] = int(_value(level, "start") or 1)
        self.restarts = {(num.get(_W + "numId"), int(one.get(_W + "ilvl", 0))): int(start)
                         for num in root.iter(_W + "num") for one in num.iter(_W + "lvlOverride")
                         if (start := _value(one, "startOverride"))}
        self.counts: dict[str, dict[int, int]] = defaultdict(dict)
        self.begun: set[tuple[str, int]] = set()

    def number(self, paragraph) -> int | None:
        """Count this paragraph; None if it is not numbered itself."""
        name = _value(paragraph, "pPr/numPr/numId")
        kind = self.abstract.get(name)
        if kind is None:
            return None
        level = int(_value(paragraph, "pPr/numPr/ilvl") or 0)
        counts = self.counts[kind]
        if (name, level) in self.restarts and (name, level) not in self.begun:
            counts[level] = self.restarts[name, level]
        else:
            counts[level] = counts.get(level, self.starts.get((kind, level), 1) - 1) + 1
        self.begun.add((name, level))
        for deeper in [one for one in counts if one > level]:
            del counts[deeper]
        return counts[level]
