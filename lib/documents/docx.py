"""DOCX as pieces: headings and code by styles, numbers of lists by counters.

Tracked changes count as accepted. Hidden and struck text, headers, footers, comments are dropped.
"""

import re
from collections import defaultdict

from lib.documents.convert import (
    LOWERED,
    MONOSPACE,
    SHIFTS,
    Converted,
    Piece,
    count_item,
    inline_runs,
    missing,
    open_package,
    parse_xml,
    settle,
    table_piece,
    write_markdown,
)

_NAMES = {
    "w": "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
    "m": "http://schemas.openxmlformats.org/officeDocument/2006/math",
}
_W = f"{{{_NAMES['w']}}}"
# also shapes without a box of text, whose content stands behind its paragraph by then; fields
# without a lasting result or with an error, places to fill in, linked marks of notes; numbers
# in capitals, as "5 mW" looks like "5 MW"; white words, but for what may be dark behind them
_RUNS = """descendant::w:r|descendant::m:oMath|.//w:sym
    |(preceding-sibling::*[1]|following-sibling::*[1])[self::w:altChunk]
    |(.//w:r//w:drawing|.//w:r/w:object|.//w:r/w:pict|.//w:fldChar[w:ffData])
    [not(.//*[local-name()='txbx' or local-name()='textbox'])]
    |(descendant::w:sdt|ancestor::w:sdt)[w:sdtPr/w:showingPlcHdr[not(@w:val=0 or @w:val='false')]]
    |(.//w:instrText|.//w:fldSimple)[starts-with(normalize-space(concat(@w:instr, text())), '=')
    or contains(
    ' EQ SYMBOL LISTNUM AUTONUM AUTONUMLGL AUTONUMOUT IF DATE TIME MERGEFIELD MACROBUTTON ',
    concat(' ', substring-before(normalize-space(concat(@w:instr, text(), ' .')), ' '), ' '))]
    |.//w:r[preceding-sibling::w:r[1]/w:fldChar or parent::w:fldSimple]/w:t[contains(., '!')
    or starts-with(., 'Error:')]
    |.//w:r[w:t[translate(., '0123456789', '') != .]]/w:rPr/w:caps[not(@w:val=0 or @w:val='false')]
    |.//w:r[w:t]/w:rPr[not(w:shd[@w:fill!='auto' and @w:fill!='FFFFFF'] or w:highlight or
    ancestor::*/*[self::w:pPr or self::w:tcPr]/w:shd[@w:fill!='auto' and @w:fill!='FFFFFF'] or
    ancestor::w:tbl/w:tblPr/w:tblStyle[@w:val!='TableGrid' and @w:val!='TableNormal'])]
    /w:color[@w:val='FFFFFF']
    |.//w:r[w:footnoteReference or w:endnoteReference or preceding-sibling::w:r[1]/w:fldChar or
    not(preceding-sibling::w:r) and (parent::w:hyperlink or parent::w:fldSimple)]
    [w:t and not(translate(w:t, '0123456789', ''))]/w:rPr[w:vertAlign
    or w:rStyle[not(contains(@w:val, 'yperlink') or contains(@w:val, 'nternet'))]]"""
# rows, cells and paragraphs that were deleted, or whose text goes on in the next one; contents
_GONE = """//w:tr[w:trPr/w:del]|//w:tc[w:tcPr/w:cellDel]
    |//w:p[w:pPr[w:rPr[w:del or w:moveFrom] or w:framePr/@w:dropCap]][following-sibling::w:p]
    |//w:p[w:pPr/w:rPr/w:vanish and w:r and not(.//w:r[not(w:rPr/w:vanish[not(@w:val)])])]
    |//w:p[contains(' TOC TableofFigures Index Contents Verzeichnis TM TDC Sommario ',
    concat(' ', translate(w:pPr/w:pStyle/@w:val, '0123456789', ''), ' '))]"""
_OFF = (None, "0", "false", "off")
_SYMBOLS = re.compile("symbol|dingbats|webdings|wingdings", re.I)  # their letters are signs
# a table of the page's arrangement has one row, or one column, or tables in it; Word has 63 columns
_DATA = """self::*[not(.//w:tbl) and (.//w:tr)[2] and count(.//w:tc) > count(.//w:tr)
    and not(.//w:gridSpan[@w:val > 99] or .//w:gridBefore[@w:val > 99])]"""
# a cell beside it says what it is about, or it is part of the one above it
_LABELLED = """boolean(ancestor::w:tc/preceding-sibling::w:tc[normalize-space()
    and string-length(normalize-space()) < 60]
    |self::*[not(.//w:tblHeader)]/preceding-sibling::*[1][self::w:tbl])"""
# rows of the header; the first one, too, if none of its cells is a number and no year
_HEADS = """.//w:tr[w:trPr/w:tblHeader[not(@w:val=0 or @w:val='false' or @w:val='off')]]
    |(.//w:tr)[1][not(w:tc[number() < 1900 or number() > 2100])]"""
_SIGNS = dict(zip("tab ptab br cr noBreakHyphen".split(), "\t\t\n\n-", strict=True))
_CODE_STYLE = re.compile(
    r"""source\ ?code|preformatted|verbatim|^code\b|code\ ?(?:block|listing)
    |html\ (?:code|preformatted)|plain\ text""",
    re.I | re.M | re.X,
)
_HEADING_STYLE = re.compile(r"^heading ([1-9])$|\A\s*title$", re.I | re.M)


def read(raw: bytes) -> Converted:
    """Convert a DOCX file. Raises BadInput for what is damaged, encrypted or a bomb."""
    from lxml import etree

    package = open_package(raw, "word/document.xml", "DOCX")
    styles, numbering, document, *notes = (
        parse_xml(package, name) if name in package.namelist() else etree.Element("none")
        for name in """word/styles.xml word/numbering.xml word/document.xml word/footnotes.xml
        word/endnotes.xml""".split()
    )
    reader = _Reader(styles, numbering)
    for part in (document, *notes):
        for gone in reversed(_find(part, _GONE)):
            for after in _find(
                gone,
                """self::w:p[w:pPr[w:rPr[w:del or w:moveFrom] or w:framePr]]
                /following-sibling::w:p[1]""",
            ):
                after[:0] = gone[1:]
            gone.tag = _W + "del"
        etree.strip_elements(part, *"{*}del {*}moveFrom {*}Fallback {*}rt".split(), with_tail=False)
        for box in reversed([*part.iter(_W + "txbxContent")]):
            next(box.iterancestors(_W + "p")).addnext(box)
        for content in _find(part, "*[not(@w:type)]"):
            reader.read(content)
    return write_markdown(reader.pieces, reader.title)


class _Reader:
    def __init__(self, styles, numbering):
        self.styles = {style.get(_W + "styleId"): style for style in styles}
        self.numbering = numbering
        # the last numbers by level of each definition of lists; (list, 0): its levels begun anew
        self.counts = defaultdict(list)
        self.open = []  # lists: name, indent, base, last level, is it numbered
        self.title = ""
        self.pieces = []

    def read(self, element):
        readers = {_W + "p": self.paragraph, _W + "tbl": self.table}
        for child in element:
            readers.get(child.tag, self.read)(child)

    def paragraph(self, paragraph):
        runs, styles = self.runs(paragraph), self.chain(paragraph)
        names = "\n".join(_value([style], "w:name") or "" for style in styles)
        heading, outline = _HEADING_STYLE.search(names), _value(styles, "w:pPr/w:outlineLvl")
        level = int(outline) + 1 if outline else int(heading[1] or 1) if heading else 0
        words = [run for run in runs if run[1].strip()]
        number = self.number(styles, runs)
        is_code = _CODE_STYLE.search(names) or not number and all(mono for mono, _ in words)
        if not words:
            return
        text = "".join(text for _, text in runs)
        if not is_code and re.search(r"\S(?<!:)\t[^\t]*(?<!:)\t\s*\S", text):
            runs.append((False, missing("columns made by tabs")))
        if heading and not (heading[1] or self.title):
            self.title = settle(" ".join(text.split()))[0]
        if not number:
            self.open = []
        if 0 < level < 10:
            piece = Piece("heading", inline_runs(runs), level=level)
        elif is_code:
            lines = [self.pieces.pop().text for one in self.pieces[-1:] if one.kind == "code"]
            piece = Piece("code", "\n".join([*lines, text]))
        else:
            piece = Piece("item" if number else "prose", inline_runs(runs), **number)
        self.pieces.append(piece)

    # Texts, and whether they are monospaced
    def runs(self, paragraph) -> list[tuple[bool, str]]:
        runs, above = [], self.chain(paragraph)
        for run in _find(paragraph, _RUNS):
            if run.tag != _W + "r":
                runs.append(
                    (False, missing("formula or field or picture or white or capital words"))
                )
                continue
            styles = self.chain(run, "w:rPr/w:rStyle")
            font = _value(styles, "w:rPr/w:rFonts", "ascii") or ""
            if all(
                _value(styles + above, f"w:rPr/w:{one}") in _OFF
                for one in "vanish strike dstrike".split()
            ):
                text = "".join(
                    one.text or ""
                    if one.tag == _W + "t"
                    else _SIGNS.get(one.tag.removeprefix(_W), "")
                    for one in run
                )
                # how far a position moves text does not say whether it raises it
                moved = "{}" if _value(styles, "w:rPr/w:position") in _OFF else LOWERED
                text = missing("symbol") if _SYMBOLS.search(font) else text
                shift = SHIFTS.get((_value(styles, "w:rPr/w:vertAlign") or "")[:3], moved)
                text = shift.format(text) if text.strip() else text
                runs.append((bool(MONOSPACE.search(font)), text))
        return runs

    # An element and the styles that it inherits from
    def chain(self, element, path: str = "w:pPr/w:pStyle") -> list:
        chain, name = [element], _value([element], path)
        while name in self.styles and self.styles[name] not in chain:
            chain.append(self.styles[name])
            name = _value(chain[-1:], "w:basedOn")
        return chain

    # A list item's depth and, in a numbered list, its number as Word counts it (ECMA-376, 17.9)
    def number(self, styles: list, runs: list) -> dict:
        name = _value(styles, "w:pPr/w:numPr/w:numId") or ""
        depth = int(_value(styles, "w:pPr/w:numPr/w:ilvl") or 0)
        lists = _find(self.numbering, f"w:num[@w:numId='{name}']")
        if not lists:
            return {}
        kind = _value(lists, "w:abstractNumId")
        level = _find(
            self.numbering, f"w:abstractNum[@w:abstractNumId='{kind}']/w:lvl[@w:ilvl='{depth}']"
        )
        # by the indent of a list that stands in an item of another, its base: how much deeper it is
        left = int(_value(styles[:1] + level + styles, "w:pPr/w:ind[@w:left]", "left") or 0)
        numbered = _value(level, "w:numFmt") not in (None, "bullet", "none")
        names = [one for one, *_ in self.open]
        if name in names:
            del self.open[names.index(name) + 1 :]
            base = self.open.pop()[2]
        else:
            closed = []
            while self.open and self.open[-1][1] >= left:
                closed.append(self.open.pop())
            base = max(0, sum(self.open[-1][2:4]) + 1 - depth) if self.open else 0
            if any(one[2] == base and (one[1] > left or one[4] or numbered) for one in closed):
                self.pieces[-1].text += (unsure := missing("item whose level is unsure"))
                runs.append((False, unsure))
        runs += [
            (False, missing("number of its own"))
        ] * _find(  # counted or written in another way than here
            (level or lists)[0],
            f"""boolean(self::w:num or w:lvlRestart/@w:val=0 or w:numFmt[not(contains(
            ' bullet none decimal decimalZero ', concat(' ', @w:val, ' ')))]
            or w:numFmt/@w:val!='bullet' and w:lvlText/@w:val!=''
            and not(contains(w:lvlText/@w:val, '%')) or
            ../../w:num[@w:numId='{name}']/w:lvlOverride[@w:ilvl='{depth}']/w:lvl or
            string-length(translate(w:lvlText/@w:val, '%', '')) >
            string-length(translate(w:lvlText/@w:val, '0123456789', '')))""",
        )
        self.open.append((name, left, base, depth, numbered))
        counts = self.counts[kind]
        anew = _value(lists, f"w:lvlOverride[@w:ilvl='{depth}']/w:startOverride")
        if anew and depth not in self.counts[name, 0]:
            self.counts[name, 0].append(depth)
            del counts[depth:]
        number = count_item(counts, depth, int(anew or _value(level, "w:start") or 1))
        return {"depth": base + depth, "number": number if numbered else None}

    def table(self, element):
        if not _find(element, _DATA):
            return self.read(element)
        rows = []
        for line in _find(element, ".//w:tr[not(w:trPr/w:hidden)]"):
            row = [""] * int(_find(line, "sum(w:trPr/w:gridBefore/@w:val)"))
            for cell in line.iter(_W + "tc"):
                text = "<br>".join(filter(None, map(self.cell_line, cell.iter(_W + "p"))))
                if _find(cell, "w:tcPr/w:vMerge[not(@w:val='restart')]") and rows:
                    text = "".join(rows[-1][len(row) : len(row) + 1])
                row += [text] * int(_find(cell, "sum(w:tcPr/w:gridSpan/@w:val)") or 1)
            rows.append(row)
        unsure = missing("part of another table") * _find(element, _LABELLED)
        self.pieces.append(table_piece(rows, len(_find(element, _HEADS)), text=unsure))

    def cell_line(self, paragraph) -> str:
        runs, opened, self.open = self.runs(paragraph), self.open, []
        number = self.number(self.chain(paragraph), runs).get("number")
        self.open = opened
        return f"{number}. " * bool(number) + inline_runs(runs)


def _find(element, path):
    return element.xpath(path, namespaces=_NAMES)


# The first of the elements that has it decides
def _value(elements, path, attribute="val"):
    found = (element.find(path, _NAMES) for element in elements)
    return next((one.get(_W + attribute, "") for one in found if one is not None), None)
