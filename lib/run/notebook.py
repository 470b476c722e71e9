"""Run one notebook with papermill; keep the executed copy, its page and a stage record."""

import argparse
import io
import json
import logging
import os
import re
import signal
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread

from lib.core import process
from lib.core.store import (
    REPOSITORY,
    WRITTEN,
    BadStudy,
    Stopped,
    data_path,
    shown,
    tell,
    write_json,
)
from lib.report import write_page
from lib.run.parameters import check, notebook_path, parameters_of
from lib.run.provenance import code_state, machine, now, states

# A kernel must not go on writing if its runner is killed, nor ignore an interrupt between cells.
_FIRST = (
    f"import signal, {process.__name__} as process; process.die_with_parent('JPY_PARENT_PID'); "
    "process.collect_seldom(); signal.signal(signal.SIGINT, signal.SIG_DFL)"
)
# Imports of papermill and nbconvert that nothing here needs: a grammar that takes 1.4 s to build,
# paths in HDFS, encodings to guess.
_NOT_NEEDED = ("rfc3987_syntax", "pyarrow", "chardet")
ENVIRONMENT = {  # unless it says otherwise
    "PYTHONPATH": str(REPOSITORY),
    "GOMP_SPINCOUNT": "20000",  # longer spinning starves shared cores
    # glibc gives large tensors back to the system after each use: a third of a training's time
    "GLIBC_TUNABLES": "glibc.malloc.hugetlb=1:glibc.malloc.mmap_threshold=4294967296"
    ":glibc.malloc.trim_threshold=17179869184",
    "PYTHONWARNINGS": "ignore:IProgress not found",  # bars are text
}
_BAR = re.compile(r"(?<![^\r\n])([^\r\n|]+?): +(\d\d?)%\|.*?<([\d:]+),")  # of tqdm
_CALLS = re.compile(r"^cached \d+ / new \d+ / failed \d+.*$", re.M)
_BETWEEN = 30.0  # seconds
_BEGUN, _STOPPED = Event(), Event()  # the kernel runs cells; a signal said to stop


def run_notebook(notebook: Path, name: str, given: dict[str, object]) -> tuple[Path, str]:
    """Run `notebook` with `given`; return its HTML page and what its cells print to the console.

    Leaves <name>.ipynb and .html in data/<study>/notebooks, or <name>.failed.ipynb, and for a
    study <name>.json in data/<study>/stages. Raises Stopped for an error in a cell.
    """
    defaults = {key: one.default for key, one in parameters_of(notebook).items()}
    study = given.get("study", defaults["study"])
    record = data_path(study, "stages", f"{name}.json")
    executed, page, failed, running = (
        data_path(study, "notebooks", f"{name}{end}")
        for end in (".ipynb", ".html", ".failed.ipynb", ".running.ipynb")
    )
    for stale in (record, executed, page, failed, running):
        stale.unlink(missing_ok=True)
    state, clock = code_state() | {"started": now()}, time.monotonic()
    written = data_path(study, "stages", f".{name}.{os.getpid()}.partial")
    written.touch()
    os.environ[WRITTEN] = str(written)
    try:
        finished = _execute(notebook, running, name, given)
        files = states(map(Path, written.read_text("utf-8").splitlines()))
        on_page = "" if "disclaimer" in given else os.environ.get("STUDY_DISCLAIMER", "")
        write_page(running, page, study, on_page)
    except BaseException:
        if running.exists():
            os.replace(running, failed)
        raise
    finally:
        Path(os.environ.pop(WRITTEN)).unlink(missing_ok=True)
    os.replace(running, executed)
    if process.VARIABLE in os.environ:  # not by hand: the study's record is of its own run
        facts = {
            "stage": name,
            "notebook": str(notebook.relative_to(REPOSITORY)),
            **state,
            "given": given,
            "machine": machine(),  # stages can run on different nodes
            "defaulted": {key: value for key, value in defaults.items() if key not in given},
            "calls": _CALLS.findall(_printed(finished.cells)),
            "files": files,
            "seconds": round(time.monotonic() - clock, 1),
        }
        write_json(record, facts)
    tagged = [cell for cell in finished.cells if "console" in cell.metadata.get("tags", [])]
    return page, _printed(tagged)


class _Live(io.StringIO):
    # papermill writes to it what cells print. Plans of paid calls must be seen before the replies,
    # and of a long stage, every half minute, how far it is.
    def __init__(self, name: str) -> None:
        super().__init__()
        self._name, self._bar, self.ended = name, "", Event()
        Thread(target=self._tell, daemon=True).start()

    def write(self, text: str) -> int:
        for what, share, left in _BAR.findall(text)[-1:]:
            self._bar = f", {what} {share}%, {left} left"
        for line in text.splitlines():
            if " to send (" in line:
                tell(line)
        return len(text)

    def _tell(self) -> None:
        n = 0
        while not self.ended.wait(_BETWEEN):
            n += 1
            tell(f"{self._name}  {n * _BETWEEN / 60:.1f} min{self._bar}\n", end="")
            self._bar = ""


def _execute(notebook: Path, output: Path, name: str, given: dict[str, object]):
    import papermill
    from nbclient.exceptions import DeadKernelError

    so_far = (
        f"\n  the notebook so far: {shown(output).replace('.running.', '.failed.')}"
        "\n  what to do: correct the cause and run the same command again; finished stages "
        "are kept"
    )
    live = _Live(name)
    try:
        return _run_cells(notebook, output, given, live)
    except papermill.PapermillExecutionError as error:
        what = f"{error.ename}: {' '.join(error.evalue.split())}"
        raise Stopped(f"In [{error.exec_count}]: {what}{so_far}") from error
    except DeadKernelError as error:
        if _STOPPED.is_set():
            raise KeyboardInterrupt from error
        raise Stopped(
            "its Python process was killed, most likely for lack of memory: use a "
            f"smaller batch or model, or more memory{so_far}"
        ) from error
    except OSError as error:  # papermill's own writes after each cell
        raise OSError(
            error.errno,
            f"{error.strerror or error} while writing {output}. Free some space (or check the "
            "folder's permissions) and run the same command again",
        ) from error
    finally:
        live.ended.set()


def _run_cells(notebook: Path, output: Path, given: dict[str, object], live: _Live):
    import papermill
    from traitlets.config import Config

    # papermill warns that parameters of type `float | None` are unknown; they were checked before.
    # What it says of a dead kernel is said here.
    logging.getLogger("papermill").setLevel(logging.CRITICAL)
    os.environ.update(ENVIRONMENT | dict(os.environ))
    # Files instead of TCP ports: two kernels that start at once can pick the same free port.
    with TemporaryDirectory() as folder:
        return papermill.execute_notebook(
            notebook,
            output,
            given,
            kernel_name="python3",
            cwd=REPOSITORY,
            config=Config({"KernelManager": {"transport": "ipc", "ip": f"{folder}/kernel"}}),
            progress_bar=sys.stderr.isatty(),
            coalesce_streams=True,
            stdout_file=live,
            stderr_file=live,
            on_cell_start=_begin,
            extra_arguments=[f"--IPKernelApp.exec_lines={_FIRST}", "--IPKernelApp.log_level=50"],
        )


def _printed(cells) -> str:
    outputs = [output for cell in cells for output in cell.get("outputs", [])]
    return "".join(one.text for one in outputs if one.get("name") == "stdout")


def _begin(**_: object) -> None:
    if _STOPPED.is_set():
        raise KeyboardInterrupt
    _BEGUN.set()


def _pass_on(number: int, frame: object) -> None:
    # The kernel has a session of its own, and ends its cell once paid calls have their replies.
    # While it starts, it would print how it failed to.
    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, signal.SIG_IGN)  # a second one must not meet half an import
    import psutil

    _STOPPED.set()
    for child in psutil.Process().children():
        child.send_signal(signal.SIGINT if _BEGUN.is_set() else signal.SIGKILL)
    signal.signal(number, signal.default_int_handler)
    if not _BEGUN.is_set():
        raise KeyboardInterrupt


def main(arguments: list[str] | None = None) -> int:
    """Run `python -m lib.run.notebook 04_infer -y '{"arms": ["dapt"]}'`; return 0 on success."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("notebook", help="such as 04_infer")
    parser.add_argument("--name", help="name of the executed copy (default: the notebook's)")
    parser.add_argument("-y", "--parameters", type=json.loads, default={}, help="as JSON")
    options = parser.parse_args(arguments)
    process.die_with_parent()
    process.collect_seldom()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _pass_on)
    sys.modules.update(dict.fromkeys(_NOT_NEEDED))
    name, clock = options.name or options.notebook, time.monotonic()
    is_alone = process.VARIABLE not in os.environ  # by hand, not from lib.run.study
    tell(f"{name}  …\n", end="")  # one write: parallel stages do not mix
    try:
        notebook = notebook_path(options.notebook)
        if is_alone:  # else load_study has checked them
            check(notebook, options.parameters)
        logged = json.loads(os.environ.get("STUDY_LOGGING", "{}")).get(name, {})
        page, found = run_notebook(notebook, name, options.parameters | logged)
    except (Stopped, BadStudy, OSError, KeyboardInterrupt) as error:
        if ": KeyboardInterrupt" not in str(error) and str(error):
            tell(f"\n{name} FAILED: {error}\n", file=sys.stderr)
        elif is_alone:  # else lib.run.study says it, once
            tell(f"{name} interrupted", file=sys.stderr)
        return 1
    minutes, seconds = divmod(round(time.monotonic() - clock), 60)
    found = "".join(f"  {line.strip()}\n" for line in found.splitlines() if line.strip())
    found += "  by hand: `make study` runs this stage again\n" * is_alone
    tell(f"{name}  done in {minutes}:{seconds:02d}  {shown(page)}\n{found}", end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
