"""What a report will do, checked before anything runs: its notebook, its parameters, its folder.

In: the name of a report and parameters as they were typed. Out: a `Run`; or one line that says which
parameter, file or name is wrong.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .exceptions import DataFileError, UnknownNameError, UsageError, show
from .resources import resource_dir

__all__ = ["BETWEEN", "REPORTS", "Run", "check_parameters", "find_report", "plan_report", "read_parameters"]

#: Reports that come with the package: ``report_NAME.ipynb``.
REPORTS = ("state_tracking", "generation", "leaderboard", "transfer", "scale")
#: Reports that take all given predictions together instead of one after the other.
TOGETHER = ("leaderboard",)
#: Between several prediction files in one parameter.
BETWEEN = ";"
#: Parameter that the runner sets: where a report writes its numbers.
OUT = "out_dir"


@dataclass(frozen=True)
class Run:
    """A report that has been checked and may start.

    Parameters
    ----------
    notebook : pathlib.Path
    values : dict
        Parameters that differ from the notebook's own.
    folder : pathlib.Path
        Where everything goes.
    """

    notebook: Path
    values: dict[str, Any]
    folder: Path


def plan_report(
    report: str | os.PathLike[str], parameters: Mapping[str, Any] | None, out: str | os.PathLike[str]
) -> Run:
    """Check a report's name, parameters and inputs before anything runs.

    Parameters
    ----------
    report, parameters, out
        As for `run_report`.

    Returns
    -------
    Run

    Raises
    ------
    UnknownNameError, UsageError, DataFileError

    Examples
    --------
    >>> plan_report("generation", {"resamples": "20"}, "reports").folder.as_posix()
    'reports/generation_generator_template_sample-multiwoz'
    """
    path = find_report(report)
    values = check_parameters(path, parameters or {})
    defaults = read_parameters(path)
    _check_inputs(path, {**defaults, **values})
    folder = Path(out) / _slug(path, {**defaults, **values}, defaults)
    if OUT in defaults:
        values[OUT] = str(folder)
    return Run(path, values, folder)


def find_report(report: str | os.PathLike[str]) -> Path:
    """Return the path of a report notebook by name or path.

    Raises
    ------
    UnknownNameError

    Examples
    --------
    >>> find_report("state_tracking").name
    'report_state_tracking.ipynb'
    """
    path = Path(report)
    if path.suffix == ".ipynb":
        if not path.is_file():
            raise DataFileError("no such notebook", file=path, mend=f"or name a report: {', '.join(REPORTS)}")
        return path
    name = str(report).removeprefix("report_")
    if name not in REPORTS:
        raise UnknownNameError("report", str(report), REPORTS)
    return resource_dir("notebooks") / f"report_{name}.ipynb"


def takes_all(notebook: str | os.PathLike[str]) -> bool:
    """Tell whether a report takes all predictions together, as a leaderboard does."""
    return Path(notebook).stem.removeprefix("report_") in TOGETHER


def read_parameters(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the parameters of a notebook and their defaults.

    Parameters
    ----------
    path : path-like
        A notebook with a cell tagged ``parameters`` that holds assignments of literals.

    Returns
    -------
    dict of str to object

    Raises
    ------
    DataFileError
        Not a notebook, or one without such a cell.

    Examples
    --------
    >>> read_parameters(find_report("generation"))["seed"]
    12345
    """
    import nbformat

    try:
        notebook = nbformat.read(path, as_version=4)
    except (ValueError, nbformat.ValidationError, OSError, AttributeError) as error:
        raise DataFileError(f"not a notebook ({type(error).__name__})", file=path) from None
    for cell in notebook.cells:
        if cell.cell_type == "code" and "parameters" in cell.metadata.get("tags", []):
            found = {}
            for statement in ast.parse(cell.source).body:
                if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                    found[statement.targets[0].id] = ast.literal_eval(statement.value)
            return found
    raise DataFileError("has no cell tagged 'parameters'", file=path, mend="tag the cell of its settings")


def check_parameters(path: Path, given: Mapping[str, Any]) -> dict[str, Any]:
    """Check given parameters against a notebook's own and give them their types.

    Raises
    ------
    UnknownNameError, UsageError

    Examples
    --------
    >>> check_parameters(find_report("generation"), {"resamples": "20"})
    {'resamples': 20}
    """
    defaults = read_parameters(path)
    known = [name for name in defaults if name != OUT]
    checked = {}
    for name, value in given.items():
        if name not in known:
            raise UnknownNameError(f"parameter of {path.name}", name, known)
        default = defaults[name]
        wanted = type(default)
        if isinstance(value, str) and wanted in (int, float, bool, list):
            try:
                value = json.loads(value.lower() if wanted is bool else value)
            except ValueError:
                raise UsageError(f"parameter {name}", expected=f"like {default!r}", got=show(value)) from None
        if default is not None and type(value) is not wanted and not (wanted is float and type(value) is int):
            raise UsageError(f"parameter {name}", expected=f"like {default!r}", got=show(value))
        checked[name] = value
    return checked


def _slug(path: Path, values: Mapping[str, Any], defaults: Mapping[str, Any]) -> str:
    """Name a run after what tells it from others, so that two systems never share a folder."""
    parts = [path.stem.removeprefix("report_")]
    for name in ("predictions", "corpus", "split", "protocol", "steps", "missing"):
        text = str(values.get(name) or "")
        if name == "predictions":
            text = _run_name(text)
        elif name != "corpus" and text == str(defaults.get(name) or ""):
            continue
        plain = re.sub(r"[^\w.-]+", "-", text).strip("-.")
        if name == "predictions" and plain != text:
            # "a b" and "a-b" are two systems.
            plain += f"-{_digest(text)}"
        parts.append(plain)
    whole = "_".join(p for p in parts if p)
    return whole if len(whole) <= 120 else f"{whole[:115]}-{_digest(whole)}"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:4]


def _run_name(predictions: str) -> str:
    """Return a name for a prediction file that tells equally named files of different folders apart."""
    from .predictions.load import system_name

    if BETWEEN in predictions:
        return f"{predictions.count(BETWEEN) + 1}-systems-{_digest(predictions)}"
    path = Path(predictions)
    if not predictions or path.parts[0] in ("sample", "predictions"):
        return system_name(path.name)
    folders = path.parts[:-1]
    digest = hashlib.sha256("/".join(folders).encode()).hexdigest()[:4]
    return f"{folders[-1]}-{digest}-{system_name(path.name)}" if folders else system_name(path.name)


def _check_inputs(notebook: Path, values: Mapping[str, Any]) -> None:
    """Find out before a kernel is started what would stop the report: files and names that do not exist."""
    from .choosing import with_steps
    from .locate import require_predictions

    home = values.get("data_home") or None
    predictions = values.get("predictions")
    if protocol := values.get("protocol"):
        with_steps(protocol, values.get("steps") or "")
    if notebook.stem == "report_transfer":
        from .transfer import check_inputs

        check_inputs(values["corpus"], predictions or "", home, values["split"])
        if predictions:
            _check_gold(values, home)
        return
    if predictions and takes_all(notebook):
        from .systems import find_systems

        find_systems(predictions, home)
    elif predictions:
        path = require_predictions(predictions, home)
        if path.is_dir() and notebook.stem.removeprefix("report_") in REPORTS:
            mend = "name its files, or run the report leaderboard on the folder"
            raise DataFileError("is a folder", file=path, expected="a file", mend=mend)
    _check_gold(values, home)


def _check_gold(values: Mapping[str, Any], home: str | None) -> None:
    """Refuse a corpus that does not exist, and a split that it lacks or that is not here."""
    from .corpora.catalog import catalog, split_files
    from .locate import require_corpus

    if corpus := values.get("corpus"):
        require_corpus(corpus)
        if corpus in catalog() and values.get("split") and catalog()[corpus].family != "predictions":
            split_files(corpus, values["split"], home)
