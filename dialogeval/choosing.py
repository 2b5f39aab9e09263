"""Choosing a protocol: the one that is named or the default, with what is asked for besides.

In: a name or nothing, gold and predictions. Out: a `Protocol`, and why it is this one if nobody named it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from .exceptions import UsageError
from .protocols import PROTOCOLS, Protocol, find_protocol
from .tables import Corpus, Predictions

__all__ = ["chosen_protocol", "with_steps"]


def with_steps(protocol: str | Protocol, steps: str | Iterable[str]) -> Protocol:
    """Return a protocol with more steps for states, after its own.

    Parameters
    ----------
    protocol : str or Protocol
    steps : str or iterable of str
        As in `dialogeval.normalize`; in one string, blanks stand between them. What the protocol has
        already is not added.

    Returns
    -------
    Protocol
        The same if nothing is added; else one of your own, ``user/NAME`` in signatures.

    Raises
    ------
    UnknownNameError
        No such protocol or step.
    UsageError
        A protocol that does not score states.

    Examples
    --------
    >>> with_steps("trade", "slots:multiwoz22").label
    'user/trade'
    """
    found = find_protocol(protocol)
    given = steps.split() if isinstance(steps, str) else steps
    more = tuple(dict.fromkeys(step for step in given if step not in found.steps))
    if not more:
        return found
    changed = replace(found, steps=(*found.steps, *more))
    if "state" not in found.tasks:
        mend = "leave the steps (--steps) out, or choose a protocol for states, such as lin2021"
        raise UsageError(f"protocol {found.name} scores no states, which steps normalise", mend=mend)
    return changed


def chosen_protocol(
    protocol: str | Protocol | None,
    gold: Corpus,
    predictions: Predictions,
    tokenizer: str | None = None,
    steps: str | Iterable[str] = (),
) -> tuple[Protocol, list[str]]:
    """Return the protocol that is named, or the default for what is there to score.

    Parameters
    ----------
    protocol : str, Protocol or None
        Without one, ``lin2021`` for states, ``lai2019`` for responses; where both are there, states
        decide on CrossWOZ and responses elsewhere.
    gold : Corpus
    predictions : Predictions
    tokenizer : {"space", "13a", "zh", "char"}, optional
        Instead of the protocol's.
    steps : str or iterable of str
        Besides the protocol's; see `with_steps`.

    Returns
    -------
    Protocol
    list of str
        Why it is this one, where another would have done as well.

    Raises
    ------
    UnknownNameError, UsageError
        No such protocol or step; a tokeniser for one that scores states; predictions without
        states and responses.

    Examples
    --------
    >>> from dialogeval.tables import table
    >>> both = Predictions("p", states=table("states"), responses=table("responses"))
    >>> found, why = chosen_protocol(None, Corpus("toy"), both)
    >>> found.name, len(why)
    ('lai2019', 1)
    """
    why: list[str] = []
    if protocol is None:
        protocol, why = _default(gold, predictions)
    found = with_steps(protocol, steps)
    if tokenizer is None:
        return found, why
    if found.tasks == ("state",):
        problem = f"protocol {found.name} scores states, which have no tokens"
        raise UsageError(problem, mend="leave the tokeniser (--tokenizer) out")
    return replace(found, tokenizer=tokenizer), why


def _default(gold: Corpus, predictions: Predictions) -> tuple[Protocol, list[str]]:
    kinds = [kind for kind in ("states", "responses") if getattr(predictions, kind) is not None]
    if not kinds:
        raise UsageError("the predictions hold neither states nor responses")
    names = {"states": "lin2021", "responses": "lai2019"}
    if len(kinds) == 1:
        return PROTOCOLS[names[kinds[0]]], []
    where, first, other = "elsewhere than on CrossWOZ", "responses", "states"
    if gold.family == "crosswoz":
        where, first, other = "on CrossWOZ", "states", "responses"
    return PROTOCOLS[names[first]], [
        f"protocol {names[first]} was chosen because {predictions.name} holds both states and responses, and "
        f"{where} {first} come first: to score the {other}, name a protocol such as {names[other]} (--protocol)"
    ]
