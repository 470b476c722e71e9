"""The key of a stage: what it computes, wherever that is written, and nothing else."""

import ast
import shutil
from pathlib import Path

import pytest

from lib.core import digest
from lib.core.digest import module_digest, notebook_digest, reached
from lib.core.store import REPOSITORY, BadInput


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of everything that a digest reads, in place of the repository."""
    root = tmp_path_factory.mktemp("copy")
    for name in ("lib", "notebooks", "prompts"):
        shutil.copytree(
            REPOSITORY / name,
            root / name,
            ignore=shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints"),
        )
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(digest, "REPOSITORY", root)
        yield root
    digest._parts.cache_clear()


def digests(root: Path) -> dict[str, str]:
    digest._parts.cache_clear()
    return {
        path.stem: notebook_digest(path) for path in sorted((root / "notebooks").rglob("*.ipynb"))
    }


@pytest.fixture(scope="module")
def before(copy) -> dict[str, str]:
    """The digests of the copy as it is."""
    return digests(copy)


def changed(root: Path, before: dict[str, str], path: Path, old: str, new: str) -> set[str]:
    """Return the notebooks whose digest changes where `path` has `new` in place of `old`."""
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    after = digests(root)
    path.write_text(text, encoding="utf-8")
    return {stem for stem, one in after.items() if one != before[stem]}


def test_comments_and_docstrings_change_no_digest(copy, before):
    path = copy / "lib" / "core" / "values.py"
    start, _, _ = path.read_text().partition("import re\n")
    docstring = ast.get_docstring(ast.parse(start), clean=False)
    remarks = f'"""{docstring} Another remark."""\n\nimport re  # a remark\n\n# another\n'
    assert changed(copy, before, path, f"{start}import re\n", remarks) == set()


@pytest.mark.parametrize(
    ("module", "old", "new"),
    [
        ("lib.lab.records", "2005, 2024", "2005, 2025"),
        ("lib.analyze.stats", '"wilson"', '"wilsom"'),
        ("lib.llm.batch", "50_000", "50_001"),
    ],
)
def test_one_changed_character_changes_the_notebooks_that_reach_it(copy, before, module, old, new):
    path = copy.joinpath(*module.split(".")).with_suffix(".py")
    tree = ast.parse(path.read_text())
    body = path.read_text().split("\n")[tree.body[0].end_lineno :]  # behind the docstring
    line = next(line for line in body if old in line.split("#")[0])
    reach = {
        notebook.stem
        for notebook in (copy / "notebooks").rglob("*.ipynb")
        if module in reached(notebook)
    }
    assert 0 < len(reach) < len(before)
    other = line.replace(old, new, 1)
    assert changed(copy, before, path, f"\n{line}\n", f"\n{other}\n") == reach


def test_a_changed_prompt_changes_the_notebooks_that_fill_it(copy, before):
    prompt = copy / "prompts" / "judge.md"
    first = prompt.read_text().split()[0]
    found = changed(copy, before, prompt, first, f"{first}x")
    assert {"05_judge"} <= found
    assert not {"00_lab", "01_annotate", "04_infer", "06_analyze"} & found


def test_the_main_chain_reaches_no_other_study_and_the_laboratory_no_client():
    def names(stage):
        return reached(next((REPOSITORY / "notebooks").rglob(f"{stage}.ipynb")))

    assert len(names("04_infer")) <= 35
    chain = (
        "00_lab",
        "00_documents",
        "01_annotate",
        "02_normalize",
        "03_train",
        "04_infer",
        "05_judge",
        "06_analyze",
    )
    for stage in chain:
        others = [
            name
            for name in names(stage)
            if name.startswith(("lib.tasks.str", "lib.tasks.tab", "lib.exposures"))
        ]
        assert not others, (stage, others)
    assert not [name for name in names("00_lab") if name.startswith("lib.llm")]


def test_a_prompt_that_is_named_by_an_expression_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(digest, "REPOSITORY", tmp_path)
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "a.py").write_text('x = prompt_template(f"judge_{kind}")')
    with pytest.raises(BadInput, match="a.py, line 1: .* write the name as a literal"):
        module_digest("lib.a")
