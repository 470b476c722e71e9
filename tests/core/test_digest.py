"""The key of a stage: what it computes, wherever that is written, and nothing else."""

import json

import pytest

from lib.core import digest, store
from lib.core.digest import module_digest, notebook_digest, reached
from lib.core.stages import CHAIN
from lib.core.store import REPOSITORY, BadInput

FILES = {
    "lib/used.py": '"""Text."""\nimport lib.deep\nx = 1  # remark\n',
    "lib/deep.py": 'def f():\n    """Text."""\n    return prompt_template("judge")\n',
    "lib/other.py": "y = 1\n",
    "prompts/judge.md": "Judge.",
    "prompts/other.md": "Rewrite.",
}


@pytest.fixture
def digested(tmp_path, monkeypatch):
    """Return a function: write FILES with changes, return the digest of a notebook over them."""
    for module in (digest, store):
        monkeypatch.setattr(module, "REPOSITORY", tmp_path)

    def write(remark: str = "text", **changed: str) -> str:
        for name, text in (FILES | changed).items():
            path = tmp_path / name
            path.parent.mkdir(exist_ok=True)
            path.write_text(text)
        cells = [{"cell_type": "markdown", "source": [remark]}]
        cells += [{"cell_type": "code", "source": ["%magic\n", f"import lib.used  # {remark}"]}]
        notebook = tmp_path / "a.ipynb"
        notebook.write_text(json.dumps({"cells": cells}))
        digest._parts.cache_clear()
        return notebook_digest(notebook)

    yield write
    digest._parts.cache_clear()


@pytest.mark.parametrize(
    ("name", "old", "new", "is_other"),
    [
        ("lib/used.py", "Text", "Words", False),
        ("lib/used.py", "remark", "comment", False),
        ("lib/deep.py", "Text", "Words", False),
        ("lib/other.py", "1", "2", False),
        ("prompts/other.md", "Rewrite", "Write", False),
        ("lib/used.py", "1", "2", True),
        ("lib/deep.py", "return", "yield", True),
        ("prompts/judge.md", "Judge", "Say", True),
    ],
)
def test_code_and_prompts_that_are_reached_count_and_comments_do_not(
    digested, name, old, new, is_other
):
    before = digested()
    assert (digested(**{name: FILES[name].replace(old, new)}) != before) == is_other
    assert digested("more") == before


def test_a_prompt_that_is_named_by_an_expression_is_refused(digested):
    digested(**{"lib/other.py": 'x = prompt_template(f"judge_{kind}")'})
    with pytest.raises(BadInput, match="other.py, line 1: .* write the name as a literal"):
        module_digest("lib.other")


def test_the_main_chain_reaches_no_other_study_and_the_laboratory_no_client():
    def names(stage):
        return reached(next((REPOSITORY / "notebooks").rglob(f"{stage}.ipynb")))

    assert len(names("04_infer")) <= 35
    for stage in ("00_lab", "00_documents", *CHAIN):
        others = ("lib.structext", "lib.tablequest", "lib.exposures")
        assert not [name for name in names(stage) if name.startswith(others)], stage
        assert ("lib.judge.llm_judge" in names(stage)) == (stage == "05_judge"), stage
    assert not [name for name in names("00_lab") if name.startswith("lib.llm")]
