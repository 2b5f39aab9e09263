"""The command ``dialogeval``: score, compare, corpora, fetch, protocols, convert and report.

In: arguments. Out: results on standard output, one clear line on standard error and exit code 2
for bad usage or bad input; a traceback is a bug of ours.
"""

from __future__ import annotations

import argparse
import errno
import json
import os
import signal
import sys
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from threading import current_thread, main_thread
from typing import TYPE_CHECKING, Any, NoReturn

from dialogeval import __version__
from dialogeval.exceptions import DialogevalError, UsageError
from dialogeval.writing import NO_ROOM

if TYPE_CHECKING:
    from dialogeval.scoring import Scores


def _print_json(value: Any) -> None:
    print(json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False))


def run_score(options: argparse.Namespace) -> None:
    """Score one file of predictions."""
    from dialogeval.corpora.load import load_corpus
    from dialogeval.delex import delexicalize
    from dialogeval.predictions.load import load_predictions
    from dialogeval.scoring import score

    _check_names(options)
    predictions = load_predictions(
        options.predictions, format=options.format, name=options.name, home=options.data_home
    )
    gold = (
        None if options.corpus is None else load_corpus(options.corpus, options.split, home=options.data_home)
    )
    if options.delexicalize:
        predictions = delexicalize(predictions, gold or predictions.gold)
    scores = score(
        gold,
        predictions,
        options.protocol,
        alignment=options.align,
        tokenizer=options.tokenizer,
        steps=options.steps,
        missing=options.missing,
        resamples=options.resamples,
        seed=options.seed,
    )
    _print_scores(scores, options.json)


def _check_names(options: argparse.Namespace) -> None:
    """Refuse a misspelt protocol or step before the slow part: a typing error should cost nothing."""
    from dialogeval.normalize import check_steps
    from dialogeval.protocols import with_steps

    check_steps(options.steps)
    if options.protocol is not None:
        with_steps(options.protocol, options.steps)


def _print_scores(scores: Scores, as_json: bool) -> None:
    if as_json:
        _print_json(scores.to_dict())
    else:
        print(scores.to_text())


def run_compare(options: argparse.Namespace) -> None:
    """Compare the systems of several files."""
    from dialogeval.comparison import compare
    from dialogeval.corpora.load import load_corpus
    from dialogeval.delex import delexicalize
    from dialogeval.predictions.load import load_predictions

    _check_names(options)
    gold = (
        None if options.corpus is None else load_corpus(options.corpus, options.split, home=options.data_home)
    )
    systems = {}
    for path in options.predictions:
        predictions = load_predictions(path, home=options.data_home)
        if predictions.name in systems:
            raise UsageError(f"two files are named {predictions.name}", file=path, mend="rename one of them")
        if options.delexicalize:
            predictions = delexicalize(predictions, gold or predictions.gold)
        systems[predictions.name] = predictions
    result = compare(
        gold,
        systems,
        options.protocol,
        metrics=options.metrics,
        steps=options.steps,
        missing=options.missing,
        dialogues="common" if options.common else "same",
        resamples=options.resamples,
        shuffles=options.shuffles,
        seed=options.seed,
    )
    if options.to == "json":
        _print_json(result.to_dict())
    elif options.to == "text":
        print("\n".join([result.cells(options.metrics).to_string(), "", result.caption()]))
        print("\n".join(f"warning: {w}" for w in result.warnings), end="\n" * bool(result.warnings))
    else:
        faces = {"markdown": result.to_markdown, "latex": result.to_latex}
        print(result.to_csv() if options.to == "csv" else faces[options.to](options.metrics))


def run_corpora(options: argparse.Namespace) -> None:
    """List the corpora."""
    from dialogeval.corpora.catalog import corpora_table, data_home

    table = corpora_table(options.data_home)
    if options.json:
        _print_json(table.to_dict("records"))
    else:
        for row in table.to_dict("records"):
            here = row["splits_here"] or "none"
            print(f"{row['corpus']:<22} {row['title']} ({row['language']}, licence {row['licence']})")
            print(
                f"{'':<22} {row['files_here']} of {row['files']} files here; splits here: {here}; all: {row['splits']}"
            )
        print(f"\ndata home: {data_home(options.data_home)}")


def run_fetch(options: argparse.Namespace) -> None:
    """Download a corpus."""
    from dialogeval.corpora.download import fetch

    extra = {"base_url": options.base_url} if options.base_url else {}
    progress = "bar" if sys.stderr.isatty() else "none"
    table = fetch(
        options.name,
        options.data_home,
        parts=options.parts,
        progress=progress,
        timeout=options.timeout,
        **extra,
    )
    print(table.to_string())


def run_protocols(options: argparse.Namespace) -> None:
    """List the protocols."""
    from dialogeval.protocols import protocols_table

    table = protocols_table()
    if options.json:
        _print_json(table.to_dict("index"))
        return
    for name, row in table.iterrows():
        print(f"{name}\n    {row['title']}")
        for field in ("metrics", "steps", "missing", "source"):
            print(f"    {field}: {row[field]}")


def run_convert(options: argparse.Namespace) -> None:
    """Write predictions in another format."""
    from dialogeval.predictions.load import load_predictions
    from dialogeval.predictions.writers import convert

    if Path(options.source).resolve() == Path(options.target).resolve():
        raise UsageError("IN and OUT are the same file", file=options.source, mend="name another OUT")
    predictions = load_predictions(options.source, format=options.format)
    convert(predictions, options.target, options.to)
    print(f"{options.target}: {predictions!r} as {options.to}")


def run_report_command(options: argparse.Namespace) -> None:
    """Run a report notebook, once for every prediction file and protocol."""
    from dialogeval.exceptions import ReportError
    from dialogeval.report import BETWEEN, plan_report, run_batch, takes_all

    parameters: dict[str, Any] = {}
    for name, value in options.parameter:
        if name in parameters:
            raise UsageError(f"parameter {name} is given twice")
        parameters[name] = value
    for name in ("corpus", "split", "missing", "data_home"):
        if getattr(options, name) is not None:
            parameters[name] = getattr(options, name)
    if options.delexicalize:
        parameters["delexicalize"] = True
    if options.steps:
        parameters["steps"] = " ".join(options.steps)
    several = {n: getattr(options, n) for n in ("predictions", "protocol") if getattr(options, n) is not None}
    if takes_all(options.report) and options.predictions:
        several["predictions"] = [BETWEEN.join(options.predictions)]
    choices = [dict(zip(several, chosen, strict=True)) for chosen in product(*several.values())]
    runs = [plan_report(options.report, parameters | choice, options.out) for choice in choices]
    failures = []
    for _, written, failure in run_batch(runs, options.jobs):
        for what, path in written.items():
            print(f"{what}: {path}", flush=True)
        if failure:
            failures.append(failure)
    for failure in failures[:-1]:
        print(f"dialogeval: {failure}", file=sys.stderr)
    if failures:
        raise ReportError(failures[-1])


_EPILOG = "A score is a number plus a definition: every result carries its protocol and signature."


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, as those of the commands are."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    # Asked to stop, we clean up as after Ctrl-C.
    settable = current_thread() is main_thread()
    before = signal.signal(signal.SIGTERM, _stop) if settable else None
    try:
        options = build_parser().parse_args(arguments)
        options.run(options)
        sys.stdout.flush()
    except DialogevalError as error:
        print(f"dialogeval: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("dialogeval: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:
        # The reader of a pipe (head, less) has gone; what it wanted it has got.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        # Errors of files have become ours where they happen; left are standard output and what Python keeps.
        if error.filename is not None or error.errno not in (*NO_ROOM, errno.EIO):
            raise
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        print(f"dialogeval: output or temporary files cannot be written ({error.strerror})", file=sys.stderr)
        return 2
    finally:
        if settable:
            signal.signal(signal.SIGTERM, before)
    return 0


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = _Parser(prog="dialogeval", description="Evaluate task-oriented dialogue models.", epilog=_EPILOG)
    parser.add_argument("--version", action="version", version=f"dialogeval {__version__}")
    commands = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=_Parser)

    def command(name: str, run: Callable[[argparse.Namespace], None], text: str) -> argparse.ArgumentParser:
        sub = commands.add_parser(
            name, help=text, description=text[0].upper() + text[1:] + ".", epilog=_EPILOG
        )
        sub.set_defaults(run=run)
        return sub

    sub = command("score", run_score, "score a prediction file")
    sub.add_argument("predictions", metavar="PREDICTIONS", help="file of predicted states or responses")
    sub.add_argument("--corpus", metavar="NAME_OR_PATH", help="gold; without it the file must carry its own")
    sub.add_argument("--split", default="test", help="split of the corpus (default: test)")
    sub.add_argument("--protocol", help="see: dialogeval protocols (default: lin2021 or lai2019)")
    _steps(sub)
    _delexicalize(sub)
    sub.add_argument(
        "--align",
        metavar="NAME_OR_PATH",
        help="write states in the gold's ontology first, such as multiwoz__crosswoz_en",
    )
    sub.add_argument(
        "--tokenizer", choices=("space", "13a", "zh", "char"), help="for texts, instead of the protocol's"
    )
    sub.add_argument("--format", help="of the predictions (default: recognised from content)")
    sub.add_argument("--missing", choices=("error", "empty", "skip"), help="turns without a prediction")
    sub.add_argument(
        "--resamples", type=_whole_number, default=1000, help="for intervals, 0 for none (default: 1000)"
    )
    sub.add_argument("--seed", type=_whole_number, default=12345, help="of the resamples (default: 12345)")
    sub.add_argument("--name", help="the system's name (default: from the file)")
    sub.add_argument("--json", action="store_true", help="print one JSON object")
    _data_home(sub)

    sub = command(
        "compare", run_compare, "compare systems: scores, intervals, and which differences are significant"
    )
    sub.add_argument(
        "predictions", metavar="PREDICTIONS", nargs="+", help="files of predictions, two or more"
    )
    sub.add_argument(
        "--corpus", metavar="NAME_OR_PATH", help="gold; without it the files must carry their own"
    )
    sub.add_argument("--split", default="test", help="split of the corpus (default: test)")
    sub.add_argument("--protocol", help="see: dialogeval protocols (default: lin2021 or lai2019)")
    _steps(sub)
    _delexicalize(sub)
    sub.add_argument("--missing", choices=("error", "empty", "skip"), help="turns without a prediction")
    sub.add_argument(
        "--common", action="store_true", help="restrict all to the dialogues that every system covers"
    )
    sub.add_argument(
        "--metrics", nargs="+", metavar="KEY", help="scores to compare (default: all of the protocol)"
    )
    sub.add_argument("--resamples", type=_whole_number, default=1000, help="for intervals (default: 1000)")
    sub.add_argument("--shuffles", type=_whole_number, default=10_000, help="for the tests (default: 10000)")
    sub.add_argument("--seed", type=_whole_number, default=12345, help="(default: 12345)")
    sub.add_argument(
        "--to", choices=("text", "markdown", "latex", "csv", "json"), default="text", help="what to print"
    )
    _data_home(sub)

    sub = command("corpora", run_corpora, "list the corpora that are known, and what of them is here")
    sub.add_argument("--json", action="store_true", help="print a JSON list")
    _data_home(sub)

    sub = command("fetch", run_fetch, "download a corpus of the catalog and verify it")
    sub.add_argument("name", metavar="NAME", help="see: dialogeval corpora")
    sub.add_argument("--parts", nargs="+", metavar="PART", help="only these files, such as test or ontology")
    sub.add_argument("--base-url", metavar="URL", help="a mirror with the layout of GitHub's content server")
    sub.add_argument("--timeout", type=float, default=30.0, help="seconds without an answer (default: 30)")
    _data_home(sub)

    sub = command("protocols", run_protocols, "list the protocols: what they count, how they normalise")
    sub.add_argument("--json", action="store_true", help="print a JSON object by name")

    sub = command("convert", run_convert, "write predictions in another format where nothing is lost")
    sub.add_argument("source", metavar="IN")
    sub.add_argument("target", metavar="OUT")
    sub.add_argument("--to", required=True, metavar="FORMAT", help="format to write")
    sub.add_argument("--format", help="of IN (default: recognised from content)")

    sub = command("report", run_report_command, "run a report notebook on predictions")
    sub.add_argument(
        "report",
        metavar="REPORT",
        help="state_tracking, generation, leaderboard, transfer, scale, or the path of a notebook",
    )
    sub.add_argument(
        "--predictions",
        metavar="FILE",
        nargs="+",
        help="predictions, a report each (leaderboard: files or folders, one report on all)",
    )
    sub.add_argument("--corpus", metavar="NAME_OR_PATH", help="gold (default: the notebook's sample corpus)")
    sub.add_argument("--split", help="split of the corpus")
    sub.add_argument("--protocol", nargs="+", help="see: dialogeval protocols; a report each")
    _steps(sub)
    _delexicalize(sub)
    sub.add_argument("--missing", choices=("error", "empty", "skip"), help="turns without a prediction")
    sub.add_argument(
        "--jobs", type=_whole_number, metavar="N", help="reports at a time (default: one a processor)"
    )
    sub.add_argument("--out", default="reports", metavar="FOLDER", help="where to write (default: reports)")
    sub.add_argument(
        "-p",
        "--parameter",
        nargs=2,
        action="append",
        default=[],
        metavar=("NAME", "VALUE"),
        help="of the notebook",
    )
    _data_home(sub)
    return parser


def _delexicalize(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--delexicalize", action="store_true", help="replace real values in the responses by placeholders"
    )


def _steps(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--steps",
        nargs="+",
        default=(),
        metavar="NAME:CHOICE",
        help="normalise states by these too, such as slots:multiwoz22 or none:drop",
    )


def _data_home(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--data-home", metavar="FOLDER", help="folder of the data (default: $DIALOGEVAL_DATA)"
    )


def _whole_number(text: str) -> int:
    if not text.isdecimal() or len(text) > 9:
        raise argparse.ArgumentTypeError(f"expected a whole number from 0, got {text[:40]!r}")
    return int(text)


def _stop(number: int, frame: object) -> NoReturn:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
