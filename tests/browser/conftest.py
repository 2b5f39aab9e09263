"""A real browser, JupyterLab as `make lab` starts it, and the built website.

`make test-browser` sets all of it up: it finds or installs a Chromium, builds the site, and runs this folder.
Plain `pytest` does not come here (`norecursedirs` in pyproject.toml). What is missing fails, nothing is skipped.
"""

from __future__ import annotations

import functools
import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, expect, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
SITE = ROOT / "build" / "site" / "html"
SHOTS = ROOT / "build" / "screenshots"
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
SECONDS = 60  # the longest wait for one thing; what hangs fails with the name of what it waited for
expect.set_options(timeout=SECONDS * 1000)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = os.environ.get("CHROMIUM")
    assert path, "CHROMIUM does not name a browser; run the tests by: make test-browser"
    with sync_playwright() as playwright:  # the profile is a new folder each time
        chromium = playwright.chromium.launch(executable_path=path, args=QUIET)
        yield chromium
        chromium.close()


def _said(message: ConsoleMessage) -> str:
    return f"{message.text} ({message.location['url']})"


@dataclass
class Visit:
    """A page, and what went wrong on it."""

    page: Page
    console: list[str]
    outside: list[str]

    def shot(self, name: str) -> None:
        SHOTS.mkdir(parents=True, exist_ok=True)
        self.page.screenshot(path=SHOTS / f"{name}.png")


@pytest.fixture
def visit(browser: Browser) -> Iterator[Visit]:
    context = browser.new_context(viewport={"width": 1400, "height": 1000}, color_scheme="light")
    context.set_default_timeout(SECONDS * 1000)
    seen = Visit(context.new_page(), [], [])
    seen.page.on("console", lambda m: seen.console.append(_said(m)) if m.type == "error" else None)
    seen.page.on("pageerror", lambda e: seen.console.append(str(e)))
    local = re.compile(r"https?://(localhost|127\.0\.0\.1)[:/]|data:|blob:")
    seen.page.on("request", lambda r: None if local.match(r.url) else seen.outside.append(r.url))
    yield seen
    context.close()


# The website ------------------------------------------------------------------------------------


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *arguments: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="session")
def site() -> Iterator[str]:
    """Serve the built site; its address."""
    assert (SITE / "index.html").is_file(), f"{SITE} holds no website: make site"
    handler = functools.partial(Quiet, directory=str(SITE))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


# JupyterLab -------------------------------------------------------------------------------------


@dataclass
class Lab:
    """A running JupyterLab: where it is, its token, the page that it opens, and the notebooks it serves."""

    url: str
    token: str
    first_page: str
    folder: Path


@pytest.fixture(scope="session")
def lab_command() -> list[str]:
    """Return the command of `make lab`, from the Makefile itself."""
    made = subprocess.run(
        ["make", "--no-print-directory", "--dry-run", "lab"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    found = [line for line in made.stdout.splitlines() if re.search(r"jupyter lab\b", line)]
    assert len(found) == 1, made.stdout
    return shlex.split(found[0])


@pytest.fixture(scope="session")
def lab(lab_command: list[str], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """Start it on a copy of the notebooks without outputs, with no settings but its own."""
    folder = tmp_path_factory.mktemp("checkout")
    (folder / "notebooks").mkdir()
    for helpers in ("lessons", "checks"):
        shutil.copytree(ROOT / "notebooks" / helpers, folder / "notebooks" / helpers)
    for path in (ROOT / "notebooks").glob("*.ipynb"):
        notebook = json.loads(path.read_text(encoding="utf-8"))
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                cell |= {"outputs": [], "execution_count": None}
        (folder / "notebooks" / path.name).write_text(json.dumps(notebook), encoding="utf-8")
    own = {f"JUPYTER_{kind}_DIR": str(folder / kind.lower()) for kind in ("CONFIG", "DATA", "RUNTIME")}
    kept = {
        k: v
        for k, v in os.environ.items()
        if not k.startswith(("JUPYTER_", "JPY_", "DIALOGEVAL_", "PYTEST_"))
    }
    command = [sys.executable, "-m", "jupyter", *lab_command[1:], "--no-browser", "--port=0"]
    command += ["--allow-root"] if os.geteuid() == 0 else []
    process = subprocess.Popen(
        command,
        cwd=folder,
        env=kept | own | {"IPYTHONDIR": str(folder / "ipython")},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        yield _started(process, folder)
    finally:
        process.terminate()  # it stops its kernels
        try:
            process.wait(SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            raise


def _wait_until_it_listens(url: str, process: subprocess.Popen[str]) -> None:
    """It says where it is a moment before it answers there."""
    place = urlsplit(url)
    assert place.hostname and place.port
    end = time.monotonic() + SECONDS
    while time.monotonic() < end and process.poll() is None:
        try:
            socket.create_connection((place.hostname, place.port), timeout=SECONDS).close()
            return
        except ConnectionRefusedError:
            time.sleep(0.05)
    raise AssertionError(f"JupyterLab does not answer at {place.hostname}:{place.port}")


def _started(process: subprocess.Popen[str], folder: Path) -> Lab:
    """Wait until it says where it is; read on, so that the pipe never fills."""
    said: list[str] = []
    ready = threading.Event()

    def read() -> None:
        for line in process.stdout or ():
            said.append(line)
            if "Or copy and paste one of these URLs" in line:
                ready.set()
        ready.set()

    threading.Thread(target=read, daemon=True).start()
    assert ready.wait(SECONDS) and process.poll() is None, "JupyterLab did not start:\n" + "".join(said)
    runtime = folder / "runtime"
    server = json.loads(next(runtime.glob("jpserver-*.json")).read_text())
    opened = next(
        runtime.glob("jpserver-file-to-run-*.html")
    ).read_text()  # what a desktop's browser is given
    first = re.search(r'href="([^"]+)"', opened)
    assert first, opened
    _wait_until_it_listens(server["url"], process)
    return Lab(server["url"], server["token"], first[1], folder / "notebooks")
