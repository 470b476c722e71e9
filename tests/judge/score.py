"""Score the judge by rules on pairs rated by a person: python -m tests.judge.score FILE.jsonl."""

import json
import sys
from collections import Counter
from pathlib import Path

from lib.judge.rules import compare


def verdicts(rows: list[dict]) -> list[tuple[str, str, str]]:
    """Return expected verdict, verdict and reason of each row."""
    found = []
    for row in rows:
        lines = [line for line in row["reference"].splitlines() if line.strip()]
        count = len(lines) if row["structure"] == "entity-list" and len(lines) > 1 else None
        outcome = compare(row["question"], row["reference"], row["answer"], count)
        found.append((row["expected"], outcome.verdict, outcome.reason))
    return found


def summary(found: list[tuple[str, str, str]]) -> str:
    """Return the counts of verdicts, each with its denominator."""
    n = Counter(pair[:2] for pair in found)
    accepted, refused = n["incorrect", "correct"], n["correct", "incorrect"]
    scored = sum(count for (_, verdict), count in n.items() if verdict != "unscored")
    right = sum(count for (expected, _), count in n.items() if expected == "correct")
    return (
        f"scored {scored}/{len(found)}; wrong accepted {accepted}/{len(found) - right}; "
        f"right refused {refused}/{right}; wrong verdicts {accepted + refused}/{scored}"
    )


if __name__ == "__main__":
    lines = Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()
    pairs = [json.loads(line) for line in lines if line.strip()]
    results = verdicts(pairs)
    for pair, (expected, verdict, reason) in zip(pairs, results, strict=True):
        if "-v" in sys.argv and verdict != expected:
            print(
                verdict,
                "|",
                pair["question"],
                "|",
                repr(pair["reference"]),
                "|",
                repr(pair["answer"]),
                "|",
                reason,
            )
    print(summary(results))
