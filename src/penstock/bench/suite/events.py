"""Events of users in a city as a stream: how many of them were in each cell of a grid in each time unit.

A row of a file is a time, a user and a place: ``timestamp,user_id,lat,lon``. Who moves counts in every cell visited.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import numpy as np

from penstock.bench.populations import EAST, NORTH, SOUTH, WEST
from penstock.bench.suite.files import cells
from penstock.errors import BadInput
from penstock.streams import Stream
from penstock.types import Floats, Ints

CORNER, OPPOSITE = np.array([SOUTH, WEST]), np.array([NORTH, EAST])
SIZE = np.round(OPPOSITE - CORNER, 2)
DAY = 24 * 60  # minutes
MOST_UNITS = 10**6


@dataclass(frozen=True)
class Binning:
    """Distinct users per cell and unit of so many minutes, on a grid of ``side`` times ``side`` cells."""

    side: int
    minutes: int

    def read(self, path: Path) -> Stream:
        """A stream of a file of events, from the first unit that has one to the last; those far away are left out."""
        events = cells(path)
        codes: dict[str, int] = {}
        try:
            users = np.array([codes.setdefault(user, len(codes)) for _, user, _, _ in events], np.int64)
            units = np.array([_minute(time) // self.minutes for time, _, _, _ in events], np.int64)
            places = np.array([place for _, _, *place in events], np.float64)
        except ValueError:
            raise BadInput(f"{path.name} must hold a time, a user and a place in every row; mend it.") from None
        if not events or not np.isfinite(places).all() or np.ptp(units) >= MOST_UNITS:
            raise BadInput(f"{path.name} must hold events, all of them somewhere, within {MOST_UNITS} time units.")
        near = ((places >= CORNER) & (places <= OPPOSITE)).all(axis=1)
        bins, units = self.side**2, units - units.min()
        visits = np.unique((units[near] * bins + self._cells(places[near])) * len(codes) + users[near])
        counts = np.bincount(visits // len(codes), minlength=(int(units.max()) + 1) * bins)
        return Stream(counts.reshape(-1, bins), name=path.name, shape=(self.side, self.side))

    def stood_in(self, made: Callable[[], Ints]) -> Stream:
        """The same of made-up rows."""
        return Stream(made(), shape=(self.side, self.side))

    def _cells(self, places: Floats) -> Ints:
        """Row by row from the south, in a row from the west. Floats, as such files are counted; the edge is inside."""
        axes = np.floor((places - CORNER) / SIZE * self.side).astype(np.int64)
        row, column = np.minimum(axes, self.side - 1).T
        numbers: Ints = row * self.side + column
        return numbers


def _minute(time: str) -> int:
    """The number of a minute, so that days and hours begin where they do."""
    at = datetime.fromisoformat(time)
    return at.toordinal() * DAY + at.hour * 60 + at.minute
