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


def _print_json(value: Any) -> None:
    print(json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False))


def _load(
    options: argparse.Namespace, paths: Sequence[str], name: str | None = None
) -> tuple[Any, list[Any]]:
    """Load what is scored: the gold corpus, where one is named, and the predictions."""
    from dialogeval.corpora.load import load_corpus
    from dialogeval.delex import delexicalize
    from dialogeval.normalize import check_steps
    from dialogeval.predictions.load import load_predictions
    from dialogeval.protocols import with_steps

    # The quick checks come first: a typing error should cost nothing.
    check_steps(options.steps)
    if options.protocol is not None:
        with_steps(options.protocol, options.steps)
    home = options.data_home
    predictions = [load_predictions(path, options.format, name, home=home) for path in paths]
    gold = None
    if options.corpus is not None:
        gold = load_corpus(options.corpus, options.split or "test", home=home)
    if options.delexicalize:
        predictions = [delexicalize(each, gold or each.gold) for each in predictions]
    return gold, predictions


def _chosen(options: argparse.Namespace, *names: str) -> dict[str, Any]:
    return {name: getattr(options, name) for name in names}


def run_score(options: argparse.Namespace) -> None:
    """Score one file of predictions."""
    from dialogeval.scoring import score

    gold, (predictions,) = _load(options, [options.predictions], options.name)
    settings = _chosen(options, "tokenizer", "steps", "missing", "resamples", "seed")
    scores = score(gold, predictions, options.protocol, alignment=options.align, **settings)
    if options.json:
        _print_json(scores.to_dict())
    else:
        print(scores.to_text())


def run_compare(options: argparse.Namespace) -> None:
    """Compare the systems of several files."""
    from dialogeval.comparison import compare

    gold, predictions = _load(options, options.predictions)
    systems = {each.name: each for each in predictions}
    if len(systems) < len(predictions):
        raise UsageError(f"two files have the same name, of {', '.join(systems)}", mend="rename one of them")
    settings = _chosen(options, "metrics", "steps", "missing", "resamples", "shuffles", "seed")
    dialogues = "common" if options.common else "same"
    result = compare(gold, systems, options.protocol, dialogues=dialogues, **settings)
    if options.to == "json":
        _print_json(result.to_dict())
    elif options.to == "text":
        print(result.cells(options.metrics).to_string(), "", result.caption(), sep="\n")
        print(*(f"warning: {warning}\n" for warning in result.warnings), sep="", end="")
    elif options.to == "csv":
        print(result.to_csv())
    else:
        print({"markdown": result.to_markdown, "latex": result.to_latex}[options.to](options.metrics))


def run_report(options: argparse.Namespace) -> None:
    """Run a report notebook, once for every prediction file and protocol."""
    from dialogeval.report import BETWEEN, TOGETHER, plan_report, run_batch

    shared = _chosen(options, "corpus", "split", "missing", "data_home", "format")
    shared |= {"delexicalize": options.delexicalize or None, "steps": " ".join(options.steps) or None}
    parameters = {name: value for name, value in shared.items() if value is not None}
    parameters |= dict(options.parameter)
    several = {name: found for name, found in _chosen(options, "predictions", "protocol").items() if found}
    if options.report.removeprefix("report_") == TOGETHER and options.predictions:
        several["predictions"] = [BETWEEN.join(options.predictions)]
    choices = [dict(zip(several, chosen, strict=True)) for chosen in product(*several.values())]
    runs = [plan_report(options.report, parameters | choice, options.out) for choice in choices]
    failures = []
    for _, written, failure in run_batch(runs, options.jobs):
        for what, path in written.items():
            print(f"{what}: {path}", flush=True)
        failures += [failure] if failure is not None else []
    for failure in failures[:-1]:
        print(f"dialogeval: {failure}", file=sys.stderr)
    if failures:
        raise failures[-1]


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
    from dialogeval.corpora.download import CONTENT_URL, fetch

    url = options.base_url or CONTENT_URL
    bar = "bar" if sys.stderr.isatty() else "none"
    home, parts, timeout = options.data_home, options.parts, options.timeout
    print(fetch(options.name, home, parts, base_url=url, progress=bar, timeout=timeout).to_string())


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
    predictions = load_predictions(options.source, options.format)
    convert(predictions, options.target, options.to)
    print(f"{options.target}: {predictions!r} as {options.to}")


def _whole_number(text: str) -> int:
    if not text.isdecimal() or len(text) > 9:
        raise argparse.ArgumentTypeError(f"expected a whole number from 0, got {text[:40]!r}")
    return int(text)


def _add_data_home(command: argparse.ArgumentParser) -> None:
    text = "folder of the data (default: $DIALOGEVAL_DATA)"
    command.add_argument("--data-home", metavar="FOLDER", help=text)


def _add_loading(command: argparse.ArgumentParser) -> None:
    """Declare how predictions are read."""
    command.add_argument("--format", help="of the predictions (default: recognised from content)")


def _add_scoring(command: argparse.ArgumentParser, protocols: str | None = None) -> None:
    """Declare what is scored and how."""
    _add_loading(command)
    _add_data_home(command)
    add = command.add_argument
    add("--corpus", metavar="NAME_OR_PATH", help="gold (default: the file's own; for a report, the sample)")
    add("--split", help="split of the corpus (default: test)")
    add("--protocol", nargs=protocols, help="see: dialogeval protocols (default: lin2021 or lai2019)")
    steps = "normalise states by these too, such as slots:multiwoz22 or none:drop"
    add("--steps", nargs="+", default=(), metavar="NAME:CHOICE", help=steps)
    add("--delexicalize", action="store_true", help="replace real values in responses by placeholders")
    add("--missing", choices=("error", "empty", "skip"), help="turns without a prediction")


def _add_resampling(command: argparse.ArgumentParser) -> None:
    add = command.add_argument
    add("--resamples", type=_whole_number, default=1000, help="for intervals, 0 for none (default: 1000)")
    add("--seed", type=_whole_number, default=12345, help="of the resamples (default: 12345)")


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

    def command(name: str, run: Callable[[argparse.Namespace], None], text: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(name, help=text, description=f"{text.capitalize()}.", epilog=epilog)
        sub.set_defaults(run=run, parser=sub)
        return sub

    sub = command("score", run_score, "score a prediction file")
    sub.add_argument("predictions", metavar="PREDICTIONS", help="file of predicted states or responses")
    _add_scoring(sub)
    _add_resampling(sub)
    align = "write states in the gold's ontology first, such as multiwoz__crosswoz_en"
    sub.add_argument("--align", metavar="NAME_OR_PATH", help=align)
    sub.add_argument("--tokenizer", choices=("space", "13a", "zh", "char"), help="not the protocol's")
    sub.add_argument("--name", help="the system's name (default: from the file)")
    sub.add_argument("--json", action="store_true", help="print one JSON object")

    text = "compare systems: scores, intervals, and which differences are significant"
    sub = command("compare", run_compare, text)
    sub.add_argument("predictions", metavar="PREDICTIONS", nargs="+", help="files of two systems or more")
    _add_scoring(sub)
    _add_resampling(sub)
    sub.add_argument("--shuffles", type=_whole_number, default=10_000, help="for tests (default: 10000)")
    sub.add_argument("--common", action="store_true", help="only dialogues that every system covers")
    sub.add_argument("--metrics", nargs="+", metavar="KEY", help="scores to compare (default: all)")
    forms = ("text", "markdown", "latex", "csv", "json")
    sub.add_argument("--to", choices=forms, default="text", help="what to print")

    sub = command("corpora", run_corpora, "list the corpora that are known, and what of them is here")
    sub.add_argument("--json", action="store_true", help="print a JSON list")
    _add_data_home(sub)

    sub = command("fetch", run_fetch, "download a corpus of the catalog and verify it")
    sub.add_argument("name", metavar="NAME", help="see: dialogeval corpora")
    sub.add_argument("--parts", nargs="+", metavar="PART", help="only these, such as test or ontology")
    sub.add_argument("--base-url", metavar="URL", help="a mirror with the layout of GitHub's content server")
    sub.add_argument("--timeout", type=float, default=30.0, help="seconds without an answer (default: 30)")
    _add_data_home(sub)

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
    files = "a report each (leaderboard: files or folders, one report on all)"
    sub.add_argument("--predictions", metavar="FILE", nargs="+", help=files)
    _add_scoring(sub, protocols="+")
    pair = {"nargs": 2, "metavar": ("NAME", "VALUE"), "help": "of the notebook"}
    sub.add_argument("-p", "--parameter", action="append", default=[], **pair)
    sub.add_argument("--jobs", type=_whole_number, metavar="N", help="at a time (default: one a processor)")
    sub.add_argument("--out", default="reports", metavar="FOLDER", help="where to write (default: reports)")
    return parser


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    options, rest = build_parser().parse_known_args(arguments)
    if rest:
        known = [name for name in options.parser._option_string_actions if name.startswith("--")]
        raise UnknownNameError(f"option of {options.parser.prog}", rest[0].partition("=")[0], known)
    return options


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    if current_thread() is main_thread():
        # Asked to stop, we clean up as after Ctrl-C.
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        options = _parse(arguments)
        options.run(options)
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
    return 0


if __name__ == "__main__":
    sys.exit(main())
