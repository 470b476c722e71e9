"""`make look`: what a folder holds for a study, and what a model would cost, before any is used."""

import argparse
import io
import re
import sys
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import jinja2
import pandas as pd

from lib.annotate.model.pairs import by_model
from lib.annotate.queries import FEW, annotate
from lib.annotate.rules.engine import by_rules
from lib.core.errors import BadInput
from lib.core.records import Query
from lib.core.store import REPOSITORY, figures_path, shown, write_text
from lib.core.structures import STRUCTURES
from lib.core.text import listed
from lib.documents.folder import Reading, read_folder
from lib.llm.__main__ import import_from
from lib.llm.cache import Cache
from lib.llm.calls import Calls
from lib.llm.prices import cost_usd, price_of
from lib.llm.request import counter
from lib.tasks.spark import structures  # noqa: F401 (registers them)

EXAMPLE = REPOSITORY / "data" / "records" / "held_out"
RULES, MODEL = "the rules", "gpt-4.1"
PER_DOCUMENT, SEGMENT, ARMS = 10, 700, 3  # questions; tokens of a segment; arms that are judged
_PAIR, _VERDICT, _ANSWER = 120, 60, 100  # tokens: a pair in a reply, a verdict, a judged answer
_SAMPLES, _SHOWN = 3, 10
_TEMPLATE = Path(__file__).with_name("look.html.j2")


@dataclass(frozen=True)
class Look:
    """What a folder holds: files, questions, and tables by structure and by price."""

    folder: Path
    reading: Reading
    asker: str  # who asks the questions
    queries: list[Query]
    structures: pd.DataFrame  # tokens, documents, questions, by label
    costs: pd.DataFrame  # calls, tokens and dollars by stage
    price: str  # of which model, by whom, when; or that it is unknown


def look_at(folder: Path, model: str = MODEL) -> Look:
    """Read `folder`, ask by the rules, and estimate what `model` would cost.

    The questions on the example are a model's, whose replies are in the repository. Raises
    BadInput if no file in `folder` is usable.
    """
    reading = read_folder(folder)
    asker, queries = (
        ("a model", _shipped(reading))
        if folder == EXAMPLE
        else (RULES, annotate(reading.documents, by_rules, PER_DOCUMENT)[0])
    )
    asked = Counter(query.structure for query in queries)
    rows = {
        one.label: {
            "tokens": sum(kinds[one.kind] for kinds in reading.tokens.values()),
            "documents": sum(kinds[one.kind] > 0 for kinds in reading.tokens.values()),
            "questions": asked[name],
        }
        for name, one in STRUCTURES.items()
    }
    price = price_of(model)
    said = (
        f"prices of {model}: {price.source}, {price.as_of}"
        if price
        else f"the price of {model} is unknown: add a row to lib/llm/prices.csv"
    )
    return Look(folder, reading, asker, queries, pd.DataFrame(rows).T, costs(reading, model), said)


def _shipped(reading: Reading) -> list[Query]:
    with TemporaryDirectory() as folder:
        calls = Calls(Path(folder) / "llm.sqlite", max_cost_usd=5)
        with closing(Cache(calls.cache)) as cache:
            import_from(cache, EXAMPLE.with_name("replies.jsonl"))
        return annotate(reading.documents, by_model("shipped", calls), PER_DOCUMENT)[0]


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


def printed(look: Look) -> str:
    """Return the look as text."""
    reading = look.reading
    left_out = [*reading.rejected, *reading.skipped]
    lines = [
        f"{len(reading.documents)} of {len(reading.documents) + len(left_out)} files in "
        f"{shown(look.folder)} are documents."
    ]
    lines += [f"  left out: {row.item}: {row.reason}" for row in left_out[:_SHOWN]]
    lines += [f"  … {len(left_out) - _SHOWN} more"] * (len(left_out) > _SHOWN)
    lines += ["", look.structures.to_string(), ""]
    lines += [f"  {warning}" for warning in warnings(look)]
    for label, queries in samples(look).items():
        lines += ["", f"{label}, asked by {look.asker}:"]
        lines += [
            f"  {one.question}\n    {' | '.join(one.answer.split(chr(10)))}" for one in queries
        ]
    return "\n".join([*lines, "", look.costs.to_string(), f"  {assumed()}", f"  {look.price}"])


def warnings(look: Look) -> list[str]:
    """Return what in the folder limits a comparison of structures, a sentence each."""
    table = look.structures
    found = [
        f"No document has a {label}: it cannot be compared."
        for label in table.index[table.tokens == 0]
    ]
    few = table.questions[(table.tokens > 0) & (table.questions < FEW)]
    remedy = ": name a model as annotator, or" if look.asker == RULES else ", so"
    found += [
        f"{look.asker.capitalize()} ask{'s' * (look.asker != RULES)} under {FEW} questions "
        f"about {listed([*few.index])}{remedy} the intervals will be wide."
    ] * (not few.empty)
    other = [one.document_id for one in look.reading.documents if one.language not in ("en", "")]
    doubted = [one.document_id for one in look.reading.documents if one.doubt]
    return [
        *found,
        *[
            f"Not English, so the rules ask nothing: {', '.join(other[:5])}"
            f" ({len(other)} documents)."
        ]
        * bool(other),
        *[
            f"Tables that cannot be trusted, so nothing is asked: {', '.join(doubted[:5])} "
            f"({len(doubted)} documents)."
        ]
        * bool(doubted),
    ]


def samples(look: Look) -> dict[str, list[Query]]:
    """Return up to three questions per structure, spread over the documents, by label."""
    found = {}
    for name, one in STRUCTURES.items():
        pool = [query for query in look.queries if query.structure == name]
        found[one.label] = pool[:: max(len(pool) // _SAMPLES, 1)][:_SAMPLES]
    return {label: queries for label, queries in found.items() if queries}


def assumed() -> str:
    """Return what the estimate of calls and tokens assumes, in a sentence."""
    return (
        f"Estimated: 4 bytes a token, {PER_DOCUMENT} questions a document, rewrites as long "
        f"as their segments of {SEGMENT} tokens, answers of {ARMS} arms; no call repeated."
    )


def figure(look: Look) -> str:
    """Return the tokens by structure as an SVG that takes the page's colours."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    with pyplot.rc_context(
        {
            "svg.fonttype": "none",
            "font.size": 9,
            "axes.spines.top": False,
            "axes.spines.right": False,
        }
    ):
        drawing, axes = pyplot.subplots(figsize=(4.8, 1.6), layout="constrained")
        table = look.structures[::-1]
        bars = axes.barh([*table.index], table.tokens, color="#1b7f9e")
        axes.bar_label(
            bars,
            [f"{row.tokens:,} tokens, {row.questions} questions" for row in table.itertuples()],
            padding=4,
        )
        axes.set_xlim(0, max(table.tokens.max(), 1) * 1.9)
        axes.set_xticks([])
        axes.spines["bottom"].set_visible(False)
        file = io.StringIO()
        drawing.savefig(file, format="svg", transparent=True)
        pyplot.close(drawing)
    svg = file.getvalue()[file.getvalue().index("<svg") :]
    return re.sub("#000000|fill: black", "currentColor", svg)


def page(look: Look) -> str:
    """Return the look as one self-contained HTML page; all text of documents is escaped."""
    template = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined).from_string(
        _TEMPLATE.read_text(encoding="utf-8")
    )
    return template.render(
        look=look,
        left_out=[*look.reading.rejected, *look.reading.skipped],
        figure=figure(look),
        warnings=warnings(look),
        samples=samples(look),
        assumed=assumed(),
    )


def main(arguments: list[str] | None = None) -> int:
    """Run `python -m lib.run.look [folder] [--model id]`; return 0 on success."""
    parser = argparse.ArgumentParser(prog="python -m lib.run.look", description=__doc__)
    parser.add_argument("folder", nargs="?", default="")
    parser.add_argument("--model", default="")
    options = parser.parse_args(arguments)
    try:
        look = look_at(Path(options.folder or EXAMPLE).expanduser(), options.model or MODEL)
        print(printed(look))
        path = write_text(figures_path("look", "look.html"), page(look))
    except (BadInput, OSError) as error:
        print(f"make look: {error}", file=sys.stderr)
        return 2
    after = (
        "make look DOCUMENTS=path, with your own; or make study STUDY=records"
        if look.folder == EXAMPLE
        else "name a base model in studies/documents.yaml, then "
        f"make study STUDY=documents DOCUMENTS={look.folder}"
    )
    print(f"\nas a page: {shown(path)}\nnext: {after}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
