"""Run the tests against each mutant of the scores: ``python -m mutants`` with tests/ on the path.

Mutants never touch a file. One warm process holds the collected tests; for each mutant it forks a child
that swaps the code of one function and runs the tests that run this function, until one fails. Mutants of
code that runs at import (tables of metrics, defaults) get a child that imports the package anew.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import gc
import importlib
import json
import os
import random
import resource
import sys
import time
from collections import Counter
from contextlib import suppress
from functools import partial
from pathlib import Path
from types import CodeType
from typing import Any

from .operators import Mutant, mutants
from .session import ROOT, SLOW, Session, import_as, in_child, swap, telling

FILES = [*sorted((ROOT / "dialogeval/metrics").glob("*.py")), ROOT / "dialogeval/resampling.py"]
MODULES = {f: ".".join(f.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for f in FILES}
TESTS = "bleu change_scores comparison distinct dstc9 goal mutants_counts mutants_metrics mutants_tasks mutants_texts refusals "
TESTS += "richness scoring state_scores task task_pairing"
PATHS = [*(str(f.relative_to(ROOT)) for f in FILES), *(f"tests/test_{name}.py" for name in TESTS.split())]
TABLES = "tests/test_mutants_metrics.py"
#: Seconds of processor time; a mutant that takes longer is killed.
TIMEOUT = 20


def others() -> list[str]:
    """Modules of other packages that the tests import: imported before any fork, they cost nothing."""
    Session(lambda _: None).run(PATHS)
    files = {name: str(getattr(module, "__file__", None)) for name, module in sys.modules.items()}
    ours = (str(ROOT / "dialogeval"), str(ROOT / "tests"))
    return [name for name, file in files.items() if not file.startswith(ours)]


class Run:
    """The mutants of a run, and what became of them."""

    def __init__(self, choice: argparse.Namespace) -> None:
        self.choice = choice
        self.trees = {file: ast.parse(file.read_text()) for file in FILES}
        self.results: list[dict[str, Any]] = []
        self.kills: Counter[tuple[str | None, str]] = Counter()
        self.measured: dict[str, Any] = {}

    def chosen(self) -> dict[Path, list[Mutant]]:
        """Mutants by file: all, a seeded sample of each file's, or what an earlier run left alive."""
        left = None
        if self.choice.again:
            rows = map(json.loads, Path(self.choice.again).read_text().splitlines())
            left = {(r["module"], r["source"], r["what"]) for r in rows if r["killer"] is None}
        found = {}
        for file in FILES:
            if self.choice.module not in (None, MODULES[file].split(".")[-1]):
                continue
            every = mutants(self.trees[file])
            if left is not None:
                every = [m for m in every if (MODULES[file], m.source, m.what) in left]
            elif self.choice.share < 1:
                size = min(len(every), max(30, round(self.choice.share * len(every))))
                chance = random.Random(f"{self.choice.seed}{file.name}")
                every = sorted(chance.sample(every, size), key=lambda m: m.line)
            found[file] = every
        return found

    def code(self, file: Path, mutant: Mutant) -> CodeType:
        mutant.put(mutant.new)
        code = compile(ast.fix_missing_locations(self.trees[file]), str(file), "exec", dont_inherit=True)
        mutant.put(mutant.old)
        return code

    def tests_of(self, function: str | None, seconds: dict[str, float]) -> list[str]:
        """The tests that run a function, likely killers first, as far as the budget goes."""
        ran = self.measured["ran"]
        tests = [t for t in seconds if seconds[t] < SLOW and (not function or function in ran[t])]
        tests.sort(key=lambda t: seconds[t] / (1 + 3 * self.kills[function, t]))
        spent, kept = 0.0, []
        for test in tests:
            spent += seconds[test]
            if spent < self.choice.budget:
                kept.append(test)
        return kept

    def record(self, file: Path, mutant: Mutant, killer: str | None, began: float) -> None:
        if str(killer).startswith("error: "):
            raise RuntimeError(f"{MODULES[file]}, line {mutant.line}, {mutant.what}: {killer}")
        row = {"module": MODULES[file], "line": mutant.line, "what": mutant.what, "source": mutant.source}
        self.results.append(row | {"killer": killer, "seconds": round(time.time() - began, 2)})
        self.kills[f"{MODULES[file]}:{mutant.owner}", str(killer)] += 1
        with Path(self.choice.out).open("a") as out:
            out.write(json.dumps(self.results[-1], ensure_ascii=False) + "\n")

    def at_import(self, file: Path, mutant: Mutant) -> bool:
        return mutant.owner is None or f"{MODULES[file]}:{mutant.owner}" in self.measured["at_import"]

    def swapped(self) -> dict[str, Any]:
        """Collect the tests once, then fork for each mutant of a function."""

        def attempt(session: Session, file: Path, owner: str, code: CodeType, tests: list[str]) -> str | None:
            swap(MODULES[file], owner, code)
            return session.first_failure(tests)

        def work(session: Session) -> None:
            self.measured = in_child(session.measure, log=self.log)
            gc.freeze()  # else the first collection of every child copies all pages
            for file, every in self.chosen().items():
                for mutant in every:
                    if not self.at_import(file, mutant):
                        began, code = time.time(), self.code(file, mutant)
                        tests = self.tests_of(f"{MODULES[file]}:{mutant.owner}", self.measured["seconds"])
                        child = partial(attempt, session, file, mutant.owner, code, tests)
                        self.record(file, mutant, in_child(child, TIMEOUT) if tests else None, began)

        builtins.ran_functions = set()
        import_as({MODULES[file]: telling(MODULES[file], file) for file in FILES})
        Session(work).run(PATHS)
        return {"measured": self.measured, "results": self.results}

    def imported(self) -> None:
        """Import everything anew for each mutant of code that runs at import."""
        for name in in_child(others):
            with suppress(ImportError):  # some parts of packages are there once the package is
                importlib.import_module(name)

        def attempt(module: str, code: CodeType, paths: list[str]) -> str | None:
            import_as({module: code})
            verdict: list[str | None] = ["import"]

            def work(session: Session) -> None:
                seconds = {test: self.measured["seconds"].get(test, 0.0) for test in session.items}
                verdict[0] = session.first_failure(self.tests_of(None, seconds))

            Session(work).run(paths)
            return verdict[0]

        for file, every in self.chosen().items():
            # Importing tests is what takes time here: those that use the module most, and those of the tables.
            uses = Counter(
                test.split("::")[0]
                for test, ran in self.measured["ran"].items()
                if self.measured["seconds"][test] < SLOW
                and any(f.startswith(MODULES[file] + ":") for f in ran)
            )
            paths = list(dict.fromkeys([TABLES, *(path for path, _ in uses.most_common(4))]))
            for mutant in every:
                if self.at_import(file, mutant):
                    began, child = (
                        time.time(),
                        partial(attempt, MODULES[file], self.code(file, mutant), paths),
                    )
                    self.record(file, mutant, in_child(child, TIMEOUT), began)

    @property
    def log(self) -> str:
        return f"{self.choice.out}.log"

    def table(self) -> str:
        """Figures by module, as tests/README.md has them."""
        lines = ["| module | mutants | killed | survived | score |", "|---|---:|---:|---:|---:|"]
        for name in [*dict.fromkeys(r["module"] for r in self.results), "all"]:
            of = [r["killer"] is None for r in self.results if name in (r["module"], "all")]
            killed = len(of) - sum(of)
            lines.append(f"| `{name}` | {len(of)} | {killed} | {sum(of)} | {100 * killed / len(of):.0f} % |")
        return "\n".join(lines)


def main() -> None:
    """Parse the command line and run."""
    parser = argparse.ArgumentParser(prog="mutants", description="Which small faults do the tests notice?")
    parser.add_argument("--share", type=float, default=1.0, help="share of the mutants, a seeded sample")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--budget", type=float, default=4.0, help="seconds of tests a mutant, fastest first")
    parser.add_argument("--module", help="only this one, such as change")
    parser.add_argument("--again", help="only what survived in this file of results")
    parser.add_argument("--out", default=str(ROOT / "build" / "mutants.jsonl"))
    run = Run(parser.parse_args())
    Path(run.choice.out).parent.mkdir(parents=True, exist_ok=True)
    for old in (run.choice.out, run.log):
        Path(old).unlink(missing_ok=True)
    os.chdir(ROOT)
    sys.path.insert(0, str(ROOT))
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
    done = in_child(run.swapped, log=run.log)
    if not isinstance(done, dict):
        raise SystemExit(f"stopped: see {run.log}")
    run.measured, run.results = done["measured"], done["results"]
    run.imported()
    print(run.table())
    for row in run.results:
        if row["killer"] is None:
            print(f"{row['module']}:{row['line']}: {row['what']}: {row['source']}")


if __name__ == "__main__":
    main()
