"""Lessons as slide decks: where a slide begins follows from a lesson's headings and outputs.

A heading begins a slide; each output, with the code that made it, begins a slide below it; the prose
that says what to see in an output appears at the next key press. Code that is long or only draws is
folded away. Settings, solutions and the outputs of unanswered exercises are left out.
"""

from __future__ import annotations

import html
import re
import shutil
from copy import deepcopy
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from course.assignment import exercises_of, lesson_files, without_solutions
from dialogeval.exceptions import UsageError
from dialogeval.writing import write_whole

__all__ = ["slide_deck"]

#: Code of more lines is folded away.
LONG = 7
#: Outputs of one slide: a figure fills it, a table half of it, a line of text a quarter.
FULL = 4
_HEADING = re.compile(r"(#+) (.+)")


def slide_deck(notebook: Any) -> Any:
    """Return a lesson cut into slides.

    Parameters
    ----------
    notebook : nbformat.NotebookNode
        Executed, as committed.

    Returns
    -------
    nbformat.NotebookNode
        A new notebook whose cells have nbconvert's slideshow metadata, and the tag ``fold`` where the
        code is folded away.

    Examples
    --------
    >>> from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
    >>> lesson = new_notebook(cells=[new_markdown_cell("# A\\n\\ntext\\n\\n## B"), new_code_cell("1")])
    >>> [cell.metadata.slideshow.slide_type for cell in slide_deck(lesson).cells]
    ['slide', 'slide', '-']
    """
    from nbformat.v4 import new_markdown_cell

    deck = deepcopy(notebook)
    for exercise in exercises_of(notebook):
        deck.cells[exercise.cell].outputs = []
    parts = [part for cell in deck.cells for part in _parts(cell)]
    deck.cells, filled, title = [], 0, ""
    for cell in parts:
        size, kind = _size(cell), "-"
        if "parameters" in cell.metadata.get("tags", []):
            kind = "skip"
        elif heading := _HEADING.match(cell.source) if cell.cell_type == "markdown" else None:
            kind, filled, title = ("slide" if len(heading[1]) < 3 else "subslide"), 0, heading[2]
        elif size and filled and filled + size > FULL:
            again = f'<p class="again">{html.escape(title)}</p>'
            deck.cells.append(_typed(new_markdown_cell(again, id=f"{cell.id}-again"), "subslide"))
            filled = 0
        elif filled and not size:
            kind = "fragment" if cell.cell_type == "markdown" or cell.outputs else "-"
        filled += size
        deck.cells.append(_typed(cell, kind))
    return deck


def _typed(cell: Any, kind: str) -> Any:
    cell.metadata["slideshow"] = {"slide_type": kind}
    return cell


def _size(cell: Any) -> int:
    """Return how much of a slide a cell's outputs fill; fold the code that is long or only draws."""
    if cell.cell_type != "code":
        return 0
    kinds = [kind for output in cell.outputs for kind in output.get("data", {"text/plain": ""})]
    drawn, said = "image/png" in kinds, "text/markdown" in kinds
    if drawn or said or len(cell.source.splitlines()) > LONG:
        cell.metadata["tags"] = [*cell.metadata.get("tags", []), "fold"]
    if drawn:
        return FULL
    if said:  # sentences whose numbers are computed
        return 0
    return min(2 if "text/html" in kinds else 1, len(kinds))


def _parts(cell: Any) -> list[Any]:
    """Cut a Markdown cell at its headings, solutions left out; other cells stay as they are."""
    from nbformat.v4 import new_markdown_cell

    if cell.cell_type != "markdown":
        return [cell]
    texts = re.split(r"^(?=##+ )", without_solutions(cell.source), flags=re.MULTILINE)
    return [
        new_markdown_cell(text.strip(), id=f"{cell.id}-{i}") for i, text in enumerate(texts) if text.strip()
    ]


def write_slides(out: Path) -> list[str]:
    """Write a slide deck for each lesson, and reveal.js beside them.

    Parameters
    ----------
    out : pathlib.Path

    Returns
    -------
    list of str
        The pages, ready to be opened in a browser; they load nothing from the network.

    Raises
    ------
    UsageError
        The package that carries reveal.js is not installed.
    """
    import nbformat
    from nbconvert import SlidesExporter

    found = find_spec("sphinx_revealjs")
    if found is None or found.origin is None:
        raise UsageError(
            "reveal.js is missing", mend="make slides installs it (pip install 'dialogeval[site]')"
        )
    out.mkdir(parents=True, exist_ok=True)
    library = Path(found.origin).parent / "_static" / "revealjs"
    for part in ("dist", "plugin/notes"):
        shutil.copytree(library / part, out / "reveal.js" / part, dirs_exist_ok=True)
    shutil.copy(library / "LICENSE", out / "reveal.js")
    templates = Path(__file__).resolve().parent.parent / "data" / "templates"
    exporter = SlidesExporter(extra_template_basedirs=[str(templates)], template_name="slides")
    exporter.reveal_url_prefix = "reveal.js"
    written = []
    for path in lesson_files():
        deck = slide_deck(nbformat.read(path, as_version=4))
        body, _ = exporter.from_notebook_node(deck, resources={"metadata": {"name": path.stem}})
        target = out / f"{path.stem}.slides.html"
        written.append(str(write_whole(target, body)))
    return written
