"""A table of made-up records that a release could have come from."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from penstock.domain import Domain
from penstock.errors import BadInput
from penstock.parameters import at_least_one, not_negative, of_kind
from penstock.post import NonNegative
from penstock.types import Ints, Release

MOST_ROWS = 10**8


def table(
    release: Release, domain: Domain, *, rows: int | None = None, seed: int | None = None
) -> Iterator[tuple[str, ...]]:
    """Records as a release tells them, a row of attribute values each, in random order.

    Without ``rows`` every bin has as many as its value says, once values below 0 are taken from the others. With it, so
    many are drawn with chances in proportion to these. The records are made up: nobody is in them, and they tell
    nothing that the release does not.

    >>> from penstock.epsilon import Epsilon
    >>> release = Release(1, np.array([2, 0, 1]), np.zeros(3, np.int8), np.ones(3), Epsilon(1))
    >>> sorted(table(release, Domain({"colour": ["red", "green", "blue"]}), seed=1))
    [('blue',), ('red',), ('red',)]
    """
    if len(release.values) != len(domain):
        raise BadInput(f"the domain has {len(domain)} bins, and the release {len(release.values)}; they must agree.")
    weights = NonNegative()(release).values
    number = int(weights.sum()) if rows is None else rows
    if rows is not None:
        at_least_one("rows", rows)
    if seed is not None:
        not_negative("seed", of_kind("seed", seed, int))
    if number > MOST_ROWS:
        raise BadInput(f"a table has at most {MOST_ROWS} rows; say how many to draw with rows.")
    return _rows(_drawn(weights, rows, np.random.default_rng(seed)), domain)


def _drawn(weights: Ints, rows: int | None, rng: np.random.Generator) -> Ints:
    """The bins of the records, in random order."""
    if rows is None:
        return rng.permutation(np.repeat(np.arange(len(weights)), weights))
    if not weights.any():
        raise BadInput("the release holds nothing to draw from; ask for a table of another unit.")
    return rng.choice(len(weights), rows, p=weights / weights.sum())


def _rows(drawn: Ints, domain: Domain) -> Iterator[tuple[str, ...]]:
    values = list(domain.attributes.values())
    places = np.unravel_index(drawn, domain.shape)
    columns = [np.array(each, object)[place] for each, place in zip(values, places, strict=True)]
    return zip(*columns, strict=True)
