"""Which mechanisms are compared on which streams, under which promises: the boards of the benchmark."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from penstock import catalogue
from penstock.bench.scenario import Promise, Scenario
from penstock.bench.suite.streams import LONG
from penstock.errors import BadInput
from penstock.parameters import nearest

LONG_PROMISES = (
    *(Promise("w-event", epsilon, 120) for epsilon in ("0.1", "0.3", "0.5", "0.7", "0.9", "1")),
    *(Promise("w-event", "1", w) for w in (80, 160, 200, 240)),
)
SHORT_PROMISES = tuple(Promise("w-event", epsilon, 120) for epsilon in ("0.1", "1"))
SHORT = (180, 360)  # one and a half windows, three windows
SPARSE = ("geolife_hour", "pages")  # hundreds of bins, of which nearly all are empty
EVENT_PROMISES = tuple(Promise("event-level", epsilon) for epsilon in ("0.1", "1"))
EVENT_WIDTH = 15  # sums over so many units are judged
USER_PROMISES = tuple(Promise("user-level", epsilon, 1000) for epsilon in ("0.1", "1"))
DEV_STREAMS = ("flu_out", "flu_death", "tdrive", "const", "rw30", "steps")
DEV_PROMISES = (Promise("w-event", "0.1", 120), Promise("w-event", "1", 120))
SEEDS = 3
SUMS = "sliding_baseline"

# Left out of every board, and why.
LEFT_OUT: Mapping[str, str] = {
    "planned": "publishes what its user plans to use, and has no choice of its own",
    "sec_web": "is rescue_dp where a person has one record in a unit, as here",
    SUMS: "publishes sums, and is on the board of sums alone",
}


@dataclass(frozen=True)
class Board:
    """A comparison: all mechanisms that are proven for its promises, on all its streams.

    ``measures`` are judged, the first of them above all.
    """

    key: str
    title: str
    about: str
    streams: tuple[str, ...]
    promises: tuple[Promise, ...]
    measures: tuple[str, ...]
    width: int = 1

    @property
    def mechanisms(self) -> list[str]:
        """Those that are compared, by their keys."""
        sums = [SUMS] if self.width > 1 else []
        return compared_under(self.promises[0]) + sums

    def scenarios(self, only: Iterable[str] = ()) -> list[Scenario]:
        """Every mechanism, or only some, in every cell."""
        chosen = list(only) or self.mechanisms
        return [
            Scenario(stream, promise, key, parameters_of(key, promise, self.width), self.width)
            for stream in self.streams
            for promise in self.promises
            for key in chosen
            if key in self.mechanisms
        ]


BOARDS: Mapping[str, Board] = {
    board.key: board
    for board in (
        Board(
            "long",
            "Long streams, w-event",
            "Thousands of units: mechanisms have found their pace.",
            LONG,
            LONG_PROMISES,
            ("mae", "mre", "rmse", "range_error", "requests"),
        ),
        Board(
            "short",
            "Short and sparse, w-event",
            "The first one and a half and three windows of every stream, and of two sparse ones: how mechanisms begin.",
            tuple(f"{name}[:{steps}]" for name in (*LONG, *SPARSE) for steps in SHORT),
            SHORT_PROMISES,
            ("mae", "mre", "rmse"),
        ),
        Board(
            "event",
            f"Sums over {EVENT_WIDTH} units, event-level",
            "Every unit is protected by itself, and what is used are sliding sums.",
            tuple(f"{name}[:2000]" for name in LONG),
            EVENT_PROMISES,
            ("sse", "mae"),
            EVENT_WIDTH,
        ),
        Board(
            "user",
            "A thousand units, user-level",
            "All of a person's data over the whole stream are protected: nothing that is spent comes back.",
            tuple(f"{name}[:1000]" for name in LONG),
            USER_PROMISES,
            ("mae", "mre", "rmse"),
        ),
    )
}
DEV = Board(
    "dev",
    "For working on a mechanism, w-event",
    "Six streams that differ as much as they can, under two promises.",
    tuple(f"{name}[:2000]" for name in DEV_STREAMS),
    DEV_PROMISES,
    ("mae", "mre", "rmse"),
)


def compared_under(promise: Promise) -> list[str]:
    """The mechanisms that are proven for a promise, and that can be compared."""
    law = type(promise.model)
    proven = (key for key, kind in catalogue.mechanisms().items() if law in kind.proven_for)
    return [key for key in proven if key not in LEFT_OUT]


def parameters_of(key: str, promise: Promise, width: int = 1) -> tuple[tuple[str, Any], ...]:
    """What a mechanism is told on a board, where its own defaults are not what comparisons use.

    FAST samples a fifth of the units. DSFT and DSAT have a twentieth of a window for their releases, or ten of a
    horizon, and so has Fixed there.
    """
    user = promise.law == "user-level"
    releases = {"releases": 10 if user else promise.window // 20} if promise.window >= 20 else {}
    told: Mapping[str, dict[str, Any]] = {
        "fast": {"rate": 0.2},
        "dsft": releases,
        "dsat": releases,
        "fixed": {"every": promise.window // 10} if user else {},
        SUMS: {"width": width},
    }
    return tuple(told.get(key, {}).items())


def board_named(key: str) -> Board:
    """The board of this key."""
    known = [*BOARDS, DEV.key]
    if key not in known:
        raise BadInput(f"there is no board {key!r}; there are {', '.join(known)}.{nearest(key, known)}")
    return DEV if key == DEV.key else BOARDS[key]


def require_mechanisms(keys: Iterable[str], boards: Iterable[Board]) -> list[str]:
    """The keys, if every one of them is compared on one of these boards."""
    shown = list(boards)
    for key in keys:
        catalogue.mechanism(key)
        if key in LEFT_OUT and not any(key in board.mechanisms for board in shown):
            raise BadInput(f"{key} is on none of these boards: it {LEFT_OUT[key]}.")
    return [key.lower() for key in keys]
