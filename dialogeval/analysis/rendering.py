"""One dialogue side by side: utterances, gold, prediction and what is different, turn by turn.

In: `Scores` of a protocol for states and a dialogue id. Out: an object that a notebook shows as a
table and a terminal as text. Texts of the data are shown letter by letter, whatever they hold:
`escape` makes markup and formulas harmless and invisible characters visible. The page needs no
script, and every mark is a symbol and a word as well as a colour.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape as escape_html
from typing import Any

import numpy as np
import pandas as pd

from ..breakdowns.groups import corpus_of, state_pair_of
from ..breakdowns.states import paired_errors
from ..exceptions import UnknownNameError
from ..metrics.change import new_triples
from ..metrics.states import StatePair
from ..scoring import Scores
from ..tables import canonical_id
from .errors import classify

__all__ = ["MARKS", "DialogueView", "dialogue_table", "escape", "render_dialogue", "visible"]

#: A symbol and a colour for each difference; the colours are apart in grey and to the colour-blind.
MARKS = {
    "right": ("✓", "#0072b2"),
    "written differently": ("≈", "#56b4e9"),
    "gold suspicious": ("?", "#999999"),
    "stale": ("↺", "#cc79a7"),
    "wrong slot": ("⇄", "#e69f00"),
    "wrong value": ("≠", "#d55e00"),
    "missed": ("−", "#d55e00"),
    "spurious": ("+", "#d55e00"),
}
#: Characters that Markdown and TeX give a meaning; as references they are only characters.
_MEANINGFUL = {ord(c): f"&#{ord(c)};" for c in "\\`*_{}[]()#+-!|~^$@:"}
_CELL = "text-align:left;vertical-align:top;white-space:pre-wrap;padding:0.15em 0.8em 0.15em 0"
_HIDDEN = frozenset(("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"))


@dataclass(frozen=True)
class DialogueView:
    """A dialogue with gold and predicted states; shown as a table by a notebook, else as text.

    Parameters
    ----------
    dialogue_id, system, protocol : str
    turns : pandas.DataFrame
        turn, user, system, right (whether the whole state is).
    states : pandas.DataFrame
        As `dialogue_table`.
    """

    dialogue_id: str
    system: str
    protocol: str
    turns: pd.DataFrame = field(repr=False)
    states: pd.DataFrame = field(repr=False)

    @property
    def title(self) -> str:
        """One line: which dialogue, whose prediction, how many turns are right."""
        right = f"{int(self.turns['right'].sum())} of {len(self.turns)} turns right"
        return f"Dialogue {self.dialogue_id}: {self.system} against gold, protocol {self.protocol}; {right}"

    def __repr__(self) -> str:
        return _text(self)

    def _repr_html_(self) -> str:
        return _page(self)


def render_dialogue(scores: Scores, dialogue_id: str) -> DialogueView:
    """Show one dialogue side by side: gold, prediction, difference, utterances.

    Parameters
    ----------
    scores : Scores
        Of a protocol for states.
    dialogue_id : str
        In any spelling that `canonical_id` understands.

    Returns
    -------
    DialogueView
        Its ``states`` and ``turns`` are tables.

    Raises
    ------
    UnknownNameError
        The dialogue was not scored.
    UsageError
        Scores of responses.

    Examples
    --------
    >>> from dialogeval.scoring import score
    >>> from dialogeval.tables import Corpus, Predictions, table
    >>> turns = table("turns", [("d", 0, "an inn up north", "Here.", 0)])
    >>> gold = Corpus("toy", turns=turns, states=table("states", [("d", 0, "hotel", "area", "north")]))
    >>> pred = Predictions("p", turns=turns, states=table("states"))
    >>> print(render_dialogue(score(gold, pred, "lin2021", resamples=0), "d"))
    Dialogue d: p against gold, protocol lin2021; 0 of 1 turns right
    <BLANKLINE>
    Turn 0: state wrong
      user:   an inn up north
      − missed  hotel-area  gold: north  predicted: (none)
      system: Here.
    """
    pair, corpus = state_pair_of(scores), corpus_of(scores)
    known = pair.index.get_level_values("dialogue_id")
    name = canonical_id(dialogue_id)
    rows = np.flatnonzero(known == name)
    if not len(rows):
        raise UnknownNameError(
            "scored dialogue", dialogue_id, known.unique()[:8], mend="see scores.coverage.turns"
        )
    states = dialogue_table(scores, rows)
    turns = corpus.turns[corpus.turns["dialogue_id"] == name][["turn", "user", "system"]]
    turns = pd.DataFrame({"turn": pair.index.get_level_values("turn")[rows]}).merge(
        turns, on="turn", how="left"
    )
    turns["right"] = ~turns["turn"].isin(states.loc[states["difference"] != "right", "turn"])
    return DialogueView(name, scores.system, scores.protocol.name, turns, states)


def dialogue_table(scores: Scores, rows: np.ndarray) -> pd.DataFrame:
    """Return gold and predicted values of a dialogue, slot by slot.

    Parameters
    ----------
    scores : Scores
    rows : ndarray of int64
        All rows of one dialogue in the pair.

    Returns
    -------
    pandas.DataFrame
        turn, domain, slot, gold, predicted, ``difference`` (``right`` or a kind of error), ``new``
        (whether either side has set it in this turn), detail.

    Examples
    --------
    >>> from dialogeval.scoring import score
    >>> from dialogeval.tables import Corpus, table
    >>> gold = Corpus("toy", turns=table("turns", [("d", 0, "hi", "ho", 0)]))
    >>> len(dialogue_table(score(gold, gold, "lin2021", resamples=0), np.array([0])))
    0
    """
    pair = state_pair_of(scores)
    coded = paired_errors(pair)
    wrong = classify(scores, coded[coded["row"].isin(rows)].reset_index(drop=True))
    wrong = wrong.rename(columns={"kind": "difference"}).assign(new=wrong["since"] == wrong["turn"])
    right = _right(pair, rows)
    columns = ["turn", "domain", "slot", "gold", "predicted", "difference", "new", "detail"]
    return (
        pd.concat([right[columns], wrong[columns]], ignore_index=True)
        .sort_values(["turn", "domain", "slot", "gold", "predicted"], ignore_index=True)
        .astype({"new": "bool"})
    )


def visible(text: str) -> str:
    """Write out the characters that cannot be seen, or that change how others are shown.

    Parameters
    ----------
    text : str

    Returns
    -------
    str
        Control and format characters, line breaks and spaces other than the plain one as ⟨U+…⟩.

    Examples
    --------
    >>> visible("no" + chr(0x202E) + "rth" + chr(0xA0))
    'no⟨U+202E⟩rth⟨U+00A0⟩'
    """

    def shown(c: str) -> str:
        kind = unicodedata.category(c)
        return f"⟨U+{ord(c):04X}⟩" if kind in _HIDDEN or (kind == "Zs" and c != " ") else c

    return "".join(map(shown, text))


def escape(text: str) -> str:
    """Make a text of the data safe for a page: no markup, no Markdown, no formula, nothing hidden.

    Parameters
    ----------
    text : str

    Returns
    -------
    str
        HTML that shows the text letter by letter, isolated from the direction of its neighbours.

    Examples
    --------
    >>> escape("<b>$x$")
    '<bdi>&lt;b&gt;<span>&#36;</span>x<span>&#36;</span></bdi>'
    """
    safe = escape_html(visible(text), quote=True)
    # References to characters hold # and ;, which must survive: only the text between them is translated.
    parts: list[str] = []
    for piece in safe.split("&"):
        reference, mark, rest = piece.partition(";") if parts else ("", "", piece)
        parts.append(reference + mark + rest.translate(_MEANINGFUL))
    # A formula's delimiter counts only where it stands in one piece of text with the other one.
    safe = "&".join(parts)
    for code in (ord("$"), ord("\\")):
        safe = safe.replace(f"&#{code};", f"<span>&#{code};</span>")
    return f"<bdi>{safe}</bdi>"


# Helpers ------------------------------------------------------------------------------------------


def _right(pair: StatePair, rows: np.ndarray) -> pd.DataFrame:
    """Triples of some turns that stand on both sides; new where either side has just set them."""
    mine = pair.gold_in_pred & np.isin(pair.gold.turn, rows)
    new_gold = new_triples(pair, pair.gold)[mine]
    here = pair.gold.take(mine)
    new_pred = (
        new_triples(pair, pair.pred)[np.searchsorted(pair.pred.key, here.key)] if len(here.key) else new_gold
    )
    values = pair.values[here.value] if len(here.key) else np.zeros(0, dtype=object)
    return pd.DataFrame(
        {
            "turn": pair.index.get_level_values("turn").to_numpy()[here.turn].astype("int64"),
            "domain": pair.slots["domain"].astype("str").to_numpy()[here.slot],
            "slot": pair.slots["slot"].astype("str").to_numpy()[here.slot],
            "gold": pd.Series(values, dtype="str"),
            "predicted": pd.Series(values, dtype="str"),
            "difference": pd.Series(["right"] * len(values), dtype="str"),
            "new": new_gold | new_pred,
            "detail": pd.Series([""] * len(values), dtype="str"),
        }
    )


def _turns(view: DialogueView) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]], list[dict[str, Any]]]]:
    """Go through the turns: each with the slots to show in full, and those that are right as before."""
    for turn in _records(view.turns):
        table = view.states[view.states["turn"] == turn["turn"]]
        kept = (table["difference"] == "right") & ~table["new"]
        yield turn, _records(table[~kept]), _records(table[kept])


def _records(table: pd.DataFrame) -> list[dict[str, Any]]:
    return [{str(name): value for name, value in row.items()} for row in table.to_dict("records")]


def _text(view: DialogueView) -> str:
    lines = [visible(view.title)]
    for turn, rows, held in _turns(view):
        lines += ["", f"Turn {turn['turn']}: state {'right' if turn['right'] else 'wrong'}"]
        lines.append(f"  user:   {visible(turn['user'])}")
        for row in rows:
            mark = f"{MARKS[row['difference']][0]} {row['difference']}"
            gold, predicted = (visible(row[side]) or "(none)" for side in ("gold", "predicted"))
            detail = f"  ({visible(row['detail'])})" if row["detail"] else ""
            lines.append(f"  {mark}  {visible(_slot(row))}  gold: {gold}  predicted: {predicted}{detail}")
        if held:
            lines.append(f"  ✓ right as before: {len(held)}")
        lines.append(f"  system: {visible(turn['system'])}")
    return "\n".join(lines)


def _page(view: DialogueView) -> str:
    columns = ("Slot", "Gold", f"Predicted by {escape(view.system)}", "Difference")
    head = "".join(f'<th scope="col" style="{_CELL}">{name}</th>' for name in columns)
    parts = [
        '<div class="tex2jax_ignore mathjax_ignore"><table style="border-collapse:collapse">',
        f'<caption style="text-align:left">{escape(view.title)}</caption>',
        f"<thead><tr>{head}</tr></thead>",
    ]
    for turn, rows, held in _turns(view):
        verdict = "✓ state right" if turn["right"] else "✗ state wrong"
        parts.append(
            f'<tbody><tr style="border-top:2px solid #777777"><th scope="rowgroup" colspan="4" style="{_CELL}">'
            f"Turn {turn['turn']}: {verdict}</th></tr>"
        )
        parts += [_across(f"<b>User:</b> {escape(turn['user'])}"), *map(_row, rows)]
        if held:
            values = "; ".join(escape(f"{_slot(row)} = {row['gold']}") for row in held)
            summary = f"<summary>✓ right as before: {len(held)}</summary>"
            parts.append(_across(f"<details>{summary}{values}</details>"))
        parts += [_across(f"<b>System:</b> {escape(turn['system'])}"), "</tbody>"]
    return "".join([*parts, "</table></div>"])


def _across(content: str) -> str:
    return f'<tr><td colspan="4" style="{_CELL}">{content}</td></tr>'


def _row(row: dict[str, Any]) -> str:
    symbol, colour = MARKS[row["difference"]]
    gold, predicted = (escape(row[s]) if row[s] else "<i>none</i>" for s in ("gold", "predicted"))
    weight = "normal" if row["difference"] == "right" else "bold"
    detail = f"<br><small>{escape(row['detail'])}</small>" if row["detail"] else ""
    return (
        f'<tr><th scope="row" style="{_CELL};font-weight:normal">{escape(_slot(row))}</th>'
        f'<td style="{_CELL}">{gold}</td><td style="{_CELL}">{predicted}</td>'
        f'<td style="{_CELL};border-left:6px solid {colour};padding-left:0.5em">'
        f'<span style="font-weight:{weight}">{symbol} {row["difference"]}</span>{detail}</td></tr>'
    )


def _slot(row: dict[str, Any]) -> str:
    return f"{row['domain']}-{row['slot']}"
