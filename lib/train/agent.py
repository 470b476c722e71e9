"""Run torchrun on one node; without training's imports, so that it starts in half the time."""

import os
import signal
import sys
from collections.abc import Mapping

from lib.core.process import be_parent, collect_seldom, die_with_parent


def rendezvous(environment: Mapping[str, str]) -> list[str]:
    """Return torchrun's options for meeting on the node where srun was called, [] without srun."""
    address, job = (
        environment.get(f"SLURM_{name}", "") for name in ("LAUNCH_NODE_IPADDR", "JOB_ID")
    )
    if not address:
        return []
    run = f"{job}.{environment.get('SLURM_STEP_ID', 0)}"  # a second step never joins the first
    port = 20_000 + int(job) % 10_000  # below the ports that systems give to clients
    return ["--rdzv-backend", "c10d", "--rdzv-id", run, "--rdzv-endpoint", f"{address}:{port}"]


def main(arguments: list[str]) -> None:
    """Run torchrun so that it ends with its parent: a killed notebook leaves no training behind.

    Under srun, one such process per node joins them; it needs --nnodes and --nproc-per-node.
    """
    collect_seldom()
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.run import main as torchrun

    die_with_parent()
    be_parent()
    if "--nnodes" in arguments and "--rdzv-endpoint" not in arguments:
        arguments = [*rendezvous(os.environ), *arguments]
    try:
        torchrun(arguments)
    except ChildFailedError as error:
        # a killed process is the cause of what its partners report, perhaps before it is noticed
        killed = [one for one in error.failures.values() if one.exitcode == -signal.SIGKILL]
        failure = killed[0] if killed else error.get_first_failure()[1]
        code = failure.exitcode
        how = f"was killed by signal {-code}" if code < 0 else f"ended with {code}"
        sys.exit(f"process {failure.local_rank} {how}")


if __name__ == "__main__":
    main(sys.argv[1:])
