"""`make look`: structures and passages of a folder's documents, skipped files, price of a model."""

import argparse
import csv
import sys
from pathlib import Path

import pandas as pd

from lib.core.records import STRUCTURES, structure_of
from lib.core.store import REPOSITORY, BadInput, shown
from lib.documents.folder import Reading, read_folder
from lib.documents.markdown import parse
from lib.llm.prices import cost_usd, price_of
from lib.llm.request import counter

RECORDS = REPOSITORY / "data" / "records"
EXAMPLE = RECORDS / "held_out"
MODEL = "gpt-4.1"
PER_DOCUMENT, SEGMENT, ARMS = 10, 700, 3  # questions; tokens of a segment; arms that are judged
_PAIR, _VERDICT, _ANSWER = 120, 60, 100  # tokens: a pair in a reply, a verdict, a judged answer
_MAX_FILES, _MAX_LINES, _MAX_WIDTH = 10, 5, 100  # files that are listed; of a passage


def look_at(folder: Path, model: str = MODEL) -> str:
    """Tokens by structure, a passage of each, left-out files, and the estimated cost of `model`.

    Raises BadInput if no file in `folder` is usable.
    """
    reading, price = read_folder(folder), price_of(model)
    left_out = [*reading.rejected, *reading.skipped]
    n_files = len(reading.documents) + len(left_out)
    lines = [f"{len(reading.documents)} of {n_files} files in {shown(folder)} are documents."]
    lines += [f"  left out: {row.rejected_text}: {row.reason}" for row in left_out[:_MAX_FILES]]
    lines += [f"  … {len(left_out) - _MAX_FILES} more"] * (len(left_out) > _MAX_FILES)
    counts = pd.DataFrame(
        {
            one.label: {
                "tokens": sum(kinds[one.kind] for kinds in reading.tokens.values()),
                "documents": sum(kinds[one.kind] > 0 for kinds in reading.tokens.values()),
            }
            for one in STRUCTURES.values()
        }
    ).T
    lines += ["", counts.to_string(), *warnings(reading, counts), "", *_passages(reading)]
    lines += [_example(), "", costs(reading, model).to_string()]
    lines += [
        f"  Estimated: 4 bytes a token, {PER_DOCUMENT} questions a document, rewrites as long as "
        f"their segments of {SEGMENT} tokens, answers of {ARMS} arms; no call repeated.",
        f"  prices of {model}: {price.source}, {price.as_of}"
        if price
        else f"  the price of {model} is unknown: add a row to lib/llm/prices.csv",
    ]
    return "\n".join(lines)


def warnings(reading: Reading, counts: pd.DataFrame) -> list[str]:
    """What limits a comparison of structures, a sentence each; `counts` has tokens by label."""
    doubted = [one.document_id for one in reading.documents if one.doubt]
    found = [
        f"  No document has a {label}: it cannot be compared."
        for label in counts.index[counts.tokens == 0]
    ]
    return found + [
        f"  The tables of {len(doubted)} documents are in doubt, so nothing is asked about them: "
        f"{', '.join(doubted[:5])}."
    ] * bool(doubted)


def _passages(reading: Reading) -> list[str]:
    lines = []
    for one in STRUCTURES.values():
        for document in reading.documents:
            if reading.tokens[document.document_id][one.kind]:
                first = next(each for each in parse(document.text) if each.kind == one.kind)
                text = document.text[first.start : first.end].splitlines()
                text = text[:_MAX_LINES] + ["…"] * (len(text) > _MAX_LINES)
                lines += [f"{one.label}, in {document.document_id}:"]
                lines += [*(f"  {line[:_MAX_WIDTH]}" for line in text), ""]
                break
    return lines


# A model's question about a table of the committed records, which a person has checked
def _example() -> str:
    with open(RECORDS / "CHECKS.csv", newline="", encoding="utf-8") as file:
        row = next(
            row
            for row in csv.DictReader(file)
            if row["structure"] == structure_of("table").name and row["verdict"] == "good"
        )
    return (
        f"A model's question, on the record {row['document']} of this repository:\n"
        f"  {row['question']}\n    {row['reference']}"
    )


def costs(reading: Reading, model: str) -> pd.DataFrame:
    """Estimate calls, tokens and dollars of annotating, rewriting and judging, as text."""
    count, _ = counter(model)
    prompt = {
        name: count((REPOSITORY / "prompts" / f"{name}.md").read_text("utf-8"))
        for name in ("annotate", "normalize", "judge")
    }
    sizes = [count(document.text) for document in reading.documents]
    segments = sum(-(-size // SEGMENT) for size in sizes)
    n_documents, n_answers = len(sizes), ARMS * PER_DOCUMENT * len(sizes)
    stages = {
        "annotate": (n_documents, sum(sizes), n_documents * PER_DOCUMENT * _PAIR),
        "normalize": (segments, sum(sizes), sum(sizes)),
        "judge": (n_answers, n_answers * _ANSWER, n_answers * _VERDICT),
    }
    price = price_of(model)
    rows = {}
    for name, (calls, read, written) in stages.items():
        sent = calls * prompt[name] + read
        dollars = f"{cost_usd(price, sent, written):,.2f}" if price else "unknown"
        rows[name] = [f"{calls:,}", f"{sent:,}", f"{written:,}", dollars]
    columns = ["calls", "tokens sent", "tokens written", "dollars"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns)


def main(arguments: list[str] | None = None) -> int:
    """Run `python -m lib.run.look [folder] [--model id]`; return 0 on success."""
    parser = argparse.ArgumentParser(prog="python -m lib.run.look", description=__doc__)
    parser.add_argument("folder", nargs="?", default="")
    parser.add_argument("--model", default="")
    options = parser.parse_args(arguments)
    folder = Path(options.folder or EXAMPLE).expanduser()
    try:
        print(look_at(folder, options.model or MODEL))
    except (BadInput, OSError) as error:
        print(f"make look: {error}", file=sys.stderr)
        return 2
    after = (
        "make look DOCUMENTS=path, with your own; or make study STUDY=records"
        if folder == EXAMPLE
        else "set base_model, annotator, normalizer and judge in studies/documents.yaml, then "
        f"make study STUDY=documents DOCUMENTS={folder}"
    )
    print(f"\nnext: {after}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
