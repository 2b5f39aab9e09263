"""The catalog against the published list of files, and where data is looked for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from dialogeval.corpora.catalog import (
    catalog,
    cite,
    corpora_table,
    corpus_entry,
    data_home,
    file_entry,
    file_url,
    local_file,
    split_parts,
)
from dialogeval.corpora.download import fetch, is_intact
from dialogeval.exceptions import DataFileError, UnknownNameError, UsageError
from dialogeval.resources import find_resource, resource_dir

FAMILIES = {"multiwoz", "crosswoz", "schema_guided", "unified", "predictions"}


def test_every_entry_is_complete():
    for name, entry in catalog().items():
        assert entry.name == name and entry.title and entry.licence and entry.reference
        assert entry.family in FAMILIES and entry.language in {"en", "zh"}
        assert set(entry.published) <= set(entry.splits)
        locals_ = [f.local for f in entry.files.values()]
        assert len(set(locals_)) == len(locals_)
        for part, file in entry.files.items():
            assert (file.corpus, file.part) == (name, part)
            assert file.local.startswith(f"{name}/") and ".." not in file.local
            assert file.split in {"", *entry.splits} and file.licence
            if not name.startswith("sample/"):
                assert len(file.git_blob_sha1) == 40 and len(file.commit) == 40 and file.repository


def test_entries_are_read_only_and_hashable():
    entry = corpus_entry("crosswoz")
    with pytest.raises(AttributeError):
        entry.title = "x"  # type: ignore[misc]
    with pytest.raises(TypeError):
        entry.files["test"] = None  # type: ignore[index]
    assert catalog() is catalog() and len({entry, corpus_entry("crosswoz_en")}) == 2


def test_published_counts():
    published = corpus_entry("multiwoz21").published
    assert [published[s]["dialogues"] for s in ("train", "val", "test")] == [8438, 1000, 1000]
    assert sum(p["dialogues"] for p in published.values()) == 10438
    assert sum(p["utterances"] for p in published.values()) == 143048
    assert "10,423" in corpus_entry("multiwoz21").note
    assert [p["dialogues"] for p in corpus_entry("crosswoz_en").published.values()] == [5012, 500, 500]
    assert corpus_entry("crosswoz_en").published["test"]["utterances"] == 8476


def test_split_parts():
    assert split_parts("multiwoz22", "test") == ("test/001", "test/002")
    assert len(split_parts("multiwoz22", "train")) == 17
    assert split_parts("multiwoz_zh", "human_val") == ("human_val",)
    assert split_parts("sample/crosswoz", "val") == split_parts("sample/crosswoz", "dev") == ("val",)
    with pytest.raises(UnknownNameError, match=r"unknown split of crosswoz 'all': .*known: train, val, test"):
        split_parts("crosswoz", "all")


def test_local_names_follow_one_pattern():
    assert local_file("crosswoz_en", "train", "h") == Path("h/crosswoz_en/train.json.zip")
    assert local_file("multiwoz22", "test/001", "h") == Path("h/multiwoz22/test/dialogues_001.json")
    assert local_file("multiwoz22", "dev/002", "h") == Path("h/multiwoz22/dev/dialogues_002.json")
    assert local_file("multiwoz21", "db/hotel", "h") == Path("h/multiwoz21/db/hotel_db.json")
    assert local_file("predictions/multiwoz", "dots", "h") == Path("h/predictions/multiwoz/dots.json")


def test_urls():
    commit = "fe0c8e65cfcd8462bd33c86e35f21addc84ca82b"
    expected = (
        f"https://raw.githubusercontent.com/budzianowski/multiwoz/{commit}/data/MultiWOZ_2.2/schema.json"
    )
    assert file_url(file_entry("multiwoz22", "schema")) == expected
    assert file_url(file_entry("multiwoz22", "schema"), "http://127.0.0.1:8/").startswith(
        "http://127.0.0.1:8/bud"
    )
    with pytest.raises(UsageError, match="sample/multiwoz comes with dialogeval"):
        file_url(file_entry("sample/multiwoz", "test"))


def test_unknown_names_offer_close_ones():
    with pytest.raises(UnknownNameError, match="unknown corpus 'crosswoz_eng': did you mean crosswoz_en"):
        corpus_entry("crosswoz_eng")
    with pytest.raises(UnknownNameError, match="unknown part of crosswoz 'tset': did you mean test"):
        file_entry("crosswoz", "tset")


def test_cite():
    assert cite("multiwoz21").startswith("[eric2020multiwoz] Mihail Eric, ")
    assert cite("predictions/multiwoz").startswith("[nekvinda2021shades] ")


def test_data_home(tmp_path, monkeypatch):
    monkeypatch.setenv("DIALOGEVAL_DATA", str(tmp_path))
    assert data_home() == tmp_path
    assert data_home("given") == Path("given")
    monkeypatch.delenv("DIALOGEVAL_DATA")
    assert data_home().name == "dialogeval" and data_home().is_absolute()
    file = tmp_path / "a.txt"
    file.write_text("x")
    with pytest.raises(UsageError, match="the data home is a file: expected a folder"):
        data_home(file)
    with pytest.raises(UsageError, match="empty path"):
        data_home("")


def test_corpora_table_tells_what_is_here(tmp_path):
    table = corpora_table(tmp_path).set_index("corpus")
    assert list(table.index) == list(catalog())
    assert table.loc["crosswoz_en", "files_here"] == 0 and table.loc["crosswoz_en", "splits_here"] == ""
    # A file of the wrong size is not here; one of unknown size is.
    for part in ("test", "train"):
        path = local_file("crosswoz_en", part, tmp_path)
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(b"short")
    row = corpora_table(tmp_path).set_index("corpus").loc["crosswoz_en"]
    assert (row["files"], row["files_here"], row["splits_here"]) == (6, 1, "train")
    assert row["missing"] == "val, test, human_val, dstc9-250, ontology"


def test_resource_dir_in_checkout_and_wheel(tmp_path):
    assert resource_dir("data").is_dir()
    package = tmp_path / "site-packages" / "dialogeval"
    (package.parent / "data").mkdir(parents=True)  # someone else's
    with pytest.raises(DataFileError, match="dialogeval/bundle/data: no such folder; reinstall"):
        find_resource("data", package)
    (package / "bundle" / "data").mkdir(parents=True)
    assert find_resource("data", package) == package / "bundle" / "data"


def test_catalog_holds_every_published_file(real_data):
    theirs = json.loads((real_data / "catalog.json").read_text(encoding="utf-8"))
    ours = {n: e for n, e in catalog().items() if not n.startswith("sample/")}
    files_of = {n: f for n, f in theirs["files"].items() if not n.startswith("ratings/")}
    assert set(ours) == set(files_of)
    for name, files in files_of.items():
        assert sorted(ours[name].files) == sorted(files)
        for part, facts in files.items():
            mine = vars(ours[name].files[part])
            assert {k: mine[k] for k in facts} == facts
            assert mine["licence"] == theirs["licences"][facts["repository"]]


def test_real_files_are_intact_and_not_fetched_again(real_data):
    here = [
        (n, p)
        for n, e in catalog().items()
        for p, f in e.files.items()
        if f.sha256 and not n.startswith("sample/")
    ]
    assert len(here) == 26
    for name, part in here:
        assert is_intact(file_entry(name, part), local_file(name, part, real_data))
    # Port 9 is closed: any attempt to download would fail.
    table = fetch(
        "crosswoz_en", real_data, ["test", "ontology"], base_url="http://127.0.0.1:9", progress="none"
    )
    assert table["status"].tolist() == ["already complete"] * 2
    row = corpora_table(real_data).set_index("corpus").loc["multiwoz21"]
    assert (row["files_here"], row["splits_here"], row["missing"]) == (7, "val, test", "train")
