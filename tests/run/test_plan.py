"""`make look` and `make plan`: what documents hold and what a study would need; nothing starts."""

import shutil
import subprocess
import sys

import pytest
from transformers import LlamaConfig

from lib.core.store import REPOSITORY, BadInput
from lib.run import config, plan
from lib.run.study import main as study_main


def test_a_look_shows_tokens_passages_left_out_files_and_dollars(tmp_path):
    (tmp_path / "pump.md").write_text(
        "# Orsa\n\nThe supplier of the R-9 is Lind.\n\n| Model | Price |\n| - | - |\n"
        + "| R-9 | 40 EUR |\n" * 200
    )
    (tmp_path / "old.doc").write_bytes(b"x")
    text = plan.look_at(tmp_path)
    assert "1 of 2 files" in text and "left out: old.doc: save it as .docx" in text
    assert "No document has a list: it cannot be compared." in text
    assert "prose, in pump.md:\n  The supplier of the R-9 is Lind.\n" in text
    assert text.count("| R-9 |") == 3, "five lines of the table"
    dollars = [
        float(line.split()[-1]) for line in text.splitlines() if line[:5] in ("norma", "judge")
    ]
    assert 0 < dollars[0] < dollars[1]
    assert "the price of mine/7b is unknown" in plan.look_at(tmp_path, "mine/7b")


def test_a_look_at_the_example_imports_neither_torch_nor_a_client():
    code = (
        "import sys; from lib.run.plan import main; main([]); "
        "print({'torch', 'transformers', 'openai'} & set(sys.modules))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=True
    )
    assert ran.stdout.endswith("set()\n") and "6 of 6 files" in ran.stdout


@pytest.mark.parametrize(
    ("base", "message"),
    [("", "names no base_model"), ("lab", "BASE=lab is unknown: give BASE=laboratory")],
)
def test_a_study_of_documents_without_a_base_stops_after_the_look(
    tmp_path, monkeypatch, capsys, base, message
):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    monkeypatch.setenv(config.BASE_VARIABLE, base)
    assert study_main(["documents", "--documents", str(plan.RECORDS / "held_out")]) == 2
    out, err = capsys.readouterr()
    assert message in err and ("6 of 6 files" in out) == (not base)


@pytest.fixture
def place(tmp_path, study_file):
    """A repository with the paper's study, whose base is an untrained Llama of 8B parameters."""
    LlamaConfig(
        vocab_size=128256,
        hidden_size=4096,
        intermediate_size=14336,
        num_hidden_layers=32,
        num_attention_heads=32,
        num_key_value_heads=8,
    ).save_pretrained(tmp_path / "8b")
    text = (REPOSITORY / "studies" / "paper.yaml").read_text(encoding="utf-8")
    study_file(text.replace("meta-llama/Llama-3.1-8B", str(tmp_path / "8b")), "paper")
    shutil.copytree(REPOSITORY / "data" / "technical", tmp_path / "files")
    return tmp_path


def test_the_papers_study_is_planned_and_nothing_starts(place):
    study = config.load_study("paper", str(place / "files"))
    dollars, training = plan.plan_study(study)
    assert [*dollars.index] == ["annotate", "normalize", "judge"]
    assert [*training.index] == ["dapt", "dapt-n"]
    assert (training["memory per GPU"] == "64.8 GB").all()  # lib/train/README.md: 65 in ZeRO-2
    twice = place / "files" / "twice.md"
    twice.write_text("".join(path.read_text("utf-8") for path in place.glob("files/*.md")), "utf-8")
    more, longer = plan.plan_study(study)
    hours = [float(one["H100 hours"]["dapt"]) for one in (training, longer)]
    assert hours[1] == pytest.approx(2 * hours[0], rel=0.1)
    assert float(more.dollars["normalize"]) > 1.5 * float(dollars.dollars["normalize"]) > 0
    assert not (place / "root").exists()


def test_what_cannot_be_planned_is_said(place, study_file, capsys):
    assert plan.main(["--documents", str(place / "none")]) == 2
    assert "make look: " in (said := capsys.readouterr().err) and "name a folder" in said
    (place / "8b" / "config.json").write_text("{", encoding="utf-8")
    with pytest.raises(BadInput, match="8b cannot be read: "):
        plan.plan_study(config.load_study("paper", str(place / "files")))
    study_file("kind: lab\n", "paper")
    assert plan.main(["paper"]) == 2 and "makes its own texts" in capsys.readouterr().err
