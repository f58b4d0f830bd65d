"""A made-up map of roads, and the fastest ways along them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from penstock.types import Floats, Ints

HUBS = 48  # places that one can go to
NEAR = 16  # places that a road may lead to from each
CLEARLY = 0.95  # a detour is as good as a road if both of its parts are shorter than that part of it
SLOW, MAIN, FAST = 0.001, 0.002, 0.004  # speeds of the three classes of road, in sides of the map a unit
FROM_MAIN_ON, FROM_FAST_ON = 0.75, 0.94  # ranks of roads by traffic, from 0 to 1
SHORTEST = 0.01  # units; no road takes less
CITY, VILLAGES = 0.5, 0.2  # parts of all places that lie in the city, and in one of eight villages


class Roads(NamedTuple):
    """Roads one way each: those of the second half lead back along those of the first. ``time`` is what each takes."""

    places: Floats  # x and y of each, between 0 and 1
    start: Ints
    end: Ints
    time: Floats


class Ways(NamedTuple):
    """For each place and hub the road to take next, and from how many places one comes along it."""

    hubs: Ints
    road: Ints
    flow: Ints


def road_map(places: int, rng: np.random.Generator) -> tuple[Roads, Ways]:
    """Roads between about so many places, and the fastest ways to some of them."""
    country = connected(_scattered(places, rng))
    hubs = rng.choice(len(country.places), min(HUBS, len(country.places)), replace=False)
    roads = _built(country, _ways(country, hubs))
    return roads, _ways(roads, hubs)


def _scattered(places: int, rng: np.random.Generator) -> Floats:
    """Places of a city, of villages and in the country; where many would lie on top of each other, one stays."""
    anywhere = rng.uniform(0.02, 0.98, (places, 2))
    middle = np.concatenate([[[0.5, 0.5]], rng.uniform(0.1, 0.9, (8, 2))])
    kind = rng.random(places)
    town = np.where(kind < CITY, 0, rng.integers(1, len(middle), places))
    spread = np.where(town == 0, 0.12, 0.025)[:, np.newaxis]
    settled = middle[town] + spread * rng.normal(size=(places, 2))
    inside = (kind < CITY + VILLAGES) & (np.abs(settled - 0.5) < 0.48).all(axis=1)
    fine = 4 * np.sqrt(places)
    cells = np.unique(np.floor(np.where(inside[:, np.newaxis], settled, anywhere) * fine), axis=0)
    scattered: Floats = (cells + rng.uniform(0.2, 0.8, cells.shape)) / (fine + 1)
    return scattered


def connected(places: Floats) -> Roads:
    """Slow roads between all neighbours that have no third place between them; what hangs together with most."""
    near, apart = _nearest(places)
    among = _distances(places[near][:, :, np.newaxis], places[near][:, np.newaxis])
    detour = np.maximum(apart[:, :, np.newaxis], among) < CLEARLY * apart[:, np.newaxis]  # place, by way of, to
    one, number = np.nonzero(~detour.any(axis=1))
    pairs = np.unique(np.sort(np.stack([one, near[one, number]], axis=1), axis=1), axis=0)
    part = _parts(len(places), pairs)
    kept = part == np.bincount(part).argmax()
    pairs = (np.cumsum(kept) - 1)[pairs[kept[pairs[:, 0]]]]
    start, end = np.concatenate([pairs, pairs[:, ::-1]]).T
    lengths = _distances(places[kept][start], places[kept][end])
    return Roads(places[kept], start, end, np.maximum(lengths / SLOW, SHORTEST))


def _nearest(places: Floats) -> tuple[Ints, Floats]:
    """For each place those nearest to it, in order, and how far they are."""
    number = min(NEAR, len(places) - 1)
    near = np.empty((len(places), number), np.int64)
    for i, place in enumerate(places):
        apart = _distances(places, place)
        apart[i] = np.inf
        found = np.argpartition(apart, number - 1)[:number]
        near[i] = found[np.argsort(apart[found])]
    return near, _distances(places[near], places[:, np.newaxis])


def _distances(a: Floats, b: Floats) -> Floats:
    apart: Floats = np.hypot(a[..., 0] - b[..., 0], a[..., 1] - b[..., 1])
    return apart


def _parts(places: int, pairs: Ints) -> Ints:
    """The part of the map that each place belongs to: the lowest number that it hangs together with."""
    part, settled = np.arange(places), False
    while not settled:
        before = part.copy()
        np.minimum.at(part, pairs.ravel(), np.repeat(part[pairs].min(axis=1), 2))
        settled = np.array_equal(part, before)
    return part


def _ways(roads: Roads, hubs: Ints) -> Ways:
    """The fastest ways from everywhere to every hub, by turns of: my neighbour's way, and the road there."""
    choices = _choices(roads)
    time, settled = np.full((len(roads.places), len(hubs)), np.inf), False
    time[hubs, np.arange(len(hubs))] = 0
    while not settled:
        before = time.copy()
        for road in choices:
            np.minimum(time, roads.time[road, np.newaxis] + time[roads.end[road]], out=time)
        settled = np.array_equal(time, before)
    options = np.stack([roads.time[road, np.newaxis] + time[roads.end[road]] for road in choices])
    road = choices[options.argmin(axis=0), np.arange(len(roads.places))[:, np.newaxis]]
    return Ways(hubs, road, _flow(roads, hubs, road, time))


def _choices(roads: Roads) -> Ints:
    """The roads that leave each place, a row for the first of each, the second and so on; the first fills up gaps."""
    order = np.argsort(roads.start, kind="stable")
    leaving = np.bincount(roads.start)
    first = np.cumsum(leaving) - leaving
    number = np.arange(leaving.max())[:, np.newaxis]
    choices: Ints = order[first + np.where(number < leaving, number, 0)]
    return choices


def _flow(roads: Roads, hubs: Ints, road: Ints, time: Floats) -> Ints:
    """From how many places one comes through each on the way to each hub, from the furthest place inwards."""
    column = np.arange(len(hubs))
    flow = np.ones(road.shape, np.int64)
    for place in np.argsort(-time, axis=0)[:-1]:
        flow[roads.end[road[place, column]], column] += flow[place, column]
    flow[hubs, column] = 1  # who has arrived goes no further
    return flow


def _built(roads: Roads, ways: Ways) -> Roads:
    """The same roads, of which those are faster that most ways lead along."""
    single = len(roads.start) // 2
    traffic = np.bincount(ways.road.ravel() % single, weights=ways.flow.ravel(), minlength=single)
    rank = np.argsort(np.argsort(traffic, kind="stable")) / single
    speed = np.where(rank < FROM_MAIN_ON, SLOW, np.where(rank < FROM_FAST_ON, MAIN, FAST))
    return roads._replace(time=np.maximum(roads.time * SLOW / np.tile(speed, 2), SHORTEST))
