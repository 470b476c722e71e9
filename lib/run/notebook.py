"""Run one notebook headlessly with papermill; keep an executed copy and a stage record."""

import argparse
import json
import logging
import os
import re
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from lib.core import process
from lib.core.files import write_json
from lib.core.paths import REPOSITORY, data_path, shown
from lib.run import pages
from lib.run.parameters import WrongParameter, checked, notebook_path, parameters_of
from lib.run.provenance import code_state, machine

# A notebook's kernel is a separate process, which must not go on writing if its runner is killed.
KERNEL_BOND = f"import {process.__name__} as process; process.die_with_parent('JPY_PARENT_PID')"
# Otherwise tqdm.auto would draw its bars with ipywidgets, which the executed copy cannot show.
NO_WIDGETS = "import sys; sys.modules['ipywidgets'] = None"
# papermill imports these modules, but they are not needed here: the grammar of IRIs in JSON schemas
# (1.4 s to build) and paths in HDFS.
NOT_NEEDED = ("rfc3987_syntax", "pyarrow")
SECONDS_BETWEEN_LINES = 30.0  # lines of progress, if the output is not a terminal

_BAR = re.compile(r"\d+%\||\bit/s\b|\bs/it\b|\d+it \[")
_FRAME = re.compile(r"(?:File (?P<file>[^\s\"<>]+?\.py)|Cell In\[(?P<cell>\d+)\])"
                    r".{0,7}?(?:,? line |:)(?P<line>\d+)")


class NotebookFailed(RuntimeError):
    """A notebook stopped with an error; the message says where and why."""


class Progress:
    """Show a notebook's progress bars, from stderr, on one line after the stage's name."""

    def __init__(self, name: str) -> None:
        self.name, self.last = name, time.monotonic()

    def write(self, text: str) -> None:
        """Show the latest bar in `text`: in place on a terminal, else as an occasional line."""
        bars = [line for line in re.split(r"[\r\n]", text) if _BAR.search(line)]
        is_terminal = sys.stderr.isatty() and sys.stdout.isatty()  # not under tee
        pause = 0.2 if is_terminal else SECONDS_BETWEEN_LINES
        if bars and time.monotonic() - self.last > pause:
            self.last = time.monotonic()
            line = f"{self.name}  {bars[-1].strip()}"
            print(f"\r\x1b[2K{line[:110]}" if is_terminal else line,
                  end="\r" if is_terminal else "\n", file=sys.stderr, flush=True)

    def flush(self) -> None:
        """Do nothing: writes are unbuffered."""


def run_notebook(notebook: Path, name: str, given: dict[str, object],
                 kernel: dict[str, object] | None = None) -> Path:
    """Run `notebook` with the parameters `given`; return the path of the HTML copy.

    A success leaves <name>.ipynb and .html in data/<study>/notebooks (within a study, lib.run.pages
    writes the HTML soon after), and <name>.json in data/<study>/stages. During the run there is
    only <name>.running.ipynb, after a failure only <name>.failed.ipynb. Raises WrongParameter
    before anything runs, NotebookFailed for an error in a cell or a dead kernel, and OSError if a
    file cannot be written.
    """
    given = checked(notebook, given)
    defaults = {one.name: one.default for one in parameters_of(notebook).values()}
    study = given.get("study", defaults["study"])
    folder = data_path(study, "notebooks")
    record = data_path(study, "stages", f"{name}.json")
    executed, page, failed, running = (
        folder / f"{name}{end}" for end in (".ipynb", ".html", ".failed.ipynb", ".running.ipynb"))
    folder.mkdir(exist_ok=True)
    for stale in (record, executed, page, failed, running):
        stale.unlink(missing_ok=True)
    state, started, clock = code_state(), datetime.now(UTC), time.monotonic()
    try:
        finished = execute(notebook, running, name, given, kernel or {})
        if pages.VARIABLE not in os.environ:
            pages.write_page(running, page)
    except BaseException:
        if running.exists():
            os.replace(running, failed)
        raise
    os.replace(running, executed)
    write_json(record, {
        "stage": name, "notebook": str(notebook.relative_to(REPOSITORY)), **state, "given": given,
        "machine": machine(),  # stages can run on different nodes
        "defaulted": {key: value for key, value in defaults.items() if key not in given},
        "calls": calls_of(finished), "started": started.isoformat(timespec="seconds"),
        "seconds": round(time.monotonic() - clock, 1)})
    return page


def execute(notebook: Path, output: Path, name: str, given: dict[str, object],
            kernel: dict[str, object]):
    """Return the executed notebook (nbformat); its state is saved to `output` after each cell."""
    import papermill  # slow to import, so only when a notebook runs
    from nbclient.exceptions import DeadKernelError
    from traitlets.config import Config

    # papermill warns that parameters of type `float | None` are unknown; they were checked before.
    logging.getLogger("papermill").setLevel(logging.ERROR)

    os.environ["PYTHONPATH"] = os.pathsep.join(
        filter(None, [str(REPOSITORY), os.environ.get("PYTHONPATH", "")]))
    os.environ.setdefault("GOMP_SPINCOUNT", "20000")  # longer spinning starves shared cores
    os.environ.setdefault("PYTHONWARNINGS", "ignore:IProgress not found")
    so_far = (f"\n  the notebook so far: {shown(output).replace('.running.', '.failed.')}"
              "\n  what to do: correct the cause and run the same command again; finished stages "
              "are kept")
    try:
        # Files instead of TCP ports: two kernels that start at once can pick the same free port.
        with TemporaryDirectory() as folder:
            sockets = Config({"KernelManager": {"transport": "ipc", "ip": f"{folder}/kernel"}})
            return papermill.execute_notebook(
                notebook, output, given, kernel_name="python3", cwd=REPOSITORY, config=sockets,
                progress_bar=False, stderr_file=Progress(name), coalesce_streams=True,
                extra_arguments=[f"--IPKernelApp.exec_lines={KERNEL_BOND}; {NO_WIDGETS}",
                                 "--IPKernelApp.log_level=50"], **kernel)
    except papermill.PapermillExecutionError as error:
        raise NotebookFailed(_explained(error) + so_far) from error
    except DeadKernelError as error:
        raise NotebookFailed("its Python process was killed, most likely for lack of memory: use a "
                             f"smaller batch or model, or more memory{so_far}") from error
    except OSError as error:  # papermill's own writes after each cell
        raise OSError(error.errno, f"{error.strerror or error} while writing {output}. Free some "
                      "space (or check the folder's permissions) and run the same command "
                      "again") from error


def _explained(error) -> str:
    """Return where and why a cell failed, without the traceback, which is in the saved notebook."""
    trace = "\n".join(re.sub(r"\x1b\[[\d;]*m", "", line) for line in error.traceback)
    frames = list(_FRAME.finditer(trace))
    place = ""
    if frames:
        file = frames[-1]["file"]
        place = f", {Path(file).name if file else 'its'} line {frames[-1]['line']}"
    return f"In [{error.exec_count}]{place}: {error.ename}: {' '.join(error.evalue.split())}"


def calls_of(notebook) -> list[str]:
    """Return the printed tallies of calls to a model with their dollars (lib.llm.calls.Calls)."""
    printed = "".join(output.get("text", "") for cell in notebook.cells
                      for output in cell.get("outputs", []))
    return re.findall(r"^cached \d+ / new \d+ / failed \d+.*$", printed, re.M)


def main(arguments: list[str] | None = None, kernel: dict[str, object] | None = None) -> int:
    """Run `python -m lib.run.notebook 04_infer --given '{"arm": "dapt"}'`; return 0 on success.

    `kernel` has further arguments for papermill's client (lib.run.warm).
    """
    parser = argparse.ArgumentParser(prog="python -m lib.run.notebook", description=__doc__)
    parser.add_argument("notebook", help="such as 04_infer")
    parser.add_argument("--name", help="name of the executed copy (default: the notebook's)")
    parser.add_argument("--given", type=json.loads, default={}, help="parameters as JSON")
    options = parser.parse_args(arguments)
    process.die_with_parent()
    sys.modules.update(dict.fromkeys(NOT_NEEDED))
    name = options.name or options.notebook
    if process.VARIABLE not in os.environ:  # else the graph has said so
        print(f"{name}  …\n", end="", flush=True)  # one write: parallel stages do not mix
    clock = time.monotonic()
    try:
        page = run_notebook(notebook_path(options.notebook), name, options.given, kernel)
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
