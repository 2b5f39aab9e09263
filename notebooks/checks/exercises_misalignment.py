"""Checks for the exercises of lesson 5: stages, relations, single repairs, an alignment of one's own.

As in `checks.exercises`: an answer in, a verdict that explains itself out; the right answer is
computed from what the learner was given, and nothing is raised for a wrong one.
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from lessons.misalignment import toy

from checks.exercises import States, Verdict, judge_number, unanswered
from dialogeval.exceptions import DialogevalError
from dialogeval.ontology.alignment import Alignment, load_alignment
from dialogeval.ontology.mapping import map_states
from dialogeval.scoring import score
from dialogeval.tables import as_predictions

__all__ = ["check_aligned_score", "check_own_alignment", "check_relations", "check_repaired_alone"]

#: Relations that a learner tells apart, by those of an alignment file.
RELATIONS = {"same": "same", "broader": "related", "narrower": "related", "related": "related"}
RELATIONS |= {"false friend": "false friend", "none": "none"}


def check_aligned_score(answer: object, golds: States, predictions: States, alignment: Alignment) -> Verdict:
    """Check a joint goal accuracy through an alignment that was worked out by hand.

    Parameters
    ----------
    answer : float
        In [0, 1]; three digits are enough. ``...`` means not answered yet.
    golds, predictions : sequence of sets of (domain, slot, value)
        The predictions in the labels of the alignment's source.
    alignment : Alignment

    Returns
    -------
    Verdict

    Examples
    --------
    >>> way = load_alignment("multiwoz__crosswoz_en")
    >>> gold, predicted = [{("Hotel", "type", "budget")}], [{("hotel", "pricerange", "cheap")}]
    >>> check_aligned_score(1, gold, predicted, way).right
    True
    >>> check_aligned_score(0, gold, predicted, way)
    Not yet. That is the score with names changed and values left as they were: convert them as well.
    """
    gold, system = toy(golds), toy(predictions)
    right = _goal(gold, as_predictions(system), alignment)
    images = {stage: map_states(system.states, alignment, stage)[0] for stage in ("names", "all")}
    sets = {s: _sets(images[s], len(golds)) for s in images}
    wanted = [set(g) for g in golds]
    covered = [w <= m for w, m in zip(wanted, sets["all"], strict=True)]
    total = sum(map(len, wanted))
    found = sum(len(w & m) for w, m in zip(wanted, sets["all"], strict=True))
    named = sum(w == m for w, m in zip(wanted, sets["names"], strict=True)) / len(wanted)
    slips = {
        "That is the score with names changed and values left as they were: convert them as well.": named,
        "That is the score of the labels as they are; map them first.": _goal(gold, as_predictions(system)),
        "That is the share of gold triples found. Joint goal accuracy counts turns.": found / max(total, 1),
        "You let turns pass in which nothing is missing. A slot too many costs the turn all the same.": (
            sum(covered) / len(covered)
        ),
        "That is the number of right turns. Divide it by the number of turns.": right * len(wanted),
        "That is the share of turns that are still wrong.": 1 - right,
    }
    why = "Names, then values; what has no counterpart, and a false friend, claims nothing and drops out."
    hint = "Rewrite each predicted set: rename, convert, drop false friends. Then compare it with gold's."
    return judge_number(answer, right, slips, why, hint)


def check_relations(
    answer: object, pairs: Mapping[str, tuple[str, str, str, str]], alignment: Alignment
) -> Verdict:
    """Check what some pairs of slots are to each other.

    Parameters
    ----------
    answer : dict of str to str
        By name of the pair: ``same``, ``related`` (broader and narrower count as this) or ``false friend``.
    pairs : mapping of str to (domain, slot, target domain, target slot)
    alignment : Alignment
        Knows the relations.

    Returns
    -------
    Verdict

    Examples
    --------
    >>> way, pairs = load_alignment("multiwoz__crosswoz_en"), {"type": ("hotel", "type", "Hotel", "type")}
    >>> check_relations({"type": "false friend"}, pairs, way).right
    True
    >>> check_relations({"type": "same"}, pairs, way)
    Not yet. type: the names are the same. Look at the values: do they answer the same question of the user?
    """
    if answer is ...:
        return unanswered()
    choices = ("same", "related", "false friend")
    if not isinstance(answer, Mapping):
        return Verdict(False, f"Give a dict with one of {', '.join(choices)} for each pair.")
    if left := [name for name in pairs if answer.get(name, ...) is ...]:
        return Verdict(False, f"Still to be judged: {', '.join(left)}.")
    rows = alignment.rows.set_index(["domain", "slot", "target_domain", "target_slot"])["relation"]
    for name, pair in pairs.items():
        mine, true = answer[name], RELATIONS[rows[pair]]
        if mine not in choices:
            return Verdict(False, f"{name}: {mine!r} is none of {', '.join(choices)}.")
        if mine != true:
            return Verdict(False, f"{name}: {_why_not(mine, true, pair[1] == pair[3])}")
    return Verdict(True, "Names and values are both evidence, and neither decides: the user's question does.")


def check_repaired_alone(answer: object, causes: Sequence[Collection[str]], cause: str) -> Verdict:
    """Check the joint goal accuracy if one cause alone were repaired.

    Parameters
    ----------
    answer : float
        In [0, 1]; three digits are enough.
    causes : sequence of collections of str
        What is wrong in each turn, in the order of `dialogeval.ontology.mapping.CAUSES`; empty for a right turn.
    cause : str

    Returns
    -------
    Verdict

    Examples
    --------
    >>> turns = [[], ["misaligned name"], ["misaligned name", "wrong"], ["wrong"]]
    >>> check_repaired_alone(0.5, turns, "misaligned name").right
    True
    >>> check_repaired_alone(0.75, turns, "misaligned name")
    Not yet. You repaired every turn that has this cause. A turn with a second cause stays wrong.
    """
    n = len(causes)
    good = sum(not of for of in causes)
    only = sum(set(of) == {cause} for of in causes)
    last = sum(bool(of) and list(of)[-1] == cause for of in causes)
    any_ = sum(cause in of for of in causes)
    right = (good + only) / n
    slips = {
        "You repaired every turn that has this cause. A turn with a second cause stays wrong.": (good + any_)
        / n,
        "Those are the turns put down to this cause: the others before it were repaired as well.": (
            good + last
        )
        / n,
        "That is what the repair would add. The turns that are right already count too.": only / n,
        "That is the score as it is, before any repair.": good / n,
        "That is the share of turns that have this cause at all.": any_ / n,
        "That is a number of turns; divide it by all turns.": float(good + only),
    }
    why = "Causes meet in one turn, so single repairs do not add up; the parts of the attribution do."
    hint = "Count the turns that are right, and those in which this cause is the only one."
    return judge_number(answer, right, slips, why, hint)


def check_own_alignment(answer: object, golds: States, predictions: States) -> Verdict:
    """Check an alignment written as CSV: through it the tracker has to be right in every turn.

    Parameters
    ----------
    answer : str
        Text of an alignment file.
    golds, predictions : sequence of sets of (domain, slot, value)

    Returns
    -------
    Verdict

    Examples
    --------
    >>> text = "domain,slot,target_domain,target_slot,relation\\ntaxi,departure,Taxi,from,same\\n"
    >>> gold, predicted = [{("Taxi", "from", "airport")}], [{("taxi", "departure", "airport")}]
    >>> check_own_alignment(text, gold, predicted).right
    True
    >>> check_own_alignment(text.replace("same", "equal"), gold, predicted)
    Not yet. mine.csv: line 2: unknown relation: expected same, broader, narrower, related, ...
    """
    if answer is ...:
        return unanswered()
    if not isinstance(answer, str):
        return Verdict(False, "Give the text of the file, between triple quotation marks.")
    gold, system = toy(golds), toy(predictions)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "mine.csv")
        path.write_text(answer.strip() + "\n", encoding="utf-8")
        try:
            alignment = load_alignment(path)
            mapped, unmapped = map_states(system.states, alignment)
            reached = _goal(gold, as_predictions(system), alignment)
        except DialogevalError as error:
            return Verdict(False, str(error).replace(str(path), path.name))
    if reached == 1:
        return Verdict(True, "Every turn is right now. In a paper, publish the file and name its checksum.")
    sets = _sets(mapped, len(golds))
    number, missing, extra = next(
        (i, sorted(set(g) - m), sorted(m - set(g)))
        for i, (g, m) in enumerate(zip(golds, sets, strict=True))
        if set(g) != m
    )
    head = f"Joint goal accuracy is {reached:.3f}. Turn {number}:"
    if not missing:
        said = f"{' '.join(extra[0])} is too much. Does it ask another question: is it a false friend?"
    elif (place := missing[0][:2]) in [e[:2] for e in extra]:
        got = next(e[2] for e in extra if e[:2] == place)
        said = (
            f"{' '.join(place)} is filled with {got!r}, gold has {missing[0][2]!r}: give it a converter, a=b."
        )
    else:
        lost = ", ".join(
            sorted({f"{d} {s}" for d, s in unmapped[["domain", "slot"]].itertuples(index=False)})
        )
        said = f"nothing leads to {' '.join(missing[0][:2])} yet. Not mapped so far: {lost or 'nothing'}."
    return Verdict(False, f"{head} {said}")


# Helpers ------------------------------------------------------------------------------------------


def _goal(gold, predictions, alignment: Alignment | None = None) -> float:
    return score(gold, predictions, "trade", alignment=alignment, resamples=0)["joint_goal_accuracy"]


def _sets(states, turns: int) -> list[set[tuple[str, str, str]]]:
    """Return the triples of each turn."""
    found: list[set[tuple[str, str, str]]] = [set() for _ in range(turns)]
    for row in states[["turn", "domain", "slot", "value"]].itertuples(index=False):
        found[row[0]].add(tuple(row[1:]))
    return found


def _why_not(mine: str, true: str, alike: bool) -> str:
    if true == "false friend":
        return "the names are the same. Look at the values: do they answer the same question of the user?"
    if mine == "false friend" and not alike:
        return "a false friend *looks* the same. These names differ, whatever the slots mean."
    if mine == "false friend":
        return "the values differ because the cities do. The question is the same in both."
    if mine == "same":
        return "both are about the same wish, but measure it differently: a value needs a converter."
    return "both ask the same, and a value stays as it is. Other letters do not make another slot."
