"""Processor time and memory of 00, 01 and 02 by rules, over one long document and over many.

python -m benchmarks documents
"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from lib.core.paths import REPOSITORY

FACTORS = (1, 2, 4)
DOCUMENT_BYTES, CORPUS_BYTES = 1_240_000, 4_400_000  # times a factor; 5 MB is the most per file
SOURCES = REPOSITORY / "tests" / "data" / "documents"
NAMES = re.compile(r"\b(etcd\w*|Prometheus|Graphite|InfluxDB|OpenTSDB|Nagios|Sensu|ESP)\b")
VOCABULARY = 8_000  # tokens of a tokenizer trained on these documents


def write_documents(folder: Path, kind: str, factor: int) -> None:
    """Write one document, or a corpus, of the project's four test documents with changed names."""
    size, pieces = 0, []
    for number, text in _copies():
        pieces.append(text)
        size += len(text.encode())
        if kind == "corpus":
            (folder / f"copy-{number}.md").write_text(text, encoding="utf-8")
        if size >= factor * (DOCUMENT_BYTES if kind == "document" else CORPUS_BYTES):
            break
    if kind == "document":
        long = "\n\n".join(pieces).encode()[:factor * DOCUMENT_BYTES].decode(errors="ignore")
        (folder / "long.md").write_text(long, encoding="utf-8")


def _copies() -> Iterator[tuple[int, str]]:
    texts = [path.read_text(encoding="utf-8") for path in sorted(SOURCES.glob("*.md"))]
    for number in count():
        text = texts[number % len(texts)]
        yield number, NAMES.sub(rf"\g<1>{number // len(texts) or ''}", text)


def measured(kind: str, factor: int) -> dict[str, float]:
    """Run the three stages in this process; return counts, processor seconds and megabytes."""
    from lib.annotate.queries import annotate
    from lib.annotate.rules.engine import by_rules as ask
    from lib.documents.folder import read_folder
    from lib.lab.base_model import train_tokenizer
    from lib.normalize.rewrite import lost_tokens, normalize
    from lib.normalize.rules.engine import by_rules as rewrite
    from lib.normalize.segments import segment

    texts = [path.read_text(encoding="utf-8") for path in sorted(SOURCES.glob("*.md"))]
    tokenizer = train_tokenizer(texts, VOCABULARY)
    with tempfile.TemporaryDirectory() as folder:
        write_documents(Path(folder), kind, factor)
        clock = [time.process_time()]
        documents = read_folder(Path(folder)).documents
        clock.append(time.process_time())
    queries, _ = annotate(documents, ask)
    clock.append(time.process_time())
    segments = segment(documents, tokenizer)
    rewritten: dict[str, list[str]] = defaultdict(list)
    for row in normalize(segments, documents, rewrite):
        rewritten[row.segment_id.rsplit("-", 1)[0]].append(row.text)
    n_lost = sum(len(lost_tokens(one.text, "\n\n".join(rewritten[one.document_id])))
                 for one in documents)
    clock.append(time.process_time())
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    stages = ("00 documents, s", "01 annotate, s", "02 normalize, s")
    return {
        "documents": len(documents), "megabytes": sum(len(one.text) for one in documents) / 1e6,
        "thousand tokens": sum(one.n_tokens for one in segments) / 1e3, "queries": len(queries),
        "words lost": n_lost,
        **{name: clock[index + 1] - clock[index] for index, name in enumerate(stages)},
        "all three, s": clock[-1] - clock[0],
        "peak memory, MB": int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) * 1024 / 1e6}


def scaling(kind: str) -> list[str]:
    """Return the measurements at each factor, in processes of their own, as a Markdown table."""
    runs = []
    for factor in FACTORS:
        ran = subprocess.run([sys.executable, "-m", "benchmarks.documents", kind, str(factor)],
                             cwd=REPOSITORY, check=True, text=True, stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL)
        runs.append(json.loads(ran.stdout.splitlines()[-1]))
    lines = [f"| | {' | '.join(f'{factor}×' for factor in FACTORS)} | {FACTORS[-1]}× over 1× |",
             "| --- |" + " --- |" * (len(FACTORS) + 1)]
    for name in runs[0]:
        cells = " | ".join(f"{run[name]:,.1f}".removesuffix(".0") for run in runs)
        ratio = f"{runs[-1][name] / runs[0][name]:.1f}" if runs[0][name] > 0.05 else "–"
        lines.append(f"| {name} | {cells} | {ratio} |")
    return lines


def main() -> str:
    """Return the measurement as Markdown."""
    lines = ["## Documents, questions and rewrites by rules", "",
             f"`python -m benchmarks documents`; {os.cpu_count()} cores, processor seconds without "
             "imports, each column in a process of its own. Linear is a ratio of 4."]
    for kind, text in (("document", "One document, up to the limit of 5 MB:"),
                       ("corpus", "A corpus of documents of 7 to 60 kB:")):
        lines += ["", text, "", *scaling(kind)]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    print(json.dumps(measured(sys.argv[1], int(sys.argv[2]))))
