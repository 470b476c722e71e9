"""Export or import a study's cache: `python -m lib.llm export STUDY FILE`, `import STUDY FILE`."""

import argparse
import json
from contextlib import closing
from pathlib import Path

from pydantic import TypeAdapter

from lib.core.store import (
    REPOSITORY,
    BadInput,
    Stopped,
    data_path,
    output_root,
    read_lines,
    require_path,
    shown,
    write_text,
)
from lib.llm.cache import Cache, Entry
from lib.llm.request import Reply, key_of
from lib.llm.wire import read_wire

_ENTRY = TypeAdapter(Entry)


def export_to(cache: Cache, file: Path) -> int:
    """Write every reply that can be read as a JSON line; return how many."""
    lines = [
        json.dumps(
            {
                name: value
                for name, value in vars(entry).items()
                if name not in ("key", "request_key", "via")
            }
        )
        for entry in cache.entries()
        if isinstance(read_wire(200, {}, entry.raw), Reply)
    ]
    write_text(file, "".join(f"{line}\n" for line in lines))
    return len(lines)


def import_from(cache: Cache, file: Path) -> int:
    """Add the replies of a file, all or none, for any endpoint; return how many are new."""
    entries = []
    for number, line in enumerate(read_lines(file), 1):
        try:
            row = json.loads(line)
            if not isinstance(read_wire(200, {}, row["raw"]), Reply):
                raise ValueError("no completion")
            key = key_of(row["request"], row["model"])
            entries.append(
                _ENTRY.validate_python(row | {"key": key, "request_key": key, "via": "import"})
            )
        except (ValueError, TypeError, KeyError) as error:
            raise BadInput(
                f"{shown(file)}, line {number}, is not an exported reply "
                f"({type(error).__name__}): export it again; nothing was imported"
            ) from error
    with cache.transaction():
        return cache.put(entries)


def main(arguments: list[str] | None = None) -> None:
    """Run the command; exit with 2 if a file cannot be read or written."""
    parser = argparse.ArgumentParser(prog="python -m lib.llm", description=__doc__)
    parser.add_argument("action", choices=["export", "import"])
    parser.add_argument("study", help="its cache is data/STUDY/llm.sqlite")
    parser.add_argument("file", type=Path, help="JSON lines")
    options = parser.parse_args(arguments)
    name, folder = options.study, output_root() / "data" / options.study
    if not folder.is_dir() and not (REPOSITORY / "studies" / f"{name}.yaml").exists():
        parser.error(
            f"{name!r} is no study: there is neither studies/{name}.yaml nor the folder "
            f"{shown(folder)}; check the name, or make the folder of a replicate"
        )
    path, move = data_path(name, "llm.sqlite"), import_from
    try:
        if options.action == "export":
            require_path(path, "a stage that calls a model")
            move = export_to
        with closing(Cache(path)) as cache:
            print(f"{shown(options.file)}: {move(cache, options.file)} replies {options.action}ed")
    except (OSError, BadInput, Stopped) as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
