"""Model input after Lai et al. (2019): delexicalised history, goal vector and target.

In: a corpus. Out: one row a system turn, with what the generation model of the card reads and what
it should say, cut to the paper's lengths, and a vocabulary with special tokens. Nothing is cut
silently: the counts stand in the result.
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from .delex import delexicalize
from .exceptions import UsageError
from .tables import Corpus

__all__ = [
    "PAPER_VOCABULARY",
    "SPECIAL_TOKENS",
    "LaiInputs",
    "lai_inputs",
    "split_tokens",
    "vocabulary",
]

#: Vocabulary size of Lai et al. 2019, with slots and special tokens.
PAPER_VOCABULARY = 4258
#: First entries of every vocabulary, in this order.
SPECIAL_TOKENS = ("<pad>", "<unk>", "<bos>", "<eos>", "<user>", "<system>")

_COUNTS = (
    "histories cut",
    "utterances cut from histories",
    "utterances over the token limit",
    "tokens cut",
    "goal slots not in the layout",
)
# A placeholder or special token; a word with inner marks (can't, 12:30, 10.10); a Chinese
# character; a clitic as MultiWOZ writes it ('m); any other mark.
_TOKEN = re.compile(
    r"\[[^\[\]\s]+\]|<\w+>|[\u3400-\u9fff]|(?:(?![\u3400-\u9fff])\w)+(?:['’:.,-](?:(?![\u3400-\u9fff])\w)+)*|['’]\w+|\S"
)


@dataclass(frozen=True)
class LaiInputs:
    """What the model of Lai et al. reads and should say.

    Parameters
    ----------
    examples : pandas.DataFrame
        One row a system turn, in the order of the corpus: dialogue_id, turn, ``history`` (the
        utterances before it as one string, each behind ``<user>`` or ``<system>``; tokens are
        separated by single spaces), ``target`` (the tokens of the system utterance).
    goals : numpy.ndarray of uint8, shape (n_dialogues, n_slots)
        1 where the goal of a dialogue names the slot, whether as constraint, request or booking.
    dialogue_ids : tuple of str
        Rows of ``goals``.
    layout : pandas.DataFrame
        Columns domain, slot: the columns of ``goals``.
    counts : dict of str to int
        What was cut and what a goal vector could not hold.

    Examples
    --------
    >>> lai_inputs(Corpus("toy")).goals.shape
    (0, 0)
    """

    examples: pd.DataFrame
    goals: np.ndarray
    dialogue_ids: tuple[str, ...]
    layout: pd.DataFrame
    counts: dict[str, int]

    def goal_of(self, examples: pd.DataFrame | None = None) -> np.ndarray:
        """Return the goal vector of every example.

        Parameters
        ----------
        examples : pandas.DataFrame, optional
            Some rows of ``examples``; all by default.

        Returns
        -------
        numpy.ndarray of uint8, shape (n_examples, n_slots)

        Examples
        --------
        >>> lai_inputs(Corpus("toy")).goal_of().shape
        (0, 0)
        """
        rows = self.examples if examples is None else examples
        return self.goals[pd.Index(self.dialogue_ids, dtype="str").get_indexer(pd.Index(rows["dialogue_id"]))]

    def summary(self) -> pd.DataFrame:
        """Count examples, cuts and vocabulary, with the paper's vocabulary size beside ours.

        Returns
        -------
        pandas.DataFrame
            One row a quantity, column ``count``.

        Examples
        --------
        >>> lai_inputs(Corpus("toy")).summary().loc["vocabulary of Lai et al. 2019", "count"]
        np.int64(4258)
        """
        counts = {
            "examples": len(self.examples),
            "dialogues": len(self.dialogue_ids),
            "goal slots (columns)": len(self.layout),
            **self.counts,
            "vocabulary with special tokens": len(vocabulary(self)),
            "vocabulary of Lai et al. 2019": PAPER_VOCABULARY,
        }
        return pd.DataFrame({"count": pd.Series(counts, dtype="int64")}).rename_axis("quantity")

    def __repr__(self) -> str:
        """Name the counts."""
        return (
            f"LaiInputs({len(self.examples):,} examples, {len(self.dialogue_ids):,} dialogues, "
            f"{len(self.layout):,} goal slots)"
        )

    def _repr_html_(self) -> str:
        """Show the summary in a notebook."""
        return f"<p>{html.escape(repr(self))}</p>{self.summary().to_html(border=0)}"


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

    Raises
    ------
    UsageError
        ``max_turns`` or ``max_tokens`` is not a whole number from 1.
    UnknownNameError
        No such placeholder style.

    Notes
    -----
    Source: Lai, Gupta and Zhang, CoNLL 2019 (arXiv:1909.09220). ``counts`` holds ``histories cut``,
    ``utterances cut from histories``, ``utterances over the token limit`` and ``tokens cut`` (each
    utterance of the corpus counted once), and ``goal slots not in the layout``.

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
        if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or number < 1:
            raise UsageError(name, expected="a whole number from 1", got=repr(number))
    order = corpus.turns[["dialogue_id", "turn"]].reset_index(drop=True)
    counts: Counter[str] = Counter()
    spoken = {
        speaker: [
            _cut(text, max_tokens, counts)
            for text in delexicalize(corpus, style=style, speaker=speaker)["response"]
        ]
        for speaker in ("user", "system")
    }
    histories = _histories(order, spoken["user"], spoken["system"], max_turns, counts)
    examples = order.assign(
        history=pd.Series(histories, dtype="str"), target=pd.Series(spoken["system"], dtype="str")
    )
    ids = tuple(corpus.dialogues["dialogue_id"])
    goals, columns = _goal_vectors(corpus, ids, layout, counts)
    return LaiInputs(examples, goals, ids, columns, {kind: counts[kind] for kind in _COUNTS})


def vocabulary(inputs: LaiInputs, min_count: int = 1) -> pd.DataFrame:
    """List the tokens of the model input, special tokens first, then by frequency.

    Parameters
    ----------
    inputs : LaiInputs
    min_count : int, default=1
        Tokens that occur less often are left to ``<unk>``.

    Returns
    -------
    pandas.DataFrame
        Columns token and count, indexed by token number. Every utterance counts once: the user's
        in the history that ends with it, the system's as target. ``len`` of it compares with the
        paper's 4,258 (`PAPER_VOCABULARY`).

    Raises
    ------
    UsageError
        ``min_count`` below 1.

    Examples
    --------
    >>> from dialogeval.tables import table
    >>> corpus = Corpus("toy", turns=table("turns", [("d", 0, "hi hi", "yes", 0)]))
    >>> vocabulary(lai_inputs(corpus))["token"].tolist()[6:]
    ['hi', 'yes']
    """
    if min_count < 1:
        raise UsageError("min_count", expected="a whole number from 1", got=repr(min_count))
    counter: Counter[str] = Counter()
    for history, target in zip(inputs.examples["history"], inputs.examples["target"], strict=True):
        counter.update(history[history.rfind("<user>") :].split())
        counter.update(target.split())
    special = {token: counter.pop(token, 0) for token in SPECIAL_TOKENS}
    words = sorted((item for item in counter.items() if item[1] >= min_count), key=lambda i: (-i[1], i[0]))
    rows = [*special.items(), *words]
    frame = pd.DataFrame(
        {"token": pd.Series([t for t, _ in rows], dtype="str"), "count": [n for _, n in rows]}
    )
    return frame.rename_axis("id")


def split_tokens(text: str) -> list[str]:
    """Split an utterance into words, marks, placeholders and single Chinese characters.

    Parameters
    ----------
    text : str

    Returns
    -------
    list of str

    Examples
    --------
    >>> split_tokens("i 'm at [value_name], 12:30.")
    ['i', "'m", 'at', '[value_name]', ',', '12:30', '.']
    >>> split_tokens("价格25元")
    ['价', '格', '25', '元']
    """
    return _TOKEN.findall(text)


def _cut(text: str, limit: int, counts: Counter[str]) -> str:
    tokens = split_tokens(text)
    if len(tokens) > limit:
        counts["utterances over the token limit"] += 1
        counts["tokens cut"] += len(tokens) - limit
    return " ".join(tokens[:limit])


def _histories(
    order: pd.DataFrame, user: Sequence[str], system: Sequence[str], limit: int, counts: Counter[str]
) -> list[str]:
    """Join what was said before each system turn; a loop, since every string grows from the last."""
    said: list[str] = []
    current, out = None, [""] * len(order)
    dialogues = order["dialogue_id"].tolist()
    # By dialogue and turn, whatever the order of the table.
    for row in order.sort_values(["dialogue_id", "turn"], kind="stable").index.tolist():
        dialogue = dialogues[row]
        if dialogue != current:
            current, said = dialogue, []
        said.append(f"<user> {user[row]}".rstrip())
        if len(said) > limit:
            counts["histories cut"] += 1
            counts["utterances cut from histories"] += len(said) - limit
        out[row] = " ".join(said[-limit:])
        said.append(f"<system> {system[row]}".rstrip())
    return out


def _goal_vectors(
    corpus: Corpus, ids: tuple[str, ...], layout: pd.DataFrame | None, counts: Counter[str]
) -> tuple[np.ndarray, pd.DataFrame]:
    named = corpus.goals[["dialogue_id", "domain", "slot"]].drop_duplicates()
    if layout is None:
        layout = named[["domain", "slot"]].drop_duplicates().sort_values(["domain", "slot"])
    layout = layout[["domain", "slot"]].reset_index(drop=True)
    columns = pd.MultiIndex.from_frame(layout).get_indexer(
        pd.MultiIndex.from_frame(named[["domain", "slot"]])
    )
    rows = pd.Index(ids, dtype="str").get_indexer(pd.Index(named["dialogue_id"]))
    known = (columns >= 0) & (rows >= 0)
    counts["goal slots not in the layout"] += int((~known).sum())
    vectors = np.zeros((len(ids), len(layout)), dtype=np.uint8)
    vectors[rows[known], columns[known]] = 1
    return vectors, layout
