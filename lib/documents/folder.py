"""A folder of files as documents, and the files that are left out with reasons (paper, 4.1).

Markdown and text are read as they are; PDF, DOCX, HTML and the like are converted to Markdown.
"""

import os
import re
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

import yaml

from lib.core.records import UNKNOWN, Document, Rejected, listed
from lib.core.store import BadInput, package_file, tell, write_text
from lib.documents import docx, html, office, pdf
from lib.documents.convert import Converted, Worker, doubt_of, settle
from lib.documents.markdown import CONTENT, Block, marked, parse, title_of

READERS = {
    ".html": html.read,
    ".htm": html.read,
    ".xhtml": html.read,
    ".docx": docx.read,
    ".pdf": pdf.read,
    ".xlsx": office.read_xlsx,
    ".csv": office.read_csv,
    ".tsv": office.read_csv,
    ".pptx": office.read_pptx,
    ".epub": html.read_epub,
}
TEXT = (".md", ".txt")
SUFFIXES = (*TEXT, *READERS)
MAX_DOCUMENT_BYTES = 5_000_000  # of text
MAX_FILE_BYTES = 50_000_000  # of a file that is converted to text
_NEWER = dict(
    pair.split(":")
    for pair in """.doc:.docx .rtf:.docx .odt:.docx .xls:.xlsx .ods:.xlsx .ppt:.pptx .odp:.pptx
    .rst:.html""".split()
)

# Rows of a table that may be none
_UNSURE_ROW = re.compile(
    r"""^(?:
    # below its header: without a number, its first cell empty or the same
    \A(?=.*[^\W_])(?:[ \t>]|(?:[-*+]|\d{1,9}[.)])[ \t])*+
        \|?+[ \t]*+((?:\\.|[^|\n \t\\])*+(?:[ \t]++(?!\|)(?:\\.|[^|\n \t\\])++)*+)[ \t]*+\|
        .*\n.*\n[ \t>]*+\|?+[ \t]*+(?:\1[ \t]*+)?\|
        (?!(?:.*\|)?[ \t]*+[-+]?[\d.,]*+(?<=[\d.,])(?:[eE][-+]?\d+)?\s?%?[ \t]*+(?:\||$))
    # the header again
    |\A[ \t>]*(\|(?=.*[^\W_]).*\|)[ \t]*\n(?:.*\n)+[ \t>]*\2[ \t]*$
    # a title over all columns
    |\A[ \t>]*\|[^|\n]*\w[^|\n]*\|(?:[ \t]*\|){2,}[ \t]*$
    # numbers below no header
    |\A[ \t>]*\|(?:\ \ \|)+\n.*\n[ \t>]*\|[^|\n]*[^\W\d_][^|\n]*\|(?:\ [\d.,]*\d\ \|){2,}$
    # one text, twice or more
    |(?:\A[\ >]*|(?<=\n)(?=[\ >]*+(?:\|[^|\n]*){3}\|)[\ >]*)\|\ (?=[^|\n]*[^\W\d_]{2})
        ([^|\n]*)\ \|(?:\ \ \|)*+\ \3\ \|(?:\ (?:\3)?\ \|)*+$
    )""",
    re.M | re.X,
)
# Lines that are a table to a reader but not to a parser
_DRAWN = re.compile(
    r"""^(?:
    [ \t>]*+\+?+(?:[-=:]{2,}+[ \t+]++)+(?:[-=:]{2,}+|(?<=\+))[ \t]*$  # a line under columns
    |.*[│┃║]
    |[ \t>]*(?:\{\||\|={3})  # of a wiki, of AsciiDoc
    |.*\|[ \t]*(?:\^\^|"|''|〃)[ \t]*\|  # a cell like the one above it
    |(?=.*(?:\ {3}|\t))(?:  # three words far apart, or two texts thrice
        [^|\n]*[\w)\]%](?:\ {3,}|\t+)[^\s|][^|\n]*[\w)\]%](?:\ {3,}|\t+)[^\s|]
        |(?:^[^|\n]{20,}?[\w,.]\ {3,}\w[^|\n]{20,}(?:\n|\Z)){3})
    # cells in two lines, without a line that ends a header
    |\A(?!(?:.*\n)+?[ \t>]*[|:-][-|\ :\t>]*$)
        (?:.*\n)*?(?:[^|\n`]*\|){2}.*\n(?:[^|\n`]*\|){2}
    )""",
    re.M | re.X,
)
# a line's indent, and the last digit of its number
_LINE = re.compile(r"^([ \t>]*+)(?:\d*(\d)[.)][ \t])?.*\S", re.M)

# Languages by frequent words that carry no topic, or by their script
_LANGUAGES = yaml.safe_load(package_file("documents/languages.yaml").read_text("utf-8"))
_NOT_WORDS = re.compile(r"`[^`\n]+`|<[^<>\n]+>|https?://\S+|\]\([^()\n]*\)")
_WORD = re.compile(r"(?<![\w./_-])[^\W\d_]+(?![\w/_])")
_SHARE = 0.36  # of running English that are its frequent words; of the others about as many
_FEW_WORDS = 30  # too few to judge by


@dataclass(frozen=True)
class Reading:
    """The files of a folder; `rejected` are also other types, hidden entries, links to folders.

    `tokens` are about how many tokens (4 bytes each) a document has in each kind of block, by id.
    """

    documents: list[Document] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    tokens: dict[str, Counter[str]] = field(default_factory=dict)


def read_folder(folder: Path) -> Reading:
    """Read every file below `folder` that has a known extension, in order of path.

    A document's id and path are the file's path relative to `folder`. Raises BadInput, listing
    what was found, if the folder is missing or no file in it is usable.
    """
    files, skipped = list_files(folder)
    reading, seen = Reading(), {}
    with Worker() as worker:
        for path in files:
            name, begin = _name(path, folder), time.monotonic()
            try:
                document, tokens = _document(_markdown(path, worker), name)
                if (twin := seen.setdefault(document.text, name)) != name:
                    raise BadInput(f"same content as {twin}")
                reading.documents.append(document)
                reading.tokens[name] = tokens
            except BadInput as error:
                reading.rejected.append(_rejected(name, str(error)))
            if (seconds := time.monotonic() - begin) > 10:
                tell(f"{name}: {seconds:.0f} s to read", file=sys.stderr)
    reading.rejected.extend(skipped)
    if not reading.documents:
        raise BadInput(
            f"no usable document in {folder}: {_summary(reading.rejected)}. "
            f"Put {listed(SUFFIXES, 'or')} files with text there"
        )
    return reading


def write_converted(folder: Path, reading: Reading) -> int:
    """Write each document that was not text to `folder`/<name>.md; replace `folder`."""
    shutil.rmtree(folder, ignore_errors=True)
    converted = [one for one in reading.documents if not one.path.lower().endswith(TEXT)]
    for document in converted:
        write_text(folder / f"{document.path}.md", document.text)
    return len(converted)


def list_files(
    folder: Path, endings: tuple[str, ...] = SUFFIXES
) -> tuple[list[Path], list[Rejected]]:
    """Return the files below `folder` with these `endings`, sorted, and all others with reasons.

    Raises BadInput if the folder is missing, is not a folder, or contains no such file.
    """
    kinds = listed(endings, "or")
    if not folder.is_dir():
        raise BadInput(f"{folder} is no folder: name one that contains {kinds} files")
    files, skipped = [], []
    for path in sorted(folder.rglob("*")):
        if any(one.startswith(".") for one in path.relative_to(folder).parts[:-1]):
            continue
        if reason := _reason_to_skip(path, folder, endings):
            skipped.append(_rejected(_name(path, folder), reason))
        elif not path.is_dir():
            files.append(path)
    if not files:
        raise BadInput(f"no {kinds} file in {folder}: {_summary(skipped)}. Put some there")
    return files, skipped


def read_bytes(path: Path, limit: float = MAX_DOCUMENT_BYTES) -> bytes:
    """Return the content of an ordinary file of at most `limit` bytes. Raises BadInput else."""
    if not path.is_file():
        raise BadInput("missing, or not an ordinary file")  # reading a pipe would hang
    _check_size(path.stat().st_size, limit)
    try:
        return path.read_bytes()
    except OSError as error:
        raise BadInput(f"cannot be read ({error.strerror})") from error


def _reason_to_skip(path, folder, endings):
    if path.name.startswith("."):
        return "hidden"
    if path.is_symlink() and not path.resolve().is_relative_to(folder.resolve()):
        return "a link that leaves the folder: put the file itself there"
    if path.is_dir():  # links to folders may form loops
        return "link to a folder" * path.is_symlink()
    suffix = path.suffix.lower()
    if path.name.lower().endswith(endings):
        is_read = suffix == ".pdf" and path.with_suffix(".md").is_file()
        return f"{path.stem}.md beside it is read" * is_read
    newer = _NEWER.get(suffix)
    return f"save it as {newer}" if newer in endings else f"not {listed(endings, 'or')}"


def _rejected(name, reason):
    return Rejected(document_id=name, rejected_text=name, reason=reason)


# bytes that are not UTF-8 become escapes
def _name(path, folder):
    return os.fsencode(path.relative_to(folder)).decode("utf-8", "backslashreplace")


def _summary(rows):
    parts = [f"{row.rejected_text}: {row.reason}" for row in rows[:5]] + ["…"] * (len(rows) > 5)
    return f"{len(rows)} found ({'; '.join(parts)})" if rows else "it is empty"


def _markdown(path, worker):
    ending = path.suffix.lower()
    if ending in TEXT:
        return Converted(re.sub("\r\n?", "\n", html.decode(read_bytes(path))), Counter())
    result = worker.convert(read_bytes(path, MAX_FILE_BYTES), READERS[ending])
    _check_size(len(result.markdown.encode()), MAX_DOCUMENT_BYTES, " of text")
    return result


def _check_size(n_bytes, limit, what=""):
    if n_bytes > limit:
        raise BadInput(
            f"{n_bytes / 1e6:.1f} MB{what}, over the limit of {limit / 1e6:.0f}: split it"
        )


def _document(result, name):
    text = result.markdown
    blocks, tokens = parse(text), Counter()
    lacking, doubted = result.lacking, [*result.doubted]
    for block in blocks:
        tokens[block.kind] += -(-len(block.text.strip().encode()) // 4)
    if not any(tokens[kind] for kind in CONTENT):
        kinds = ", ".join(filter(None, [*sorted(tokens), doubt_of(lacking)]))
        raise BadInput(f"no paragraph, list or table, only {kinds}" if kinds else "empty")
    for block in blocks:
        source = text[block.start : block.end] * (block.kind in CONTENT)
        checks = {
            "row that may be a header": _UNSURE_ROW.search(source),
            "table drawn in text": _DRAWN.search(source),
            "list whose numbers are out of order": _is_out_of_order(source),
            "cell beyond the header": any(len(row) > len(block.header) for row in block.rows),
        }
        found = [what for what, is_so in checks.items() if is_so]
        if name.lower().endswith(TEXT):
            found += settle(marked(source))[1]
        if found:
            lacking.update(found)
            doubted += [(block.start, block.end)]
    return Document(
        document_id=name,
        title=result.title  # a sheet's name is none
        or title_of(blocks) * (".xlsx" not in name.lower())
        or re.sub(r"[_\s]+", " ", Path(name).stem).strip(),
        path=name,
        text=text,
        language=language_of(blocks),
        doubt=doubt_of(lacking),
        doubted=doubted,
    ), tokens


# The next number of one depth has the same or the following last digit
def _is_out_of_order(source):
    digits = {}  # of the last number by its indent
    for indent, digit in _LINE.findall(source):
        digits = {one: last for one, last in digits.items() if indent.startswith(one)}
        if digit and int(digit) - int(digits.get(indent) or digit) not in (0, 1, -9):
            return True
        digits[indent] = digit
    return False


def language_of(blocks: Iterable[Block]) -> str:
    """Return the ISO 639-1 code of the language that most of the running text is in.

    Headings, labels, code, tables, addresses and tags do not count. Return "" if there is too
    little text to judge by. Return "und" for no language known here.
    """
    parts = [
        part.text
        for block in blocks
        for part in (block.items or [block])
        if block.kind in ("prose", "list") and len(part.text) >= 30  # less is a label or a cell
    ]
    text = _NOT_WORDS.sub(" ", "\n".join(parts))
    words = Counter(_WORD.findall(text.lower()))
    amounts = {
        language: len(re.findall(letters, text)) / n
        for language, (letters, n) in _LANGUAGES["scripts"].items()
    }
    n_words = max(words.total(), *amounts.values())
    for language, known in _LANGUAGES["words"].items():
        amounts[language] = sum(words[word] for word in known.split()) / _SHARE
    found = max(amounts, key=amounts.__getitem__)
    if n_words < _FEW_WORDS:
        return ""
    return found if amounts[found] >= n_words / 5 else UNKNOWN
