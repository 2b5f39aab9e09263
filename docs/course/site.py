"""The folder that the website is built from: the pages of ``docs``, the notebooks, a reference of the API.

What can be read from the project is read from it: the minutes of the syllabus from the lessons, the
pages of the reference from `dialogeval.__all__`, and beside each function the lesson that uses it
first. Sphinx then turns the folder into pages (``make site``).
"""

from __future__ import annotations

import importlib
import re
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from course.assignment import exercises_of, lesson_files
from dialogeval.exceptions import DataFileError, UsageError
from dialogeval.resources import resource_dir

__all__ = ["api_pages", "lesson_facts", "syllabus", "write_sources"]

#: Pages of the reference: file, title, and the modules whose public names stand there.
PAGES = (
    ("corpora", "Corpora and tables", ("corpora", "tables", "exceptions")),
    ("predictions", "Predictions and baselines", ("predictions", "baselines", "model_input", "delex")),
    (
        "scores",
        "Scores and comparisons",
        ("scoring", "protocols", "comparison", "definition_table", "report"),
    ),
    ("metrics", "Metrics", ("metrics",)),
    ("analysis", "Analysis of errors", ("analysis",)),
    ("alignment", "Ontologies and alignments", ("ontology",)),
)
#: Modules that are documented whole.
MODULES = (
    ("plots", "Figures"),
    ("plots.results", "Figures of results"),
    ("normalize", "Normalisation of values"),
)
_USE = re.compile(r"\b(de|[a-z]\w*)\.([A-Za-z]\w*)")
_MINUTES = re.compile(r"\*\*Time:\*\*(.*?)(?:\*\*|\n\n|$)", flags=re.DOTALL)


def lesson_facts(path: Path) -> dict[str, Any]:
    """Return what the syllabus says about a lesson, read from its first cell and its exercises.

    Parameters
    ----------
    path : pathlib.Path

    Returns
    -------
    dict
        ``number``, ``title``, ``file`` (name without ending), ``minutes`` (with those for exercises, where
        they are given apart), ``needs`` (lessons to do before it, by number), ``exercises`` (how many).

    Raises
    ------
    DataFileError
        The first cell lacks title or time.

    Examples
    --------
    >>> facts = lesson_facts(lesson_files()[1])
    >>> facts["title"], facts["needs"]
    ('Inspect the data before you score', [0])
    """
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    first = notebook.cells[0].source
    title, time = re.match(r"# (\d+) · (.+)", first), _MINUTES.search(first)
    minutes = sum(map(int, re.findall(r"\d+", time[1]))) if time else 0
    if not (title and minutes):
        raise DataFileError(
            "first cell", file=path.name, expected="# N · Title and **Time:** … minutes", got=first[:60]
        )
    before = first.split("**Before this:**")[1:]
    return {
        "number": int(title[1]),
        "title": title[2].strip(),
        "file": path.stem,
        "minutes": minutes,
        "needs": [int(n) for n in re.findall(r"\]\((\d\d)_", before[0] if before else "")],
        "exercises": len(exercises_of(notebook, path.name)),
    }


def syllabus(text: str, lessons: Iterable[dict[str, Any]]) -> str:
    """Fill the places of a page that stand for facts about the lessons.

    Parameters
    ----------
    text : str
        ``{lessons}`` stands for the table of all lessons, ``{minutes 0 2 4}`` for the sum of the minutes of
        these lessons, ``{lesson 2}`` for a link to one.
    lessons : iterable of dict
        From `lesson_facts`.

    Returns
    -------
    str

    Examples
    --------
    >>> facts = {"number": 2, "title": "Scores", "file": "02_x", "minutes": 45, "needs": [0], "exercises": 4}
    >>> syllabus("{lesson 2}: {minutes 2} minutes", [facts])
    '[2 · Scores](notebooks/02_x.ipynb): 45 minutes'
    """
    by_number = {facts["number"]: facts for facts in lessons}
    rows = ["| lesson | minutes | exercises | before it |", "|---|---|---|---|"]
    for facts in by_number.values():
        needs = ", ".join(map(str, facts["needs"])) or "nothing"
        rows.append(f"| {_link(facts)} | {facts['minutes']} | {facts['exercises']} | {needs} |")
    text = text.replace("{lessons}", "\n".join(rows))
    text = re.sub(r"\{lesson (\d+)\}", lambda m: _link(by_number[int(m[1])]), text)
    return re.sub(
        r"\{minutes ([\d ]+)\}", lambda m: str(sum(by_number[int(n)]["minutes"] for n in m[1].split())), text
    )


def _link(facts: dict[str, Any], folder: str = "notebooks") -> str:
    return f"[{facts['number']} · {facts['title']}]({folder}/{facts['file']}.ipynb)"


def api_pages() -> dict[str, str]:
    """Return the pages of the reference as MyST Markdown, by file name.

    Returns
    -------
    dict of str to str
        Each public name stands on one page, with a link to the first lesson that uses it.

    Examples
    --------
    >>> "autofunction:: dialogeval.score" in api_pages()["scores.md"]
    True
    """
    import dialogeval

    taught = _first_uses()
    pages = {}
    stub = Path(dialogeval.__file__).with_suffix(".pyi").read_text(encoding="utf-8")
    home = {
        name: module.split(".")[0]
        for module, names in re.findall(r"^from \.(\S+) import (\([^)]*\)|.*)", stub, flags=re.M)
        for name in re.findall(r"as (\w+)", names)
    }
    for file, title, homes in PAGES:
        names = [name for name in dialogeval.__all__ if home[name] in homes]
        pages[f"{file}.md"] = _page(title, "dialogeval", names, taught, "de")
    for module, title in MODULES:
        found = vars(importlib.import_module(f"dialogeval.{module}")).items()
        names = [
            n for n, f in found if getattr(f, "__module__", "") == f"dialogeval.{module}" and n[0] != "_"
        ]
        page = _page(title, f"dialogeval.{module}", names, taught, module)
        pages[f"{module.replace('.', '_')}.md"] = page
    contents = "\n".join(f"- [{text.splitlines()[0][2:]}]({file})" for file, text in pages.items())
    pages["index.md"] = (
        "# Reference\n\nThe public names of dialogeval, by what they are for; in the lessons they stand as `de.NAME`.\n"
        f"An entry names the lesson that uses it first.\n\n{contents}\n"
    )
    return pages


def _page(title: str, module: str, names: list[str], taught: dict[str, str], prefix: str) -> str:
    home = importlib.import_module(module)
    items = {name: getattr(home, name) for name in names}
    lines = [f"# {title}", ""]
    if module != "dialogeval":
        lines += ["```{eval-rst}", f".. automodule:: {module}", "   :no-members:", "```", ""]
    for name, item in items.items():
        lines += [f"## {name}", "", "```{eval-rst}"]
        if isinstance(item, type):
            lines += [f".. autoclass:: {module}.{name}", "   :members:"]
        elif callable(item):
            lines += [f".. autofunction:: {module}.{name}"]
        else:  # the value of a table is no use on a page
            size = f" with {len(item)} entries" if hasattr(item, "__len__") else ""
            lines += [f".. py:data:: {module}.{name}", "", f"   A {type(item).__name__}{size}."]
        lines += ["```", ""]
        if lesson := taught.get(f"{prefix}.{name}"):
            lines += [f"First used in lesson {lesson}.", ""]
    return "\n".join(lines)


def _first_uses() -> dict[str, str]:
    """Return the first lesson whose code uses a name, by the name as it is written there (``de.score``)."""
    import nbformat

    first: dict[str, str] = {}
    for path in lesson_files():
        link = _link(lesson_facts(path), "../notebooks")
        code = "\n".join(c.source for c in nbformat.read(path, as_version=4).cells if c.cell_type == "code")
        for match in _USE.finditer(code):
            first.setdefault(match[0], link)
    return first


def write_sources(out: Path) -> list[str]:
    """Write the folder that Sphinx builds the website from; an earlier one is replaced.

    Parameters
    ----------
    out : pathlib.Path

    Returns
    -------
    list of str
        What was written.

    Raises
    ------
    UsageError
        There is no ``docs`` folder: a wheel has none, a checkout has.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     said = write_sources(Path(folder) / "source")
    >>> said[0].endswith("pages and notebooks")
    True
    """
    import nbformat

    notebooks = resource_dir("notebooks")
    docs = notebooks.parent / "docs"
    if not (docs / "_toc.yml").is_file():
        raise UsageError("no pages to build", expected=f"a checkout with {docs.name}/_toc.yml")
    shutil.rmtree(out, ignore_errors=True)
    shutil.copytree(docs, out)
    shutil.copytree(notebooks / "images", out / "notebooks" / "images")
    facts = [lesson_facts(path) for path in lesson_files()]
    for page in out.glob("*.md"):
        page.write_text(syllabus(page.read_text(encoding="utf-8"), facts), encoding="utf-8")
    (out / "api").mkdir()
    for name, text in api_pages().items():
        (out / "api" / name).write_text(text, encoding="utf-8")
    for path in notebooks.glob("*.ipynb"):
        notebook = nbformat.read(path, as_version=4)
        for cell in notebook.cells:
            for output in cell.get("outputs", []):
                # A page has no kernel: what stands beside a widget is shown in its place.
                output.get("data", {}).pop("application/vnd.jupyter.widget-view+json", None)
        notebook.metadata.pop("widgets", None)
        nbformat.write(notebook, out / "notebooks" / path.name)
    count = sum(1 for path in out.rglob("*") if path.suffix in (".md", ".ipynb"))
    return [f"{out}: {count} pages and notebooks"]
