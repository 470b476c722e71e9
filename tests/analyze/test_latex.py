"""LaTeX tables fit their column, say what they show, and lose no cell."""

import json
import re
import shutil
import subprocess

import pandas as pd
import pytest

from lib.analyze import latex, published, tables
from lib.analyze.latex import POINTS, SEPARATOR, parts_of
from lib.core.store import REPOSITORY

PAPER = published.paper_rows()
TABLES = {
    "table2": tables.table2(PAPER),
    "table5": tables.table5(PAPER),
    "paper_table2": published.with_paper(tables.table2(PAPER)),
    "paper_table4": published.with_paper(published.paper_table4()),
    "paper_table5": published.with_paper(tables.table5(PAPER)),
}


@pytest.fixture(params=(3.35, 6.3))
def inches(request, monkeypatch):
    monkeypatch.setattr(latex, "inches", [request.param])
    return request.param


def written(name: str) -> tuple[str, pd.DataFrame]:
    table = tables.labelled(TABLES[name])
    write = published.formatted if "source" in table else tables.formatted_table
    shown = tables.labelled(write(TABLES[name]))
    return latex.latex("a_b", name, table, shown), shown


@pytest.mark.parametrize("name", TABLES)
def test_every_table_fits_says_n_and_unscored_and_has_caption_and_label(name, inches):
    text, shown = written(name)
    assert all(latex.escaped(column) in text for column in shown), "no column is lost"
    for end in (f"\\label{{tab:a_b-{name}}}", "\\caption{", "(study a\\_b)", ". n: "):
        assert end in text
    assert "17/65" not in text and "unscored" not in text
    rooms = [re.findall(r"p\{([\d.]+)pt\}", line) for line in text.splitlines()]
    for room in filter(None, rooms):
        own = sum(map(float, room)) + 2 * SEPARATOR * (len(room) - 1)
        assert own <= POINTS * inches
    if name == "table2":
        assert "26.2 [17.0,~38.0]" in text  # 17 of 65
        assert "prose 65, list 85, table 41, all 191" in text


def test_what_is_unscored_or_of_few_documents_stands_below_the_table():
    table = TABLES["table2"].assign(unscored=[2, *[0] * 11], clusters=[3, *[9] * 11])
    text = latex.latex("s", "table2", tables.labelled(table), tables.formatted_table(table))
    assert "unscored, at most: prose 2, list 0, table 0, all 0" in text
    assert "]* &" in text and "*: too few documents to tell" in text


def test_each_part_names_its_rows_by_names_with_digits_too(inches):
    names = {"arm": ["raw text, seed 2", "2 texts"], "structure": ["prose", "gpt-4 tables"]}
    values = {f"value {n}": ["-0.1 [-1.0, 2.0]", "–"] for n in range(9)}
    for part in parts_of(pd.DataFrame(names | values)):
        assert [*part][:2] == [*names]


def test_a_column_of_one_value_is_a_note_and_text_stays_text():
    cells = {"a_b": ["50% & [x]", "#1"], "seeds": ["1", "1"], "p": ["-0.5", "<0.0001"]}
    text = latex.latex("s", "new_one", pd.DataFrame(), pd.DataFrame(cells))
    assert "seeds: 1\n" in text and "a\\_b & p" in text and "\\caption{new\\_one (study s)}" in text
    none = latex.latex("s", "none", pd.DataFrame(), pd.DataFrame({"a": [], "b": []}))
    assert "{}a & b \\\\\n\\midrule\n\\bottomrule" in none
    assert "{}50\\% \\& [x]" in text and "$-$0.5" in text and "$<$0.0001" in text


def test_every_table_that_a_notebook_names_has_a_caption():
    cells = (
        "".join(cell["source"])
        for path in (REPOSITORY / "notebooks").rglob("*.ipynb")
        for cell in json.loads(path.read_text("utf-8"))["cells"]
    )
    named = {name for cell in cells for name in re.findall(r'show\(study, "([\w-]+)"', cell)}
    captions = pd.read_csv(REPOSITORY / "lib" / "analyze" / "captions.csv").name
    assert len(named) > 20 and named <= {*captions}


@pytest.mark.skipif(not shutil.which("pdflatex"), reason="there is no TeX; widths are tested")
def test_tex_agrees_that_they_fit(inches, tmp_path):
    head = f"\\documentclass{{article}}\\usepackage[textwidth={inches}in]{{geometry}}"
    body = "\\clearpage\n".join(written(name)[0] for name in TABLES)
    lines = [head, "\\usepackage[T1]{fontenc}\\usepackage{booktabs,array}\\begin{document}", body]
    (tmp_path / "t.tex").write_text("\n".join([*lines, "\\end{document}"]), encoding="utf-8")
    command = ["pdflatex", "-interaction=nonstopmode", "t.tex"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False)
    log = (tmp_path / "t.log").read_text(encoding="latin-1")
    assert ran.returncode == 0, log[-2000:]
    assert not re.search("Overfull .hbox", log)
