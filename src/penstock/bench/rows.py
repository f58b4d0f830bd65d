"""A run that is known, as a row of a file: its key, what was run, its figures, and a check sum over all of it.

Behind its key a row says of which version of the code it is, and what it is to an older one, if it was adopted from it
or compared with it: ``KEY@NEW~OLD`` has the figures of OLD, ``KEY@NEW=OLD`` was run and came out the same, and
``KEY@NEW!OLD`` came out otherwise. Rows from before this was written down have a key alone, and their version is
empty.
"""

from __future__ import annotations

import csv
import hashlib
import json
import re
from collections.abc import Iterable
from typing import NamedTuple

from penstock.bench.code import code_version
from penstock.bench.metrics import DIGITS, Outcome
from penstock.bench.running import published
from penstock.bench.scenario import Runnable

ABOUT = ("key", "stream", "data", "law", "epsilon", "window", "what", "seed")
COLUMNS = (*ABOUT, *Outcome._fields, "check")
ADOPTED, SAME, OTHERWISE = "~", "=", "!"  # what a row is to that of older code
KEY = re.compile("([^@]*)(?:@([^~=!]*)([~=!]?)(.*))?")

About = tuple[str, ...]  # what was run, but for the code


class Row(NamedTuple):
    """A run that is known: its key, what it was, what came of it, and of which code it is.

    ``sign`` is what it is to a row of code that was ``older``.
    """

    key: str
    about: About
    outcome: Outcome
    version: str = ""
    sign: str = ""
    older: str = ""

    @property
    def figures(self) -> list[str]:
        """What came of it, to the digits that are kept; figures that make no sense are alike."""
        return [f"{figure:.{DIGITS}g}" for figure in self.outcome]

    @property
    def origin(self) -> str:
        """The version of the code that has measured it."""
        return self.older if self.sign == ADOPTED else self.version

    def written(self) -> list[str]:
        """Its cells, the check sum last."""
        code = f"@{self.version}{self.sign}{self.older}" if self.version else ""
        cells = [self.key + code, *self.about, *self.figures]
        return [*cells, _check(cells)]

    @staticmethod
    def read(line: str) -> Row | None:
        """The row that was written as this line, or nothing if it was written otherwise."""
        try:
            cells = next(csv.reader([line]))
            if len(cells) != len(COLUMNS) or cells[-1] != _check(cells[:-1]):
                return None
            coded = KEY.fullmatch(cells[0])
            if coded is None:
                return None
            key, *code = coded.groups("")
            return Row(key, tuple(cells[1 : len(ABOUT)]), Outcome(*map(float, cells[len(ABOUT) : -1])), *code)
        except (csv.Error, StopIteration, ValueError):
            return None


def about(digest: str, what: Runnable, seed: int) -> About:
    """What is run, as rows say it. ``digest`` tells streams of one name apart: a file, and what stands in for it."""
    promise = what.promise
    return what.stream, digest, promise.terms, promise.epsilon, str(promise.window), what.name, str(seed)


def version(what: Runnable) -> str:
    """Of which version of the code a run is: of what is run, and of what runs it."""
    code = [what.told()["code"], code_version(published.__module__)]
    return hashlib.sha256(json.dumps(code).encode()).hexdigest()[:8]


def order(row: About) -> tuple[str, str, str, float, int, str, int]:
    """By this rows are sorted."""
    stream, digest, law, epsilon, window, what, seed = row
    return law, stream, digest, float(epsilon), int(window), what, int(seed)


def _check(cells: Iterable[str]) -> str:
    return hashlib.sha256("\x1f".join(cells).encode()).hexdigest()[:8]
