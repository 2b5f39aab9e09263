"""Scores in words: what was scored, what each number means, and what to write in a paper.

In: `Scores`. Out: tables and sentences made from the result alone, so that a report on any corpus
and system says what is true of it. `show_table` displays tables whose cells hold text of the data.
"""

from __future__ import annotations

import html
from collections.abc import Iterable
from functools import lru_cache
from importlib.resources import files

import numpy as np
import pandas as pd

from .scoring import Scores

__all__ = ["coverage_table", "explain", "paper_sentence", "show_table", "show_warnings"]


def coverage_table(scores: Scores) -> pd.DataFrame:
    """Return how much of the corpus was scored.

    Parameters
    ----------
    scores : Scores

    Returns
    -------
    pandas.DataFrame
        Rows dialogues and turns; columns ``in corpus``, ``scored``, ``without prediction`` (of the
        scored ones: whatever the protocol made of them, no system said it) and ``left out``.

    Examples
    --------
    >>> from dialogeval.scoring import score
    >>> from dialogeval.tables import Corpus, table
    >>> gold = Corpus("toy", turns=table("turns", [("d", 0, "hi", "ho", 0)]))
    >>> coverage_table(score(gold, gold, "lin2021")).loc["turns"].tolist()
    [1, 1, 0, 0]
    """
    cover = scores.coverage
    lacking = cover.turns[~cover.turns["predicted"]]
    answered = cover.turns.loc[cover.turns["predicted"], "dialogue_id"].nunique()
    rows = {
        "dialogues": (cover.dialogues_in_corpus, cover.dialogues_scored, cover.dialogues_scored - answered),
        "turns": (cover.turns_in_corpus, cover.turns_scored, len(lacking)),
    }
    table = pd.DataFrame.from_dict(
        rows, orient="index", columns=["in corpus", "scored", "without prediction"]
    )
    table = table.rename_axis("quantity")
    return table.assign(**{"left out": table["in corpus"] - table["scored"]})


def explain(scores: Scores | pd.DataFrame) -> pd.DataFrame:
    """Return every score with its interval, one line on what it says, and who defined it.

    Parameters
    ----------
    scores : Scores, or a table as `Scores.table`
        Metrics of your own have no line.

    Returns
    -------
    pandas.DataFrame
        Indexed by metric key; columns score, value, interval, unit, what it says, source.

    Examples
    --------
    >>> from dialogeval.scoring import score
    >>> from dialogeval.tables import Corpus, table
    >>> gold = Corpus("toy", turns=table("turns", [("d", 0, "hi", "ho", 0)]))
    >>> explain(score(gold, gold, "lin2021", resamples=0)).loc["joint_goal_accuracy", "value"]
    '1.0000'
    """
    table = scores.table if isinstance(scores, Scores) else scores
    sources = {m.key: m.source for m in scores.metrics} if isinstance(scores, Scores) else _sources()
    rows = {
        str(key): {
            "score": row["label"],
            "value": _number(row["value"], row["unit"]),
            "95 % interval": "" if np.isnan(row["low"]) else _interval(row, " to "),
            "unit": row["unit"],
            "what it says": _meaning(str(key)),
            "source": sources.get(str(key), ""),
        }
        for key, row in table.iterrows()
    }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("key")


def paper_sentence(scores: Scores) -> str:
    """Return sentences for a paper: the numbers, what they were measured on, how, and how surely.

    Parameters
    ----------
    scores : Scores

    Returns
    -------
    str

    Examples
    --------
    >>> from dialogeval.scoring import score
    >>> from dialogeval.tables import Corpus, table
    >>> gold = Corpus("toy", turns=table("turns", [("d", 0, "hi", "ho", 0)]))
    >>> print(paper_sentence(score(gold, gold, "lin2021", resamples=0)))
    On toy/all@unknown (1 dialogues, 1 turns), gold reaches JGA 1.0000, ... Signature: jga|proto:lin2021|...
    """
    cover, parts = scores.coverage, _signature_parts(scores.signature)
    numbers = []
    for _, row in scores.table.iterrows():
        text = f"{row['label']} {_number(row['value'], row['unit'])}{_sign(row['unit'])}"
        numbers.append(text if np.isnan(row["low"]) else f"{text} [{_interval(row, ', ')}]")
    source = f" ({scores.protocol.source})" if scores.protocol.source else ""
    text = (
        f"On {parts.get('gold', 'the gold')} ({_of(cover.dialogues_scored, cover.dialogues_in_corpus)} dialogues, "
        f"{_of(cover.turns_scored, cover.turns_in_corpus)} turns), {scores.system} reaches {', '.join(numbers)} "
        f"under protocol {scores.protocol.name}{source}, computed with dialogeval {parts.get('v', '')}."
    )
    lacking = int((~cover.turns["predicted"]).sum())
    if lacking:
        text += f" {lacking:,} turns without a prediction are scored as empty."
    resamples, _, seed = parts.get("boot", "").partition("/")
    if seed and not scores.table["low"].isna().all():
        text += (
            f" Brackets hold 95 % percentile intervals of {int(resamples):,} bootstrap resamples of dialogues "
            f"(seed {seed})"
        )
        jackknifed = [m.label for m in scores.metrics if m.resample == "jackknife"]
        text += (
            f"; for {', '.join(jackknifed)} delete-one-dialogue jackknife intervals." if jackknifed else "."
        )
    return f"{text} Signature: {scores.signature}"


def show_table(table: pd.DataFrame, digits: int = 3, letters: int = 400) -> None:
    r"""Display a table in a notebook with its texts in full and as text.

    Parameters
    ----------
    table : pandas.DataFrame
    digits : int, default=3
        Of numbers that are not whole.
    letters : int, default=400
        Longer texts are cut, with an ellipsis.

    Notes
    -----
    What the cells hold is escaped: markup, Markdown and formulas of the data appear letter by letter.

    Examples
    --------
    >>> show_table(pd.DataFrame({"score": [0.12345]}))
    {'text/html': ... 'text/plain': ' score\n 0.123'}
    """
    from IPython.display import display

    short = table.reset_index(drop=isinstance(table.index, pd.RangeIndex) and table.index.name is None)
    texts = [c for c in short.columns if not pd.api.types.is_numeric_dtype(short[c].dtype)]
    for column in texts:
        words = short[column].astype("str")
        short[column] = words.where(words.str.len() <= letters, words.str.slice(0, letters - 1) + "…")
    form = f"{{:,.{digits}f}}".format
    # One class for the page's style sheet, two that keep formulas of the data from being set as such.
    classes = ["tex2jax_ignore", "mathjax_ignore", *(["texts"] if len(texts) > 1 else [])]
    with pd.option_context("display.max_colwidth", None, "display.max_columns", None):
        page = short.to_html(index=False, escape=True, border=0, classes=classes, float_format=form)
        text = short.to_string(index=False, float_format=form)
    display({"text/html": page, "text/plain": text}, raw=True)


def show_warnings(warnings: Iterable[str]) -> None:
    r"""Display warnings in a notebook so that no reader of the scores below misses them.

    Parameters
    ----------
    warnings : iterable of str
        As in `Scores.warnings`; that there are none is said, too.

    Examples
    --------
    >>> show_warnings(["12 turns were left out"])
    {'text/html': ... 'text/plain': 'Warnings, which belong to the scores below:\n* 12 turns were left out'}
    """
    from IPython.display import display

    lines = list(warnings)
    head = "Warnings, which belong to the scores below:" if lines else "No warnings."
    items = "".join(f"<li>{html.escape(line)}</li>" for line in lines)
    look = "border-left: 6px solid #d55e00; background: #fff4ec; color: black; padding: 6px 12px"
    page = f'<div class="tex2jax_ignore mathjax_ignore" style="{look}"><b>{head}</b><ul>{items}</ul></div>'
    text = "\n".join([head, *(f"* {line}" for line in lines)])
    display({"text/html": page if lines else f"<p>{head}</p>", "text/plain": text}, raw=True)


# Helpers ------------------------------------------------------------------------------------------


@lru_cache
def _meanings() -> dict[str, str]:
    with (files(__package__) / "data" / "meanings.csv").open(encoding="utf-8") as file:
        table = pd.read_csv(file, dtype="str")
    return dict(zip(table["key"], table["meaning"], strict=True))


def _meaning(key: str) -> str:
    """Return the line of a metric; ``flexible_goal_accuracy@0.25`` and ``inform/hotel`` have their family's."""
    meanings = _meanings()
    return meanings.get(key) or meanings.get(key.split("@")[0].split("/")[0], "")


def _sources() -> dict[str, str]:
    from .protocols import metric_table

    return {m.key: m.source for m in metric_table().values()}


def _signature_parts(signature: str) -> dict[str, str]:
    pairs = [part.partition(":") for part in signature.split("|")]
    return {name: value for name, _, value in pairs if value}


def _number(value: float, unit: str) -> str:
    return f"{value:.4f}" if unit == "fraction" else f"{value:.2f}"


def _interval(row: pd.Series, between: str) -> str:
    return _number(row["low"], row["unit"]) + between + _number(row["high"], row["unit"])


def _sign(unit: str) -> str:
    return " %" if unit == "per cent" else ""


def _of(part: int, whole: int) -> str:
    return f"{part:,}" if part == whole else f"{part:,} of {whole:,}"
