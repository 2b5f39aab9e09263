"""The catalogue of bad inputs: each is refused with exactly the line that stands there.

`bad_inputs/catalogue.toml` says what is read and what is answered, `bad_inputs/recipes.py` how the
inputs are made that are no text. Names and texts of the data that try to leave a path, a table, a
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
import tomllib
from contextlib import chdir, redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from bad_inputs import recipes
from papermill.translators import PythonTranslator

import dialogeval as de
from dialogeval.cli import main
from dialogeval.corpora.entries import _read_catalog
from dialogeval.csv_text import csv_text
from dialogeval.exceptions import DialogevalError
from dialogeval.report import plan_report
from dialogeval.tables import canonical_id

FOLDER = Path(__file__).parent / "bad_inputs"
CATALOGUE = tomllib.loads((FOLDER / "catalogue.toml").read_text(encoding="utf-8"))["input"]
READERS = {
    "predictions": de.load_predictions,
    "corpus": de.load_corpus,
    "catalog": _read_catalog,
}
#: Stands in an expected line for words of another library, which may change.
WORDS = "[…]"


def refusal(entry: dict[str, Any], folder: Path) -> str | None:
    """Make an input, read it, and return the line of its refusal with the path written as in the catalogue."""
    path = folder / entry["file"]
    made = recipes.make(entry["recipe"]) if "recipe" in entry else entry["text"].encode()
    if isinstance(made, dict):
        path.mkdir()
        for name, content in made.items():
            (path / name).write_bytes(content)
    else:
        path.write_bytes(made)
    try:
        if entry["read"] == "command":
            return command([part.format(file=path, folder=folder) for part in entry["command"]], folder)
        READERS[entry["read"]](path)
    except DialogevalError as error:
        return str(error).replace(str(path), "{file}")
    return None


def command(parts: list[str], folder: Path) -> str:
    """Run a command in this process and return the line it leaves on standard error."""
    out, err = io.StringIO(), io.StringIO()
    with chdir(folder), redirect_stdout(out), redirect_stderr(err):
        try:
            code = main(parts)
        except SystemExit as stop:  # argparse's own refusals
            code = stop.code
    assert (code, out.getvalue()) == (2, "")
    assert err.getvalue().endswith("\n")
    return err.getvalue()[:-1].replace(str(folder / "system.json"), "{file}").replace(str(folder), "{folder}")


def pattern(line: str) -> str:
    return ".*".join(map(re.escape, line.split(WORDS)))


@pytest.mark.parametrize("entry", CATALOGUE, ids=lambda entry: entry["name"])
def test_each_is_refused_with_its_line(entry: dict[str, Any], tmp_path: Path) -> None:
    line = refusal(entry, tmp_path)
    assert line is not None, "was accepted"
    assert re.fullmatch(pattern(entry["line"]), line)
    assert line.isprintable() and len(line) < 600
    if entry["read"] != "command":
        assert "{file}" in line


def test_the_catalogue_is_large_and_names_each_input_once() -> None:
    names = [entry["name"] for entry in CATALOGUE]
    assert len(names) == len(set(names)) >= 150
    assert {entry["recipe"] for entry in CATALOGUE if " " not in entry.get("recipe", " ")} == set(
        recipes.RECIPES
    )


def test_the_command_line_answers_the_same(tmp_path: Path) -> None:
    chosen = ["zip-bomb", "key-twice", "parquet-damaged-page", "id-with-terminal-escape"]
    entries = [entry for entry in CATALOGUE if entry["name"] in chosen]
    for entry in entries:
        made = recipes.make(entry["recipe"]) if "recipe" in entry else entry["text"].encode()
        (tmp_path / entry["file"]).write_bytes(made)
        parts = [sys.executable, "-m", "dialogeval", "score", str(tmp_path / entry["file"])]
        done = subprocess.run(parts, capture_output=True, text=True, check=False)
        expected = entry["line"].replace("{file}", "\0").split("\0")
        assert done.returncode == 2 and done.stdout == ""
        assert re.fullmatch(
            "dialogeval: " + re.escape(str(tmp_path / entry["file"])).join(map(pattern, expected)) + "\n",
            done.stderr,
        )


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
