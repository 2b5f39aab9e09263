"""The venue database: where it lies, what it answers, what is wrong with it."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path

import pytest
import recipes_change as slow
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz import fuzz

from dialogeval.corpora.load import load_corpus
from dialogeval.exceptions import CorpusError, DataFileError
from dialogeval.metrics.task import Database, database_from_entries, load_database
from dialogeval.mwzeval import NO_CONSTRAINT, partial_ratio
from dialogeval.resources import resource_dir
from dialogeval.tables import Corpus

ACORN = {
    "name": "acorn guest house",
    "area": "north",
    "stars": "4",
    "internet": "yes",
    "price": {"double": "70"},
}
MILTON = {"name": "alpha-milton guest house", "area": "north", "stars": "3", "internet": "?"}
BELFRY = {"name": "the cambridge belfry", "area": "west", "stars": 4, "internet": "yes"}
HOTELS = [ACORN, MILTON, BELFRY]
PLACES = {"departure": "cambridge", "destination": "ely"}
TRAINS = [
    {"trainID": "TR1", "arriveBy": "09:51", "leaveAt": "09:00", **PLACES},
    {"trainID": "TR2", "arriveBy": "24:07", "leaveAt": "23:16", **PLACES, "destination": "norwich"},
]


def entries(database: Database, domain: str, constraints: dict[str, str]) -> list[int]:
    """Number the entries that fit: the bits of the answer."""
    bits = database.fitting(domain, constraints)
    return [i for i in range(len(database.tables[domain])) if bits >> i & 1]


@pytest.fixture
def database() -> Database:
    return database_from_entries({"hotel": HOTELS, "train": TRAINS}, "toy")


@pytest.mark.parametrize(
    ("domain", "constraints", "fitting"),
    [
        ("hotel", {}, [0, 1, 2]),
        *[("hotel", {"area": "north"}, [0, 1]), ("hotel", {"area": "North"}, [])],
        *[("hotel", {"area": "north", "stars": "4"}, [0]), ("hotel", {"stars": "4"}, [0, 2])],
        *[("hotel", {"stars": "none"}, []), ("hotel", {"internet": "no"}, [1])],
        *[("hotel", {"name": "acorn guest house"}, [0]), ("hotel", {"name": "belfry"}, [2])],
        ("hotel", {"name": ""}, []),
        ("hotel", {"people": "3", "bookday": "monday", "stay": "2"}, [0, 1, 2]),
        ("hotel", {"price": "70"}, [1, 2]),
        *[("hotel", {"area": anything}, [0, 1, 2]) for anything in sorted(NO_CONSTRAINT)],
        *[("train", {"arrive": "10:00"}, [0]), ("train", {"arrive": "09:51"}, [0])],
        *[("train", {"arrive": "24:30"}, [0, 1]), ("train", {"leave": "09:00"}, [0, 1])],
        *[("train", {"leave": "09:01"}, [1]), ("train", {"arrive": "10:am"}, [])],
        *[("train", {"leave": ""}, [0, 1]), ("train", {"destination": "elyy"}, [0])],
        ("train", {"trainid": "TR2"}, [1]),
    ],
)
def test_queries(database: Database, domain: str, constraints: dict[str, str], fitting: list[int]) -> None:
    for _ in range(2):  # the second answer comes from memory
        assert entries(database, domain, constraints) == fitting


def test_a_domain_without_a_table_has_no_entries(database: Database) -> None:
    assert database.fitting("taxi", {}) == database.fitting("taxi", {"leave": "09:00"}) == 0


NAMES = st.text(alphabet="aeh lnostu'", max_size=12)


@given(NAMES, NAMES)
def test_partial_ratio_is_the_classic_one_and_never_above_rapidfuzz(one: str, other: str) -> None:
    got = partial_ratio(one, other)
    if one == other:
        assert got == 100
    elif not one or not other:
        assert got == 0
    else:
        assert got == pytest.approx(slow.partial_ratio(one, other))
        assert got <= fuzz.partial_ratio(one, other) + 1e-9


def test_partial_ratio_of_the_known_example() -> None:
    pair = ("acorn guest house", "alpha-milton guest house")
    assert fuzz.partial_ratio(*pair) > 90 > partial_ratio(*pair)
    assert round(partial_ratio(*pair)) == 85


@given(st.lists(NAMES, min_size=1, max_size=8), NAMES)
def test_the_screen_loses_no_entry(names: list[str], wanted: str) -> None:
    database = database_from_entries({"hotel": [{"name": n} for n in names]})
    expected = [i for i, n in enumerate(names) if partial_ratio(wanted, n) >= 90]
    assert entries(database, "hotel", {"name": wanted}) == expected


def test_a_lacking_field_is_counted_and_fits_any_value() -> None:
    hotels = [{"name": "a", "area": "north"}, {"name": "b", "area": None}]
    database = database_from_entries({"hotel": hotels}, "toy")
    assert database.notes == ("toy: 1 of 2 hotel entries lack area, which then fits any value",)
    assert entries(database, "hotel", {"area": "south"}) == [1]


@pytest.mark.parametrize("wrong", [{"name": "a"}, ["TR1"]])
def test_what_is_no_database_is_refused(wrong: object) -> None:
    with pytest.raises(CorpusError, match=r"^hotel_db\.json"):
        database_from_entries({"hotel": wrong})


def test_sample_database_by_name_corpus_and_folder() -> None:
    folder = resource_dir("data") / "sample" / "multiwoz"
    by_name = load_database("sample/multiwoz")
    assert by_name.name == "sample/multiwoz"
    assert len(by_name.version) == 7
    assert not by_name.notes
    for other in (load_corpus("sample/multiwoz"), folder, folder / "db"):
        again = load_database(other)
        assert again.version == by_name.version
        assert all(again.tables[d].equals(by_name.tables[d]) for d in by_name.tables)


@pytest.mark.parametrize("there", [(), ("hotel",)])
def test_an_absent_or_half_fetched_database_names_what_lacks(tmp_path: Path, there: tuple[str, ...]) -> None:
    folder = tmp_path / "multiwoz21" / "db"
    folder.mkdir(parents=True)
    for domain in there:
        shutil.copy(resource_dir("data") / "sample" / "multiwoz" / "db" / f"{domain}_db.json", folder)
    with pytest.raises(DataFileError, match=r"dialogeval fetch multiwoz21$") as caught:
        load_database("multiwoz21", home=tmp_path)
    domains = ("attraction", "hotel", "restaurant", "train")
    assert [d for d in domains if f"{d}_db.json" in str(caught.value)] == [
        d for d in domains if d not in there
    ]


def test_a_folder_of_the_users_own(tmp_path: Path) -> None:
    with pytest.raises(DataFileError, match="put them there"):
        load_database(tmp_path)
    (tmp_path / "hotel_db.json").write_text(json.dumps(HOTELS))
    assert list(load_database(tmp_path).tables) == ["hotel"]
    (tmp_path / "hotel_db.json").write_text("[{]")
    with pytest.raises(DataFileError, match=r"hotel_db\.json"):
        load_database(tmp_path)


def test_an_official_archive_carries_its_database(tmp_path: Path) -> None:
    path = tmp_path / "MultiWOZ_2.1.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("MultiWOZ_2.1/hotel_db.json", json.dumps(HOTELS))
        archive.writestr("MultiWOZ_2.1/taxi_db.json", json.dumps({"taxi_colors": ["black"]}))
        log = [{"text": "a", "metadata": {}}, {"text": "b", "metadata": {}}]
        archive.writestr("MultiWOZ_2.1/data.json", json.dumps({"A.json": {"goal": {}, "log": log}}))
        archive.writestr("MultiWOZ_2.1/testListFile.txt", "A.json\n")
        archive.writestr("MultiWOZ_2.1/valListFile.txt", "")
    for source in (path, load_corpus(path)):
        assert list(load_database(source).tables) == ["hotel"]


def test_a_corpus_from_nowhere_has_no_database() -> None:
    with pytest.raises(DataFileError, match="mine"):
        load_database(Corpus("mine"))


def test_real_database(real_data) -> None:
    database = load_database("multiwoz21", home=real_data)
    sizes = {d: len(t) for d, t in database.tables.items()}
    assert sizes == {"attraction": 79, "hotel": 33, "restaurant": 110, "train": 2828}
    assert database.notes == ()
    assert load_database(load_corpus("multiwoz21", home=real_data)).version == database.version
    chinese = {"area": "centre", "food": "chinese", "name": "dontcare"}
    assert len(entries(database, "restaurant", chinese)) == 10
