"""How a long stream is made of a file that holds a short one: copies of it end to end."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from penstock.bench.suite.files import rows
from penstock.errors import BadInput
from penstock.streams import Stream
from penstock.types import Ints

FIRST_WEEK = 40  # a flu season goes from week 40 to week 39


@dataclass(frozen=True)
class Recipe:
    """``copies`` of the ``first`` rows, and of those all but the ``dropped`` ones at the beginning.

    ``steps`` are the units of the stream: what is shorter is repeated, what is longer is cut; 0 leaves it as it is.
    ``seasons`` puts the latest flu season first. ``shape`` is that of the domain, if bins do not just follow another.
    """

    copies: int = 1
    first: int | None = None
    dropped: int = 0
    steps: int = 0
    seasons: bool = False
    shape: tuple[int, ...] | None = None

    def read(self, path: Path) -> Stream:
        """A stream of a file."""
        labels, counts = rows(path)
        if self.seasons:
            counts = counts[_latest_season_first(labels, path.name)]
        if self.shape is not None and math.prod(self.shape) != counts.shape[1]:
            raise BadInput(
                f"{path.name} must have {math.prod(self.shape)} bins, which are the cells of a grid; mend it."
            )
        return self._lengthened(counts, path.name)

    def stood_in(self, made: Callable[[], Ints]) -> Stream:
        """The same of made-up rows, whose seasons have no order."""
        return self._lengthened(made(), "")

    def _lengthened(self, counts: Ints, name: str) -> Stream:
        copied: Ints = np.tile(counts[: self.first], (self.copies, 1))[self.dropped :]
        whole = np.resize(copied, (self.steps or len(copied), copied.shape[1])) if len(copied) else copied
        return Stream(whole, name=name, shape=self.shape)


def _latest_season_first(labels: list[str], file: str) -> list[int]:
    """The order of rows with times like 2021-W40: by season, the latest one first, and by time within a season."""
    try:
        weeks = [tuple(map(int, label.split("-W"))) for label in labels]
        seasons = [year - (week < FIRST_WEEK) for year, week in weeks]
    except ValueError:
        raise BadInput(f"{file} must name its weeks like 2021-W40, because it is put in order of seasons.") from None
    return sorted(range(len(labels)), key=lambda row: (-seasons[row], row))
