"""What a converter returns: Markdown, where each part of it was, and what cannot be trusted."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from lib.documents.convert.markdown import Piece, marked


class Refused(ValueError):
    """The reason why a file cannot be converted."""


@dataclass(frozen=True)
class Converted:
    """A file as Markdown. `positions` are (offset in `markdown`, "page 3"), where they change."""

    markdown: str
    positions: list[tuple[int, str]] = field(default_factory=list)
    doubt: str = ""  # why its structure cannot be trusted

    def shown(self) -> str:
        """Return the Markdown with a comment wherever the position in the source changes."""
        text, end = "", 0
        for at, where in self.positions:
            where = " ".join(re.sub(r"[<>]|-(?=-)", " ", where).split())  # it ends no comment
            text += f"{self.markdown[end:at]}<!-- {where} -->\n\n"
            end = at
        return text + self.markdown[end:]


def made(pieces: Iterable[Piece], doubt: str = "") -> Converted:
    """Write pieces as Markdown; a doubtful table among them is named in the doubt."""
    pieces = list(pieces)
    n_tables = sum(piece.kind == "doubtful" for piece in pieces)
    lost = f"{n_tables} table{'s' * (n_tables > 1)} whose cells are unsure" if n_tables else ""
    return Converted(*marked(pieces), "; ".join(filter(None, [doubt, lost])))
