"""What Inform and Success are computed from: gold or predicted states, goals, the database; bad content."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from dialogeval.analysis.breakdowns import breakdown
from dialogeval.corpora.load import load_corpus
from dialogeval.exceptions import DataFileError, UsageError
from dialogeval.golds import match_turns
from dialogeval.metrics.task import LEADERBOARD, task_counts
from dialogeval.pairing import task_pair
from dialogeval.protocols import PROTOCOLS
from dialogeval.resources import resource_dir
from dialogeval.scoring import score
from dialogeval.tables import Corpus, Predictions, table


@pytest.fixture(scope="module")
def sample() -> Corpus:
    return load_corpus("sample/multiwoz")


def predictions(sample: Corpus, **tables: list | None) -> Predictions:
    rows = {k: table(k, v) for k, v in tables.items() if v is not None}
    return Predictions("mine", turns=sample.turns[["dialogue_id", "turn"]], **rows)


def responses(sample: Corpus, text: str = "[value_name] , [value_phone]") -> list[tuple[str, int, str]]:
    return [(i, t, text) for i, t in sample.turns[["dialogue_id", "turn"]].itertuples(index=False)]


def test_bad_content_is_counted_and_named(sample: Corpus) -> None:
    first = sample.turns["dialogue_id"].iloc[0]
    states = [
        (first, 0, "spaceport", "area", "north"),
        (first, 0, "hotel", "Colour", "blue"),
        (first, 0, "hotel", "book day", "monday"),
        (first, 0, "train", "arrive by", "10:am"),
        (first, 0, "train", "leaveAt", "dontcare"),
        (first, 0, "hotel", "area", ""),
    ]
    made = predictions(sample, responses=responses(sample, "[value_nam] and [oops"), states=states)
    _, said = task_pair(sample, made, PROTOCOLS["mwzeval"], match_turns(sample, made))
    n = len(sample.turns)
    assert tuple(said) == (
        "no active domains are predicted: they are estimated from the predicted states",
        f"responses: {n:,} texts with unbalanced square brackets, kept as they stand",
        f"responses: unknown placeholder [value_nam] dropped ({n:,} times); nearest known: [value_name]",
        "1 values of states stand in unknown domains and constrain nothing: spaceport ×1",
        "1 values of states stand in unknown slots and constrain nothing: hotel-colour ×1",
        "1 times of states cannot be read and count as 00:00: '10:' ×1",
    )


def test_gold_states_stand_in_and_the_result_says_so(sample: Corpus) -> None:
    made = predictions(sample, responses=responses(sample))
    scores = score(sample, made, "mwzeval", resamples=0)
    assert "|states:gold|" in scores.signature
    assert any(
        w.startswith("no states are predicted: Inform and Success use the gold") for w in scores.warnings
    )
    # In a gold state "none" is no value, in a predicted one it is.
    own = replace(made, states=sample.states[sample.states["value"] != "none"])
    again = score(sample, own, "mwzeval", resamples=0)
    assert "|states:predicted|" in again.signature
    assert again["inform"] == scores["inform"] > 0


def test_none_is_no_value_of_the_gold_and_one_of_a_prediction(sample: Corpus) -> None:
    first = sample.turns["dialogue_id"].iloc[0]
    rows = [(first, 0, "hotel", "area", "none")]
    made = predictions(sample, responses=responses(sample))
    gold = replace(sample, states=table("states", rows))
    coverage = match_turns(sample, made)
    assert len(task_pair(gold, made, PROTOCOLS["mwzeval"], coverage)[0].states) == 0
    own = predictions(sample, responses=responses(sample), states=rows)
    assert task_pair(sample, own, PROTOCOLS["mwzeval"], coverage)[0].states["value"].tolist() == ["none"]


def test_dialogues_without_a_goal_do_not_count(sample: Corpus) -> None:
    first = sample.turns["dialogue_id"].iloc[0]
    gold = replace(sample, goals=sample.goals[sample.goals["dialogue_id"] != first])
    scores = score(gold, predictions(sample, responses=responses(sample)), "mwzeval", resamples=0)
    assert any(
        w.startswith("1 dialogues have no goal and do not count") and first in w for w in scores.warnings
    )
    counts = scores.counts[task_counts]
    assert counts["task_goal"].sum() == len(counts) - 1


def test_a_corpus_without_goals_leaves_the_scores_of_tasks_out(sample: Corpus) -> None:
    gold = replace(sample, goals=sample.goals[:0])
    made = predictions(sample, responses=responses(sample))
    scores = score(gold, made, "mwzeval", resamples=0)
    assert list(scores.table.index[:2]) == ["bleu", "avg_length"]
    assert any(
        "has no user goals, so these scores are left out: inform, success, combined" in w
        for w in scores.warnings
    )
    with pytest.raises(UsageError, match="has no user goals"):
        task_pair(gold, made, PROTOCOLS["mwzeval"], match_turns(gold, made))


def test_scores_without_responses_are_those_of_states(sample: Corpus) -> None:
    made = predictions(sample, states=[])
    scores = score(sample, made, "mwzeval", resamples=0)
    assert list(scores.table.index) == [
        "joint_goal_accuracy",
        "slot_precision",
        "slot_recall",
        "slot_f1_micro",
    ]
    assert any(
        "mine has no responses, so these scores are left out: bleu, inform" in w for w in scores.warnings
    )
    with pytest.raises(UsageError, match="holds no responses"):
        task_pair(sample, made, PROTOCOLS["mwzeval"], match_turns(sample, made))


def test_an_absent_database_stops_with_the_way_to_mend_it(sample: Corpus, tmp_path: Path) -> None:
    gold = replace(sample, name="multiwoz21", source=replace(sample.source, folder=str(tmp_path)))
    with pytest.raises(DataFileError, match="run: dialogeval fetch multiwoz21"):
        score(gold, predictions(sample, responses=responses(sample)), "mwzeval", resamples=0)


def test_a_database_without_a_domain_of_the_goals_is_refused(sample: Corpus, tmp_path: Path) -> None:
    (tmp_path / "hotel_db.json").write_text("[]")
    gold = replace(sample, name="own", source=replace(sample.source, folder=str(tmp_path)))
    with pytest.raises(UsageError, match="need the venue database of attraction and restaurant and train"):
        score(gold, predictions(sample, responses=responses(sample)), "mwzeval", resamples=0)


def test_one_call_gives_the_whole_set_and_adds_up() -> None:
    path = resource_dir("data") / "sample" / "predictions" / "multiwoz" / "generator_template.json.gz"
    scores = score("sample/multiwoz", path, "mwzeval", resamples=50)
    assert list(scores.table.index[: len(LEADERBOARD)]) == list(LEADERBOARD)
    expected = (scores["inform"] + scores["success"]) / 2 + scores["bleu"]
    assert scores["combined"] == pytest.approx(expected, rel=1e-12)
    row = scores.table.loc["combined"]
    assert row["low"] < row["value"] < row["high"]
    assert scores["success"] <= scores["inform"]
    parts = breakdown(scores, "domains")
    assert parts.loc["all", "combined"] == pytest.approx(scores["combined"])
