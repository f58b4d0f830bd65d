"""A run of tests on a copy of the sources, inside a process of its own, and what they report."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import hypothesis
import pytest

from penstock.audit.mutation.forks import Report
from penstock.audit.mutation.mutants import Mutant
from penstock.errors import BadInput

PACKAGE = "penstock"
# The tests could not even be collected.
AT_IMPORT = "import"
# Some tests may fail here that need the folder of the sources; those are not used.
ENDED = (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.NO_TESTS_COLLECTED)
QUIETLY = ("-p", "no:cacheprovider", "-p", "no:xdist", "-W", "ignore::pytest.PytestAssertRewriteWarning")


class Touched(NamedTuple):
    """A test that passed, how much processor time it took, and the functions of the aims that it ran.

    A function is a file and a qualified name.
    """

    test: str
    seconds: float
    functions: frozenset[tuple[str, str]]


class Tracer:
    """A pytest plugin that reports which functions of the aims each test runs, from its setting up on."""

    def __init__(self, folder: Path, aims: frozenset[str], report: Report) -> None:
        self._root = f"{folder / PACKAGE}{os.sep}"
        self._aims = aims
        self._report = report
        self._functions: set[tuple[str, str]] = set()
        self._passed = True

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Iterator[None]:
        """Watch one test."""
        self._functions, self._passed, began = set(), True, time.process_time()
        sys.settrace(self._entered)
        try:
            return (yield)
        finally:
            sys.settrace(None)
            if self._passed:
                seconds = time.process_time() - began
                self._report((item.nodeid, seconds, frozenset(self._functions)))  # plain, to pass between processes

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """See whether it passed."""
        self._passed = self._passed and report.outcome == "passed"

    def _entered(self, frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        file = code.co_filename.removeprefix(self._root)
        if file in self._aims:
            self._functions.add((file, code.co_qualname))


class Witness:
    """A pytest plugin that remembers the first test that failed."""

    def __init__(self) -> None:
        self.failed = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note it."""
        if report.failed and not self.failed:
            self.failed = report.nodeid


def copy_sources(folder: Path) -> Path:
    """A copy of the package's folder ``src``, for one process to change."""
    shutil.copytree("src", folder, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    return folder


def trace(folder: Path, aims: frozenset[str], test_file: str, report: Report) -> None:
    """Run a file of tests on the sources in ``folder``; report what each test has run, as soon as it has passed."""
    if _run(folder, [test_file], Tracer(folder, aims, report)) not in ENDED:
        raise RuntimeError(test_file)


def attempt(folder: Path, mutant: Mutant | None, tests: Sequence[str], report: Report) -> None:
    """Run these tests on a mutant, or on the code as it is, up to the first failure; report which one it was.

    ``folder`` is made for this, and can be removed afterwards.
    """
    package = copy_sources(folder) / PACKAGE
    if mutant is not None:
        text = (package / mutant.file).read_text(encoding="utf-8")
        (package / mutant.file).write_text(mutant.apply(text), encoding="utf-8")
    witness = Witness()
    if _run(folder, [*tests, "--exitfirst"], witness) != pytest.ExitCode.OK:
        report(witness.failed or AT_IMPORT)


def _run(folder: Path, arguments: Sequence[str], plugin: Any) -> int:
    """Make the sources in ``folder`` those of this process and of those that it starts, and run pytest."""
    for name in [name for name in sys.modules if name.split(".")[0] == PACKAGE]:
        del sys.modules[name]
    sys.path.insert(0, str(folder))
    sys.dont_write_bytecode = True
    os.environ |= {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    # The same examples each time, so that a verdict can be repeated.
    hypothesis.settings.register_profile("mutants", derandomize=True, database=None, deadline=None)
    hypothesis.settings.load_profile("mutants")
    return int(pytest.main([*QUIETLY, *arguments], plugins=[plugin]))


def require_repository() -> None:
    """Refuse to run anywhere but beside the sources and the tests."""
    if not Path("src", PACKAGE).is_dir() or not Path("tests").is_dir():
        raise BadInput("mutants are made of src/penstock and run against tests; call make mutants in the repository.")
