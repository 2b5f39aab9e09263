"""The command ``dialogeval``: score, compare, corpora, fetch, protocols, convert and report.

In: arguments. Out: results on standard output, one clear line on standard error and exit code 2
for bad usage or bad input; a traceback is a bug of ours.
"""

from __future__ import annotations

import argparse
import errno
import os
import signal
import sys
from collections.abc import Callable, Sequence
from threading import current_thread, main_thread
from typing import NoReturn

from . import __version__
from .commands import (
    run_compare,
    run_convert,
    run_corpora,
    run_fetch,
    run_protocols,
    run_report_command,
    run_score,
)
from .exceptions import DialogevalError
from .writing import NO_ROOM

__all__ = ["main"]

_EPILOG = "A score is a number plus a definition: every result carries its protocol and signature."


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line, as those of the commands are."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message} (see {self.prog} --help)\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Parameters
    ----------
    arguments : sequence of str, optional
        Without the program's name; the process's own by default.

    Returns
    -------
    int
        0, or 2 for bad usage or bad input, or 130 when interrupted.

    Examples
    --------
    >>> main(["score", "no/such/file.json"])
    2
    """
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
    sub.add_argument(
        "--turns-at-once",
        type=_number_from_1,
        metavar="N",
        help="read JSON lines or Parquet in pieces of N turns (default: at once, large files in pieces)",
    )
    sub.add_argument("--dask", metavar="ADDRESS", help="count the pieces there: tcp://host:8786, or local")
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


def _number_from_1(text: str) -> int:
    if not text.isdecimal() or len(text) > 9 or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1, got {text[:40]!r}")
    return int(text)


def _whole_number(text: str) -> int:
    if not text.isdecimal() or len(text) > 9:
        raise argparse.ArgumentTypeError(f"expected a whole number from 0, got {text[:40]!r}")
    return int(text)


def _stop(number: int, frame: object) -> NoReturn:
    raise KeyboardInterrupt


if __name__ == "__main__":
    sys.exit(main())
