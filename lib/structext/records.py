"""A sample of StrucText-Eval, and the names of its languages and tasks."""

from lib.core.records import Record

# The benchmark's languages, in its order; the extra ones are our own choice of industrial formats.
LANGUAGES = ("csv", "tree", "json", "yaml", "xml", "latex", "markdown", "org")
EXTRA_LANGUAGES = ("toml", "html-table", "markdown-table", "log")
MODES = ("corrected", "faithful")

_RECORDS = ("TextRetrieval", "Statistics", "Statistics", "Join")
_OBJECTS = ("TextRetrieval", "PathWalk", "Syntax", "PathCompose", "TextRetrieval")
_DOCUMENT = ("TextRetrieval", "PathWalk", "TextRetrieval")


def _numbered(**names: tuple[str, ...]) -> dict[str, str]:
    return {f"{language.replace('_', '-')}.{index}": name for language, kinds in names.items()
            for index, name in enumerate(kinds)}


TASKS = _numbered(  # "json.3" -> its kind; 29 of them
    csv=_RECORDS, tree=("Tree.Height", "Node.Depth", "PathCompose"), json=_OBJECTS, yaml=_OBJECTS,
    xml=("TextRetrieval", "TextRetrieval", "Syntax"), latex=_DOCUMENT, markdown=_DOCUMENT,
    org=_DOCUMENT)
EXTRA_TASKS = _numbered(
    toml=_OBJECTS[:4], html_table=_RECORDS, markdown_table=_RECORDS,
    log=("TextRetrieval", "Statistics", "Statistics", "PathCompose"))


class Sample(Record):
    """A question about a structured text, with the answer that its generator knows."""

    id: str
    language: str
    task: str  # language and position, "json.3"
    depth: int
    width: int
    question: str
    reference: str  # the structured text
    answer: str
    hint: str  # how to find the answer, as text; the same for all samples of a task

    @property
    def text_id(self) -> str:
        """Return one id for all questions on a text of ours, and one for each official sample."""
        return self.id.replace(f"-{self.task}-", f"-{self.language}-", 1)

    @property
    def cell(self) -> tuple[str, int, int]:
        """Return task, depth and width."""
        return self.task, self.depth, self.width
