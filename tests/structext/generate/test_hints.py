"""The hints of lib.structext.generate.wording lead to the answer: each is followed here, step by step, as its words say."""

import re

import pytest

from lib.structext.generate.samples import generate
from lib.structext.generate.wording import HINTS
from lib.structext.records import EXTRA_TASKS, TASKS, Sample


def asked(sample: Sample, *patterns: str) -> list[str]:
    """What stands in the question at each pattern's group."""
    return [re.search(pattern, sample.question)[1] for pattern in patterns]


def cells(sample: Sample) -> list[list[list[str]]]:
    """The two tables' rows, the first with the columns."""
    row = {"csv": r"([^,]+)", "html-table": r"<t[dh]>(.*?)</t[dh]>", "markdown-table": r"\| ([^|]+) (?=\|)"}
    tables = [[re.findall(row[sample.language], line) for line in table.split("\n") if "---" not in line]
              for table in sample.reference.split("\n\n")]
    return [[line for line in table if len(line) > 1] for table in tables]


def column(table: list[list[str]], name: str) -> dict[str, str]:
    """primeKey -> cell."""
    return {row[0]: row[table[0].index(name)] for row in table[1:]}


def table_with(sample: Sample, name: str) -> dict[str, str]:
    return next(column(table, name) for table in cells(sample) if name in table[0])


def cell(sample: Sample) -> str:
    field, key = asked(sample, r"the (\w+) in", r"is (\S+)\?")
    return table_with(sample, field)[key]


def paid_more(sample: Sample) -> str:
    return str(sum(int(pay) > int(asked(sample, r"above (\d+)")[0]) for pay in table_with(sample, "salary").values()))


def of_gender(sample: Sample) -> str:
    return str(list(table_with(sample, "gender").values()).count(asked(sample, r"are (\w+)\?")[0]))


def join(sample: Sample) -> str:
    place, limit = asked(sample, r"location is (\w+)", r"taller than (\d+)")
    keys = [key for key, location in table_with(sample, "location").items() if location == place]
    return str(sum(int(table_with(sample, "height")[key]) > int(limit) for key in keys))


def edges(sample: Sample) -> dict[str, str]:
    """child -> father"""
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
    """Where the object that opens at the beginning of `text` ends."""
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
    return re.search(r'id"?\s*[:=]\s*"(\S+)"', sample.reference[sample.reference.index("subs"):])[1]


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
    """Outwards by indentation: each enclosing object, and how many stand before it in its list."""
    lines, value = sample.reference.split("\n"), asked(sample, 'value "(.*?)"')[0]
    at = next(place for place, line in enumerate(lines) if re.search(rf'": ?"{re.escape(value)}"', line))
    steps = [f'["{re.search(chr(34) + "(.*?)" + chr(34), lines[at])[1]}"]']
    opener = "{" if sample.language == "json" else "-"
    depth = len(lines[at]) - len(lines[at].lstrip())
    depth = depth if sample.language == "json" else depth - 2
    for margin in range(depth, -1 if sample.language == "yaml" else 0, -2 if sample.language == "yaml" else -1):
        before = lines[:at + 1]
        list_begins = max(place for place, line in enumerate(before) if re.match(
            rf" {{{margin - 1 if sample.language == 'json' else margin}}}\"?subs", line))
        count = sum(line.startswith(" " * margin + opener) for line in before[list_begins:])
        steps.insert(0, f'["subs"][{count - 1}]')
        at = list_begins
    return f"obj{''.join(steps)}"


def json_leaves(sample: Sample) -> str:
    begins = [sample.reference.rindex("{", 0, found.start()) for found in re.finditer(r'"subs":\[\]', sample.reference)]
    return "\n\n".join(sample.reference[begin:][:braces(sample.reference[begin:])] for begin in begins)


def content(sample: Sample) -> str:
    tag = asked(sample, r"tag (\S+)\?")[0]
    return re.search(rf"<{tag}[ >][^\n]*\n(.*)</{tag}>", sample.reference, re.DOTALL)[1].strip()


def tag_with(sample: Sample) -> str:
    line = next(line for line in sample.reference.split("\n") if f'"{asked(sample, "value .(.*?).[?]")[0]}"' in line
                and not line.startswith("<?"))
    return re.search(r"<(\w+)", line)[1]


def listed(pattern: str):
    def follow(sample: Sample) -> str:
        none = re.search(r'write "(.*)"', sample.question)[1]
        return "\n".join(re.findall(pattern, sample.reference, re.M)) or none
    return follow


def part(sample: Sample) -> str:
    """Count headings level by level; a part ends before the next heading of its own or a higher level."""
    commands = ["\\section", "\\subsection", "\\subsubsection"]
    levels = [next((level for level, command in enumerate(commands, 1) if line.startswith(command + "{")), 0)
              or len((re.match(r"([*#]+) ", line) or ["", ""])[1]) for line in sample.reference.split("\n")]
    begin, end = 0, len(levels)
    for level, rank in enumerate(reversed(re.findall(r"number (\d+)", sample.question)), 1):
        found = [place for place in range(begin, end) if levels[place] == level]
        begin = found[int(rank) - 1]
        end = next((place for place in range(begin + 1, end) if 0 < levels[place] <= level), end)
    return "\n".join(sample.reference.split("\n")[begin:end])


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
    return str(sum(row["service"] == service and int(row["duration_ms"]) > int(limit) for row in log_rows(sample)))


def log_route(sample: Sample) -> str:
    request = asked(sample, r"request (\S+) go")[0]
    return "->".join(row["service"] for row in log_rows(sample) if row["request"] == request)


FOLLOWED = {
    **{f"{language}.{index}": follow for language in ("csv", "html-table", "markdown-table")
       for index, follow in enumerate((cell, paid_more, of_gender, join))},
    "tree.0": tree_height, "tree.1": lambda sample: str(len(way_up(sample)) - 1),
    "tree.2": lambda sample: "->".join(way_up(sample)),
    "json.0": json_object, "json.1": first_of_subs, "json.2": json_is_broken, "json.3": path, "json.4": json_leaves,
    "yaml.1": first_of_subs, "yaml.3": path,
    "yaml.2": lambda sample: str(bool(re.search(r"^\s*:", sample.reference, re.M))),
    "xml.0": content, "xml.1": tag_with, "xml.2": tag_is_broken,
    "latex.0": listed(r"\\textbf\{(.*?)\}"), "latex.1": part, "latex.2": listed(r"\\includegraphics\[.*?\]\{(.*?)\}"),
    "markdown.0": listed(r"\*\*(.*?)\*\*"), "markdown.1": part, "markdown.2": listed(r"!\[.*?\]\((.*?) "),
    "org.0": listed(r"\*([^\s*][^*\n]*)\*"), "org.1": part, "org.2": listed(r"\[\[(.*?)\]\]"),
    "toml.0": toml_value, "toml.1": first_of_subs,
    "toml.2": lambda sample: str(any(line.count('"') % 2 for line in sample.reference.split("\n"))),
    "log.0": log_field, "log.1": log_level, "log.2": log_slow, "log.3": log_route,
}
BY_READING_ON = {"yaml.0", "yaml.4", "toml.3"}  # these hints need a reader of blocks: the solver is one


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
