"""A notebook's kernel as a fork of its runner, which has imported the large libraries."""

import os
import sys
from multiprocessing import Pipe, get_context
from multiprocessing.connection import Connection

from jupyter_client.manager import AsyncKernelManager
from jupyter_client.provisioning import LocalProvisioner
from threadpoolctl import threadpool_limits

_FORK = get_context("fork")


class WaitingKernel(_FORK.Process):
    """A fork that waits until it is told to be a kernel; to jupyter_client, a Popen.

    It is made before its runner starts threads or an event loop, which do not survive a fork.
    """

    stdin = stdout = stderr = None

    def __init__(self) -> None:
        self.orders, self.sender = Pipe(duplex=False)
        super().__init__(target=_become_kernel, args=(self.orders, self.sender))
        self.start()
        self.orders.close()

    def launch(self, command: list[str], environment: dict[str, str]) -> None:
        """Become the kernel that `command`, its usual command line, would start."""
        self.sender.send((command, environment | {"JPY_PARENT_PID": str(os.getpid())}))

    def poll(self) -> int | None:
        return self.exitcode

    def wait(self) -> int | None:
        self.join()
        return self.exitcode

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)


def _become_kernel(orders: Connection, sender: Connection) -> None:
    sender.close()  # or the end of the runner would not be seen
    os.setsid()
    try:
        command, environment = orders.recv()
    except EOFError:  # the runner needs no kernel
        return
    os.environ.clear()
    os.environ.update(environment)
    _start_anew(int(environment.get("OMP_NUM_THREADS") or 0))
    sys.argv = ["ipykernel_launcher.py", *command[command.index("-f"):]]
    from ipykernel.kernelapp import IPKernelApp

    IPKernelApp.launch_instance()


def _start_anew(threads: int) -> None:
    """Do what libraries do when they are imported: draw a seed, and heed OMP_NUM_THREADS."""
    if "numpy" in sys.modules:
        sys.modules["numpy"].random.seed()
    if "torch" in sys.modules:
        sys.modules["torch"].seed()
    if threads and "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(threads)
    if threads:
        threadpool_limits(threads)


class _ForkedProvisioner(LocalProvisioner):
    async def launch_kernel(self, cmd: list[str], **kwargs):
        self.process = self.parent.waiting
        self.process.launch(cmd, kwargs["env"])
        self.pid = self.pgid = self.process.pid
        self.cwd = kwargs.get("cwd", os.getcwd())
        return self.connection_info


class ForkedKernelManager(AsyncKernelManager):
    """Starts its kernel in the process `waiting`, which is set on the class."""

    waiting: WaitingKernel

    def __init__(self, **given) -> None:
        super().__init__(**given)
        self.provisioner = _ForkedProvisioner(parent=self, kernel_spec=self.kernel_spec)
