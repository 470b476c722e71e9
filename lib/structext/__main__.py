"""Run StrucText-Eval from the command line.

    python -m lib.structext generate --depth 2 --per-task 10 --seed 42 > samples.jsonl
    python -m lib.structext generate --suite test-hard --output samples.jsonl
    python -m lib.structext solve samples.jsonl    {id, language, question, reference}
                                                   -> {id, answer, error}
    python -m lib.structext score responses.jsonl  {answer, response} -> scores
    python -m lib.structext load FILE_OR_FOLDER    official files -> samples
    python -m lib.structext rewrite samples.jsonl --model M
                                                   abstract names -> a scenario's, by a model

Each command writes JSON lines to standard output or to --output, which a failed command leaves
unchanged. A source of - is standard input. `rewrite` uses the endpoint that the environment names
(OPENAI_BASE_URL, OPENAI_API_KEY); samples that it cannot rewrite go to --rejected or to standard
error.
"""

import argparse
import contextlib
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from lib.core.files import write_records
from lib.core.paths import data_path
from lib.structext.records import MODES

_DIALS = ("depth", "width", "size", "tasks", "real")  # set by a suite


def main(arguments: list[str] | None = None) -> int:
    """Run one sub-command. Return 0; on failure, print what is wrong on one line and return 1."""
    options = _parser().parse_args(arguments)
    try:
        options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:  # the reader (head) closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except (ValueError, OSError, RuntimeError) as error:
        print(f"python -m lib.structext {options.command}: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m lib.structext", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    make = commands.add_parser("generate", help="make samples")
    make.add_argument("--suite", help="test, real-test, test-hard, v1-simple or v1-hard, with its "
                      "own depths and widths")
    make.add_argument("--mode", choices=MODES, default="corrected")
    make.add_argument("--depth", type=int, default=1, help="levels below the root")
    make.add_argument("--width", type=int, default=1, help="a node has depth × width children")
    make.add_argument("--size", type=int, default=6, help="attributes or words per node and depth")
    make.add_argument("--per-task", type=int, help="samples per task, depth and width; 0 as in a "
                      "study: all of a suite, else 16; default: all of a suite, else 1")
    make.add_argument("--seed", type=int, default=42)
    make.add_argument("--tasks", nargs="+", help="tasks (json.3) or languages (json, toml); "
                      "default: the benchmark's 29")
    make.add_argument("--real", action="store_true", help="use words of a scenario, not letters")
    make.set_defaults(run=_generate, dials={name: make.get_default(name) for name in _DIALS})
    for name, run, summary in (("solve", _solve, "answer questions with real parsers"),
                               ("score", _score, "score responses"),
                               ("load", _load, "read official files, or a folder of them"),
                               ("rewrite", _rewrite, "let a model choose names from a scenario")):
        command = commands.add_parser(name, help=summary)
        command.add_argument("source", type=Path, help="a file, or - for standard input")
        command.set_defaults(run=run)
    command.add_argument("--model", required=True, help="the model's name at the endpoint")
    command.add_argument("--scenario-seed", type=int, default=42, help="draws the scenarios")
    command.add_argument("--max-cost-usd", type=float, help="dollars that may be spent")
    command.add_argument("--cache", type=Path, help="paid replies (data/structext/llm.sqlite)")
    command.add_argument("--rejected", type=Path, help="a file for what could not be rewritten")
    for command in commands.choices.values():
        command.add_argument("--output", type=Path, help="a file; default: standard output")
    return parser


# Each command imports only what it needs: pandas, sacrebleu and the LLM client are slow to load.
def _generate(options: argparse.Namespace) -> None:
    from lib.structext.generate.samples import generate, suite

    if options.suite:
        if given := [name for name in _DIALS if getattr(options, name) != options.dials[name]]:
            flags = ", ".join("--" + name.replace("_", "-") for name in given)
            raise ValueError(f"--suite {options.suite} has its own {', '.join(given)}: leave out "
                             f"{flags}")
        samples = iter(suite(options.suite, options.seed, options.mode, options.per_task or 0))
    else:
        per_task = 1 if options.per_task is None else options.per_task
        samples = generate(options.mode, options.tasks, options.depth, options.width, per_task,
                           options.seed, options.size, options.real)
    if options.output:
        write_records(options.output, samples)
    else:
        for sample in samples:
            print(sample.model_dump_json())


def _solve(options: argparse.Namespace) -> None:
    from lib.structext.solve.solver import solve_file

    _between(options, solve_file, "{0[0]} questions, {0[1]} without an answer (see their error)")


def _score(options: argparse.Namespace) -> None:
    from lib.structext.analyze.scores import score_file

    _between(options, score_file, "")


def _load(options: argparse.Namespace) -> None:
    from lib.structext.solve.official import load_file

    _between(options, load_file, "{0} samples")


def _rewrite(options: argparse.Namespace) -> None:
    from lib.llm.calls import Calls
    from lib.structext.ask.real_test import GivenSample, rewrite
    from lib.structext.json_lines import read_given

    def run(source: Path, target: Path) -> tuple[int, int]:
        cache = options.cache or data_path("structext", "llm.sqlite")
        calls = Calls(cache, max_cost_usd=options.max_cost_usd)
        samples = read_given(source, GivenSample)
        with contextlib.redirect_stdout(sys.stderr):  # the calls' plan and progress
            made, rejected = rewrite(samples, options.scenario_seed, options.model, calls)
        write_records(target, made)
        if options.rejected:
            write_records(options.rejected, rejected)
        else:
            for row in rejected:
                print(f"left out: {row.document_id}: {row.reason}", file=sys.stderr)
        return len(made), len(rejected)

    _between(options, run, "{0[0]} samples rewritten, {0[1]} left out")


def _between(options: argparse.Namespace, run: Callable[[Path, Path], object],
             summary: str) -> None:
    """Run from source to target (either may be a standard stream); report to standard error."""
    with tempfile.TemporaryDirectory() as folder:
        source, target = options.source, options.output or Path(folder) / "output.jsonl"
        if str(source) == "-":
            source = Path(folder) / "input.jsonl"
            source.write_bytes(sys.stdin.buffer.read())
        print(summary.format(run(source, target)), file=sys.stderr, end="\n" if summary else "")
        if not options.output:
            sys.stdout.write(target.read_text(encoding="utf-8"))


if __name__ == "__main__":
    sys.exit(main())
