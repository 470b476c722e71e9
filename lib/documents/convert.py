"""Files to Markdown: a child process with limits, ZIP packages, the Markdown writer (4.1)."""

import io
import os
import re
import resource
import signal
import sys
import unicodedata
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from itertools import groupby, zip_longest
from multiprocessing import get_context
from operator import itemgetter

from lib.core.records import listed
from lib.core.store import BadInput

# Limits of a conversion
MAX_SECONDS = 120  # for a file
MAX_MEMORY = 2_000_000_000  # bytes of address space
_REFUSED_EVENTS = re.compile(
    r"""(?x)(?:socket|subprocess|pty|ftplib|urllib|http|webbrowser)\.
    |os\.(?:system|exec|posix_spawn|fork|spawn)"""
)
# Limits of a ZIP package
MAX_UNPACKED = 300_000_000  # bytes; 100 MB of XML in memory as a tree is about 1 GB
MAX_RATIO = 300  # XML shrinks 5 to 40 times
_XML = re.compile(r"\.(?:xml|rels|opf|ncx|xhtml|html?)$", re.I)

# a backslash that would escape; inside a word an underscore marks nothing
_INLINE = re.compile(
    r"""(?x)\\(?=[!-/:-@\[-`{-~])|`|(?<!\s)\*|\*(?!\s)|(?<![^\W_])_|_(?![^\W_])
    |\[(?=.{0,999}\][(\[:])|<(?=[A-Za-z/!?])|&(?=\#?\w+;)"""
)
# what begins a heading, quote, list, table or code where a paragraph begins
_START = re.compile(
    r"^(?=#{1,6}(?:\s|$)|>|[-+*](?:\s|$)|[-=]+\s*$|~~~|:?-+:?\s*\|)|^(\d{1,9})(?=[.)](?:\s|$))"
)
MONOSPACE = re.compile(  # in the name of a font
    r"courier|consol|mono|menlo|typewriter|cmtt|inconsolata|fixed|code|terminal", re.I
)

# What converters put into a text: the name of what is missing there, raised and lowered text
RAISED, LOWERED = "\ufdd4{}\ufdd6", "\ufdd5{}\ufdd6"
SHIFTS = {"sup": RAISED, "sub": LOWERED}
_MARKS = re.compile(
    "(?: (?=\ufdd2[^\ufdd2\ufdd3]*\ufdd3(?!\\w)))?\ufdd2([^\ufdd2\ufdd3]*)\ufdd3"
    "| \ufdd6(?= )|[\ufdd2-\ufdd6\xad]"
)
_FRACTION = re.compile("\ufdd4(\\d+)\ufdd6[/⁄]\ufdd5(\\d+)\ufdd6")
_FRACTIONS = {unicodedata.normalize("NFKC", one): one for one in "½⅓⅔¼¾⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞"}
_SHIFTED = re.compile("([\ufdd4\ufdd5])([^\ufdd4-\ufdd6]*)\ufdd6(?=([^\\W_]?))")
_UP, _DOWN = (
    str.maketrans("0123456789+-−–", signs) for signs in ("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻⁻", "₀₁₂₃₄₅₆₇₈₉₊₋₋₋")
)
_POWER = re.compile(r"(?:(?<!\d)10|(?<![^\W\d_])[^\W\d_]{1,3}|\))\Z")  # 10, a unit or a bracket
# typed as such, or raised beside a lowered one, as the limits of a size are
_TYPED = re.compile("(?<=\\d)(?<!(?<!\\d)10)[⁰¹²³⁴-⁹]+|(?<=\\d)\ufdd6(?=\ufdd5[-−–+]?\\d)")
_NOTES = re.compile(r"\d+\s?[,–-]\s?\d")  # 1,2 or 3-5
AT_NUMBER = "\ufdd2mark at a number\ufdd3"
# Digits that only tags of a line or the start of a link part: a style that is not read may raise
# the latter ones. Bold digits alone do not.
PARTED = r"""(?ix:(?<=\d)(?=(?:</?(?:b|big|strong|u)\b(?![^<>]*\bstyle=)[^<>]*>)*+
    </?(?:a|abbr|acronym|bd[io]|cite|code|data|dfn|em|font|i|ins|kbd|label|mark|nobr|q|rt|samp
    |small|span|time|tt|var|(?:b|big|strong|u)(?=[^<>]*\bstyle=))\b[^<>]*>
    (?:</?(?:a|abbr|b|big|em|font|i|mark|rt|small|span|strong|u|var)\b[^<>]*>)*+[-−–+]?\d
    |[*_]{0,3}\[[*_^]{0,3}\d{1,9}[*_^]{0,3}\]|\*\d[^*\s]*\*\d
    |(?<!(?<!\d)10)\^\d{1,9}\^|(?<!(?<!\d)10)&(?:sup[123]|\#17[89]|\#185|\#xb[239]);))"""
_ERROR = re.compile(  # in any language
    r"\A(?:#¡?[^\W\d][\w/]*[!?]|#N(?:/?A|/D|V)|#GETTING_DATA)\Z"
)


@dataclass
class Piece:
    """A part of a document in reading order. `text` is inline Markdown, of code the raw lines."""

    kind: str  # heading, prose, item, table, code, doubtful (lines that may be a table)
    text: str = ""
    level: int = 1  # of a heading, 1-6
    depth: int = 0  # the number of list items around it
    number: int | None = None  # of an item in a numbered list
    rows: list[list[str]] = field(default_factory=list)  # of a table, the header first


@dataclass(frozen=True)
class Converted:
    """A file as Markdown."""

    markdown: str
    lacking: Counter[str]  # left out or not to be trusted
    doubted: Sequence[tuple[int, int]] = ()  # the pieces of `markdown` where it is
    title: str = ""  # as the file names itself


class Worker:
    """A child process that converts file after file, started again after a failure.

    A bad file can neither hang nor kill the stage: the child may not exceed its time and memory,
    write a file, start a program or reach a network.
    """

    def __enter__(self) -> "Worker":
        self.pool = ProcessPoolExecutor(1, get_context("spawn"), confine)  # starts when needed
        return self

    def __exit__(self, *_) -> None:
        self.pool.shutdown()

    def convert(self, raw: bytes, read: Callable[[bytes], Converted]) -> Converted:
        """Convert a file's content by `read` in the child. Raises BadInput, also at a limit."""
        try:
            return self.pool.submit(_within, raw, read, MAX_SECONDS).result()
        except BrokenProcessPool as error:
            self.__enter__()
            raise BadInput(
                f"its converter crashed, or took more than {MAX_SECONDS:.0f} s"
            ) from error


def _within(raw, read, seconds):
    if not raw.strip():
        raise BadInput("empty")
    signal.setitimer(signal.ITIMER_REAL, seconds)  # then the system ends the process
    try:
        result = read(raw)
    except BadInput:
        raise
    except RecursionError:
        raise BadInput("its elements are nested too deep") from None
    except Exception as error:  # a library may raise anything: the file is bad, not the stage
        raise BadInput(f"cannot be converted ({error!r:.200}): save it in another format") from None
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return result


def confine() -> None:
    """Limit this process for good: memory, files, programs, network."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)  # a library may print
    os.dup2(nowhere, 2)
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    sys.dont_write_bytecode = True
    sys.addaudithook(_refuse_event)


def _refuse_event(event, arguments):
    flags = arguments[2] if event == "open" and isinstance(arguments[2], int) else 0
    if flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT) or _REFUSED_EVENTS.match(event):
        raise PermissionError(f"a converter may not do this: {event}")


def open_package(raw: bytes, main: str, kind: str) -> zipfile.ZipFile:
    """Open a DOCX, XLSX, PPTX or EPUB file; its part `main` makes it a `kind`.

    Raises BadInput for bombs, encryption and entities. Reading a part never exceeds the size that
    it declares.
    """
    try:
        package = zipfile.ZipFile(io.BytesIO(raw))
    except zipfile.BadZipFile as error:
        raise BadInput(f"not a {kind} file, cut off, encrypted or older ({error})") from error
    parts = package.infolist()
    unpacked = sum(part.file_size for part in parts)
    if unpacked > min(MAX_UNPACKED, max(10_000_000, MAX_RATIO * len(raw))):
        raise BadInput(
            f"a ZIP bomb: {len(parts):,} parts, {unpacked / 1e6:,.0f} MB unpacked "
            f"from {len(raw) / 1e6:.2f} MB"
        )
    if main not in package.namelist():
        raise BadInput(f"not a {kind} file: it has no {main}")
    for name in filter(_XML.search, package.namelist()):
        if b"<!ENTITY" in read_part(package, name).replace(b"\0", b""):  # UTF-16 hides nothing
            raise BadInput(f"{name} declares entities, which are never resolved")
    return package


def read_part(package: zipfile.ZipFile, name: str) -> bytes:
    """Return the content of a part. Raises BadInput if it is missing, damaged or protected."""
    try:
        return package.read(name)
    except (KeyError, zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
        raise BadInput(f"damaged or protected: {name} cannot be unpacked ({error})") from error


def parse_xml(package: zipfile.ZipFile, name: str):
    """Return the root element of an XML part; entities stay unresolved, nothing is fetched."""
    from lxml import etree

    parser = etree.XMLParser(resolve_entities=False, remove_comments=True, remove_pis=True)
    try:
        return etree.fromstring(read_part(package, name), parser)
    except etree.XMLSyntaxError as error:
        raise BadInput(f"damaged: {name} is not XML ({error})") from error


def write_markdown(pieces: Iterable[Piece], title: str = "") -> Converted:
    """Write pieces as Markdown that parses back into them; count what they lack."""
    text, lacking = "", Counter()
    doubted, widths = [], []  # the latter of the markers of the open list items
    previous = Piece("prose")
    for piece in pieces:
        lacks = _settle(piece)
        del widths[piece.depth :]
        if piece.number and piece.depth > len(widths):  # as after a table between the items
            lacks.append("item whose level is unsure")
        lacking.update(lacks)
        first = " " * sum(widths)
        if piece.kind == "item":
            marker = "- " if piece.number is None else f"{piece.number}. "
            widths.append(len(marker))
            first += marker
        lines = _lines(piece)
        if not lines:
            continue
        is_next = piece.depth <= previous.depth or piece.number in (None, 1)  # else a blank line
        is_tight = previous.kind == "item" and (
            not previous.text or piece.kind == "item" and is_next
        )
        text += "\n" * (2 - is_tight) * bool(text)
        start = len(text)
        added = first + ("\n" + " " * len(first)).join(lines)
        text += re.sub(r"[ \t]+$", "", added, flags=re.M)
        doubted += [(start, len(text))] * bool(lacks)
        previous = piece
    return Converted(text and text + "\n", lacking, doubted, title)


def missing(what: str) -> str:
    """A mark for what a text lacks, to stand in its place: its block is not asked about."""
    return f"\ufdd2{what}\ufdd3"


def settle(text: str) -> tuple[str, list[str]]:
    """Return `text` with raised and lowered numbers that stay apart, and what it lacks."""
    text = _TYPED.sub(rf"\g<0>{AT_NUMBER}", text)
    text = _SHIFTED.sub(_shifted, _FRACTION.sub(_fraction, text))
    return _MARKS.sub("", text), [*filter(None, _MARKS.findall(text))]


def _settle(piece):
    piece.text, lacks = settle(piece.text)
    lacks += ["table whose cells are unsure"] * (piece.kind == "doubtful")
    for row in piece.rows:
        for at, cell in enumerate(row):
            row[at], found = settle(_ERROR.sub(missing("cell with an error"), cell))
            lacks += found
    return lacks


def _fraction(match):
    over, under = match.groups()
    plain = f"{over}⁄{under}"
    return _FRACTIONS.get(plain) or f"{over.translate(_UP)}⁄{under.translate(_DOWN)}"


# A raised number is a power after 10, a unit or with a sign, a mass before a letter, else the mark
# of a note
def _shifted(match):
    way, text, following = match.groups()
    before = match.string[max(match.start() - 8, 0) : match.start()]
    is_at_number = before[-1:].isdigit()
    if way == LOWERED[0]:
        return AT_NUMBER * (is_at_number or following.isdigit()) + text
    if re.fullmatch(r"[-−–+]?\d+", text):
        is_power = not text.isdigit() or text != "1" and _POWER.search(before)
        if is_power or len(text) > 1 and (is_at_number or following.isalpha()):
            return text.translate(_UP) + AT_NUMBER * (not is_power)
    elif re.fullmatch("st|nd|rd|th|er|[o°º]", text):
        return text
    elif not is_at_number and not _NOTES.match(text):
        # one letter is a mark or an exponent, signs make a formula
        return text + missing("raised letter") * bool(
            re.search(r"^[^\W\d_]$|^\w\w? *[+*/=−-]", text)
        )
    is_unsure = is_at_number or not text.isdigit() and bool(_POWER.search(before))
    note = re.sub(r"\W", "", text)
    return f"[^{note}]" * bool(note) + AT_NUMBER * is_unsure


def doubt_of(lacking: Counter[str]) -> str:
    """Say how often each thing is missing: "2 × formula and 1 × picture"."""
    return listed([f"{count} × {what}" for what, count in lacking.items()])


def escape(text: str) -> str:
    """Escape plain text where a Markdown parser would see markup; runs of blanks become one."""
    return _INLINE.sub(r"\\\g<0>", re.sub(r"\s+", " ", text))


def code_span(text: str) -> str:
    """Return `text` as a code span, with as many backticks as it needs."""
    text = " ".join(text.split())
    ticks = max(re.findall("`+", text), key=len, default="") + "`"
    pad = " " * ("`" in text)
    return f"{ticks}{pad}{text}{pad}{ticks}" if text else ""


def inline_runs(runs: Iterable[tuple[bool, str]]) -> str:
    """Return runs of (is monospaced, text) as inline Markdown, the monospaced ones as code."""
    joined = ""
    for is_mono, group in groupby(runs, key=itemgetter(0)):
        text = "".join(part for _, part in group)
        if is_mono:
            joined += re.sub(r"\S(?:.*\S)?", lambda code: code_span(code[0]), text, flags=re.S)
        else:
            joined += "\n".join(map(escape, text.split("\n")))
    return joined.strip()


def count_item(counts: list[int], depth: int, start: int = 1) -> int:
    """Return the next number at `depth`, where `counts` are the last ones by depth."""
    del counts[depth + 1 :]
    counts += [start - 1] * (depth + 1 - len(counts))
    counts[depth] += 1
    return counts[depth]


def table_piece(rows: Iterable[Sequence[str]], n_heads: int = 1, **fields) -> Piece:
    """Return a table whose first `n_heads` rows become one header row, of empty cells if 0."""
    rows = [[*row] for row in zip(*zip_longest(*rows, fillvalue=""), strict=True)]
    head = [
        " ".join(dict.fromkeys(filter(None, column))).replace("<br>", " ")
        for column in zip(*rows[:n_heads], strict=True)
    ]
    return Piece("table", rows=[head or [""] * len(rows[0]), *rows[n_heads:]], **fields)


def _lines(piece):
    if piece.kind == "table":
        cells = [[" ".join(cell.replace("|", r"\|").split()) for cell in row] for row in piece.rows]
        head, *body = [f"| {' | '.join(row)} |" for row in cells]
        return [head, "|" + "---|" * len(cells[0]), *body]
    if piece.kind in ("code", "doubtful"):
        body = piece.text.strip("\n").expandtabs(4).split("\n")
        fence = max(re.findall("`{3,}", piece.text), key=len, default="``") + "`"
        return [fence + "text" * (piece.kind == "doubtful"), *body, fence]
    lines = [line for line in map(str.strip, piece.text.split("\n")) if line]
    if piece.kind == "heading":
        words = re.sub(r"(^|\s)(#+)$", r"\1\\\2", " ".join(lines))  # would close the heading
        return ["#" * min(piece.level, 6) + " " + words] if words else []
    return [_START.sub(r"\1\\", line) for line in lines] or [""] * (piece.kind == "item")
