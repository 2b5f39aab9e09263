"""An explorer of definitions: switches of a protocol, and the score that moves with them.

In: a corpus, predictions and the protocol to start from. Out: an object with one list for each switch
where a notebook is open; below them, and alone everywhere else, a table and a figure of what each switch
does by itself. Every definition is scored at most once.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from html import escape as escape_html
from typing import Any

import pandas as pd

from dialogeval.exceptions import DialogevalError
from dialogeval.golds import GOLDS
from dialogeval.normalize import SLOT_STEPS, STEPS, describe_steps
from dialogeval.protocols import COMPARE, Protocol, find_protocol
from dialogeval.scoring import Scores, score
from dialogeval.tables import Corpus, Predictions
from lessons.widgets.base import display_face, html_table, shows_widgets

__all__ = ["DefinitionExplorer", "definition_explorer"]

#: Normalisation steps that have a switch, with what it says; `version` and `compare` come on top.
_STEPS = {
    "case": "Letter case",
    "space": "White space",
    "none": "Value none",
    "dontcare": "Value dontcare",
    "slots": "Slot names",
    "time": "Times",
    "article": "Articles",
    "spelling": "Spelling",
}
_LABELS = {**_STEPS, "version": "Gold version", "compare": "Compared slots"}
_METRICS = {"joint_goal_accuracy": "Joint goal accuracy", "slot_f1_micro": "Slot F1 (micro)"}
#: Rows of the trail that are shown.
_TRAIL = 8


@dataclass(frozen=True)
class _Result:
    """What one definition gives: values by metric and signature, or why it does not apply."""

    values: tuple[float, ...] = ()
    signature: str = ""
    refusal: str = ""


class DefinitionExplorer:
    """What `definition_explorer` returns: a notebook shows it, with switches or without.

    Parameters
    ----------
    gold : Corpus
    predictions : Predictions
    protocol : Protocol
    missing : str, optional
    interactive : bool, optional
        As for `definition_explorer`.
    """

    def __init__(
        self,
        gold: Corpus,
        predictions: Predictions,
        protocol: Protocol,
        missing: str | None,
        interactive: bool | None,
    ) -> None:
        self.gold, self.predictions, self.missing = gold, predictions, missing
        self.base = replace(protocol, metrics=tuple(_METRICS))
        #: The switches as the protocol has them.
        self.start = _settings_of(protocol)
        #: What can be chosen, by switch.
        self.choices = _choices(gold, self.start)
        self.trail: list[dict[str, str]] = [self.start]
        self._known: dict[tuple[str, ...], _Result] = {}
        self._known[tuple(self.start.values())] = _read(self._score(self.start))
        self._effects: pd.DataFrame | None = None
        #: The widget, or None where the static face is shown.
        self.box: Any = self._build() if shows_widgets(interactive) else None

    def result(self, settings: dict[str, str]) -> _Result:
        """Return what a setting of all switches gives; computed once.

        Parameters
        ----------
        settings : dict of str to str
            Choice by switch.

        Returns
        -------
        object
            ``values`` by metric, ``signature``; or ``refusal``, one line.
        """
        key = tuple(settings[name] for name in self.start)
        if key not in self._known:
            try:
                self._known[key] = _read(self._score(settings))
            except DialogevalError as error:
                self._known[key] = _Result(refusal=error.said)
        return self._known[key]

    def effects(self) -> pd.DataFrame:
        """Return what each switch does by itself.

        Returns
        -------
        pandas.DataFrame
            Indexed by the change, such as ``case:lower``; columns ``before``, ``after`` (joint goal
            accuracy), ``f1 before``, ``f1 after``. ``attrs["refused"]``: lines on changes that do not apply.
        """
        if self._effects is not None:
            return self._effects
        rows, refused = {}, []
        before = self.result(self.start).values
        for name, choices in self.choices.items():
            for choice in choices:
                found = self.result({**self.start, name: choice})
                if found.refusal:
                    refused.append(f"{name}:{choice} does not apply: {found.refusal}")
                elif choice != self.start[name]:
                    rows[f"{name}:{choice}"] = (before[0], found.values[0], before[1], found.values[1])
        columns = ["before", "after", "f1 before", "f1 after"]
        table = pd.DataFrame.from_dict(rows, orient="index", columns=columns)
        table.attrs["refused"] = refused
        self._effects = table
        return table

    def page(self, settings: dict[str, str]) -> str:
        """Return scores and signature of a setting as HTML; the same in both faces."""
        found = self.result(settings)
        said = self._changed(settings)
        if found.refusal:
            return f"<p><b>{escape_html(said)}</b>: does not apply. {escape_html(found.refusal)}</p>"
        first = self.result(self.start).values
        moved = {
            "At the start": first,
            "Change, points": [n - f for n, f in zip(found.values, first, strict=True)],
        }
        columns = {"Now": found.values, **(moved if settings != self.start else {})}
        rows = [
            [label, *(_points(v[i]) if "points" in c else f"{v[i]:.4f}" for c, v in columns.items())]
            for i, label in enumerate(_METRICS.values())
        ]
        caption = f"{self.predictions.name} on {self.gold.id}: {said}"
        table = html_table(caption, ["Score (0 to 1)", *columns], rows)
        return f"{table}<p>Signature: <code>{escape_html(found.signature)}</code></p>"

    def effects_page(self) -> str:
        """Return the effect of each switch as HTML."""
        rows = [
            [
                str(change),
                f"{row['after']:.4f}", _points(row["after"] - row["before"]),
                f"{row['f1 after']:.4f}", _points(row["f1 after"] - row["f1 before"]),
            ]
            for change, row in self.effects().iterrows()
        ]  # fmt: skip
        columns = ["Switch", "Joint goal accuracy", "Change, points", "Slot F1 (micro)", "Change, points"]
        refused = "".join(f"<p>{escape_html(line)}</p>" for line in self.effects().attrs["refused"])
        return f"{html_table('One switch at a time', columns, rows)}{refused}"

    def __repr__(self) -> str:
        found = self.result(self.start)
        table = self.effects()[["after", "f1 after"]].set_axis(list(_METRICS), axis=1)
        first = pd.DataFrame([found.values], index=["as at the start"], columns=list(_METRICS))
        lines = [f"{self.predictions.name} on {self.gold.id}, one switch at a time"]
        lines += [pd.concat([first, table]).to_string(float_format="{:.4f}".format)]
        return "\n".join([*lines, *self.effects().attrs["refused"], f"signature: {found.signature}"])

    def _ipython_display_(self) -> None:
        from dialogeval import plots
        from dialogeval.plots.results import before_after

        start, effects = self.page(self.start), self.effects_page()
        if self.box is None:
            display_face(start + effects, repr(self))
        else:
            display_face(start, self.result(self.start).signature, self.box)
            display_face(effects, repr(self))
        # The figure leaves out what the table shows to move nothing, unless that is all there is.
        table = self.effects()[["before", "after"]]
        moving = table[table["before"] != table["after"]]
        title = f"Single switches that move the score: {self.predictions.name}"
        plots.show(before_after(moving if len(moving) else table, title))

    def _score(self, settings: dict[str, str]) -> Scores:
        moved = {n: settings[n] for n in _STEPS if settings[n] != self.start[n]}
        kept = [step for step in self.base.steps if step.partition(":")[0] not in moved]
        steps = (*kept, *(f"{name}:{choice}" for name, choice in moved.items() if choice != "keep"))
        rules = replace(self.base, steps=steps, gold=settings["version"], compare=settings["compare"])
        return score(self.gold, self.predictions, rules, missing=self.missing, resamples=0)

    def _changed(self, settings: dict[str, str]) -> str:
        moved = [f"{name}:{settings[name]}" for name in self.start if settings[name] != self.start[name]]
        return ", ".join(moved) or "as at the start"

    def _trail_page(self) -> str:
        rows = []
        for settings in self.trail[-_TRAIL:]:
            values = [f"{value:.4f}" for value in self.result(settings).values] or ["does not apply", ""]
            rows.append([self._changed(settings), *values])
        return html_table("Last settings, the newest below", ["Switches", *_METRICS.values()], rows)

    def _build(self) -> Any:
        import ipywidgets as w

        wide = {"description_width": "9em"}
        switches = {
            name: w.Dropdown(
                options=choices, value=self.start[name], description=_LABELS[name], style=wide,
                tooltip=f"{_LABELS[name]}: field {name} of the signature", layout=w.Layout(width="20em"),
            )
            for name, choices in self.choices.items()
        }  # fmt: skip
        reset = w.Button(description="Back to the start", tooltip="Set all switches as the protocol has them")
        page, trail = w.HTML(), w.HTML()

        def draw(_: Any = None) -> None:
            now = {**self.start, **{name: switch.value for name, switch in switches.items()}}
            if now != self.trail[-1]:
                self.trail.append(now)
            page.value, trail.value = _calm(self.page(now)), _calm(self._trail_page())

        def back(_: Any) -> None:
            # One step of the trail, whatever number of switches moves.
            for name, switch in switches.items():
                switch.unobserve(draw, names="value")
                switch.value = self.start[name]
                switch.observe(draw, names="value")
            draw()

        for switch in switches.values():
            switch.observe(draw, names="value")
        reset.on_click(back)
        draw()
        controls = w.Box([*switches.values(), reset], layout=w.Layout(flex_flow="row wrap"))
        box = w.VBox([controls, page, trail])
        box.add_class("dialogeval-definition-explorer")
        return box


def definition_explorer(
    gold: Corpus,
    predictions: Predictions,
    protocol: str | Protocol = "lin2021",
    *,
    missing: str | None = None,
    interactive: bool | None = None,
) -> DefinitionExplorer:
    """Move the switches of a protocol and see the scores of the same predictions move.

    Parameters
    ----------
    gold : Corpus
    predictions : Predictions
        With states.
    protocol : str or Protocol, default="lin2021"
        Where the switches stand at first. Steps that have no switch stay as they are.
    missing : {"error", "empty", "skip"}, optional
        What to do with turns that the predictions lack; the protocol's own choice by default.
    interactive : bool, optional
        Whether to show switches. By default where a notebook is open in JupyterLab or Notebook and
        ipywidgets is installed; executed pages hold the table and the figure alone.

    Returns
    -------
    DefinitionExplorer
        Displayed by a notebook.

    Raises
    ------
    CoverageError
        The predictions do not cover the corpus.
    UnknownNameError, UsageError
        An unknown protocol, predictions without states, controls without ipywidgets.

    Examples
    --------
    >>> from dialogeval.tables import Corpus, Predictions, table
    >>> turns = table("turns", [("d", 0, "an inn up north", "Here.", 0)])
    >>> gold = Corpus("toy", turns=turns, states=table("states", [("d", 0, "hotel", "area", "north")]))
    >>> loud = Predictions("loud", turns=turns, states=table("states", [("d", 0, "hotel", "area", "NORTH")]))
    >>> definition_explorer(gold, loud).effects().loc["case:lower", ["before", "after"]].tolist()
    [0.0, 1.0]
    """
    return DefinitionExplorer(gold, predictions, find_protocol(protocol), missing, interactive)


# Helpers ------------------------------------------------------------------------------------------


def _settings_of(protocol: Protocol) -> dict[str, str]:
    acting = describe_steps(protocol.steps)
    steps = {name: acting.get(name, "keep") for name in _STEPS}
    return {**steps, "version": protocol.gold, "compare": protocol.compare}


def _choices(gold: Corpus, start: dict[str, str]) -> dict[str, list[str]]:
    """List the choices of each switch that this corpus has; a switch with one choice is none."""
    known: dict[str, dict] = {**STEPS, **SLOT_STEPS}
    choices = {name: ["keep", *known[name]] for name in _STEPS}
    choices["version"] = [version for version in GOLDS if _has_version(gold, version)]
    choices["compare"] = [c for c in COMPARE if c != "annotated-slots" or len(gold.layouts)]
    # What the protocol has stands in the list, be it two steps of one name.
    for name, listed in choices.items():
        listed += [] if start[name] in listed else [start[name]]
    return {name: listed for name, listed in choices.items() if len(listed) > 1}


def _has_version(gold: Corpus, version: str) -> bool:
    if version == "bars":
        return bool(gold.states["value"].str.contains("|", regex=False).any())
    try:
        GOLDS[version](gold)
    except DialogevalError:
        return False
    return True


def _read(scores: Scores) -> _Result:
    return _Result(tuple(scores[key] for key in _METRICS), scores.signature)


def _points(change: float) -> str:
    return f"{change * 100:+.1f}".replace("-", "−") if round(change * 100, 1) else "0.0"


def _calm(page: str) -> str:
    """Undo the line height that ipywidgets gives to its HTML."""
    return f'<div style="line-height:1.4;margin-bottom:0.6em;overflow-x:auto">{page}</div>'
