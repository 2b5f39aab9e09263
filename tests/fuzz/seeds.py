"""Valid files to begin with, a few kilobytes each, made anew for every run: nothing is stored.

Predictions are written by the project's own writers; of corpora the smallest dialogues of the
sample data are taken, and two formats that have no sample are written out here.
"""

from __future__ import annotations

import gzip
import io
import json
import tempfile
import zipfile
from pathlib import Path
from typing import Any

from made import predictions, turn

import dialogeval as de
from dialogeval.corpora.catalog import catalog
from dialogeval.files import read_bytes
from dialogeval.predictions.load import FORMATS
from dialogeval.predictions.writers import save_predictions
from dialogeval.resources import resource_dir

from .file_mutators import SEPARATOR

_GOLD = {"pairs", "trade", "convlab", "gt-pr"}
_TEXT = {"pairs", "turns", "mwzeval"}
_STATE = [["hotel", "area", "north"], ["hotel", "book day", "tuesday"], ["餐馆", "评分", "4.5分以上"]]


def seeds_of(name: str) -> list[bytes]:
    """Return the seeds of a target."""
    if name in FORMATS:
        return _predictions(name, ("a.json",))
    if name == "recognise":
        return [seed for format in FORMATS for seed in _predictions(format, ("a.json",))]
    if name in ("csv", "parquet"):
        return [seed for format in ("pairs", "turns") for seed in _predictions(format, (f"a.{name}",))]
    return _SEEDS[name]()


def _predictions(format: str, names: tuple[str, ...]) -> list[bytes]:
    out = []
    # As much as the format holds, and as little.
    for full in (True, False):
        gold = format in _GOLD and (full or format == "pairs")
        cells = [
            turn(
                name,
                number,
                state=_STATE[: number + 1],
                response="It's 12:15, [value_name]." if format in _TEXT and full else None,
                active_domains=["hotel"] if format in ("turns", "mwzeval") and full else None,
                gold=_STATE[:2] if gold else None,
                reference="ok" if format == "pairs" and full else None,
                user="hi" if format == "convlab" and gold else None,
            )
            for name in ("SNG01.json", "2303")
            for number in range(2)
        ]
        made = predictions(cells, format=format)
        with tempfile.TemporaryDirectory() as folder:
            for name in names:
                out.append(save_predictions(made, Path(folder, name), format).read_bytes())
    return out


def _sample(name: str, most: int = 2) -> dict[str, Any]:
    whole = json.loads(read_bytes(resource_dir("data") / "sample" / name / "test.json.zip"))
    shortest = sorted(whole, key=lambda key: len(json.dumps(whole[key])))[:most]
    return {key: whole[key] for key in shortest}


def _dump(*documents: Any) -> bytes:
    return SEPARATOR.join(json.dumps(d, ensure_ascii=False).encode() for d in documents)


def _ontology_file(name: str) -> dict[str, Any]:
    whole = json.loads((resource_dir("data") / "sample" / name / "ontology.json").read_bytes())
    return {key: values[:3] for key, values in list(whole.items())[:6]}


def _legacy(*names: str) -> list[bytes]:
    return [_dump(_sample(n, 1), _ontology_file(n)) for n in names] + [_dump(_sample(names[0], 2))]


def _schema_guided() -> list[bytes]:
    frame = {
        "service": "hotel",
        "state": {
            "active_intent": "find",
            "requested_slots": [],
            "slot_values": {"hotel-area": ["north", "up"], "hotel-bookday": ["friday"]},
        },
        "actions": [
            {"act": "INFORM", "slot": "hotel-area", "values": ["north"], "canonical_values": ["north"]}
        ],
        "slots": [{"slot": "hotel-area", "start": 3, "exclusive_end": 8, "value": "north"}],
    }
    copied = {"slot": "hotel-name", "copy_from": "hotel-area", "value": ["x"]}
    answer = {
        "service": "hotel",
        "slots": [{"slot": "hotel-name", "start": 0, "exclusive_end": 5}, copied],
        "actions": [],
    }
    turns = [
        {"speaker": "USER", "utterance": "up north please", "frames": [frame], "turn_id": "0"},
        {"speaker": "SYSTEM", "utterance": "acorn is free", "frames": [answer], "turn_id": "1"},
        {
            "speaker": "USER",
            "utterance": "bye",
            "frames": [{"service": "hotel", "state": {"slot_values": {}}}],
        },
    ]
    dialogue = {"dialogue_id": "PMUL1.json", "services": ["hotel"], "turns": turns}
    slots = [{"name": "hotel-area", "possible_values": ["north"]}, {"name": "hotel-bookday"}]
    schema = [{"service_name": "hotel", "slots": slots, "description": "", "intents": []}]
    entry = {
        "dialog_act": {"Hotel-Inform": [["area", "north"]]},
        "span_info": [["Hotel-Inform", "area", "north", 3, 8]],
    }
    acts = {"PMUL1.json": {"0": entry, "1": {"dialog_act": {}, "span_info": []}}}
    return [_dump([dialogue]), _dump([dialogue], schema), _dump([dialogue], schema, acts)]


def _unified() -> list[bytes]:
    act = {"intent": "inform", "domain": "hotel", "slot": "area", "value": "north", "start": 3, "end": 8}
    turns = [
        {
            "speaker": "user",
            "utterance": "up north please",
            "utt_idx": 0,
            "dialogue_acts": {"categorical": [act], "non-categorical": [act], "binary": []},
            "state": {"hotel": {"area": "north|centre", "book day": ""}},
        },
        {
            "speaker": "system",
            "utterance": "ok",
            "utt_idx": 1,
            "dialogue_acts": {"categorical": [], "non-categorical": [], "binary": []},
            "db_results": {},
            "booked": {"hotel": [{"name": "acorn"}]},
        },
    ]
    goal = {
        "description": "",
        "inform": {"hotel": {"book day": "friday"}},
        "request": {"hotel": {"phone": ""}},
    }
    dialogue: dict[str, Any] = {
        "dataset": "multiwoz21",
        "data_split": "test",
        "dialogue_id": "multiwoz21-test-0",
        "original_id": "A",
    }
    dialogue |= {"domains": ["hotel"], "goal": goal, "turns": turns}
    domains = {"hotel": {"slots": {"area": {"possible_values": ["north"], "is_categorical": True}}}}
    return [_dump([dialogue]), _dump([dialogue], {"domains": domains, "intents": {}})]


def _zip(**members: bytes) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "."), content)
    return out.getvalue()


def _archive_corpus() -> list[bytes]:
    data = _sample("multiwoz", 3)
    first, second, _ = data
    lists = {"testListFile__txt": f"{first}\n".encode(), "valListFile__json": f"{second}\n".encode()}
    dialogues, ontology = _unified()[1].split(SEPARATOR)
    return [
        _zip(data__json=_dump(data), **lists),
        _zip(dialogues__json=dialogues, ontology__json=ontology),
        _zip(test__json=_dump(_sample("crosswoz_en", 1))),
    ]


def _unpack() -> list[bytes]:
    text = b'{"a": [{"response": "hello"}]}'
    return [gzip.compress(text, mtime=0), _zip(a__json=text), _zip(test__json=text, readme__txt=b"x"), text]


def _alignments() -> list[bytes]:
    folder = Path(de.__file__).parent / "data" / "alignments"
    out = []
    for path in sorted(folder.glob("*.csv")):
        text = path.read_text("utf-8").splitlines()
        head = [line for line in text[:25] if ":" not in line]
        out.append("\n".join(head).encode())
    own = """domain,slot,target_domain,target_slot,relation,converter,note
hotel,area,Hotel,district,same,values:a,"a note, with a comma"
hotel,stars,Hotel,level,broader,list:b,
hotel,stars,Hotel,rating,narrower,values:a,
hotel,internet,Hotel,wifi,same,yes=有|no=没有,
hotel,name,Hotel,name,same,open,
hotel,phone,,,none,,
taxi,leave,Taxi,time,false friend,,
"""
    values = b'value,target_value\na,x\nb,"y, z"\n'
    return [*out, SEPARATOR.join((own.encode(), values, values))]


def _ontologies() -> list[bytes]:
    schema = _schema_guided()[1].split(SEPARATOR)[1]
    return [
        *(_dump(_ontology_file(n)) for n in ("multiwoz", "crosswoz", "crosswoz_en")),
        schema,
        _unified()[0],
    ]


def _databases() -> list[bytes]:
    folder = resource_dir("data") / "sample" / "multiwoz" / "db"
    names = ("hotel", "train", "restaurant", "attraction")
    tables = [json.loads((folder / f"{name}_db.json").read_bytes())[:2] for name in names]
    return [_dump(*tables), _dump(tables[0])]


def _catalogs() -> list[bytes]:
    raw = json.loads((Path(de.__file__).parent / "data" / "catalog.json").read_bytes())
    chosen = list(catalog())[:1]
    raw["corpora"] = {name: raw["corpora"][name] for name in chosen}
    for entry in raw["corpora"].values():
        entry["files"] = dict(list(entry["files"].items())[:2])
    return [_dump(raw)]


def _json() -> list[bytes]:
    return [
        b'{"a": [1, -2.5e3, true, null, "x\\u00e9\\ud83d\\ude00"], "b": {"c:": "d"}}',
        b"\xef\xbb\xbf[18446744073709551615, 1E400, {}, \"\\\"\"]",
        _predictions("mwzeval", ("a.json",))[0],
    ]  # fmt: skip


_SEEDS = {
    "multiwoz": lambda: _legacy("multiwoz", "multiwoz_zh"),
    "crosswoz": lambda: _legacy("crosswoz_en", "crosswoz"),
    "schema-guided": _schema_guided,
    "unified": _unified,
    "archive-corpus": _archive_corpus,
    "unpack": _unpack,
    "json": _json,
    "json-lines": lambda: _predictions("turns", ("a.jsonl",)),
    "alignment": _alignments,
    "ontology": _ontologies,
    "database": _databases,
    "catalog": _catalogs,
}
