"""Start a study's stages from one process that has imported the large libraries.

Half of a small study's time was imports of pandas, matplotlib, torch and transformers, once for the
runner and once for the kernel of each stage. `make study` imports them once, in multiprocessing's
fork server; each runner is a fork of it, and each kernel a fork of its runner. A stage is still one
papermill run in one kernel. Without a fork server (another system than Linux, a stage on another
machine, a notebook run by hand) the same stage starts by itself.
"""

import gc
import json
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from multiprocessing import get_context
from multiprocessing.connection import Client, Connection, Listener, wait
from pathlib import Path
from threading import Thread

from lib.core.process import VARIABLE, die_with_parent

ADDRESS = "STUDY_STARTS_STAGES"  # the socket of the process that starts stages
# What notebooks import. transformers loads its parts when they are asked for, so they are named.
PRELOADED = (
    "lib.run.notebook", "lib.run.kernel", "lib.run.config", "lib.report.page", "papermill",
    "ipykernel.kernelapp", "matplotlib.backends.backend_agg", "matplotlib.backends.backend_pdf",
    "seaborn", "scipy.stats", "statsmodels.api", "torch", "transformers.trainer",
    "transformers.models.auto.modeling_auto", "transformers.models.llama.modeling_llama",
    "transformers.tokenization_utils_tokenizers")
# What single notebooks import.
ALSO = {"00_retention": ("lm_eval.evaluator", "lm_eval.models.huggingface"),
        "03_train": ("deepspeed",)}  # accelerate imports it, though one process does not need it


def preloaded(stages: Iterable[str]) -> list[str]:
    """Return the modules to import for the notebooks `stages`.

    DeepSpeed looks for GPUs when it is imported, and a fork of a process that has touched CUDA
    cannot use it: so it is not imported here if there is one.
    """
    has_gpu = any(Path("/dev").glob("nvidia[0-9]*"))
    return [*PRELOADED, *(module for stage in stages for module in ALSO.get(stage, ())
                          if not (has_gpu and module == "deepspeed"))]


@contextmanager
def warm_stages(stages: Iterable[str]) -> Iterator[None]:
    """Start the stages of this block's child processes as forks; nothing is imported before one.

    Sets $STUDY_STARTS_STAGES for them. Only on Linux, where forks of such libraries are safe.
    """
    if sys.platform != "linux":
        yield
        return
    context = get_context("forkserver")
    context.set_forkserver_preload(preloaded(stages))
    os.environ.setdefault("GOMP_SPINCOUNT", "20000")  # read once; see lib.run.notebook
    with Listener(family="AF_UNIX") as listener:
        os.environ[ADDRESS] = listener.address

        def accept() -> None:
            while True:
                try:
                    asked = listener.accept()
                except OSError:  # the block is over
                    return
                Thread(target=_start, args=(asked, context), daemon=True).start()

        Thread(target=accept, daemon=True).start()
        try:
            yield
        finally:
            del os.environ[ADDRESS]


def _start(asked: Connection, context) -> None:
    """Run the stage that one client asks for, and end it if the client ends."""
    with asked:
        stage = context.Process(target=_stage, args=tuple(json.loads(asked.recv_bytes())))
        stage.start()
        if stage.sentinel not in wait([asked, stage.sentinel]):
            stage.kill()
        stage.join()
        status = stage.exitcode if stage.exitcode >= 0 else 128 - stage.exitcode
        with suppress(OSError):  # nobody may wait for it any more
            asked.send_bytes(str(status).encode())


def _stage(arguments: list[str], environment: dict[str, str], folder: str) -> None:
    """Run lib.run.notebook in this fork as in a process of the client's."""
    from lib.run import kernel, notebook

    gc.freeze()  # or each collection would copy the pages of what was imported
    _enter(environment | {VARIABLE: str(os.getppid())}, folder)
    kernel.ForkedKernelManager.waiting = waiting = kernel.WaitingKernel()
    try:
        status = notebook.main(arguments, {"kernel_manager_class": kernel.ForkedKernelManager})
    finally:
        waiting.sender.close()
    sys.exit(status)


def _enter(environment: dict[str, str], folder: str) -> None:
    """Take over what a new process would have been given."""
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    threads = int(environment.get("OMP_NUM_THREADS") or 0)
    if threads:  # read when the libraries were imported
        import torch
        from threadpoolctl import threadpool_limits

        torch.set_num_threads(threads)
        threadpool_limits(threads)


def main(arguments: list[str] | None = None) -> int:
    """Run `python -m lib.run.warm 04_infer --given '{}'`, as lib.run.notebook does."""
    arguments = sys.argv[1:] if arguments is None else arguments
    if ADDRESS not in os.environ:
        from lib.run import notebook

        return notebook.main(arguments)
    die_with_parent()
    environment = {name: value for name, value in os.environ.items() if name != ADDRESS}
    with Client(os.environ[ADDRESS], family="AF_UNIX") as server:
        server.send_bytes(json.dumps([arguments, environment, os.getcwd()]).encode())
        return int(server.recv_bytes())


if __name__ == "__main__":
    sys.exit(main())
