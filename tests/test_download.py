"""Downloads from a real server on the loopback address: good ones, and every way to fail."""

from __future__ import annotations

import hashlib
import signal
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from dialogeval.corpora import download
from dialogeval.corpora.catalog import FileEntry, file_entry, local_file
from dialogeval.corpora.download import fetch, git_blob_id, is_intact
from dialogeval.exceptions import FetchError, UnknownNameError, UsageError

GOOD = b'{"dialogue": "' + bytes(range(65, 91)) * 20_000 + b'"}'


class Handler(BaseHTTPRequestHandler):
    """Serves what the test set as ``server.behaviour``."""

    def do_GET(self):
        server = self.server
        server.requests.append(self.path)
        kind = server.behaviour
        body = {"wrong": GOOD.replace(b"A", b"B"), "empty": b"", "long": GOOD + b" "}.get(kind, GOOD)
        if kind == "404":
            self.send_error(404)
            return
        if kind == "503":
            self.send_error(503)
            return
        if kind == "silent":
            server.release.wait(20)
            return
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        try:
            if kind in ("truncated", "stall"):
                self.wfile.write(body[: len(body) // 2])
                self.wfile.flush()
                server.halfway.set()
                if kind == "stall":
                    server.release.wait(20)
                return
            self.wfile.write(body)
        except OSError:
            pass  # the client went away

    def log_message(self, *args):
        pass


@pytest.fixture
def server(monkeypatch):
    for variable in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(variable, raising=False)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    server.behaviour, server.requests = "good", []
    server.release, server.halfway = threading.Event(), threading.Event()
    server.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    yield server
    server.release.set()
    server.shutdown()
    server.server_close()


@pytest.fixture(params=["sha256", "git"])
def entry(request):
    blob = hashlib.sha1(b"blob %d\0" % len(GOOD) + GOOD).hexdigest()
    known = (
        {"sha256": hashlib.sha256(GOOD).hexdigest(), "bytes": len(GOOD)} if request.param == "sha256" else {}
    )
    return FileEntry(
        "toy", "test", "toy/test.json", "test", "o/r", "c0", "a b.json", git_blob_sha1=blob, **known
    )


def get(entry: FileEntry, home: Path, url: str, timeout: float = 10, progress: str = "none") -> str:
    return download._fetch_file(entry, home / entry.local, url, progress, timeout)


def files(home: Path) -> list[str]:
    return sorted(str(p.relative_to(home)) for p in home.rglob("*") if p.is_file())


def test_good_then_nothing_to_do(entry, server, tmp_path):
    assert get(entry, tmp_path, server.url) == "downloaded"
    assert (tmp_path / entry.local).read_bytes() == GOOD
    assert server.requests == ["/o/r/c0/a%20b.json"]
    assert get(entry, tmp_path, server.url) == "already complete"
    assert len(server.requests) == 1 and files(tmp_path) == [entry.local]


def test_progress_bar_goes_to_standard_error(entry, server, tmp_path, capsys):
    get(entry, tmp_path, server.url, progress="bar")
    out, err = capsys.readouterr()
    assert out == "" and "toy/test.json" in err and "100%" in err


@pytest.mark.parametrize(
    ("behaviour", "message"),
    [
        ("404", "HTTP 404 Not Found from http://127.0.0.1"),
        ("503", "HTTP 503 Service Unavailable from"),
        ("wrong", "content does not match its (SHA-256|git blob id) from"),
        ("long", "content does not match its (SHA-256|git blob id) from"),
        ("empty", "(got 0 of 520,016 bytes|content does not match its git blob id) from"),
        ("truncated", "the connection broke off before the file was complete from"),
        ("silent", "no data for 0.3 seconds from"),
        ("stall", "no data for 0.3 seconds from"),
    ],
)
@pytest.mark.parametrize("old", [None, b"an older file"])
def test_failures_leave_nothing_that_looks_good(behaviour, message, old, entry, server, tmp_path):
    place = tmp_path / entry.local
    if old is not None:
        place.parent.mkdir()
        place.write_bytes(old)
    server.behaviour = behaviour
    with pytest.raises(FetchError, match=message) as caught:
        get(entry, tmp_path, server.url, timeout=0.3 if behaviour in ("silent", "stall") else 10)
    text = str(caught.value)
    assert text.startswith("toy/test.json: ") and "\n" not in text and caught.value.mend in text
    assert ("does not match its checksum and was kept" in text) == (old is not None)
    assert files(tmp_path) == ([] if old is None else [entry.local])
    assert old is None or place.read_bytes() == old
    # The next run mends it.
    server.behaviour = "good"
    expected = "downloaded" if old is None else "replaced (did not match its checksum)"
    assert get(entry, tmp_path, server.url) == expected
    assert place.read_bytes() == GOOD and files(tmp_path) == [entry.local]


def test_nobody_listens(entry, server, tmp_path):
    server.shutdown()
    server.server_close()
    with pytest.raises(
        FetchError, match=r"toy/test.json: no connection from http://127.*; check the network"
    ):
        get(entry, tmp_path, server.url)
    assert files(tmp_path) == []


def test_unknown_host_and_broken_address(entry, tmp_path):
    with pytest.raises(FetchError, match=r"toy/test\.json: download failed"):
        get(entry, tmp_path, "nonsense")
    assert files(tmp_path) == []


def test_interrupted(server, tmp_path):
    """Ctrl-C in the middle, as a real signal to a real process."""
    server.behaviour = "stall"
    code = (
        "import signal, sys; signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "from dialogeval.corpora.download import fetch\n"
        "try: fetch('crosswoz', sys.argv[1], ['test'], base_url=sys.argv[2], progress='none')\n"
        "except KeyboardInterrupt: sys.exit(77)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path), server.url])
    try:
        assert server.halfway.wait(60)
        folder = tmp_path / "crosswoz"
        # Half the body is under way; the temporary file is there or about to be.
        process.send_signal(signal.SIGINT)
        assert process.wait(60) == 77
    finally:
        process.kill()
    assert not local_file("crosswoz", "test", tmp_path).exists()
    assert list(folder.iterdir()) == []


def test_killed_leaves_a_part_that_no_one_takes_for_the_file(server, tmp_path):
    server.behaviour = "stall"
    code = (
        "import sys; from dialogeval.corpora.download import fetch\n"
        "fetch('crosswoz', sys.argv[1], ['test'], base_url=sys.argv[2], progress='none')\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(tmp_path), server.url])
    try:
        assert server.halfway.wait(60)
    finally:
        process.kill()
        process.wait(60)
    assert not local_file("crosswoz", "test", tmp_path).exists()
    assert all(f.endswith(".part") for f in files(tmp_path))


def test_places_that_cannot_be_written(entry, server, tmp_path):
    (tmp_path / "toy").write_text("a file where the folder should go")
    with pytest.raises(FetchError, match=r"toy/test.json: cannot be written \(.*; choose another data home"):
        get(entry, tmp_path, server.url)
    (tmp_path / "toy").unlink()
    (tmp_path / entry.local).mkdir(parents=True)
    with pytest.raises(FetchError, match="is a folder where the file should go; move it away"):
        get(entry, tmp_path, server.url)
    assert server.requests == []


def test_a_wrong_file_of_the_catalog_stops_the_run(server, tmp_path):
    with pytest.raises(FetchError, match=r"^crosswoz/train.json.zip: content does not match its git blob id"):
        fetch("crosswoz", tmp_path, base_url=server.url, progress="none")
    assert len(server.requests) == 1 and files(tmp_path) == []
    assert server.requests[0].endswith("/data/crosswoz/train.json.zip")


def test_files_that_come_with_the_project_are_looked_for_only(server, tmp_path):
    entry = FileEntry("sample/toy", "test", "sample/toy/test.json.zip", "test")
    with pytest.raises(FetchError, match="comes with dialogeval and is missing; reinstall"):
        get(entry, tmp_path, server.url)
    (tmp_path / entry.local).parent.mkdir(parents=True)
    (tmp_path / entry.local).write_bytes(b"x")
    assert get(entry, tmp_path, server.url) == "comes with dialogeval" and server.requests == []


def test_parts(server, tmp_path):
    server.behaviour = "404"
    for parts, first in (
        (["test"], "test/dialogues_001"),
        (["dev/002"], "dev/dialogues_002"),
        (["val"], "dev/d"),
    ):
        with pytest.raises(FetchError, match=f"^multiwoz22/{first}"):
            fetch("multiwoz22", tmp_path, parts, base_url=server.url, progress="none")
    with pytest.raises(FetchError, match=r"^multiwoz21/db/attraction"):
        fetch("multiwoz21", tmp_path, ["db"], base_url=server.url, progress="none")
    with pytest.raises(UnknownNameError, match="unknown part of crosswoz 'tset': did you mean test"):
        fetch("crosswoz", tmp_path, ["tset"], base_url=server.url)
    with pytest.raises(UnknownNameError, match="unknown part of crosswoz ''"):
        fetch("crosswoz", tmp_path, [""], base_url=server.url)
    with pytest.raises(UsageError, match=r"parts: expected a list such as \['test'\]"):
        fetch("crosswoz", tmp_path, "test", base_url=server.url)
    with pytest.raises(UnknownNameError, match="unknown corpus"):
        fetch("crossword", tmp_path)
    with pytest.raises(UsageError, match="timeout: expected seconds, more than 0"):
        fetch("crosswoz", tmp_path, timeout=0)
    assert len(fetch("crosswoz", tmp_path, [], base_url=server.url)) == 0


def test_git_blob_id_is_gits(tmp_path):
    file = tmp_path / "a.bin"
    for content in (b"", b"hello\n", GOOD):
        file.write_bytes(content)
        git = subprocess.run(
            ["git", "hash-object", "--no-filters", str(file)], capture_output=True, text=True
        )
        assert git_blob_id(file) == git.stdout.strip()


def test_both_checksums_of_the_catalog_belong_to_the_same_bytes(real_data):
    file = file_entry("crosswoz_en", "ontology")
    path = local_file("crosswoz_en", "ontology", real_data)
    assert is_intact(file, path) and git_blob_id(path) == file.git_blob_sha1
