"""Read PPTX: a section a visible slide, its shapes from top to bottom, bullets as lists."""

import io
from collections.abc import Iterator

from lib.documents.convert.markdown import Converted, Piece, inline, made
from lib.documents.convert.package import opened, refuse_entities

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"


def read(raw: bytes) -> Converted:
    """Convert a PPTX file; notes, pictures, footers and numbers of slides are left out.

    Raises BadInput.
    """
    from pptx import Presentation

    refuse_entities(opened(raw, "ppt/presentation.xml", "PPTX"))
    pieces = []
    for number, slide in enumerate(Presentation(io.BytesIO(raw)).slides, 1):
        if slide.element.get("show") == "0":
            continue
        title = slide.shapes.title
        shapes = [one for one in slide.shapes if title is None or one.shape_id != title.shape_id]
        made_of = [Piece("heading", inline(title.text_frame.text))] if title is not None else []
        made_of += [piece for shape in _in_order(shapes) for piece in _shape(shape)]
        for piece in made_of:
            piece.position = f"slide {number}"
        pieces += [piece for piece in made_of if piece.text or piece.rows]
    return made(pieces)


def _in_order(shapes) -> list:
    return sorted(shapes, key=lambda one: ((one.top or 0) // 300_000, one.left or 0))


def _shape(shape) -> Iterator[Piece]:
    from pptx.enum.shapes import MSO_SHAPE_TYPE, PP_PLACEHOLDER

    kind = shape.placeholder_format.type if shape.is_placeholder else None
    if kind in (PP_PLACEHOLDER.DATE, PP_PLACEHOLDER.FOOTER, PP_PLACEHOLDER.SLIDE_NUMBER):
        return
    if shape.shape_type == MSO_SHAPE_TYPE.GROUP:
        for inner in _in_order(shape.shapes):
            yield from _shape(inner)
    elif getattr(shape, "has_table", False) and shape.has_table:
        yield Piece("table", rows=_rows(shape.table))
    elif shape.has_text_frame:
        bullets = kind in (PP_PLACEHOLDER.BODY, PP_PLACEHOLDER.OBJECT)
        yield from _paragraphs(shape.text_frame, bullets)


# a merged cell's text is in each place that it covers
def _rows(table) -> list[list[str]]:
    rows = [[inline(cell.text) for cell in row.cells] for row in table.rows]
    for at, row in enumerate(table.rows):
        for column, cell in enumerate(row.cells):
            if cell.is_merge_origin:
                for down in range(cell.span_height):
                    for right in range(cell.span_width):
                        rows[at + down][column + right] = rows[at][column]
    return rows


def _paragraphs(frame, bullets: bool) -> Iterator[Piece]:
    counts: dict[int, int] = {}
    for paragraph in frame.paragraphs:
        text, properties = inline(paragraph.text), paragraph._p.find(_A + "pPr")
        marks = {one.tag for one in properties} if properties is not None else set()
        numbered = _A + "buAutoNum" in marks
        if not text:
            continue
        if _A + "buNone" in marks or not (bullets or numbered or _A + "buChar" in marks):
            counts.clear()
            yield Piece("prose", text)
            continue
        counts = {level: n for level, n in counts.items() if level <= paragraph.level}
        counts[paragraph.level] = counts.get(paragraph.level, 0) + 1
        number = counts[paragraph.level] if numbered else None
        yield Piece("item", text, depth=paragraph.level, number=number)
