"""Lessons as nbgrader assignments: a version for instructors, and one for students without solutions.

An exercise of a lesson is a code cell that ends in a call of a check, ``exercises.check_…(answer, …)``,
and the next folded block *Solution*, whose Python block is the solution. Each becomes a cell to answer
and a locked test, worth one point, that runs the same check and fails for a missing or a wrong answer.
The folders are nbgrader's: ``source/LESSON/LESSON.ipynb`` and ``release/LESSON/LESSON.ipynb``.
"""

from __future__ import annotations

import ast
import re
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dialogeval.exceptions import DataFileError
from dialogeval.resources import resource_dir
from dialogeval.writing import write_all

__all__ = [
    "Exercise",
    "exercises_of",
    "instructor_version",
    "lesson_files",
    "student_version",
    "write_assignment",
]

#: What stands in a student's cell where the solution was; nbgrader is told the same by CONFIG.
STUB = "# Replace the three dots above. More lines of your own may stand here."
BEGIN, END = "### BEGIN SOLUTION", "### END SOLUTION"
CONFIG = f"""# Settings of nbgrader for this folder.
c = get_config()
c.CourseDirectory.course_id = "dialogeval"
c.ClearSolutions.code_stub = {{"python": "{STUB}"}}
c.ExecutePreprocessor.timeout = 300
"""
_HEADING = re.compile(r"^## Exercise (\d+)", flags=re.MULTILINE)
_FOLD = re.compile(r"<details>\s*<summary>Solution.*?</details>", flags=re.DOTALL)
_CODE = re.compile(r"^```python\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)
_LESSON_LINK = re.compile(r"\]\(((\d\d_\w+)\.ipynb)\)")
_OTHER_LINK = re.compile(r"\[([^\]]*)\]\(\w+\.ipynb\)")


@dataclass(frozen=True)
class Exercise:
    """One exercise of a lesson.

    Parameters
    ----------
    number : int
        As in its heading; the headings count from 1.
    cell : int
        Position of its code cell in the notebook.
    before : str
        The cell up to and with the place for the answer.
    setup : str
        Imports and assignments of ``before`` without the place for the answer: what the test repeats, so
        that it does not rest on what a student may have changed.
    check : str
        The call of the check.
    solution : str
        Python; empty where the folded block has none.
    """

    number: int
    cell: int
    before: str
    setup: str
    check: str
    solution: str


def lesson_files() -> list[Path]:
    """Return the lesson notebooks, in order.

    Returns
    -------
    list of pathlib.Path

    Examples
    --------
    >>> lesson_files()[0].name
    '00_start_here.ipynb'
    """
    return sorted(resource_dir("notebooks").glob("[0-9][0-9]_*.ipynb"))


def read_lesson(path: Path) -> Any:
    """Return a notebook without its outputs; the file is not changed."""
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    return notebook


def without_solutions(text: str) -> str:
    """Return the text of a Markdown cell without its folded solutions.

    Examples
    --------
    >>> without_solutions("<details><summary>Solution</summary>42</details>\\n\\n## Exercise 2")
    '## Exercise 2'
    """
    return _FOLD.sub("", text).strip()


def exercises_of(notebook: Any, name: str = "notebook") -> list[Exercise]:
    """Find the exercises of a lesson.

    Parameters
    ----------
    notebook : nbformat.NotebookNode
    name : str
        For messages.

    Returns
    -------
    list of Exercise

    Raises
    ------
    DataFileError
        An exercise has no cell that ends in a check, more than one, or no folded solution: its
        solution could be left in a student's version, or its points be lost.

    Examples
    --------
    >>> found = exercises_of(read_lesson(lesson_files()[2]))
    >>> [exercise.number for exercise in found], found[0].check
    ([1, 2, 3, 4], 'exercises.check_micro_f1(answer, p1, g1)')
    """
    number, found, solutions = 0, {}, {}
    for position, cell in enumerate(notebook.cells):
        if cell.cell_type == "markdown":
            # In order of the text: a cell can hold the solution of one exercise and the heading of the next.
            for match in re.finditer(
                f"{_HEADING.pattern}|{_FOLD.pattern}", cell.source, re.DOTALL | re.MULTILINE
            ):
                if match[1]:
                    number = int(match[1])
                else:
                    solutions[number] = "\n".join(_CODE.findall(match[0])).rstrip()
        elif number and (parts := _split(cell.source)):
            if number in found:
                raise DataFileError(f"exercise {number} has two checks", file=name, expected="one")
            found[number] = (position, *parts)
    headings = {
        int(n) for c in notebook.cells if c.cell_type == "markdown" for n in _HEADING.findall(c.source)
    }
    if not headings == found.keys() == solutions.keys():
        got = f"headings {sorted(headings)}, checks {sorted(found)}, solutions {sorted(solutions)}"
        wanted = "a heading, a check and a folded solution for each exercise"
        raise DataFileError("exercises do not match", file=name, expected=wanted, got=got)
    return [Exercise(n, *found[n], solutions[n]) for n in sorted(found)]


def _split(source: str) -> tuple[str, str, str] | None:
    """Return the parts of a cell that ends in a check: up to the answer's place, set-up, check."""
    body = ast.parse(source).body
    call = body[-1].value if body and isinstance(body[-1], ast.Expr) else None
    if not (isinstance(call, ast.Call) and re.match(r"(\w+\.)?check_", ast.unparse(call.func)) and call.args):
        return None
    answer = ast.unparse(call.args[0])
    check = ast.get_source_segment(source, call) or ""
    setup = [
        ast.get_source_segment(source, node) or ""
        for node in body[:-1]
        if isinstance(node, (ast.Import, ast.ImportFrom, ast.Assign, ast.AugAssign))
        and answer not in _targets(node)
    ]
    return source[: source.rindex(check)].rstrip(), "\n".join(setup), check


def _targets(node: ast.stmt) -> list[str]:
    return [ast.unparse(target) for target in node.targets] if isinstance(node, ast.Assign) else []


def instructor_version(notebook: Any, name: str = "notebook") -> Any:
    """Return a lesson with its solutions in the cells to answer, a test behind each, and no folded blocks.

    Parameters
    ----------
    notebook : nbformat.NotebookNode
    name : str
        For messages.

    Returns
    -------
    nbformat.NotebookNode
        A new notebook. Where a solution is not given as Python, the place for the answer stays empty.

    Raises
    ------
    DataFileError
        As `exercises_of`.

    Examples
    --------
    >>> made = instructor_version(read_lesson(lesson_files()[2]))
    >>> [c.metadata.nbgrader.points for c in made.cells if c.metadata.get("nbgrader", {}).get("grade")]
    [1, 1, 1, 1]
    """
    from nbformat.v4 import new_code_cell

    made = deepcopy(notebook)
    for exercise in reversed(exercises_of(notebook, name)):
        cell, key = made.cells[exercise.cell], f"exercise_{exercise.number}"
        solution = exercise.solution or "# The lesson gives this solution in words."
        cell.source = "\n".join([exercise.before, BEGIN, solution, END, exercise.check])
        cell.metadata["nbgrader"] = _metadata(key, solution=True)
        lines = [
            f"# Test of exercise {exercise.number}, one point. It passes when the check above says Right."
        ]
        lines += [exercise.setup] if exercise.setup else []
        lines += [f"verdict = {exercise.check}", "assert verdict.right, verdict"]
        test = new_code_cell("\n".join(lines), id=f"{cell.id}-test")
        test.metadata["nbgrader"] = _metadata(f"{key}_test", solution=False)
        made.cells.insert(exercise.cell + 1, test)
    for cell in made.cells:
        if cell.cell_type == "markdown":
            text = _LESSON_LINK.sub(r"](../\2/\1)", without_solutions(cell.source))
            cell.source = _OTHER_LINK.sub(r"\1", text)
    made.cells = [cell for cell in made.cells if cell.source]
    return made


def _metadata(key: str, solution: bool) -> dict[str, Any]:
    common = {"schema_version": 3, "grade_id": key, "task": False, "cell_type": "code"}
    graded = {} if solution else {"points": 1}
    return {"grade": not solution, "solution": solution, "locked": not solution, **graded, **common}


def student_version(instructor: Any) -> Any:
    """Return the instructor's version with a stub in place of each solution, as nbgrader makes it.

    Parameters
    ----------
    instructor : nbformat.NotebookNode
        From `instructor_version`.

    Returns
    -------
    nbformat.NotebookNode
        A new notebook.

    Examples
    --------
    >>> made = student_version(instructor_version(read_lesson(lesson_files()[2])))
    >>> any(BEGIN in cell.source for cell in made.cells)
    False
    """
    made = deepcopy(instructor)
    for cell in made.cells:
        cell.source = re.sub(f"{BEGIN}.*?{END}", STUB, cell.source, flags=re.DOTALL)
    return made


def write_assignment(out: Path) -> list[str]:
    """Write all lessons as assignments for nbgrader.

    Parameters
    ----------
    out : pathlib.Path
        Gets ``source``, ``release`` and ``nbgrader_config.py``; nbgrader runs in this folder.

    Returns
    -------
    list of str
        What was written, a line a lesson, and which solutions are not given as Python.

    Raises
    ------
    DataFileError
        A lesson's exercises cannot be told apart.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     said = write_assignment(Path(folder))
    >>> "02_state_tracking_scores: 4 exercises" in said[2]
    True
    """
    import nbformat

    said: list[str] = []
    contents: dict[Path, str] = {}
    for path in lesson_files():
        lesson = read_lesson(path)
        instructor = instructor_version(lesson, path.name)
        for kind, made in (("source", instructor), ("release", student_version(instructor))):
            contents[out / kind / path.stem / path.name] = nbformat.writes(made) + "\n"
            # What a lesson imports from beside it has to lie beside the assignment as well.
            for helper in [*path.parent.glob("lessons/**/*.py"), *path.parent.glob("checks/*.py")]:
                place = out / kind / path.stem / helper.relative_to(path.parent)
                contents[place] = helper.read_text(encoding="utf-8")
        found = exercises_of(lesson, path.name)
        in_words = [str(exercise.number) for exercise in found if not exercise.solution]
        note = f" (solution in words, not in code: {', '.join(in_words)})" if in_words else ""
        said.append(f"{out / 'release' / path.stem}: {len(found)} exercises{note}")
    contents[out / "nbgrader_config.py"] = CONFIG
    for target in contents:
        target.parent.mkdir(parents=True, exist_ok=True)
    write_all(contents)
    return [
        *said,
        f"instructors' versions: {out / 'source'}; settings for nbgrader: {out / 'nbgrader_config.py'}",
    ]
