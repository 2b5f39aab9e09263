"""Pairing of texts: references and responses, normalised by a protocol.

In: a corpus, predictions, a protocol and the turns to score. Out: a `TextPair` and warnings about
what makes the two sides hard to compare.
"""

from __future__ import annotations

import hashlib
import re
from collections import OrderedDict
from collections.abc import Sequence

import pandas as pd

from .coverage import Coverage
from .exceptions import UsageError
from .metrics.pairs import TextPair
from .mwzeval import normalize_responses
from .protocols import Protocol, check_text_steps
from .tables import Corpus, Predictions

__all__ = ["normalize_texts", "text_pair"]

_HAN = re.compile("[\u3400-\u9fff]")


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

    Examples
    --------
    >>> from dialogeval.coverage import match_turns
    >>> from dialogeval.protocols import PROTOCOLS
    >>> from dialogeval.tables import as_predictions, table
    >>> gold = Corpus("toy", family="pairs", turns=table("turns", [("d", 0, "hi", "Hello [name]", 0)]))
    >>> predictions = as_predictions(gold)
    >>> text_pair(gold, predictions, PROTOCOLS["lai2019"], match_turns(gold, predictions))[0].references
    ['hello NAME']
    """
    if predictions.responses is None:
        raise UsageError(
            f"{predictions.path or predictions.name} holds no responses, which protocol {protocol.name} scores",
            mend="choose a protocol for states, such as lin2021",
        )
    if gold.family == "pairs" or protocol.references == "lexical":
        references = gold.turns.rename(columns={"system": "reference"})
    else:
        case = "lower" if "case:lower" in protocol.text_steps else "keep"
        references = _delexicalized(gold, case).rename(columns={"response": "reference"})
    where = ["dialogue_id", "turn"]
    both = coverage.turns[where].merge(references[[*where, "reference"]], on=where, how="left")
    both = both.merge(predictions.responses, on=where, how="left")
    both = both.merge(predictions.turns.reset_index(names="order"), on=where, how="left")
    reference, said = normalize_texts(
        both["reference"].fillna("").tolist(), protocol.text_steps, "references"
    )
    response, warned = normalize_texts(both["response"].fillna("").tolist(), protocol.text_steps, "responses")
    pair = TextPair(
        both["dialogue_id"].tolist(),
        both["turn"].tolist(),
        reference,
        response,
        protocol.tokenizer,
        both["order"].tolist(),
    )
    warned = (*warned, *_unspaced_warning(response, protocol.tokenizer))
    return pair, (*said, *warned, *_style_warnings(reference, response))


#: Delexicalised references of the corpora scored last, by their content: several systems are compared on
#: one corpus, and delexicalising it takes longer than all the rest.
_KEPT: OrderedDict[tuple[bytes, str], pd.DataFrame] = OrderedDict()
_MOST = 4


def _delexicalized(gold: Corpus, case: str) -> pd.DataFrame:
    """Return the delexicalised references of a corpus; the same content is delexicalised once."""
    from .delex import delexicalize

    # By content, not by identity: somebody may have changed a table in place.
    digest = hashlib.blake2b()
    for frame in (gold.turns, gold.spans, gold.acts, gold.states):
        digest.update(pd.util.hash_pandas_object(frame, index=False).to_numpy().tobytes())
    key = digest.digest(), case
    if key not in _KEPT:
        _KEPT[key] = delexicalize(gold, style="value", case=case)
        if len(_KEPT) > _MOST:
            _KEPT.popitem(last=False)
    _KEPT.move_to_end(key)
    return _KEPT[key]


def normalize_texts(
    texts: list[str], steps: Sequence[str], what: str = "texts"
) -> tuple[list[str], tuple[str, ...]]:
    """Run the text steps: placeholders to canonical names, and lower case around them.

    Parameters
    ----------
    texts : list of str
    steps : sequence of str
        ``placeholders:canonical``, ``case:lower`` (or ``:keep``), run in this order; ``mwzeval:moses``
        stands for both and more, see `dialogeval.mwzeval.normalize_responses`.
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
    check_text_steps(steps)
    if "mwzeval:moses" in steps:
        return normalize_responses(texts, what)
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


def _unspaced_warning(responses: Sequence[str], tokenizer: str) -> tuple[str, ...]:
    """Say so when white space is taken for the end of a word in text that has none."""
    if tokenizer not in ("space", "13a"):
        return ()
    han = sum(len(_HAN.findall(text)) for text in responses)
    words = sum(len(text.split()) for text in responses)
    if han <= 3 * max(words, 1):
        return ()
    return (
        f"the responses are written without spaces ({han:,} Chinese characters in {words:,} white-space tokens): "
        f"tokeniser {tokenizer} takes whole utterances for words; choose zh or char",
    )


def _glued_share(texts: Sequence[str]) -> float:
    marks = pd.Series(texts, dtype="str")
    glued = int(marks.str.count(r"\w[.,?!](?:\s|$)").sum())
    return glued / max(glued + int(marks.str.count(r"\s[.,?!](?:\s|$)").sum()), 1)
