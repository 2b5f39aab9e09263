"""Arguments that are easily got wrong: each answered by one clear line, none by an error of Python."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

import dialogeval as de
from dialogeval.exceptions import DialogevalError, UnknownNameError, UsageError

CORPUS = "sample/crosswoz_en"
CAREFUL, SLOPPY = (f"sample/predictions/crosswoz_en/tracker_{n}.jsonl.gz" for n in ("careful", "sloppy"))


@pytest.fixture(scope="module")
def gold() -> de.Corpus:
    return de.load_corpus(CORPUS)


@pytest.fixture(scope="module")
def scores(gold: de.Corpus) -> de.Scores:
    return de.score(gold, CAREFUL, "lin2021", resamples=0)


def own(**changes: object) -> de.Protocol:
    return replace(de.PROTOCOLS["lin2021"], name="own", **changes)  # type: ignore[arg-type]


NUMBER = de.Metric("n", "n", lambda pair: 3, lambda sums: 3.0, source="here")  # type: ignore[arg-type,return-value]
CALLS = [
    (UnknownNameError, "joint_goal_accuracy", lambda g, s: s["jga"]),
    (UnknownNameError, "slot_f1", lambda g, s: s["slot_f11"]),
    (UnknownNameError, "joint_goal_accuracy", lambda g, s: s.metric_signature("x")),
    (UnknownNameError, "domain", lambda g, s: s.by("domian")),
    (UsageError, "Series", lambda g, s: s.by(None)),
    (UnknownNameError, "lin2021", lambda g, s: de.score(g, CAREFUL, "lin")),
    (UnknownNameError, "empty", lambda g, s: de.score(g, CAREFUL, "lin2021", missing="emtpy")),
    (UsageError, "Alignment", lambda g, s: de.score(g, CAREFUL, "lin2021", alignment=3)),
    (UsageError, "Metric(", lambda g, s: de.score(g, CAREFUL, own(metrics=(len,)))),
    (UsageError, "table of counts", lambda g, s: de.score(g, CAREFUL, own(metrics=(NUMBER,)))),
    (UsageError, "de.score", lambda g, s: de.error_kinds(g)),
    (UsageError, "de.score", lambda g, s: de.errors(CAREFUL)),
    (UsageError, "protocol", lambda g, s: de.breakdown(3, "domain")),
    (UsageError, "two systems", lambda g, s: de.compare(g, {"one": CAREFUL}, "lin2021")),
    (UsageError, "same name", lambda g, s: de.compare(g, [CAREFUL, CAREFUL], "lin2021")),
    (UsageError, "system", lambda g, s: de.Corpus("toy", turns=g.turns.drop(columns="system"))),
    (UsageError, "DataFrame", lambda g, s: de.Corpus("toy", turns=[1])),
    (
        UsageError,
        "turns",
        lambda g, s: de.save_predictions(de.Predictions("x", states=g.states), "x.json", "turns"),
    ),
    (UnknownNameError, "sample/crosswoz", lambda g, s: de.load_corpus("sample/croswoz")),
    (UsageError, "Corpus", lambda g, s: de.delexicalize(3)),
    (UsageError, "Corpus", lambda g, s: de.ontology_of(3)),
    (UsageError, "Corpus", lambda g, s: de.false_friends(3, 4)),
    (UnknownNameError, "empty", lambda g, s: de.run_baseline("emty", g, g)),
    (DialogevalError, "domain", lambda g, s: de.predictions_from(g.states[["dialogue_id"]], turns=g.turns)),
]


@pytest.mark.parametrize(("kind", "word", "call"), CALLS)
def test_one_line_says_what_is_wrong(
    kind: type, word: str, call: object, gold: de.Corpus, scores: de.Scores
) -> None:
    with pytest.raises(kind) as caught:
        call(gold, scores)  # type: ignore[operator]
    assert word in str(caught.value) and "\n" not in str(caught.value)


def test_verbs_take_names_paths_and_what_is_loaded_alike(gold: de.Corpus) -> None:
    some = {"resamples": 0, "shuffles": 50}
    tables = [
        de.compare(CORPUS, [CAREFUL, SLOPPY], "lin2021", **some).table,
        de.compare(gold, {Path(p).name.split(".")[0]: p for p in (CAREFUL, SLOPPY)}, "lin2021", **some).table,
        de.compare(gold, [de.load_predictions(CAREFUL), SLOPPY], "lin2021", **some).table,
    ]
    for table in tables[1:]:
        pd.testing.assert_frame_equal(table, tables[0])
    assert de.definitions(CORPUS, CAREFUL, resamples=0).equals(
        de.definitions(gold, de.load_predictions(CAREFUL), resamples=0)
    )


def test_a_table_of_turns_without_layouts_is_enough(gold: de.Corpus) -> None:
    own = de.Corpus("mine", turns=gold.turns.drop(columns="layout"), states=gold.states)
    theirs = de.score(gold, CAREFUL, "lin2021", resamples=0)["joint_goal_accuracy"]
    assert de.score(own, CAREFUL, "lin2021", resamples=0)["joint_goal_accuracy"] == theirs
