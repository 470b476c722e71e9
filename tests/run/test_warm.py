"""A stage that is a fork of a process with the libraries does what it does by itself."""

import os
import re
import subprocess
import sys

import nbformat

from lib.run import warm

CELLS = [
    'import matplotlib.pyplot as plt\nimport torch\nfrom tqdm.auto import tqdm',
    'import os, sys\nprint(torch.get_num_threads(), os.environ["GIVEN"], len(os.environ["LONG"]))',
    'print(sorted(set(os.environ) & {"STUDY_STARTS_STAGES", "MPLBACKEND"}), sys.argv[0][-21:])',
    'print(__name__, sys.modules["__main__"].__dict__ is globals())',
    'print(torch.rand(1).item())',
    "for _ in tqdm(range(2), file=sys.stdout): pass",
    "plt.plot([1, 2]);",
    'write_text(figures_path(study, "table2.csv"), "")',
]


def ran(house, **environment: str) -> subprocess.CompletedProcess:
    """Run the stage 06_analyze as the graph does."""
    return subprocess.run(
        [sys.executable, "-m", "lib.run.warm", "06_analyze", "--given", '{"study": "tiny"}'],
        cwd=house.root, env=house.environment(GIVEN="here", LONG="x" * 100_000, ALSO="y" * 120_000,
                                              **environment), text=True, timeout=300,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)


def outputs(house, end: str = ".ipynb") -> list:
    """Return what the cells of the executed copy show, without the figure's bytes."""
    copy = house.root / "data" / "tiny" / "notebooks" / f"06_analyze{end}"
    shown = [output for cell in nbformat.read(copy, 4).cells for output in cell.get("outputs", [])]
    return [re.sub(r"\[\d+:.*?\]", "", output["text"]) if "text" in output else
            sorted(output.get("data", ())) for output in shown]


def test_a_fork_shows_what_a_stage_by_itself_shows(house, monkeypatch, capfd):
    house.write_notebook("06_analyze", CELLS)
    alone = ran(house)
    assert alone.returncode == 0, alone.stdout
    by_itself = outputs(house)
    monkeypatch.setenv("PYTHONPATH", str(house.root))
    monkeypatch.chdir(house.root)
    with warm.warm_stages():
        forked = ran(house, **{warm.ADDRESS: os.environ[warm.ADDRESS], "STUDY_PARENT": ""})
        assert "1 here" in by_itself[0] and by_itself.pop(3)
        assert [*outputs(house)[:3], *outputs(house)[4:]] == by_itself
        drawn = outputs(house).pop(3)
        house.write_notebook("06_analyze", [CELLS[0], CELLS[4], "1 / 0"])
        failed = ran(house, **{warm.ADDRESS: os.environ[warm.ADDRESS], "STUDY_PARENT": ""})
    assert forked.returncode == 0, forked.stdout
    assert "Warning" not in capfd.readouterr().err
    assert failed.returncode == 1
    assert outputs(house, ".failed.ipynb")[0] != drawn  # each fork draws its own seed


def test_a_stage_runs_by_itself_if_nothing_listens(house, tmp_path):
    house.write_notebook("06_analyze", CELLS[-1:])
    assert ran(house, **{warm.ADDRESS: str(tmp_path / "gone")}).returncode == 0
