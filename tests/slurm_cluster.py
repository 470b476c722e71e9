"""A real Slurm on this machine.

Munge, slurmctld and one slurmd per node run in a folder, under the user who calls. Without control
groups, Slurm measures the memory of a job each second and kills it above its limit.
"""

import os
import pwd
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from tests.conftest import until

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue")
PLUGIN = "snakemake_executor_plugin_slurm"
CONFIGURATION = """
ClusterName=study
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SchedulerParameters=sched_interval=1,bf_interval=1
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill,UsePss
SlurmdParameters=config_overrides
MpiDefault=none
ReturnToService=2
KillWait=2
"""
NODES = 2
NODE = "NodeName=n{n} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=2 RealMemory=16000"


def missing() -> str:
    """Return what is not installed and how to install it, "" if nothing is missing."""
    lost = [name for name in PROGRAMS if not shutil.which(name, path=search_path())]
    if lost:
        return (
            f"no {', '.join(lost)}: apt-get install munge slurmctld slurmd slurm-client shows "
            "this on Debian"
        )
    return "" if find_spec(PLUGIN) else "no plugin of Snakemake for Slurm: pip install .[slurm]"


def search_path() -> str:
    """Return $PATH and the folders of daemons, which users other than root do not search."""
    return os.pathsep.join([os.environ["PATH"], "/usr/sbin", "/sbin"])


@contextmanager
def slurm(folder: Path) -> Iterator[dict[str, str]]:
    """Run a cluster of two nodes in `folder`; yield the variables of environment that reach it."""
    host, user = socket.gethostname(), pwd.getpwuid(os.getuid()).pw_name
    ports = _free_ports(NODES + 1)
    (folder / "state").mkdir(parents=True)
    lines = [
        CONFIGURATION.format(host=host, user=user, folder=folder, ports=ports),
        *(NODE.format(n=n, host=host, port=ports[n]) for n in range(1, NODES + 1)),
        "PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP",
        "",
    ]
    configuration, key = folder / "slurm.conf", folder / "munge.key"
    configuration.write_text("\n".join(lines))
    key.touch(mode=0o600)
    key.write_bytes(os.urandom(1024))
    # Snakemake's plugin removes SLURM_CONF from a job, whose srun finds another site's file in /etc
    srun = folder / "bin" / "srun"
    srun.parent.mkdir()
    srun.write_text(
        f"#!/bin/sh\nSLURM_CONF={configuration} exec "
        f'{shutil.which("srun", path=search_path())} "$@"\n'
    )
    srun.chmod(0o755)
    reach = {"SLURM_CONF": str(configuration), "PATH": f"{srun.parent}{os.pathsep}{search_path()}"}
    environment = {**os.environ, **reach}
    daemons = [
        [
            "munged",
            "--foreground",
            "--force",
            f"--socket={folder}/munge.socket",
            f"--key-file={key}",
            *(f"--{name}-file={folder}/munged.{name}" for name in ("log", "pid", "seed")),
        ],
        ["slurmctld", "-D"],
        *(["slurmd", "-D", "-N", f"n{n}"] for n in range(1, NODES + 1)),
    ]
    with open(folder / "daemons.log", "w") as log:
        running = []
        try:
            for command in daemons:
                running.append(
                    subprocess.Popen(
                        command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
                    )
                )
                if command[0] == "munged":
                    until((folder / "munge.socket").exists)
            idle = ["sinfo", "--noheader", "--Node", "--states=idle", "--format=%n"]
            until(lambda: len(_listed(idle, environment)) == NODES)
            yield reach
        finally:
            subprocess.run(["scancel", "--user", user], env=environment, check=False)
            until(lambda: not _listed(["squeue", "--noheader"], environment))
            for daemon in reversed(running):
                daemon.terminate()
                daemon.wait(timeout=30)


def _free_ports(n: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(n)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def _listed(command: list[str], environment: dict[str, str]) -> list[str]:
    return subprocess.run(
        command, env=environment, check=False, text=True, capture_output=True
    ).stdout.split()
