"""`make look` and `make plan`: what documents hold and what a study would need; nothing starts."""

import json
import re
import shutil
import subprocess
import sys

import pandas as pd
import pytest
from transformers import LlamaConfig

from lib.core.store import REPOSITORY, BadInput
from lib.documents.folder import read_folder
from lib.judge import llm_judge
from lib.llm.calls import Calls
from lib.run import config, plan
from lib.run.study import main as study_main
from tests.played_model import played
from tests.rows import query


def test_a_look_shows_files_passages_what_is_left_out_and_dollars(tmp_path):
    (tmp_path / "pump.md").write_text(
        "# Orsa\n\nThe supplier of the R-9 is Lind.\n\n| Model | Price |\n| - | - |\n"
        + "| R-9 | 40 EUR |\n" * 200
    )
    (tmp_path / "note.txt").write_text("The R-9 is blue.")
    (tmp_path / "old.doc").write_bytes(b"x")
    study = config.load_study("documents", str(tmp_path))
    text = plan.look_at(study, plan.MODEL)
    assert "2 of 3 files" in text and "left out: old.doc: save it as .docx" in text
    assert re.search(r"pump.md +8 +0 +8\d\d +unclear +2\n.*total +12 +0 +8\d\d +3\n", text, re.S)
    assert "has 100% of the tokens: most results" in text
    assert "No document has a list: it cannot be compared." in text
    assert "prose, in note.txt:\n  The R-9 is blue.\n" in text
    assert text.count("| R-9 |") == 3, "five lines of the table"
    dollars = dict(re.findall(r"(\w+) +gpt-4.1 .* (\d+.\d+)\n", text))
    assert (
        0 < float(dollars["normalize"]) < float(dollars["judge"]) < float(dollars["judge_pairwise"])
    )
    assert "the price of mine/7b is unknown" in plan.look_at(study, "mine/7b")


def n_tokens(text: str) -> int:
    return len(text.encode()) // 4


def test_a_look_is_within_a_fifth_of_what_a_study_then_sends(tmp_path, monkeypatch):
    for part in ("documents/six", "documents/more", "pilot", "held_out"):
        shutil.copytree(plan.RECORDS / part, tmp_path / "all", dirs_exist_ok=True)
    study = config.load_study("documents", str(tmp_path / "all"))
    models = dict.fromkeys(("annotator", "normalizer", "augmenter", "judge"), "gpt-4.1")
    looked = plan.costs(read_folder(tmp_path / "all"), study.model_copy(update=models))
    looked = looked.droplevel(["stage", "model"])
    shipped = map(json.loads, (plan.RECORDS / "replies.jsonl").open(encoding="utf-8"))
    asked = [json.loads(row["request"])["messages"][0][1] for row in shipped]
    checks = pd.read_csv(plan.RECORDS / "CHECKS.csv", keep_default_na=False)[:60]
    queries = [query(question=row.question, answer=row.reference) for row in checks.itertuples()]
    calls, answers = Calls(tmp_path / "llm.sqlite", max_failed_share=1), [*checks.reader_answer]
    with played(lambda _: "[[Tie]]", monkeypatch) as prompts:
        llm_judge.judge_with_llm("m", calls)(queries, answers)
        assert looked.calls["judge"] == 36 * 10 * len(study.arms) == 6 * 4 * len(prompts)
        judged = n_tokens("".join(prompts)) * 6 * 4
        prompts.clear()
        cases = [(one, text, "no") for one, text in zip(queries, answers, strict=True)]
        cases = [(one, by, *two) for one, *two in cases for by in llm_judge.CRITERIA]
        llm_judge.prefer_with_llm("m", calls)(cases)
        assert looked.calls["judge_pairwise"] == 6 * 3 * len(prompts)
    sent = {
        "annotate": sum(n_tokens(one) for one in asked if "<record>" in one),
        "normalize": sum(n_tokens(one) for one in asked if "High-Quality" in one),
        "judge": judged,
        "judge_pairwise": n_tokens("".join(prompts)) * 6 * 3,
    }
    assert looked.sent[[*sent]].to_dict() == pytest.approx(sent, rel=0.2)
    assert looked.sent[[*sent]].sum() == pytest.approx(sum(sent.values()), rel=0.1)


def test_a_look_imports_neither_torch_nor_a_client_and_need_not_be_read():
    code = (
        "import sys; from lib.run.plan import main; assert not main([]); "
        "print({'torch', 'transformers', 'openai'} & set(sys.modules), file=sys.stderr)"
    )
    how = {"cwd": REPOSITORY, "shell": True, "executable": "/bin/bash", "check": True}
    command = f'set -o pipefail; {sys.executable} -c "{code}" | true'
    assert subprocess.run(command, **how, stderr=subprocess.PIPE).stderr == b"set()\n"


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
def place(tmp_path, study_file, monkeypatch):
    """A repository with two studies, whose base is an untrained Llama of 8B parameters."""
    LlamaConfig(
        vocab_size=128256,
        hidden_size=4096,
        intermediate_size=14336,
        num_hidden_layers=32,
        num_attention_heads=32,
        num_key_value_heads=8,
    ).save_pretrained(tmp_path / "8b")
    for name in ("paper", "one-gpu"):
        text = (REPOSITORY / "studies" / f"{name}.yaml").read_text(encoding="utf-8")
        study_file(text.replace("meta-llama/Llama-3.1-8B", str(tmp_path / "8b")), name)
    shutil.copytree(REPOSITORY / "data" / "technical", tmp_path / "files")
    monkeypatch.setattr(plan, "REPOSITORY", tmp_path)  # as study_file does for config
    return tmp_path


def test_the_papers_study_is_planned_and_nothing_starts(place):
    study = config.load_study("paper", str(place / "files"))
    reading = read_folder(place / "files")
    price, training = plan.costs(reading, study), plan.trainings(reading, study)
    assert [*price.index.unique(0)] == ["01_annotate", "02_normalize", "05_judge", "pairs", "total"]
    assert [*training.index] == ["dapt", "dapt-n"]
    assert (training["memory per GPU"] == "64.8 GB").all()  # lib/train/README.md: 65 in ZeRO-2
    twice = place / "files" / "twice.md"
    twice.write_text("".join(path.read_text("utf-8") for path in place.glob("files/*.md")), "utf-8")
    longer = plan.trainings(read_folder(place / "files"), study)
    for kind in ("H100 hours", "hours here"):
        hours = [float(one[kind]["dapt"].replace(",", "")) for one in (training, longer)]
        assert hours[1] == pytest.approx(2 * hours[0], rel=0.1)
    assert not (place / "root").exists()
    small = plan.trainings(reading, config.load_study("one-gpu", str(place / "files")))
    assert [*small.index] == ["dapt", "dapt-q"]  # an adapter, on one GPU of 24 GB
    assert (small["memory per GPU"] == "20.7 GB").all() and (small["processes"] == 1).all()


def test_the_laboratory_is_planned(capsys):
    assert plan.main(["lab"]) == 0
    assert re.fullmatch(r"lab: 6 min .* on this machine [\d,]+\n", capsys.readouterr().out)


def test_what_cannot_be_planned_is_said(place, study_file, capsys):
    study_file("kind: documents", "documents")
    assert plan.main(["--documents", str(place / "none")]) == 2
    assert "make look: " in (said := capsys.readouterr().err) and "name one that" in said
    (place / "8b" / "config.json").write_text("{", encoding="utf-8")
    with pytest.raises(BadInput, match="8b cannot be read: "):
        plan.look_at(config.load_study("paper", str(place / "files")))
    study_file("kind: structext\nbase_model: o/m", "paper")
    assert plan.main(["paper"]) == 2 and "paper has no plan" in capsys.readouterr().err
