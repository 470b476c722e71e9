"""`make compare`: arms of several studies side by side, and why a cell is blank."""

from benchmarks.compare import compared, main
from lib.core.records import RetentionItem, Verdict
from lib.core.store import data_path, save, write_json
from tests.rows import query


def test_studies_side_by_side_show_what_varies_and_why_a_cell_is_blank(study_file, tmp_path):
    study_file("kind: lab\narms: {dapt: , dapt-n: }", "sweep")
    study_file("kind: exposures", "bases")
    save("sweep", "queries", [query("q")])
    stages = {"04_infer": {"given": {"mode": {"dapt": "model", "dapt-n": "open_book"}}}}
    for arm in ("dapt", "dapt-n"):
        own = {"arm": arm, "judge": "scorer"}
        verdict = Verdict(query_id="q", verdict="correct", reason="", **own)
        save("sweep", "verdicts", [verdict], **own)
        stages[f"03_train-{arm}"] = {
            "given": {"block_size": 64, "seed": 42, "epochs": None if arm == "dapt" else 6}
        }
    stages = {name: one | {"seconds": 2, "defaulted": {}} for name, one in stages.items()}
    write_json(data_path("sweep", "run.json"), {"stages": stages, "commit": "c0ffee"})
    for arm in ("base", "dapt"):
        item = RetentionItem(task="t", item="1", arm=arm, is_correct=arm == "base", loglik=0)
        save("sweep", "retention", [item], arm=arm)
    table = compared(["sweep", "bases"])
    names = "study arm seed seconds commit n accuracy forgotten".split()
    assert [*table[names].iloc[0]] == ["sweep", "dapt", 42, 4, "c0ffee", 1, 1.0, 100]
    varying = table.filter(like=": ").to_dict("records")
    assert varying[1] == {"03_train: epochs": 6, "04_infer: mode": "open_book"}
    assert "retention/dapt-n.jsonl is missing: run retention.ipynb" in table.missing[1]
    assert table.missing[2] == "its bases are compared in figures/bases/exposures.md"
    assert main(["sweep"]) == 0 and main(["swep"]) == 2
    page = tmp_path / "root/figures/compare/compare.html"
    assert "c0ffee" in page.read_text() and page.with_suffix(".csv").exists()
