"""Outcomes that are known already, in a file that can be read, compared and checked in.

A row that does not agree with its check sum, or cannot be read, is dropped and measured again. Rows are added as runs
end, so that whoever is interrupted loses nothing; when all is done the file is written anew in order, without rows that
a newer run has replaced.
"""

from __future__ import annotations

import csv
import fcntl
import io
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from penstock.bench.metrics import Outcome
from penstock.bench.rows import ADOPTED, COLUMNS, OTHERWISE, SAME, About, Row, about, order, version
from penstock.bench.scenario import Runnable
from penstock.errors import BadInput


class Origins(NamedTuple):
    """How many runs were used; of these, how many were adopted from older code, and how many were compared with it.

    Some of the latter came out the ``same``, others ``otherwise``.
    """

    used: int
    adopted: int
    same: int
    otherwise: int


NOTHING_USED = Origins(0, 0, 0, 0)


class Cache:
    """The rows of one file. ``dropped`` counts those that could not be trusted."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.dropped = 0
        self._rows: dict[str, Row] = {}
        self._used: set[str] = set()
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
        self._used.add(key)
        return row.outcome

    def row(self, key: str) -> Row | None:
        """The same, with where it comes from; who looks at it does not use it."""
        return self._rows.get(key)

    @property
    def origins(self) -> Origins:
        """Where the runs come from that were asked for and are known."""
        signs = [self._rows[key].sign for key in self._used]
        return Origins(len(signs), *map(signs.count, (ADOPTED, SAME, OTHERWISE)))

    def latest(self) -> dict[About, Row]:
        """Of every run the row that was made or used last, whichever code it is of."""
        return {row.about: row for row in self._rows.values()}

    def put(self, key: str, digest: str, what: Runnable, seed: int, outcome: Outcome) -> None:
        """Keep an outcome, at once. ``digest`` tells streams of one name apart."""
        self._keep(Row(key, about(digest, what, seed), outcome, version(what)))

    def compare(self, key: str, older: Row, what: Runnable, outcome: Outcome) -> None:
        """Keep an outcome, and whether it is to the last digit what the row of older code says."""
        row = Row(key, older.about, outcome, version(what), SAME, older.version)
        self._keep(row if row.figures == older.figures else row._replace(sign=OTHERWISE))

    def adopt(self, key: str, older: Row, what: Runnable) -> None:
        """Keep the figures of older code under this key. Where they were measured stays known."""
        self._keep(Row(key, older.about, older.outcome, version(what), ADOPTED, older.origin))

    def _keep(self, row: Row) -> None:
        self._rows[row.key] = row
        if self._added is not None:
            with self._writing():
                csv.writer(self._added, lineterminator="\n").writerow(row.written())
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
            row = Row.read(line)
            if row is None:
                self.dropped += 1
            else:
                self._rows[row.key] = row
        if self.dropped or not text.endswith("\n"):
            self._written_anew()

    def _written_anew(self) -> None:
        """All rows in order; of rows about the same run, which other code has made, only the latest."""
        latest = self.latest()
        beside = self.path.with_suffix(".new")
        try:
            with beside.open("w", encoding="utf-8", newline="") as file:
                writer = csv.writer(file, lineterminator="\n")
                writer.writerow(COLUMNS)
                writer.writerows(latest[about].written() for about in sorted(latest, key=order))
                file.flush()
                os.fsync(file.fileno())
            beside.replace(self.path)
        finally:
            beside.unlink(missing_ok=True)
