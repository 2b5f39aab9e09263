"""What no score depends on: the order of rows, dialogues and slots; and the scores that depend on one."""

from __future__ import annotations

from dataclasses import fields, replace
from random import Random
from typing import Any

import pandas as pd
import pytest

import dialogeval as de
from dialogeval.tables import table

FILES = {
    "multiwoz": ["generator_template.json.gz", "tracker_sloppy.json.gz"],
    "crosswoz_en": ["tracker_careful.submission.json.gz"],
    "multiwoz_zh": ["baseline_value_matching.jsonl.gz"],
}
#: Windows of fifty tokens run over the texts in the order of the predictions' turns.
BY_ORDER_OF_TURNS = ["msttr_50"]
#: Without predicted active domains, ties between domains go to the first of the state.
BY_ORDER_OF_SLOTS = ("inform", "success", "combined")


@pytest.fixture(scope="module")
def sides() -> list[tuple[de.Corpus, de.Predictions]]:
    return [
        (gold, de.load_predictions(f"sample/predictions/{corpus}/{file}"))
        for corpus, files in FILES.items()
        for gold in [de.load_corpus(f"sample/{corpus}")]
        for file in files
    ]


def mixed(side: Any, random: Random) -> Any:
    """The same corpus or predictions with the rows of every table in another order."""
    tables = {f.name: getattr(side, f.name) for f in fields(side)}
    return replace(
        side,
        **{
            name: frame.sample(frac=1, random_state=random.randrange(2**31)).reset_index(drop=True)
            for name, frame in tables.items()
            if isinstance(frame, pd.DataFrame)
        },
    )


@pytest.mark.parametrize("name", de.PROTOCOLS)
def test_no_protocol_depends_on_the_order_of_rows(name: str, sides: list) -> None:
    random = Random(name)
    for gold, predictions in sides:
        protocol = de.PROTOCOLS[name]
        if (gold.family != "crosswoz" and protocol.gold == "dstc9-corrected") or protocol.gold == "frames":
            continue  # test_sgd has a corpus with a schema
        if predictions.responses is None and "state" not in protocol.tasks:
            continue
        first, second = (
            de.score(g, p, protocol, resamples=20)
            for g, p in ((gold, predictions), (mixed(gold, random), mixed(predictions, random)))
        )
        moved = [*BY_ORDER_OF_TURNS]
        if predictions.active_domains is None:
            moved += [key for key in first.table.index if key.startswith(BY_ORDER_OF_SLOTS)]
        a, b = (s.table.drop(index=moved, errors="ignore") for s in (first, second))
        pd.testing.assert_frame_equal(a, b, rtol=1e-12)
        assert (first.warnings, first.signature) == (second.warnings, second.signature)


def test_windows_of_tokens_depend_on_the_order_of_dialogues() -> None:
    gold = de.load_corpus("sample/multiwoz")
    made = de.load_predictions("sample/predictions/multiwoz/generator_template.json.gz")
    protocol = de.PROTOCOLS["mwzeval"].only(BY_ORDER_OF_TURNS)
    turned = replace(made, turns=made.turns[::-1].reset_index(drop=True))
    one, other = (de.score(gold, p, protocol, resamples=0)["msttr_50"] for p in (made, turned))
    assert one != other


@pytest.mark.parametrize(("first", "inform"), [("hotel", 100), ("train", 0)])
def test_a_tie_of_changed_domains_goes_to_the_first_of_the_state(first: str, inform: int) -> None:
    """Without active domains, the domain that a turn is about is guessed from the state."""
    sample = de.load_corpus("sample/multiwoz")
    states = sorted(
        [("d", 0, "hotel", "area", "north"), ("d", 0, "train", "day", "monday")], key=lambda r: r[2] != first
    )
    gold = replace(
        sample,
        dialogues=table("dialogues", [("d", "d", "")]),
        turns=table("turns", [("d", 0, "hi", "hello", 0)]),
        states=table("states"),
        goals=table("goals", [("d", "hotel", "inform", "area", "north")]),
    )
    made = de.Predictions(
        "p",
        turns=gold.turns[["dialogue_id", "turn"]],
        states=table("states", states),
        responses=table("responses", [("d", 0, "[hotel_name] is nice")]),
    )
    protocol = de.PROTOCOLS["mwzeval"].only(["inform"])
    assert de.score(gold, made, protocol, resamples=0)["inform"] == inform
