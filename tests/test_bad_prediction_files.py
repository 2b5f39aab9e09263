"""Prediction files that cannot be read at all, and formats named that they do not follow."""

from __future__ import annotations

import gzip

import pytest

from dialogeval.exceptions import DataFileError, PredictionError
from dialogeval.predictions.load import load_predictions

FILES = [
    (b"", "system.json", ": is empty"),
    (b" \n", "system.json", ": is empty"),
    (
        b'{"a": [{"b": ',
        "system.json",
        ": broken JSON at line 1, column 14 (the file may be truncated): Expecting value",
    ),
    (b'{"a":\n [{"response": hello}]}', "system.json", ": broken JSON at line 2, column 16: Expecting value"),
    (
        b'{"dialogue_id": "a", "turn": 0, "response": ""}\n{"dialogue_id": "a", "turn": ',
        "system.jsonl",
        ", line 2: broken JSON at column 30 (the file may be truncated): Expecting value",
    ),
    (
        b'{"dialogue_id": "a", "turn": 0, "response": ""}\n[1]\n',
        "system.jsonl",
        ", line 2: not a JSON object: expected {…} on every line",
    ),
    (b'{"a": [{"b": NaN}]}', "system.json", ": NaN is not JSON; write null or leave the field out"),
    ('{"a": ["é"]}'.encode("latin-1"), "a.json", ": not UTF-8 at byte 8; save the file in UTF-8 encoding"),
    ('{"a": []}'.encode("utf-16"), "a.json", ": not UTF-8 at byte 0; save the file in UTF-8 encoding"),
    (
        "dialogue_id,turn,response\na,0,é\n".encode("latin-1"),
        "a.csv",
        ": not UTF-8 at byte 30; save the file in UTF-8 encoding",
    ),
    (
        gzip.compress(b'{"a": [{}]}', mtime=0)[:-9],
        "a.json.gz",
        ": broken gzip file (Compressed file ended before the end-of-stream marker was reached); compress it again",
    ),
    (b"{}", "a.json.gz", ": broken gzip file (it does not begin like one); compress it again"),
    (b"PK\x03\x04", "a.json.zip", ": broken zip file (File is not a zip file); download it again"),
]


@pytest.mark.parametrize(("data", "name", "line"), FILES)
def test_files(tmp_path, data, name, line):
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(DataFileError) as caught:
        load_predictions(path)
    assert str(caught.value) == f"{path}{line}"


def test_missing_file(tmp_path):
    with pytest.raises(DataFileError) as caught:
        load_predictions(tmp_path / "none.json")
    assert str(caught.value) == f"{tmp_path / 'none.json'}: no such file; check the path"


def test_broken_parquet(tmp_path):
    path = tmp_path / "a.parquet"
    path.write_bytes(b"PAR1 cut off here")
    with pytest.raises(DataFileError, match="broken Parquet"):
        load_predictions(path)


@pytest.mark.parametrize(
    ("format", "line"),
    [
        (
            "pairs",
            ": not format pairs: expected JSON lines, CSV or Parquet with dialogue_id and turn, "
            "got an object {'a': [{'response': 'x'}]}; check format=",
        ),
        (
            "dstc9",
            ": dialogue a, turn 0: domain 'response' of the state: expected an object {slot: value}, "
            "got a string 'x'; write {domain: {slot: value}}",
        ),
        (
            "trade",
            ": dialogue a, turn 0: the turn: expected an object with turn_belief and pred_bs_ptr, "
            "got an object {'response': 'x'}",
        ),
        (
            "convlab",
            ": not format convlab: expected a list of objects, got an object {'a': [{'response': 'x'}]}; check format=",
        ),
    ],
)
def test_wrong_format_named(tmp_path, format, line):
    path = tmp_path / "system.json"
    path.write_text('{"a": [{"response": "x"}]}')
    with pytest.raises(PredictionError) as caught:
        load_predictions(path, format=format)
    assert str(caught.value) == f"{path}{line}"


def test_rows_are_no_object_of_dialogues(tmp_path):
    path = tmp_path / "system.json"
    path.write_text('{"dialogue_id": "a", "turn": 0, "response": "x"}')
    with pytest.raises(PredictionError) as caught:
        load_predictions(path, format="mwzeval")
    assert str(caught.value) == (
        f"{path}: not format mwzeval: expected an object of dialogues, "
        "got rows with dialogue_id and turn; check format="
    )
