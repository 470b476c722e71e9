"""The report of a study: every kind has one, users' texts are escaped, and colours are legible."""

import json
import re
import shutil
import subprocess
import sys

import lxml.html
import pytest

from lib.core.pages import STYLE
from lib.core.paths import REPOSITORY
from lib.report.answers import answer
from lib.report.ending import ending
from lib.report.kinds import KINDS
from lib.report.page import write_report
from lib.report.pictures import PICTURES, pictured
from lib.report.sources import Source
from lib.run.stages import KINDS as SOURCES

EXHIBIT = REPOSITORY / "figures" / "exhibit"
SCRIPT = "<script>alert(1)</script>"
PLACES = {"lab": "", "replicates": "replicates", "controlled": "controlled", "augment": "augment",
          "structext": "structext", "tablequest": "tablequest"}


def of_exhibit(root, monkeypatch, kind):
    """Copy the exhibit's tables of a kind of study to a study of its name."""
    monkeypatch.setenv("STUDY_ROOT", str(root))
    files = [path for path in (EXHIBIT / PLACES[kind]).iterdir() if path.is_file()]
    (root / "figures" / kind).mkdir(parents=True)
    for path in files:
        shutil.copy(path, root / "figures" / kind)
    return lxml.html.parse(write_report(kind, kind)).getroot()


@pytest.mark.parametrize("kind", PLACES)
def test_each_kind_of_study_has_an_answer_a_figure_and_a_table(tmp_path, monkeypatch, kind):
    page = of_exhibit(tmp_path, monkeypatch, kind)
    assert 1 <= len(page.xpath("//section[1]//li")) <= 5
    assert page.xpath("//img") and all(len(one.get("alt")) > 20 for one in page.xpath("//img"))
    assert page.xpath("//table//td") and page.xpath("//*[@data-search]")
    loaded = [one.get("src", "") for one in page.xpath("//*[@src]")]
    assert all(one.startswith("data:image/png") for one in loaded)
    assert not page.xpath("//link") and not page.xpath("//a[starts-with(@href, 'http')]")
    assert (tmp_path / "figures" / kind / "report.html").stat().st_size < 5_000_000
    text = ending(kind, kind, tmp_path / "figures" / kind / "report.html")
    places = text.split("\n\n")[-1].splitlines()
    assert len(places) == 5 and "report.html" in places[0]


def test_every_figure_that_a_notebook_draws_is_described():
    drawn = set()
    for path in (REPOSITORY / "notebooks").glob("**/*.ipynb"):
        code = path.read_text(encoding="utf-8").replace('\\"', '"')
        drawn |= set(re.findall(r'save(?:_figure)?\(study, f?"([^"{]+?)-?(?:\{.*?)?", \*', code))
    assert len(drawn) > 30 and not drawn - set(PICTURES)
    assert pictured("training-dapt-n").endswith("(dapt-n).") and pictured("unknown") == ""


def test_structexts_answer_says_where_an_arm_stands_against_the_floor(tmp_path, monkeypatch):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    folder = tmp_path / "figures" / "mine"
    folder.mkdir(parents=True)
    (folder / "prompts.csv").write_text("suite,prompt,arm,n,rouge_score\n"
                                        "test,base,tuned,116,0.4\ntest,base,blind,116,0.3\n")
    head = "suite,prompt,arm,difference_points,low_points,high_points\n"
    for low, words in ((2.0, "(above the floor)"), (-2.0, "(not shown to be above the floor)")):
        (folder / "above_floor.csv").write_text(f"{head}test,base,tuned,10.0,{low},18.0\n")
        (first, last) = answer(Source("mine"), "structext")
        assert "tuned 40.0% and blind 30.0%" in first and words in first and "blind" in last


def test_the_laboratorys_answer_has_the_numbers_of_its_tables(tmp_path, monkeypatch):
    page = of_exhibit(tmp_path, monkeypatch, "lab")
    text = page.xpath("//section[1]")[0].text_content()
    assert "Of 540 questions" in text and "dapt-n 39.7%" in text
    assert "+7.8 points [+3.7, +11.8] (a difference)" in text
    assert "-11.3 points [-19.5, -3.1]" in text


def test_every_source_of_a_study_has_a_kind():
    assert {*SOURCES, "controlled", "replicates", "reader"} <= set(KINDS)


@pytest.mark.parametrize("kind", KINDS)
def test_a_study_without_results_has_a_page_that_says_so(tmp_path, monkeypatch, kind):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    page = lxml.html.parse(write_report("empty", kind)).getroot()
    assert "no numbers" in page.text_content()


@pytest.fixture
def hostile(tmp_path, monkeypatch):
    """The page of a study in which every text of a user is a script."""
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    data, figures = tmp_path / "data" / "mine", tmp_path / "figures" / "mine"
    query = {"query_id": "q", "document_id": SCRIPT, "structure": SCRIPT, "question": SCRIPT,
             "answer": SCRIPT}
    rows = {"queries": query, "documents_rejected": {"item": SCRIPT, "reason": SCRIPT},
            "answers/dapt": {"query_id": "q", "answer": SCRIPT},
            "verdicts/rules/dapt": {"query_id": "q", "verdict": "correct"}}
    for name, row in rows.items():
        path = data / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(row) + "\n")
    stage = {"notebook": "notebooks/06_analyze.ipynb", "seconds": 1.5,
             "given": {"folder": SCRIPT}, "calls": [SCRIPT]}
    run = {"written": SCRIPT, "commit": SCRIPT, "dirty": True, "seconds": 2.0,
           "machine": {"processor": SCRIPT, "cores": 2, "gpus": []}, "versions": {"x": SCRIPT},
           "stages": {f"06_analyze{SCRIPT}": stage}}
    (data / "run.json").write_text(json.dumps(run))
    figures.mkdir(parents=True)
    (figures / "table2.md").write_text(f"| a | {SCRIPT} |\n| --- | --- |\n| b | {SCRIPT} |\n")
    (figures / "table2.csv").write_text("arm,structure,n,correct,unscored,accuracy,low,high\n"
                                        f"{SCRIPT},all,1,1,0,1.0,0.2,1.0\n")
    (figures / "advice.md").write_text(f"# A\n\n## What to do first\n\n{SCRIPT}\n"
                                       f"![{SCRIPT}](x.png) [a](http://b)\n")
    (figures / "report.md").write_text(f"{SCRIPT} ![x](http://x/y.png) <http://b>\n")
    return write_report("mine", "documents")


def test_no_text_of_a_user_becomes_markup(hostile):
    page = lxml.html.parse(hostile).getroot()
    assert len(page.xpath("//script")) == 1  # the page's own
    assert page.text_content().count("alert(1)") >= 15
    assert not page.xpath("//a[starts-with(@href, 'http')]") and not page.xpath("//img")
    text = hostile.read_text()
    assert f"sha256-{digest_of_script(text)}" in text


def digest_of_script(page: str) -> str:
    """Return the digest that a browser compares with the page's policy."""
    script = re.search(r"<script>(.*?)</script>\n</body>", page, re.S)[1]
    ran = subprocess.run(["openssl", "dgst", "-sha256", "-binary"], input=script.encode(),
                         capture_output=True, check=True)
    return subprocess.run(["base64"], input=ran.stdout, capture_output=True,
                          check=True).stdout.decode().strip()


def test_the_report_needs_neither_torch_nor_transformers_nor_pandas():
    code = ("import sys, lib.report.page, lib.report.ending, lib.run.study; "
            "sys.exit(bool({'torch', 'transformers', 'pandas', 'matplotlib'} & set(sys.modules)))")
    assert subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY).returncode == 0


def luminance(colour: str) -> float:
    """Return the relative luminance of #abc or #aabbcc (WCAG 2.1)."""
    digits = colour.lstrip("#")
    digits = "".join(2 * one for one in digits) if len(digits) == 3 else digits
    parts = [int(digits[n:n + 2], 16) / 255 for n in (0, 2, 4)]
    red, green, blue = (one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4
                        for one in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("theme", [0, 1, 2])  # light, dark, print
@pytest.mark.parametrize("text", ["text", "quiet", "link"])
@pytest.mark.parametrize("back", ["back", "shade"])
def test_every_text_has_a_contrast_of_at_least_four_and_a_half(theme, text, back):
    block = re.findall(r":root \{(.*?)\}", STYLE.read_text(), re.S)[theme]
    colours = dict(re.findall(r"--(\w+): (#\w+)", block))
    bright, dark = sorted((luminance(colours[one]) for one in (text, back)), reverse=True)
    assert (bright + 0.05) / (dark + 0.05) >= 4.5
