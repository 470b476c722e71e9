"""Start a study's stages as forks of one process that has imported the large libraries.

Half of a small study's time was imports of pandas, matplotlib, torch and transformers, once for the
runner and once for the kernel of each stage. `make study` starts a process that makes a notebook's
imports when its first stage begins; each runner is a fork of it, and each kernel (lib.run.kernel) a
fork of its runner. A stage is still one papermill run in one kernel. Without that process (another
system than Linux, a stage on another machine, a notebook run by hand) a stage starts by itself.
"""

import ast
import gc
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from multiprocessing.context import ForkProcess
from pathlib import Path
from socket import AF_UNIX, socket
from tempfile import TemporaryDirectory

from lib.core.process import VARIABLE, be_parent, die_with_parent

ADDRESS = "STUDY_STARTS_STAGES"  # the socket of the process that starts stages
RUNNER = ("papermill", "lib.run.notebook", "lib.run.kernel", "ipykernel.kernelapp")
# What a library or a notebook imports only when it is used.
LATER = {"matplotlib": ("matplotlib.backends.backend_agg", "matplotlib.backends.backend_pdf"),
         "transformers.trainer": ("deepspeed",),
         "lib.retention.measure": ("lib.retention.lm_eval",)}


@contextmanager
def warm_stages() -> Iterator[None]:
    """Start the stages of this block's child processes as forks. Sets $STUDY_STARTS_STAGES."""
    if sys.platform != "linux":  # elsewhere a fork of such libraries is not safe
        yield
        return
    os.environ.setdefault("GOMP_SPINCOUNT", "20000")  # both are read once; see lib.run.notebook
    os.environ.setdefault("PYTHONWARNINGS", "ignore:IProgress not found")
    be_parent()
    with TemporaryDirectory() as folder:
        address = f"{folder}/stages"
        with socket(AF_UNIX) as listener:
            listener.bind(address)
            listener.listen()
            server = subprocess.Popen(
                [sys.executable, "-m", "lib.run.warm", "--serve", str(listener.fileno())],
                pass_fds=[listener.fileno()])
        os.environ[ADDRESS] = address
        try:
            yield
        finally:
            del os.environ[ADDRESS]
            server.kill()
            server.wait()


def serve(listener: socket) -> None:
    """Fork a process for each stage that a client asks for; end it if the client ends."""
    die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the stages heed it
    stages: dict[Connection, ForkProcess] = {}
    while True:
        clients = {stage.sentinel: client for client, stage in stages.items()}
        for ready in wait([listener, *stages, *clients]):
            if ready is listener:
                client = Connection(listener.accept()[0].detach())
                stages[client] = _begin(client)
            elif (client := clients.get(ready, ready)) in stages:
                _end(client, stages.pop(client))


def _begin(client: Connection) -> ForkProcess:
    arguments, environment, folder = json.loads(client.recv_bytes())
    _import(arguments[0])
    gc.freeze()  # or each collection would copy the pages of what was imported
    stage = get_context("fork").Process(target=_stage, args=(arguments, environment, folder))
    stage.start()
    return stage


def _end(client: Connection, stage: ForkProcess) -> None:
    if stage.exitcode is None:
        stage.kill()
    stage.join()
    with client, suppress(OSError):  # nobody may wait for it any more
        client.send_bytes(str(stage.exitcode).encode())


def _import(notebook: str) -> None:
    """Make the imports of a runner and of `notebook`; those that fail are left to the notebook.

    DeepSpeed looks for GPUs when it is imported, and a fork of a process that has touched CUDA
    cannot use it: it is left to the stage if there is one.
    """
    from lib.run.parameters import notebook_path

    sys.modules |= {"rfc3987_syntax": None, "ipywidgets": None}  # as lib.run.notebook does
    names = list(RUNNER)
    with suppress(Exception):
        cells = json.loads(notebook_path(notebook).read_text(encoding="utf-8"))["cells"]
        code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
        names += [node.module for node in ast.parse(code).body if isinstance(node, ast.ImportFrom)]
    has_gpu = any(Path("/dev").glob("nvidia[0-9]*"))
    if not has_gpu:  # or DeepSpeed would warn; no stage inherits it
        os.environ["DS_ACCELERATOR"] = "cpu"
    for name in names:
        with suppress(Exception):
            import_module(name)
    for used, later in LATER.items():
        for name in later if used in sys.modules else ():
            if not (has_gpu and name == "deepspeed"):
                with suppress(Exception):
                    import_module(name)


def _stage(arguments: list[str], environment: dict[str, str], folder: str) -> None:
    """Run lib.run.notebook in this fork as in a process of the client's."""
    from lib.run import kernel, notebook

    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.environ.clear()
    os.environ.update(environment | {VARIABLE: str(os.getppid())})
    os.chdir(folder)
    kernel.ForkedKernelManager.waiting = waiting = kernel.WaitingKernel()
    try:
        status = notebook.main(arguments, {"kernel_manager_class": kernel.ForkedKernelManager})
    finally:
        waiting.sender.close()
    sys.exit(status)


def main(arguments: list[str]) -> int:
    """Run `python -m lib.run.warm 04_infer --given '{}'`: lib.run.notebook, in a fork if it can."""
    if arguments[0] == "--serve":
        serve(socket(fileno=int(arguments[1])))
    die_with_parent()
    environment = dict(os.environ)
    to_server = socket(AF_UNIX)
    try:
        to_server.connect(environment.pop(ADDRESS))
    except (KeyError, OSError):
        from lib.run import notebook

        return notebook.main(arguments)
    with Connection(to_server.detach()) as server:
        server.send_bytes(json.dumps([arguments, environment, os.getcwd()]).encode())
        try:
            status = int(server.recv_bytes())
        except EOFError:
            print(f"{arguments[0]}: the process that starts stages was killed", file=sys.stderr)
            return 1
    return status if status >= 0 else 128 - status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
