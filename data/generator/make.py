"""Write the sample corpora and the simulated systems' predictions: ``python make.py --out data/sample``.

Two runs write the same bytes. The text of the data card says what is in them.
"""

from __future__ import annotations

import argparse
import copy
import json
import zipfile
from pathlib import Path
from typing import Any

import cw_talk
import cw_world
import cw_write
import mw_goal
import mw_talk
import mw_world
import mw_write
import predict
from dice import Dice
from noise import RATES, Tally

SIZES = {"train": 120, "val": 40, "test": 60}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="folder to write; made if it is not there")
    out = parser.parse_args().out
    report: dict[str, Any] = {"chances": RATES, "counted": {}}
    multiwoz_talks = _multiwoz(out, report)
    crosswoz_talks = _crosswoz(out, report)
    report["measured"] = _measure(out)
    write_json(out / "noise.json", report, indent=1)
    predict.write(out, multiwoz_talks, crosswoz_talks)


def _multiwoz(out: Path, report: dict[str, Any]) -> dict[str, mw_talk.Talk]:
    database = mw_world.build()
    corpora, number, test = [], 0, {}
    for split, size in SIZES.items():
        english: dict[str, Any] = {}
        chinese: dict[str, Any] = {}
        tally = Tally()
        talks = {}
        for i in range(size - 1):
            number += 1
            dice = Dice(f"multiwoz/{split}/{i}")
            goal = mw_goal.draw(dice, database)
            talk = mw_talk.hold(dice, goal, database)
            name = _multiwoz_id(number, len(goal))
            talks[name] = talk
            english[name], chinese[name] = mw_write.dialogue(talk, name, tally)
        number += 1
        twin, name = list(english)[7], f"SMP{number:04d}"
        english[name], chinese[name] = copy.deepcopy(english[twin]), copy.deepcopy(chinese[twin])
        talks[name] = talks[twin]
        write_zip(out / "multiwoz" / f"{split}.json.zip", f"{split}.json", english)
        write_zip(out / "multiwoz_zh" / f"{split}.json.zip", f"{split}.json", chinese)
        corpora.append((english, chinese))
        report["counted"][f"multiwoz/{split}"] = tally.as_json()
        test = talks
    names = {d: [e["name"] for e in database[d]] for d in ("restaurant", "hotel", "attraction")}
    english, chinese = mw_write.ontology(corpora, names)
    write_json(out / "multiwoz" / "ontology.json", english, indent=1)
    write_json(out / "multiwoz_zh" / "ontology.json", chinese, indent=1)
    for domain, entries in database.items():
        write_json(
            out / "multiwoz" / "db" / f"{domain}_db.json", entries, indent=None if domain == "train" else 1
        )
    return test


def _multiwoz_id(number: int, domains: int) -> str:
    """Ids as mixed as the real ones: SNGS for one domain, SMP or PSMP for more, a few in lower case."""
    prefix = "SNGS" if domains == 1 else ("SMP", "PSMP")[number % 3 == 0]
    name = f"{prefix}{number:04d}"
    return name.capitalize() if number % 23 == 0 else name


def _crosswoz(out: Path, report: dict[str, Any]) -> dict[str, cw_talk.Talk]:
    places = cw_world.build()
    corpora: tuple[list, list] = ([], [])
    number, test = 20000, {}
    for split, size in SIZES.items():
        both: tuple[dict, dict] = ({}, {})
        tally = Tally()
        talks = {}
        for i in range(size):
            number += 7
            # The last dialogue repeats an earlier one word for word, as crowd workers' data sometimes does.
            talk = (
                cw_talk.hold(Dice(f"crosswoz/{split}/{i}"), places)
                if i < size - 1
                else list(talks.values())[5]
            )
            name = str(number)
            talks[name] = talk
            for language, entry in enumerate(cw_write.dialogue(talk, name, tally)):
                both[language][name] = entry
        for language, folder in enumerate(("crosswoz_en", "crosswoz")):
            write_zip(out / folder / f"{split}.json.zip", f"{split}.json", both[language])
            corpora[language].append(both[language])
        report["counted"][f"crosswoz/{split}"] = tally.as_json()
        test = talks
    for language, folder in enumerate(("crosswoz_en", "crosswoz")):
        write_json(out / folder / "ontology.json", cw_write.ontology(corpora[language], language), indent=1)
    return test


def _measure(out: Path) -> dict[str, Any]:
    """Properties that are read off the finished files."""
    spans = differ = 0
    for split in SIZES:
        for entry in read_zip(out / "multiwoz" / f"{split}.json.zip").values():
            for turn in entry["log"]:
                words = turn["text"].split()
                for _, _, value, first, last in turn["span_info"]:
                    spans += 1
                    differ += " ".join(words[first : last + 1]).lower() != value.lower()
    states = relaxed = results = several = values = odd = 0
    for split in SIZES:
        for entry in read_zip(out / "crosswoz_en" / f"{split}.json.zip").values():
            for message in entry["messages"][1::2]:
                init, after = message["sys_state_init"], message["sys_state"]
                states += 1
                relaxed += any(
                    init[d][s] != after[d][s] for d in init for s in init[d] if s != "selectedResults"
                )
                lists = [
                    cells["selectedResults"]
                    for d, cells in init.items()
                    if d != "Metro" and cells["selectedResults"]
                ]
                results += len(lists)
                several += sum(len(r) > 1 for r in lists)
                filled = [
                    v for cells in init.values() for s, v in cells.items() if s != "selectedResults" and v
                ]
                values += len(filled)
                odd += sum("\xa0" in v or v != v.strip() for v in filled)
    return {
        "multiwoz spans whose text differs from the value": _share(differ, spans),
        "crosswoz turns whose sys_state differs from sys_state_init": _share(relaxed, states),
        "crosswoz lists of selectedResults with several names": _share(several, results),
        "crosswoz_en values with odd blanks": _share(odd, values),
    }


def _share(part: int, whole: int) -> dict[str, float]:
    return {"cases": whole, "events": part, "rate": round(part / whole, 4)}


def write_json(path: Path, content: Any, indent: int | None = None) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(
        json.dumps(content, ensure_ascii=False, indent=indent) + "\n", encoding="utf-8", newline="\n"
    )


def write_zip(path: Path, member: str, content: Any) -> None:
    """A zip of one file; the fixed date keeps the bytes the same from run to run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    info = zipfile.ZipInfo(member, date_time=(2021, 1, 1, 0, 0, 0))
    info.compress_type, info.create_system, info.external_attr = zipfile.ZIP_DEFLATED, 3, 0o644 << 16
    text = json.dumps(content, ensure_ascii=False, indent=1)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(info, text.encode(), compresslevel=9)


def read_zip(path: Path) -> Any:
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read(archive.namelist()[0]))


if __name__ == "__main__":
    main()
