"""Predictions of the package's baselines on the sample test splits; needs dialogeval installed.

Run after `make.py`: `python data/generator/baselines.py --out data/sample`. The baselines are trained on the
sample train splits and are deterministic.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import dialogeval as de

#: Baselines by corpus, and the format each is written in.
WANTED = {
    "multiwoz": {"value-matching": "mwzeval", "carry-over": "mwzeval", "most-frequent": "mwzeval",
                 "nearest-neighbour": "mwzeval", "ngram": "mwzeval"},
    "multiwoz_zh": {"value-matching": "turns", "nearest-neighbour": "turns"},
    "crosswoz": {"value-matching": "turns"},
    "crosswoz_en": {"value-matching": "turns", "carry-over": "turns", "empty": "turns"},
}  # fmt: skip
ENDINGS = {"mwzeval": "json.gz", "turns": "jsonl.gz"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True)
    out = parser.parse_args().out
    for corpus, baselines in WANTED.items():
        train = de.load_corpus(f"sample/{corpus}", split="train")
        test = de.load_corpus(f"sample/{corpus}", split="test")
        folder = out / "predictions" / corpus
        folder.mkdir(parents=True, exist_ok=True)
        for name, form in baselines.items():
            predictions = de.run_baseline(name, train, test)
            path = folder / f"baseline_{name.replace('-', '_')}.{ENDINGS[form]}"
            de.save_predictions(predictions, path, form)
            print(f"{path}: {predictions!r}")


if __name__ == "__main__":
    main()
