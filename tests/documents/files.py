"""Files made for tests: a PDF by hand, ZIP packages from their parts."""

import io
import zipfile

FONTS = ("Helvetica", "Helvetica-Bold", "Courier")
W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
DOCX = {
    "[Content_Types].xml": '<Types xmlns="http://schemas.openxmlformats.org/package/2006/'
    'content-types"><Default Extension="rels" ContentType="application/vnd.openxmlformats-package.'
    'relationships+xml"/><Default Extension="xml" ContentType="application/xml"/><Override '
    'PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.'
    'wordprocessingml.document.main+xml"/></Types>',
    "_rels/.rels": '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/'
    'relationships"><Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/'
    '2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>',
}


def zipped(**parts: str | bytes) -> bytes:
    """Return a ZIP package of `parts`."""
    with io.BytesIO() as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as package:
            for name, content in parts.items():
                package.writestr(name, content)
        return file.getvalue()


def docx(body: str, head: str = "", **parts: str | bytes) -> bytes:
    """Return a DOCX file with `body` as the XML inside w:body."""
    document = (
        f'<?xml version="1.0"?>{head}<w:document xmlns:w="{W}"><w:body>{body}</w:body></w:document>'
    )
    return zipped(**DOCX, **{"word/document.xml": document}, **parts)


def paragraph(text: str, properties: str = "", run: str = "") -> str:
    return (
        f"<w:p><w:pPr>{properties}</w:pPr><w:r><w:rPr>{run}</w:rPr>"
        f'<w:t xml:space="preserve">{text}</w:t></w:r></w:p>'
    )


def pdf(*pages: list[tuple], trailer: str = "") -> bytes:
    """Return a PDF; a page lists (x, y from the top, size, font 0-2, text) and (x0, y0, x1, y1)."""
    objects = ["<</Type/Catalog/Pages 2 0 R>>", ""]
    fonts = "".join(
        f"/F{at}<</Type/Font/Subtype/Type1/BaseFont/{name}>>" for at, name in enumerate(FONTS)
    )
    numbers = []
    for page in pages:
        drawn = []
        for mark in page:
            if len(mark) == 5:
                x, y, size, font, text = mark
                text = text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")
                drawn.append(f"BT /F{font} {size} Tf {x} {800 - y} Td ({text}) Tj ET")
            else:
                x0, y0, x1, y1 = mark
                drawn.append(f"{x0} {800 - y0} m {x1} {800 - y1} l S")
        stream = "\n".join(drawn)
        numbers.append(len(objects) + 1)
        objects += [
            f"<</Type/Page/Parent 2 0 R/MediaBox[0 0 600 800]/Contents {len(objects) + 2} "
            f"0 R/Resources<</Font<<{fonts}>>>>>>",
            f"<</Length {len(stream)}>>stream\n{stream}\nendstream",
        ]
    kids = " ".join(f"{number} 0 R" for number in numbers)
    objects[1] = f"<</Type/Pages/Kids[{kids}]/Count {len(pages)}>>"
    made, offsets = "%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        offsets.append(len(made))
        made += f"{number} 0 obj\n{content}\nendobj\n"
    table = "".join(f"{offset:010d} 00000 n \n" for offset in offsets)
    made += (
        f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}trailer<</Size "
        f"{len(objects) + 1}/Root 1 0 R{trailer}>>\nstartxref\n{len(made)}\n%%EOF"
    )
    return made.encode("latin-1")


def prose(top: float, *lines: str, x: float = 60, size: float = 10) -> list[tuple]:
    """Return lines of running text for `pdf`, one below the other."""
    return [(x, top + 1.3 * size * at, size, 0, line) for at, line in enumerate(lines)]
