"""Stages as jobs of a real Slurm: the local numbers, ended jobs, killed runs, two nodes."""

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

MINUTES, MEGABYTES = 1, 2500  # limits of the tiny study's training; a stage alone takes some 500 MB
# What two trainings and an inference do while $FAILS is set, each once all three are running. The
# time limit of the second is the shortest that Slurm has.
MEET = """import os, subprocess, time
def meet(call, *arms):
    write_text(data_path(study, f"{call}-{arm}"), "")
    end = time.monotonic() + 120
    while not all(data_path(study, f"{call}-{one}").exists() for one in arms):
        assert time.monotonic() < end, f"not side by side: {arms}"
        time.sleep(0.1)"""
FAILING = """if "FAILS" in os.environ:
    meet("FAILS", "base", "dapt", "dapt-n")
    if arm == "dapt":
        held = b"x" * 3_000_000_000
    if arm == "base":
        subprocess.run(["scancel", os.environ["SLURM_JOB_ID"]], check=True)
    time.sleep(600)"""
TOGETHER = """if "TOGETHER" in os.environ:
    meet("TOGETHER", "dapt", "dapt-n")"""
# The tables have two nodes here: a task on each, as torchrun would be started there.
BOTH_NODES = """if "TOGETHER" in os.environ:
    ran = subprocess.run(["srun", "--nodes=2", "--ntasks=2", "--ntasks-per-node=1", "printenv",
                          "SLURMD_NODENAME"], check=True, text=True, stdout=subprocess.PIPE)
    assert sorted(ran.stdout.split()) == ["n1", "n2"], ran.stdout"""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with slurm(tmp_path_factory.mktemp("slurm") / "cluster") as reach:
        yield reach


def profile(folder: Path, threads: dict, **resources: dict) -> str:
    """Write profiles/slurm for this cluster to `folder`; return the folder."""
    settings = yaml.safe_load((REPOSITORY / "profiles/slurm/config.yaml").read_text())
    settings |= {
        "slurm-init-seconds-before-status-checks": 2,
        "set-threads": threads,
        "set-resources": resources,
    }
    settings["default-resources"] |= {"runtime": 10, "mem_mb": 4000}
    folder.mkdir()
    (folder / "config.yaml").write_text(yaml.safe_dump(settings))
    return str(folder)


def tiny(root: Path) -> House:
    house = new_house(root)
    house.write_notebook("03_train", [MEET, FAILING, TOGETHER, *DOES["03_train"]])
    house.write_notebook("04_infer", ["arm = arms[0]", MEET, FAILING, *DOES["04_infer"]])
    house.write_notebook("06_analyze", ["import os, subprocess", BOTH_NODES, *DOES["06_analyze"]])
    return house


@pytest.fixture(scope="module")
def failed(tmp_path_factory, cluster):
    """A study of which three jobs ended before their time, and what it printed."""
    root = tmp_path_factory.mktemp("tiny")
    house = tiny(root / "house")
    given = profile(
        root / "limits", {"lab_tiny": 2}, train={"runtime": MINUTES, "mem_mb": MEGABYTES}
    )
    ran = house.run("tiny", "--profile", given, **cluster, FAILS="1")
    return house, ran.stdout


@pytest.mark.parametrize(
    "rule, state", [("train", "OUT_OF_MEMORY"), ("train", "TIMEOUT"), ("infer", "CANCELLED")]
)
def test_a_job_that_slurm_ends_is_named_by_its_rule_and_state(failed, rule, state):
    printed = failed[1]
    assert state in printed and f"rule_{rule}" in printed, printed
    assert "The study tiny stopped" in printed


def test_after_a_killed_run_its_jobs_are_named_and_without_them_the_table_is_the_local_one(
    failed, cluster, tmp_path
):
    house, _ = failed
    kept = house.times()
    given = profile(tmp_path / "two", {"train": 2}, analyze={"nodes": 2, "tasks": 2, "mpi": "srun"})
    first = house.start("tiny", "--profile", given, **cluster, PAUSE="600")
    try:
        until(lambda: len(jobs(cluster, "--states=running")) == 2, 120)
    finally:
        first.kill()
        first.wait()
    left = jobs(cluster)
    refused = house.run("tiny", "--profile", given, **cluster)
    assert refused.returncode == 2 and len(left) >= 2
    assert left <= set(refused.stdout.split("scancel ")[1].split())
    subprocess.run(["scancel", *left], check=True, env={**os.environ, **cluster})
    until(lambda: not jobs(cluster), 120)
    ran = house.run("tiny", "--profile", given, **cluster, TOGETHER="1")
    assert ran.returncode == 0, ran.stdout
    times = house.times()
    assert {stage for stage in kept if times[stage] == kept[stage]} == set(kept)
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
            "salloc",
            "--nodes=2",
            "--ntasks=2",
            "--ntasks-per-node=1",
            sys.executable,
            "-c",
            code,
            str(tmp_path),
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
