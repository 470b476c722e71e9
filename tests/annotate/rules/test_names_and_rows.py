"""lib.annotate.rules: rows of several keys, lead-ins, idioms, and names by folder."""

import pytest

from lib.annotate.queries import annotate
from lib.annotate.rules.engine import by_rules
from lib.core.records import Document

PAGE = "# Orsa gate\n\n## Limits\n\n{}\n"


def asked(text: str) -> dict[str, str]:
    """Return question -> answer of one document, without the place."""
    document = Document(document_id="d.md", title="Orsa gate", path="", text=text)
    queries, _ = annotate([document], by_rules, 100)
    return {query.question.split(", ", 1)[1]: query.answer for query in queries}


@pytest.mark.parametrize("sentence", [
    "The lid motor should start up.", "The gate server keeps track of open lids.",
    "The lid queue is stored in place.", "The gate caches target lists.",
    "The old lid motor can be replaced by making an update."])
def test_idioms_and_empty_answers_are_not_asked(sentence):
    assert asked(PAGE.format(sentence)) == {}


@pytest.mark.parametrize(("lead", "question"), [
    ("The following lid operators exist in Orsa:", "which lid operators exist in Orsa?"),
    ("If the lid is shut, use the following flags:", ""), ("To open a lid, take two steps:", "")])
def test_a_lead_in_asks_with_its_own_words(lead, question):
    items = "- `X-Lid` (opens)\n- `X-Hold` (holds)\n- `X-Drop`. Drops all of them."
    found = asked(PAGE.format(f"{lead}\n\n{items}"))
    assert found == ({question: "X-Lid\nX-Hold\nX-Drop"} if question else {})


def test_a_row_is_named_by_as_many_columns_as_tell_it_apart():
    table = ("| Clients | Streams | Memory |\n|---|---|---|\n| 1k | 1 | 50 MB |\n"
             "| 1k | 10 | 90 MB |\n| 2k | 1 | 110 MB |")
    assert asked(PAGE.format(table)) == {
        'what is the "Memory" entry for clients "1k" and streams "1"?': "50 MB",
        'what is the "Memory" entry for clients "1k" and streams "10"?': "90 MB",
        'what is the "Memory" entry for clients "2k" and streams "1"?': "110 MB"}


def test_a_general_title_is_told_apart_by_the_product_of_its_folder():
    fact = "Logs of Tarn are kept by tarn. Tarn needs tarn. The default port is {}.\n"
    pages = {"tarn-docs/storage.md": "# Storage\n\n" + fact.format(81),
             "tarn-docs/usage.md": "# Usage\n\n" + fact.format(82),
             "tarn-docs/queue.md": "# Queue\n\n" + fact.format(83),
             "tarn-docs/lids.md": "# Lids\n\n" + fact.format(84),
             "alone.md": "# Storage\n\nThe default port is 85.\n"}
    documents = [Document(document_id=name, title=text.split("\n")[0].strip("# "), path="",
                          text=text) for name, text in pages.items()]
    queries, _ = annotate(documents, by_rules, 10)
    asked_of = {query.document_id: query.question for query in queries}
    assert asked_of["tarn-docs/queue.md"] == 'In "Queue" (Tarn), what is the default port?'
    assert "(tarn-docs/storage)" in asked_of["tarn-docs/storage.md"]  # two are called Storage
