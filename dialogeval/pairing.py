"""Bringing gold and predictions together: coverage first, then the pair that metrics count on.

In: a corpus, predictions and a protocol. Out: the turns to score with their coverage, and a
`StatePair` or `TextPair`. What is not scored is counted here, and refused unless the caller has
said what to do about it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from .errors import CoverageError, UnknownNameError, UsageError
from .metrics.pairs import TextPair
from .metrics.states import StatePair, pair_states
from .normalize import normalize_states
from .protocols import MISSING, Protocol
from .tables import Corpus, Predictions

__all__ = ["TEXT_STEPS", "Coverage", "match_turns", "normalize_texts", "state_pair", "text_pair"]

#: Steps for texts, by name and choice.
TEXT_STEPS = {"placeholders": ("keep", "canonical"), "case": ("keep", "lower")}


@dataclass(frozen=True)
class Coverage:
    """Which turns are scored.

    Parameters
    ----------
    turns : pandas.DataFrame
        dialogue_id, turn, layout and predicted (whether the predictions have the turn).
    dialogues_scored, dialogues_in_corpus, turns_scored, turns_in_corpus : int
    warnings : tuple of str
    """

    turns: pd.DataFrame
    dialogues_scored: int
    dialogues_in_corpus: int
    turns_scored: int
    turns_in_corpus: int
    warnings: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, int]:
        """Return the four counts."""
        keys = ("dialogues_scored", "dialogues_in_corpus", "turns_scored", "turns_in_corpus")
        return {k: getattr(self, k) for k in keys}


def match_turns(gold: Corpus, predictions: Predictions, missing: str = "error") -> Coverage:
    """Find the turns to score and refuse what does not fit.

    Parameters
    ----------
    gold : Corpus
    predictions : Predictions
    missing : {"error", "empty", "skip"}
        What to do with turns of the corpus that the predictions lack: refuse, score them as
        predicted empty, or leave them out.

    Returns
    -------
    Coverage

    Raises
    ------
    CoverageError
        Dialogues or turns that the corpus does not have, or (``missing="error"``) that the
        predictions lack.
    UnknownNameError

    Examples
    --------
    >>> from dialogeval.tables import Corpus, Predictions, table
    >>> gold = Corpus("toy", turns=table("turns", [("d", 0, "hi", "hello", 0), ("d", 1, "bye", "bye", 0)]))
    >>> pred = Predictions("p", turns=table("predicted_turns", [("d", 0)]))
    >>> match_turns(gold, pred, missing="skip").turns_scored
    1
    """
    if missing not in MISSING:
        raise UnknownNameError("missing policy", missing, MISSING)
    have = predictions.turns[["dialogue_id", "turn"]]
    turns = gold.turns[["dialogue_id", "turn", "layout"]]
    merged = turns.merge(have, on=["dialogue_id", "turn"], how="outer", indicator="side")
    file = predictions.path or predictions.name
    known = set(gold.turns["dialogue_id"])
    extra = merged[merged["side"] == "right_only"]
    if len(extra):
        ids = extra["dialogue_id"].drop_duplicates()
        unknown = [i for i in ids if i not in known]
        if unknown:
            raise _unknown_dialogues(gold, predictions, unknown, known, file)
        first = extra.iloc[0]["dialogue_id"]
        expected = f"{int((turns['dialogue_id'] == first).sum())} turns as in {gold.id}"
        got = f"{int((have['dialogue_id'] == first).sum())}"
        more = f" ({len(ids)} dialogues have too many turns)" if len(ids) > 1 else ""
        raise CoverageError(f"too many turns{more}", file=file, dialogue=first, expected=expected, got=got)
    absent = merged["side"] == "left_only"
    warnings = []
    if absent.any():
        lacking = merged[absent]
        got_some = set(have["dialogue_id"])
        whole = [i for i in lacking["dialogue_id"].drop_duplicates() if i not in got_some]
        short = [i for i in lacking["dialogue_id"].drop_duplicates() if i in got_some]
        what = _and(
            [_list("dialogue", whole, "missing"), _list("dialogue", short, "short of turns")],
        )
        if missing == "error":
            first = lacking.iloc[0]
            raise CoverageError(
                f"{len(lacking):,} of {len(turns):,} turns of {gold.id} have no prediction ({what})",
                file=file,
                mend='add them, or choose missing "skip" (leave them out) or "empty" (score them as empty)',
            )
        done = "left out" if missing == "skip" else "scored as predicted empty"
        warnings.append(
            f"{len(lacking):,} of {len(turns):,} turns have no prediction and were {done} ({what})"
        )
    scored = merged.assign(predicted=~absent)[["dialogue_id", "turn", "layout", "predicted"]]
    scored = scored[~absent] if missing == "skip" else scored
    scored = scored.sort_values(["dialogue_id", "turn"], ignore_index=True)
    return Coverage(
        turns=scored.astype({"layout": "int64"}),
        dialogues_scored=int(scored["dialogue_id"].nunique()),
        dialogues_in_corpus=len(known),
        turns_scored=len(scored),
        turns_in_corpus=len(turns),
        warnings=tuple(warnings),
    )


def _unknown_dialogues(
    gold: Corpus, predictions: Predictions, unknown: list[str], known: set[str], file: str
) -> CoverageError:
    if len(unknown) == predictions.turns["dialogue_id"].nunique():
        return CoverageError(
            f"none of the {len(unknown):,} dialogues is in {gold.id}",
            file=file,
            expected=f"ids such as {min(known, default='(none)')}",
            got=f"ids such as {unknown[0][:60]}",
            mend="score against the corpus and split that the predictions were made on",
        )
    return CoverageError(
        f"{_list('dialogue', unknown, '')} not in {gold.id}".replace("  ", " "),
        file=file,
        mend="remove them, or choose the right corpus and split",
    )


def _list(what: str, ids: Sequence[str], state: str) -> str:
    if not ids:
        return ""
    shown = ", ".join(i[:40] for i in ids[:3]) + (", …" if len(ids) > 3 else "")
    return f"{len(ids):,} {what}{'s' * (len(ids) > 1)} {state}: {shown}" if state else f"{what} {shown}"


def _and(parts: Sequence[str]) -> str:
    return "; ".join(p for p in parts if p)


def state_pair(
    gold: Corpus, predictions: Predictions, protocol: Protocol, coverage: Coverage
) -> tuple[StatePair, tuple[str, ...]]:
    """Normalise both sides by the protocol's steps and code them.

    Parameters
    ----------
    gold : Corpus
    predictions : Predictions
    protocol : Protocol
    coverage : Coverage
        From `match_turns`.

    Returns
    -------
    StatePair
    tuple of str
        Warnings: predicted slots that the gold never has, ``none`` taken for a value.

    Raises
    ------
    UsageError
        The predictions hold no states.
    """
    if predictions.states is None:
        raise UsageError(
            f"{predictions.path or predictions.name} holds no states, which protocol {protocol.name} scores",
            mend="choose a protocol for responses, such as lai2019",
        )
    gold_states = normalize_states(gold.states, protocol.steps)
    pred_states = normalize_states(predictions.states, protocol.steps)
    pred_states = _accept_alternatives(gold, gold_states, pred_states, protocol)
    sizes = gold.layouts.groupby("layout").size()
    n_slots = coverage.turns["layout"].map(sizes).fillna(0).to_numpy(dtype="int64")
    warnings = _state_warnings(gold, gold_states, pred_states)
    return pair_states(coverage.turns, gold_states, pred_states, n_slots), warnings


def _state_warnings(gold: Corpus, gold_states: pd.DataFrame, pred_states: pd.DataFrame) -> tuple[str, ...]:
    """Say what makes a score low for reasons of naming alone."""
    warnings = []
    where = ["domain", "slot"]
    known = pd.concat([gold.layouts[where], gold_states[where]]).drop_duplicates()
    counts = pred_states.groupby(where).size().rename("n").reset_index()
    foreign = counts.merge(known, on=where, how="left", indicator="side")
    foreign = foreign[foreign["side"] == "left_only"].sort_values(["n", *where], ascending=[False, True, True])
    if len(foreign):
        named = ", ".join(f"{r.domain}-{r.slot} ×{r.n:,}" for r in foreign.head(5).itertuples())
        warnings.append(
            f"{foreign['n'].sum():,} of {len(pred_states):,} predicted values stand in {len(foreign)} slots that "
            f"{gold.id} does not have and count as wrong: {named}{', …' if len(foreign) > 5 else ''}"
        )
    none = [int((side["value"].str.strip().str.lower() == "none").sum()) for side in (gold_states, pred_states)]
    if none[1] > 0.05 * max(len(pred_states), 1):
        warnings.append(
            f"{none[1]:,} predicted values are 'none' (gold: {none[0]:,}), which this protocol takes for a value; "
            "one with the step none:drop does not"
        )
    return tuple(warnings)


def _accept_alternatives(
    gold: Corpus, gold_states: pd.DataFrame, pred_states: pd.DataFrame, protocol: Protocol
) -> pd.DataFrame:
    """Replace a predicted value by the first gold value where it equals a further acceptable one."""
    if gold.family == "crosswoz" or not len(gold.alternatives):
        return pred_states
    where = ["dialogue_id", "turn", "domain", "slot"]
    further = normalize_states(gold.alternatives, protocol.steps)
    firsts = gold_states.drop_duplicates(where).rename(columns={"value": "first"})
    accepted = further.merge(firsts, on=where).drop_duplicates([*where, "value"])
    merged = pred_states.merge(accepted, on=[*where, "value"], how="left")
    # Whoever predicted the first value already keeps it: it is never an alternative of itself.
    return pred_states.assign(value=merged["first"].fillna(merged["value"]).to_numpy())


def text_pair(
    gold: Corpus, predictions: Predictions, protocol: Protocol, coverage: Coverage
) -> tuple[TextPair, tuple[str, ...]]:
    """Normalise references and responses by the protocol's steps.

    Parameters
    ----------
    gold : Corpus
    predictions : Predictions
    protocol : Protocol
    coverage : Coverage
        From `match_turns`.

    Returns
    -------
    TextPair
    tuple of str
        Warnings: unknown placeholders, sides in different styles.

    Raises
    ------
    UsageError
        The predictions hold no responses.
    """
    if predictions.responses is None:
        raise UsageError(
            f"{predictions.path or predictions.name} holds no responses, which protocol {protocol.name} scores",
            mend="choose a protocol for states, such as lin2021",
        )
    if gold.family == "pairs" or protocol.references == "lexical":
        references = gold.turns.rename(columns={"system": "reference"})
    else:
        from .delex import delexicalize

        case = "lower" if "case:lower" in protocol.steps else "keep"
        references = delexicalize(gold, style="value", case=case).rename(columns={"response": "reference"})
    where = ["dialogue_id", "turn"]
    both = coverage.turns[where].merge(references[[*where, "reference"]], on=where, how="left")
    both = both.merge(predictions.responses, on=where, how="left")
    reference, said = normalize_texts(both["reference"].fillna("").tolist(), protocol.steps, "references")
    response, warned = normalize_texts(both["response"].fillna("").tolist(), protocol.steps, "responses")
    pair = TextPair(
        both["dialogue_id"].tolist(), both["turn"].tolist(), reference, response, protocol.tokenizer
    )
    return pair, (*said, *warned, *_style_warnings(reference, response))


def normalize_texts(
    texts: list[str], steps: Sequence[str], what: str = "texts"
) -> tuple[list[str], tuple[str, ...]]:
    """Run the text steps: placeholders to canonical names, and lower case around them.

    Parameters
    ----------
    texts : list of str
    steps : sequence of str
        ``placeholders:canonical``, ``case:lower`` (or ``:keep``), run in this order.
    what : str
        How warnings call the texts.

    Returns
    -------
    list of str
    tuple of str
        Warnings about unknown or unbalanced placeholders.

    Raises
    ------
    UnknownNameError

    Examples
    --------
    >>> normalize_texts(["The [hotel_name] is nice"], ["placeholders:canonical", "case:lower"])
    (['the NAME is nice'], ())
    """
    for step in steps:
        name, _, choice = step.partition(":")
        if name not in TEXT_STEPS:
            raise UnknownNameError("text step", name, TEXT_STEPS)
        if choice not in TEXT_STEPS[name]:
            raise UnknownNameError(f"choice of step {name}", choice, TEXT_STEPS[name])
    from .placeholders import canonicalize_placeholders, count_unbalanced, fold_case, unknown_notes

    warnings: list[str] = []
    if "placeholders:canonical" in steps:
        unbalanced = count_unbalanced(texts)
        if unbalanced:
            warnings.append(
                f"{what}: {unbalanced:,} texts with unbalanced square brackets, kept as they stand"
            )
        texts, unknown = canonicalize_placeholders(texts)
        notes = unknown_notes(unknown)
        warnings += [f"{what}: {note}" for note in notes[:5]]
        if len(notes) > 5:
            warnings.append(f"{what}: {len(notes) - 5} more unknown placeholder names dropped")
    if "case:lower" in steps:
        texts = fold_case(texts)
    return list(texts), tuple(warnings)


def _style_warnings(references: Sequence[str], responses: Sequence[str]) -> tuple[str, ...]:
    """Say so when the two sides are not the same kind of text."""
    from .placeholders import canonical_names, names_pattern

    if not responses:
        return ()
    name = names_pattern(canonical_names())
    shares = {}
    for side, texts in (("references", references), ("responses", responses)):
        counts = pd.Series(texts, dtype="str").value_counts()
        marked = [bool(name.search(t)) for t in counts.index]
        shares[side] = float(counts.to_numpy()[marked].sum() / len(texts))
    warnings = []
    if min(shares.values()) < 0.02 and max(shares.values()) > 0.2:
        plain = min(shares, key=lambda side: shares[side])
        warnings.append(
            f"the {plain} hold hardly any slot placeholders ({shares[plain]:.1%} of turns) while the other side "
            f"does ({max(shares.values()):.1%}): one side is delexicalised and the other is not"
        )
    glued = {s: _glued_share(t) for s, t in (("references", references), ("responses", responses))}
    if abs(glued["references"] - glued["responses"]) > 0.5:
        side = max(glued, key=lambda s: glued[s])
        warnings.append(
            f"the {side} attach punctuation to words ({glued[side]:.0%} of the marks) and the other side does not: "
            "tokens split on white space then differ for no other reason"
        )
    return tuple(warnings)


def _glued_share(texts: Sequence[str]) -> float:
    marks = pd.Series(texts, dtype="str")
    glued = int(marks.str.count(r"\w[.,?!](?:\s|$)").sum())
    return glued / max(glued + int(marks.str.count(r"\s[.,?!](?:\s|$)").sum()), 1)
