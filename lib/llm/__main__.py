"""Export or import a study's cache: `python -m lib.llm export STUDY FILE`, `import STUDY FILE`."""

import argparse
import json
from contextlib import closing
from pathlib import Path

from lib.core.store import (
    REPOSITORY,
    BadInput,
    Stopped,
    data_path,
    printable,
    read_lines,
    require_path,
    shown,
    tell,
    write_text,
)
from lib.llm.cache import Cache
from lib.llm.request import Reply, key_of
from lib.llm.wire import read_wire

_COLUMNS = ("model", "request", "raw", "asked_at")


def export_to(cache: Cache, file: Path) -> int:
    """Write every reply as a JSON line; return how many."""
    rows = [json.dumps(dict(zip(_COLUMNS, row, strict=True))) for row in cache.exported()]
    write_text(file, "".join(f"{row}\n" for row in rows))
    return len(rows)


def import_from(cache: Cache, file: Path) -> int:
    """Add the replies of a file, all or none, for any endpoint; return how many it has."""
    rows = []
    for number, line in enumerate(read_lines(file), 1):
        try:
            model, request, raw, asked_at = (json.loads(line)[column] for column in _COLUMNS)
            key = key_of(request, model)
            if not isinstance(read_wire(200, {}, raw), Reply):
                raise ValueError("no completion")
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise BadInput(
                f"{shown(file)}, line {number}, is not an exported reply "
                f"({type(error).__name__}): export it again; nothing was imported"
            ) from error
        rows.append((key, key, model, request, raw, asked_at))
    cache.put(rows)
    return len(rows)


def main(arguments: list[str] | None = None) -> None:
    """Run the command; exit with 2 if a file cannot be read or written."""
    parser = argparse.ArgumentParser(prog="python -m lib.llm", description=__doc__)
    parser.add_argument("action", choices=["export", "import"])
    parser.add_argument("study", help="its cache is data/STUDY/llm.sqlite")
    parser.add_argument("file", type=Path, help="JSON lines")
    options = parser.parse_args(arguments)
    name, folder = options.study, data_path(options.study)
    path = folder / "llm.sqlite"
    if not folder.is_dir() and not (REPOSITORY / "studies" / f"{name}.yaml").exists():
        parser.error(
            f"{name!r} is no study: there is neither studies/{name}.yaml nor the folder "
            f"{shown(folder)}; check the name, or make the folder of a replicate"
        )
    try:
        if is_export := options.action == "export":
            require_path(path, "a stage that calls a model")
        with closing(Cache(path)) as cache:
            n = (export_to if is_export else import_from)(cache, options.file)
        tell(f"{shown(options.file)}: {n} replies {options.action}ed")
    except (OSError, BadInput, Stopped) as error:
        parser.error(printable(error))


if __name__ == "__main__":
    main()
