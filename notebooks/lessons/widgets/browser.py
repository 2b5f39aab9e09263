"""A browser of dialogues: choose one, gold beside prediction, errors marked, turn by turn.

In: `Scores` of a protocol for states. Out: an object with controls where a notebook is open, and else a
page with the chosen dialogue and, folded away, those that come after it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import pandas as pd

from dialogeval.analysis.dialogue import DialogueView, escape, rank_dialogues, render_dialogue, visible
from dialogeval.exceptions import UsageError, show
from dialogeval.scoring import Scores
from lessons.widgets.base import display_face, shows_widgets

__all__ = ["DialogueBrowser", "dialogue_browser"]


@dataclass(frozen=True)
class _WrongTurns(DialogueView):
    """A dialogue without its right turns; the title is that of the whole one."""

    whole: str = ""

    @property
    def title(self) -> str:
        return f"{self.whole}; only turns with errors are shown"


class DialogueBrowser:
    """What `dialogue_browser` returns: a notebook shows it, with controls or without.

    Parameters
    ----------
    scores : Scores
    dialogue : str, optional
    following : int
    interactive : bool, optional
        As for `dialogue_browser`.
    """

    def __init__(
        self, scores: Scores, dialogue: str | None, following: int, interactive: bool | None
    ) -> None:
        self.scores, self.following = scores, following
        #: Each dialogue with its place in the order and its errors as text, the worst first.
        self.labels: dict[str, str] = _labels(rank_dialogues(scores))
        self.ids = list(self.labels)
        # Going back and forth renders nothing twice.
        self._view = lru_cache(maxsize=64)(lambda name: render_dialogue(scores, name))
        self._page = lru_cache(maxsize=64)(self._render)
        #: The dialogue that is shown first, in the spelling of the tables.
        self.first: str = self._view(self.ids[0] if dialogue is None else dialogue).dialogue_id
        #: The widget, or None where the static face is shown; its children are made by `_build`.
        self.box: Any = self._build() if shows_widgets(interactive) else None

    def page(self, name: str, only_errors: bool = False) -> str:
        """Return one dialogue as HTML; the same in both faces.

        Parameters
        ----------
        name : str
            Dialogue id.
        only_errors : bool, default=False
            Leave right turns out.

        Returns
        -------
        str
        """
        return self._page(name, only_errors)

    def static_page(self) -> str:
        """Return the first dialogue, and below it those that follow it in the order, folded away."""
        folded = "".join(
            f"<details><summary>{escape(self.labels[name])}</summary>{self.page(name)}</details>"
            for name in self._after()
        )
        return f"<p>{escape(self.labels[self.first])}</p>{self.page(self.first)}{folded}"

    def __repr__(self) -> str:
        after = [self.labels[name] for name in self._after()]
        return "\n".join([self.labels[self.first], "", repr(self._view(self.first)), "", *after]).strip()

    def _ipython_display_(self) -> None:
        display_face(self.static_page(), repr(self), self.box)

    def _render(self, name: str, only_errors: bool) -> str:
        view = self._view(name)
        if only_errors:
            wrong = view.turns[~view.turns["right"]]
            view = _WrongTurns(
                view.dialogue_id, view.system, view.protocol, wrong, view.states, whole=view.title
            )
        return f'<div style="line-height:1.4;overflow-x:auto">{view._repr_html_()}</div>'

    def _after(self) -> list[str]:
        place = self.ids.index(self.first) + 1
        return self.ids[place : place + self.following]

    def _build(self) -> Any:
        import ipywidgets as w

        wide = {"description_width": "initial"}
        choice = w.Dropdown(
            options=[(label, name) for name, label in self.labels.items()], value=self.first, style=wide,
            description="Dialogue", tooltip="Choose a dialogue; the one with most errors comes first",
            layout=w.Layout(width="min(36em, 100%)"),
        )  # fmt: skip
        back = w.Button(description="◀ Previous", tooltip="Previous dialogue, with more errors")
        on = w.Button(description="Next ▶", tooltip="Next dialogue, with fewer errors")
        only = w.Checkbox(
            description="Only turns with errors", tooltip="Leave right turns out", indent=False, style=wide
        )
        page = w.HTML()

        def draw(_: Any = None) -> None:
            place = self.ids.index(choice.value)
            back.disabled, on.disabled = place == 0, place == len(self.ids) - 1
            page.value = self.page(choice.value, only.value)

        def step(by: int) -> None:
            place = self.ids.index(choice.value) + by
            if 0 <= place < len(self.ids):
                choice.value = self.ids[place]

        back.on_click(lambda _: step(-1))
        on.on_click(lambda _: step(1))
        choice.observe(draw, names="value")
        only.observe(draw, names="value")
        draw()
        controls = w.Box([choice, back, on, only], layout=w.Layout(flex_flow="row wrap"))
        box = w.VBox([controls, page])
        box.add_class("dialogeval-dialogue-browser")
        return box


def dialogue_browser(
    scores: Scores, dialogue: str | None = None, following: int = 2, interactive: bool | None = None
) -> DialogueBrowser:
    """Browse dialogues side by side: gold, prediction, errors marked; the worst dialogue comes first.

    Parameters
    ----------
    scores : Scores
        Of a protocol for states.
    dialogue : str, optional
        Where to begin; at the dialogue with most errors by default.
    following : int, default=2
        How many of the next dialogues the static face holds, folded away.
    interactive : bool, optional
        Whether to show controls. By default where a notebook is open in JupyterLab or Notebook and
        ipywidgets is installed; executed pages hold the static face.

    Returns
    -------
    DialogueBrowser
        Displayed by a notebook.

    Raises
    ------
    UnknownNameError
        The dialogue was not scored.
    UsageError
        Scores of responses, a number of dialogues below 0, controls without ipywidgets.

    Examples
    --------
    >>> from dialogeval.scoring import score
    >>> from dialogeval.tables import Corpus, table
    >>> gold = Corpus("toy", turns=table("turns", [("d", 0, "hi", "ho", 0)]))
    >>> dialogue_browser(score(gold, gold, "lin2021", resamples=0), interactive=False)  # doctest: +ELLIPSIS
    1 of 1: d, 0 errors in 0 of 1 turns
    <BLANKLINE>
    Dialogue d: gold against gold, protocol lin2021; 1 of 1 turns right
    ...
    """
    if not isinstance(following, int) or isinstance(following, bool) or following < 0:
        raise UsageError("following", expected="a whole number of dialogues, 0 or more", got=show(following))
    return DialogueBrowser(scores, dialogue, following, interactive)


# Helpers ------------------------------------------------------------------------------------------


def _labels(ranked: pd.DataFrame) -> dict[str, str]:
    labels = {}
    for place, row in enumerate(ranked.itertuples(), start=1):
        errors = f"{row.errors:,} error{'' if row.errors == 1 else 's'}"
        said = f"{visible(str(row.Index))}, {errors} in {row.wrong_turns} of {row.turns} turns"
        labels[str(row.Index)] = f"{place:,} of {len(ranked):,}: {said}"
    return labels
