"""lib.documents.subject: which document, which section, and whose facts a block states."""

import pytest

from lib.core.records import Document
from lib.documents.blocks import parse
from lib.documents.subject import Subject, subjects

MANUAL = """# Orsa R-9

It is red. The Mesa link and the Mesa port are off.

## Specifications

- Mass: 2 kg

## 2. Mesa

x

### Limits

- Rate: 5/s

## Retry policy

### Limits

- Tries: 3

## Examples

- Port: 80

## `log_level`

y

## Other

z
"""
CHANGES = """# Changelog

## 2.4.0 (2024-01-01)

New.

### Other

- a
"""


def found(text: str, name: str = "orsa.md") -> dict[str, Subject]:
    """Return the subject of each block by its text."""
    blocks = parse(text)
    title = blocks[0].text
    document = Document(document_id=name, title=title, path="", text=text)
    return {block.text: subject
            for block, subject in zip(blocks, subjects(document, blocks), strict=True)}


@pytest.mark.parametrize(("text", "section", "kind", "sections", "owner"), [
    ("It is red. The Mesa link and the Mesa port are off.", "", "", (), "Orsa R-9"),
    ("- Mass: 2 kg", "Specifications", "kind", ("Specifications",), "Orsa R-9"),
    ("x", "Mesa", "thing", ("Mesa",), "Mesa"),
    ("- Rate: 5/s", "Limits", "kind", ("Mesa", "Limits"), ""),
    ("- Tries: 3", "Limits", "kind", ("Retry policy", "Limits"), ""),
    ("- Port: 80", "Examples", "kind", ("Examples",), ""),
    ("y", "log_level", "thing", ("log_level",), "log_level"),
    ("z", "Other", "kind", ("Other",), "")])
def test_a_fact_belongs_to_its_section(text, section, kind, sections, owner):
    subject = found(MANUAL)[text]
    assert subject.document == "Orsa R-9"
    assert (subject.section, subject.section_kind, subject.sections, subject.owner) == (
        section, kind, sections, owner)


def test_a_release_is_the_subject_of_its_section_and_not_the_document():
    subject = found(CHANGES, "quill-changelog.md")["New."]
    assert (subject.name, subject.is_version, subject.owner) == (
        "version 2.4.0", True, "version 2.4.0")
    assert (subject.document, subject.section) == ("Changelog", "")
    assert found(CHANGES, "quill-changelog.md")["- a"].owner == ""


@pytest.mark.parametrize(("use", "product"), [
    ("Each pipeline has one queue. A pipeline stops it; the pipeline waits.", "Exec"),
    ("The quills of pipelines: pipeline one, pipeline two, pipeline three.", "Exec"),
    ("Start pipeline with `run`. Fix pipeline and stop pipeline.", "pipeline")])
def test_a_folder_that_is_an_ordinary_word_is_no_product(use, product):
    subject = found(f"# Exec\n\n{use}\n", "pipeline-exec.md")[use.replace("`", "")]
    assert subject.product == product
