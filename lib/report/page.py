"""Write figures/<study>/report.html: one page that opens without a network, texts escaped."""

import base64
import hashlib
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup

from lib.core.files import write_text
from lib.core.pages import page
from lib.core.paths import package_file
from lib.report.answers import answer
from lib.report.asked import asked, rejected
from lib.report.kinds import KINDS
from lib.report.pictures import pictured
from lib.report.sources import Source, Table, alternatives, first_table, prose, section

MOST_PICTURE_BYTES = 3_000_000  # of all figures as text; the others are linked


@dataclass(frozen=True)
class Shown:
    """A table or a figure with the link to the executed notebook that made it."""

    name: str
    link: str
    maker: str
    table: Table | None = None
    picture: str = ""  # data URI
    file: str = ""  # link to a picture that is too large for the page
    alternative: str = ""
    csv: str = ""  # link to its numbers


class Exhibits:
    """Find tables and figures of a study by name, each shown once, until the page is full."""

    def __init__(self, source: Source, stages: dict[str, dict], words: dict[str, str]) -> None:
        self.source, self.words, self.bytes = source, words, 0
        self.makers = source.makers({name: row["notebook"] for name, row in stages.items()})
        self.seen: set[tuple[str, str]] = set()

    def table(self, name: str) -> list[Shown]:
        """Return the table `name` in a list, [] if there is none or it was shown before."""
        table = self.source.table(name)
        if not table or ("table", name) in self.seen:
            return []
        self.seen.add(("table", name))
        return [self._shown(name, table=table)]

    def figure(self, name: str, about: str = "") -> list[Shown]:
        """Return the figure `name` in a list, [] if there is none or it was shown before."""
        picture = self.source.picture(name)
        if not picture or ("figure", name) in self.seen:
            return []
        self.seen.add(("figure", name))
        rows = self.source.csv(name)
        plotted = f", of {', '.join(rows[0])} in {len(rows)} rows" if rows else ""
        words = self.words.get(name) or pictured(name) or (
            f"{name.replace('_', ' ')}, a figure of the study {self.source.study}{plotted}")
        words = f"{words} {about}".strip()
        if self.bytes + len(picture) > MOST_PICTURE_BYTES:
            return [self._shown(name, file=f"{name}.png", alternative=words)]
        self.bytes += len(picture)
        return [self._shown(name, picture=picture, alternative=words)]

    def rest(self) -> list[Shown]:
        """Return all tables and figures that were not shown before."""
        names = sorted(path.stem for path in self.source.figures.glob("*.md")
                       if not path.name.startswith("."))
        drawn = sorted(path.stem for path in self.source.figures.glob("*.png"))
        return [one for name in names for one in self.table(name)] + [
            one for name in drawn for one in self.figure(name)]

    def _shown(self, name: str, **more: object) -> Shown:
        maker = self.makers.get(name, "")
        return Shown(name, self.source.copy_of(maker) if maker else "", maker,
                     csv=self.source.link(self.source.figures / f"{name}.csv"), **more)


def write_report(study: str, kind: str, judge: str = "rules") -> Path:
    """Write the report of a finished study and return its path.

    `kind` is a key of lib.report.kinds.KINDS. What the study has not written is left out. Raises
    OSError if the page cannot be written.
    """
    source, of_kind = Source(study), KINDS[kind]
    run, stages = source.run(), source.stages()
    advice = source.text("advice.md")
    exhibits = Exhibits(source, stages, alternatives(advice))
    sentences = answer(source, kind)
    main = next((shown for name in of_kind.figures
                 if (shown := exhibits.figure(name, " ".join(sentences)))), [])
    main = main + exhibits.table(of_kind.table)
    first = section(advice, "What to do first")
    advised = [*exhibits.figure("advice")] if first else []
    if first and (table := first_table(first)):
        advised.append(Shown("advice", source.copy_of("06_advice"), "06_advice", table=table))
    script = package_file("report/search.js.j2").read_text(encoding="utf-8")
    return write_text(source.figures / "report.html", page(
        package_file("report/report.html.j2"), study=study, question=of_kind.question,
        sentences=sentences, main=main, advice=prose(first), advised=advised,
        advice_page=source.link(source.figures / "advice.html") if first else "",
        limits=of_kind.limits,
        trust=[one for name in of_kind.trust for one in exhibits.table(name)],
        rest=exhibits.rest(), texts=[prose(source.text(name)) for name in of_kind.texts],
        asked=asked(source, judge), rejected=rejected(source), run=run,
        stages=[(name, source.copy_of(name), row) for name, row in stages.items()],
        record=source.link(source.data / "run.json"), script=Markup(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()))
