"""solve: on hand-worked texts, on any text, and compared with the generator."""

import re
from itertools import product

import pytest

from lib.core.store import BadInput
from lib.structext.names import QUESTIONS as OURS
from lib.structext.names import TASKS
from lib.structext.samples import generate
from lib.structext.solve import solve, task_of

CSV = """primeKey,gender,age,name,height,weight,color
a,female,43,n,183,99,olive
b,male,44,o,125,127,brown
c,female,31,p,160,80,brown

primeKey,status,salary,company,location
a,employed,762825,Meta,GA
b,retired,729943,Meta,GA
c,employed,1000,Meta,CA"""
TREE = "f->g\ng->h\ng->i\nf->j\nh->k"
JSON = """{
"id":"s",
"Z":"}",
"subs":[
 {
 "id":"t",
 "Y":"s",
 "subs":[]
 },
 {
 "id":"u",
 "X":"a b",
 "subs":[
  {
  "id":"v",
  "W":"\\"{",
  "subs":[]
  }
 ]
 }
]
}"""
YAML = """id: "s"
NO: c,
subs:
- id: "t"
  "Y": "s"
  subs: []
- id: "u"
  ON: no
  subs:
  - id: "v"
    W: d
    subs: []"""
XML = """<?xml version="1.0" encoding="UTF-8"?>
<A Z="v">
 <B Y="ü" X="u">
  <C>
   cafe
  </C>
  <D W="t"/>
  banana
 </B>
 apple
</A>"""
MARKDOWN = """j
halo **yogurt**essence ![alt](oh.png "hover text")
# k
id**zen lamb**iot
## l
jargon
### m
kan
## n
lamb ![alt](ph.jpg "hover text")
# o
**yogurt** nob"""
IMAGE = r'!\[alt\]\((\S+) "hover text"\)'
LATEX = re.sub(
    r"\*\*(.*?)\*\*",
    r"\\textbf{\1}",
    re.sub(IMAGE, r"\\includegraphics[width=0.5\\textwidth]{\1}", MARKDOWN),
)
for marks, command in (("###", "subsubsection"), ("##", "subsection"), ("#", "section")):
    LATEX = re.sub(rf"^{marks} (.*)$", rf"\\{command}{{\1}}", LATEX, flags=re.MULTILINE)
ORG = re.sub(
    r"^#+",
    lambda found: "*" * len(found[0]),
    re.sub(IMAGE, r"[[\1]]", MARKDOWN.replace("**", "*")),
    flags=re.MULTILINE,
)
EXCERPT = "The content should be an excerpt as it appears in the file"
SYNTAX = (
    "Is there any structural error in this XYZ? If so, give the answer 'True' and spot them out."
)
WAY = "Answer should be like obj[key or index 1][key or index 2][key or index 3]..."


@pytest.mark.parametrize(
    ("language", "reference", "question", "answer"),
    [
        ("csv", CSV, "What is the company of record with primeKey b", "Meta"),
        ("csv", CSV, "What is the age of record with primeKey c", "31"),
        ("csv", CSV, "How many people work with salary more than 729943?", "1"),
        ("csv", CSV, "How many people are male?", "1"),
        ("csv", CSV, "How many people who work in GA are taller than 125?", "1"),
        ("tree", TREE, "What is the height of the root node, i.e., the number of edges", "3"),
        ("tree", TREE, "What is the depth of node k? Answer an integer, root is of depth 0.", "3"),
        ("tree", TREE, "What is the depth of node f? Answer an integer, root is of depth 0.", "0"),
        (
            "tree",
            TREE,
            "What is the path from the root node to the node i. Answer should look like A->D->H.",
            "f->g->i",
        ),
        (
            "json",
            JSON,
            f"What is the object with id v? {EXCERPT}",
            '{\n  "id":"v",\n  "W":"\\"{",\n  "subs":[]\n  }',
        ),
        ("json", JSON, "What is the first object's id of subs?", "t"),
        ("json", JSON, SYNTAX, "False"),
        ("json", JSON.replace(" },\n {", ",\n {"), SYNTAX, "True"),
        ("json", JSON, f'How to access value "a b"? {WAY}', 'obj["subs"][1]["X"]'),
        ("json", JSON, f'How to access value "s"? {WAY}', 'obj["subs"][0]["Y"]'),
        (
            "json",
            JSON,
            "What are the most deeply nested objects, i.e., no value of type list or dict?"
            f"{EXCERPT}",
            '{\n "id":"t",\n "Y":"s",\n "subs":[]\n }\n\n{\n  "id":"v",\n  "W":"\\"{",\n  '
            '"subs":[]\n  }',
        ),
        (
            "yaml",
            YAML,
            f"What is the object with id v? {EXCERPT}",
            'id: "v"\n    W: d\n    subs: []',
        ),
        (
            "yaml",
            YAML,
            OURS["corrected"]["yaml.0"].format(id="v"),
            '- id: "v"\n    W: d\n    subs: []',
        ),
        ("yaml", YAML, "What is the first object's id of subs?", "t"),
        ("yaml", YAML, SYNTAX, "False"),
        ("yaml", YAML.replace("W: d", ":d"), SYNTAX, "True"),
        ("yaml", YAML, f'How to access value "c"? {WAY}', 'obj["NO"]'),
        ("yaml", YAML, f'How to access value "no"? {WAY}', 'obj["subs"][1]["ON"]'),
        (
            "yaml",
            YAML,
            OURS["corrected"]["yaml.4"],
            '- id: "t"\n  "Y": "s"\n  subs: []\n\n- id: "v"\n    W: d\n    subs: []',
        ),
        (
            "xml",
            XML,
            f"What is the content of tag B? {EXCERPT}",
            '<C>\n   cafe\n  </C>\n  <D W="t"/>\n  banana',
        ),
        ("xml", XML, f"What is the content of tag C? {EXCERPT}", "cafe"),
        ("xml", XML, f"What is the content of tag D? {EXCERPT}", ""),
        ("xml", XML, "What is the tag with attribute of value t?", "D"),
        ("xml", XML, SYNTAX, "False"),
        ("xml", XML.replace("  </C>\n", ""), SYNTAX, "True"),
    ],
)
def test_an_official_question_is_answered_from_the_text(language, reference, question, answer):
    assert solve(language, question, reference) == answer


@pytest.mark.parametrize(
    ("language", "reference"), [("markdown", MARKDOWN), ("latex", LATEX), ("org", ORG)]
)
def test_documents_are_read_alike_in_each_notation(language, reference):
    lines = reference.split("\n")
    bold, images = "Extract all bold texts. Print those", "Extract all included image files. Print"
    assert solve(language, bold, reference) == "yogurt\nzen lamb\nyogurt"
    assert solve(language, images, reference) == "oh.png\nph.jpg"
    for question, start, end in (
        ("1th section", 2, 10),
        ("1th subsection under 1th section", 4, 8),
        ("2th subsection under 1th section", 8, 10),
        ("2th section", 10, 12),
        ("1th subsubsection under 1th subsection under 1th section", 6, 8),
    ):
        asked = f"What is the content of {question}? {EXCERPT}"
        assert solve(language, asked, reference) == "\n".join(lines[start:end])
    way = (
        "\\subsection number 2 under \\section number 1"
        if language == "latex"
        else "heading number 2 of level 2 under heading number 1 of level 1"
    )
    ours = OURS["corrected"][f"{language}.1"].format(place=way)
    assert solve(language, ours, reference) == "\n".join(lines[8:10])


def test_org_links_and_headings_are_not_images_and_bold_texts():
    text = "[[a.png]] [[file:b.png]] [[file:c.png][d]]"
    assert solve("org", OURS["corrected"]["org.2"], text) == "b.png\nc.png"
    assert solve("org", OURS["faithful"]["org.2"], text) == "a.png\nb.png\nc.png"  # official
    stars = "a *b* c\n** d\n*e* f * g\n*** h*"
    assert solve("org", "Extract all bold texts.", stars) == "b\ne"
    assert (
        solve("org", "Extract all bold texts. Print", "* a\nb")
        == "No bold texts presented in file."
    )


@pytest.mark.parametrize(
    ("language", "question", "reference", "message"),
    [
        ("cobol", "What?", "", "no known question about cobol"),
        ("json", "What is the object with id q? The", JSON, "does not answer"),
        ("json", "What is the first object's id of subs?", "[" * 100_000, "does not answer"),
        ("tree", "What is the height of the root node", "c->d\nd->c", "cycle"),
        ("markdown", "What is the content of 3th section? The", MARKDOWN, "2 headings of level 1"),
    ],
)
def test_what_cannot_be_answered_says_why(language, question, reference, message):
    with pytest.raises(BadInput, match=message):
        solve(language, question, reference)


@pytest.mark.parametrize(
    ("depth", "width", "per_task"),
    [
        *((1, n, 4) for n in (1, 2, 3)),
        *((2, n, 3) for n in (1, 2, 3)),
        (3, 1, 1),
        (3, 2, 1),
        (4, 1, 1),
    ],
)
def test_the_solver_gives_the_generators_answer_to_every_task(depth, width, per_task):
    for seed, is_real in product((7, 8), (False, True)):
        samples = list(generate("corrected", depth, width, per_task, seed, is_real))
        assert [one.task for one in samples[: len(TASKS)]] == [*TASKS]
        for one in samples:
            assert task_of(one.language, one.question) == one.task
            assert solve(one.language, one.question, one.reference) == one.answer, one.id
