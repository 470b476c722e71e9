"""Convert a file by its extension, after a look at its first bytes (4.1)."""

from pathlib import Path

from lib.core.errors import BadInput
from lib.documents.convert import docx, epub, html, pdf, pptx, rst, xlsx
from lib.documents.convert.markdown import Converted

_READERS = {".html": html.read, ".htm": html.read, ".xhtml": html.read, ".docx": docx.read,
            ".pdf": pdf.read, ".xlsx": xlsx.read, ".pptx": pptx.read, ".epub": epub.read,
            ".rst": rst.read}
ENDINGS = tuple(_READERS)

_KINDS = {b"%PDF-": "a PDF", b"PK\x03\x04": "a ZIP package (DOCX, XLSX, PPTX, EPUB ...)",
          b"\xd0\xcf\x11\xe0": "an encrypted or older Office file"}
_EXPECTED = {".pdf": b"%PDF-", **dict.fromkeys((".docx", ".xlsx", ".pptx", ".epub"), b"PK\x03\x04")}


def converted(source: Path | bytes, ending: str) -> Converted:
    """Convert a file to Markdown; `ending` such as ".pdf" says how it is read.

    Nothing in it is executed and nothing that it names is fetched. A file from elsewhere belongs
    in `lib.documents.convert.worker`, which bounds its time and memory. Raises BadInput with the
    reason, among others if the first bytes belong to another kind of file.
    """
    raw = source if isinstance(source, bytes) else Path(source).read_bytes()
    ending = ending.lower()
    if not raw.strip():
        raise BadInput("empty")
    _refuse_another_kind(raw, ending)
    result = _READERS[ending](raw)
    if not result.markdown.strip():
        raise BadInput("no text in it")
    return result


def _refuse_another_kind(raw: bytes, ending: str) -> None:
    wanted = _EXPECTED.get(ending)
    if wanted and wanted in raw[:1024 if ending == ".pdf" else len(wanted)]:
        return
    found = next((kind for mark, kind in _KINDS.items() if raw.startswith(mark)), "")
    if found or wanted:
        raise BadInput(f"wrong ending: its content is {found or 'something else'}, not {ending}")
