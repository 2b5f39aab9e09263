"""The sample corpora: repeatable, in the real formats, parallel, and as noisy as they say."""

from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import dialogeval as de

DATA = Path(__file__).resolve().parent.parent / "data"
SAMPLE = DATA / "sample"
SPLITS = {"train": 120, "val": 40, "test": 60}
CORPORA = ("multiwoz", "multiwoz_zh", "crosswoz", "crosswoz_en")


def read(path: Path) -> Any:
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            return json.loads(archive.read(archive.namelist()[0]))
    data = path.read_bytes()
    return json.loads(gzip.decompress(data) if path.suffix == ".gz" else data)


def content(path: Path) -> object:
    """What a file holds; how tightly it is packed depends on the zlib that Python was built with."""
    if path.suffix == ".gz":
        return gzip.decompress(path.read_bytes()), path.read_bytes()[4:8]
    if path.suffix == ".zip":
        with zipfile.ZipFile(path) as archive:
            return [(i.filename, i.date_time, archive.read(i)) for i in archive.infolist()]
    return path.read_bytes()


def generate(out: Path) -> dict[str, Path]:
    command = [sys.executable, "-B", str(DATA / "generator" / "make.py"), "--out", str(out)]
    subprocess.run(command, check=True, capture_output=True)
    return {p.relative_to(out).as_posix(): p for p in out.rglob("*") if p.is_file()}


@pytest.fixture(scope="module")
def corpora() -> dict[tuple[str, str], dict[str, Any]]:
    return {(c, s): read(SAMPLE / c / f"{s}.json.zip") for c in CORPORA for s in SPLITS}


@pytest.fixture(scope="module")
def noise() -> dict[str, Any]:
    return read(SAMPLE / "noise.json")


def test_generator_writes_what_is_committed(tmp_path: Path) -> None:
    first, second = generate(tmp_path / "a"), generate(tmp_path / "b")
    assert [p.read_bytes() for p in first.values()] == [second[n].read_bytes() for n in first]
    for name, path in first.items():
        assert content(path) == content(SAMPLE / name), name


def test_baselines_are_what_is_committed(tmp_path: Path) -> None:
    command = [sys.executable, "-B", str(DATA / "generator" / "baselines.py"), "--out", str(tmp_path)]
    subprocess.run(command, check=True, capture_output=True)
    made = sorted(p.relative_to(tmp_path) for p in tmp_path.rglob("*") if p.is_file())
    assert made == sorted(p.relative_to(SAMPLE) for p in SAMPLE.rglob("baseline_*"))
    for name in made:
        assert content(tmp_path / name) == content(SAMPLE / name), name


def test_sizes(corpora: dict) -> None:
    files = [p for p in DATA.rglob("*") if p.is_file() and "__pycache__" not in p.parts]
    assert sum(p.stat().st_size for p in files) < 3_000_000
    assert all(len(d) == SPLITS[split] for (_, split), d in corpora.items())


def test_names_are_invented(real_data: Path) -> None:
    real = read(real_data / "multiwoz21" / "ontology.json")
    ours = read(SAMPLE / "multiwoz" / "ontology.json")
    for key in ("hotel-semi-name", "restaurant-semi-name", "attraction-semi-name"):
        assert not set(ours[key]) & set(real[key])
    real, ours = (read(f / "crosswoz_en" / "ontology.json") for f in (real_data, SAMPLE))
    for key in ("Attraction-name", "Restaurant-name", "Hotel-name"):
        assert ours[key]
        assert not {n.strip() for n in ours[key]} & {n.strip() for n in real[key]}


def keys_of(value: object, path: str = "") -> set[str]:
    """The keys of nested objects, lists merged; names of dialogues, acts and domains are left out."""
    if isinstance(value, list):
        return set().union(*(keys_of(v, f"{path}[]") for v in value)) if value else {f"{path}[]"}
    if isinstance(value, dict):
        return set().union(*(keys_of(v, f"{path}.{k}") for k, v in value.items())) if value else {path}
    return {path}


def test_formats_have_the_keys_of_the_real_files(real_data: Path, corpora: dict) -> None:
    for name in CORPORA:
        folder = "multiwoz21" if name == "multiwoz" else name
        real = read(real_data / folder / "test.json.zip")
        ours = corpora[name, "test"]
        for part in ("log", "messages"):
            if part not in next(iter(real.values())):
                continue
            for field in ("metadata", "sys_state", "sys_state_init", "user_state"):
                theirs = set().union(
                    *(keys_of(t[field]) for d in real.values() for t in d[part] if field in t)
                )
                mine = set().union(*(keys_of(t[field]) for d in ours.values() for t in d[part] if field in t))
                assert mine <= theirs, (name, field, mine - theirs)
        acts = {a for d in real.values() for t in d.get("log", ()) for a in t["dialog_act"]}
        assert {a for d in ours.values() for t in d.get("log", ()) for a in t["dialog_act"]} <= acts
        triples = {
            tuple(a[:3]) for d in real.values() for m in d.get("messages", ()) for a in m["dialog_act"]
        }
        mine = {tuple(a[:3]) for d in ours.values() for m in d.get("messages", ()) for a in m["dialog_act"]}
        # Single facilities are told apart in the acts; the real test split happens to lack some.
        assert {a for a in mine - triples if "acilities" not in a[2] and "设施" not in a[2]} == set()
    for domain in ("restaurant", "hotel", "attraction", "train"):
        real_db = read(real_data / "multiwoz21" / "db" / f"{domain}_db.json")
        ours_db = read(SAMPLE / "multiwoz" / "db" / f"{domain}_db.json")
        assert {k for e in ours_db for k in e} <= {k for e in real_db for k in e}
        assert all(type(e[k]) is type(real_db[0][k]) for e in ours_db for k in e if k in real_db[0])


@pytest.mark.parametrize("split", SPLITS)
def test_chinese_and_english_are_parallel(corpora: dict, split: str) -> None:
    for en, zh, part, text in (
        ("multiwoz", "multiwoz_zh", "log", "text"),
        ("crosswoz_en", "crosswoz", "messages", "content"),
    ):
        assert list(corpora[en, split]) == list(corpora[zh, split])
        for name, entry in corpora[en, split].items():
            other = corpora[zh, split][name][part]
            assert len(entry[part]) == len(other)
            for a, b in zip(entry[part], other, strict=True):
                assert re.search("[a-z]", a[text]) and not re.search("[\u4e00-\u9fff]", a[text])
                assert re.search("[\u4e00-\u9fff]", b[text])
                acts_a, acts_b = a["dialog_act"], b["dialog_act"]
                if part == "log":
                    assert [len(v) for v in acts_a.values()] == [len(v) for v in acts_b.values()]
                assert len(acts_a) == len(acts_b)
        if part == "log":
            for a, b in zip(corpora[en, split].values(), corpora[zh, split].values(), strict=True):
                for x, y in zip(a["log"][1::2], b["log"][1::2], strict=True):
                    assert len(filled(x)) == len(filled(y))


def filled(turn: dict[str, Any]) -> dict[tuple[str, str, str], str]:
    """The slots of a system turn's metadata that hold a value."""
    empty = {"", "not mentioned", "none", "未提及"}
    return {
        (d, p, s): v
        for d, parts in turn["metadata"].items()
        for p, slots in parts.items()
        for s, v in slots.items()
        if s != "booked" and v not in empty
    }


ACT_SLOTS = {
    "Depart": ("semi", "departure"), "Dest": ("semi", "destination"), "Leave": ("semi", "leaveAt"),
    "Arrive": ("semi", "arriveBy"), "Price": ("semi", "pricerange"),
} | {
    name.capitalize(): ("semi", name) for name in ("area", "food", "name", "type", "stars", "parking", "internet")
} | {name.capitalize(): ("book", name) for name in ("day", "people", "stay", "time")}  # fmt: skip


def told(turn: dict[str, Any]) -> dict[tuple[str, str, str], str]:
    """What the user says, by the acts, as slots of the metadata."""
    out = {}
    for act, items in turn["dialog_act"].items():
        domain, kind = act.lower().split("-")
        for slot, value in items:
            if kind == "inform" and slot in ACT_SLOTS:
                part, name = ACT_SLOTS[slot]
                out[domain, "semi" if (domain, slot) == ("train", "Day") else part, name] = value
    return out


@pytest.mark.parametrize("split", SPLITS)
def test_noise_of_multiwoz_is_as_stated(corpora: dict, noise: dict, split: str) -> None:
    found: Counter[str] = Counter()
    # The last dialogue is a copy and was not drawn.
    for entry in list(corpora["multiwoz", split].values())[:-1]:
        users, states = entry["log"][0::2], [filled(t) for t in entry["log"][1::2]]
        known: dict = {}
        for t, user in enumerate(users):
            for key, value in told(user).items():
                annotated = states[t].get(key, "")
                if key not in known and not annotated:
                    found["late_slot" if states[t + 1].get(key) else "missing_slot"] += 1
                elif annotated and annotated != value and known.get(key) != value:
                    found["alternatives_after_change" if "|" in annotated else "spelling_variant"] += 1
                known[key] = value
        nones = {
            (d, s)
            for turn in entry["log"][1::2]
            for d, parts in turn["metadata"].items()
            for s, v in parts["semi"].items()
            if v == "none"
        }
        found["none_value"] += len(nones)
    counted = noise["counted"][f"multiwoz/{split}"]
    for kind in ("late_slot", "missing_slot", "alternatives_after_change", "spelling_variant", "none_value"):
        assert found[kind] == counted[kind]["events"], kind


@pytest.mark.parametrize("split", SPLITS)
def test_noise_of_crosswoz_is_as_stated(corpora: dict, noise: dict, split: str) -> None:
    found: Counter[str] = Counter()
    for entry in corpora["crosswoz_en", split].values():
        users, systems = entry["messages"][0::2], entry["messages"][1::2]
        known = set()
        for t, (user, message) in enumerate(zip(users, systems, strict=True)):
            state = message["sys_state_init"]
            for kind, domain, slot, _ in user["dialog_act"]:
                slot = "Hotel Facilities" if slot.startswith("Hotel Facilities") else slot
                # A name is a wish only where the user brings it up: by then nothing was found.
                spoken_of = slot == "name" and state[domain]["selectedResults"]
                if kind != "Inform" or (domain, slot) in known or spoken_of or slot not in state[domain]:
                    continue
                known.add((domain, slot))
                if not state[domain][slot].strip(" ").replace("none", ""):
                    later = systems[t + 1]["sys_state_init"][domain][slot].strip().replace("none", "")
                    found["late_slot" if later else "missing_slot"] += 1
    counted = noise["counted"][f"crosswoz/{split}"]
    for kind in ("late_slot", "missing_slot"):
        assert found[kind] == counted[kind]["events"], kind


def test_crosswoz_oddities_are_as_stated(corpora: dict, noise: dict) -> None:
    measured = noise["measured"]
    values = [
        v
        for split in SPLITS
        for d in corpora["crosswoz_en", split].values()
        for m in d["messages"][1::2]
        for cells in m["sys_state_init"].values()
        for s, v in cells.items()
        if s != "selectedResults" and v
    ]
    odd = [v for v in values if "\xa0" in v or v != v.strip()]
    stated = measured["crosswoz_en values with odd blanks"]
    assert (stated["cases"], stated["events"]) == (len(values), len(odd))
    assert any("\xa0" in v for v in odd) and "none" in values and "none " in values
    assert measured["crosswoz lists of selectedResults with several names"]["events"] > 30
    assert measured["crosswoz turns whose sys_state differs from sys_state_init"]["events"] > 30


#: By the ending of the name; the first that fits.
FORMATS = {
    ".submission.json.gz": "dstc9", "/pairs_tracker_careful.jsonl": "pairs", ".jsonl.gz": "turns", ".jsonl": "turns",
    ".csv": "turns", "/trade_tracker_eager.json": "trade", "/convlab_tracker_eager.json": "convlab",
    "/gt_pr_tracker_stale.json": "gt-pr", ".json.gz": "mwzeval",
}  # fmt: skip
FILES = [
    p.relative_to(SAMPLE / "predictions").as_posix() for p in sorted((SAMPLE / "predictions").glob("*/*"))
]


@pytest.mark.parametrize("name", FILES)
def test_the_package_reads_the_predictions(name: str) -> None:
    predictions = de.load_predictions(SAMPLE / "predictions" / name)
    assert predictions.format == next(form for end, form in FORMATS.items() if name.endswith(end))
    gold = de.load_corpus(f"sample/{name.split('/')[0]}", split="test")
    part = gold.select(list(predictions.turns["dialogue_id"].unique()))
    assert len(predictions.turns) == len(part.turns)


def test_systems_err_as_their_profiles_say() -> None:
    for corpus, ending in (("multiwoz", "json.gz"), ("crosswoz_en", "jsonl.gz")):
        gold = de.load_corpus(f"sample/{corpus}", split="test")
        score = {}
        for name in ("careful", "sloppy", "stale"):
            file = SAMPLE / "predictions" / corpus / f"tracker_{name}.{ending}"
            score[name] = de.score(gold, de.load_predictions(file), protocol="lin2021", resamples=0)
        jga = {n: s["joint_goal_accuracy"] for n, s in score.items()}
        assert jga["careful"] > jga["stale"] > jga["sloppy"], (corpus, jga)


def test_states_of_the_two_languages_say_the_same() -> None:
    """What the alignment can translate is the other language's gold; the rest it does not know."""
    for english, chinese in (("multiwoz", "multiwoz_zh"), ("crosswoz_en", "crosswoz")):
        gold, other = (de.load_corpus(f"sample/{name}") for name in (chinese, english))
        predictions = de.as_predictions(other)
        found = de.attribute_losses(gold, predictions, f"{english}__{chinese}", "trade", resamples=0)
        assert found.table.loc[["missing", "spurious"], "triples"].sum() == 0
        assert found.table.loc["wrong", "triples"] < 0.02 * len(gold.states)
