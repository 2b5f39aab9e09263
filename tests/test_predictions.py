"""Reading predictions: real files counted by hand with the json module, and every format and shape once."""

from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path

import pandas as pd
import pytest

from dialogeval.exceptions import PredictionError, UnknownNameError
from dialogeval.predictions.load import FORMATS, load_predictions

STATE = {"hotel": {"area": "north", "stars": ""}, "taxi": {"leaveat": "17:15 "}}
TRIPLES = [["hotel", "area", "north"], ["hotel", "stars", ""], ["taxi", "leaveat", "17:15 "]]
ROWS = [("a1", 0, *t) for t in TRIPLES]


def write(folder: Path, content: object, name: str = "system.json") -> Path:
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), encoding="utf-8")
    return path


def lines(*rows: dict) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def rows_of(frame: pd.DataFrame) -> list[tuple]:
    return list(frame.itertuples(index=False, name=None))


@pytest.mark.parametrize(
    ("system", "dialogues", "turns", "triples"),
    [
        ("augpt", 1000, 7372, 39793),
        ("damd", 999, 7354, 30797),
        ("hdsa", 1000, 7372, None),
        ("lava", 1000, 7372, None),
        ("pptod", 1000, 7371, 37113),
        ("sfn", 1000, 7372, None),
        ("soloist", 1000, 7372, 29947),
        ("ubar", 1000, 7372, 38902),
        ("uniconv", 1000, 7372, 32777),
    ],
)
def test_published_systems(real_data, system, dialogues, turns, triples):
    path = real_data / "predictions" / "multiwoz" / f"{system}.json"
    got = load_predictions(path)
    assert (got.name, got.format, got.notes) == (system, "mwzeval", ())
    assert (got.turns["dialogue_id"].nunique(), len(got.turns)) == (dialogues, turns)
    assert triples == (None if got.states is None else len(got.states))
    truth = json.loads(path.read_bytes())
    assert got.responses["response"].tolist() == [t["response"] for turns in truth.values() for t in turns]
    if triples:
        assert rows_of(got.states) == [
            (name, i, d, s, v)
            for name, ts in truth.items()
            for i, t in enumerate(ts)
            for d, slots in t["state"].items()
            for s, v in slots.items()
        ]
    if got.active_domains is not None:
        assert rows_of(got.active_domains) == [
            (name, i, d) for name, ts in truth.items() for i, t in enumerate(ts) for d in t["active_domains"]
        ]


def test_the_two_gaps_of_the_published_systems(real_data):
    folder = real_data / "predictions" / "multiwoz"
    sizes = {
        s: load_predictions(folder / f"{s}.json").turns.groupby("dialogue_id").size()
        for s in ("damd", "pptod", "ubar")
    }
    assert len(set(sizes["ubar"].index) - set(sizes["damd"].index)) == 1
    short = sizes["ubar"] - sizes["pptod"]
    assert short[short != 0].tolist() == [1]


@pytest.mark.parametrize(
    ("system", "dialogues", "turns", "predicted", "gold"),
    [
        ("augpt", 1000, 7372, 39793, 41843),
        ("damd", 999, 7354, 30797, 41691),
        ("pptod", 999, 7366, 37097, 41821),
        ("ubar", 1000, 7372, 38902, 41843),
    ],
)
def test_state_cases(real_cases, system, dialogues, turns, predicted, gold):
    path = real_cases / "states" / f"{system}.jsonl.gz"
    got = load_predictions(path)
    assert (got.name, got.format, got.notes) == (system, "pairs", ())
    assert (got.turns["dialogue_id"].nunique(), len(got.turns)) == (dialogues, turns)
    truth = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    for frame, key, count in ((got.states, "pred", predicted), (got.gold.states, "gold", gold)):
        assert len(frame) == count
        assert rows_of(frame) == [(r["dialogue_id"], r["turn"], *t) for r in truth for t in r[key]]
    assert (got.gold.family, got.gold.name, len(got.gold.turns)) == ("pairs", "own", turns)


@pytest.mark.parametrize("system", ["hdsa", "lava", "ubar"])
def test_response_cases(real_cases, system):
    path = real_cases / "responses" / f"{system}.pairs.jsonl.gz"
    got = load_predictions(path)
    truth = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    assert (got.name, got.format, got.states) == (system, "pairs", None)
    assert got.responses["response"].tolist() == [r["response"] for r in truth]
    assert got.gold.turns["system"].tolist() == [r["reference"] for r in truth]
    assert set(got.gold.turns["user"]) == {""}


@pytest.mark.parametrize(
    ("name", "dialogues", "turns", "values", "filled"),
    [("crosswoz_en_test", 500, 4238, 110188, 19954), ("multiwoz_zh_test", 1000, 7372, 221179, 59172)],
)
def test_dstc9_submissions_keep_every_byte(real_cases, name, dialogues, turns, values, filled):
    path = real_cases / "dstc9" / f"{name}.submission.json.gz"
    got = load_predictions(path)
    assert (got.name, got.format, got.responses) == (name, "dstc9", None)
    assert (got.turns["dialogue_id"].nunique(), len(got.turns), len(got.states)) == (dialogues, turns, values)
    assert int((got.states["value"] != "").sum()) == filled
    truth = json.loads(gzip.decompress(path.read_bytes()))
    flat = [v for ts in truth.values() for t in ts for slots in t.values() for v in slots.values()]
    assert got.states["value"].tolist() == flat
    assert list(got.original_ids.values()) == list(truth)


DOCUMENTS = {
    "mwzeval": {"A1.json": [{"state": STATE}]},
    "dstc9": {"A1.json": [STATE]},
    "trade": {
        "A1.json": {"0": {"turn_belief": ["hotel-area-south"], "pred_bs_ptr": ["-".join(t) for t in TRIPLES]}}
    },
    "gt-pr": {"A1.json": {"0": {"gt": {"hotel-area": "south"}, "pr": TRIPLES}}},
    "convlab": [
        {
            "dialogue_id": "A1.json",
            "utt_idx": 0,
            "state": {"hotel": {"area": "south"}},
            "predictions": {"state": STATE},
        }
    ],
    "turns": lines({"dialogue_id": "A1.json", "turn": 0, "state": STATE}),
    "pairs": lines(
        {"dialogue_id": "A1.json", "turn": 0, "gold": [["hotel", "area", "south"]], "pred": TRIPLES}
    ),
}


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("given", [None, "named"])
def test_every_format_is_recognised(tmp_path, format, given):
    got = load_predictions(write(tmp_path, DOCUMENTS[format]), format=given and format)
    assert got.format == format
    assert rows_of(got.states) == ROWS
    assert got.original_ids == {"a1": "A1.json"}
    assert (got.gold is not None) == (format in ("trade", "gt-pr", "convlab", "pairs"))
    if got.gold is not None:
        assert rows_of(got.gold.states) == [("a1", 0, "hotel", "area", "south")]


@pytest.mark.parametrize(
    "state",
    [
        STATE,
        {"hotel-area": "north", "hotel-stars": "", "taxi-leaveat": "17:15 "},
        {"hotel": STATE["hotel"], "taxi-leaveat": "17:15 "},
        TRIPLES,
        [["hotel-area", "north"], ["hotel-stars", ""], ["taxi-leaveat", "17:15 "]],
        [{"domain": d, "slot": s, "value": v} for d, s, v in TRIPLES],
    ],
    ids=["nested", "flat", "mixed", "triples", "pairs", "rows"],
)
def test_shapes_of_a_state(tmp_path, state):
    got = load_predictions(write(tmp_path, {"a1": [state]}), format="dstc9")
    assert rows_of(got.states) == ROWS and got.notes == ()


def test_repairs_are_counted(tmp_path):
    state = {"hotel": {"stars": 4, "people": 2.0, "name": ["the lensfield"], "area": "north"}}
    again = [["hotel", "area", "north"], ["hotel", "area", "north"]]
    got = load_predictions(write(tmp_path, {"a": [state, again]}))
    assert got.states["value"].tolist() == ["4", "2", "the lensfield", "north", "north"]
    assert got.notes == (
        "2 values were numbers and are read as text",
        "1 values were lists of one string and are read as that string",
        "1 triples stand twice in one state and are counted once",
    )


def test_fields_that_are_not_used_are_counted(tmp_path):
    got = load_predictions(
        write(tmp_path, {"a": [{"response": "x", "acts": []}, {"response": "y", "acts": []}]})
    )
    assert got.notes == ("field 'acts' of 2 turns is not used",)


def test_null_active_domains_mean_none_were_predicted(tmp_path):
    got = load_predictions(write(tmp_path, {"a": [{"response": "x", "active_domains": None}]}))
    assert got.active_domains is None


def test_turns_with_empty_states_are_kept(tmp_path):
    got = load_predictions(write(tmp_path, {"a": [{}, {"hotel": {}}], "b": [[]]}))
    assert rows_of(got.turns) == [("a", 0), ("a", 1), ("b", 0)]
    assert got.states is not None and len(got.states) == 0


def test_keyed_turns_are_ordered_by_number(tmp_path):
    turns = {str(i): {"d": {"s": str(i)}} for i in reversed(range(11))}
    got = load_predictions(write(tmp_path, {"a": turns}))
    assert got.states["value"].tolist() == [str(i) for i in range(11)]


def test_lines_in_any_order(tmp_path):
    content = lines(*({"dialogue_id": d, "turn": t, "response": f"{d}{t}"} for t in (1, 0) for d in "ba"))
    got = load_predictions(write(tmp_path, content))
    assert got.responses["response"].tolist() == ["b0", "b1", "a0", "a1"]


def test_lines_that_skip_turns_are_noted(tmp_path):
    content = lines(*({"dialogue_id": "a", "turn": t, "response": ""} for t in (0, 1, 3)))
    got = load_predictions(write(tmp_path, content))
    assert len(got.turns) == 3
    assert got.notes == ("1 dialogue skips turn numbers (dialogue a, turns 0, 1, 3: turn 2 is missing)",)


def test_gold_slots_without_value_are_annotated_but_not_filled(tmp_path):
    row = {"dialogue_id": "a", "turn": 0, "gold": [["d", "s", ""], ["d", "t", "x"]], "pred": []}
    gold = load_predictions(write(tmp_path, lines(row))).gold
    assert rows_of(gold.states) == [("a", 0, "d", "t", "x")]
    assert rows_of(gold.layouts) == [(0, "d", "s"), (0, "d", "t")]


def test_trade_splits_at_the_first_two_hyphens(tmp_path):
    belief = ["hotel-book day-tuesday", "taxi-leave at-17-15", "train-price range-a - b"]
    got = load_predictions(write(tmp_path, {"a": {"0": {"turn_belief": [], "pred_bs_ptr": belief}}}))
    assert [r[2:] for r in rows_of(got.states)] == [
        ("hotel", "book day", "tuesday"),
        ("taxi", "leave at", "17-15"),
        ("train", "price range", "a - b"),
    ]


def test_convlab_without_ids_numbers_its_dialogues(tmp_path):
    samples = [
        {"utt_idx": i, "speaker": "user", "utterance": "hi", "predictions": {"state": {}}} for i in (0, 2, 0)
    ]
    got = load_predictions(write(tmp_path, samples))
    assert rows_of(got.turns) == [("0", 0), ("0", 1), ("1", 0)]
    assert got.notes == ("the file has no dialogue ids: its 2 dialogues are numbered from 0",)


def test_convlab_system_samples_hold_responses(tmp_path):
    sample = {"dialogue_id": "a", "utt_idx": 1, "speaker": "system", "utterance": "gold"}
    got = load_predictions(write(tmp_path, [sample | {"predictions": {"response": "mine"}}]))
    assert rows_of(got.responses) == [("a", 0, "mine")]
    assert got.gold.turns["system"].tolist() == ["gold"]


def test_convlab_dialogues(tmp_path):
    turns = [
        {"speaker": "user", "utt_idx": 0, "utterance": "hi", "state": {"d": {"s": "x"}}},
        {"speaker": "system", "utt_idx": 1, "utterance": "ho"},
        {"speaker": "user", "utt_idx": 2, "utterance": "bye", "state": {"d": {"s": "y"}}},
    ]
    got = load_predictions(write(tmp_path, [{"dialogue_id": "a", "turns": turns}]))
    assert rows_of(got.states) == [("a", 0, "d", "s", "x"), ("a", 1, "d", "s", "y")]
    assert got.gold is None


@pytest.mark.parametrize("kind", ["csv", "parquet", "parquet struct", "json array"])
def test_turns_as_a_table(tmp_path, kind):
    texts = ['says "hi",\nthen leaves', "nan", ""]
    states = [{"hotel": {"area": "north"}}, {"hotel": {"area": "south"}, "taxi": {"leaveat": "1"}}, {}]
    frame = pd.DataFrame(
        {"dialogue_id": ["A", "A", "b"], "turn": [0, 1, 0], "state": states, "response": texts}
    )
    path = tmp_path / "system.dat"
    if kind == "json array":
        path.write_text(frame.to_json(orient="records"))
    elif kind == "parquet struct":
        frame.to_parquet(path)
    else:
        frame["state"] = frame["state"].map(json.dumps)
        if kind == "csv":
            frame.to_csv(path, index=False, quoting=1)
        else:
            frame.to_parquet(path)
    got = load_predictions(path)
    assert got.format == "turns" and got.responses["response"].tolist() == texts
    assert [r[2:] for r in rows_of(got.states)] == [
        ("hotel", "area", "north"),
        ("hotel", "area", "south"),
        ("taxi", "leaveat", "1"),
    ]


def test_archives_and_byte_order_mark(tmp_path):
    data = b"\xef\xbb\xbf" + json.dumps(DOCUMENTS["dstc9"]).encode()
    (tmp_path / "one.submission.json.gz").write_bytes(gzip.compress(data))
    with zipfile.ZipFile(tmp_path / "gpt-3.5.json.zip", "w") as archive:
        archive.writestr("inside.json", data)
    names = {
        load_predictions(p).name for p in tmp_path.iterdir() if rows_of(load_predictions(p).states) == ROWS
    }
    assert names == {"one", "gpt-3.5"}


def test_names(tmp_path):
    path = write(tmp_path, DOCUMENTS["dstc9"])
    assert load_predictions(path, name="mine").name == "mine"
    with pytest.raises(UnknownNameError, match="unknown format 'dstc8': did you mean dstc9"):
        load_predictions(path, format="dstc8")


def test_named_format_overrides_what_would_be_recognised(tmp_path):
    path = write(tmp_path, {"a": [{"state": {"response": "x"}}]})
    assert load_predictions(path, format="dstc9").states["domain"].tolist() == ["state"]
    with pytest.raises(PredictionError):
        load_predictions(path)
