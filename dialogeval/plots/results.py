"""Figures of results: scores, comparisons and errors as short calls of the five kinds.

In: `Scores`, or small tables of values. Out: axes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from dialogeval.analysis import errors as analysis
from dialogeval.analysis.breakdowns import breakdown
from dialogeval.analysis.texts import by_label
from dialogeval.exceptions import UnknownNameError, UsageError
from dialogeval.plots import bars, dots, grid, histogram, lines
from dialogeval.scoring import Scores

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MAIN = ("joint_goal_accuracy", "slot_f1_micro", "bleu_4", "bleu_4_card")
_TURN, _FRACTION = "turn, counted from 0", "fraction, 0 to 1"
_JGA = f"joint goal accuracy ({_FRACTION})"
_FORM = {"fraction": ".3f", "per cent": ".1f"}

# Values and comparisons ---------------------------------------------------------------------------


def score_intervals(
    scores: Scores | pd.DataFrame, keys: Sequence[str] | None = None, title: str = "", ax: Axes | None = None
) -> Axes:
    """Draw scores of one unit as dots on the bars of their 95 % intervals."""
    rows = _chosen(scores, keys)
    title = title or f"{scores.system}: scores{_turns(scores)}"  # type: ignore[union-attr,arg-type]
    return forest(rows.set_index("label"), "score", rows["unit"].iloc[0], title, ax=ax)


def forest(
    table: pd.DataFrame, label: str, unit: str, title: str, letters: Mapping[str, str] | None = None,
    ax: Axes | None = None,
) -> Axes:  # fmt: skip
    """Draw values on the bars of their 95 % intervals; systems that share a letter are not told apart."""
    table = table[["value", "low", "high"]].astype(float).dropna(axis=1, how="all")
    xlabel = _axis(label, unit) + (", with 95 % interval" if "low" in table else "")
    if letters:
        table["text"] = [letters.get(str(name), "") for name in table.index]
        xlabel += "; same letter: not told apart"
    return dots(table, title, xlabel, form=_FORM.get(unit, ",.6g"), ax=ax)


def pair_matrix(
    pairs: pd.DataFrame, order: Sequence[str], label: str, unit: str, title: str, ax: Axes | None = None
) -> Axes:
    """Draw the difference of every pair of systems, row minus column; bold and shaded: significant."""
    swapped = pairs.rename(columns={"a": "b", "b": "a"}).assign(difference=-pairs["difference"])
    cells, names = pd.concat([pairs, swapped]), list(order)
    table = cells.pivot(index="a", columns="b", values="difference").loc[names, names]
    apart = cells.pivot(index="a", columns="b", values="significant").loc[names, names].eq(True)
    shade = (table.abs() / max(pairs["difference"].abs().max(), 1e-12)).where(apart)
    tested = int(pairs["p_holm"].notna().sum()) if "p_holm" in pairs else len(pairs)
    title += f" ({int(pairs['significant'].sum())} of {tested} tested pairs do)"
    xlabel = f"difference in {_axis(label, unit)}, row minus column; bold, shaded: more than chance"
    form = "+z" + _FORM.get(unit, ",.6g")
    return grid(table, title, xlabel, shade=shade, bold=apart, form=form, ax=ax)


def rank_grid(table: pd.DataFrame, title: str, ax: Axes | None = None) -> Axes:
    """Draw the place of each system under each definition, systems as the first row ranks them."""
    table = table[table.iloc[0].sort_values(kind="stable").index]
    moved = table.ne(table.iloc[0])
    title += f": {int(moved.any(axis=1).sum())} of {len(table) - 1} others differ from the first"
    shade, xlabel = 0.9 - 0.9 * (table - 1) / table.shape[1], "place (1: best; bold: not as in the first row)"
    return grid(table, title, xlabel, shade=shade, bold=moved, form=".0f", ax=ax)


def before_after(table: pd.DataFrame, title: str, xlabel: str = _JGA, ax: Axes | None = None) -> Axes:
    """Draw a score before and after as two dots with an arrow, and the points between them."""
    table = table[["before", "after"]].astype(float)
    points = [f"{(new - old) * 100:+.1f}".replace("-", "−") for old, new in table.to_numpy()]
    ax = dots(table.assign(text=points), title, f"{xlabel}; numbers: points", limits=(0, 1), ax=ax)
    arrow = {"arrowstyle": "->", "shrinkA": 4, "shrinkB": 4}
    for spot, (old, new) in enumerate(table.to_numpy()):
        if abs(new - old) > 0.02:
            ax.annotate("", (new, spot), (old, spot), arrowprops=arrow)
    return ax


def transfer_matrix(raw: pd.DataFrame, aligned: pd.DataFrame, label: str, ax: Axes | None = None) -> Axes:
    """Draw a score of all pairs of corpora: as it is on the left, aligned on the right."""
    table = pd.concat([raw.add_suffix(", as it is"), aligned.add_suffix(", aligned")], axis=1)
    own = np.equal.outer(raw.index.to_numpy(), np.tile(raw.columns.to_numpy(), 2))
    title = f"{label}: trained on (rows), scored on (columns)"
    xlabel = f"scored on; {_FRACTION} (bold: on its own corpus)"
    ax = grid(table, title, xlabel, "trained on", bold=own, form=".3f", ax=ax)
    ax.axvline(raw.shape[1] - 0.5, color="white", linewidth=7)
    return ax


# Parts of one result ------------------------------------------------------------------------------


def score_by_turn(scores: Scores, keys: Sequence[str] | None = None, ax: Axes | None = None) -> Axes:
    """Draw scores by turn number, over pale bars of how many turns each rests on."""
    keys = list(keys or [k for k in _MAIN if k in scores.table.index][:2] or scores.table.index[:1])
    rows: Any = _chosen(scores, keys)
    table = _by_turn(scores)
    if lacking := [key for key in keys if key not in table]:
        raise UsageError(f"{', '.join(lacking)}: a score of whole dialogues, not of turns")
    unit, shown = rows["unit"].iloc[0], table[keys].rename(columns=rows["label"].to_dict())
    title, form = f"{scores.system}: scores by turn number{_turns(scores)}", _FORM.get(unit, ".3g")
    top = 1.02 if unit == "fraction" else None
    return lines(shown, title, _TURN, _axis("score", unit), behind=_scored(table), top=top, form=form, ax=ax)


def goal_labels(scores: Scores, most: int = 20, ax: Axes | None = None) -> Axes:
    """Draw precision and recall of each goal label, those of most reference dialogues first."""
    table, xlabel = by_label(scores), "per cent of dialogues; in brackets: reference dialogues with it"
    shown = table.head(most)
    shown.index = [f"{name} ({n:,})" for name, n in shown["references"].items()]
    title = f"{scores.system}: goal slots mentioned ({len(shown)} of {len(table)} labels)"
    return bars(shown[["precision", "recall"]], title, xlabel, stacked=False, form=".1f", ax=ax)


def error_kinds(scores: Scores, ax: Axes | None = None) -> Axes:
    """Draw how often each kind of error is made, and how often it is only carried along."""
    table = analysis.kind_table(scores)
    names = {"made": "made in this turn", "carried": "carried along from an earlier turn"}
    carried, every = table[["carried", "errors"]].sum()
    title = f"{scores.system}: {carried:,} of {every:,} errors are carried along"
    shown = table[list(names)].rename(columns=names)
    return bars(shown, title, "errors (wrong slots, summed over turns)", ax=ax)


def repair_gains(scores: Scores, ax: Axes | None = None) -> Axes:
    """Draw joint goal accuracy as it is, and with the errors of one kind put right."""
    gain = analysis.kind_table(scores)["gain"].sort_values(ascending=False, kind="stable") / 100
    reset = analysis.reset_accuracy(scores)
    now = reset["exact"].sum() / max(reset["turns"].sum(), 1)
    table = pd.DataFrame({"as it is": now, "with this kind repaired": now + gain})
    table["text"] = [f"+{more * 100:.1f}" for more in gain]
    title = f"{scores.system}: repairing “{gain.index[0]}” gains {gain.iloc[0] * 100:.1f} points of {now:.3f}"
    return dots(table, title, f"{_JGA}; numbers: points", limits=(0, 1), ax=ax)


def error_starts(scores: Scores, ax: Axes | None = None) -> Axes:
    """Draw by turn number how many errors stand in a turn, and how many of them it has made itself."""
    table, turns = analysis.errors(scores), _scored(_by_turn(scores))
    sides = {"standing in the turn": table, "made in the turn": table[table["since"] == table["turn"]]}
    shown = {n: t["turn"].value_counts().reindex(turns.index).fillna(0) / turns for n, t in sides.items()}
    title = f"{scores.system}: errors that stand in a turn, and those it makes{_turns(scores)}"
    return lines(pd.DataFrame(shown), title, _TURN, "errors a turn", behind=turns, ax=ax)


def error_lengths(scores: Scores, ax: Axes | None = None) -> Axes:
    """Draw how many turns errors live: those that stand to the end, and those that are repaired."""
    lives = analysis.error_lives(scores)
    never, repaired = (lives.loc[lives["end"] == end, "turns"] for end in ("never", "repaired"))
    title = f"{scores.system}: {len(repaired):,} of {len(lives):,} errors are repaired"
    parts = {"wrong to the end of the dialogue": never, "repaired": repaired}
    return histogram(parts, title, "length of life (turns)", "errors, each counted once", stacked=True, ax=ax)


def reset_by_turn(scores: Scores, ax: Axes | None = None) -> Axes:
    """Draw joint goal accuracy by turn, beside the same tracker reset to gold after each turn."""
    table = analysis.reset_accuracy(scores)
    names = {"joint_goal_accuracy": "as it is", "reset_goal_accuracy": "reset to gold after each turn"}
    shown = table[list(names)].rename(columns=names)
    title = f"{scores.system}: with and without the legacy of earlier turns{_turns(scores)}"
    return lines(shown, title, _TURN, _JGA, behind=_scored(table), top=1.02, ax=ax)


# Helpers ------------------------------------------------------------------------------------------


def _chosen(scores: Scores | pd.DataFrame, keys: Sequence[str] | None) -> pd.DataFrame:
    """Return the rows of the chosen metrics, all of one unit."""
    table = scores.table if isinstance(scores, Scores) else scores
    for key in keys or ():
        if key not in table.index:
            raise UnknownNameError("metric of these scores", key, list(table.index))
    rows = table.loc[list(keys or table.index)]
    if len(units := rows["unit"].unique()) > 1:
        raise UsageError("metrics of one axis", expected="one unit", got=", ".join(units), mend="choose keys")
    return rows


def _axis(label: str, unit: str) -> str:
    return f"{label} ({_FRACTION if unit == 'fraction' else unit})"


def _turns(scores: Scores) -> str:
    return f" ({scores.coverage.turns_scored:,} turns)"


def _by_turn(scores: Scores) -> pd.DataFrame:
    table = breakdown(scores, "turn").iloc[:-1]
    return table.set_axis(table.index.astype("int64"), axis=0)


def _scored(table: pd.DataFrame) -> pd.Series:
    return table["turns"].rename("turns scored")
