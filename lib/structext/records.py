"""Define a sample of StrucText-Eval, and name its languages and tasks."""

from lib.core.records import Record

# The benchmark's languages, in its order
LANGUAGES = ("csv", "tree", "json", "yaml", "xml", "latex", "markdown", "org")
MODES = ("corrected", "faithful")
BLIND = "blind"  # the arm that reads nothing, the floor of every study

_OBJECTS = ("TextRetrieval", "PathWalk", "Syntax", "PathCompose", "TextRetrieval")
_KINDS = {
    "csv": ("TextRetrieval", "Statistics", "Statistics", "Join"),
    "tree": ("Tree.Height", "Node.Depth", "PathCompose"),
    "json": _OBJECTS,
    "yaml": _OBJECTS,
    "xml": ("TextRetrieval", "TextRetrieval", "Syntax"),
} | dict.fromkeys(LANGUAGES[5:], ("TextRetrieval", "PathWalk", "TextRetrieval"))
TASKS = {  # 29 tasks, such as "json.3", -> kind
    f"{language}.{index}": kind
    for language, kinds in _KINDS.items()
    for index, kind in enumerate(kinds)
}


class Sample(Record):
    """A question about a structured text, with the generator's answer."""

    id: str
    language: str
    task: str  # language and position, such as "json.3"
    depth: int
    width: int
    question: str
    reference: str  # the structured text
    answer: str
    hint: str  # how to find the answer, as text; the same for all samples of a task

    @property
    def text_id(self) -> str:
        """Return an id that all questions on a text share; every official sample has its own."""
        return self.id.replace(f"-{self.task}-", f"-{self.language}-", 1)

    @property
    def cell(self) -> tuple[str, int, int]:
        """Return task, depth and width."""
        return self.task, self.depth, self.width
