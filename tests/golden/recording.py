"""Golden values of the sample data: recorded before code moves, compared after it.

`record` computes, through the public face alone, the scores of every sample system under every protocol
that applies, the tables of every sample corpus, and what every alignment does to states. ``runs.csv``,
``scores.csv`` and ``tables.csv`` come out; `make golden` writes them again.
"""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

import pandas as pd

import dialogeval as de

HERE = Path(__file__).parent
SAMPLE = HERE.parents[1] / "data" / "sample"
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


def record() -> dict[str, pd.DataFrame]:
    """Everything that is recorded, by the name of its file."""
    runs, values = scores()
    return {"runs": runs, "scores": values, "tables": tables()}


if __name__ == "__main__":
    for name, table in record().items():
        table.to_csv(HERE / f"{name}.csv", index=False, float_format="%.17g")
