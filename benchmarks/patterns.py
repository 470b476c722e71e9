"""Time of every compiled pattern of lib on texts that make careless ones slow.

python -m benchmarks patterns
"""

import re
import signal
import time
from collections.abc import Callable, Iterator
from importlib import import_module
from math import inf

from lib.core.store import REPOSITORY

SIZES = (20_000, 40_000)  # characters
MOST = 3  # times as long on twice the text
NOTICED = 0.1  # seconds on the longer text: what is quadratic takes longer
PATIENCE = 2  # processor seconds for a pattern on a text: what takes longer has no ratio
TIMES = 5
HEAD = "# Pump P1\n\nThe pump P1 has a mass of 12 kg.\n\n"


def _repeated(text: str) -> Callable[[int], str]:
    return lambda size: HEAD + text * (size // len(text))


TEXTS: dict[str, Callable[[int], str]] = {
    text: _repeated(text)
    for text in (
        *("*", "**a ", "*a **b ", "[", "![", "[a](", "[^", "]", "](#", "][", "(", ")", "{", "{%"),
        *(
            ">",
            "> ",
            "<",
            "<a ",
            "<sup>",
            "</a",
            "<!--",
            "&",
            "&amp;",
            '"',
            "'",
            "“",
            "~~",
            "`",
            "``",
        ),
        *(
            "a",
            "a/",
            "/",
            "\\",
            "_",
            "a_",
            "-",
            "--",
            ":",
            "a:",
            ".",
            "1.",
            "1,",
            "1",
            "1 ",
            "a.b",
            "|",
        ),
        *(
            "|a",
            "#",
            "# a\n\n",
            "- a\n",
            "\n",
            " ",
            "\t",
            "a ",
            "A ",
            "Aa",
            "a1",
            "the table ",
            "é",
            "漢",
        ),
        *(
            "no ",
            "- the part has 5 m\n",
            "The pump P1 has a mass of 12 kg and ",
            "{ ",
            "<<<<{{ ",
            "$1",
        ),
    )
}
TEXTS["backticks"] = lambda size: HEAD + " ".join("`" * n for n in range(1, int((2 * size) ** 0.5)))
TEXTS["deep list"] = lambda size: HEAD + "".join("  " * n + "- a\n" for n in range(int(size**0.5)))


def patterns() -> Iterator[tuple[str, re.Pattern[str], bool]]:
    """Yield the patterns of modules, also in tables, and whether all uses are at a start."""
    seen = set()
    for path in sorted((REPOSITORY / "lib").rglob("*.py")):
        name = ".".join(path.relative_to(REPOSITORY).with_suffix("").parts)
        source = path.read_text(encoding="utf-8")
        for key, value in vars(import_module(name.removesuffix(".__init__"))).items():
            for one in _inside(value, 3):
                if isinstance(one.pattern, str) and one not in seen:
                    seen.add(one)
                    uses = {*re.findall(rf"\b{key}\.(\w+)", source)}
                    yield f"{name}.{key}", one, bool(uses) and uses <= {"match", "fullmatch"}


def _inside(value: object, depth: int) -> Iterator[re.Pattern]:
    if isinstance(value, re.Pattern):
        yield value
    elif depth and isinstance(value, dict | list | tuple | set | frozenset):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _inside(one, depth - 1)


def seconds(pattern: re.Pattern[str], at_start: bool, text: str, times: int) -> float:
    """Return the least of `times` measurements; PATIENCE if one takes longer than that."""
    spent = [float(PATIENCE)]
    previous = signal.signal(signal.SIGVTALRM, _give_up)
    try:
        for _ in range(times):
            signal.setitimer(signal.ITIMER_VIRTUAL, PATIENCE)
            begin = time.process_time()
            if at_start:
                pattern.match(text, len(HEAD))
            for _match in () if at_start else pattern.finditer(text):
                pass
            spent.append(time.process_time() - begin)
    except TimeoutError:
        return PATIENCE
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, previous)
    return min(spent)


def _give_up(*_) -> None:
    raise TimeoutError


def slow() -> Iterator[tuple[str, str, float]]:
    """Yield pattern, text and ratio where twice the text takes more than MOST times as long."""
    for name, *pattern in patterns():
        for text, write in TEXTS.items():
            short, long = map(write, SIZES)
            first = seconds(*pattern, long, 1)
            if first < NOTICED:
                continue
            ratio = inf
            if first < PATIENCE:
                ratio = seconds(*pattern, long, TIMES) / seconds(*pattern, short, TIMES)
            if ratio > MOST:
                yield name, text, ratio


def main() -> str:
    """Return the measurement as Markdown."""
    found = [f"| `{name}` | {text!r} | {ratio:.1f} |" for name, text, ratio in slow()]
    n_patterns = sum(1 for _ in patterns())
    lines = [
        "## Patterns on texts that make careless ones slow",
        "",
        f"`python -m benchmarks patterns`; {n_patterns} compiled patterns of lib on {len(TEXTS)} "
        f"texts of {SIZES[0] // 1000} and {SIZES[1] // 1000} KB, best of {TIMES} where one takes "
        f"{NOTICED} s. {len(found)} times one takes more than {MOST} times as long on twice the "
        f"text (inf: more than {PATIENCE} s).",
    ]
    return "\n".join(
        lines + ["", "| pattern | text | ratio |", "| --- | --- | ---: |", *found] * bool(found)
    )


if __name__ == "__main__":
    print(main())
