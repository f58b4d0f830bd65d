"""Streams that are made up for leaving parts out: of every kind, with one bin and with many, and on no board."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from penstock.bench.suite.naming import Loaded
from penstock.bench.suite.streams import PREFIX, prefix
from penstock.bench.suite.streams import load as load_named
from penstock.streams import synthetic

STEPS = 1200  # ten windows
SHORT = 240  # two
MANY = 32
FIRST_SEED = 1001  # far from those of the boards
KINDS = ("constant", "walk", "walk_30", "jumps", "steps", "seasonal", "diurnal", "weekly", "bursty")
SPREAD = (*KINDS, "bursts", "sparse")  # the last two are next to nothing in one bin


class Made(NamedTuple):
    """What a stream is made of."""

    kind: str
    bins: int
    seed: int


def _all() -> dict[str, Made]:
    kinds = [(kind, 1) for kind in KINDS] + [(kind, MANY) for kind in SPREAD]
    return {
        f"made_{kind}" if bins == 1 else f"made_{kind}_{bins}": Made(kind, bins, seed)
        for seed, (kind, bins) in enumerate(kinds, start=FIRST_SEED)
    }


MADE: Mapping[str, Made] = _all()


def load(name: str, data: Path | None) -> Loaded:
    """The stream of this name, or its first units: one of these, or one of the benchmark's."""
    if name.split("[")[0] not in MADE:
        return load_named(name, data)
    part = PREFIX.fullmatch(name)
    if part is not None:
        return prefix(load(part[1], data), int(part[2]))
    kind, bins, seed = MADE[name]
    counts = synthetic(kind, bins=bins, steps=STEPS, seed=seed).counts
    return Loaded(name, counts, "generated", f"made up: {kind}", (bins,))
