"""Apply an intervention to a folder of your own documents, to train on the result.

`python -m lib.run.intervene NAME FOLDER TARGET` writes the folder that `make study STUDY=documents
DOCUMENTS=TARGET` reads, so that you can try the advice from the laboratory on your own documents
and model. Text is written as lib.documents.folder reads it: UTF-8 without a byte-order mark, with
line feeds as line ends. A file that differs only in encoding or line ends counts as unchanged.
"""

import argparse
import sys
from pathlib import Path

from lib.core.files import write_text
from lib.documents.folder import TEXT, read_folder
from lib.normalize.interventions import INTERVENTIONS


def intervene(name: str, folder: Path, target: Path) -> tuple[int, int, list[str]]:
    """Write each document of `folder` with the intervention `name` to `target`, under its own path.

    What was converted to Markdown is written as that, with `.md` appended to its path.

    Returns how many were written, how many of them changed, and what was left out with its reason.
    Raises ValueError if the target is not empty, or is inside `folder` and would be read as input;
    also BadInput and OSError.
    """
    if target.resolve().is_relative_to(folder.resolve()):
        raise ValueError(f"{target} is inside {folder} and would be read with it: "
                         "name another folder")
    if target.exists() and any(target.iterdir()):
        raise ValueError(f"{target} already contains files: name a new folder, or empty it")
    reading = read_folder(folder)
    changed = 0
    for document in reading.documents:
        text = INTERVENTIONS[name](document)
        changed += text != document.text
        is_text = Path(document.path).suffix.lower() in TEXT
        write_text(target / (document.path if is_text else f"{document.path}.md"), text)
    left_out = [f"{row.item}: {row.reason}" for row in reading.rejected]
    return len(reading.documents), changed, left_out


def main(arguments: list[str] | None = None) -> int:
    """Write the folder; return 0, or 2 with a message on stderr."""
    summary = __doc__.split("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m lib.run.intervene", description=summary)
    parser.add_argument("name", choices=list(INTERVENTIONS))
    parser.add_argument("folder", type=Path, help="folder that `make study` can read")
    parser.add_argument("target", type=Path, help="a new folder")
    options = parser.parse_args(arguments)
    try:
        written, changed, left_out = intervene(options.name, options.folder, options.target)
    except (ValueError, OSError) as error:
        print(f"intervene: {error}", file=sys.stderr)
        return 2
    print(f"{options.target}: {written} documents, {changed} of them changed by {options.name}")
    print("\n".join(f"left out: {line}" for line in left_out))
    return 0


if __name__ == "__main__":
    sys.exit(main())
