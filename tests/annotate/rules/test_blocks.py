"""lib.annotate.rules on tables, lists and places: the classes of error that readers found."""


import pytest

from lib.annotate.queries import annotate
from lib.annotate.rules.engine import by_rules
from lib.core.records import Document
from tests.growth import ends


def asked(*texts: str, **fields: str) -> dict[str, str]:
    """Return question -> answer of documents d0, d1, …, titled by their first lines."""
    documents = [Document(document_id=f"d{number}.md", title=text.split("\n")[0].strip("# "),
                          path="", text=text, **fields) for number, text in enumerate(texts)]
    queries, rejected = annotate(documents, by_rules, 100)
    assert all(row.reason for row in rejected)
    return {query.question: query.answer for query in queries}


TABLE = "# Orsa gate\n\n## Tuning\n\n{}\n"


@pytest.mark.parametrize(("rows", "questions"), [
    ("| Option | Default | Required |\n|---|---|---|\n| `a.b` | 5 | yes |\n| `a.c` | 6 | no |",
     {'what is the default value of the option "a.b"?': "5",
      'what is the default value of the option "a.c"?': "6"}),
    ("| Mode | Port<br>number |\n|---|---|\n| fast | 81 |\n| slow | 82 |",
     {'what is the port number of the mode "fast"?': "81",
      'what is the port number of the mode "slow"?': "82"}),
    ("| Pump | Pressure |\n|---|---|\n| P-1 | 5 bar |\n| P-2 | 7 bar |",
     {'what is the pressure of the pump "P-1"?': "5 bar",
      'what is the pressure of the pump "P-2"?': "7 bar"}),
    ("| Rail | Min | Max | Unit |\n|---|---|---|---|\n| A1 | 4.5 | 5.5 | V |",
     {'what is the minimum of the rail "A1", in V?': "4.5",
      'what is the maximum of the rail "A1", in V?': "5.5"}),
    ("| | Lite | Pro |\n|---|---|---|\n| Weight | 5 kg | 7 kg |\n| Users | 3 | 9 |",
     {'what is the weight of "Lite"?': "5 kg", 'what is the weight of "Pro"?': "7 kg",
      'what is the "Users" entry for "Lite"?': "3", 'what is the "Users" entry for "Pro"?': "9"}),
    ("| Flag | Description |\n|---|---|\n| `-q` | Suppress all messages of the parser. |",
     {'which flag is described as "Suppress all messages of the parser"?': "-q"}),
    ("| Name | Purpose | Default |\n|---|---|---|\n| kilo | Sets how far all lids open. Rare. | |",
     {'which setting is described as "Sets how far all lids open"?': "kilo"}),
    ("| | | |\n|---|---|---|\n| Field | Type | Description |\n| a_b | text | x |",
     {'what is the type of the field "a_b"?': "text"}),
    # a version may be that of the option or since when it exists
    ("| Option | Version |\n|---|---|\n| a_b | 2.1 |\n| a_c | 2.2 |", {}),
    ("| Package | Version |\n|---|---|\n| a_b | 2.1 |\n| a_c | 2.2 |",
     {'what is the version of the package "a_b"?': "2.1",
      'what is the version of the package "a_c"?': "2.2"}),
    # several rows share a label; a result depends on other cells; numbers are no labels
    ("| Depth | Address | Result |\n|---|---|---|\n| 0 | a | x |\n| 0 | b | y |", {}),
    ("| Input | Result |\n|---|---|\n| up | on |\n| down | off |", {}),
    ("| # | Name |\n|---|---|\n| 1 | alfa |\n| 2 | beta |", {}),
    ("| Mode | Size |\n|---|---|\n| fast | 5<br>6 |\n| slow | if set, 7 |", {}),
])
def test_a_cell_is_asked_by_what_its_headers_mean(rows, questions):
    found = asked(TABLE.format(rows))
    assert {question.split(", ", 1)[1]: answer for question, answer in found.items()} == questions


def test_a_cell_shows_its_header_and_the_tables_of_a_doubtful_document_are_not_asked():
    text = TABLE.format("| Mode | Port |\n|---|---|\n| fast | 81 |\n| slow | 82 |")
    document = Document(document_id="d", title="Orsa gate", path="", text=text)
    queries, _ = annotate([document], by_rules)
    assert [(query.source_header, query.source_reference) for query in queries] == [
        ("Mode | Port", "fast | 81"), ("Mode | Port", "slow | 82")]
    queries, rejected = annotate([document.model_copy(update={"doubt": "scanned"})], by_rules)
    assert queries == [] and rejected[0].reason == "the tables are in doubt: scanned"


@pytest.mark.parametrize(("text", "answer"), [
    ("The following oils are approved:\n\n- Klar G2\n- Oilex 32\n", "Klar G2\nOilex 32"),
    ("The gate checks names in the following files:\n\n- `a.txt`\n- `b.txt`\n", "a.txt\nb.txt"),
    ("Possible modes:\n\n- **fast**: skips the check of all lids\n- **slow**: checks every lid\n",
     "fast\nslow"),
    ("Possible modes:\n\n- fast, without the check\n- The gate checks every lid.\n", None),  # mixed
    ("Intervals:\n\n- Oil: 500 hours\n- Seal: 900 hours\n", None),  # values, not what is listed
    ("The modes are good. Note that:\n\n- fast\n- slow\n", None),
    ("Possible modes:\n\n- fast\n  - really\n- slow\n", None),
    ("The valid modes are currently:\n\n- fast\n- slow\n", "fast\nslow"),
    ("The modes are simpler:\n\n- fast\n- slow\n", None),  # selects none of the modes
    ("The actual modes are:\n\n- fast\n- slow\n", None),
    ("Possible modes:\n\n- fast\n", None),  # one entity is no enumeration
])
def test_only_a_real_enumeration_is_asked(text, answer):
    found = asked(f"# Orsa gate\n\n## Use\n\n{text}")
    assert list(found.values()) == ([] if answer is None else [answer])


@pytest.mark.parametrize(("items", "n_asked"), [
    ("- Port: 81\n- Colour: red\n", 2), ("- Debugging: 81\n- Port: 82\n", 0),
    ("- Port: Open the gate first\n- Colour: red\n", 0), ("- Port: when it is set\n", 0)])
def test_key_value_bullets_are_asked_if_all_keys_are_attributes(items, n_asked):
    assert len(asked(f"# Orsa G-12\n\n{items}")) == n_asked
    assert not asked(f"# Orsa gate\n\n{items}")  # the title names no one thing


def test_a_fact_is_asked_of_its_section_not_of_the_title_or_of_other():
    text = ("# Orsa G-12\n\n## Relay\n\n- Voltage: 24 V\n- Current: 3 A\n\n"
            "## Other\n\n- Mass: 3 kg\n- Colour: red\n")
    assert asked(text) == {'Under "Relay" in Orsa G-12, what is the voltage?': "24 V",
                           'Under "Relay" in Orsa G-12, what is the current?': "3 A"}


def test_two_documents_that_answer_a_question_differently_are_told_apart_or_not_asked():
    table = ("# Relay\n\nThis page is about the relay {}.\n\n| Key | Default |\n|---|---|\n"
             "| `a_b` | {} |\n")
    same = asked(table.format("driver", 5), table.format("driver", 6))
    assert same == {'For the Relay driver (d0), what is the default value of the key "a_b"?': "5",
                    'For the Relay driver (d1), what is the default value of the key "a_b"?': "6"}
    text = "# {}\n\n## v1.2\n\nReleased on {}.\n"
    assert asked(text.format("Orsa log", "2024-05-01"), text.format("Orsa log", "2024-06-01")) == {}


@pytest.mark.parametrize("cell", ["*" * 90 + "x", "- " * 90 + "y", "[a](b)  " * 40 + "x",
                                  "a" * 50_000, "(" * 500, "x and " * 300])
def test_a_hostile_cell_item_or_sentence_is_read_to_its_end(cell):
    with ends():
        asked(f"# Orsa\n\n| Mode | Port |\n|---|---|\n| fast | {cell} |\n\n{cell}\n\n"
              f"The {cell} is X.\n\nPorts: {cell}:\n\n- {cell}: {cell}\n- {cell}\n")


@pytest.mark.parametrize(("text", "question"), [
    ("# Queueing\n\n{}", ""),  # says neither product nor part
    ("# Release notes\n\n{}", ""),
    ("A word.\n\n# Gate queues\n\n{}", ""),  # a heading within the text
    ("# Set the gate\n\n[gate]\nopen = 1\n\n# Gate queues\n\n{}", ""),  # comments of a file
    ("# Orsa9\n\n{}", 'For Orsa9, what is the default value of the key "a_b"?'),
    ("# Gate queues\n\n{}", 'In "Gate queues", what is the default value of the key "a_b"?'),
])
def test_a_title_that_identifies_nothing_is_not_asked_about(text, question):
    found = asked(text.format("| Key | Default |\n|---|---|\n| `a_b` | 5 |\n"))
    assert [*found] == [question] * bool(question)


def test_a_document_in_another_language_is_not_asked_and_counted():
    document = Document(document_id="d", title="t", path="", language="ja",
                        text="# ゲート\n\n| Mode | Port |\n|---|---|\n| fast | 81 |\n")
    queries, rejected = annotate([document], by_rules)
    assert queries == [] and "the document is in ja" in rejected[0].reason
