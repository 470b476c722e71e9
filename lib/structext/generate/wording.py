"""The words of StrucText-Eval: a question and a hint for each task, in sentences of our own.

Corrected questions name one thing only, at any depth, and say how the answer is laid out. Faithful ones are as loose
as the official ones: "people work" counts the retired too, a section is named by at most three levels, nobody says
which object's `subs` is meant, and a list of nothing has a fixed sentence that the question does not tell.
Excerpts run from the first character that is no blank to the last such, character for character.
"""

from lib.structext.records import EXTRA_TASKS, TASKS

NO_BOLD = "The file holds no bold text."
NO_IMAGE = "The file includes no image."
_NAMES = {"csv": "CSV", "tree": "tree", "json": "JSON", "yaml": "YAML", "xml": "XML", "latex": "LaTeX",
          "markdown": "Markdown", "org": "Org", "toml": "TOML", "html-table": "HTML", "markdown-table": "Markdown",
          "log": "log"}

_RECORDS = (
    "What is the {field} in the record whose primeKey is {key}?",
    "How many people have a salary above {salary}? Count people of every status. Answer with a number.",
    "How many people are {gender}? Answer with a number.",
    "How many people whose location is {place} are taller than {height}? Count people of every status. "
    "Answer with a number.",
)
_OBJECTS = (
    "Which object has the id {id}? Copy it from the {file} file character for character, {extent}.",
    "What is the id of the first object in the subs of the outermost object?",
    "Does this {file} file have a structural error? Answer True if it has one and False if it has none.",
    'Which path leads to the value "{value}"? Write it like obj["subs"][0]["KEY"].',
    "Which objects have no objects in their subs? Copy them in the order of the {file} file character for "
    "character, {extent}, with an empty line between two objects.",
)
_DOCUMENT = (
    "Which texts are bold? Write them in the order of the {file} file, one a line, and a text that is bold several "
    f'times as often. If there is none, write "{NO_BOLD}"',
    "Which part of the {file} file stands under {place}? Copy it character for character, with its heading line and "
    "all parts below it.",
    "Which image files are included? Write their names in the order of the {file} file, one a line. "
    f'If there is none, write "{NO_IMAGE}"',
)
_CORRECTED = {
    "csv": _RECORDS, "html-table": _RECORDS, "markdown-table": _RECORDS,
    "json": _OBJECTS, "yaml": _OBJECTS, "toml": (
        "What is the value of {name} in the object with the id {id}?", *_OBJECTS[1:4]),
    "latex": _DOCUMENT, "markdown": _DOCUMENT, "org": _DOCUMENT,
    "tree": (
        "What is the height of the root, the number of edges on the longest way down from it to a leaf? "
        "Answer with a number.",
        "What is the depth of the node {id}, where the root has depth 0? Answer with a number.",
        "Which path leads from the root to the node {id}? Write it like a->b->c; for the root, its id alone.",
    ),
    "xml": (
        "What is the content of the tag {tag}? Copy it from the XML file character for character, without the tag "
        "itself and without the blanks and line breaks at both ends.",
        'Which tag has an attribute with the value "{value}"? Answer with the name of the tag.',
        _OBJECTS[2],
    ),
    "log": (
        "What is the {field} in the line whose event is {key}?",
        "How many lines have the level {level}? Answer with a number.",
        "How many lines of the service {service} have a duration_ms above {limit}? Answer with a number.",
        "Through which services did the request {request} go? Write them in the order of the lines, like a->b->c.",
    ),
}
_LOOSE_OBJECTS = (
    "Which object has the id {id}? Give it as the excerpt that stands in the {file} file.",
    "What is the id of the first object in subs?",
    "Is anything wrong with the structure of this {file} file? Answer 'True' and say where, or answer 'False'.",
    'How is the value "{value}" reached? The answer looks like obj[key or index][key or index]...',
    "Which objects are nested deepest, so that no list or dict stands in them? Give them as excerpts of the {file} "
    "file, with \\n\\n between them.",
)
_LOOSE_DOCUMENT = (
    "Which texts are bold? Give them as they stand, with \\n between them.",
    "What does {place} say? Give the excerpt that stands in the {file} file, with its heading line and everything "
    "below it.",
    "Which image files are included? Give their names with \\n between them.",
)
_FAITHFUL = _CORRECTED | {
    "csv": (
        "What is the {field} of the record with primeKey {key}",
        "How many people work and have a salary above {salary}?",
        "How many people are {gender}?",
        "How many people who work in {place} are taller than {height}?",
    ),
    "json": _LOOSE_OBJECTS, "yaml": _LOOSE_OBJECTS,
    "latex": _LOOSE_DOCUMENT, "markdown": _LOOSE_DOCUMENT, "org": _LOOSE_DOCUMENT,
    "xml": (
        "What does the tag {tag} hold? Give it as the excerpt that stands in the XML file.",
        "Which tag has an attribute of value {value}?",
        _LOOSE_OBJECTS[2],
    ),
}
_EXTENTS = {"json": "from its opening brace to its closing brace",
            "yaml": "from its id (with the dash before it, if there is one) to the end of its subs"}

_HINT_RECORDS = (
    "Find the row that begins with this primeKey in the table that has the wanted column, then read that column.",
    "In the table with the column salary, go through the rows and count those whose salary is greater than the limit; "
    "an equal one does not count.",
    "In the table with the column gender, go through the rows and count those with the wanted value.",
    "Note the primeKey of each row with this location in the one table; look each up in the other table and count "
    "those whose height is greater than the limit.",
)
_HINT_OBJECTS = (
    "Begin with the outermost object and look through the objects in its subs, and through theirs, until an id is the "
    "wanted one; the object ends where its own subs end.",
    "Take the outermost object, then the list under its key subs, then the first object of the list; read its id.",
    "Read line by line and keep count of what is open: {flaw}",
    "Find the line with the value and note its key. Then go outwards: for each enclosing object, note how many "
    "objects stand before it in its list, counted from 0. Write the outermost first.",
    "Read from top to bottom and take each object whose subs is the empty list; copy these objects whole.",
)
_FLAWS = {
    "json": "every opening brace needs its closing brace before the list around it ends.",
    "yaml": "a line that begins with a colon lacks its key.",
    "xml": "every tag that opens needs its end tag before the tag around it ends.",
    "toml": "a quotation mark that opens a value must close it on the same line.",
}
_HINTS = {
    "csv": _HINT_RECORDS, "html-table": _HINT_RECORDS, "markdown-table": _HINT_RECORDS,
    "json": _HINT_OBJECTS, "yaml": _HINT_OBJECTS, "toml": (
        "Find the line that gives this id; the object's other keys are the lines below it, up to the next header in "
        "double brackets.",
        "Each header in double brackets opens one more object, and a longer one stands inside the object above it. "
        "Find the first header [[subs]] and read the id below it.", *_HINT_OBJECTS[2:4]),
    "tree": (
        "Each line is an edge from a father to a child. The root is the father that is never a child. From it, go "
        "down edge by edge, level by level, until no node of the level is a father; count the levels below the root.",
        "Find the line where the node is the child, then the line where its father is the child, and so on up to the "
        "node that is never a child; count the lines.",
        "Find the line where the node is the child, then the line where its father is the child, and so on up to the "
        "root; write the nodes from the root down.",
    ),
    "xml": (
        "Find the line where the tag opens and the line of its end tag; the content is everything between the two.",
        "Find the value in quotation marks; the tag's name is the word after the angle bracket that opens that line.",
        _HINT_OBJECTS[2],
    ),
    "latex": (
        "Bold text begins after \\textbf{ and ends at the next closing brace; read from top to bottom.",
        "Count the headings of the outermost level down to the wanted number; within that part count those of the "
        "next level, and so on. The part ends before the next heading of its own or a higher level.",
        "An image stands in \\includegraphics; its file name is in the braces after the square brackets.",
    ),
    "markdown": (
        "Bold text stands between two pairs of asterisks; read from top to bottom.",
        "The number of # is a heading's level. Count the headings of level 1 down to the wanted number; within that "
        "part count those of level 2, and so on. The part ends before the next heading with as many # or fewer.",
        "An image begins with ![; its file name stands after the opening parenthesis, up to the blank.",
    ),
    "org": (
        "Bold text stands between two single asterisks on one line; asterisks at the beginning of a line with a blank "
        "after them make a heading. Read from top to bottom.",
        "The number of * at the beginning of a line is a heading's level. Count the headings of level 1 down to the "
        "wanted number; within that part count those of level 2, and so on. The part ends before the next heading "
        "with as many * or fewer.",
        "An image's file name stands between two pairs of square brackets.",
    ),
    "log": (
        "Find the line with this event; read the text after the field's name and the equals sign.",
        "Go through the lines and count those with this level.",
        "Go through the lines and count those that have both this service and a duration_ms greater than the limit.",
        "Take the lines with this request from top to bottom and write down the service of each.",
    ),
}


def _hint(task: str) -> str:
    language, index = task.split(".")
    return _HINTS[language][int(index)].replace("{flaw}", _FLAWS.get(language, ""))


HINTS = {task: _hint(task) for task in (TASKS | EXTRA_TASKS)}


def question_template(mode: str, task: str) -> str:
    """The question of `task` in `mode` with its slots in braces; the file's kind is already filled in."""
    language, index = task.split(".")
    sentence = (_CORRECTED if mode == "corrected" else _FAITHFUL)[language][int(index)]
    return sentence.replace("{file}", _NAMES[language]).replace("{extent}", _EXTENTS.get(language, ""))


QUESTIONS = {mode: {task: question_template(mode, task) for task in (TASKS | EXTRA_TASKS)}
             for mode in ("corrected", "faithful")}


def section_place(language: str, ranks: list[int], is_corrected: bool) -> str:
    """The {place} of a part of a document: `ranks` (from 0) of the part and those around it, the outermost first."""
    numbered = list(enumerate(ranks, 1))[::-1]
    if not is_corrected:
        return " under ".join(f"{rank + 1}th {'sub' * (level - 1)}section" for level, rank in numbered if level < 4)
    if language == "latex":
        return " under ".join(f"\\{latex_heading(level)} number {rank + 1}" for level, rank in numbered)
    return " under ".join(f"heading number {rank + 1} of level {level}" for level, rank in numbered)


def latex_heading(level: int) -> str:
    """The command of a heading of `level` 1-5 in a LaTeX article, without its backslash."""
    return ("section", "subsection", "subsubsection", "paragraph", "subparagraph")[level - 1]
