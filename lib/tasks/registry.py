"""The systems of the study: one line each."""

from importlib import import_module

from lib.core.files import load
from lib.tasks.task import Rows, Task

# The module whose TASK it is. A system is a folder of lib.tasks, its notebooks and a line here.
SYSTEMS = {"spark": "lib.tasks.spark.task", "structext": "lib.structext.task",
           "tablequest": "lib.tasks.tablequest.task"}


def task_of(name: str) -> Task:
    """Return the task of a system. Raises ValueError for an unknown one."""
    if name not in SYSTEMS:
        raise ValueError(f"task {name!r} is unknown: choose one of {', '.join(SYSTEMS)}")
    return import_module(SYSTEMS[name]).TASK


def rows_of(task: Task, study: str) -> Rows:
    """Return the rows that the methods of `task` need, by artifact."""
    return {name: load(study, name, kind) for name, kind in task.needs.items()}
