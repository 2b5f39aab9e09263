"""Golden values of the sample data: recorded before code moves, compared after it.

`record` computes, through the public face alone, the scores of every sample system under every protocol
that applies, the tables of every sample corpus, what every alignment does to states, and ``metrics.json``
of the reports. ``runs.csv``, ``scores.csv``, ``tables.csv`` and ``reports.csv`` come out; `make golden` writes
them again.
"""

from __future__ import annotations

import json
import sys
from hashlib import sha256
from pathlib import Path
from subprocess import run
from tempfile import TemporaryDirectory

import pandas as pd

import dialogeval as de

HERE = Path(__file__).parent
SAMPLE = HERE.parents[1] / "data" / "sample"
REPORTS = ("state_tracking", "generation", "leaderboard", "transfer")
CORPORA = ("crosswoz", "crosswoz_en", "multiwoz", "multiwoz_zh")
RESAMPLES = 100
PAIRS = (("multiwoz", "multiwoz_zh"), ("multiwoz", "crosswoz_en"), ("crosswoz", "crosswoz_en"))
ALIGNED = (*PAIRS, *((other, one) for one, other in PAIRS))


def systems(corpus: str) -> list[str]:
    """The sample prediction files of a corpus."""
    return sorted(p.name for p in (SAMPLE / "predictions" / corpus).iterdir())


def scores() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Score every sample file under every protocol and missing policy: a row a run, and a row a metric."""
    runs, values = [], []
    for corpus in CORPORA:
        gold = de.load_corpus(f"sample/{corpus}")
        for system in systems(corpus):
            for protocol in de.PROTOCOLS:
                for missing in ("error", "empty", "skip"):
                    place = {"corpus": corpus, "system": system, "protocol": protocol, "missing": missing}
                    path = SAMPLE / "predictions" / corpus / system
                    try:
                        found = de.score(gold, path, protocol, missing=missing, resamples=RESAMPLES)
                    except de.DialogevalError as error:
                        runs.append(place | {"refused": type(error).__name__})
                        continue
                    covered = "/".join(map(str, found.coverage.to_dict().values()))
                    # The version is no part of what is guarded.
                    signature = found.signature.rpartition("|v:")[0]
                    runs.append(
                        place
                        | {"covered": covered, "warnings": str(len(found.warnings)), "signature": signature}
                    )
                    table = found.table[["value", "low", "high"]].reset_index(names="metric")
                    values.append(pd.DataFrame([place]).merge(table, how="cross"))
                    if found.coverage.turns_scored == found.coverage.turns_in_corpus:
                        break  # with nothing missing the three policies are one
    return pd.DataFrame(runs).fillna(""), pd.concat(values, ignore_index=True)


def tables() -> pd.DataFrame:
    """One row a table: how many rows it has, and a digest of what they say."""
    rows = []
    for corpus in CORPORA:
        for split in ("train", "val", "test"):
            loaded = de.load_corpus(f"sample/{corpus}", split=split)
            for name in ("turns", "states", "alternatives", "goals", "spans", "acts", "dialogues"):
                rows.append((f"{corpus}/{split}/{name}", *digest(getattr(loaded, name))))
        for system in systems(corpus):
            loaded = de.load_predictions(SAMPLE / "predictions" / corpus / system)
            for name in ("states", "responses", "active_domains"):
                if getattr(loaded, name) is not None:
                    rows.append((f"{corpus}/{system}/{name}", *digest(getattr(loaded, name))))
    for one, other in ALIGNED:
        alignment = de.load_alignment(f"{one}__{other}")
        predictions = de.as_predictions(de.load_corpus(f"sample/{one}"), "gold")
        rows.append((f"{one}__{other}/states", *digest(de.map_predictions(predictions, alignment).states)))
        if one.partition("_")[0] != other.partition("_")[0]:
            continue  # their dialogues are not the same ones
        found = de.score(f"sample/{other}", predictions, "lin2021", alignment=alignment, resamples=RESAMPLES)
        rows.append((f"{one}__{other}/scores", *digest(found.table[["value", "low", "high"]].round(12))))
    return pd.DataFrame(rows, columns=["table", "rows", "digest"])


def digest(table: pd.DataFrame) -> tuple[int, str]:
    """The number of rows, and a checksum that does not depend on their order."""
    lines = sorted(table.to_csv(index=False, header=False).splitlines())
    return len(table), sha256("\n".join([*table.columns, *lines]).encode()).hexdigest()[:12]


def reports() -> pd.DataFrame:
    """One row a score in each report's ``metrics.json``, run on the sample data with the notebook's settings."""
    rows = []
    with TemporaryDirectory() as folder:
        for report in REPORTS:
            command = [sys.executable, "-m", "dialogeval", "report", report, "--out", f"{folder}/{report}"]
            run(command, check=True, capture_output=True)
            (file,) = Path(folder, report).rglob("metrics.json")
            rows += [{"report": report} | row for row in scored(json.loads(file.read_text("utf-8")))]
    return pd.DataFrame(rows)


def scored(node: object, place: str = "") -> list[dict[str, object]]:
    """The values and intervals anywhere in nested JSON, and of pairs of systems the corrected p."""
    rows: list[dict[str, object]] = []
    for name, below in node.items() if isinstance(node, dict) else ():
        if name == "metrics":
            rows += [{"place": place, "metric": key} | row for key, row in below.items()]
        elif name == "pairs":
            p = [pair["p_holm"] for pair in below if pair["p_holm"] is not None]
            rows.append({"place": place, "metric": f"p of {len(p)} pairs", "value": sum(p)})
        else:
            rows += scored(below, f"{place}/{name}")
    return rows


def record() -> dict[str, pd.DataFrame]:
    """Everything that is recorded, by the name of its file."""
    runs, values = scores()
    return {"runs": runs, "scores": values, "tables": tables(), "reports": reports()}


if __name__ == "__main__":
    for name, table in record().items():
        table.to_csv(HERE / f"{name}.csv", index=False, float_format="%.17g")
