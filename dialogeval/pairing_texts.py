"""Pairing of texts: references and responses, normalised by a protocol.

In: a corpus, predictions, a protocol and the turns to score. Out: a `TextPair` and warnings about
what makes the two sides hard to compare.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter, OrderedDict
from collections.abc import Sequence

import pandas as pd

from .coverage import Coverage
from .exceptions import UsageError
from .metrics.pairs import TextPair
from .mwzeval import normalize_responses
from .protocols import Protocol, check_text_steps
from .remarks import Remark
from .tables import Corpus, Predictions

__all__ = ["normalize_texts", "text_pair"]

_HAN = re.compile("[\u3400-\u9fff]")


def text_pair(
    gold: Corpus, predictions: Predictions, protocol: Protocol, coverage: Coverage
) -> tuple[TextPair, list[Remark]]:
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
    list of Remark
        Unknown placeholders, sides in different styles.

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
    response, heard = normalize_texts(both["response"].fillna("").tolist(), protocol.text_steps, "responses")
    pair = TextPair(
        both["dialogue_id"].tolist(),
        both["turn"].tolist(),
        reference,
        response,
        protocol.tokenizer,
        both["order"].tolist(),
    )
    goals = any(m.key.startswith("goal_") for m in protocol.resolve_metrics())
    unspaced = _unspaced(response, protocol.tokenizer)
    return pair, [*said, *heard, *unspaced, _style(reference, response, goals), _empty(reference)]


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
) -> tuple[list[str], list[Remark]]:
    """Run the text steps: placeholders to canonical names, and lower case around them.

    Parameters
    ----------
    texts : list of str
    steps : sequence of str
        ``placeholders:canonical``, ``case:lower`` (or ``:keep``), run in this order; ``mwzeval:moses``
        stands for both and more, see `dialogeval.mwzeval.normalize_responses`.
    what : str
        How remarks call the texts.

    Returns
    -------
    list of str
    list of Remark
        On unknown or unbalanced placeholders.

    Raises
    ------
    UnknownNameError

    Examples
    --------
    >>> normalize_texts(["The [hotel_name] is nice"], ["placeholders:canonical", "case:lower"])[0]
    ['the NAME is nice']
    """
    check_text_steps(steps)
    if "mwzeval:moses" in steps:
        return normalize_responses(texts, what)
    from .placeholders import fold_case, read_placeholders

    remarks: list[Remark] = []
    if "placeholders:canonical" in steps:
        texts, remarks = read_placeholders(texts, what)
    if "case:lower" in steps:
        texts = fold_case(texts)
    return list(texts), remarks


def _empty(references: Sequence[str]) -> Remark:
    """Count references that say nothing, as after a user's last word."""
    lacking = sum(not text.strip() for text in references)
    return Remark(_say_references, Counter(lacking=lacking, all=len(references)))


def _say_references(facts: Counter[str]) -> list[str]:
    lacking, whole = facts["lacking"], facts["all"]
    if not lacking:
        return []
    if lacking < whole:
        return [f"{lacking:,} of {whole:,} references are empty: no response can be like them"]
    return ["all references are empty: what compares a response with its reference is 0 for that reason"]


def _style(references: Sequence[str], responses: Sequence[str], goals: bool) -> Remark:
    """Count what tells whether the two sides are the same kind of text."""
    from .placeholders import canonical_names, names_pattern

    name = names_pattern(canonical_names())
    facts: Counter[tuple[str, str]] = Counter()
    for side, texts in (("references", references), ("responses", responses)):
        counts = pd.Series(texts, dtype="str").value_counts()
        facts[side, "texts"] = len(texts)
        facts[side, "marked"] = int(counts.to_numpy()[[bool(name.search(t)) for t in counts.index]].sum())
        # Each distinct text is looked at once: references and systems repeat themselves.
        for kind, pattern in (("glued", r"\w[.,?!](?:\s|$)"), ("apart", r"\s[.,?!](?:\s|$)")):
            facts[side, kind] = int(counts.index.str.count(pattern).to_numpy() @ counts.to_numpy())
    return Remark(_say_style, facts, (goals,))


def _say_style(facts: Counter[tuple[str, str]], goals: bool) -> list[str]:
    """Say so when the two sides are not the same kind of text."""
    sides = ("references", "responses")
    shares = {s: facts[s, "marked"] / max(facts[s, "texts"], 1) for s in sides}
    lines = []
    if goals and not facts["references", "marked"]:
        lines.append("no reference holds a slot placeholder: the goal scores are 0 for that reason")
    if min(shares.values()) < 0.02 and max(shares.values()) > 0.2:
        plain = min(shares, key=lambda side: shares[side])
        lines.append(
            f"the {plain} hold hardly any slot placeholders ({shares[plain]:.1%} of turns) while the other side "
            f"does ({max(shares.values()):.1%}): one side is delexicalised and the other is not; "
            + (
                "--delexicalize marks their values, protocol lexical compares real ones"
                * (plain == "responses")
            )
        )
    glued = {s: facts[s, "glued"] / max(facts[s, "glued"] + facts[s, "apart"], 1) for s in sides}
    if abs(glued["references"] - glued["responses"]) > 0.5:
        side = max(glued, key=lambda s: glued[s])
        lines.append(
            f"the {side} attach punctuation to words ({glued[side]:.0%} of the marks) and the other side does not: "
            "tokens split on white space then differ for no other reason; tokeniser 13a splits the marks of both "
            "sides off (--tokenizer 13a)"
        )
    return lines


def _unspaced(responses: Sequence[str], tokenizer: str) -> list[Remark]:
    """Count what tells whether white space is taken for the end of a word in text that has none."""
    if tokenizer not in ("space", "13a"):
        return []
    han = sum(len(_HAN.findall(text)) for text in responses)
    return [
        Remark(_say_unspaced, Counter(han=han, words=sum(len(t.split()) for t in responses)), (tokenizer,))
    ]


def _say_unspaced(facts: Counter[str], tokenizer: str) -> list[str]:
    han, words = facts["han"], facts["words"]
    if han <= 3 * max(words, 1):
        return []
    return [
        f"the responses are written without spaces ({han:,} Chinese characters in {words:,} white-space tokens): "
        f"tokeniser {tokenizer} takes whole utterances for words; choose zh or char (--tokenizer zh)",
    ]
