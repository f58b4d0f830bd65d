"""Requests for the pages of a site that the world looks at for some weeks."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np

from penstock.parameters import at_least_one
from penstock.streams.rows import Rows, seeded
from penstock.types import Floats, Ints

REQUESTS = 5  # an hour and page, on average over time and apart from matches
ZIPF = 1.3  # the power of its rank with which a page's popularity falls
LASTING = 0.01  # of the pages, the most popular ones, are there all the time
EARLY = 0.3  # of the pages are there from the beginning
LIFE = 0.3  # of all time is how long a page lives, on average
DAY = 24
TIMES = (0.0, 0.45, 0.48, 0.8, 0.9, 1.0)  # parts of the time, between which interest rises and falls evenly
INTEREST = (0.07, 0.35, 1.6, 1.6, 0.3, 0.08)
FIRST_DAY, LAST_DAY = 0.47, 0.8  # of matches, in parts of the time
KICK_OFFS = (14, 17, 20)  # hours
WATCHED = 12  # pages at most that a match is about
RUSH = (0.5, 1.0, 0.8, 0.3, 0.1)  # how many ask for them in the hours after the kick-off


class _Match(NamedTuple):
    kick_off: int
    pages: Ints
    requests: Floats  # expected, a row an hour


class _Site(NamedTuple):
    """What pages there are, how popular, from when until when, and how many requests are expected in each hour."""

    popularity: Floats
    born: Ints
    dies: Ints
    level: Floats
    matches: list[_Match]


def pages(bins: int = 88_762, *, steps: int = 2088, seed: int) -> Rows:
    """Requests per page and hour of a site like that of the World Cup of 1998.

    Popularity follows Zipf's law. Days have a rhythm; interest grows until the matches begin, each of which makes it
    jump on a few pages for some hours. Pages are born and die, and most of them are not asked for in most hours.

    >>> site = pages(500, steps=48, seed=1)
    >>> site, next(site.rows()).shape
    (Rows(pages, steps=48, bins=500), (500,))
    """
    at_least_one("bins", bins)
    at_least_one("steps", steps)
    rng = seeded(seed)
    rank = rng.permutation(bins)
    popularity = (rank + 1.0) ** -ZIPF / (np.arange(1.0, bins + 1) ** -ZIPF).sum()
    lasting = rank < LASTING * bins
    born = np.where(lasting | (rng.random(bins) < EARLY), 0, rng.integers(0, steps, bins))
    dies = np.where(lasting, steps, born + np.ceil(rng.exponential(LIFE * steps, bins)).astype(np.int64))
    level = REQUESTS * bins * _interest(steps)
    site = _Site(popularity, born, dies, level, _matches(popularity, level, rng))
    make = partial(_asked_for, site, int(rng.integers(2**53)))
    return Rows(make, steps=steps, shape=(bins,), name="pages")


def _interest(steps: int) -> Floats:
    """How many look at the site in each hour, over the mean of all hours; most of them in the afternoon."""
    hour = np.arange(steps)
    season = np.exp(np.interp(hour / steps, TIMES, np.log(INTEREST)))
    interest = season * np.exp(-0.5 * np.cos(2 * np.pi * (hour - 4) / DAY))
    relative: Floats = interest / interest.mean()
    return relative


def _matches(popularity: Floats, level: Floats, rng: np.random.Generator) -> list[_Match]:
    """Up to three a day, which draw up to eight times the usual crowd; mostly to pages that are popular anyway."""
    days, watched = len(level) / DAY, min(WATCHED, len(popularity))
    share = 1 / np.arange(1, watched + 1)
    matches = []
    for day in range(round(FIRST_DAY * days), round(LAST_DAY * days)):
        for hour in KICK_OFFS[: rng.integers(0, len(KICK_OFFS) + 1)]:
            kick_off = DAY * day + hour
            crowd = level[kick_off : kick_off + len(RUSH)] * rng.choice((1, 2, 4, 8))
            about = rng.choice(len(popularity), watched, replace=False, p=popularity)
            requests = np.outer(crowd * RUSH[: len(crowd)], share / share.sum())
            matches.append(_Match(kick_off, about, requests))
    return matches


def _asked_for(site: _Site, seed: int) -> Iterator[Ints]:
    rng = seeded(seed)
    for hour, level in enumerate(site.level):
        alive = np.flatnonzero((site.born <= hour) & (hour < site.dies))
        row = np.zeros(len(site.born), np.int64)
        row[alive] = rng.poisson(level * site.popularity[alive])
        for match in site.matches:
            if 0 <= hour - match.kick_off < len(match.requests):
                row[match.pages] += rng.poisson(match.requests[hour - match.kick_off])
        yield row
