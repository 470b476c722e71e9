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

from lib.core.store import REPOSITORY

DOCUMENT_BYTES, DOCUMENT_FACTORS = 1_240_000, (1, 2, 4)  # 5 MB is the most per file
CORPUS_BYTES, CORPUS_FACTORS = 910_000, (1, 4, 16)  # 16 times: the paper's 4 million tokens
SOURCES = REPOSITORY / "data" / "technical"
NAMES = re.compile(r"\b(etcd\w*|Prometheus|Graphite|InfluxDB|OpenTSDB|Nagios|Sensu|ESP)\b")
VOCABULARY = 8_000  # tokens of a tokenizer trained on these documents
STAGES = ("00_documents", "01_annotate", "02_normalize")
STUDY = "scale"


def write_documents(folder: Path, kind: str, factor: int) -> None:
    """Write one document, a corpus like it, or a corpus of records, `factor` times as large."""
    size, most = 0, factor * (DOCUMENT_BYTES if kind == "document" else CORPUS_BYTES)
    pieces = []
    for name, text in _records() if kind == "records" else _copies():
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


def _records() -> Iterator[tuple[str, str]]:
    """Yield the laboratory's records of all products that have a name, then them reworded."""
    from lib.lab.documents import make_records
    from lib.lab.products import make_products

    products = make_products(4800, seed=1)
    for rendering in count():
        for one in make_records(products, 1, public=False, rendering=rendering)[0]:
            yield f"{one.document_id}.md", one.text


def one_process(factor: int) -> dict[str, float]:
    """Run the stages' functions on one document here; return counts, seconds and megabytes."""
    from lib.annotate.queries import annotate
    from lib.annotate.rules.engine import by_rules as ask
    from lib.documents.folder import read_folder
    from lib.normalize.rewrite import lost_tokens, normalize
    from lib.normalize.rules import by_rules as rewrite
    from lib.normalize.segments import segment

    tokenizer = _tokenizer()
    with tempfile.TemporaryDirectory() as folder:
        write_documents(Path(folder), "document", factor)
        clock = [time.process_time()]
        documents = read_folder(Path(folder)).documents
        clock.append(time.process_time())
    queries, _ = annotate(documents, ask)
    clock.append(time.process_time())
    segments = segment(documents, tokenizer)
    rewritten: dict[str, list[str]] = defaultdict(list)
    for row in normalize(segments, documents, rewrite):
        rewritten[row.segment_id.rsplit("-", 1)[0]].append(row.text)
    n_lost = sum(
        len(lost_tokens(one.text, "\n\n".join(rewritten[one.document_id]))) for one in documents
    )
    clock.append(time.process_time())
    return {
        "megabytes": sum(len(one.text) for one in documents) / 1e6,
        "thousand tokens": sum(one.n_tokens for one in segments) / 1e3,
        "queries": len(queries),
        "words lost": n_lost,
        **{f"{name}, s": clock[index + 1] - clock[index] for index, name in enumerate(STAGES)},
        "all three, s": clock[-1] - clock[0],
        "peak memory, MB": peak(),
    }


def peak() -> float:
    """Return the most megabytes that this process has had; getrusage counts its parent's too."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) * 1024 / 1e6


def _tokenizer():
    from lib.lab.base_model import train_tokenizer

    texts = [path.read_text(encoding="utf-8") for path in sorted(SOURCES.glob("*.md"))]
    return train_tokenizer(texts, VOCABULARY)


def notebooks(kind: str, factor: int, tokenizer: str) -> dict[str, float]:
    """Run the three notebooks on a corpus; return counts, seconds and megabytes."""
    with tempfile.TemporaryDirectory() as root:
        folder = Path(root, "documents")
        folder.mkdir()
        write_documents(folder, kind, factor)
        given = {
            "00_documents": {"folder": str(folder)},
            "01_annotate": {},
            "02_normalize": {"base_model": tokenizer},
        }
        used = {stage: _run(stage, given[stage] | {"study": STUDY}, Path(root)) for stage in STAGES}
        rows = {
            name: _rows(Path(root, "data", STUDY, f"{name}.jsonl"))
            for name in ("documents", "queries", "segments")
        }
    return {
        "documents": len(rows["documents"]),
        "megabytes": sum(len(one["text"]) for one in rows["documents"]) / 1e6,
        "thousand tokens": sum(one["n_tokens"] for one in rows["segments"]) / 1e3,
        "segments": len(rows["segments"]),
        "queries": len(rows["queries"]),
        **{f"{stage}, s": seconds for stage, (seconds, _) in used.items()},
        "all three, s": sum(seconds for seconds, _ in used.values()),
        **{f"{stage}, MB": megabytes for stage, (_, megabytes) in used.items()},
    }


def _rows(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line]


def _run(stage: str, given: dict[str, object], root: Path) -> tuple[float, float]:
    """Run a notebook; return processor seconds and peak megabytes of its largest process.

    This process must be small, because Linux counts its memory to what it starts.
    """
    with open(root / "log", "w+", encoding="utf-8") as log:
        child = subprocess.Popen(
            [sys.executable, "-m", "lib.run.notebook", stage, "-y", json.dumps(given)],
            cwd=REPOSITORY,
            stdout=log,
            stderr=log,
            env={**os.environ, "STUDY_ROOT": str(root)},
        )
        _, status, used = os.wait4(child.pid, 0)  # with the kernel, its child
        child.returncode = os.waitstatus_to_exitcode(status)
        log.seek(0)
        if child.returncode:
            raise RuntimeError(f"{stage} failed on these documents:\n{log.read()[-2000:]}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss * 1024 / 1e6


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
        "## Documents, questions and rewrites by rules",
        "",
        f"`python -m benchmarks documents`; {os.cpu_count()} cores, processor seconds, each "
        "column in processes of its own. Growth is that of the last step over the first, per "
        "unit of size: 1 is linear.",
        "",
        "One document, up to the limit of 5 MB, without imports:",
        "",
        *scaling(DOCUMENT_FACTORS, __spec__.name, "document", "{}"),
    ]
    with tempfile.TemporaryDirectory() as folder:
        _tokenizer().save_pretrained(folder)
        for kind, text in (
            (
                "corpus",
                "A corpus of documents of 7 to 60 kB, by the notebooks, with "
                "start-up; 16× is the size of the paper's:",
            ),
            ("records", "The same size in the laboratory's records, of 0.6 kB:"),
        ):
            lines += ["", text, "", *scaling(CORPUS_FACTORS, __spec__.name, kind, "{}", folder)]
    return "\n".join(lines)


if __name__ == "__main__":
    what, size, *others = sys.argv[1:]
    print(
        json.dumps(
            one_process(int(size)) if what == "document" else notebooks(what, int(size), *others)
        )
    )
