"""Files read in pieces: the same numbers, words and refusals as of the whole file, whatever the pieces."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

import dialogeval as de
from dialogeval.cli import main
from dialogeval.exceptions import CoverageError, DataFileError, PredictionError, UsageError
from dialogeval.predictions.pieces import Piece, can_be_cut, pieces_of
from dialogeval.scale.counts import Plan, count_piece
from dialogeval.scale.gold import GoldSlices
from dialogeval.scale.join import join_counts
from dialogeval.scale.run import score_in_pieces
from dialogeval.scale.shown import largest_difference
from dialogeval.scoring import Scores

SAMPLE = "sample/predictions/multiwoz/"


def assert_same(whole: Scores, pieces: Scores) -> None:
    assert pieces.signature == whole.signature
    assert pieces.warnings == whole.warnings
    assert pieces.coverage.to_dict() == whole.coverage.to_dict()
    assert pieces.system == whole.system
    assert largest_difference(whole, pieces) <= 1e-12
    counted = [
        c for c in whole.counts if all(pd.api.types.is_integer_dtype(t) for t in whole.counts[c].dtypes)
    ]
    for function in counted:
        # The companions of types depend on which dialogue comes first; their sums do not.
        ours, theirs = (s.counts[function].sum() for s in (whole, pieces))
        assert dict(ours) == dict(theirs)


def made_unknown(folder: Path) -> str:
    texts = [json.loads(line)["response"] for line in lines_of(folder / "messy.jsonl")]
    return f"[hotl_name] dropped ({sum('[hotl_name]' in text for text in texts):,} times)"


def lines_of(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines(keepends=True)


@pytest.fixture(scope="module")
def multiwoz() -> de.Corpus:
    return de.load_corpus("sample/multiwoz")


@pytest.fixture(scope="module")
def messy(multiwoz: de.Corpus, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A system with something to remark on in many of its turns, and with several dialogues missing."""
    folder = tmp_path_factory.mktemp("messy")
    made = de.load_predictions(SAMPLE + "generator_template.json.gz")
    states = de.load_predictions(SAMPLE + "tracker_sloppy.json.gz").states
    lost = sorted(set(multiwoz.turns["dialogue_id"]))[::7]
    drawn = random.Random(1)
    assert made.responses is not None and states is not None
    texts = [
        drawn.choice(["[hotl_name] ", "[taxi_phone ", "", "", "[unheard_of] "]) + text
        for text in made.responses["response"]
    ]
    states = states.assign(
        value=[drawn.choice(["none", "25:99", "", v, v]) for v in states["value"]],
        slot=[drawn.choice(["colour", s, s, s]) for s in states["slot"]],
    )
    tables = {"turns": made.turns, "states": states, "responses": made.responses.assign(response=texts)}
    kept = {name: t[~t["dialogue_id"].isin(lost)].reset_index(drop=True) for name, t in tables.items()}
    # A turn is lost within a dialogue too.
    last = kept["turns"].iloc[-1]
    kept = {
        name: t[(t["dialogue_id"] != last["dialogue_id"]) | (t["turn"] != last["turn"])].reset_index(
            drop=True
        )
        for name, t in kept.items()
    }
    original = {i: i for i in kept["turns"]["dialogue_id"].unique()}
    messy = replace(made, name="messy", original_ids=original, active_domains=None, gold=None, **kept)
    de.save_predictions(messy, folder / "messy.jsonl", "turns")
    de.save_predictions(messy, folder / "messy.parquet", "turns")
    (folder / "messy.jsonl.gz").write_bytes(gzip.compress((folder / "messy.jsonl").read_bytes()))
    return folder


@pytest.mark.parametrize(
    ("protocol", "missing"),
    [("trade", "skip"), ("lai2019", "empty"), ("mwzeval", "skip"), ("mwzeval", "empty")],
)
def test_pieces_give_what_the_whole_file_gives(
    protocol: str, missing: str, multiwoz: de.Corpus, messy: Path
) -> None:
    options = {"missing": missing, "resamples": 50}
    whole = de.score(multiwoz, messy / "messy.jsonl", protocol, **options)
    assert len(whole.warnings) > 2
    if protocol == "mwzeval":
        # BLEU and Inform look at the same texts: what is unknown there is counted once.
        assert made_unknown(messy) in " ".join(whole.warnings)
    file = messy / ("messy.parquet" if missing == "skip" else "messy.jsonl")
    assert_same(whole, score_in_pieces(multiwoz, file, protocol, turns_at_once=150, **options))


def test_the_order_in_which_pieces_are_done_changes_nothing(multiwoz: de.Corpus, messy: Path) -> None:
    plan = Plan("messy", GoldSlices(multiwoz), "lai2019", missing="skip", name="messy")
    parts = [count_piece(plan, piece) for piece in pieces_of(messy / "messy.jsonl", 90)]
    whole = de.score(multiwoz, messy / "messy.jsonl", "lai2019", missing="skip", resamples=20)
    random.Random(2).shuffle(parts)
    assert_same(whole, join_counts(plan, parts, 20, 12345))


def test_a_file_with_its_own_gold(tmp_path: Path) -> None:
    # The slots of the ontology, the layouts and the checksum of the gold are known at the end only.
    rows = [
        {
            "dialogue_id": f"d{i}",
            "turn": t,
            "gold": [["hotel", f"slot{i}", "a"]],
            "pred": [["hotel", "slot0", "a"]],
        }
        for i in range(5)
        for t in range(3)
    ]
    rows += [{**r, "dialogue_id": r["dialogue_id"] + "x", "pred": [["taxi", "x", "none"]]} for r in rows[:6]]
    file = tmp_path / "own.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    whole = de.score(None, file, "trade")
    for turns in (1, 20):
        assert_same(whole, score_in_pieces(None, file, "trade", turns_at_once=turns))
    # The same dialogues in another order are the same gold.
    backwards = tmp_path / "backwards.jsonl"
    backwards.write_text("".join(sorted(lines_of(file), reverse=True)))
    assert de.score(None, backwards, "trade").signature == whole.signature


def test_every_slot_of_dstc9_and_an_alignment(tmp_path: Path) -> None:
    english = de.load_corpus("sample/crosswoz_en")
    file = tmp_path / "gold.jsonl"
    de.save_predictions(de.as_predictions(english), file, "turns")
    for gold, more in (
        (english, {"protocol": "dstc9"}),
        (de.load_corpus("sample/crosswoz"), {"alignment": "crosswoz_en__crosswoz", "protocol": "lin2021"}),
    ):
        assert_same(
            de.score(gold, file, resamples=20, **more),
            score_in_pieces(gold, file, resamples=20, turns_at_once=200, **more),
        )


def test_real_predictions(real_cases: Path) -> None:
    file = real_cases / "states" / "pptod.jsonl.gz"
    whole = de.score(None, file, "trade", resamples=20)
    assert_same(whole, score_in_pieces(None, file, "trade", resamples=20, turns_at_once=3000))


def test_dask(
    messy: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from distributed import LocalCluster

    own = [
        {"dialogue_id": f"d{i}", "turn": 0, "gold": {}, "pred": {"hotel": {"area": "x"}}} for i in range(9)
    ]
    file = tmp_path / "own.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in own))
    with LocalCluster(
        2, threads_per_worker=1, processes=False, protocol="tcp", dashboard_address=None
    ) as cluster:
        address = cluster.scheduler_address
        call = ["score", str(file), "--protocol", "trade", "--resamples", "0", "--json"]
        assert main([*call, "--turns-at-once", "2", "--dask", address]) == 0
        far = json.loads(capsys.readouterr().out)
        assert main(call) == 0
        assert far == json.loads(capsys.readouterr().out)
        # What a worker refuses is one line here; the pieces behind it are called off.
        (tmp_path / "bad.jsonl").write_text(
            file.read_text() + '{"dialogue_id": "z", "turn": 0, "gold": 3, "pred": {}}\n'
        )
        call = ["score", str(tmp_path / "bad.jsonl"), "--turns-at-once", "2", "--dask", address]
        assert main(call) == 2
        assert "bad.jsonl, line 10: dialogue z, turn 0: gold" in capsys.readouterr().err
    monkeypatch.setattr("dialogeval.scale.cluster.PATIENCE", 1)
    with pytest.raises(UsageError, match=r"no Dask scheduler answers at tcp://127.0.0.1:9 \("):
        score_in_pieces(None, file, dask="tcp://127.0.0.1:9")


# Refusals -----------------------------------------------------------------------------------------

TURN = '{{"dialogue_id": "{}", "turn": {}, "response": "hello", "reference": "hello"}}\n'


@pytest.mark.parametrize(
    ("content", "error", "message"),
    [
        ("".join(TURN.format(d, t) for d, t in (("a", 0), ("b", 0), ("a", 1))), PredictionError, "dialogue a: its turns stand in several places"),
        (TURN.format("a", 0) + '{"dialogue_id": "b", "turn": 0, "gold": {}, "pred": {}}\n', PredictionError, "from line 1 on responses, gold, from line 2 on states, gold"),
        (TURN.format("a", 0) + '{"dialogue_id": "b", "turn": -1}\n', PredictionError, "line 2"),
        (TURN.format("a", 0) + "{broken\n", DataFileError, "line 2"),
        ("[" + TURN.format("a", 0) + "]", UsageError, "cannot be read in pieces: expected JSON lines"),
        ('{"a": [{}]}', UsageError, "cannot be read in pieces"),
        ("", DataFileError, "is empty"),
        ("\n\n", DataFileError, "is empty"),
        ("PK\x03\x04", UsageError, "a zip archive cannot be read in pieces; unpack it"),
        ("PAR1 and no more", DataFileError, "broken Parquet"),
        ("\x1f\x8b", DataFileError, "broken gzip file"),
    ],
)  # fmt: skip
def test_one_line_for_what_cannot_be_cut(content: str, error: type, message: str, tmp_path: Path) -> None:
    file = tmp_path / "mine.jsonl"
    file.write_bytes(content.encode("latin-1"))
    with pytest.raises(error) as caught:
        score_in_pieces(None, file, turns_at_once=1, resamples=0)
    assert message in str(caught.value) and "mine.jsonl" in str(caught.value)


@pytest.mark.parametrize("turns", [1, 2, 100])
def test_blank_lines_a_byte_order_mark_and_other_spellings_change_nothing(turns: int, tmp_path: Path) -> None:
    rows = [
        TURN.format("a", 0),
        "\n",
        TURN.format("A.json", 1).replace("A.json", "a"),
        "  \r\n",
        TURN.format("b", 0),
    ]
    file = tmp_path / "mine.jsonl"
    file.write_bytes(b"\xef\xbb\xbf\n\n" + "".join([*rows, "\n\n", TURN.format("c", 0), "\n\n"]).encode())
    assert_same(
        de.score(None, file, "lai2019", resamples=5),
        score_in_pieces(None, file, "lai2019", resamples=5, turns_at_once=turns),
    )
    file.write_text(TURN.format("a", 0) + TURN.format("A", 1))
    with pytest.raises(PredictionError, match="a and A name the same dialogue"):
        score_in_pieces(None, file, turns_at_once=turns)


def test_rows_of_two_formats_are_refused_as_at_once(tmp_path: Path) -> None:
    file = tmp_path / "two.jsonl"
    ids = de.load_corpus("sample/multiwoz").turns["dialogue_id"].unique()[:2]
    rows = [{"state": {}}, {"state": {}, "gold": {}}]
    rows = [{"dialogue_id": i, "turn": 0, **row} for i, row in zip(ids, rows, strict=True)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(PredictionError) as whole:
        de.score("sample/multiwoz", file)
    with pytest.raises(PredictionError) as pieces:
        score_in_pieces("sample/multiwoz", file, turns_at_once=1)
    assert str(whole.value).partition("got")[0] == str(pieces.value).partition("got")[0]
    assert "follows two formats, pairs and turns" in str(pieces.value)


def test_own_gold_without_slots_in_a_piece(tmp_path: Path) -> None:
    file = tmp_path / "own.jsonl"
    rows = [("a", {}), ("b", {"hotel": {"area": "north"}})]
    file.write_text(
        "".join(json.dumps({"dialogue_id": d, "turn": 0, "gold": g, "pred": g}) + "\n" for d, g in rows)
    )
    whole = de.score(None, file, "dstc9", resamples=0)
    assert_same(whole, score_in_pieces(None, file, "dstc9", resamples=0, turns_at_once=1))


def test_wrong_arguments_get_one_line(messy: Path, tmp_path: Path) -> None:
    file = messy / "messy.jsonl"
    for arguments, more, message in (
        ((5, file), {}, "gold: expected a Corpus"),
        (("sample/multiwoz", 5), {}, "predictions: expected the path of a file"),
        (("sample/multiwoz", file), {"format": "nosuch"}, "unknown format 'nosuch'"),
        (("sample/multiwoz", file), {"dask": "ucx://a:1"}, "no Dask scheduler answers at ucx://a:1"),
        (("sample/multiwoz", file, "trade"), {"tokenizer": "zh"}, "scores states, which have no tokens"),
    ):
        with pytest.raises(UsageError, match=message):
            score_in_pieces(*arguments, **more)
    table = pd.DataFrame({"dialogue_id": ["a"], "turn": [0], "response": ["hi"]})
    for columns, message in (
        (["dialogue_id", "response"], "no column turn"),
        (["turn", "response"], "no column dialogue_id"),
    ):
        table[columns].to_parquet(tmp_path / "lacking.parquet")
        with pytest.raises(PredictionError, match=message):
            list(pieces_of(tmp_path / "lacking.parquet", 10))
    packed = tmp_path / "messy.parquet.gz"
    packed.write_bytes(gzip.compress((messy / "messy.parquet").read_bytes()))
    assert not can_be_cut(packed)
    with pytest.raises(UsageError, match="Parquet in an archive or a pipe cannot be read in pieces"):
        list(pieces_of(packed, 10))
    damaged = bytearray((messy / "messy.parquet").read_bytes())
    damaged[40:400] = bytes(360)
    (tmp_path / "damaged.parquet").write_bytes(damaged)
    with pytest.raises(DataFileError, match="broken Parquet"):
        list(pieces_of(tmp_path / "damaged.parquet", 10))


def test_counts_that_do_not_add_up_need_the_whole_file(messy: Path) -> None:
    metric = replace(de.PROTOCOLS["trade"].resolve_metrics()[0], additive=False)
    mine = replace(de.PROTOCOLS["trade"], name="mine", metrics=(metric,))
    with pytest.raises(UsageError, match="joint_goal_accuracy do not add up over dialogues"):
        score_in_pieces("sample/multiwoz", messy / "messy.jsonl", mine, missing="skip")


def test_a_bomb_and_a_line_without_end_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bomb = tmp_path / "bomb.jsonl.gz"
    bomb.write_bytes(gzip.compress(TURN.format("a", 0).encode() + b" " * 40_000_000))
    with pytest.raises(DataFileError, match="unpacks to more than 200 times its size"):
        list(pieces_of(bomb, 10))
    rows = pd.DataFrame({"dialogue_id": ["a"] * 30_000, "turn": 0, "response": "hello"})
    rows.to_parquet(tmp_path / "bomb.parquet")
    monkeypatch.setattr("dialogeval.predictions.pieces.HARMLESS", 1 << 20)
    with pytest.raises(DataFileError, match="unpacks to more than 200 times its size"):
        list(pieces_of(tmp_path / "bomb.parquet", 5000))
    monkeypatch.setattr("dialogeval.predictions.pieces.MAX_LINE", 1000)
    (tmp_path / "long.jsonl").write_text(TURN.format("a", 0) + " " * 1001)
    with pytest.raises(DataFileError, match="line 2 is longer than 1,000 bytes"):
        list(pieces_of(tmp_path / "long.jsonl", 10))


def test_what_the_corpus_asks_for_is_asked_of_pieces_too(multiwoz: de.Corpus, messy: Path) -> None:
    with pytest.raises(CoverageError) as whole:
        de.score(multiwoz, messy / "messy.jsonl", "trade", missing="error")
    with pytest.raises(CoverageError) as pieces:
        score_in_pieces(multiwoz, messy / "messy.jsonl", "trade", missing="error", turns_at_once=50)
    assert str(pieces.value) == str(whole.value)
    with pytest.raises(UsageError, match="no gold to score against"):
        score_in_pieces(None, messy / "messy.jsonl", turns_at_once=50)
    with pytest.raises(UsageError, match="turns_at_once: expected a whole number from 1"):
        score_in_pieces(multiwoz, messy / "messy.jsonl", turns_at_once=0)


def test_scores_of_pieces_say_what_they_do_not_keep(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text(TURN.format("a", 0))
    scores = score_in_pieces(None, tmp_path / "a.jsonl", resamples=0)
    for look in (lambda s: s.by("turn"), lambda s: s.pair, lambda s: s.pairs["text"]):
        with pytest.raises(UsageError, match="read in pieces keep no turns"):
            look(scores)


def test_large_files_are_cut_by_the_command_line_itself(
    messy: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    call = ["score", str(messy / "messy.jsonl"), "--corpus", "sample/multiwoz", "--missing", "skip"]
    call += ["--protocol", "lai2019", "--tokenizer", "13a", "--resamples", "0", "--json"]
    assert main(call) == 0
    whole = json.loads(capsys.readouterr().out)
    monkeypatch.setattr("dialogeval.predictions.pieces.LARGE", 10)
    # So that it is clear that it is not read at once.
    monkeypatch.setattr("dialogeval.predictions.load_predictions", None)
    assert main(call) == 0
    pieces = json.loads(capsys.readouterr().out)
    for key, value in whole["metrics"].items():
        assert pieces["metrics"].pop(key)["value"] == pytest.approx(value["value"], rel=1e-12)
    assert {**pieces, "metrics": 0} == {**whole, "metrics": 0}


def test_pieces_are_the_file(messy: Path) -> None:
    read: Callable[[Path], bytes] = lambda path: b"".join(p.data for p in pieces_of(path, 25))  # noqa: E731
    assert (
        read(messy / "messy.jsonl.gz") == read(messy / "messy.jsonl") == (messy / "messy.jsonl").read_bytes()
    )
    pieces: list[Piece] = list(pieces_of(messy / "messy.parquet", 25))
    starts = [1]
    for piece in pieces[:-1]:
        starts.append(starts[-1] + piece.rows)
    assert [p.first for p in pieces] == starts and min(p.rows for p in pieces[:-1]) >= 25
    assert not can_be_cut(messy) and can_be_cut(messy / "messy.parquet")
