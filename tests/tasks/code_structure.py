"""A structure that is not in lib: fenced lines of `key: value`."""

from lib.core.records import Structure
from lib.lab.records import capitalised, laid

CODE = Structure("code", "code", "code", ("config file", "code block"))


def write(facts, header):
    """Write facts as the lines of a fenced block."""
    lines = [f"{capitalised(fact.subject)}: {', '.join(fact.value)}" for fact in facts]
    return laid(lines, "```\n", "\n", "\n```")
