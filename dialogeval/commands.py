"""What the commands do: parsed options in, results on standard output.

One function a command; `dialogeval.cli` parses the arguments and answers for errors.
"""

from __future__ import annotations

import argparse
import json
import sys
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .exceptions import UsageError

if TYPE_CHECKING:
    from .scoring import Scores


def _print_json(value: Any) -> None:
    print(json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False))


def run_score(options: argparse.Namespace) -> None:
    """Score one file of predictions."""
    from .corpora import load_corpus
    from .delex import delexicalize
    from .predictions import load_predictions
    from .scoring import score

    if options.turns_at_once is not None or options.dask is not None or _is_large(options):
        if options.delexicalize:
            raise UsageError(
                "--delexicalize needs the whole file", mend="leave --turns-at-once and --dask out"
            )
        _print_scores(_score_in_pieces(options), options.json)
        return
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
    from .choosing import with_steps
    from .normalize import check_steps

    check_steps(options.steps)
    if options.protocol is not None:
        with_steps(options.protocol, options.steps)


def _print_scores(scores: Scores, as_json: bool) -> None:
    if as_json:
        _print_json(scores.to_dict())
    else:
        print(scores.to_text())


def _is_large(options: argparse.Namespace) -> bool:
    """Whether a file would take more memory than one cares to give, and can be read in pieces."""
    from .predictions.pieces import LARGE, can_be_cut

    path = Path(options.predictions)
    return path.is_file() and path.stat().st_size > LARGE and can_be_cut(path)


def _score_in_pieces(options: argparse.Namespace) -> Scores:
    from .scale import TURNS_AT_ONCE, score_in_pieces

    return score_in_pieces(
        options.corpus,
        options.predictions,
        options.protocol,
        split=options.split,
        tokenizer=options.tokenizer,
        steps=options.steps,
        alignment=options.align,
        missing=options.missing,
        resamples=options.resamples,
        seed=options.seed,
        format=options.format,
        name=options.name,
        turns_at_once=TURNS_AT_ONCE if options.turns_at_once is None else options.turns_at_once,
        dask=options.dask,
        home=options.data_home,
    )


def run_compare(options: argparse.Namespace) -> None:
    """Compare the systems of several files."""
    from .comparison import compare
    from .corpora import load_corpus
    from .delex import delexicalize
    from .predictions import load_predictions

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
    from .corpora.catalog import corpora_table, data_home

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
    from .corpora.download import fetch

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
    from .protocols import protocols_table

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
    from .predictions import load_predictions
    from .predictions.writers import convert

    if Path(options.source).resolve() == Path(options.target).resolve():
        raise UsageError("IN and OUT are the same file", file=options.source, mend="name another OUT")
    predictions = load_predictions(options.source, format=options.format)
    convert(predictions, options.target, options.to)
    print(f"{options.target}: {predictions!r} as {options.to}")


def run_report_command(options: argparse.Namespace) -> None:
    """Run a report notebook, once for every prediction file and protocol."""
    from .exceptions import ReportError
    from .report_batch import run_batch
    from .report_plan import BETWEEN, plan_report, takes_all

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
