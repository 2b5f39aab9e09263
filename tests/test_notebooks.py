"""Notebooks: the shape that all of them share, and lessons 0 and 1 run on other corpora."""

from __future__ import annotations

import ast
import json
import re
from itertools import pairwise
from pathlib import Path

import nbformat
import pytest

from dialogeval.resources import resource_dir

FOLDER = Path(__file__).resolve().parent.parent / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
LESSONS = [path for path in NOTEBOOKS if path.stem[:2].isdigit()]
COMMON = {"corpus", "split", "predictions", "protocol", "data_home", "seed", "resamples"}
MACHINE = re.compile(r"/(?:home|root|tmp|Users|work|var|private|mnt)/|[A-Z]:\\\\|\b0x[0-9a-f]{6,}")
CHINESE = re.compile(r"[\u3400-\u9fff]")


def read(path: Path) -> nbformat.NotebookNode:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    return notebook


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def outputs(notebook):
    return [(cell, output) for cell in code_cells(notebook) for output in cell.outputs]


def words_of(output) -> str:
    """All text of an output: images are left out."""
    data = {kind: text for kind, text in output.get("data", {}).items() if not kind.startswith("image/")}
    return json.dumps([data, output.get("text", "")], ensure_ascii=False)


def assert_clean(notebook):
    for cell, output in outputs(notebook):
        assert output.output_type != "error", f"{output.ename}: {output.evalue}"
        assert output.get("name") != "stderr", output.text
        # Letters that stand for the bytes of a picture may spell anything.
        found = MACHINE.search(re.sub(r"base64,[A-Za-z0-9+/=]+", "", words_of(output)))
        assert found is None, f"{found[0]} in an output of: {cell.source[:80]}"
        assert "Traceback" not in words_of(output)


def all_notebooks(test):
    return pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)(test)


@all_notebooks
def test_one_cell_of_parameters_with_the_common_names(path):
    notebook = read(path)
    tagged = [cell for cell in notebook.cells if "parameters" in cell.metadata.get("tags", [])]
    assert len(tagged) == 1
    statements = ast.parse(tagged[0].source).body
    assert all(isinstance(s, ast.Assign) for s in statements)
    assert all(isinstance(s.value, ast.Constant) or ast.literal_eval(s.value) == {} for s in statements)
    names = [s.targets[0].id for s in statements]
    assert len(names) == len(set(names))
    more = (
        {"out_dir", "missing", "steps", "delexicalize", "reading"}
        if path.stem.startswith("report_")
        else set()
    )
    assert COMMON <= set(names) <= COMMON | more
    assert ("out_dir" in names) == path.stem.startswith("report_")
    assert tagged[0] is code_cells(notebook)[0], "nothing runs before the parameters"


@all_notebooks
def test_cells_are_short_and_readable(path):
    for cell in code_cells(read(path)):
        lines = cell.source.splitlines()
        only_imports = all(line.startswith(("from ", "import ", "pd.set")) for line in lines if line)
        assert len(lines) <= 15 or only_imports, cell.source
        assert max(map(len, lines)) <= 130, cell.source
        assert cell.source == cell.source.strip()


@all_notebooks
def test_outputs_are_committed_and_clean(path):
    notebook = read(path)
    counts = [cell.execution_count for cell in code_cells(notebook)]
    assert counts == list(range(1, len(counts) + 1)), "run from top to bottom, once"
    assert_clean(notebook)
    assert not [cell for cell in notebook.cells if "execution" in cell.metadata], "timestamps"


@all_notebooks
def test_opens_with_title_goals_and_minutes_and_ends_with_the_paper(path):
    notebook = read(path)
    first = notebook.cells[0]
    assert first.cell_type == "markdown" and first.source.startswith("# ")
    goals = re.findall(r"^[*-] ", first.source, flags=re.M)
    assert len(goals) >= 3 if path in LESSONS else "What you can do" in first.source, "goals"
    assert re.search(r"\b(minutes?|seconds)\b", first.source)
    text = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    assert re.search(r"^## .*write in (a|the) paper", text, flags=re.M)


@all_notebooks
def test_headings_are_in_order(path):
    levels = []
    for cell in read(path).cells:
        if cell.cell_type == "markdown":
            prose = re.sub(r"```.*?```", "", cell.source, flags=re.S)
            levels += [len(marks) for marks in re.findall(r"^(#+) ", prose, flags=re.M)]
    assert levels[0] == 1 and levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


@all_notebooks
def test_kernel_is_python3(path):
    metadata = read(path).metadata
    assert metadata.kernelspec.name == "python3" and metadata.kernelspec.language == "python"
    assert set(metadata) <= {"kernelspec", "language_info", "title"}


@all_notebooks
def test_figures_have_alt_text_and_a_sentence_below(path):
    for cell, output in outputs(read(path)):
        if "image/png" in output.get("data", {}):
            assert output.metadata["image/png"]["alt"], cell.source
            captions = [words_of(other) for other in cell.outputs]
            assert any("Figure:" in caption for caption in captions), cell.source


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_lessons_have_exercises_with_folded_solutions(path):
    text = "\n".join(cell.source for cell in read(path).cells if cell.cell_type == "markdown")
    assert text.count("## Exercise") == text.count("<details>") == text.count("</details>") >= 1


# Run on other corpora -------------------------------------------------------------------------


def run(lesson: str, folder: Path, **parameters) -> nbformat.NotebookNode:
    import papermill

    target = folder / "out.ipynb"
    papermill.execute_notebook(
        str(FOLDER / f"{lesson}.ipynb"),
        str(target),
        parameters=parameters,
        kernel_name="python3",
        progress_bar=False,
        cwd=str(FOLDER),
    )
    return read(target)


def check_run(notebook, corpus: str, language: str):
    assert_clean(notebook)
    text = "\n".join(words_of(output) for _, output in outputs(notebook))
    assert corpus in text
    pictures = [output for _, output in outputs(notebook) if "image/png" in output.get("data", {})]
    for picture in pictures:
        # Words for those who do not see the figure name things as the data does.
        assert language == "zh" or not CHINESE.search(picture.metadata["image/png"]["alt"])
    assert (CHINESE.search(text) is not None) == (language == "zh")
    return text


def test_first_lesson_runs_on_a_chinese_sample_with_predictions(tmp_path):
    file = resource_dir("data") / "sample" / "predictions" / "crosswoz" / "baseline_value_matching.jsonl.gz"
    given = {"corpus": "sample/crosswoz", "predictions": str(file), "resamples": 50}
    text = check_run(run("00_start_here", tmp_path, **given), "sample/crosswoz", "zh")
    assert "baseline_value_matching" in text and "one turn late" not in text


@pytest.mark.parametrize(
    ("lesson", "corpus", "turns", "language"),
    [("00_start_here", "multiwoz21", "7,372", "en"), ("01_inspect_data", "crosswoz", "4,238", "zh")],
)
def test_lesson_runs_on_a_real_corpus(lesson, corpus, turns, language, tmp_path, real_data):
    notebook = run(lesson, tmp_path, corpus=corpus, resamples=50, data_home=str(real_data))
    text = check_run(notebook, corpus, language)
    assert turns in text
