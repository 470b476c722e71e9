"""One notebook run headlessly with papermill: executed copy, HTML, stage record, whole or not at all (the house)."""

import argparse
import json
import logging
import os
import re
import sys
import time
from datetime import UTC, datetime
from pathlib import Path

from lib.core.files import write_json, write_text
from lib.core.paths import REPOSITORY, data_path, shown
from lib.core.process import die_with_parent
from lib.run.parameters import WrongParameter, checked, parameters_of
from lib.run.provenance import code_state

# A notebook's kernel is a process of its own: it must not write on after its runner was killed.
KERNEL_BOND = "from lib.core.process import die_with_parent; die_with_parent('JPY_PARENT_PID')"
# Nobody looks at a widget here: tqdm.auto would draw its bars with ipywidgets, and they freeze in the saved copy.
NO_WIDGETS = "import sys; sys.modules['ipywidgets'] = None"
SECONDS_BETWEEN_LINES = 30.0  # of progress, where no one looks at a terminal

_BAR = re.compile(r"\d+%\||\bit/s\b|\bs/it\b|\d+it \[")
_FRAME = re.compile(r"(?:File (?P<file>[^\s\"<>]+?\.py)|Cell In\[(?P<cell>\d+)\]).{0,7}?(?:,? line |:)(?P<line>\d+)")


class NotebookFailed(RuntimeError):
    """A notebook stopped with an error; the message says where and why."""


class Progress:
    """The progress bars that a notebook writes to stderr, passed on in one line, with the stage's name before it."""

    def __init__(self, name: str) -> None:
        self.name, self.last = name, time.monotonic()

    def write(self, text: str) -> None:
        """Show the latest bar in `text`: in place on a terminal, else one line every SECONDS_BETWEEN_LINES."""
        bars = [line for line in re.split(r"[\r\n]", text) if _BAR.search(line)]
        pause = 0.2 if sys.stderr.isatty() else SECONDS_BETWEEN_LINES
        if bars and time.monotonic() - self.last > pause:
            self.last = time.monotonic()
            line = f"{self.name}  {bars[-1].strip()}"
            print(f"\r\x1b[2K{line[:110]}" if sys.stderr.isatty() else line, end="\r" if sys.stderr.isatty() else "\n",
                  file=sys.stderr, flush=True)

    def flush(self) -> None:
        """Nothing is held back."""


def run_notebook(notebook: Path, name: str, given: dict[str, object]) -> Path:
    """Run `notebook` with the parameters `given`; return the HTML copy.

    Leaves data/<study>/notebooks/<name>.ipynb and .html and, last, data/<study>/stages/<name>.json; after a
    failure only <name>.failed.ipynb. Raises WrongParameter before anything runs, NotebookFailed for an error in a
    cell or a dead kernel, OSError where a file cannot be written.
    """
    given = checked(notebook, given)
    defaults = {parameter.name: parameter.default for parameter in parameters_of(notebook).values()}
    study = given.get("study", defaults["study"])
    folder = data_path(study, "notebooks")
    record = data_path(study, "stages", f"{name}.json")
    executed, page, failed = (folder / f"{name}{end}" for end in (".ipynb", ".html", ".failed.ipynb"))
    folder.mkdir(exist_ok=True)
    for stale in (record, executed, page, failed):
        stale.unlink(missing_ok=True)
    state, started, clock = code_state(), datetime.now(UTC), time.monotonic()
    ran = _executed(notebook, failed, name, given)
    write_text(page, _as_html(ran))
    os.replace(failed, executed)
    write_json(record, {
        "stage": name, "notebook": f"notebooks/{notebook.name}", **state, "given": given,
        "defaulted": {key: value for key, value in defaults.items() if key not in given},
        "started": started.isoformat(timespec="seconds"), "seconds": round(time.monotonic() - clock, 1)})
    return page


def _executed(notebook: Path, output: Path, name: str, given: dict[str, object]):
    """The executed notebook (nbformat), its state saved in `output` after each cell."""
    import papermill  # slow to import, so only where a notebook runs
    from nbclient.exceptions import DeadKernelError

    # Its parser misses `float | None` and calls such a parameter unknown; ours has refused the unknown ones.
    logging.getLogger("papermill").setLevel(logging.ERROR)

    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(REPOSITORY), os.environ.get("PYTHONPATH", "")]))
    os.environ.setdefault("GOMP_SPINCOUNT", "20000")  # threads that spin longer starve each other on shared cores
    os.environ.setdefault("PYTHONWARNINGS", "ignore:IProgress not found")  # no notebook of ours wants that widget
    try:
        return papermill.execute_notebook(
            notebook, output, given, kernel_name="python3", cwd=REPOSITORY, progress_bar=False,
            stderr_file=Progress(name), coalesce_streams=True,
            extra_arguments=[f"--IPKernelApp.exec_lines={KERNEL_BOND}; {NO_WIDGETS}", "--IPKernelApp.log_level=50"])
    except papermill.PapermillExecutionError as error:
        raise NotebookFailed(_explained(error) + f"\n  the notebook so far: {shown(output)}") from error
    except DeadKernelError as error:
        raise NotebookFailed("its Python process was killed, most often for lack of memory: use a smaller batch or "
                             f"model, or more memory\n  the notebook so far: {shown(output)}") from error
    except OSError as error:  # papermill's own writes after each cell; those of a cell are told above
        raise OSError(error.errno, f"{error.strerror or error} while writing {output}. Free some space (or check the "
                      "folder's permissions) and run the same command again") from error


def _explained(error) -> str:
    """Where a cell failed and why, without the traceback: that is in the saved notebook."""
    frames = list(_FRAME.finditer("\n".join(re.sub(r"\x1b\[[\d;]*m", "", line) for line in error.traceback)))
    place = ""
    if frames:
        last = frames[-1]
        place = f", {Path(last['file']).name if last['file'] else 'its'} line {last['line']}"
    return f"In [{error.exec_count}]{place}: {error.ename}: {error.evalue}"


def _as_html(notebook) -> str:
    from nbconvert import HTMLExporter

    return HTMLExporter(mathjax_url="", require_js_url="").from_notebook_node(notebook)[0]  # reads without a network


def main(arguments: list[str] | None = None) -> int:
    """`python -m lib.run.notebook 04_infer --name 04_infer-dapt --given '{"arm": "dapt"}'`; 0 where it succeeded."""
    parser = argparse.ArgumentParser(prog="python -m lib.run.notebook", description=__doc__)
    parser.add_argument("notebook", help="such as 04_infer")
    parser.add_argument("--name", help="of the executed copy; default: the notebook's")
    parser.add_argument("--given", type=json.loads, default={}, help="parameters as JSON")
    options = parser.parse_args(arguments)
    die_with_parent()
    name = options.name or options.notebook
    print(f"{name}  …\n", end="", flush=True)  # one write, so that lines of stages side by side stay whole
    clock = time.monotonic()
    try:
        page = run_notebook(REPOSITORY / "notebooks" / f"{options.notebook}.ipynb", name, options.given)
    except (NotebookFailed, WrongParameter, OSError) as error:
        print(f"\n{name} FAILED: {error}\n", file=sys.stderr, flush=True)
        return 1
    except KeyboardInterrupt:
        print(f"\n{name} interrupted", file=sys.stderr, flush=True)
        return 130
    minutes, seconds = divmod(round(time.monotonic() - clock), 60)
    print(f"{name}  done in {minutes}:{seconds:02d}  {shown(page)}\n", end="", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
