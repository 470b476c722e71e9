"""Export or import a study's cache: `python -m lib.llm export STUDY FILE`, `import STUDY FILE`.

With an imported cache, every stage of the study can be re-run without a key. The file is JSON lines
with prompts and replies, but neither the key nor the address of the endpoint.
"""

import argparse
import json
import sys
from contextlib import closing
from pathlib import Path

from pydantic import Field, ValidationError

from lib.core.files import write_text
from lib.core.paths import data_path, required, shown
from lib.core.records import Record
from lib.llm.cache import Cache, CacheFailed, Entry
from lib.llm.request import Request
from lib.llm.response import Unreadable, read_response


class _Line(Record):
    """One exported reply: an Entry without the keys, which follow from the request."""

    model: str
    request: str
    raw: str
    prompt_tokens: int | None = Field(ge=0)
    completion_tokens: int | None = Field(ge=0)
    finish_reason: str
    seconds: float
    asked_at: str
    request_id: str


def export_to(cache: Cache, file: Path) -> int:
    """Write every reply as a JSON line, all or none; return the number of lines."""
    rows = [{name: value for name, value in vars(entry).items() if name in _Line.model_fields}
            for entry in cache.entries()]
    write_text(file, "".join(json.dumps(row, ensure_ascii=True) + "\n" for row in rows))
    return len(rows)


def import_from(cache: Cache, file: Path) -> int:
    """Add the replies of a file, all or none, for any endpoint; return how many are new.

    Raises ValueError naming the line that is not a reply.
    """
    entries = []
    with open(file, encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            try:
                row = _Line.model_validate_json(line)
                key = Request.of_body(row.request).key(row.model)
                read_response(row.raw)
            except (ValidationError, ValueError, TypeError, KeyError, Unreadable) as error:
                raise ValueError(f"{shown(file)}, line {number}, is not an exported reply "
                                 f"({type(error).__name__}): export it again; nothing was "
                                 "imported") from error
            entries.append(Entry(key=key, request_key=key, via="import", **row.model_dump()))
    return cache.put_all(entries)


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return 0 if the file was written or read, else 2."""
    parser = argparse.ArgumentParser(prog="python -m lib.llm", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["export", "import"])
    parser.add_argument("study", help="its cache is data/STUDY/llm.sqlite")
    parser.add_argument("file", type=Path, help="JSON lines")
    options = parser.parse_args(arguments)
    try:
        path = data_path(options.study, "llm.sqlite")
        if options.action == "export":
            required(path, "a stage that calls a model")
        with closing(Cache(path)) as cache:
            if options.action == "export":
                print(f"{shown(options.file)}: {export_to(cache, options.file)} replies")
            else:
                n = import_from(cache, options.file)
                print(f"{shown(path)}: {n} replies were new")
    except (OSError, ValueError, CacheFailed) as error:
        print(f"python -m lib.llm: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
