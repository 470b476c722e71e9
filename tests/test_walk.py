"""The walk of one document in CONTRIBUTING.md: its steps are what the notebooks import."""

import re
from pathlib import Path

from lib.core.digest import reached
from lib.core.stages import SYSTEMS
from lib.core.store import REPOSITORY
from lib.run.parameters import notebook_path, parameters_of

N_MODULES = 40
STARTS = ("study", "notebook", "provenance")  # of lib.run, with Snakemake between them
STEP = re.compile(r"^\d\. \*\*(\w+)\*\*((?:.|\n   )+)", re.M)


def imported(start: Path) -> set[str]:
    """Return `start`, a module or notebook, and the modules that it imports, as paths below lib."""
    is_system = start.suffix == ".ipynb" and "task" in parameters_of(start)
    names = reached(start, (SYSTEMS["spark"],) if is_system else ())
    paths = {REPOSITORY / f"{name.replace('.', '/')}.py" for name in names} | {start}
    lib = REPOSITORY / "lib"
    return {
        str(path.relative_to(lib).with_suffix(""))
        for path in paths
        if path.is_relative_to(lib) and path.exists()
    }


def test_the_walk_of_one_document_names_all_that_its_stages_import():
    text = (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.partition("## The walk of one document")[2].partition("\n## ")[0]
    walk, _, beside = section.partition("\nImported, but not entered")
    walked, known = [], set()
    for stage, step in STEP.findall(walk):
        files = [REPOSITORY / f"lib/run/{name}.py" for name in STARTS] if stage == "study" else []
        found = set().union(*map(imported, files or [notebook_path(stage)]))
        named = re.findall(r"`([\w/]+)`", step)
        assert not {*named} - found, f"{stage} does not import these"
        walked, known = walked + named, known | found
    assert len(walked) == len({*walked}) == N_MODULES
    assert known == {*walked, *re.findall(r"`([\w/]+)`", beside)}
