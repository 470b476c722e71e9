"""Each hint of lib.structext.generate.wording, followed step by step, leads to the answer."""

import re

import pytest

from lib.structext.generate.samples import generate
from lib.structext.generate.wording import HINTS
from lib.structext.records import EXTRA_TASKS, TASKS, Sample


def asked(sample: Sample, *patterns: str) -> list[str]:
    """Return the part of the question that each pattern's group matches."""
    return [re.search(pattern, sample.question)[1] for pattern in patterns]


def cells(sample: Sample) -> list[list[list[str]]]:
    """Return the two tables' rows, the first with the columns."""
    row = {"csv": r"([^,]+)", "html-table": r"<t[dh]>(.*?)</t[dh]>",
           "markdown-table": r"\| ([^|]+) (?=\|)"}[sample.language]
    tables = [[re.findall(row, line) for line in table.split("\n") if "---" not in line]
              for table in sample.reference.split("\n\n")]
    return [[line for line in table if len(line) > 1] for table in tables]


def column(table: list[list[str]], name: str) -> dict[str, str]:
    """Return primeKey -> cell."""
    return {row[0]: row[table[0].index(name)] for row in table[1:]}


def table_with(sample: Sample, name: str) -> dict[str, str]:
    return next(column(table, name) for table in cells(sample) if name in table[0])


def cell(sample: Sample) -> str:
    field, key = asked(sample, r"the (\w+) in", r"is (\S+)\?")
    return table_with(sample, field)[key]


def paid_more(sample: Sample) -> str:
    limit = int(asked(sample, r"above (\d+)")[0])
    return str(sum(int(pay) > limit for pay in table_with(sample, "salary").values()))


def of_gender(sample: Sample) -> str:
    genders = list(table_with(sample, "gender").values())
    return str(genders.count(asked(sample, r"are (\w+)\?")[0]))


def join(sample: Sample) -> str:
    place, limit = asked(sample, r"location is (\w+)", r"taller than (\d+)")
    heights, locations = table_with(sample, "height"), table_with(sample, "location")
    return str(sum(int(heights[key]) > int(limit)
                   for key, location in locations.items() if location == place))


def edges(sample: Sample) -> dict[str, str]:
    """Return child -> father."""
    return dict(reversed(line.split("->")) for line in sample.reference.split("\n"))


def tree_height(sample: Sample) -> str:
    fathers = edges(sample)
    level, levels = set(fathers.values()) - set(fathers), 0
    while below := {child for child, father in fathers.items() if father in level}:
        level, levels = below, levels + 1
    return str(levels)


def way_up(sample: Sample) -> list[str]:
    fathers, way = edges(sample), asked(sample, r"node ([^ ,?;]+)[,?]")
    while way[0] in fathers:
        way.insert(0, fathers[way[0]])
    return way


def braces(text: str) -> int:
    """Return where the object that opens at the beginning of `text` ends."""
    level = 0
    for place, character in enumerate(text):
        level += (character == "{") - (character == "}")
        if not level:
            return place + 1
    raise AssertionError("the object does not end")


def json_object(sample: Sample) -> str:
    identity = asked(sample, r"the id (\S+)\?")[0]
    begin = sample.reference.rindex("{", 0, sample.reference.index(f'"id":"{identity}"'))
    return sample.reference[begin:][:braces(sample.reference[begin:])]


def first_of_subs(sample: Sample) -> str:
    below = sample.reference[sample.reference.index("subs"):]
    return re.search(r'id"?\s*[:=]\s*"(\S+)"', below)[1]


def json_is_broken(sample: Sample) -> str:
    opened = []
    for mark in re.findall(r"[\[\]{}]", sample.reference):
        if mark in "[{":
            opened.append(mark)
        elif opened.pop() + mark not in ("[]", "{}"):
            return "True"
    return str(bool(opened))


def tag_is_broken(sample: Sample) -> str:
    opened = []
    for closing, name in re.findall(r"<(/?)([\w-]+)", sample.reference):
        if not closing:
            opened.append(name)
        elif opened.pop() != name:
            return "True"
    return str(bool(opened))


def path(sample: Sample) -> str:
    """Go outwards by indentation: each enclosing object, and how many precede it in its list."""
    lines, value = sample.reference.split("\n"), asked(sample, 'value "(.*?)"')[0]
    at = next(place for place, line in enumerate(lines)
              if re.search(rf'": ?"{re.escape(value)}"', line))
    steps = ['["' + re.search('"(.*?)"', lines[at])[1] + '"]']
    indent = len(lines[at]) - len(lines[at].lstrip())
    is_json = sample.language == "json"
    opener = "{" if is_json else "-"
    for margin in range(indent, 0, -1) if is_json else range(indent - 2, -1, -2):
        before, of_list = lines[:at + 1], margin - 1 if is_json else margin
        list_begins = max(place for place, line in enumerate(before)
                          if re.match(rf' {{{of_list}}}"?subs', line))
        count = sum(line.startswith(" " * margin + opener) for line in before[list_begins:])
        steps.insert(0, f'["subs"][{count - 1}]')
        at = list_begins
    return f"obj{''.join(steps)}"


def json_leaves(sample: Sample) -> str:
    text = sample.reference
    begins = [text.rindex("{", 0, found.start()) for found in re.finditer(r'"subs":\[\]', text)]
    return "\n\n".join(text[begin:][:braces(text[begin:])] for begin in begins)


def content(sample: Sample) -> str:
    tag = asked(sample, r"tag (\S+)\?")[0]
    return re.search(rf"<{tag}[ >][^\n]*\n(.*)</{tag}>", sample.reference, re.DOTALL)[1].strip()


def tag_with(sample: Sample) -> str:
    value = asked(sample, "value .(.*?).[?]")[0]
    line = next(line for line in sample.reference.split("\n")[1:] if f'"{value}"' in line)
    return re.search(r"<(\w+)", line)[1]


def listed(pattern: str):
    def follow(sample: Sample) -> str:
        none = re.search(r'write "(.*)"', sample.question)[1]
        return "\n".join(re.findall(pattern, sample.reference, re.M)) or none
    return follow


def part(sample: Sample) -> str:
    """Count headings level by level; a part ends before the next of its own or a higher level."""
    commands = ["\\section", "\\subsection", "\\subsubsection"]
    lines = sample.reference.split("\n")
    levels = [next((level for level, command in enumerate(commands, 1)
                    if line.startswith(command + "{")), 0)
              or len((re.match(r"([*#]+) ", line) or ["", ""])[1]) for line in lines]
    begin, end = 0, len(levels)
    for level, rank in enumerate(reversed(re.findall(r"number (\d+)", sample.question)), 1):
        found = [place for place in range(begin, end) if levels[place] == level]
        begin = found[int(rank) - 1]
        end = next((place for place in range(begin + 1, end) if 0 < levels[place] <= level), end)
    return "\n".join(lines[begin:end])


def toml_value(sample: Sample) -> str:
    name, identity = asked(sample, r"value of (\S+)", r"the id (\S+)\?")
    after = sample.reference[sample.reference.index(f'id = "{identity}"'):].split("[[")[0]
    return re.search(rf'^{name} = "(.*)"$', after, re.M)[1]


def log_rows(sample: Sample) -> list[dict[str, str]]:
    return [dict(pair.split("=") for pair in line.split()) for line in sample.reference.split("\n")]


def log_field(sample: Sample) -> str:
    field, event = asked(sample, r"the (\w+) in", r"event is (\S+)\?")
    return next(row[field] for row in log_rows(sample) if row["event"] == event)


def log_level(sample: Sample) -> str:
    return str([row["level"] for row in log_rows(sample)].count(asked(sample, r"level (\w+)\?")[0]))


def log_slow(sample: Sample) -> str:
    service, limit = asked(sample, r"service (\w+)", r"above (\d+)")
    return str(sum(row["service"] == service and int(row["duration_ms"]) > int(limit)
                   for row in log_rows(sample)))


def log_route(sample: Sample) -> str:
    request = asked(sample, r"request (\S+) go")[0]
    return "->".join(row["service"] for row in log_rows(sample) if row["request"] == request)


FOLLOWED = {
    **{f"{language}.{index}": follow for language in ("csv", "html-table", "markdown-table")
       for index, follow in enumerate((cell, paid_more, of_gender, join))},
    "tree.0": tree_height, "tree.1": lambda sample: str(len(way_up(sample)) - 1),
    "tree.2": lambda sample: "->".join(way_up(sample)),
    "json.0": json_object, "json.1": first_of_subs, "json.2": json_is_broken, "json.3": path,
    "json.4": json_leaves,
    "yaml.1": first_of_subs, "yaml.3": path,
    "yaml.2": lambda sample: str(bool(re.search(r"^\s*:", sample.reference, re.M))),
    "xml.0": content, "xml.1": tag_with, "xml.2": tag_is_broken,
    "latex.0": listed(r"\\textbf\{(.*?)\}"), "latex.1": part,
    "latex.2": listed(r"\\includegraphics\[.*?\]\{(.*?)\}"),
    "markdown.0": listed(r"\*\*(.*?)\*\*"), "markdown.1": part,
    "markdown.2": listed(r"!\[.*?\]\((.*?) "),
    "org.0": listed(r"\*([^\s*][^*\n]*)\*"), "org.1": part, "org.2": listed(r"\[\[file:(.*?)\]\]"),
    "toml.0": toml_value, "toml.1": first_of_subs,
    "toml.2": lambda sample: str(any(line.count('"') % 2
                                     for line in sample.reference.split("\n"))),
    "log.0": log_field, "log.1": log_level, "log.2": log_slow, "log.3": log_route,
}
BY_READING_ON = {"yaml.0", "yaml.4", "toml.3"}  # these hints need a reader of blocks: the solver


def test_every_task_has_a_hint_and_every_hint_but_three_is_followed():
    assert set(HINTS) == set(TASKS) | set(EXTRA_TASKS) == set(FOLLOWED) | BY_READING_ON
    assert not [hint for hint in HINTS.values() if "{flaw}" in hint or not hint.endswith(".")]


@pytest.mark.parametrize("task", FOLLOWED)
def test_following_the_hint_gives_the_answer(task):
    for depth in (1, 2, 3):
        for is_real in (False, True):
            for sample in generate("corrected", [task], depth, per_task=4, is_real=is_real):
                assert sample.hint == HINTS[task]
                assert FOLLOWED[task](sample) == sample.answer, sample
