"""The input of the generation model of Lai et al. (2019): histories, targets, goal vectors, vocabulary.

In: a corpus. Out: tables of delexicalised text, cut as in the paper, and how much was cut.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from dialogeval.delex import delexicalize
from dialogeval.exceptions import UsageError
from dialogeval.tables import Corpus

#: Vocabulary size of Lai et al. 2019, with slots and special tokens.
PAPER_VOCABULARY = 4258
#: First entries of every vocabulary, in this order.
SPECIAL_TOKENS = ("<pad>", "<unk>", "<bos>", "<eos>", "<user>", "<system>")
# A placeholder or special token; a word with inner marks (can't, 12:30, 10.10); a Chinese
# character; a clitic as MultiWOZ writes it ('m); any other mark.
_TOKEN = re.compile(
    r"\[[^\[\]\s]+\]|<\w+>|[\u3400-\u9fff]|(?:(?![\u3400-\u9fff])\w)+(?:['’:.,-](?:(?![\u3400-\u9fff])\w)+)*|['’]\w+|\S"
)
split_tokens = _TOKEN.findall


@dataclass(frozen=True)
class LaiInputs:
    """What the model of Lai et al. reads and should say."""

    examples: pd.DataFrame = field(repr=False)
    goals: np.ndarray = field(repr=False)
    dialogue_ids: tuple[str, ...] = field(repr=False)
    layout: pd.DataFrame = field(repr=False)
    counts: dict[str, int]

    def goal_of(self) -> np.ndarray:
        """Return the goal vector of every example."""
        return self.goals[[self.dialogue_ids.index(name) for name in self.examples["dialogue_id"]]]

    def vocabulary(self) -> pd.DataFrame:
        """List the tokens, special tokens first, then by frequency; every utterance counts once."""
        last = self.examples["history"].str.replace(r".*(?=<user>)", "", regex=True)
        counter = Counter(
            token for texts in (last, self.examples["target"]) for t in texts for token in t.split()
        )
        rows = [(token, counter.pop(token, 0)) for token in SPECIAL_TOKENS]
        rows += sorted(counter.items(), key=lambda item: (-item[1], item[0]))
        return pd.DataFrame(rows, columns=["token", "count"]).rename_axis("id")

    def summary(self) -> pd.DataFrame:
        """Count examples, cuts and vocabulary, with the paper's vocabulary size beside ours."""
        counts = {
            "examples": len(self.examples),
            "dialogues": len(self.dialogue_ids),
            "goal slots (columns)": len(self.layout),
            **self.counts,
            "vocabulary with special tokens": len(self.vocabulary()),
            "vocabulary of Lai et al. 2019": PAPER_VOCABULARY,
        }
        return pd.DataFrame({"count": pd.Series(counts, dtype="int64")}).rename_axis("quantity")

    def _repr_html_(self) -> str:
        return self.summary().to_html(border=0)


def lai_inputs(
    corpus: Corpus,
    max_turns: int = 22,
    max_tokens: int = 36,
    *,
    style: str = "value",
    layout: pd.DataFrame | None = None,
) -> LaiInputs:
    """Build the input of the generation model of Lai et al. (2019) from a corpus.

    Parameters
    ----------
    corpus : Corpus
    max_turns : int, default=22
        Utterances of a history; of a longer one the last are kept.
    max_tokens : int, default=36
        Tokens of an utterance, in histories and targets; of a longer one the first are kept.
    style : {"value", "domain", "canonical"}
        Placeholder style, see `delexicalize`.
    layout : pandas.DataFrame, optional
        Columns domain and slot of another result (that of the training data), so that the goal
        vectors have the same columns; by default all slots of this corpus's goals, sorted.

    Returns
    -------
    LaiInputs
        ``examples`` (dialogue_id, turn, history, target), ``goals`` (dialogues × slots of
        ``layout``, 0 or 1), ``counts`` of what was cut (each utterance of the corpus once) or is not
        in the layout; ``goal_of()``, ``vocabulary()`` and ``summary()``.

    References
    ----------
    Lai, Gupta and Zhang, CoNLL 2019 (arXiv:1909.09220).

    Examples
    --------
    >>> from dialogeval.tables import table
    >>> corpus = Corpus("toy",
    ...     dialogues=table("dialogues", [("d", "d", "")]),
    ...     turns=table("turns", [("d", 0, "Hi.", "Where?", 0), ("d", 1, "North", "Fine", 0)]),
    ...     goals=table("goals", [("d", "hotel", "inform", "area", "north")]))
    >>> inputs = lai_inputs(corpus)
    >>> inputs.examples["history"].tolist()
    ['<user> hi .', '<user> hi . <system> where ? <user> [value_area]']
    >>> inputs.goals.tolist(), inputs.layout.values.tolist()
    ([[1]], [['hotel', 'area']])
    """
    for name, number in (("max_turns", max_turns), ("max_tokens", max_tokens)):
        if type(number) is not int or number < 1:
            raise UsageError(name, expected="a whole number from 1", got=repr(number))
    turns = corpus.turns[["dialogue_id", "turn"]].reset_index(drop=True)
    tokens = {
        s: delexicalize(corpus, style=style, speaker=s)["response"].map(split_tokens)
        for s in ("user", "system")
    }
    said = {s: column.map(lambda found: " ".join(found[:max_tokens])) for s, column in tokens.items()}
    over = (pd.concat(tokens).map(len) - max_tokens).clip(lower=0)
    marked = pd.DataFrame({s: (f"<{s}> " + column).str.rstrip() for s, column in said.items()})
    histories: dict[int, str] = {}
    places = turns.sort_values(["dialogue_id", "turn"], kind="stable").groupby("dialogue_id")
    for _, rows in places:
        spoken = marked.loc[rows.index].to_numpy().ravel().tolist()
        for n, row in enumerate(rows.index):
            histories[row] = " ".join(spoken[max(0, 2 * n + 1 - max_turns) : 2 * n + 1])
    before = (2 * places.cumcount() + 1 - max_turns).clip(lower=0)
    named = corpus.goals[["dialogue_id", "domain", "slot"]].drop_duplicates()
    columns = ["domain", "slot"]
    layout = named[columns].drop_duplicates().sort_values(columns) if layout is None else layout
    layout = layout[columns].reset_index(drop=True)
    ids = tuple(corpus.dialogues["dialogue_id"])
    wide = named.assign(has=1).pivot(index="dialogue_id", columns=columns, values="has")
    goals = wide.reindex(index=ids, columns=pd.MultiIndex.from_frame(layout)).fillna(0).to_numpy("uint8")
    counts = {
        "histories cut": (before > 0).sum(),
        "utterances cut from histories": before.sum(),
        "utterances over the token limit": (over > 0).sum(),
        "tokens cut": over.sum(),
        "goal slots not in the layout": len(named) - goals.sum(),
    }
    examples = turns.assign(
        history=pd.Series(histories, turns.index, dtype="str"), target=said["system"].astype("str")
    )
    return LaiInputs(examples, goals, ids, layout, {what: int(n) for what, n in counts.items()})
