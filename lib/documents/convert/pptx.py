"""Read PPTX: a section a visible slide, its shapes from top to bottom, its notes last."""

import io
from collections.abc import Iterator

from lib.documents.convert.markdown import Converted, Piece, inline, table, write_markdown
from lib.documents.convert.package import opened

_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_FURNITURE = ("DATE", "FOOTER", "SLIDE_NUMBER")


def read(raw: bytes) -> Converted:
    """Convert a PPTX file; pictures, dates, footers and slide numbers are left out.

    Raises BadInput.
    """
    from pptx import Presentation

    opened(raw, "ppt/presentation.xml", "PPTX")
    pieces = []
    for slide in Presentation(io.BytesIO(raw)).slides:
        if slide.element.get("show") == "0":
            continue
        title = slide.shapes.title
        of_slide = [Piece("heading", inline(title.text_frame.text))] if title is not None else []
        of_slide += _shapes(slide.shapes, title)
        if slide.has_notes_slide and (notes := slide.notes_slide.notes_text_frame) is not None:
            of_slide += _paragraphs(notes, False)
        pieces += [piece for piece in of_slide if piece.text.strip() or piece.rows]
    return write_markdown(pieces)


def _shapes(shapes, title=None) -> Iterator[Piece]:
    for shape in sorted(shapes, key=lambda one: ((one.top or 0) // 300_000, one.left or 0)):
        kind = shape.placeholder_format.type.name if shape.is_placeholder else ""
        if kind in _FURNITURE or title is not None and shape.shape_id == title.shape_id:
            continue
        if hasattr(shape, "shapes"):  # a group
            yield from _shapes(shape.shapes)
        elif getattr(shape, "has_table", False):
            yield table([[inline(cell.text) for cell in row.cells] for row in shape.table.rows])
        elif shape.has_text_frame:
            yield from _paragraphs(shape.text_frame, kind in ("BODY", "OBJECT"))


def _paragraphs(frame, bullets: bool) -> Iterator[Piece]:
    counts: dict[int, int] = {}
    for paragraph in frame.paragraphs:
        marks = {one.tag.removeprefix(_A) for one in paragraph._p.findall(f"{_A}pPr/*")}
        level, numbered = paragraph.level, "buAutoNum" in marks
        text = inline(paragraph.text)
        if "buNone" in marks or not (bullets or numbered or "buChar" in marks):
            counts.clear()
            yield Piece("prose", text)
        elif text:
            counts = {depth: n for depth, n in counts.items() if depth <= level}
            counts[level] = counts.get(level, 0) + 1
            yield Piece("item", text, depth=level, number=counts[level] if numbered else None)
