"""The evaluation cards' recipes, written out with sets and loops: independent truth for the tests."""

from __future__ import annotations

Triple = tuple[str, str, str]


def joint_goal_accuracy(predictions: list[set[Triple]], golds: list[set[Triple]]) -> float:
    hits = [set(p) == set(g) for p, g in zip(predictions, golds, strict=True)]
    return sum(hits) / len(hits) if hits else 0.0


def slot_f1(predictions: list[set[Triple]], golds: list[set[Triple]]) -> float:
    """Mean over turns of the mean over the gold state's slot names of the F1 of their values."""
    turns = []
    for p, g in zip(predictions, golds, strict=True):
        scores = []
        for slot in {s for _, s, _ in g}:
            gold = {v for _, s, v in g if s == slot}
            pred = {v for _, s, v in p if s == slot}
            right = len(gold & pred)
            scores.append(2 * right / (len(gold) + len(pred)))
        turns.append(sum(scores) / len(scores) if scores else 0.0)
    return sum(turns) / len(turns) if turns else 0.0


def slot_f1_switched(
    predictions: list[set[Triple]], golds: list[set[Triple]], slots: str, keyed: str, empty: str
) -> float:
    """The same with its three switches."""
    turns = []
    for p, g in zip(predictions, golds, strict=True):
        key = (lambda t: t[1]) if keyed == "name" else (lambda t: t[:2])
        names = {key(t) for t in g} | ({key(t) for t in p} if slots == "union" else set())
        scores = []
        for name in names:
            gold = {t[2] for t in g if key(t) == name}
            pred = {t[2] for t in p if key(t) == name}
            scores.append(2 * len(gold & pred) / (len(gold) + len(pred)))
        if scores:
            turns.append(sum(scores) / len(scores))
        elif empty != "skip":
            turns.append(float(empty))
    return sum(turns) / len(turns) if turns else 0.0


def micro(predictions: list[set[Triple]], golds: list[set[Triple]]) -> tuple[float, float, float]:
    tp = sum(len(set(p) & set(g)) for p, g in zip(predictions, golds, strict=True))
    fp = sum(len(set(p) - set(g)) for p, g in zip(predictions, golds, strict=True))
    fn = sum(len(set(g) - set(p)) for p, g in zip(predictions, golds, strict=True))
    precision = tp / (tp + fp) if tp + fp else 0.0
    recall = tp / (tp + fn) if tp + fn else 0.0
    return precision, recall, 2 * tp / (2 * tp + fp + fn) if tp + fp + fn else 0.0
