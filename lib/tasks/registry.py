"""The systems of the study: one line each."""

from importlib import import_module

from lib.core.files import load
from lib.tasks.kind import Kind
from lib.tasks.task import Rows, Task

# A system is its notebooks, a line here, and this package, with TASK in task.py and KINDS in
# study.py, which also registers the files of its own.
SYSTEMS = {"spark": "lib.tasks.spark", "structext": "lib.tasks.structext",
           "tablequest": "lib.tasks.tablequest"}


def task_of(name: str) -> Task:
    """Return the task of a system. Raises ValueError for an unknown one."""
    if name not in SYSTEMS:
        raise ValueError(f"task {name!r} is unknown: choose one of {', '.join(SYSTEMS)}")
    return import_module(f"{SYSTEMS[name]}.task").TASK


def kinds() -> dict[str, Kind]:
    """Return the kinds of study of all systems, by the value of a study file's key `source`."""
    return {source: kind for package in SYSTEMS.values()
            for source, kind in import_module(f"{package}.study").KINDS.items()}


def rows_of(task: Task, study: str) -> Rows:
    """Return the rows that the methods of `task` need, by artifact."""
    return {name: load(study, name, kind) for name, kind in task.needs.items()}
