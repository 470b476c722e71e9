"""A study's plan: memory, hours and dollars of each stage, and nothing started."""

import shutil

import pytest
from transformers import LlamaConfig

from lib.core.store import REPOSITORY
from lib.run import config, plan


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A repository with the paper's study, whose base is an untrained Llama of 8B parameters."""
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    monkeypatch.setattr(config, "REPOSITORY", tmp_path)
    LlamaConfig(
        vocab_size=128256,
        hidden_size=4096,
        intermediate_size=14336,
        num_hidden_layers=32,
        num_attention_heads=32,
        num_key_value_heads=8,
    ).save_pretrained(tmp_path / "8b")
    text = (REPOSITORY / "studies" / "paper.yaml").read_text(encoding="utf-8")
    (tmp_path / "notebooks").symlink_to(REPOSITORY / "notebooks")
    (tmp_path / "studies").mkdir()
    (tmp_path / "studies" / "paper.yaml").write_text(
        text.replace("meta-llama/Llama-3.1-8B", str(tmp_path / "8b")), encoding="utf-8"
    )
    shutil.copytree(REPOSITORY / "data" / "technical", tmp_path / "files")
    return tmp_path


def test_the_papers_study_is_planned_and_nothing_starts(place, capsys):
    study = config.load_study("paper", str(place / "files"))
    table = plan.plan_study(study)
    assert [*table.index] == [
        "01_annotate",
        "02_normalize",
        "05_judge",
        "03_train, dapt",
        "03_train, dapt-n",
    ]
    assert (table["memory per GPU"][3:] == "64.8 GB").all()  # lib/train/README.md: 65 in ZeRO-2
    twice = place / "files" / "twice.md"
    twice.write_text("".join(path.read_text("utf-8") for path in place.glob("files/*.md")), "utf-8")
    more = plan.plan_study(study)
    hours = [float(one["H100 hours"]["03_train, dapt"]) for one in (table, more)]
    assert hours[1] == pytest.approx(2 * hours[0], rel=0.1)
    assert float(more.dollars["02_normalize"]) > 1.5 * float(table.dollars["02_normalize"]) > 0
    assert not (place / "data").exists() and not (place / "figures").exists()


def test_a_base_that_cannot_be_read_and_a_study_without_documents_are_said(place, capsys):
    path = place / "studies" / "paper.yaml"
    (place / "8b" / "config.json").write_text("{", encoding="utf-8")
    table = plan.plan_study(config.load_study("paper", str(place / "files")))
    assert "cannot be read" in table.how["03_train, dapt"]
    path.write_text("kind: lab\n", encoding="utf-8")
    assert plan.main(["paper"]) == 2 and "makes its own texts" in capsys.readouterr().err
