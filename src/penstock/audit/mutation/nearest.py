"""Which tests are nearest to a function: those that run it, and little else.

Every file of tests is run once under a tracer, and what its tests run is kept until the file changes.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from penstock.audit.mutation.forks import Task, run_all
from penstock.audit.mutation.mutants import Mutant
from penstock.audit.mutation.testing import Touched, trace
from penstock.errors import BadInput

# Files whose tests take longer are traced this far.
TRACED_SECONDS = 60
# Tests of one mutant: the nearest one, and the next ones as long as they take no more than this together.
TRIED_SECONDS = 15
# Tests with this in their names compare the code itself with what it was, and would notice every mutant.
READS_CODE = "proof"


class Near(NamedTuple):
    """Tests for a mutant, nearest first, and how long they take on sources that are as they should be."""

    names: tuple[str, ...]
    seconds: float

    @property
    def version(self) -> str:
        """A hash that changes if other tests would be run, or one of their files has changed."""
        files = sorted({name.split("::")[0] for name in self.names})
        texts = [Path(file).read_text(encoding="utf-8") for file in files]
        return hashlib.sha256("\n".join([*self.names, *texts]).encode()).hexdigest()[:10]


class Nearest:
    """The tests that run each function."""

    def __init__(self, traced: Sequence[Touched]) -> None:
        self._by_function: dict[tuple[str, str], list[Touched]] = defaultdict(list)
        self._by_file: dict[str, list[Touched]] = defaultdict(list)
        for test in traced:
            if READS_CODE not in test.test:
                for function in test.functions:
                    self._by_function[function].append(test)
                for file in {file for file, _ in test.functions}:
                    self._by_file[file].append(test)

    def find(self, mutant: Mutant) -> Near:
        """The tests nearest to a mutant. Of code that runs at import, they are those that run anything of its file.

        Tests in a file that is named after the mutant's come first, the quickest of them before the others.
        """
        running = self._by_function.get((mutant.file, mutant.function)) or self._by_file.get(mutant.file, [])
        name = Path(mutant.file).stem
        names, left = list[str](), float(TRIED_SECONDS)
        order = sorted(running, key=lambda test: (*_distance(test, name), test.seconds, test.test))
        for test in _spread(order):
            if test.seconds <= left or not names:
                names.append(test.test)
                left -= test.seconds
        return Near(tuple(names), TRIED_SECONDS - left)


def _distance(test: Touched, name: str) -> tuple[bool, int]:
    """How far a test is from a file: whether its own file is named otherwise, and then how much else it runs."""
    elsewhere = name not in Path(test.test.split("::")[0]).stem.split("_")
    return elsewhere, len(test.functions) if elsewhere else 0


def _spread(tests: Sequence[Touched]) -> list[Touched]:
    """The same tests, of which those that differ in parameters alone take turns with the others."""
    turns, order = Counter[str](), []
    for place, test in enumerate(tests):
        name = test.test.split("[")[0]
        order.append((turns[name], place, test))
        turns[name] += 1
    return [test for _, _, test in sorted(order, key=lambda each: each[:2])]


def trace_all(
    folder: Path, kept: Path, aims: Iterable[str], files: Sequence[str], workers: int, advance: Callable[[], None]
) -> list[Touched]:
    """Trace the files of tests that have changed since they were traced, and take the others as they are kept."""
    kept.mkdir(parents=True, exist_ok=True)
    places = {file: kept / f"{Path(file).stem}-{_hash_file(file)}.json" for file in files}
    new = [file for file in files if not places[file].exists()]
    for _ in range(len(files) - len(new)):
        advance()
    work = partial(trace, folder, frozenset(aims))
    for ended in run_all((Task(file, partial(work, file), TRACED_SECONDS) for file in new), workers):
        if ended.died or not (ended.results or ended.late):
            raise BadInput(f"no test of {ended.about} passes on the code as it is; run it, and mend that first.")
        for stale in kept.glob(f"{Path(ended.about).stem}-*.json"):
            stale.unlink()
        _write(places[ended.about], [Touched(*row) for row in ended.results])
        advance()
    return [test for file in files for test in _read(places[file])]


def _write(path: Path, tests: Sequence[Touched]) -> None:
    """As JSON. Every name is written once, and then called by its number."""
    functions = sorted({function for test in tests for function in test.functions})
    number = {function: i for i, function in enumerate(functions)}
    rows = [[test.test, round(test.seconds, 3), sorted(map(number.__getitem__, test.functions))] for test in tests]
    path.write_text(json.dumps({"functions": functions, "tests": rows}), encoding="utf-8")


def _read(path: Path) -> Iterator[Touched]:
    kept = json.loads(path.read_text(encoding="utf-8"))
    functions = [(file, name) for file, name in kept["functions"]]
    for test, seconds, numbers in kept["tests"]:
        yield Touched(test, seconds, frozenset(functions[number] for number in numbers))


def _hash_file(file: str) -> str:
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()[:10]
