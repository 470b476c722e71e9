"""Keep what the text above a table says of it, while reading a filing forwards."""

import re
from dataclasses import dataclass

from lib.tasks.tablequest.filings.blocks import PageBlock
from lib.tasks.tablequest.grids.labels import FOOTNOTE
from lib.tasks.tablequest.grids.notes import is_only_note, unit_note_in

# "The following tables …" hold for their part, item or note; the others until the next item
_FOLLOWING = re.compile(r"\bfollowing tables\b", re.I)
_WIDE = re.compile(r"\bunless (?:otherwise|noted|stated|indicated)\b|\bthroughout\b|\btabular\b|"
                   r"\ball (?:\w+ )?(?:amounts|figures|dollars)\b", re.I)
_NOTES = re.compile(r"\bnotes to (?:the )?(?:\w+ ){0,3}financial statements\b", re.I)
_REMARK = re.compile(r"\(?(?:unaudited|audited|continued|restated|as adjusted)\)?", re.I)
_MOST_WORDS = 12  # of a line that may be a unit note without brackets


@dataclass
class Above:
    """The nearest text above the next table, and the unit notes that hold for it."""

    caption: str = ""
    _note: str = ""  # in or below the caption
    _following: tuple[str, str] = ("", "")  # text and note
    _wide: str = ""
    _is_below_notes: bool = False  # whether the title "Notes to … statements" is right above

    @property
    def introduction(self) -> tuple[str, str, str]:
        """Return a table's caption, the note with it, and the note for many tables; "" if none."""
        text, following = self._following
        is_taken = not self._note and following
        return (self.caption or (text if is_taken else ""), self._note, following or self._wide)

    def read(self, block: PageBlock) -> None:
        """Take in a heading or a paragraph."""
        if block.kind == "paragraph" and FOOTNOTE.match(block.text):
            return
        is_short = bool(block.level) or len(block.text.split()) <= _MOST_WORDS
        note = unit_note_in(block.text, anywhere=is_short)
        if not note and _REMARK.fullmatch(block.text):
            return  # "(unaudited)" between a statement's unit note and its table
        is_notes = is_short and bool(_NOTES.search(block.text))
        if block.level and block.level[0] < 3:
            self._following = ("", "")
            self._wide = "" if block.level[0] < 2 else self._wide
            self.caption, self._note = block.text, note
        elif note and is_only_note(block.text):
            self._note = note
        else:
            self.caption, self._note = block.text, note
        if note and _FOLLOWING.search(block.text):
            self._following = (block.text, note)
        elif note and (is_notes or self._is_below_notes or _WIDE.search(block.text)):
            self._wide = note
        self._is_below_notes = is_notes

    def pass_table(self) -> None:
        """Forget what introduces only the table that was just read."""
        self.caption = self._note = ""
