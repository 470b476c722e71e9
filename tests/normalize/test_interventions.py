"""What each intervention does to lists and tables, and that nothing else changes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lib.core.paths import REPOSITORY
from lib.core.records import Document
from lib.documents.blocks import parse
from lib.normalize.interventions import INTERVENTIONS, prefix_name, repeat_header, verbalize
from lib.normalize.rewrite import lost_tokens

REAL = sorted((REPOSITORY / "tests" / "data" / "documents").glob("*.md"))
NAME = "Corvane P-417"
RECORD = f"""# {NAME}

The default port of {NAME} is 8443.

## Settings

- Memory size: 40 MB

Supported platforms:

- Linux
- QNX

## Data sheet

| Item | Entry |
| --- | --- |
| Service interval | 300 hours |
| Supplier | Holm \\| Sons |
| Release date | |
"""


def document(text: str, title: str = NAME) -> Document:
    return Document(document_id="corvane-p-417", title=title, path="", text=text)


def changed(before: str, after: str) -> list[tuple[str, str]]:
    """Return the lines that differ, of texts with as many lines."""
    pairs = zip(before.splitlines(), after.splitlines(), strict=True)
    return [(old, new) for old, new in pairs if old != new]


def kinds(text: str) -> list[str]:
    return [block.kind for block in parse(text)]


def test_a_cell_has_its_header_and_nothing_else_changes():
    assert changed(RECORD, repeat_header(document(RECORD))) == [
        ("| Service interval | 300 hours |", "| Item: Service interval | Entry: 300 hours |"),
        ("| Supplier | Holm \\| Sons |", "| Item: Supplier | Entry: Holm \\| Sons |"),
        ("| Release date | |", "| Item: Release date | |")]


def test_items_and_rows_name_the_subject_and_nothing_else_changes():
    assert [new for _, new in changed(RECORD, prefix_name(document(RECORD)))] == [
        f"- {NAME}: Memory size: 40 MB", f"- {NAME}: Linux", f"- {NAME}: QNX",
        "| Subject | Item | Entry |", "| --- | --- | --- |",
        f"| {NAME} | Service interval | 300 hours |", f"| {NAME} | Supplier | Holm \\| Sons |",
        f"| {NAME} | Release date | |"]


def test_an_item_that_names_the_subject_already_is_left_alone():
    text = f"# {NAME}\n\n- {NAME} needs 40 MB\n"
    assert prefix_name(document(text)) == text


def test_the_release_that_a_heading_names_is_the_subject():
    text = ("# Corvane changes\n\n## v2.1\n\n- Fix the valve. Corvane only.\n\n## v2.0\n\n"
            "- New rotor for Corvane.\n")
    named = prefix_name(document(text, "Corvane changes"))
    assert "- Corvane v2.1: Fix the valve" in named and "- Corvane v2.0: New rotor" in named


def test_lists_and_tables_become_sentences_under_their_headings():
    assert verbalize(document(RECORD)) == f"""# {NAME}

The default port of {NAME} is 8443.

## Settings

The memory size of {NAME} is 40 MB.

The supported platforms of {NAME} are Linux and QNX.

## Data sheet

The service interval of {NAME} is 300 hours. The supplier of {NAME} is Holm | Sons. """ \
        "No value is given for Release date.\n"


@pytest.mark.parametrize(("name", "kept", "gone"), [
    ("targeted-tabular", "list", "table"), ("targeted-entity-list", "table", "list")])
def test_only_the_named_structure_is_rewritten(name, kept, gone):
    before, after = parse(RECORD), parse(INTERVENTIONS[name](document(RECORD)))
    texts = [block.text for block in before if block.kind == kept]
    assert texts and [block.text for block in after if block.kind == kept] == texts
    assert gone not in {block.kind for block in after}


def test_a_structure_other_than_list_or_table_is_refused():
    with pytest.raises(ValueError, match="'natural'.*entity-list, tabular"):
        verbalize(document(RECORD), ["natural"])


NESTED = """# Corvane P-417

1. Build it:
   ```sh
   make
     install
   ```
2. Ports:

   | Port | Use |
   |---|---|
   | 8443 | admin |

   - [ ] open them

> Options:
>
> - alpha
> - beta
>
> Key | Unit
> --|--
> gap | mm
"""


def test_code_and_tables_inside_lists_keep_their_own_form():
    lists = INTERVENTIONS["targeted-entity-list"](document(NESTED))
    assert "```sh\nmake\n  install\n```\n" in lists
    assert "\n| Port | Use |\n|---|---|\n| 8443 | admin |\n" in lists
    assert kinds(lists).count("table") == 2
    tables = INTERVENTIONS["targeted-tabular"](document(NESTED))
    assert ("2. Ports:\n\n   For port 8443 in Corvane P-417, the use is admin.\n\n"
            "   - [ ] open them\n") in tables
    assert tables.endswith(">\n> For key \"gap\" in Corvane P-417, the unit is mm.\n")


def test_quoted_and_nested_rows_and_tasks_are_found():
    named = prefix_name(document(NESTED)).splitlines()
    assert {"2. Corvane P-417: Ports:", "   | Subject | Port | Use |", "   | --- |---|---|",
            "   | Corvane P-417 | 8443 | admin |", "   - [ ] Corvane P-417: open them",
            "> - Corvane P-417: alpha", "> Subject | Key | Unit", "> --- | --|--",
            "> Corvane P-417 | gap | mm"} <= set(named)
    assert "> Key: gap | Unit: mm\n" in repeat_header(document(NESTED))


def test_windows_line_breaks_stay():
    text = RECORD.replace("\n", "\r\n")
    for name, intervene in INTERVENTIONS.items():
        expected = intervene(document(RECORD)).replace("\n", "\r\n")
        assert intervene(document(text)) == expected, name


def test_what_touches_a_list_or_table_is_not_drawn_into_its_sentence():
    text = f"# {NAME}\n\n- alpha\n---\n| A | B |\n| - | - |\n| x | y |\n- beta\n"
    # no second heading: the dashes stay a rule
    assert kinds(verbalize(document(text))) == ["heading", "prose", "prose", "prose"]
    assert "table" in kinds(INTERVENTIONS["targeted-entity-list"](document(text)))


words = st.sampled_from(["port", "8443", "valve open", "40 MB", "a\\|b", "`code`", "**bold** word",
                         ""])
items = st.tuples(st.sampled_from(["- ", "  - ", "1. "]), words.filter(bool)).map("".join)
rows = st.tuples(words, words).map(lambda cells: f"| {cells[0]} | {cells[1]} |")
prose = st.sampled_from(["Plain words stay here.", "## Section", "> quoted words",
                         "```\ncode | here\n- no item\n```"])
lists = st.lists(items, min_size=1, max_size=4).map("\n".join)
tables = st.lists(rows, max_size=3).map(
    lambda body: "\n".join(["| Name | Size |", "| --- | --- |", *body]))
sources = st.lists(st.one_of(prose, lists, tables), min_size=1, max_size=6).map("\n\n".join)


@given(sources)
def test_all_except_lists_and_tables_stays_and_no_word_is_lost(text):
    before = document(f"# {NAME}\n\n{text}\n")
    kept = [block.text for block in parse(before.text) if block.kind not in ("list", "table")]
    for name, intervene in INTERVENTIONS.items():
        after = intervene(before)
        assert lost_tokens(before.text, after) == [], name
        rest = iter(block.text for block in parse(after))
        assert all(text in rest for text in kept), name


@given(sources)
def test_cells_and_items_are_as_many_after_as_before(text):
    before = document(f"# {NAME}\n\n{text}\n")
    for intervene, more in ((repeat_header, 0), (prefix_name, 1)):
        for old, new in zip(parse(before.text), parse(intervene(before)), strict=True):
            assert (old.kind, len(old.items), len(old.rows)) == (
                new.kind, len(new.items), len(new.rows))
            assert len(new.header) == len(old.header) + more * (old.kind == "table")
    assert repeat_header(document(repeat_header(before))) == repeat_header(before)


@pytest.mark.parametrize("path", REAL, ids=lambda path: path.stem)
def test_real_documents_lose_no_word(path):
    text = path.read_text(encoding="utf-8")
    blocks = parse(text)
    title = next((block.text for block in blocks if block.kind == "heading"), path.stem)
    before = Document(document_id=path.stem, title=title, path=str(path), text=text)
    in_lists = "\n".join(block.text for block in blocks if block.kind == "list")
    kept = [block.text for block in blocks if block.kind == "heading" or (
        block.kind == "code" and block.text not in in_lists)]
    for name in ("repeat-header", "prefix-name", "verbalize"):
        after = INTERVENTIONS[name](before)
        assert lost_tokens(text, after) == [], name
        rest = iter(block.text for block in parse(after))
        assert all(text in rest for text in kept), name
