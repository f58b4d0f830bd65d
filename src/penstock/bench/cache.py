"""Outcomes that are known already, in a file that can be read, compared and checked in.

A row is a run: its key, what was run, its figures, and a check sum over all of it. A row that does not agree with its
check sum, or cannot be read, is dropped and measured again. Rows are added as runs end, so that whoever is interrupted
loses nothing; when all is done the file is written anew in order, without rows that a newer run has replaced.
"""

from __future__ import annotations

import csv
import fcntl
import hashlib
import io
import os
import shutil
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from penstock.bench.metrics import DIGITS, Outcome
from penstock.bench.scenario import Runnable
from penstock.errors import BadInput

ABOUT = ("key", "stream", "data", "law", "epsilon", "window", "what", "seed")
COLUMNS = (*ABOUT, *Outcome._fields, "check")


class Row(NamedTuple):
    """A run that is known: its key, what it was, and what came of it."""

    key: str
    about: tuple[str, ...]
    outcome: Outcome

    def written(self) -> list[str]:
        """Its cells, the check sum last."""
        cells = [self.key, *self.about, *(f"{figure:.{DIGITS}g}" for figure in self.outcome)]
        return [*cells, _check(cells)]


class Cache:
    """The rows of one file. ``dropped`` counts those that could not be trusted."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.dropped = 0
        self._rows: dict[str, Row] = {}
        self._added: io.TextIOWrapper | None = None

    @staticmethod
    def in_memory() -> Cache:
        """One that is never written down."""
        return Cache(Path(os.devnull))

    @contextmanager
    def open(self) -> Iterator[Cache]:
        """Read what is there, and keep others from writing meanwhile; in the end write all of it in order."""
        with self._writing():
            self.path.parent.mkdir(parents=True, exist_ok=True)
            held = self.path.with_suffix(".lock").open("w")
        with held:
            try:
                fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise BadInput(
                    f"another benchmark writes into {self.path}; wait for it, or use another folder."
                ) from None
            with self._writing():
                self._read()
                self._added = self.path.open("a", encoding="utf-8", newline="")
            with self._added:
                yield self
            with self._writing():
                self._written_anew()

    @contextmanager
    def _writing(self) -> Iterator[None]:
        try:
            yield
        except OSError as fault:
            raise BadInput(
                f"{self.path} cannot be written: {fault.strerror}; make room, or use another folder."
            ) from None

    def get(self, key: str) -> Outcome | None:
        """What is known under this key."""
        if key not in self._rows:
            return None
        self._rows[key] = row = self._rows.pop(key)  # the latest of its kind is the one that was used last
        return row.outcome

    def put(self, key: str, digest: str, what: Runnable, seed: int, outcome: Outcome) -> None:
        """Keep an outcome, at once. ``digest`` tells streams of one name apart: a file, and what stands in for it."""
        promise = what.promise
        about = what.stream, digest, promise.terms, promise.epsilon, str(promise.window), what.name, str(seed)
        self._rows[key] = Row(key, about, outcome)
        if self._added is not None:
            with self._writing():
                csv.writer(self._added, lineterminator="\n").writerow(self._rows[key].written())
                self._added.flush()

    def _read(self) -> None:
        if not self.path.exists():
            self._written_anew()
            return
        text = self.path.read_text(encoding="utf-8", errors="replace")
        lines = text.splitlines()
        headed = lines[:1] == [",".join(COLUMNS)]
        if not headed:
            shutil.copyfile(self.path, self.path.with_suffix(".csv.old"))  # of another version, perhaps
        for line in lines[1:] if headed else lines:
            row = _row(line)
            if row is None:
                self.dropped += 1
            else:
                self._rows[row.key] = row
        if self.dropped or not text.endswith("\n"):
            self._written_anew()

    def _written_anew(self) -> None:
        """All rows in order; of rows about the same run, which other code has made, only the latest."""
        latest = {row.about: row for row in self._rows.values()}
        beside = self.path.with_suffix(".new")
        try:
            with beside.open("w", encoding="utf-8", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerow(COLUMNS)
                writer.writerows(latest[about].written() for about in sorted(latest, key=_order))
                file.flush()
                os.fsync(file.fileno())
            beside.replace(self.path)
        finally:
            beside.unlink(missing_ok=True)


def _row(line: str) -> Row | None:
    """The row that was written as this line, or nothing if it was written otherwise."""
    try:
        cells = next(csv.reader([line]))
        if len(cells) != len(COLUMNS) or cells[-1] != _check(cells[:-1]):
            return None
        return Row(cells[0], tuple(cells[1 : len(ABOUT)]), Outcome(*map(float, cells[len(ABOUT) : -1])))
    except (csv.Error, StopIteration, ValueError):
        return None


def _check(cells: Iterable[str]) -> str:
    return hashlib.sha256("\x1f".join(cells).encode()).hexdigest()[:8]


def _order(about: tuple[str, ...]) -> tuple[str, str, str, float, int, str, int]:
    stream, digest, law, epsilon, window, what, seed = about
    return law, stream, digest, float(epsilon), int(window), what, int(seed)
