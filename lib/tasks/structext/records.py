"""Define a sample of StrucText-Eval, and name its languages and tasks."""

from lib.core.records import Record

# The benchmark's languages, in its order
LANGUAGES = ("csv", "tree", "json", "yaml", "xml", "latex", "markdown", "org")
MODES = ("corrected", "faithful")
BLIND = "blind"  # the arm that reads nothing, the floor of every study

_RECORDS = ("TextRetrieval", "Statistics", "Statistics", "Join")
_OBJECTS = ("TextRetrieval", "PathWalk", "Syntax", "PathCompose", "TextRetrieval")
_DOCUMENT = ("TextRetrieval", "PathWalk", "TextRetrieval")


def _numbered(**names: tuple[str, ...]) -> dict[str, str]:
    return {
        f"{language}.{index}": name
        for language, kinds in names.items()
        for index, name in enumerate(kinds)
    }


TASKS = _numbered(  # 29 tasks, such as "json.3", -> kind
    csv=_RECORDS,
    tree=("Tree.Height", "Node.Depth", "PathCompose"),
    json=_OBJECTS,
    yaml=_OBJECTS,
    xml=("TextRetrieval", "TextRetrieval", "Syntax"),
    latex=_DOCUMENT,
    markdown=_DOCUMENT,
    org=_DOCUMENT,
)


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
