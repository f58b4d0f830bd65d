"""The colours of heat maps: light is good, dark is bad. They differ in lightness, which everybody sees.

Middle tones are left out: neither black nor white letters are easy to read on them.
"""

from __future__ import annotations

import math
from bisect import bisect_right

CAP = 100.0  # beyond it everything is as dark
STOPS = (
    *((1.0, "#fffcee"), (1.5, "#e3eb9c"), (2.0, "#b4dc94"), (3.0, "#77c5a0"), (5.0, "#4aa3ab")),
    *((5.0, "#2c629a"), (10.0, "#2b4287"), (30.0, "#2a1f60"), (CAP, "#140824")),
)
TICKS = tuple(dict.fromkeys(ratio for ratio, _ in STOPS))
STEPS = 53  # of a table, so many that one of them begins at 5; a figure is smooth
ABSENT = "#ececec"
BLACK, WHITE = "#000000", "#ffffff"


def place(ratio: float) -> float:
    """Where a ratio lies between 1, at 0, and the cap, at 1, on a scale of logarithms."""
    return math.log(min(max(ratio, 1.0), CAP)) / math.log(CAP)


PLACES = tuple(place(ratio) for ratio, _ in STOPS)


def step(ratio: float) -> int:
    """The same in whole steps."""
    return round(place(ratio) * STEPS)


def ground(place: float) -> str:
    """The colour at a place from 0 to 1."""
    ahead = min(bisect_right(PLACES, place), len(STOPS) - 1)
    part = (place - PLACES[ahead - 1]) / (PLACES[ahead] - PLACES[ahead - 1])
    mixed = (
        round((1 - part) * low + part * high)
        for low, high in zip(_parts(STOPS[ahead - 1][1]), _parts(STOPS[ahead][1]), strict=True)
    )
    return "#" + "".join(f"{each:02x}" for each in mixed)


def ink(colour: str) -> str:
    """Black or white, whichever is easier to read on a colour."""
    return max((BLACK, WHITE), key=lambda letters: contrast(letters, colour))


def contrast(one: str, other: str) -> float:
    """The contrast of two colours, from 1 to 21, as guidelines for accessible pages define it."""
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    linear = [
        part / 255 / 12.92 if part / 255 <= 0.04045 else ((part / 255 + 0.055) / 1.055) ** 2.4
        for part in _parts(colour)
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _parts(colour: str) -> tuple[int, ...]:
    return tuple(bytes.fromhex(colour.removeprefix("#")))
