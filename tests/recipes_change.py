"""Published scores of state tracking, written out with sets and loops: independent truth for the tests.

A dialogue is a list of turns, a turn a pair (gold, predicted) of sets of (domain, slot, value).
"""

from __future__ import annotations

import math
from difflib import SequenceMatcher

Triple = tuple[str, str, str]
Turn = tuple[set[Triple], set[Triple]]
Dialogues = list[list[Turn]]


def slot_of(triple: Triple) -> tuple[str, str]:
    return triple[0], triple[1]


def trade_slot_accuracy(dialogues: Dialogues, n_slots: int) -> float:
    """TRADE: per turn, what is missed and what is wrong in a slot that is not missed already."""
    accuracies = []
    for gold, pred in (turn for dialogue in dialogues for turn in dialogue):
        missed_slots, missed = [], 0
        for triple in gold:
            if triple not in pred:
                missed += 1
                missed_slots.append(slot_of(triple))
        wrong = 0
        for triple in pred:
            if triple not in gold and slot_of(triple) not in missed_slots:
                wrong += 1
        accuracies.append((n_slots - missed - wrong) / n_slots)
    return mean(accuracies)


def average_goal_accuracy(dialogues: Dialogues) -> tuple[float, int]:
    shares = [len(g & p) / len(g) for dialogue in dialogues for g, p in dialogue if g]
    return mean(shares), len(shares)


def relative_slot_accuracy(dialogues: Dialogues) -> float:
    scores = []
    for gold, pred in (turn for dialogue in dialogues for turn in dialogue):
        slots = {slot_of(t) for t in gold} | {slot_of(t) for t in pred}
        missed = {slot_of(t) for t in gold} - {slot_of(t) for t in pred}
        wrong = pred - gold
        scores.append((len(slots) - len(missed) - len(wrong)) / len(slots) if slots else 0.0)
    return mean(scores)


def turn_is_right(before: Turn, turn: Turn) -> bool:
    """What is new in gold was predicted, and what is new in the prediction is gold."""
    return turn[0] - before[0] <= turn[1] and turn[1] - before[1] <= turn[0]


def turn_goal_accuracy(dialogues: Dialogues) -> float:
    """The authors' turn match: what flexible goal accuracy gives more than 0."""
    return mean([score > 0 for score in flexible_scores(dialogues, 1.0)])


def flexible_goal_accuracy(dialogues: Dialogues, weight: float) -> float:
    return mean(flexible_scores(dialogues, weight))


def flexible_scores(dialogues: Dialogues, weight: float) -> list[float]:
    scores: list[float] = []
    for dialogue in dialogues:
        last_error = None
        for t, (gold, pred) in enumerate(dialogue):
            if gold == pred:
                scores.append(1.0)
            elif (
                t == 0
                or dialogue[t - 1][0] == dialogue[t - 1][1]
                or not turn_is_right(dialogue[t - 1], (gold, pred))
            ):
                scores.append(0.0)
                last_error = t
            else:
                assert last_error is not None
                scores.append(1 - math.exp(-weight * (t - last_error)))
    return scores


def changes(dialogues: Dialogues) -> dict[str, int]:
    """GCA's counts; every slot of a state has one value."""
    count = {"correct": 0, "wrong": 0, "missed": 0, "overpredicted": 0}
    for dialogue in dialogues:
        seen: tuple[list, list] = ([], [])
        before: tuple[dict, dict] = ({}, {})
        for turn in dialogue:
            full: list[dict] = []
            for state, slots in zip(turn, seen, strict=True):
                values = {slot_of(t): t[2] for t in state}
                slots += [s for s in values if s not in slots]
                full.append({s: values.get(s, "none") for s in slots})
            gold, pred = full
            counted_correct, counted_wrong = set(), set()
            for slot, value in gold.items():
                if before[0].get(slot) == value:
                    continue
                if slot not in pred:
                    kind = "correct" if value == "none" else "missed"
                elif pred[slot] == value:
                    kind = "correct"
                elif value == "none":
                    kind = "overpredicted"
                else:
                    kind = "wrong"
                count[kind] += 1
                (counted_correct if kind == "correct" else counted_wrong if kind == "wrong" else set()).add(
                    slot
                )
            for slot, value in pred.items():
                if before[1].get(slot) == value:
                    continue
                if slot not in gold:
                    count["correct" if value == "none" else "overpredicted"] += 1
                elif value == gold[slot] and slot not in counted_correct:
                    count["correct"] += 1
                elif value == "none":
                    count["missed"] += 1
                elif value != gold[slot] and slot not in counted_wrong:
                    count["wrong"] += 1
            before = (gold, pred)
    return count


def granular_change_accuracy(dialogues: Dialogues, alpha: float = 10 / 11) -> float:
    c = changes(dialogues)
    p = c["correct"] + c["wrong"] + c["overpredicted"]
    r = c["correct"] + c["wrong"] + c["missed"]
    if not (p and r and c["correct"]):
        return 0.0
    value_p, value_r = c["correct"] / p, c["correct"] / r
    label_p, label_r = (c["correct"] + c["wrong"]) / p, (c["correct"] + c["wrong"]) / r
    weights = (alpha * p, alpha * r, (1 - alpha) * p, (1 - alpha) * r)
    parts = (value_p, value_r, label_p, label_r)
    return sum(weights) / sum(w / x for w, x in zip(weights, parts, strict=True))


def partial_ratio(one: str, other: str) -> float:
    """The classic one: each matching block moves the window so that it lies in its place."""
    short, long = (one, other) if len(one) <= len(other) else (other, one)
    best = 0.0
    for block in SequenceMatcher(None, short, long).get_matching_blocks():
        start = block.b - block.a if block.b > block.a else 0
        best = max(best, SequenceMatcher(None, short, long[start : start + len(short)]).ratio())
    return 100 * best


def fuzzy(dialogues: Dialogues) -> dict[str, float]:
    """MultiWOZ_Evaluation's state scores; every slot of a state has one value."""
    joint, tp, fp, fn = [], 0, 0, 0
    for gold, pred in (turn for dialogue in dialogues for turn in dialogue):
        wanted, got = ({slot_of(t): t[2] for t in state} for state in (gold, pred))
        hits = {s for s, v in got.items() if s in wanted and round(partial_ratio(wanted[s], v)) > 95}
        joint.append(wanted.keys() == got.keys() == hits)
        tp, fp, fn = tp + len(hits), fp + len(got) - len(hits), fn + len(wanted) - len(hits)
    precision = tp / (tp + fp) if tp + fp else 0.0
    recall = tp / (tp + fn) if tp + fn else 0.0
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    return {
        "joint_goal_accuracy": mean(joint),
        "slot_precision": precision,
        "slot_recall": recall,
        "slot_f1_micro": f1,
    }


def jaccard_nonempty(dialogues: Dialogues) -> float:
    return mean([len(g & p) / len(g | p) for dialogue in dialogues for g, p in dialogue if g | p])


def mean(values: list) -> float:
    return sum(values) / len(values) if values else 0.0


def dstc9_value(value: str, language: str) -> str:
    """Lower case, map the value as it then stands, take white space out; empty means not filled."""
    maps = {
        "en": {"none": "", "free admission": "free"},
        "zh": {"未提及": "", "none": "", "是的": "有", "不是": "没有"},
    }[language]
    value = value.lower()
    return "".join(maps.get(value, value).split())


def dstc9_golds(messages: list[dict], gold: str) -> list[dict[str, dict[str, str | list[str]]]]:
    """The gold state of each turn of a CrossWOZ-en dialogue; ``gold``: "official" or "corrected"."""
    golds = []
    offered: dict[str, list[str]] = {}
    previous: dict | None = None
    for message in messages[1::2]:
        state: dict[str, dict[str, str | list[str]]] = {}
        for domain, slots in message["sys_state_init"].items():
            s = {k: v for k, v in slots.items() if k != "selectedResults"}
            state[domain] = dict(s)
            if gold == "official":
                if s.get("name") == "" and slots["selectedResults"]:
                    state[domain]["name"] = list(slots["selectedResults"])
                continue
            before = None
            if previous is not None:
                before = {k: v for k, v in previous[domain].items() if k != "selectedResults"}
            changed = previous is None or s != before
            if changed:
                offered[domain] = []
            if s.get("name") == "" and len(offered.get(domain, [])) == 1:
                state[domain]["name"] = offered[domain][0]
            results = message["sys_state"][domain]["selectedResults"]
            if changed and results:
                offered[domain] = list(results)
        previous = message["sys_state"]
        golds.append(state)
    return golds


def dstc9(golds: dict[str, list], submission: dict[str, list], language: str = "en") -> dict[str, float]:
    """The official scorer of DSTC9's track 2."""
    turns = joint = slots = right = tp = fp = fn = 0
    for name, states in golds.items():
        for t, state in enumerate(states):
            all_right = True
            for domain, wanted in state.items():
                for slot, gold in wanted.items():
                    several = isinstance(gold, list)
                    gold_values = [dstc9_value(v, language) for v in (gold if several else [gold])]
                    pred = dstc9_value(submission[name][t][domain][slot], language)
                    filled = several or gold_values[0] != ""
                    slots += 1
                    if pred in gold_values:
                        right += 1
                        tp += filled
                    else:
                        all_right = False
                        fn += filled
                        fp += pred != ""
            turns += 1
            joint += all_right
    return {
        "joint_goal_accuracy": joint / turns,
        "slot_accuracy": right / slots,
        "slot_precision": tp / (tp + fp) if tp + fp else 1.0,
        "slot_recall": tp / (tp + fn) if tp + fn else 1.0,
        "slot_f1_micro": 2 * tp / (2 * tp + fp + fn) if tp + fp + fn else 1.0,
    }
