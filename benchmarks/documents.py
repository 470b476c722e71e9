"""Processor time and memory of reading, segmenting and auditing one long document, and a corpus.

python -m benchmarks documents
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from lib.core.store import REPOSITORY

BYTES = {"document": 1_240_000, "corpus": 910_000, "rows": 310_000, "line": 250_000}
# 4 times a document are 5 MB, the most per file; 4 times a line are 1 MB
REPEATED = {
    "rows": ("# Parts\n\n| part | mass |\n|---|---|\n", "| x1 | 12 kg |\n"),
    "line": ("# Pump P1\n\n", "The pump P1 has a mass of 12 kg and "),
}
FACTORS = (1, 2, 4)
SOURCES = REPOSITORY / "data" / "technical"
NAMES = re.compile(r"\b(etcd\w*|Prometheus|Graphite|InfluxDB|OpenTSDB|Nagios|Sensu|ESP)\b")
VOCABULARY = 8_000  # tokens of a tokenizer trained on these documents
STAGES = ("read", "segment", "audit")


def write_documents(folder: Path, kind: str, factor: int) -> None:
    """Write one document, or a corpus like it, `factor` times as large."""
    size, most = 0, factor * BYTES[kind]
    if kind in REPEATED:
        head, part = REPEATED[kind]
        (folder / "long.md").write_text(head + part * (most // len(part)), encoding="utf-8")
        return
    pieces = []
    for name, text in _copies():
        pieces.append(text)
        size += len(text.encode())
        if kind != "document":
            (folder / name).write_text(text, encoding="utf-8")
        if size >= most:
            break
    if kind == "document":
        long = "\n\n".join(pieces).encode()[:most].decode(errors="ignore")
        (folder / "long.md").write_text(long, encoding="utf-8")


def _copies() -> Iterator[tuple[str, str]]:
    """Yield the project's four test documents again and again, with changed names."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(SOURCES.glob("*.md"))]
    for number in count():
        text = texts[number % len(texts)]
        yield f"copy-{number}.md", NAMES.sub(rf"\g<1>{number // len(texts) or ''}", text)


def one_process(kind: str, factor: int) -> dict[str, float]:
    """Run the stages' functions here, where rewrites equal their segments; return measurements."""
    from lib.core.records import Normalized
    from lib.documents.folder import read_folder
    from lib.normalize.audit import audit
    from lib.normalize.segment import segment

    tokenizer = _tokenizer()
    with tempfile.TemporaryDirectory() as folder:
        write_documents(Path(folder), kind, factor)
        clock = [time.process_time()]
        documents = read_folder(Path(folder)).documents
        clock.append(time.process_time())
    segments = segment(documents, tokenizer)
    clock.append(time.process_time())
    rewrites = [
        Normalized(
            segment_id=one.segment_id,
            document_id=one.document_id,
            rating=None,
            remark="",
            text=one.text,
            dropped="",
        )
        for one in segments
    ]
    rows = audit(segments, documents, rewrites)
    clock.append(time.process_time())
    return {
        "documents": len(documents),
        "megabytes": sum(len(one.text) for one in documents) / 1e6,
        "thousand tokens": sum(one.n_tokens for one in segments) / 1e3,
        "words lost": sum(row.number("lost") for row in rows),
        **{f"{name}, s": clock[index + 1] - clock[index] for index, name in enumerate(STAGES)},
        "all three, s": clock[-1] - clock[0],
        "peak memory, MB": peak(),
    }


def peak() -> float:
    """Return the most megabytes that this process has had; getrusage counts its parent's too."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) * 1024 / 1e6


def _tokenizer():
    from lib.lab.bases import train_tokenizer

    texts = [path.read_text(encoding="utf-8") for path in sorted(SOURCES.glob("*.md"))]
    return train_tokenizer(texts, VOCABULARY)


def scaling(factors: tuple[int, ...], *command: str) -> list[str]:
    """Return what a module measures at each factor, in its own process, as a Markdown table.

    `command` is the module with its arguments, the factor as {}. Growth is that between the last
    two factors over that between the first two, per unit of size: start-up cancels.
    """
    runs = []
    for factor in factors:
        ran = subprocess.run(
            [sys.executable, "-m", *(part.format(factor) for part in command)],
            cwd=REPOSITORY,
            check=True,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        runs.append(json.loads(ran.stdout.splitlines()[-1]))
    lines = [
        f"| | {' | '.join(f'{factor}×' for factor in factors)} | growth |",
        "| --- |" + " --- |" * (len(factors) + 1),
    ]
    for name in runs[0]:
        first, middle, last = (run[name] for run in runs)
        expected = (middle - first) * (factors[2] - factors[1]) / (factors[1] - factors[0])
        cells = " | ".join(f"{run[name]:,.1f}".removesuffix(".0") for run in runs)
        growth = f"{(last - middle) / expected:.2f}" if name.endswith(", s") else ""
        lines.append(f"| {name} | {cells} | {growth} |")
    return lines


def main() -> str:
    """Return the measurement as Markdown."""
    lines = [
        "## Reading, segmenting and auditing documents",
        "",
        f"`python -m benchmarks documents`; {os.cpu_count()} cores, processor seconds without "
        "imports, each column in a process of its own. Growth is that of the last step over the "
        "first, per unit of size: 1 is linear.",
    ]
    for kind, text in (
        ("document", "One document, up to the limit of 5 MB:"),
        ("corpus", "A corpus of documents of 7 to 60 kB:"),
        ("rows", "A table, up to 1.2 MB:"),
        ("line", "One line, up to 1 MB:"),
    ):
        lines += ["", text, "", *scaling(FACTORS, __spec__.name, kind, "{}")]
    return "\n".join(lines)


if __name__ == "__main__":
    print(json.dumps(one_process(sys.argv[1], int(sys.argv[2]))))
