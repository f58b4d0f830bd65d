"""Objects that move along roads, counted on a grid."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock.parameters import at_least_one, from_one_to, not_negative, of_kind
from penstock.streams.roads import Roads, Ways, road_map
from penstock.streams.rows import Rows, seeded
from penstock.types import Floats, Ints

LARGEST_SIDE = 4096
PLACES_PER_SIDE, FEWEST_PLACES, MOST_PLACES = 4, 64, 8192

Singles = NDArray[np.float32]  # half as large as usual, and quicker to look up
Numbers = NDArray[np.int32]


def moving_objects(objects: int = 500_000, *, side: int = 1024, steps: int = 1000, growth: int = 0, seed: int) -> Rows:
    """Objects on the roads of a made-up country, counted on a grid of ``side`` times ``side`` cells.

    After the manner of Brinkhoff (2002): there are three classes of road with different speeds; an object appears at
    some place, goes to its destination by the fastest way, and disappears there, while another one appears elsewhere.
    In each unit ``growth`` more objects appear than disappear. The larger the grid, the smaller is the part of its
    cells that roads lead through.

    >>> traffic = moving_objects(100, side=16, steps=3, growth=5, seed=1)
    >>> traffic.shape, [int(row.sum()) for row in traffic.rows()]
    ((16, 16), [100, 105, 110])
    """
    at_least_one("objects", objects)
    from_one_to("side", side, LARGEST_SIDE)
    at_least_one("steps", steps)
    not_negative("growth", of_kind("growth", growth, int))
    rng = seeded(seed)
    places = min(max(PLACES_PER_SIDE * side, FEWEST_PLACES), MOST_PLACES)
    network = _laid_out(*road_map(places, rng), side)
    make = partial(_counted, network, objects, growth, int(rng.integers(2**53)))
    return Rows(make, steps=steps, shape=(side, side), name="moving_objects")


class _Network(NamedTuple):
    """Roads on a grid, as one who drives has to know them."""

    side: int
    end: Numbers  # the place that each road leads to
    time: Singles  # units that it takes
    x: Singles  # where it ends
    y: Singles
    pace_x: Singles  # cells a unit
    pace_y: Singles
    hubs: Numbers
    next: Numbers  # the road to take, by place and hub
    busy: Floats  # how many objects are on the way from a place to a hub up to the next place, of all; summed up


def _laid_out(roads: Roads, ways: Ways, side: int) -> _Network:
    at = roads.places * side
    pace = (at[roads.end] - at[roads.start]) / roads.time[:, np.newaxis]
    busy = np.cumsum(ways.flow * roads.time[ways.road])
    x, y = at[roads.end].astype(np.float32).T
    pace_x, pace_y = pace.astype(np.float32).T
    return _Network(
        side=side,
        end=roads.end.astype(np.int32),
        time=roads.time.astype(np.float32),
        x=np.ascontiguousarray(x),
        y=np.ascontiguousarray(y),
        pace_x=np.ascontiguousarray(pace_x),
        pace_y=np.ascontiguousarray(pace_y),
        hubs=ways.hubs.astype(np.int32),
        next=ways.road.astype(np.int32),
        busy=busy / busy[-1],
    )


class _Objects:
    """Where all objects are: on which road, for how long yet, and on the way to which hub."""

    def __init__(self, network: _Network, number: int, rng: np.random.Generator) -> None:
        """As many as are found in the long run on each road, so that nothing has to settle first."""
        self._network = network
        self._rng = rng
        place, hub = np.divmod(np.searchsorted(network.busy, rng.random(number)), len(network.hubs))
        self._hub = hub.astype(np.int32)
        self._road = network.next[place, hub]
        self._left = network.time[self._road] * rng.random(number, np.float32)

    def counts(self) -> Ints:
        """How many are in each cell."""
        roads = self._network
        x = (roads.x[self._road] - self._left * roads.pace_x[self._road]).astype(np.int32)
        y = (roads.y[self._road] - self._left * roads.pace_y[self._road]).astype(np.int32)
        return np.bincount(y * roads.side + x, minlength=roads.side**2)

    def move(self) -> None:
        """All go on for one unit; who is at the end of a road goes on along the next one."""
        self._left -= 1
        past = np.flatnonzero(self._left <= 0)
        while len(past):
            self._turn(past)
            past = past[self._left[past] <= 0]

    def _turn(self, past: Ints) -> None:
        roads = self._network
        place, hub = roads.end[self._road[past]], self._hub[past]
        arrived = np.flatnonzero(place == roads.hubs[hub])
        place[arrived], hub[arrived] = self._trips(len(arrived))
        road = roads.next[place, hub]
        self._road[past], self._hub[past] = road, hub
        self._left[past] += roads.time[road]

    def appear(self, number: int) -> None:
        """So many more set out."""
        place, hub = self._trips(number)
        road = self._network.next[place, hub]
        self._road = np.concatenate([self._road, road])
        self._hub = np.concatenate([self._hub, hub])
        self._left = np.concatenate([self._left, self._network.time[road]])

    def _trips(self, number: int) -> tuple[Numbers, Numbers]:
        """Where new objects appear, and where they are going."""
        places, hubs = self._network.next.shape
        return self._rng.integers(0, places, number, np.int32), self._rng.integers(0, hubs, number, np.int32)


def _counted(network: _Network, number: int, growth: int, seed: int) -> Iterator[Ints]:
    objects = _Objects(network, number, seeded(seed))
    while True:
        yield objects.counts()
        objects.move()
        if growth:
            objects.appear(growth)
