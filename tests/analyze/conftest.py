"""A folder of its own for what a test's study writes."""

import pytest


@pytest.fixture
def study_root(tmp_path, monkeypatch):
    monkeypatch.setenv("STUDY_ROOT", str(tmp_path))
    return tmp_path
