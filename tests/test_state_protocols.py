"""Protocols for states: hand-worked dialogues, and what no protocol may depend on."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from random import Random

import pandas as pd
import pytest
import recipes_change as slow
from hypothesis import given, settings
from hypothesis import strategies as st

import dialogeval as de
from dialogeval.exceptions import CoverageError, UsageError
from dialogeval.files import read_bytes
from dialogeval.metrics.changes import count_changes, count_flexible, count_turn_goal
from dialogeval.protocols import PROTOCOLS, Protocol
from dialogeval.tables import Corpus, Predictions, as_predictions, table


def state_part(protocol: Protocol) -> Protocol:
    """The protocol with its scores of states only: mwzeval has others."""
    return replace(protocol, metrics=tuple(m for m in protocol.resolve_metrics() if m.task == "state"))


STATES = {name: state_part(p) for name, p in PROTOCOLS.items() if "state" in p.tasks}
#: What asks more of a corpus than states: corrected names, a schema.
DEMANDING = {"dstc9-corrected": "has no corrected names", "sgd": "has no schema"}
ANYWHERE = [name for name in STATES if name not in DEMANDING]


@pytest.mark.parametrize("corpus", ["crosswoz", "crosswoz_en", "multiwoz20", "multiwoz21", "multiwoz_zh"])
def test_real_gold_against_itself(real_data: Path, corpus: str) -> None:
    assert_gold_scores_one(de.load_corpus(corpus, home=real_data))


@pytest.mark.parametrize("corpus", ["crosswoz", "crosswoz_en", "multiwoz", "multiwoz_zh"])
def test_sample_gold_against_itself(corpus: str) -> None:
    assert_gold_scores_one(de.load_corpus(f"sample/{corpus}"))


def assert_gold_scores_one(gold: Corpus) -> None:
    for name, protocol in STATES.items():
        if name == "sgd" or (name == "dstc9-corrected" and gold.family != "crosswoz"):
            with pytest.raises(UsageError, match=DEMANDING[name]):
                de.score(gold, gold, protocol, resamples=0)
            continue
        scores = de.score(gold, gold, protocol, resamples=0)
        pair, sums = scores.pair, {f: c.sum() for f, c in scores.counts.items()}
        # Published exceptions: two scores give nothing to a turn with an empty state, and GCA counts
        # a slot that both sides empty as correct and then as missed.
        filled = (pair.per_turn(pair.gold) > 0).mean()
        wanted = dict.fromkeys(scores.table.index, 1.0)
        wanted |= {k: filled for k in ("slot_f1", "relative_slot_accuracy") if k in wanted}
        if "granular_change_accuracy" in wanted:
            wanted["granular_change_accuracy"] = scores["granular_change_accuracy"]
            assert sums[count_changes]["gca_wrong"] == sums[count_changes]["gca_overpredicted"] == 0
            assert scores["granular_change_accuracy"] > 0.9
        assert dict(scores.table["value"]) == pytest.approx(wanted, abs=1e-12), name
        assert not scores.warnings


# By hand ------------------------------------------------------------------

#: Slots of every toy corpus; taxi-leave, which a prediction uses, is none of them.
ANNOTATED = [(0, "hotel", s) for s in ("area", "name", "stars", "type")] + [
    (0, "taxi", s) for s in ("leaveat", "departure")
]
GoldAndPred = list[tuple[set[slow.Triple], set[slow.Triple]]]


def toy(dialogues: dict[str, GoldAndPred]) -> tuple[Corpus, Predictions]:
    turns = [(i, t, "u", "s", 0) for i, rows in dialogues.items() for t in range(len(rows))]
    sides: list[list] = [[], []]
    for i, rows in dialogues.items():
        for t, both in enumerate(rows):
            for side, triples in zip(sides, both, strict=True):
                side += [(i, t, *triple) for triple in sorted(triples)]
    gold = Corpus(
        "toy",
        split="test",
        family="multiwoz",
        dialogues=table("dialogues", [(i, i, "") for i in dialogues]),
        turns=table("turns", turns),
        states=table("states", sides[0]),
        layouts=table("layouts", ANNOTATED),
    )
    pred = Predictions("sys", turns=gold.turns[["dialogue_id", "turn"]], states=table("states", sides[1]))
    return gold, pred


def triple(text: str) -> slow.Triple:
    domain, slot, value = text.split("-", 2)
    return domain, slot, value


def turn(gold: str, pred: str) -> tuple[set[slow.Triple], set[slow.Triple]]:
    sides = ({triple(t) for t in text.split("; ") if t} for text in (gold, pred))
    return next(sides), next(sides)


EXAMPLE = {
    "d": [
        turn("hotel-area-north", "hotel-area-North; hotel-stars-none"),
        turn("hotel-area-north; hotel-type-guest house", "hotel-area-north; hotel-type-guesthouse"),
        turn("hotel-area-north; hotel-name-acorn|the acorn", "hotel-area-north; hotel-name-acorn"),
        turn("hotel-area-dontcare", "hotel-area-dontcare; taxi-leaveat-9:15"),
        turn("taxi-leaveat-09:15", "taxi-leave-9:15"),
        turn("", ""),
    ]
}


@pytest.mark.parametrize(
    ("protocol", "right", "tp", "fp", "fn"),
    [
        # Turn by turn, exact: only the last one; right triples: area in turns 1, 2, 3.
        ("lin2021", [0, 0, 0, 0, 0, 1], 3, 6, 4),
        # Lower case and none dropped mend turn 0; dontcare stays a value.
        ("trade", [1, 0, 0, 0, 0, 1], 4, 4, 3),
        # Lower case mends the area of turn 0, none stays; white space removed mends turn 1.
        ("convlab", [0, 1, 0, 0, 0, 1], 5, 4, 2),
        # Either part of a|b is right; of what gold lists, the time is wrong in turn 3 and missing in turn 4.
        ("convlab-filtered", [0, 1, 1, 0, 0, 1], 6, 2, 1),
        # What is beside the annotation's slots is not looked at; taxi-leave is none of its slots here.
        ("dstc9", [1, 1, 0, 0, 0, 1], 5, 2, 2),
        # The scorer's tables repair turn 1, its time rules and slot names turn 4; 'acorn' is part of the gold
        # name; an area stays in upper case; gold dontcare is dropped in turn 3, predicted dontcare is not.
        ("mwzeval", [0, 1, 1, 0, 1, 1], 5, 4, 1),
    ],
)
def test_by_hand(protocol: str, right: list[int], tp: int, fp: int, fn: int) -> None:
    gold, pred = toy(EXAMPLE)
    scores = de.score(gold, pred, STATES[protocol], resamples=0)
    precision, recall = tp / (tp + fp), tp / (tp + fn)
    wanted = {
        "joint_goal_accuracy": sum(right) / len(right),
        "slot_precision": precision,
        "slot_recall": recall,
        "slot_f1_micro": 2 * tp / (2 * tp + fp + fn),
    }
    assert {k: scores[k] for k in wanted} == pytest.approx(wanted)
    jga = next(m for m in scores.metrics if m.key == "joint_goal_accuracy")
    frame = scores.counts[jga.counts]
    exact = frame[next(c for c in frame if c.endswith("exact"))]
    assert exact.tolist() == right


def test_a_protocol_in_three_lines() -> None:
    mine = Protocol("mine", ("joint_goal_accuracy", "turn_goal_accuracy"), steps=("case:lower", "none:drop"))
    scores = de.score(*toy(EXAMPLE), mine, resamples=0)
    assert scores["joint_goal_accuracy"] == 2 / 6
    assert scores.signature.startswith("jga|proto:user/mine|case:lower|space:keep|none:drop|")


# What must hold for any input -----------------------------------------------------------------

slots = st.sampled_from([("hotel", "area"), ("hotel", "name"), ("taxi", "leaveat"), ("taxi", "departure")])
values = st.sampled_from(["north", "North", "none", "dontcare", "a|b", "a", "09:15", "9:15", "the inn"])
state = st.dictionaries(slots, values, max_size=4).map(lambda d: {(*slot, v) for slot, v in d.items()})
dialogues = st.dictionaries(
    st.sampled_from(["d1", "d2", "d3"]), st.lists(st.tuples(state, state), min_size=1, max_size=4), min_size=2
)
anywhere = st.sampled_from(ANYWHERE)
few = settings(max_examples=20)
AFTERWARDS = (count_changes, count_flexible, count_turn_goal)


def counts_of(gold: Corpus, pred: Predictions, name: str, missing: str = "error") -> dict:
    scores = de.score(gold, pred, STATES[name], missing=missing, resamples=0)
    return dict(scores.counts)


def assert_same(a: pd.DataFrame, b: pd.DataFrame) -> None:
    pd.testing.assert_frame_equal(a, b, check_dtype=False)


@few
@given(dialogues, anywhere, st.randoms(use_true_random=False))
def test_order_of_dialogues_turns_and_triples_never_matters(rows: dict, name: str, random: Random) -> None:
    gold, pred = toy(rows)

    def mix(frame: pd.DataFrame) -> pd.DataFrame:
        return frame.sample(frac=1, random_state=random.randrange(2**31)).reset_index(drop=True)

    assert pred.states is not None
    other = replace(gold, turns=mix(gold.turns), states=mix(gold.states), layouts=mix(gold.layouts))
    mixed = replace(pred, turns=mix(pred.turns), states=mix(pred.states))
    a, b = (de.score(g, p, STATES[name], resamples=20) for g, p in ((gold, pred), (other, mixed)))
    pd.testing.assert_frame_equal(a.table, b.table)
    assert a.warnings == b.warnings
    for function, frame in a.counts.items():
        assert_same(frame, b.counts[function])


@few
@given(dialogues, anywhere, st.data())
def test_a_lost_turn_changes_itself_and_what_follows_it(rows: dict, name: str, data: st.DataObject) -> None:
    gold, pred = toy(rows)
    assert pred.states is not None
    i, t = data.draw(st.sampled_from([(i, t) for i, d in rows.items() for t in range(len(d))]))
    lost = replace(
        pred,
        turns=pred.turns[(pred.turns["dialogue_id"] != i) | (pred.turns["turn"] != t)],
        states=pred.states[(pred.states["dialogue_id"] != i) | (pred.states["turn"] != t)],
    )
    emptied = {
        k: [(g, set()) if (k, n) == (i, t) else (g, p) for n, (g, p) in enumerate(d)] for k, d in rows.items()
    }
    whole = counts_of(gold, pred, name)
    empty = counts_of(gold, lost, name, "empty")
    for function, frame in counts_of(*toy(emptied), name).items():
        assert_same(frame, empty[function])
    skipped = counts_of(gold, lost, name, "skip")
    for function, frame in whole.items():
        other = frame.index.get_level_values("dialogue_id") != i
        if function in AFTERWARDS:
            rest = other | (frame.index.get_level_values("turn") < t)
        else:
            rest = other | (frame.index.get_level_values("turn") != t)
        assert_same(frame[rest], empty[function].loc[frame.index[rest]])
        assert_same(frame[rest], skipped[function].loc[frame.index[rest]])
        assert (i, t) not in skipped[function].index
        assert len(skipped[function]) == len(frame) - 1


@few
@given(dialogues, anywhere, st.data())
def test_a_lost_dialogue_changes_nothing_else(rows: dict, name: str, data: st.DataObject) -> None:
    gold, pred = toy(rows)
    assert pred.states is not None
    i = data.draw(st.sampled_from(sorted(rows)))
    lost = replace(
        pred,
        turns=pred.turns[pred.turns["dialogue_id"] != i],
        states=pred.states[pred.states["dialogue_id"] != i],
    )
    whole = counts_of(gold, pred, name)
    with pytest.raises(CoverageError, match=f"1 dialogue missing: {i}"):
        counts_of(gold, lost, name)
    skipped, empty = (counts_of(gold, lost, name, m) for m in ("skip", "empty"))
    for function, frame in whole.items():
        rest = frame.index.get_level_values("dialogue_id") != i
        assert_same(frame[rest], skipped[function])
        assert_same(frame[rest], empty[function][rest])
        assert len(empty[function]) == len(frame)


@few
@given(dialogues, anywhere, slots)
def test_a_renamed_slot_changes_its_own_turns_only(rows: dict, name: str, slot: tuple[str, str]) -> None:
    gold, pred = toy(rows)
    assert pred.states is not None
    hit = (pred.states["domain"] == slot[0]) & (pred.states["slot"] == slot[1])
    renamed = replace(pred, states=pred.states.assign(slot=pred.states["slot"].mask(hit, "unheard-of")))
    touched = {(i, t) for i, t in pred.states.loc[hit, ["dialogue_id", "turn"]].itertuples(index=False)}
    before, after = counts_of(gold, pred, name), counts_of(gold, renamed, name)
    for function, frame in before.items():
        if function in AFTERWARDS:
            keep = [i not in {d for d, _ in touched} for i, _ in frame.index]
        else:
            keep = [key not in touched for key in frame.index]
        assert_same(frame[keep], after[function][keep])
    scores = [de.score(gold, p, STATES[name], resamples=0)["joint_goal_accuracy"] for p in (pred, renamed)]
    if STATES[name].compare == "all":  # else an invented slot goes out of sight under a name that gold lacks
        assert scores[1] <= scores[0] + 1e-12


@few
@given(dialogues, anywhere)
def test_gold_against_itself_and_bounds(rows: dict, name: str) -> None:
    gold, pred = toy(rows)
    assert de.score(gold, gold, STATES[name], resamples=0)["joint_goal_accuracy"] == 1
    if STATES[name].gold != "mwzeval":  # that gold drops values which a prediction keeps
        again = de.score(gold, as_predictions(gold), STATES[name], resamples=0)
        assert again["joint_goal_accuracy"] == 1
    values = de.score(gold, pred, STATES[name], resamples=0).table["value"]
    negative = {"slot_accuracy"}  # TRADE's may fall below 0 where a toy ontology is small
    assert all(0 <= v <= 1 + 1e-12 for k, v in values.items() if k not in negative)


def test_files_in_another_order(tmp_path: Path) -> None:
    source = de.load_predictions("sample/predictions/crosswoz_en/tracker_careful.submission.json.gz").path
    document = json.loads(read_bytes(source))
    turned = {i: [dict(reversed(s.items())) for s in document[i]] for i in reversed(document)}
    (tmp_path / "turned.json").write_text(json.dumps(turned), encoding="utf-8")
    gold = de.load_corpus("sample/crosswoz_en")
    for name in STATES.keys() - {"sgd"}:
        a, b = (de.score(gold, f, STATES[name], resamples=30) for f in (source, tmp_path / "turned.json"))
        pd.testing.assert_frame_equal(a.table, b.table)
