"""Stages as jobs of a real Slurm: the local numbers, killed runs, two nodes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from lib.core.store import REPOSITORY
from tests.conftest import DOES, House, new_house
from tests.run.test_study import table, until
from tests.slurm_cluster import missing, slurm

pytestmark = [pytest.mark.slow, pytest.mark.skipif(bool(missing()), reason=missing())]

# Two trainings wait for each other while $TOGETHER is set.
TOGETHER = """import os, subprocess, time
if "TOGETHER" in os.environ:
    write_text(data_path(study, f"met-{arm}"), "")
    end = time.monotonic() + 120
    while not all(data_path(study, f"met-{one}").exists() for one in ("dapt", "dapt-n")):
        assert time.monotonic() < end, "not side by side"
        time.sleep(0.1)"""
# The tables have two nodes here: a task on each, as torchrun would be started there.
BOTH_NODES = """if "TOGETHER" in os.environ:
    ran = subprocess.run(["srun", "--nodes=2", "--ntasks=2", "--ntasks-per-node=1", "printenv",
                          "SLURMD_NODENAME"], check=True, text=True, stdout=subprocess.PIPE)
    assert sorted(ran.stdout.split()) == ["n1", "n2"], ran.stdout"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with slurm(tmp_path_factory.mktemp("slurm") / "cluster") as reach:
        yield reach


def profile(folder: Path) -> str:
    """Write profiles/slurm for this cluster to `folder`; return the folder."""
    settings = yaml.safe_load((REPOSITORY / "profiles/slurm/config.yaml").read_text())
    settings |= {
        "slurm-init-seconds-before-status-checks": 2,
        "set-threads": {"train": 2},
        "set-resources": {"analyze": {"nodes": 2, "tasks": 2, "mpi": "srun"}},
    }
    settings["default-resources"] |= {"runtime": 10, "mem_mb": 4000}
    folder.mkdir()
    (folder / "config.yaml").write_text(yaml.safe_dump(settings))
    return str(folder)


def tiny(root: Path) -> House:
    house = new_house(root)
    house.write_notebook("03_train", [TOGETHER, *DOES["03_train"]])
    house.write_notebook("06_analyze", ["import os, subprocess", BOTH_NODES, *DOES["06_analyze"]])
    return house


def test_after_a_killed_run_its_jobs_are_named_and_without_them_the_table_is_the_local_one(
    cluster, tmp_path
):
    house, given = tiny(tmp_path / "house"), profile(tmp_path / "two")
    first = house.start("tiny", "--profile", given, **cluster, PAUSE="600")
    try:
        until(lambda: len(jobs(cluster, "--states=running")) == 2, 240)
    finally:
        first.kill()
        first.wait()
    kept, left = house.times(), jobs(cluster)
    refused = house.run("tiny", "--profile", given, **cluster)
    assert refused.returncode == 2 and len(left) >= 2
    assert left <= set(refused.stdout.split("scancel ")[1].split())
    subprocess.run(["scancel", *left], check=True, env={**os.environ, **cluster})
    until(lambda: not jobs(cluster), 120)
    ran = house.run("tiny", "--profile", given, **cluster, TOGETHER="1")
    assert ran.returncode == 0, ran.stdout
    assert kept and kept.items() <= house.times().items()
    records = json.loads((house.root / "data/tiny/run.json").read_text())["stages"]
    nodes = {records[f"03_train-{arm}"]["machine"]["node"] for arm in ("dapt", "dapt-n")}
    assert nodes == {"n1", "n2"}
    local = tiny(tmp_path / "local")
    assert local.run("tiny").returncode == 0
    assert table(house) == table(local)


def jobs(cluster: dict[str, str], *options: str) -> set[str]:
    """Return the ids of the jobs that run or wait."""
    listed = subprocess.run(
        ["squeue", "--noheader", "--format=%i", *options],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **cluster},
    )
    return set(listed.stdout.split())


# The rendezvous is on the node where srun is called, as lib/train/README.md says.
SRUN = (
    f"srun --nodes=2 --ntasks=2 --ntasks-per-node=1 --kill-on-bad-exit=1 {sys.executable} "
    "-m lib.train.distributed --nnodes 2 --nproc-per-node 1"
)


def test_srun_trains_on_two_nodes_with_the_curve_of_one_process(cluster, tmp_path):
    code = (
        "import json, sys; from pathlib import Path; "
        "from tests.train.test_deepspeed import run, curve; root = Path(sys.argv[1]); "
        "curves = [curve(run(root, str(n), processes=n)) for n in (1, 2)]; "
        "(root / 'curves.json').write_text(json.dumps(curves))"
    )
    ran = subprocess.run(
        [
            *"salloc --nodes=2 --ntasks=2 --ntasks-per-node=1".split(),
            sys.executable,
            "-c",
            code,
            tmp_path,
        ],
        cwd=REPOSITORY,
        text=True,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={**os.environ, **cluster, "TRAINING_LAUNCHER": SRUN},
    )
    assert ran.returncode == 0, ran.stdout
    one, two = json.loads((tmp_path / "curves.json").read_text())
    assert two == pytest.approx(one, rel=1e-5)
