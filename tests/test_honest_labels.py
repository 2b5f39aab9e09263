"""Labels that are true of what they stand on, and warnings that name the way out with its effect."""

from __future__ import annotations

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import dialogeval as de
from dialogeval.cli import main
from dialogeval.exceptions import UnknownNameError, UsageError
from dialogeval.resources import resource_dir

MULTIWOZ = "sample/multiwoz"
RENAMED = "sample/predictions/multiwoz/tracker_renamed.json.gz"
CAREFUL = "sample/predictions/multiwoz/tracker_careful.json.gz"
BOTH = "sample/predictions/multiwoz/generator_template.json.gz"


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict:
    assert main(list(arguments)) == 0
    return json.loads(capsys.readouterr().out)


@pytest.fixture(scope="module")
def trade_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Gold states, in TRADE's format with TRADE's names of slots."""
    gold = de.load_corpus(MULTIWOZ)
    states = {key: [] for key in gold.turns[["dialogue_id", "turn"]].itertuples(index=False, name=None)}
    for row in gold.states.itertuples(index=False):
        slot = re.sub("^book(?=.)", "book ", row.slot)
        states[row.dialogue_id, row.turn].append(f"{row.domain}-{slot}-{row.value}")
    dialogues: dict = {}
    for (dialogue, turn), triples in states.items():
        said = {"turn_belief": triples, "pred_bs_ptr": triples}
        dialogues.setdefault(dialogue, {})[str(turn)] = said
    path = tmp_path_factory.mktemp("trade") / "trade.json"
    path.write_text(json.dumps(dialogues), encoding="utf-8")
    return path


def test_the_command_names_a_step_for_slot_names_and_takes_it(trade_file, capsys):
    command = ["score", str(trade_file), "--corpus", MULTIWOZ, "--protocol", "trade", "--resamples", "0"]
    command.append("--json")
    raw = printed(capsys, *command)
    foreign = int((de.load_corpus(MULTIWOZ).states["slot"].str.match("book.")).sum())
    (warning,) = (w for w in raw["warnings"] if "does not have" in w)
    step = re.search(r"--steps (\S+?)\)", warning)
    assert step and "slots:multiwoz22" in warning
    # Of all values in unknown slots, each of the two steps maps every one.
    assert warning.count(f"{foreign:,}") == 3
    for way in (step[1], "slots:multiwoz22"):
        mended = printed(capsys, *command, "--steps", way)
        assert mended["metrics"]["joint_goal_accuracy"]["value"] == 1.0
        assert mended["warnings"] == [w for w in raw["warnings"] if w != warning]
        assert "|proto:user/trade|" in mended["signature"] and f"|{way}|" in mended["signature"]
    assert raw["metrics"]["joint_goal_accuracy"]["value"] < 0.9


def test_steps_are_those_of_a_protocol_made_with_replace(capsys):
    steps = ("case:lower", "none:drop", "slots:plain", "time:hhmm")
    mine = replace(de.PROTOCOLS["trade"], steps=steps)
    ours = de.score(MULTIWOZ, RENAMED, mine)
    theirs = de.score(MULTIWOZ, RENAMED, "trade", steps="slots:plain time:hhmm")
    assert theirs.signature == ours.signature and theirs.table.equals(ours.table)
    files = [str(resource_dir("data") / name) for name in (RENAMED, CAREFUL)]
    options = ["--corpus", MULTIWOZ, "--protocol", "trade", "--shuffles", "99", "--to", "json"]
    options += ["--metrics", "joint_goal_accuracy", "--steps", "slots:plain", "time:hhmm"]
    compared = printed(capsys, "compare", *files, *options)
    value = compared["systems"]["tracker_renamed"]["metrics"]["joint_goal_accuracy"]["value"]
    assert value == ours["joint_goal_accuracy"]
    assert compared["signature"].startswith(ours.signature.partition("|gold:")[0])


def test_a_step_that_the_protocol_has_changes_nothing():
    assert "proto:trade|" in de.score(MULTIWOZ, RENAMED, "trade", steps=["none:drop"], resamples=0).signature


@pytest.mark.parametrize("command", ["score", "compare", "report state_tracking --predictions"])
def test_misspelt_steps_are_met_before_the_work(command, capsys):
    words = [*command.split(), "no_such_file.json"] + (["b.json"] if command == "compare" else [])
    assert main([*words, "--protocol", "trade", "--steps", "slots:multiwoz23"]) == 2
    assert "did you mean multiwoz22?" in capsys.readouterr().err


def test_steps_for_a_protocol_without_states_are_refused():
    with pytest.raises(UsageError):
        de.score(MULTIWOZ, BOTH, "lai2019", steps="slots:plain")
    with pytest.raises(UnknownNameError):
        de.score(MULTIWOZ, BOTH, "lai2019", steps="slots:plane")


def test_the_protocol_chosen_by_default_is_named_with_the_reason():
    both = de.load_predictions(BOTH)
    assert both.states is not None and both.responses is not None
    for predictions, protocol, said in (
        (both, None, 1),
        (both, "lai2019", 0),
        (replace(both, states=None), None, 0),
        (replace(both, responses=None), None, 0),
    ):
        scores = de.score(MULTIWOZ, predictions, protocol, resamples=0)
        naming = [w for w in scores.warnings if "--protocol" in w]
        assert len(naming) == said
        assert all("lai2019" in w and "lin2021" in w for w in naming)


def test_a_protocol_of_ones_own_claims_no_others_title():
    theirs = de.PROTOCOLS["lin2021"]
    mine = replace(theirs, name="mine", steps=("case:lower", "none:drop"))
    again = replace(mine, steps=("article:drop",))
    for protocol in (mine, again, replace(theirs, steps=mine.steps)):
        assert protocol.title != theirs.title and protocol.source != theirs.source
        assert theirs.source in protocol.source
        assert all(step in protocol.title for step in protocol.steps)
    assert "case:lower" not in again.title
    assert replace(theirs, name="mine", gold="dstc9").title.count("dstc9")
    assert replace(mine, title="as our paper has it").title == "as our paper has it"
    # Fewer of its scores, or other tokens, are no other rules.
    assert theirs.only(["slot_f1"]).title == theirs.title
    assert replace(de.PROTOCOLS["lai2019"], tokenizer="13a").title == de.PROTOCOLS["lai2019"].title
    shown = de.score("sample/crosswoz_en", de.load_corpus("sample/crosswoz_en"), mine, resamples=0).to_text()
    assert theirs.title not in shown and "case:lower, none:drop" in shown


def test_a_corpus_file_keeps_its_version_in_the_id(tmp_path):
    source = resource_dir("data") / "sample" / "multiwoz" / "test.json.zip"
    for name in ("MULTIWOZ2.4.zip", "MULTIWOZ2.3.json.zip"):
        shutil.copy(source, tmp_path / name)
    assert de.load_corpus(tmp_path / "MULTIWOZ2.4.zip").id.startswith("MULTIWOZ2.4/")
    assert de.load_corpus(tmp_path / "MULTIWOZ2.3.json.zip").id.startswith("MULTIWOZ2.3/")


@pytest.mark.parametrize("protocol", ["lin2021", "trade", "dstc9", "mwzeval", "lai2019", "lai2019-card"])
def test_the_row_of_all_is_the_score_or_says_so(protocol):
    scores = de.score(MULTIWOZ, BOTH, protocol, resamples=0)
    training = de.load_corpus(MULTIWOZ, "train")
    groups = {"domain", "turn", "domains", "type", "language", "corpus", "system"}
    groups |= {"slot", "seen_value"} if "state" in scores.pairs else set()
    groups |= {"act", "length"} if "text" in scores.pairs else set()
    for by in groups:
        table = scores.by(by, training=training)
        whole = table.iloc[-1]
        for key in scores.table.index:
            if key not in table:
                assert key in table.attrs["left_out"] and key.split("/")[0] in table.attrs["caption"]
            elif key in table.attrs["differs"]:
                assert table.attrs["differs"][key] == scores[key] != whole[key]
                assert key in table.attrs["caption"]
            else:
                assert whole[key] == pytest.approx(scores[key], abs=1e-9)
        for count in table.attrs["additive"]:
            assert table[count].iloc[:-1].sum() == whole[count]
        assert ("turns" in table.attrs["additive"]) == (by not in ("domain", "slot", "seen_value", "act"))
        # Only fuzzy values are counted otherwise than the triples are.
        assert not table.attrs["differs"] or protocol == "mwzeval"
