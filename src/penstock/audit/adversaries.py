"""Streams made by somebody who wants one protected set to pay as much as it can be made to.

An adversary sees what everybody sees, every release and what it cost, and then says what the next counts are. Under
m-context another one says who is present. What they say is a function of what they have seen, so that a stream can go
on after a restart; the secrets of the curator they do not know.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from penstock.epsilon import Epsilon
from penstock.types import LARGEST_COUNT, Ints

FAR = 10**6  # records: far from anything, for all the noise of small examples
STRETCH = 3  # units for which the mixture stays with one of the others
CROWD = tuple(f"user {i}" for i in range(5))


class Seen(NamedTuple):
    """What is known before unit ``t``: the last release, what its unit cost, and what that left to be spent.

    ``room`` is the most that each bin can hold; it is 0 until it is settled who is present. ``phase`` tells streams of
    one adversary apart, and ``rng`` is for its own dice.
    """

    t: int
    window: int
    epsilon: Epsilon
    last: Ints
    charged: Epsilon
    remaining: Epsilon
    room: int
    phase: int
    rng: np.random.Generator


Adversary = Callable[[Seen], Ints]
Attendance = Callable[[Seen], tuple[str, ...]]


def mirror(seen: Seen) -> Ints:
    """What was released last: nothing is ever worth a release, and budgets pile up."""
    return np.clip(seen.last, 0, seen.room)


def chaser(seen: Seen) -> Ints:
    """As far from the last release as can be: every unit is worth one."""
    return np.where(seen.last > seen.room // 2, 0, seen.room)


def empty(seen: Seen) -> Ints:
    """Nobody does anything."""
    return np.zeros_like(seen.last)


def saver(seen: Seen) -> Ints:
    """A calm window, so that budget is saved, and then a window in which every unit provokes."""
    calm = (seen.t - 1 + seen.phase) // seen.window % 2 == 0
    return mirror(seen) if calm else chaser(seen)


def opportunist(seen: Seen) -> Ints:
    """Provokes as long as half of epsilon is left, and then waits until it is back."""
    return chaser(seen) if seen.remaining * 2 >= seen.epsilon else mirror(seen)


def window_edge(seen: Seen) -> Ints:
    """Bursts that lie half before and half behind the edges of windows; the phase moves the edges."""
    side = max(seen.window // 4, 1)
    place = (seen.t + seen.phase) % seen.window
    return chaser(seen) if place < side or place >= seen.window - side else mirror(seen)


def other_bin(seen: Seen) -> Ints:
    """Another bin provokes at every unit: none does so often, and all of them together always."""
    counts, far = mirror(seen), chaser(seen)
    moved = (seen.t + seen.phase) % len(counts)
    counts[moved] = far[moved]
    return counts


def flip_flop(seen: Seen) -> Ints:
    """Full and empty in turn, whatever is released."""
    return np.full_like(seen.last, seen.room * ((seen.t + seen.phase) % 2))


def spike(seen: Seen) -> Ints:
    """Rests while units cost something, and provokes after one that cost nothing: one that was nullified, say."""
    return mirror(seen) if seen.charged else chaser(seen)


def extremes(seen: Seen) -> Ints:
    """The largest count there can be, or none, in every bin by itself."""
    return np.where(seen.rng.random(len(seen.last)) < 0.5, 0, LARGEST_COUNT)


def anything(seen: Seen) -> Ints:
    """Counts at random."""
    return seen.rng.integers(0, seen.room + 1, len(seen.last))


PURE: dict[str, Adversary] = {
    each.__name__: each
    for each in (
        mirror,
        chaser,
        empty,
        saver,
        opportunist,
        window_edge,
        other_bin,
        flip_flop,
        spike,
        extremes,
        anything,
    )
}


def mixture(seen: Seen) -> Ints:
    """One of the others for a few units, and then another one, as the phase has it."""
    dice = np.random.default_rng((seen.phase, seen.t // STRETCH))
    return list(PURE.values())[dice.integers(len(PURE))](seen)


ADVERSARIES: dict[str, Adversary] = PURE | {"mixture": mixture}


def everyone(seen: Seen) -> tuple[str, ...]:
    """All of them, always."""
    return CROWD


def leaving_full(seen: Seen) -> tuple[str, ...]:
    """Each leaves after as many presences as are protected together, and comes back when others have paid."""
    return _those(lambda i: (seen.t + seen.phase + i) % (seen.window + 1 + i) < seen.window)


def leaving_early(seen: Seen) -> tuple[str, ...]:
    """Each leaves one presence before that, so that what was paid long ago still counts when they come back."""
    return _those(lambda i: (seen.t + seen.phase + i) % (2 * seen.window) < max(seen.window - 1, 1))


def relay(seen: Seen) -> tuple[str, ...]:
    """One at a time, each with a budget of their own, and all of them together when everybody has been there."""
    turn = (seen.t + seen.phase) % (len(CROWD) + 1)
    return _those(lambda i: turn in (i, len(CROWD)))


def strangers(seen: Seen) -> tuple[str, ...]:
    """Somebody who was never there before and has all of epsilon, and at every other unit the same one besides."""
    return (f"stranger {seen.t}", *CROWD[: seen.t % 2])


def now_and_then_nobody(seen: Seen) -> tuple[str, ...]:
    """Everybody, or nobody at all."""
    return CROWD if seen.rng.random() < 0.6 else ()


def anybody(seen: Seen) -> tuple[str, ...]:
    """People come and go at random."""
    here = seen.rng.random(len(CROWD)) < 0.6
    return _those(lambda i: bool(here[i]))


ATTENDANCES: dict[str, Attendance] = {
    each.__name__: each
    for each in (everyone, leaving_full, leaving_early, relay, strangers, now_and_then_nobody, anybody)
}


def _those(are_here: Callable[[int], bool]) -> tuple[str, ...]:
    return tuple(user for i, user in enumerate(CROWD) if are_here(i))
