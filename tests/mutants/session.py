"""One collected pytest session that is run many times, in forks: what the tests say of a changed package."""

from __future__ import annotations

import ast
import builtins
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from functools import cached_property
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
#: Seconds of processor time; a test that takes longer is not used.
SLOW = 2.5
OPTIONS = ["-x", "-q", "-s", "-pno:cacheprovider", "-pno:xdist", "--no-header", "--assert=plain", "-Wignore"]


def in_child(work: Callable[[], Any], seconds: float = 0, log: str = os.devnull) -> Any:
    """Do some work in a fork, within some seconds of processor time; return its result as JSON has it."""
    read, write = os.pipe()
    if not (child := os.fork()):
        os.close(read)
        sink = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.dup2(sink, 1)
        os.dup2(sink, 2)
        signal.setitimer(signal.ITIMER_PROF, seconds)
        signal.alarm(int(10 * seconds))  # for one that waits for ever
        try:
            result = json.dumps(work())
        except BaseException as error:  # whatever it is, the parent has to hear of it
            print(repr(error), file=sys.stderr, flush=True)
            result = json.dumps(f"error: {error!r}")
        with os.fdopen(write, "w") as pipe:
            pipe.write(result)
        os._exit(0)
    os.close(write)
    with os.fdopen(read) as pipe:
        text = pipe.read()
    os.waitpid(child, 0)
    return json.loads(text) if text else "timeout or crash"


class TooSlow(BaseException):
    """No Exception: Hypothesis would try the example again."""


class Session:
    """A pytest plugin that does some work with the collected tests instead of running them."""

    def __init__(self, work: Callable[[Session], None]) -> None:
        self.work = work
        self.failed: str | None = None

    def run(self, arguments: list[str]) -> None:
        """Collect the tests and do the work."""
        pytest.main([*OPTIONS, *(a for a in arguments if (ROOT / a).exists())], plugins=[self])

    def pytest_collection(self) -> None:
        from hypothesis import Phase, settings

        # A failing example need not be made smaller.
        quick = settings(settings.get_profile("steady"), phases=[Phase.explicit, Phase.generate])
        settings.register_profile("mutants", quick)
        settings.load_profile("mutants")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self.failed = report.nodeid

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        self.items = {item.nodeid: item for item in session.items}
        if not session.testsfailed:  # else a module cannot even be imported
            self.work(self)
        return True

    def first_failure(self, tests: list[str]) -> str | None:
        """Run tests until one fails and return it."""
        for here, after in zip(tests, [*tests[1:], None], strict=True):
            item, following = self.items[here], self.items[after] if after else None
            item.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
            if self.failed:
                return self.failed
        return None

    def measure(self) -> dict[str, Any]:
        """Seconds of each test, which functions of ours it runs, and which ran at import."""

        def too_slow(*_: object) -> None:
            raise TooSlow

        at_import, seconds, ran = sorted(builtins.ran_functions), {}, {}
        signal.signal(signal.SIGPROF, too_slow)
        for test in self.items:
            builtins.ran_functions.clear()
            started = time.process_time()
            signal.setitimer(signal.ITIMER_PROF, SLOW)
            failure, self.failed = self.first_failure([test]), None
            signal.setitimer(signal.ITIMER_PROF, 0)
            seconds[test], ran[test] = time.process_time() - started, sorted(builtins.ran_functions)
            assert failure is None or seconds[test] > 0.9 * SLOW, f"{failure} fails without any mutant"
        return {"seconds": seconds, "ran": ran, "at_import": at_import}


def import_as(codes: dict[str, CodeType]) -> None:
    """From now on, import these modules from these codes."""
    get_code = SourceFileLoader.get_code
    SourceFileLoader.get_code = lambda self, name: codes.get(name) or get_code(self, name)


def telling(module: str, file: Path) -> CodeType:
    """Code of a module whose functions say that they ran, in ``builtins.ran_functions``."""
    tree = ast.parse(file.read_text())
    for scope in [tree, *(n for n in tree.body if isinstance(n, ast.ClassDef))]:
        for node in scope.body:
            if isinstance(node, ast.FunctionDef):
                name = node.name if scope is tree else f"{scope.name}.{node.name}"
                said = ast.parse(f"ran_functions.add({f'{module}:{name}'!r})").body
                node.body = [node.body[0], *said, *node.body[1:]] if _documented(node) else said + node.body
    return compile(ast.fix_missing_locations(tree), str(file), "exec", dont_inherit=True)


def _documented(node: ast.FunctionDef) -> bool:
    return ast.get_docstring(node) is not None


def swap(module: str, owner: str, code: CodeType) -> None:
    """Give a function of an imported module the code that it has in a mutated one."""
    target: Any = sys.modules[module]
    for name in owner.split("."):
        target = vars(target)[name]
        code = next(c for c in code.co_consts if isinstance(c, CodeType) and c.co_name == name)
    if isinstance(target, property):
        target = target.fget
    elif isinstance(target, cached_property):
        target = target.func
    getattr(target, "__wrapped__", target).__code__ = code
