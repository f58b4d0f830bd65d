"""Numbers that a mechanism's own code mentions, tried as counts and as numbers of time units.

A leak may lie behind a condition that no usual stream meets: a certain count, a certain unit. The number has to stand
somewhere, so it is looked for in the code, and the mechanism is replayed on other counts where it is met.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

import numpy as np

from penstock.checks.neighbours import record, replay
from penstock.checks.subject import BINS, Subject
from penstock.checks.verbs import nested, sources
from penstock.mechanisms.base import Mechanism
from penstock.noise import ScriptedNoise
from penstock.streams import Stream
from penstock.types import LARGEST_COUNT, Ints

# How many numbers are tried, those of the mechanism's own file first.
MOST_NUMBERS = 40
# Units that are published one by one, for what counts its own steps.
UNITS_IN_A_ROW = 64
# The latest unit that is visited, and the units around a number.
LATEST_UNIT = 1000
AROUND = (-1, 0, 1)
CALLED = "other counts"


def no_number_opens_a_leak(subject: Subject) -> None:
    """At the numbers that its code mentions, as counts and as units, the mechanism still goes by its answers alone."""
    numbers = numbers_in(subject.mechanism)
    for stream in _counting(subject, numbers):
        _require_deaf(subject, stream, frozenset())
    for stream in _lasting(subject, numbers):
        visited = _visited(numbers, len(stream.counts))
        missing = frozenset(range(1, len(stream.counts) + 1)) - visited
        _require_deaf(subject, stream, missing)


def _require_deaf(subject: Subject, stream: Stream, missing: frozenset[int]) -> None:
    """Every answer is one too large, so that answers meet the numbers as well; then come counts that never do."""
    recorded = record(subject, stream, ScriptedNoise(then=1), missing)
    empty = Stream(np.zeros_like(stream.counts), presence=stream.presence)
    replay(subject, recorded, empty, CALLED, missing)


def _counting(subject: Subject, numbers: tuple[int, ...]) -> Iterator[Stream]:
    """For each number a stream that begins with it: in the first bin, in all of them, one less and one more."""
    rng = np.random.default_rng(1)
    for number in numbers:
        if number < LARGEST_COUNT:
            rows = [
                [number] + [0] * (BINS - 1),
                *([count] * BINS for count in (number, max(number - 1, 0), number + 1)),
            ]
            yield from (subject.stream(np.array(rows)[: subject.steps(), :bins], rng) for bins in subject.widths)


def _lasting(subject: Subject, numbers: tuple[int, ...]) -> Iterator[Stream]:
    """Streams that go on beyond the last unit to be visited, of several bins and of one; a horizon is never overrun."""
    rng = np.random.default_rng(2)
    last = max(_visited(numbers, subject.model.window if subject.model.horizon_bound else LATEST_UNIT))
    counts: Ints = rng.integers(1, 1000, (last, BINS))
    yield from (subject.stream(counts[:, :bins], rng) for bins in subject.widths)


def _visited(numbers: tuple[int, ...], last: int) -> frozenset[int]:
    """The units that are published: the first ones, and those around a number."""
    around = {number + step for number in numbers for step in AROUND}
    return frozenset(t for t in around.union(range(1, UNITS_IN_A_ROW + 1)) if 1 <= t <= last)


@lru_cache(maxsize=64)
def numbers_in(mechanism: type[Mechanism]) -> tuple[int, ...]:
    """The whole numbers in the code of a mechanism and of what its proof rests on, fractions rounded either way."""
    found: dict[int, None] = {}
    for part in sources(mechanism):
        for code in nested(compile(inspect.getsource(part), "<checked>", "exec")):
            for number in _numbers(code.co_consts):
                found.setdefault(number)
    return tuple(found)[:MOST_NUMBERS]


def _numbers(constants: tuple[Any, ...]) -> Iterator[int]:
    for constant in constants:
        if isinstance(constant, tuple):
            yield from _numbers(constant)
        elif isinstance(constant, int | float) and not isinstance(constant, bool) and math.isfinite(constant):
            yield from (math.floor(abs(constant)), math.ceil(abs(constant)))
