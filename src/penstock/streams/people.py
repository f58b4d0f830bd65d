"""People with attributes, some of whom are replaced by others all the time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from penstock.errors import BadInput
from penstock.parameters import at_least_one, of_kind, up_to_one
from penstock.streams.rows import Rows, seeded
from penstock.types import Floats, Ints

DOMAINS = (96, 2, 12, 2, 2, 3)  # age, gender, education, insured, married, income
POOL = 6  # people in all, for each one counted: 3,000,000 for 500,000
PACE = (0.5, 1.5, 0.2, 1.0, 2.5, 0.1, 0.8, 2.0, 0.3, 1.1)  # of replacement in each tenth of the time; 1 on average
SCATTER = 0.2  # of the number replaced, in parts of its mean

Codes = NDArray[np.int32]


def census(
    tuples: int = 500_000,
    *,
    attributes: int = 6,
    steps: int = 1000,
    rate: float = 0.02,
    pool: ArrayLike | None = None,
    seed: int,
) -> Rows:
    """The dynamic data set of Li et al. (2015): ``tuples`` people, of whom some are exchanged in every unit.

    As many as are counted are drawn from a pool. In each unit m of them go back to it and m others come, at random;
    m is normal, on average ``rate`` of all, and its mean changes ten times. Bins are the combinations of the first
    ``attributes``, which are 3 to 6, with domains of 96, 2, 12, 2, 2 and 3 values: age, gender, education, insurance,
    marriage, income.

    ``pool`` gives one row of codes from 0 on for each person, and more people than are counted: repeat those that
    there are if they are too few. Else a pool of six times as many is made up.

    >>> people = census(1000, attributes=3, steps=5, seed=1)
    >>> people.shape, people.bins, [int(row.sum()) for row in people.rows()]
    ((96, 2, 12), 2304, [1000, 1000, 1000, 1000, 1000])
    """
    at_least_one("tuples", tuples)
    at_least_one("steps", steps)
    up_to_one("rate", of_kind("rate", rate, float))
    rng = seeded(seed)
    if of_kind("attributes", attributes, int) not in range(3, len(DOMAINS) + 1):
        raise BadInput(f"a census has 3 to {len(DOMAINS)} attributes; got {attributes!r}.")
    people = made_up(POOL * tuples, rng) if pool is None else _checked(pool, attributes, tuples)
    codes = np.ravel_multi_index(tuple(people.T[:attributes]), DOMAINS[:attributes]).astype(np.int32)
    shape = DOMAINS[:attributes]
    rates = rate * np.array(PACE)[np.arange(steps) * len(PACE) // steps]
    make = partial(_exchanged, codes, math.prod(shape), tuples, rates, int(rng.integers(2**53)))
    return Rows(make, steps=steps, shape=shape, name="census")


def _checked(pool: ArrayLike, attributes: int, tuples: int) -> Ints:
    people = np.asarray(pool)
    if people.ndim != 2 or people.shape[1] < attributes or people.dtype.kind not in "iu":
        raise BadInput(f"a pool holds a row of {attributes} or more whole numbers for each person; give it as that.")
    first = people[:, :attributes].astype(np.int64)
    if len(first) <= tuples:
        raise BadInput(f"a pool must hold more than the {tuples} people who are counted; repeat its rows.")
    if first.min() < 0 or (first >= DOMAINS[:attributes]).any():
        sizes = ", ".join(map(str, DOMAINS[:attributes]))
        raise BadInput(f"codes in a pool count from 0 to below {sizes}, one after another; mend them.")
    return first


def _exchanged(codes: Codes, bins: int, tuples: int, rates: Floats, seed: int) -> Iterator[Ints]:
    """One histogram a unit. Only those who come or go are looked at, which keeps each step short."""
    rng = seeded(seed)
    everyone = rng.permutation(codes)
    inside, outside = everyone[:tuples], everyone[tuples:]
    counts = np.bincount(inside, minlength=bins)
    for mean in rates * tuples:
        number = min(max(round(rng.normal(mean, SCATTER * mean)), 0), tuples, len(outside))
        leave = rng.choice(tuples, number, replace=False, shuffle=False)
        come = rng.choice(len(outside), number, replace=False, shuffle=False)
        gone, new = inside[leave], outside[come]
        inside[leave], outside[come] = new, gone
        counts += np.bincount(new, minlength=bins) - np.bincount(gone, minlength=bins)
        yield counts.copy()


def made_up(size: int, rng: np.random.Generator) -> Ints:
    """A pool of so many people, a row each: few are old, and with age one marries, learns and earns."""
    age = np.minimum(rng.gamma(4.0, 9.5, size), 95).astype(np.int64)
    grown = np.clip((age - 16) / 20, 0, 1)
    gender = rng.integers(0, 2, size)
    education = np.clip(rng.normal(2 + 5 * grown, 1.6), 0, 11).astype(np.int64)
    insured = rng.random(size) < 0.9
    married = rng.random(size) < 0.6 * grown
    rich = rng.random(size) < 0.05 + 0.05 * education * grown / 2
    income = np.where(age < 20, 0, np.where(rich, 2, 1))
    return np.stack([age, gender, education, insured, married, income], axis=1)
