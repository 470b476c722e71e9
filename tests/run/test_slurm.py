"""Stages as jobs of a real Slurm: the local numbers, killed runs."""

import json
import os
import subprocess
from pathlib import Path

import pytest
import yaml

from lib.core.store import REPOSITORY
from tests.conftest import DOES, House, new_house, until
from tests.run.test_study import table
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


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with slurm(tmp_path_factory.mktemp("slurm") / "cluster") as reach:
        yield reach


def profile(folder: Path) -> str:
    """Write profiles/slurm for this cluster to `folder`; return the folder."""
    settings = yaml.safe_load((REPOSITORY / "profiles/slurm/config.yaml").read_text())
    settings |= {"slurm-init-seconds-before-status-checks": 2, "set-threads": {"train": 2}}
    settings["default-resources"] |= {"runtime": 10, "mem_mb": 4000}
    folder.mkdir()
    (folder / "config.yaml").write_text(yaml.safe_dump(settings))
    return str(folder)


def tiny(root: Path) -> House:
    house = new_house(root)
    house.write_notebook("03_train", [TOGETHER, *DOES["03_train"]])
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
