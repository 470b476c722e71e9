"""Export or import a study's cache: `python -m lib.llm export STUDY FILE`, `import STUDY FILE`.

With an imported cache, every stage of the study can be re-run without a key. The file is JSON lines
with prompts and replies, but neither the key nor the address of the endpoint.
"""

import argparse
import json
import sys
from contextlib import closing
from dataclasses import fields
from pathlib import Path

from pydantic import TypeAdapter

from lib.core.errors import BadInput, Stopped
from lib.core.files import write_text
from lib.core.paths import output_root, required, shown
from lib.llm.cache import Cache, Entry
from lib.llm.request import key_of
from lib.llm.response import UNREADABLE, read_response

_FIELDS = [field.name for field in fields(Entry) if field.name not in ("key", "request_key", "via")]
_ENTRY = TypeAdapter(Entry)


def export_to(cache: Cache, file: Path) -> int:
    """Write every reply that can be read as a JSON line, all or none; return how many."""
    lines = [json.dumps({name: getattr(entry, name) for name in _FIELDS})
             for entry in cache.entries() if entry.finish_reason != UNREADABLE.finish_reason]
    write_text(file, "".join(f"{line}\n" for line in lines))
    return len(lines)


def import_from(cache: Cache, file: Path) -> int:
    """Add the replies of a file, all or none, for any endpoint; return how many are new."""
    entries = []
    for number, line in enumerate(file.read_bytes().splitlines(), 1):
        try:
            row = json.loads(line)
            read_response(row["raw"])
            key = key_of(row["request"], row["model"])
            entries.append(_ENTRY.validate_python(
                row | {"key": key, "request_key": key, "via": "import"}))
        except (ValueError, TypeError, KeyError) as error:
            raise BadInput(f"{shown(file)}, line {number}, is not an exported reply "
                           f"({type(error).__name__}): export it again; nothing was imported"
                           ) from error
    with cache.transaction():
        return cache.put(entries)


def main(arguments: list[str] | None = None) -> int:
    """Run the command; return 0 if the file was written or read, else 2."""
    parser = argparse.ArgumentParser(prog="python -m lib.llm", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["export", "import"])
    parser.add_argument("study", help="its cache is data/STUDY/llm.sqlite")
    parser.add_argument("file", type=Path, help="JSON lines")
    options = parser.parse_args(arguments)
    path = output_root() / "data" / options.study / "llm.sqlite"
    try:
        if options.action == "export":
            required(path, "a stage that calls a model")
        with closing(Cache(path)) as cache:
            if options.action == "export":
                print(f"{shown(options.file)}: {export_to(cache, options.file)} replies")
            else:
                print(f"{shown(path)}: {import_from(cache, options.file)} replies were new")
    except (OSError, BadInput, Stopped) as error:
        print(f"python -m lib.llm: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
