"""The dialogues with most errors, and one side by side: gold, prediction, the kind of each error, what was said.

In: `Scores` of a protocol for states. Out: a view with its tables. Texts of the data stay texts:
markup is escaped, and what cannot be seen is written out.
"""

from __future__ import annotations

import html
import unicodedata
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from dialogeval.analysis.breakdowns import corpus_of, pair_of
from dialogeval.analysis.errors import errors
from dialogeval.analysis.kinds import KINDS, classify, decode_errors
from dialogeval.exceptions import UnknownNameError
from dialogeval.metrics.states import StatePair, contains, count_triples
from dialogeval.scoring import Scores
from dialogeval.tables import canonical_id


def rank_dialogues(scores: Scores) -> pd.DataFrame:
    """Return every scored dialogue with its errors, the worst first.

    Returns
    -------
    pandas.DataFrame
        Indexed by dialogue_id: ``turns``; ``wrong_turns``, whose state is not right; ``errors``
        (rows of `errors`) and their ``fn`` and ``fp``; ``lives`` (beginnings, see `error_lives`);
        ``first_wrong`` turn (<NA> for none) and the most frequent ``kind`` (empty for none).
        Sorted by errors, then by lives, then by id.

    Examples
    --------
    >>> import dialogeval as de
    >>> file = "sample/predictions/multiwoz/tracker_sloppy.json.gz"
    >>> rank_dialogues(de.score("sample/multiwoz", file, "lin2021"))["errors"].head(1).to_dict()
    {'smp0166': 70}
    """
    counts = count_triples(pair_of(scores)).groupby(level="dialogue_id").sum()
    table = errors(scores)
    by = table.groupby("dialogue_id")
    kinds = table.groupby(["dialogue_id", "kind"]).size().unstack(fill_value=0)
    starts = table.drop_duplicates(["dialogue_id", "since", "domain", "slot"])
    ranked = pd.DataFrame({"turns": counts["turns"], "wrong_turns": counts["turns"] - counts["exact"]})
    ranked["errors"] = by.size().reindex(ranked.index, fill_value=0)
    ranked[["fn", "fp"]] = counts[["fn", "fp"]]
    ranked["lives"] = starts.groupby("dialogue_id").size().reindex(ranked.index, fill_value=0)
    ranked["first_wrong"] = by["turn"].min().reindex(ranked.index).astype("Int64")
    ranked["kind"] = kinds.idxmax(axis=1).reindex(ranked.index).fillna("").astype("str")
    return ranked.sort_index().sort_values(["errors", "lives"], ascending=False, kind="stable")


@dataclass(frozen=True)
class DialogueView:
    """A dialogue with gold and predicted states; shown as a table by a notebook, else as text."""

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

    @property
    def table(self) -> pd.DataFrame:
        """One row a slot, with nothing hidden; what is right as before is one row of its turn."""
        rows = self.states.assign(Slot=self.states["domain"] + "-" + self.states["slot"])
        symbol = rows["difference"].map({"right": "✓", **{kind: mark for kind, mark, _ in KINDS}})
        detail = (" (" + rows["detail"] + ")").where(rows["detail"] != "", "")
        rows["Difference"] = symbol + " " + rows["difference"] + detail
        rows = rows.rename(columns={"gold": "Gold", "predicted": "Predicted"})
        held = (rows["difference"] == "right") & ~rows["new"]
        before = (rows["Slot"] + " = " + rows["Gold"])[held].groupby(rows["turn"]).agg("; ".join)
        kept = ("✓ right as before: " + before).rename("Difference").reset_index()
        shown = pd.concat([rows[~held], kept])[["turn", "Slot", "Gold", "Predicted", "Difference"]]
        table = self.turns.merge(shown, on="turn", how="left").fillna("")
        state = table["right"].map({True: ": ✓ state right", False: ": ✗ state wrong"})
        table = table.assign(turn=table["turn"].astype("str") + state).drop(columns="right")
        return table.rename(columns=str.capitalize).map(visible)

    def __repr__(self) -> str:
        lines = [visible(self.title)]
        for (turn, user, system), rows in self.table.groupby(["Turn", "User", "System"], sort=False):
            lines += ["", f"Turn {turn}", f"  user:   {user}"]
            for _, row in rows[rows["Difference"] != ""].iterrows():
                gold, predicted = (row[side] or "(none)" for side in ("Gold", "Predicted"))
                values = f"  {row['Slot']}  gold: {gold}  predicted: {predicted}" if row["Slot"] else ""
                lines.append(f"  {row['Difference']}{values}")
            lines.append(f"  system: {system}")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        # The classes keep formulas of the data from being set as such.
        with pd.option_context("display.max_colwidth", None):
            table = self.table.set_index(["Turn", "User", "System", "Slot"])
            page = table.to_html(border=0, sparsify=True, bold_rows=False, classes=_NO_FORMULAS.split())
        return f"<p>{escape(self.title)}</p>{page}"


_NO_FORMULAS = "tex2jax_ignore mathjax_ignore"
_HIDDEN = frozenset(("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"))


def visible(text: str) -> str:
    """Write out the characters that cannot be seen, or that change how others are shown."""
    kinds = ((c, unicodedata.category(c)) for c in text)
    return "".join(
        f"⟨U+{ord(c):04X}⟩" if kind in _HIDDEN or (kind == "Zs" and c != " ") else c for c, kind in kinds
    )


def escape(text: str) -> str:
    """Make a text of the data safe for a page: no markup, no formula, nothing hidden."""
    return f'<bdi class="{_NO_FORMULAS}">{html.escape(visible(text))}</bdi>'


def render_dialogue(scores: Scores, dialogue_id: str) -> DialogueView:
    """Show one dialogue side by side: gold, prediction, difference, utterances.

    Parameters
    ----------
    scores : Scores
    dialogue_id : str
        In any spelling that `canonical_id` understands.

    Returns
    -------
    DialogueView
        Its ``states`` and ``turns`` are tables.

    Examples
    --------
    >>> import dialogeval as de
    >>> turns = de.table("turns", [("d", 0, "an inn up north", "Here.", 0)])
    >>> gold = de.Corpus("toy", turns=turns, states=de.table("states", [("d", 0, "hotel", "area", "north")]))
    >>> pred = de.Predictions("p", turns=turns, states=de.table("states"))
    >>> render_dialogue(de.score(gold, pred, "lin2021"), "d")
    Dialogue d: p against gold, protocol lin2021; 0 of 1 turns right
    <BLANKLINE>
    Turn 0: ✗ state wrong
      user:   an inn up north
      − missed  hotel-area  gold: north  predicted: (none)
      system: Here.
    """
    pair, corpus = pair_of(scores), corpus_of(scores)
    known = pair.index.get_level_values("dialogue_id")
    name = canonical_id(dialogue_id)
    rows = np.flatnonzero(known == name)
    if not len(rows):
        raise UnknownNameError(
            "scored dialogue", dialogue_id, known.unique()[:8], "see scores.coverage.turns"
        )
    wrong = classify(scores, rows).rename(columns={"kind": "difference"})
    states = pd.concat([_right(pair, rows), wrong.assign(new=wrong["since"] == wrong["turn"])])
    columns = ["turn", "domain", "slot", "gold", "predicted", "difference", "new", "detail"]
    states = states[columns].sort_values(columns[:5], ignore_index=True).astype({"new": "bool"})
    said = corpus.turns.loc[corpus.turns["dialogue_id"] == name, ["turn", "user", "system"]]
    turns = pd.DataFrame({"turn": pair.index.get_level_values("turn")[rows]}).merge(
        said, on="turn", how="left"
    )
    turns["right"] = ~turns["turn"].isin(states.loc[states["difference"] != "right", "turn"])
    return DialogueView(name, scores.system, scores.protocol.name, turns, states)


def _right(pair: StatePair, rows: np.ndarray) -> pd.DataFrame:
    """Triples of some turns that stand on both sides; new where either side has just set them."""
    here = pair.gold.take(pair.gold_in_pred & np.isin(pair.gold.turn, rows))
    codes = {"row": here.turn, "code": here.slot, "gold": here.value, "predicted": here.value}
    before = [contains(side.key, here.key - pair.stride) for side in (pair.gold, pair.pred)]
    new = pair.first[here.turn] | ~(before[0] & before[1])
    return decode_errors(pair, pd.DataFrame(codes)).assign(difference="right", new=new, detail="")
