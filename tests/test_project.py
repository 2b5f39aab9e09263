"""The project itself: what its files promise one another, its size, and what it must not contain."""

from __future__ import annotations

import ast
import io
import os
import re
import subprocess
import sys
import tokenize
import tomllib
import zipfile
from graphlib import TopologicalSorter
from pathlib import Path
from types import FunctionType

import pytest
import yaml

import dialogeval
import dialogeval as de

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = sorted((ROOT / "dialogeval").rglob("*.py"))
#: Names that differ between PyPI and conda-forge.
CONDA = {
    "lazy_loader": "lazy-loader",
    "matplotlib-base": "matplotlib",
    "python-build": "build",
    "playwright-python": "playwright",
}


def bounds(requirements: list[str]) -> dict[str, str]:
    return dict(r.split(">=") for r in requirements)  # type: ignore[misc]


def test_environment_and_pyproject_are_in_step() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    listed = bounds([d for d in environment if isinstance(d, str) and d != "pip"])
    assert listed.pop("python") == project["requires-python"].removeprefix(">=") == "3.11"
    conda = {CONDA.get(name, name): bound for name, bound in listed.items()}
    wanted = bounds(project["dependencies"])
    for name, extra in project["optional-dependencies"].items():
        if name not in ("site", "fuzz"):  # built and run by make alone
            wanted |= bounds(extra)
    assert conda == wanted


def test_every_dependency_is_explained_in_the_readme() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    readme = (ROOT / "README.md").read_text()
    missing = [name for name in bounds(project["dependencies"]) if f"| {name} |" not in readme]
    assert missing == []


def test_versions_agree() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert project["version"] == dialogeval.__version__ == citation["version"]
    assert "## [Unreleased]" in (ROOT / "CHANGELOG.md").read_text()


def code_lines(path: Path) -> int:
    """Count lines that hold code: no blank lines, comments or docstrings."""
    source = path.read_text(encoding="utf-8")
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(
            node, clean=False
        ):
            docstrings |= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    skip = {
        tokenize.COMMENT,
        tokenize.NL,
        tokenize.NEWLINE,
        tokenize.INDENT,
        tokenize.DEDENT,
        tokenize.ENDMARKER,
    }
    tokens = tokenize.generate_tokens(io.StringIO(source).readline)
    lines = {n for t in tokens if t.type not in skip for n in range(t.start[0], t.end[0] + 1)}
    return len(lines - docstrings)


def test_the_package_can_be_held_in_mind() -> None:
    # The design asks for 7,800 lines in 45 files of at most 400 lines. On the way there these figures only fall.
    sources = [p.read_text(encoding="utf-8") for p in PACKAGE]
    assert sum(map(code_lines, PACKAGE)) <= 11_020
    assert len(sources) <= 68 and max(len(s.splitlines()) for s in sources) <= 525


def test_imports_point_down() -> None:
    """No circle, imports inside functions and for type checkers included."""
    names = {
        p: ".".join(p.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for p in PACKAGE
    }
    imports: dict[str, set[str]] = {}
    for path, name in names.items():
        found = set()
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.level == 0 and node.module:
                whole = {alias.name: f"{node.module}.{alias.name}" for alias in node.names}
                found |= {w if w in names.values() else node.module for w in whole.values()}
        imports[name] = (found & set(names.values())) - {name, "dialogeval"}
    order = tuple(TopologicalSorter(imports).static_order())  # raises CycleError
    assert len(order) >= len(imports) - 1


def test_public_functions_are_documented_with_an_example() -> None:
    functions = [f for f in (getattr(de, name) for name in de.__all__) if isinstance(f, FunctionType)]
    assert [f.__name__ for f in functions if ">>>" not in (f.__doc__ or "")] == []
    assert sorted(dir(de)) == sorted(de.__all__)


def tracked() -> list[Path]:
    out = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout.decode()
    return [ROOT / name for name in out.split("\0") if name and (ROOT / name).is_file()]


def test_nothing_of_one_machine_is_committed() -> None:
    forbidden = re.compile(r"/(root|work|home)/\w|pypi\.org|\.library\b|/tmp/\w", re.IGNORECASE)
    found = []
    for path in tracked():
        if path.suffix in (".zip", ".gz", ".png", ".parquet") or path.name == "test_project.py":
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if match := forbidden.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {match[0]}")
    assert found == []


def test_import_stays_cheap() -> None:
    code = "import sys, dialogeval; print(sorted({m.split('.')[0] for m in sys.modules}))"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    for heavy in (
        "matplotlib",
        "nltk",
        "papermill",
        "sklearn",
        "sacrebleu",
        "sacremoses",
        "pooch",
        "distributed",
        "IPython",
    ):
        assert f"'{heavy}'" not in loaded


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT],
        check=True,
        capture_output=True,
    )
    return next(folder.glob("*.whl"))


def test_wheel_away_from_the_checkout(wheel: Path, tmp_path: Path) -> None:
    """Unpack the wheel away from the checkout; what it carries is enough (reports from it: test-long)."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "site")}

    def run(*arguments: str) -> str:
        command = [sys.executable, "-P", "-m", "dialogeval", *arguments]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    code = "import dialogeval.report as r; print(r.__file__, *map(r.find_report, r.REPORTS), sep='\\n')"
    where = subprocess.run(
        [sys.executable, "-P", "-c", code], env=environment, capture_output=True, text=True
    ).stdout.splitlines()
    assert len(where) > 4 and all(Path(line).is_relative_to(tmp_path) for line in where)
    assert all(Path(line).is_file() for line in where)
    assert "4 of 4 files here" in run("corpora")
    name = "sample/predictions/multiwoz/tracker_careful.json.gz"
    gold = ("--corpus", "sample/multiwoz_zh", "--align", "multiwoz__multiwoz_zh", "--protocol", "lin2021")
    assert "joint_goal_accuracy" in run("score", name, *gold)


def test_the_examples_of_the_readme_run(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), flags=re.S)
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)
    said = capsys.readouterr().out
    assert "hotel_jga" in said and said.count("signature: ") == len(blocks)
    hotels = names["de"].score(
        "sample/multiwoz", "sample/predictions/multiwoz/tracker_sloppy.json.gz", names["mine"]
    )
    assert hotels.by("turn")["hotel_jga"].iloc[-1] == pytest.approx(hotels["hotel_jga"])
    assert hotels.table.at["hotel_jga", "low"] < hotels["hotel_jga"] < hotels.table.at["hotel_jga", "high"]
