"""Interactive pieces of the lessons, each with a static face of the same content.

In: scores, or a corpus and predictions. Out: an object that JupyterLab shows with controls, and that
everything else (papermill, nbconvert, nbval, a page on the web) shows as plain HTML, figures and text.
Nothing here needs ipywidgets to be imported, and no piece has a script of its own.
"""

from lessons.widgets.base import shows_widgets
from lessons.widgets.browser import DialogueBrowser, dialogue_browser
from lessons.widgets.explorer import DefinitionExplorer, definition_explorer

__all__ = [
    "DefinitionExplorer",
    "DialogueBrowser",
    "definition_explorer",
    "dialogue_browser",
    "shows_widgets",
]
