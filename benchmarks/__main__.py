"""`make bench`, or `python -m benchmarks llm`: measure, and write to benchmarks/README.md."""

import argparse
from importlib import import_module

from lib.core.files import write_text
from lib.core.paths import REPOSITORY

README = REPOSITORY / "benchmarks" / "README.md"
PARTS = (
    "llm",
    "training",
    "inference",
    "study",
    "start_up",
    "documents",
    "structext",
    "filings",
    "statistics",
    "gpu",
)  # one module each, whose main() returns Markdown
HEAD = """# Measurements

Ratios hold within one run; the machine is shared and noisy. `make bench` writes each section again.
"""


def write_section(name: str, text: str) -> None:
    """Replace one section of README.md, between its markers."""
    old = README.read_text(encoding="utf-8") if README.is_file() else HEAD
    begin, end = (f"<!-- {name}: {what} -->\n" for what in ("written by make bench", "end"))
    before, _, rest = old.partition(begin)
    write_text(
        README, f"{before.rstrip()}\n\n{begin}{text.rstrip()}\n{end}{rest.partition(end)[2]}"
    )


def possible_here() -> list[str]:
    """Return all parts, without gpu, and a line that says so, if there is no GPU."""
    from torch.cuda import is_available  # takes seconds

    if not is_available():
        print("gpu is left out: no GPU is visible here", flush=True)
    return [name for name in PARTS if name != "gpu" or is_available()]


def main() -> None:
    """Measure the parts that the command names, or all."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument(
        "parts",
        nargs="*",
        metavar="PART",
        help=f"of {', '.join(PARTS)}; all if none, but gpu only where there is one",
    )
    options = parser.parse_args()
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"no part is called {sorted(unknown)[0]!r}: choose from {', '.join(PARTS)}")
    for name in options.parts or possible_here():
        text = import_module(f"benchmarks.{name}").main()
        write_section(name, text)
        print(text)


if __name__ == "__main__":
    main()
