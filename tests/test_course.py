"""For lecturers: assignments that nbgrader can grade, slides, and the sources of the website."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest
import yaml
from course import assignment, site, slides

import dialogeval as de
from dialogeval.exceptions import DataFileError

ROOT = Path(__file__).resolve().parent.parent
LESSONS = {path.stem: path for path in assignment.lesson_files()}


def lesson(name: str):
    return nbformat.read(LESSONS[name], as_version=4)


def instructor(name: str):
    return assignment.instructor_version(assignment.read_lesson(LESSONS[name]))


def all_lessons(test):
    return pytest.mark.parametrize("name", LESSONS)(test)


def graded(notebook, kind: str):
    return [c for c in notebook.cells if c.metadata.get("nbgrader", {}).get(kind)]


# Assignments ------------------------------------------------------------------------------------


@all_lessons
def test_student_versions_hold_no_solution(name):
    student = assignment.student_version(instructor(name))
    nbformat.validate(student)
    text = "\n".join(cell.source for cell in student.cells)
    assert "<details>" not in text and "SOLUTION" not in text and "Solution" not in text
    cells = [line.strip() for cell in student.cells for line in cell.source.splitlines()]
    folds = re.findall(
        r"<summary>Solution</summary>(.*?)</details>", "\n".join(c.source for c in lesson(name).cells), re.S
    )
    assert len(folds) == len(assignment.exercises_of(lesson(name)))
    for fold in folds:
        # A line that the lesson shows elsewhere, such as the head of a table, gives nothing away.
        shown = {
            line.strip()
            for cell in lesson(name).cells
            if fold not in cell.source
            for line in cell.source.splitlines()
        }
        kept = (
            {line.strip() for line in fold.splitlines() if line.strip()} - shown - {'"""', "```", "```python"}
        )
        assert kept and kept.isdisjoint(cells)
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in student.cells)


@all_lessons
def test_each_exercise_is_a_cell_to_answer_and_a_locked_test(name):
    source = instructor(name)
    answers, tests = graded(source, "solution"), graded(source, "grade")
    exercises = assignment.exercises_of(lesson(name))
    assert len(answers) == len(tests) == len(exercises) >= 2
    for cell, test, exercise in zip(answers, tests, exercises, strict=True):
        assert source.cells.index(test) == source.cells.index(cell) + 1
        assert cell.metadata.nbgrader == {
            "grade": False, "solution": True, "locked": False, "schema_version": 3, "task": False,
            "cell_type": "code", "grade_id": f"exercise_{exercise.number}",
        }  # fmt: skip
        assert test.metadata.nbgrader == cell.metadata.nbgrader | {
            "grade": True, "solution": False, "locked": True, "points": 1,
            "grade_id": f"exercise_{exercise.number}_test",
        }  # fmt: skip
        assert exercise.check in test.source and test.source.endswith("assert verdict.right, verdict")
        assert exercise.solution in cell.source, "the instructor's version has it"
        assert "\nanswer = " not in test.source, "a test must not answer itself"
    student = assignment.student_version(source)
    assert [c.source for c in graded(student, "grade")] == [c.source for c in tests]
    assert all(assignment.STUB in c.source for c in graded(student, "solution"))


def test_written_as_nbgrader_wants_it(tmp_path):
    said = assignment.write_assignment(tmp_path)
    for name in LESSONS:
        for kind in ("source", "release"):
            text = (tmp_path / kind / name / f"{name}.ipynb").read_text(encoding="utf-8")
            for link in re.findall(r"\]\((\S+\.ipynb)\)", text):
                assert (tmp_path / kind / name / link).is_file()
    assert "course_id" in (tmp_path / "nbgrader_config.py").read_text()
    assert len(said) == len(LESSONS) + 1


@pytest.mark.parametrize("change", ["no check", "no solution", "two checks"])
def test_exercises_that_do_not_match_are_refused(change):
    notebook = lesson("02_state_tracking_scores")
    first = assignment.exercises_of(notebook)[0].cell
    if change == "no check":
        notebook.cells[first].source = "answer = ..."
    elif change == "two checks":
        notebook.cells.insert(first, notebook.cells[first])
    else:
        notebook.cells[first + 1].source = "See the book."
    with pytest.raises(DataFileError, match="exercise"):
        assignment.instructor_version(notebook, "x.ipynb")


# Slides -----------------------------------------------------------------------------------------


@all_lessons
def test_a_slide_for_each_heading_and_no_solution(name):
    deck = slides.slide_deck(lesson(name))
    nbformat.validate(deck)
    assert len({cell.id for cell in deck.cells}) == len(deck.cells)
    text = "\n".join(c.source for c in deck.cells if c.cell_type == "markdown")
    assert "<details>" not in text
    begins = [c for c in deck.cells if c.metadata.slideshow.slide_type == "slide"]
    assert (
        len(begins)
        == len(re.findall(r"^##? ", text, flags=re.M))
        == sum(c.source[:2] in ("# ", "##") for c in begins)
    )
    assert [c for c in deck.cells if c.metadata.slideshow.slide_type == "skip"] == [
        c for c in deck.cells if "parameters" in c.metadata.get("tags", [])
    ]
    pictures = sum("image/png" in o.get("data", {}) for c in deck.cells for o in c.get("outputs", []))
    assert pictures == sum(
        "image/png" in o.get("data", {}) for c in lesson(name).cells for o in c.get("outputs", [])
    )


def test_slides_load_nothing_from_the_network():
    from nbconvert import SlidesExporter

    templates = ROOT / "dialogeval" / "data" / "templates"
    exporter = SlidesExporter(extra_template_basedirs=[str(templates)], template_name="slides")
    exporter.reveal_url_prefix = "reveal.js"
    page, _ = exporter.from_notebook_node(slides.slide_deck(lesson("00_start_here")))
    assert not re.findall(r"<(?:script|link|img)[^>]*(?:src|href)=\"https?:", page)
    assert "require(" not in page and "<section" in page


# The website ------------------------------------------------------------------------------------


def test_every_public_name_has_one_place_in_the_reference():
    pages = site.api_pages()
    documented = re.findall(r"^\.\. \S+:: dialogeval\.(\w+)$", "\n".join(pages.values()), flags=re.M)
    assert sorted(set(documented) - {m for m, _ in site.MODULES}) == sorted(de.__all__)
    assert len(documented) == len(set(documented))
    assert "First used in lesson [0 · Start here](../notebooks/00_start_here.ipynb)" in pages["scores.md"]


def test_sources_of_the_website(tmp_path):
    site.write_sources(tmp_path / "source")
    pages = [p for p in (tmp_path / "source").rglob("*.md") if "_static" not in p.parts]
    for page in pages:
        text = page.read_text(encoding="utf-8")
        assert not re.search(r"\{(lessons|lesson \d+|minutes [\d ]+)\}", text), "a place is left unfilled"
        for link in re.findall(r"\]\(([^):]+\.(?:md|ipynb))\)", text):
            assert (page.parent / link).is_file(), f"{page.name}: {link}"
    contents = (tmp_path / "source" / "_toc.yml").read_text()
    assert {f"api/{p.stem}" for p in pages if p.parent.name == "api"} == set(re.findall(r"api/\w+", contents))
    assert (
        yaml.safe_load((tmp_path / "source" / "_config.yml").read_text())["execute"]["execute_notebooks"]
        == "off"
    )


def test_syllabus_has_each_lesson_and_the_minutes_it_states():
    facts = [site.lesson_facts(path) for path in LESSONS.values()]
    assert [f["number"] for f in facts] == list(range(9))
    assert all(5 <= f["minutes"] <= 120 and all(n < f["number"] for n in f["needs"]) for f in facts)
    page = site.syllabus((ROOT / "docs" / "syllabus.md").read_text(), facts)
    assert f"Together {sum(f['minutes'] for f in facts)} minutes" in page
    sessions = re.findall(r"\((\d+) minutes\)", page)
    assert len(sessions) == 2 and all(int(minutes) <= 90 for minutes in sessions), (
        "two sessions of 90 minutes"
    )


def test_index_shows_the_lines_of_the_readme():
    block = re.search(r"```python\n(.*?)```", (ROOT / "docs" / "index.md").read_text(), re.S)
    assert block and block[1] in (ROOT / "README.md").read_text()
