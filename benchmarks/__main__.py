"""`make bench`, or `python -m benchmarks llm`: measure, and write to benchmarks/README.md."""

import argparse
import os
import subprocess
import sys

from lib.core.store import REPOSITORY, write_text
from lib.run.notebook import ENVIRONMENT

README = REPOSITORY / "benchmarks" / "README.md"
PARTS = (
    "llm",
    "training",
    "inference",
    "study",
    "documents",
    "patterns",
)  # main() of each returns Markdown


def write_section(name: str, text: str) -> None:
    """Replace one section of README.md, between its markers."""
    old = README.read_text(encoding="utf-8")
    begin, end = (f"<!-- {name}: {what} -->\n" for what in ("written by make bench", "end"))
    before, _, rest = old.partition(begin)
    write_text(
        README, f"{before.rstrip()}\n\n{begin}{text.rstrip()}\n{end}{rest.partition(end)[2]}"
    )


def main() -> None:
    """Measure the parts that the command names, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", help=", ".join(PARTS))
    options = parser.parse_args()
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"no part is called {sorted(unknown)[0]!r}: choose from {', '.join(PARTS)}")
    for name in options.parts or PARTS:
        code = f"from benchmarks import {name}; print({name}.main())"
        environment = ENVIRONMENT | os.environ  # as notebooks have it
        text = subprocess.check_output([sys.executable, "-c", code], env=environment, text=True)
        write_section(name, text)
        print(text)


if __name__ == "__main__":
    main()
