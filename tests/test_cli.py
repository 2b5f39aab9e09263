"""The command line: its JSON contract, one true process per command, one clear line for bad input."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from dialogeval.cli import main

SAMPLE = "sample/multiwoz"
TRACKERS = [f"sample/predictions/crosswoz_en/tracker_{name}.jsonl.gz" for name in ("careful", "sloppy")]
COVERED = (("dialogues", 2), ("turns", 3))


def run(*arguments: str, cwd: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "dialogeval", *arguments],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=os.environ | environment,
        check=False,
        timeout=300,
    )


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Run a command that must fail and return its one line."""
    try:
        code = main(list(arguments))
    except SystemExit as stop:
        code = int(stop.code or 0)
    out, err = capsys.readouterr()
    assert code == 2, (out, err)
    assert out == ""
    assert err.startswith("dialogeval") and err.endswith("\n") and err.count("\n") == 1, err
    assert "Traceback" not in err
    return err.strip()


@pytest.fixture
def pairs(tmp_path: Path) -> Path:
    north = [["hotel", "area", "north"]]
    turns = [("d1", 0, north, north), ("d1", 1, north, []), ("d2", 0, [], [])]
    rows = [dict(zip(("dialogue_id", "turn", "gold", "pred"), turn, strict=True)) for turn in turns]
    path = tmp_path / "mine.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def test_score_prints_the_object_of_the_contract(pairs: Path) -> None:
    done = run("score", str(pairs), "--json", "--resamples", "10")
    assert (done.returncode, done.stderr) == (0, "")
    result = json.loads(done.stdout)
    assert list(result) == ["protocol", "signature", "system", "coverage", "metrics", "warnings"]
    assert (result["protocol"], result["system"]) == ("lin2021", "mine")
    assert result["metrics"]["joint_goal_accuracy"]["value"] == pytest.approx(2 / 3)
    assert set(result["metrics"]["slot_f1"]) == {"value", "low", "high"}
    dialogues, turns = ({f"{what}_{end}": n for end in ("scored", "in_corpus")} for what, n in COVERED)
    assert result["coverage"] == dialogues | turns
    assert "boot:10/12345" in result["signature"]


def test_score_for_people(pairs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", str(pairs), "--resamples", "0", "--name", "Ada"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("Ada: protocol lin2021")
    assert "3 of 3 turns scored" in text
    assert "signature: jga|proto:lin2021|" in text


def test_compare(capsys: pytest.CaptureFixture[str]) -> None:
    few = [*TRACKERS, "--corpus", "sample/crosswoz_en", "--shuffles", "200", "--resamples", "50"]
    done = run("compare", *few, "--to", "json")
    assert (done.returncode, done.stderr) == (0, "")
    result = json.loads(done.stdout)
    assert set(result["systems"]) == {"tracker_careful", "tracker_sloppy"}
    assert result["groups"]["joint_goal_accuracy"] == [["tracker_careful"], ["tracker_sloppy"]]
    assert {"metric", "a", "b", "difference", "low", "high", "p_holm"} <= set(result["pairs"][0])
    faces = {"markdown": "| system", "latex": "\\begin{tabular}", "csv": "metric,", "text": " "}
    for to, beginning in faces.items():
        assert main(["compare", *few, "--to", to]) == 0
        assert capsys.readouterr().out.startswith(beginning)


def test_corpora_and_protocols(capsys: pytest.CaptureFixture[str]) -> None:
    corpora = run("corpora", "--json")
    names = [row["corpus"] for row in json.loads(corpora.stdout)]
    assert {"multiwoz21", "crosswoz_en", SAMPLE} <= set(names)
    protocols = run("protocols", "--json")
    assert {"lin2021", "lai2019", "lai2019-card"} <= set(json.loads(protocols.stdout))
    for command, name in (("corpora", "multiwoz21"), ("protocols", "lin2021")):
        assert main([command]) == 0
        assert name in capsys.readouterr().out


def test_convert_and_back(pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    target = tmp_path / "mine.json"
    assert main(["convert", str(pairs), str(target), "--to", "gt-pr"]) == 0
    assert "as gt-pr" in capsys.readouterr().out
    assert main(["score", str(target), "--json", "--resamples", "0"]) == 0
    scores = json.loads(capsys.readouterr().out)["metrics"]
    assert scores["joint_goal_accuracy"]["value"] == pytest.approx(2 / 3)


def test_fetch_from_a_server_that_is_not_there(tmp_path: Path) -> None:
    done = run("fetch", "crosswoz_en", "--parts", "ontology", "--base-url", "http://127.0.0.1:9", cwd=tmp_path,
               DIALOGEVAL_DATA=str(tmp_path))  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "crosswoz_en/ontology.json" in done.stderr
    assert not [p for p in tmp_path.rglob("*") if p.is_file()]


def test_sample_files_need_no_fetching(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["fetch", SAMPLE]) == 0
    assert "comes with dialogeval" in capsys.readouterr().out


def test_a_pipe_that_closes_is_no_error(pairs: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "dialogeval", "protocols"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None and process.stderr is not None
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(timeout=60) == 0


def write(folder: Path, name: str, content: str | bytes) -> str:
    path = folder / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return str(path)


def turn(**fields: object) -> str:
    """One dialogue of one turn, in the format mwzeval."""
    return json.dumps({"smp0163": [fields]})


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("", "is empty"),
        ('{"a": [', "broken JSON at line 1, column"),
        (b'{"a": "\xff"}', "not UTF-8 at byte 7"),
        (b"PK\x03\x04", "broken zip file"),
        (b"\x1f\x8b\x08", "broken gzip file"),
        ("{}", "holds no turns"),
        (turn(state="hotel"), "a string 'hotel'"),
        (turn(state=None), "got null"),
        (turn(state={"hotel": {"stars": True}}), "got a boolean True"),
        (turn(state={"hotel": {"area": [["a"]]}}), "got a list"),
        (turn(response=None), "got null"),
        (turn(response=["a", "b"]), "got a list"),
        ('{"smp0163": [{"response": "a"}], "SMP0163.json": [{"response": "a"}]}', "smp0163"),
        ('{"smp0163": [{"response": "a"}], "smp0163": []}', "key 'smp0163' stands twice in one object"),
        (turn(response="hello"), "have no prediction"),
        ('{"nobody": [{"response": "a"}]}', "1 of 1 dialogues are not in sample/multiwoz/test"),
        (json.dumps({"smp0163": [{"response": "a"}] * 200}), "too many turns: expected"),
    ],
)
def test_bad_predictions(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str | bytes, line: str
) -> None:
    path = write(tmp_path, "bad.json", content)
    said = refusal(capsys, "score", path, "--corpus", SAMPLE)
    assert "bad.json" in said
    assert line in said


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["score"], "the following arguments are required: PREDICTIONS"),
        (["scoer", "x"], "'scoer': did you mean score"),
        (
            ["score", "x", "--protcol", "lin2021"],
            "unknown option of dialogeval score '--protcol': did you mean --protocol",
        ),
        (["score", "none.json"], "none.json: no such file; check the path"),
        (["score", "PAIRS", "--protocol", "lin2012"], "unknown protocol 'lin2012': did you mean lin2021"),
        (["score", "PAIRS", "--protocol", "lai2019"], "holds no responses, which protocol lai2019 scores"),
        (["score", "PAIRS", "--corpus", "multiwoz2"], "unknown corpus 'multiwoz2': did you mean multiwoz"),
        (
            ["score", "PAIRS", "--corpus", SAMPLE, "--split", "tset"],
            "unknown split of sample/multiwoz 'tset'",
        ),
        (["score", "PAIRS", "--format", "dstc"], "unknown format 'dstc': did you mean dstc9"),
        (["score", "PAIRS", "--format", "dstc9"], ""),
        (["score", "PAIRS", "--missing", "ignore"], "'ignore': known: error, empty, skip"),
        (["score", "PAIRS", "--resamples", "-1"], "expected a whole number from 0"),
        (["score", "PAIRS", "--resamples", "many"], "invalid int value: 'many'"),
        (["convert", "PAIRS", "PAIRS", "--to", "gt-pr"], "are the same file"),
        (["compare", "PAIRS"], "expected two systems or more"),
        (["compare", "PAIRS", "PAIRS"], "two files have the same name"),
        (["convert", "PAIRS", "x.json", "--to", "xml"], "unknown format 'xml'"),
        (["convert", "PAIRS", "x.json", "--to", "mwzeval"], "it would lose gold states"),
        (["fetch", "crosswoz_eng"], "unknown corpus 'crosswoz_eng': did you mean crosswoz_en"),
        (["report", "state"], "unknown report 'state'"),
        (["report", "none.ipynb"], "none.ipynb: no such notebook"),
        (
            ["report", "state_tracking", "-p", "corpsu", "x"],
            "unknown parameter of report_state_tracking.ipynb 'corpsu'",
        ),
        (["report", "state_tracking", "-p", "resamples", "few"], "parameter resamples: expected like"),
    ],
)
def test_bad_usage(
    pairs: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    line: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    said = refusal(capsys, *(str(pairs) if a == "PAIRS" else a for a in arguments))
    assert line in said


def test_bad_corpus_file(tmp_path: Path, pairs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with zipfile.ZipFile(tmp_path / "test.json.zip", "w") as archive:
        archive.writestr("test.json", '{"a": {"log": 3}}')
    said = refusal(capsys, "score", str(pairs), "--corpus", str(tmp_path / "test.json.zip"))
    assert "dialogue a: log: expected a list, got a number" in said


def test_score_real_systems_in_processes(real_data: Path, real_cases: Path) -> None:
    ubar = str(real_data / "predictions/multiwoz/ubar.json")
    crosswoz = str(real_cases / "dstc9/crosswoz_en_test.submission.json.gz")
    for arguments in (
        [ubar, "--corpus", "multiwoz21", "--protocol", "lai2019"],
        [crosswoz, "--corpus", "crosswoz_en"],
    ):
        done = run("score", *arguments, "--json", "--resamples", "100", "--data-home", str(real_data))
        assert (done.returncode, done.stderr) == (0, "")
        result = json.loads(done.stdout)
        assert all(m["low"] <= m["value"] <= m["high"] for m in result["metrics"].values())
