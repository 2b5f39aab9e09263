"""Rules that all lessons keep, so that they read as one course; and every exercise with its solution."""

from __future__ import annotations

import ast
import html
import re
import symtable
from functools import cache
from pathlib import Path

import nbformat
import pytest

from dialogeval import leaderboard

FOLDER = Path(__file__).resolve().parent.parent / "notebooks"
LESSONS = [path.stem for path in sorted(FOLDER.glob("0*.ipynb"))]
#: What a paper or a public track is known by.
SOURCE = re.compile(r"arXiv|DSTC9|(et al\.|& \w+) \(?\[?(19|20)\d\d", re.IGNORECASE)
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^(#+) (.*)$", flags=re.M)
DARK = re.compile(r"(?<![-\w])(?:background(?:-color)?|color)\s*:|\b(?:bgcolor|color)=", re.IGNORECASE)


@cache
def cells(lesson: str) -> list:
    return nbformat.read(FOLDER / f"{lesson}.ipynb", as_version=4).cells


def prose(lesson: str, cut: str = "") -> str:
    """Return the Markdown of a lesson; code blocks and what `cut` matches are left out."""
    text = "\n\n".join(cell.source for cell in cells(lesson) if cell.cell_type == "markdown")
    text = re.sub(r"```.*?```", "", text, flags=re.S)
    return re.sub(cut, "", text, flags=re.S) if cut else text


def headings(lesson: str) -> list[str]:
    return [title for _, title in HEADING.findall(prose(lesson))]


def all_lessons(test):
    return pytest.mark.parametrize("lesson", LESSONS)(test)


# The shape of a lesson ----------------------------------------------------------------------------


@all_lessons
def test_opens_with_title_goals_time_and_what_comes_before(lesson):
    first = cells(lesson)[0].source
    assert re.match(rf"# {int(lesson[:2])} · \S", first)
    assert "you will be able to" in first and len(re.findall(r"^\* ", first, flags=re.M)) >= 3
    assert re.search(r"\*\*Time:\*\* about \d+ minutes", first)
    assert ("**You need:**" if lesson.startswith("00") else "**Before this:**") in first


@all_lessons
def test_ends_with_recap_paper_and_links_onward(lesson):
    titles = headings(lesson)
    places = [titles.index(t) for t in ("What you have seen", "What to write in a paper", "Next")]
    assert places == sorted(places) and titles[-1] == "Next"
    text = prose(lesson)
    recap = text.split("## What you have seen")[1].split("\n## ")[0]
    assert len(re.findall(r"^\* ", recap, flags=re.M)) >= 3
    onward = LINK.findall(text.split("\n## Next")[1])
    assert any(link.partition("#")[0].endswith(".ipynb") for link in onward)


@all_lessons
def test_figures_are_followed_by_what_to_see(lesson):
    """Before the next heading stands a paragraph, written or computed."""
    figures, waiting = 0, ""
    for cell in cells(lesson):
        if cell.cell_type == "markdown":
            assert not (waiting and cell.source.startswith("#")), waiting
            waiting = ""
            continue
        pictures = [o for o in cell.outputs if "image/png" in o.get("data", {})]
        said = [o for o in cell.outputs if "text/markdown" in o.get("data", {})]
        figures += len(pictures)
        waiting = (cell.source if pictures else waiting) if not (said and not pictures) else ""
    assert not waiting and (figures >= 3 or lesson.startswith("00"))


@all_lessons
def test_tables_have_headers_and_no_colour_of_their_own(lesson):
    """What sets the colour of a text or its ground cannot be read in one of the themes."""
    for cell in cells(lesson):
        pages = [o.get("data", {}).get("text/html", "") for o in cell.get("outputs", [])]
        for page in pages:
            assert page.count("<table") <= page.count("<thead"), cell.source
            assert "<table" not in page or "<th" in page, cell.source
            styles = re.findall(r"<[^>]*>", re.sub(r"<style.*?</style>", "", page, flags=re.S))
            assert not [tag for tag in styles if DARK.search(html.unescape(tag).replace("border-color", ""))]


@all_lessons
def test_links_lead_somewhere(lesson):
    for link in LINK.findall(prose(lesson)):
        target, _, anchor = link.partition("#")
        if "://" in target:
            assert target.startswith("https://"), link
            continue
        path = FOLDER / target if target else FOLDER / f"{lesson}.ipynb"
        assert path.exists(), link
        if anchor:
            assert path.suffix == ".ipynb", link
            assert anchor in {title.strip().replace(" ", "-") for title in headings(path.stem)}, link


# Exercises ----------------------------------------------------------------------------------------


def exercises_of(lesson: str) -> list[tuple[int, str, str]]:
    """Place of each cell that ends with a check, the check's name, the name of the answer."""
    found = []
    for place, cell in enumerate(cells(lesson)):
        if cell.cell_type == "code" and "exercises.check_" in cell.source:
            call = ast.parse(cell.source).body[-1].value
            found.append((place, call.func.attr, call.args[0].id))
    return found


def names(code: str) -> tuple[set[str], set[str]]:
    """Return the names that a cell sets, and those that it reads."""
    top = symtable.symtable(code, "cell", "exec")
    defined = {s.get_name() for s in top.get_symbols() if s.is_assigned() or s.is_imported()}
    read = set(re.findall(r"^(\w+) .= ", code, flags=re.M))
    scopes = [top]
    while scopes:
        scope = scopes.pop()
        scopes += scope.get_children()
        read |= {
            s.get_name() for s in scope.get_symbols() if s.is_referenced() and (scope is top or s.is_global())
        }
    return defined, read


def needed(lesson: str) -> set[int]:
    """Return the places of the cells that set what the exercises read, and what those cells read."""
    found = {place for place, _, _ in exercises_of(lesson)}
    wanted, chosen = set(), set()
    for place, cell in reversed(list(enumerate(cells(lesson)))):
        if cell.cell_type != "code":
            continue
        defined, read = names(cell.source)
        if place in found:
            set_here, read = names("\n".join((cell.source, solution_of(lesson, place))))
            wanted |= read - set_here
        elif defined & wanted:
            wanted = (wanted - defined) | read
            chosen.add(place)
    return chosen


def solution_of(lesson: str, place: int) -> str:
    """Return the code of the folded solution below an exercise."""
    return "\n".join(re.findall(r"```python\n(.*?)```", cells(lesson)[place + 1].source, flags=re.S))


@all_lessons
def test_exercises_are_numbered_and_have_a_check_and_a_folded_solution(lesson):
    titles = [title for title in headings(lesson) if title.startswith("Exercise ")]
    assert 2 <= len(titles) <= 4
    assert [int(re.match(r"Exercise (\d): \S", title)[1]) for title in titles] == list(
        range(1, len(titles) + 1)
    )
    found = exercises_of(lesson)
    assert len(found) == len(titles)
    for place, _, answer in found:
        exercise, solution = cells(lesson)[place], cells(lesson)[place + 1].source
        assert solution.startswith("<details><summary>Solution</summary>\n\n") and "</details>" in solution
        shown = exercise.outputs[-1]["data"]["text/plain"]
        assert shown.startswith("Not yet."), "not solved in the notebook as it is handed out"
        assert answer in names(solution_of(lesson, place))[0], f"the solution has no code that sets {answer}"


@all_lessons
def test_checks_accept_the_folded_solution(lesson):
    known: dict = {}
    exercises = {place for place, _, _ in exercises_of(lesson)}
    for place in sorted(needed(lesson) | exercises):
        source = cells(lesson)[place].source
        if place not in exercises:
            exec(source.replace("resamples = 1000", "resamples = 0"), known)
            continue
        body = ast.parse(source).body
        exec(ast.unparse(ast.Module(body[:-1], [])), known)
        exec(f"{solution_of(lesson, place)}\nverdict = {ast.unparse(body[-1].value)}", known)
        assert known["verdict"].right, known["verdict"]


# What the hooks say is in the data ----------------------------------------------------------------


def test_the_published_leaderboard_is_what_lessons_3_and_6_say_of_it():
    published = leaderboard.published()
    lava = published.loc["lava"]
    assert (lava["inform"], lava["success"]) == (95.9, 93.5)
    for column, best in (("inform", True), ("success", True), ("bleu", False), ("unique_words", False)):
        assert lava[column] == (published[column].max() if best else published[column].min())
    assert list(published.index[published["success"] > 90.9]) == ["lava"]


def test_lesson_2_opens_with_the_values_of_the_published_scorers(real_cases):
    import json

    ubar = json.loads((real_cases / "states" / "expected.json").read_text(encoding="utf-8"))["ubar"]
    expected = {
        "joint goal accuracy": ubar["joint_goal_accuracy"],
        "flexible goal accuracy": ubar["flexible_goal_accuracy"]["0.5"],
        "relative slot accuracy": ubar["relative_slot_accuracy"],
        "micro F1": ubar["micro"]["f1"],
        "slot accuracy": ubar["slot_accuracy_30"],
    }
    rows = re.findall(
        r"^\| ([\w ]+) \|[^|]*\| (0\.\d{3}) \|$", cells("02_state_tracking_scores")[1].source, flags=re.M
    )
    assert {name: float(value) for name, value in rows} == {n: round(v, 3) for n, v in expected.items()}
