"""The colours of heat maps: light is good, dark is bad. They differ in lightness, which everybody sees."""

from __future__ import annotations

import math

STOPS = ("#fff8dc", "#d3e8c4", "#86c5bd", "#3f93b9", "#2b5a9b", "#1b2358")
CAP = 10.0  # beyond it everything is as dark
STEPS = 24  # of a table; a figure is smooth
TICKS = (1.0, 1.5, 2.0, 3.0, 5.0, CAP)
ABSENT = "#ececec"
BLACK, WHITE = "#000000", "#ffffff"


def place(ratio: float) -> float:
    """Where a ratio lies between 1, at 0, and the cap, at 1, on a scale of logarithms."""
    return math.log(min(max(ratio, 1.0), CAP)) / math.log(CAP)


def step(ratio: float) -> int:
    """The same in whole steps."""
    return round(place(ratio) * STEPS)


def ground(place: float) -> str:
    """The colour at a place from 0 to 1."""
    behind = min(int(place * (len(STOPS) - 1)), len(STOPS) - 2)
    part = place * (len(STOPS) - 1) - behind
    mixed = (
        round((1 - part) * low + part * high)
        for low, high in zip(_parts(STOPS[behind]), _parts(STOPS[behind + 1]), strict=True)
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
