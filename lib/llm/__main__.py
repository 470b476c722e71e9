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

from lib.core.files import write_text
from lib.core.paths import REPOSITORY, output_root, required, shown
from lib.llm.cache import Cache, CacheFailed, Entry
from lib.llm.request import Request
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
    """Add the replies of a file, all or none, for any endpoint; return how many are new.

    Raises ValueError naming the line that is not a reply.
    """
    entries = []
    for number, line in enumerate(file.read_bytes().splitlines(), 1):
        try:
            row = json.loads(line)
            key = Request.of_body(row["request"]).key(row["model"])
            read_response(row["raw"])
            entries.append(_ENTRY.validate_python(
                row | {"key": key, "request_key": key, "via": "import"}))
        except (ValueError, TypeError, KeyError) as error:
            raise ValueError(f"{shown(file)}, line {number}, is not an exported reply "
                             f"({type(error).__name__}): export it again; nothing was "
                             "imported") from error
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
    try:
        path = output_root() / "data" / options.study / "llm.sqlite"
        study = REPOSITORY / "studies" / f"{options.study.partition('/')[0]}.yaml"
        if options.action == "export":
            required(path, "a stage that calls a model")
        elif not (path.parent.is_dir() or study.is_file()):
            raise ValueError(f"there is no study {options.study!r}: check its name, or write "
                             f"{shown(study)} first")
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
