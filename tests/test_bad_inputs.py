"""The catalogue of bad inputs: each is refused by the error and at the place that stand there.

`bad_inputs/catalogue.jsonl` says what is read, and the class, file, dialogue and turn of the refusal;
`bad_inputs/recipes.py` says how the inputs are made that are no text. Names and texts of the data that try to leave a path, a table, a
page or a notebook cell are rendered harmless, and are tested at the end.
"""

from __future__ import annotations

import ast
import csv
import io
import json
import re
import subprocess
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from bad_inputs import recipes
from papermill.translators import PythonTranslator

import dialogeval as de
from dialogeval.cli import main
from dialogeval.corpora.catalog import _read_catalog
from dialogeval.exceptions import DialogevalError, UnknownNameError
from dialogeval.report import plan_report
from dialogeval.tables import canonical_id
from dialogeval.writing import csv_text

FOLDER = Path(__file__).parent / "bad_inputs"
CATALOGUE = [*map(json.loads, (FOLDER / "catalogue.jsonl").read_text(encoding="utf-8").splitlines())]
READERS = {
    "predictions": de.load_predictions,
    "corpus": partial(de.load_corpus, strict=True),
    "catalog": _read_catalog,
}


def made(entry: dict[str, Any], folder: Path) -> Path:
    """Make an input under a folder."""
    path = folder / entry["file"]
    content = recipes.make(entry["recipe"]) if "recipe" in entry else entry["text"].encode()
    if isinstance(content, dict):
        path.mkdir()
        for name, part in content.items():
            (path / name).write_bytes(part)
    else:
        path.write_bytes(content)
    return path


@pytest.mark.parametrize("entry", CATALOGUE, ids=lambda entry: entry["name"])
def test_each_is_refused_at_its_place(entry: dict[str, Any], tmp_path: Path) -> None:
    path = made(entry, tmp_path)
    if entry["read"] == "command":
        return refused_by_command(entry["command"], path)
    with pytest.raises(DialogevalError) as caught:
        READERS[entry["read"]](path)
    error, line = caught.value, str(caught.value)
    assert type(error).__name__ == entry["error"]
    assert (error.dialogue, error.turn) == (entry.get("dialogue"), entry.get("turn"))
    if not isinstance(error, UnknownNameError):  # which names what is known instead
        assert str(error.file) == f"{path}{entry.get('place', '')}" and line.startswith(str(path))
    assert line.isprintable() and len(line) < 600
    return None


def refused_by_command(parts: list[str], path: Path) -> None:
    """Run a command in this process: it prints one line, and nothing else."""
    out, err = io.StringIO(), io.StringIO()
    with chdir(path.parent), redirect_stdout(out), redirect_stderr(err):
        try:
            code = main([part.format(file=path, folder=path.parent) for part in parts])
        except SystemExit as stop:  # argparse's own refusals
            code = stop.code
    assert (code, out.getvalue()) == (2, "")
    assert re.fullmatch(r"dialogeval[^\n]*\n", err.getvalue())


def test_the_catalogue_is_large_and_names_each_input_once() -> None:
    names = [entry["name"] for entry in CATALOGUE]
    assert len(names) == len(set(names)) >= 400
    recipe = {entry["recipe"] for entry in CATALOGUE if " " not in entry.get("recipe", " ")}
    assert recipe == set(recipes.RECIPES)


def test_the_command_line_answers_the_same(tmp_path: Path) -> None:
    chosen = ["zip-bomb", "key-twice", "parquet-damaged-page", "id-with-terminal-escape"]
    for entry in [entry for entry in CATALOGUE if entry["name"] in chosen]:
        path = str(made(entry, tmp_path))
        done = subprocess.run(
            [sys.executable, "-m", "dialogeval", "score", path], capture_output=True, text=True, check=False
        )
        assert done.returncode == 2 and done.stdout == ""
        assert done.stderr.startswith(f"dialogeval: {path}{entry.get('place', '')}: ")


#: Names that want out: of a path, a shell, a page, a table, a notebook cell.
HOSTILE = [
    "../../etc/passwd",
    "$(rm -rf ~)`id`;|&",
    '"; import os; os.system("id") #',
    "'''\n!rm -rf ~\n%%bash\n",
    '\\"""\\',
    "<img src=x onerror=alert(1)>",
    "[x](javascript:alert(1))|![y](z)",
    "\\input{/etc/passwd}$x_1$%",
    "=HYPERLINK(1)",
    "\x1b[2J\u202e\u2028",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_names_stay_in_their_place(name: str, tmp_path: Path) -> None:
    file = tmp_path / (name.replace("/", "|").replace("\0", "") + ".json")
    file.write_text(json.dumps({name: [{"response": "x"}]}))
    run = plan_report("generation", {"predictions": str(file)}, tmp_path / "out")
    assert run.folder.parent == tmp_path / "out"
    assert re.fullmatch(r"[\w.-]+", run.folder.name) and run.folder.name.strip(".")
    cell = PythonTranslator.codify(run.values | {"name": name})
    assigned = {s.targets[0].id: ast.literal_eval(s.value) for s in ast.parse(cell).body}
    assert assigned == run.values | {"name": name}
    assert de.load_predictions(file, name=name).turns["dialogue_id"].tolist() == [canonical_id(name)]


@pytest.mark.parametrize("mark", ["=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"])
def test_a_spreadsheet_computes_no_text(mark: str) -> None:
    text = mark + "cmd|'/C calc'!A0"
    frame = pd.DataFrame(
        {"system": [text, "plain"], mark + "x": [-1.5, 2], "kind": pd.Categorical([text, "b"])}
    )
    rows = list(csv.reader(io.StringIO(csv_text(frame.set_index("system")), newline="")))
    mark = mark.replace("\r", "\n")  # written as another line break, which is quoted
    text = f"'{mark}cmd|'/C calc'!A0"
    assert rows == [["system", f"'{mark}x", "kind"], [text, "-1.5", text], ["plain", "2.0", "b"]]


def test_numbers_of_a_table_stay_numbers() -> None:
    frame = pd.DataFrame({"a": ["-5", "+1.5e-3", "-", "-.5", "1-2"], "b": [-1, 2, -3, 4, 5]})
    assert pd.read_csv(io.StringIO(csv_text(frame, index=False)), dtype={"a": str}).equals(frame)
    plain = pd.DataFrame({"x": [1.5, None], "y": ["a", None]}, index=["r", "s"])
    for table in (plain, plain.rename_axis("system"), plain.iloc[:0]):
        assert csv_text(table) == table.to_csv(lineterminator="\n")
    double = plain.set_axis(pd.MultiIndex.from_tuples([("a", 1), ("b", 2)], names=["k", "n"]))
    assert csv_text(double) == double.to_csv(lineterminator="\n")
