"""The command ``dialogeval``: score, compare, report, corpora, fetch, protocols and convert.

In: arguments. Out: results on standard output, one clear line on standard error and exit code 2
for bad usage or bad input; a traceback is a bug of ours.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import signal
import sys
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from threading import current_thread, main_thread
from typing import Any, NoReturn

from dialogeval import __version__
from dialogeval.exceptions import DialogevalError, UnknownNameError, UsageError

#: Options that say how predictions are read, and how they are scored, for all commands alike.
READING = ("format", "fields", "in_order", "unparsed")
HOW = ("steps", "missing", "resamples", "seed")


def _print_json(value: Any) -> None:
    print(json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False))


def _given(options: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Return the options that were given; for the others, defaults are those of what is called."""
    return {name: value for name in names if (value := getattr(options, name)) is not None}


def _load(options: argparse.Namespace, paths: Sequence[str], name: str | None = None) -> tuple[Any, list]:
    """Load what is scored: the gold corpus, where one is named, and the predictions."""
    from dialogeval.corpora.load import load_corpus
    from dialogeval.delex import delexicalize
    from dialogeval.normalize import check_steps
    from dialogeval.predictions.load import load_predictions
    from dialogeval.protocols import with_steps

    # The quick checks come first: a typing error should cost nothing.
    steps, home = options.steps or (), options.data_home
    check_steps(steps)
    if options.protocol is not None:
        with_steps(options.protocol, steps)
    reading = _given(options, *READING)
    predictions = [load_predictions(path, name=name, home=home, **reading) for path in paths]
    gold = None
    if options.corpus is not None:
        gold = load_corpus(options.corpus, home=home, **_given(options, "split"))
    if options.delexicalize:
        predictions = [delexicalize(each, gold or each.gold) for each in predictions]
    return gold, predictions


def run_score(options: argparse.Namespace) -> None:
    """Score one file of predictions."""
    from dialogeval.scoring import score

    gold, (predictions,) = _load(options, [options.predictions], options.name)
    settings = _given(options, "protocol", "alignment", "tokenizer", *HOW)
    scores = score(gold, predictions, **settings)
    if options.json:
        _print_json(scores.to_dict())
    else:
        print(scores.to_text())
        print(f"read as: {predictions.recognised}")


def run_compare(options: argparse.Namespace) -> None:
    """Compare the systems of several files."""
    from dialogeval.comparison import compare

    gold, predictions = _load(options, options.predictions)
    systems = {each.name: each for each in predictions}
    if len(systems) < len(predictions):
        raise UsageError(f"two files have the same name, of {', '.join(systems)}", mend="rename one of them")
    settings = _given(options, "protocol", "metrics", "dialogues", "shuffles", *HOW)
    result = compare(gold, systems, **settings)
    if options.to == "json":
        _print_json(result.to_dict())
    elif options.to == "csv":
        print(result.to_csv())
    elif options.to == "text":
        warnings = [f"warning: {warning}" for warning in result.warnings]
        print(result.cells(options.metrics).to_string(), "", result.caption(), *warnings, sep="\n")
    else:
        print({"markdown": result.to_markdown, "latex": result.to_latex}[options.to](options.metrics))


def run_report(options: argparse.Namespace) -> int:
    """Run a report notebook, once for every prediction file and protocol."""
    from dialogeval.report import BETWEEN, TOGETHER, plan_report, run_batch

    names = ("corpus", "split", "data_home", "delexicalize", *HOW)
    parameters = _given(options, *names) | dict(options.parameter)
    if reading := _given(options, *READING):
        parameters["reading"] = reading
    if options.steps:
        parameters["steps"] = " ".join(options.steps)
    several = _given(options, "predictions", "protocol")
    if Path(options.report).stem.removeprefix("report_") == TOGETHER and options.predictions:
        several["predictions"] = [BETWEEN.join(options.predictions)]
    choices = [dict(zip(several, chosen, strict=True)) for chosen in product(*several.values())]
    runs = [plan_report(options.report, parameters | choice, options.out) for choice in choices]
    code = 0
    for _, written, failure in run_batch(runs, options.jobs):
        for what, path in written.items():
            print(f"{what}: {path}", flush=True)
        if failure is not None:
            print(f"dialogeval: {failure}", file=sys.stderr)
            code = 2
    return code


def run_corpora(options: argparse.Namespace) -> None:
    """List the corpora."""
    from dialogeval.corpora.catalog import corpora_table, data_home

    rows = corpora_table(options.data_home).to_dict("records")
    if options.json:
        _print_json(rows)
        return
    for row in rows:
        print(f"{row['corpus']:<22} {row['title']} ({row['language']}, licence {row['licence']})")
        splits = f"splits here: {row['splits_here'] or 'none'}; all: {row['splits']}"
        print(f"{'':<22} {row['files_here']} of {row['files']} files here; {splits}")
    print(f"\ndata home: {data_home(options.data_home)}")


def run_fetch(options: argparse.Namespace) -> None:
    """Download a corpus."""
    from dialogeval.corpora.download import fetch

    settings = _given(options, "parts", "base_url", "timeout")
    progress = "bar" if sys.stderr.isatty() else "none"
    print(fetch(options.name, options.data_home, progress=progress, **settings).to_string())


def run_protocols(options: argparse.Namespace) -> None:
    """List the protocols."""
    from dialogeval.protocols import protocols_table

    table = protocols_table()
    if options.json:
        _print_json(table.to_dict("index"))
        return
    for name, row in table.iterrows():
        print(name, row["title"], sep="\n    ")
        for field in ("metrics", "steps", "missing", "source"):
            print(f"    {field}: {row[field]}")


def run_convert(options: argparse.Namespace) -> None:
    """Write predictions in another format."""
    from dialogeval.predictions.load import load_predictions
    from dialogeval.predictions.writers import convert

    if Path(options.source).resolve() == Path(options.target).resolve():
        raise UsageError("IN and OUT are the same file", file=options.source, mend="name another OUT")
    predictions = load_predictions(options.source, **_given(options, *READING))
    convert(predictions, options.target, options.to)
    print(f"{options.target}: {predictions!r} as {options.to}")


def _add_loading(command: argparse.ArgumentParser) -> None:
    """Declare how predictions are read."""
    add = command.add_argument
    add("--format", help="of the predictions (default: recognised from content)")
    named = "the file's name of a field, as state=belief_state or turn=turn_id-1"
    add("--field", dest="fields", action="append", metavar="FIELD=NAME", help=named)
    add(
        "--in-order",
        action="store_const",
        const=True,
        help="the file has the corpus's turns in order, no ids",
    )
    add("--unparsed", choices=("error", "empty"), help="states in no known notation (default: error)")


def _add_scoring(command: argparse.ArgumentParser, protocols: str | None = None) -> None:
    """Declare what is scored and how."""
    _add_loading(command)
    add = command.add_argument
    add("--corpus", metavar="NAME_OR_PATH", help="gold (default: the file's own; for a report, the sample)")
    add("--split", help="split of the corpus (default: test)")
    add("--protocol", nargs=protocols, help="see: dialogeval protocols (default: lin2021 or lai2019)")
    add(
        "--steps", nargs="+", metavar="NAME:CHOICE", help="normalise states by these too, as slots:multiwoz22"
    )
    add(
        "--delexicalize", action="store_const", const=True, help="replace values in responses by placeholders"
    )
    add("--missing", choices=("error", "empty", "skip"), help="turns without a prediction")
    add("--resamples", type=int, metavar="N", help="for intervals, 0 for none (default: 1000)")
    add("--seed", type=int, metavar="N", help="of the resamples (default: 12345)")


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, as those of the commands are."""

    def error(self, message: str) -> NoReturn:
        wrong = re.fullmatch(r"argument (.+): invalid choice: '(.*)' \(choose from (.*)\)", message)
        if wrong:
            choices = wrong[3].replace("'", "").split(", ")
            message = str(UnknownNameError(wrong[1], wrong[2], choices))
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    epilog = "A score is a number plus a definition: every result carries its protocol and signature."
    parser = _Parser(prog="dialogeval", description="Evaluate task-oriented dialogue models.", epilog=epilog)
    parser.add_argument("--version", action="version", version=f"dialogeval {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True)

    def command(name: str, run: Callable[..., int | None], text: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=text, description=f"{text.capitalize()}.", epilog=epilog)
        sub.set_defaults(run=run, parser=sub)
        folder = "folder of the data (default: $DIALOGEVAL_DATA)"
        sub.add_argument("--data-home", metavar="FOLDER", help=folder)
        return sub

    sub = command("score", run_score, "score a prediction file")
    sub.add_argument("predictions", metavar="PREDICTIONS", help="file of predicted states or responses")
    _add_scoring(sub)
    align = "write states in the gold's ontology first, such as multiwoz__crosswoz_en"
    sub.add_argument("--align", dest="alignment", metavar="NAME_OR_PATH", help=align)
    sub.add_argument("--tokenizer", choices=("space", "13a", "zh", "char"), help="not the protocol's")
    sub.add_argument("--name", help="the system's name (default: from the file)")
    sub.add_argument("--json", action="store_true", help="print one JSON object")

    sub = command("compare", run_compare, "compare systems, and say which differences are significant")
    sub.add_argument("predictions", metavar="PREDICTIONS", nargs="+", help="files of two systems or more")
    _add_scoring(sub)
    sub.add_argument("--shuffles", type=int, metavar="N", help="for the tests (default: 10000)")
    common = "restrict all to the dialogues that every system covers"
    sub.add_argument("--common", dest="dialogues", action="store_const", const="common", help=common)
    sub.add_argument("--metrics", nargs="+", metavar="KEY", help="scores to compare (default: all)")
    sub.add_argument("--to", choices=("text", "markdown", "latex", "csv", "json"), default="text")

    sub = command("corpora", run_corpora, "list the corpora that are known, and what of them is here")
    sub.add_argument("--json", action="store_true", help="print a JSON list")

    sub = command("fetch", run_fetch, "download a corpus of the catalog and verify it")
    sub.add_argument("name", metavar="NAME", help="see: dialogeval corpora")
    sub.add_argument("--parts", nargs="+", metavar="PART", help="only these, such as test or ontology")
    sub.add_argument("--base-url", metavar="URL", help="a mirror with the layout of GitHub's content server")
    sub.add_argument("--timeout", type=float, help="seconds without an answer (default: 30)")

    sub = command("protocols", run_protocols, "list the protocols: what they count, how they normalise")
    sub.add_argument("--json", action="store_true", help="print a JSON object by name")

    sub = command("convert", run_convert, "write predictions in another format where nothing is lost")
    sub.add_argument("source", metavar="IN")
    sub.add_argument("target", metavar="OUT")
    sub.add_argument("--to", required=True, metavar="FORMAT", help="format to write")
    _add_loading(sub)

    sub = command("report", run_report, "run a report notebook on predictions")
    kinds = "state_tracking, generation, leaderboard, transfer, or the path of a notebook"
    sub.add_argument("report", metavar="REPORT", help=kinds)
    sub.add_argument(
        "--predictions", metavar="FILE", nargs="+", help="a report each (leaderboard: one on all)"
    )
    _add_scoring(sub, protocols="+")
    sub.add_argument("-p", "--parameter", action="append", nargs=2, default=[], metavar=("NAME", "VALUE"))
    sub.add_argument("--jobs", type=int, metavar="N", help="at a time (default: one a processor)")
    sub.add_argument("--out", default="reports", metavar="FOLDER", help="where to write (default: reports)")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    if current_thread() is main_thread():
        # Asked to stop, we clean up as after Ctrl-C.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        options, rest = build_parser().parse_known_args(arguments)
        if rest:
            known = [name for name in options.parser._option_string_actions if name.startswith("--")]
            raise UnknownNameError(f"option of {options.parser.prog}", rest[0].partition("=")[0], known)
        code = options.run(options)
        sys.stdout.flush()
    except DialogevalError as error:
        print(f"dialogeval: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("dialogeval: interrupted", file=sys.stderr)
        return 130
    except OSError as error:
        # Of standard output, which Python would flush once more; all others are errors of ours by now.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):  # head or less has got what it wanted
            return 0
        print(f"dialogeval: output or temporary files cannot be written ({error.strerror})", file=sys.stderr)
        return 2
    return code or 0


if __name__ == "__main__":
    sys.exit(main())
