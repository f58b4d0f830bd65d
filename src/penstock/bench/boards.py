"""Which mechanisms are compared on which streams, under which promises: the boards of the benchmark."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from penstock import catalogue
from penstock.bench.scenario import OBJECTIVE, SUMMING, Promise, Scenario
from penstock.bench.suite.streams import LONG
from penstock.errors import BadInput
from penstock.own import is_file
from penstock.parameters import nearest

LONG_PROMISES = (
    *(Promise("w-event", epsilon, 120) for epsilon in ("0.1", "0.3", "0.5", "0.7", "0.9", "1")),
    *(Promise("w-event", "1", w) for w in (80, 160, 200, 240)),
)
SHORT_PROMISES = tuple(Promise("w-event", epsilon, 120) for epsilon in ("0.1", "1"))
SHORT = (180, 360)  # one and a half windows, three windows
SPARSE = ("geolife_hour", "pages")  # nearly all of their bins are empty at any time
EVENT_PROMISES = tuple(Promise("event-level", epsilon) for epsilon in ("0.1", "1"))
EVENT_WIDTH = 15  # sums over so many units are judged
USER_PROMISES = tuple(Promise("user-level", epsilon, 1000) for epsilon in ("0.1", "1"))
DEV_STREAMS = ("flu_out", "flu_death", "tdrive", "const", "rw30", "steps")
DEV_PROMISES = (Promise("w-event", "0.1", 120), Promise("w-event", "1", 120))
SEEDS = 3  # of a board, if it does not say else
SUMS = "sliding_baseline"
OBJECTIVES = ("mre", "rmse")  # measures for which a mechanism that has objectives takes part once more

# Left out of every board, and why.
LEFT_OUT: Mapping[str, str] = {
    "planned": "publishes what its user plans to use, and has no choice of its own",
    "sec_web": "is rescue_dp where a person has one record in a unit, as here",
    SUMS: "publishes sums, and is on the board of sums alone",
}


@dataclass(frozen=True)
class Board:
    """A comparison: all mechanisms that are proven for its promises, on all its streams.

    ``measures`` are judged, the first of them above all. Of every stream it takes as many units as ``lengths`` say, 0
    being all of them. Under the promises in ``aimed`` a mechanism that can be made for a measure takes part once more.
    Every cell is run with so many ``seeds``.
    """

    key: str
    title: str
    about: str
    streams: tuple[str, ...]
    promises: tuple[Promise, ...]
    measures: tuple[str, ...]
    lengths: tuple[int, ...] = (0,)
    width: int = 1
    aimed: tuple[Promise, ...] = ()
    seeds: int = SEEDS

    def on(self, names: Iterable[str]) -> Board:
        """The same comparison on other streams; one with a length of its own, like "taxi[:50]", keeps it."""
        return replace(self, streams=tuple(each for name in names for each in beginnings(name, self.lengths)))

    @property
    def mechanisms(self) -> list[str]:
        """Those that are compared, by their keys."""
        sums = [SUMS] if self.width > 1 else []
        return compared_under(self.promises[0]) + sums

    def scenarios(self, only: Iterable[str] = (), *, allow_unproven: bool = False) -> list[Scenario]:
        """Every mechanism, or only some, in every cell; those of one's own need a proof, or nobody minds."""
        chosen = list(only) or self.mechanisms
        compared = [*self.mechanisms, *self.own(chosen)]
        return [
            each._replace(allow_unproven=allow_unproven and is_file(key))
            for stream in self.streams
            for promise in self.promises
            for key in chosen
            if key in compared
            for each in contestants(stream, promise, key, self.measures if promise in self.aimed else (), self.width)
        ]

    def own(self, keys: Iterable[str]) -> list[str]:
        """The mechanisms of one's own among these that claim the promises of this board."""
        law = type(self.promises[0].model)
        return [key for key in keys if is_file(key) and law in catalogue.mechanism(key).proven_for]

    def wanted(
        self, only: Iterable[str] = (), seeds: int | None = None, *, allow_unproven: bool = False
    ) -> dict[Scenario, int]:
        """How many runs there are of each scenario, if nobody says so."""
        return dict.fromkeys(self.scenarios(only, allow_unproven=allow_unproven), seeds or self.seeds)


def beginnings(name: str, lengths: Iterable[int]) -> list[str]:
    """What the beginnings of a stream are called."""
    return [name] if name.endswith("]") else [f"{name}[:{length}]" if length else name for length in lengths]


BOARDS: Mapping[str, Board] = {
    board.key: board.on(board.streams)
    for board in (
        Board(
            "long",
            "Long streams, w-event",
            "Thousands of units: mechanisms have found their pace.",
            LONG,
            LONG_PROMISES,
            ("mae", "mre", "rmse", "range_error", "requests"),
            aimed=SHORT_PROMISES[-1:],
        ),
        Board(
            "short",
            "Short and sparse, w-event",
            "The first one and a half and three windows of every stream, and of two sparse ones: how mechanisms begin.",
            (*LONG, *SPARSE),
            SHORT_PROMISES,
            ("mae", "mre", "rmse"),
            SHORT,
            seeds=9,  # streams at rest see little but the first numbers of a seed, and all of them see the same
        ),
        Board(
            "event",
            f"Sums over {EVENT_WIDTH} units, event-level",
            "Every unit is protected by itself, and what is used are sliding sums.",
            (*LONG, SPARSE[0]),
            EVENT_PROMISES,
            ("sse", "mae"),
            (2000,),
            EVENT_WIDTH,
        ),
        Board(
            "user",
            "A thousand units, user-level",
            "All of a person's data over the whole stream are protected: nothing that is spent comes back.",
            LONG,
            USER_PROMISES,
            ("mae", "mre", "rmse"),
            (1000,),
        ),
    )
}
DEV = Board(
    "dev",
    "For working on a mechanism, w-event",
    "Six streams that differ as much as they can, under two promises.",
    DEV_STREAMS,
    DEV_PROMISES,
    ("mae", "mre", "rmse"),
    (2000,),
).on(DEV_STREAMS)


def compared_under(promise: Promise) -> list[str]:
    """The mechanisms that are proven for a promise, and that can be compared."""
    law = type(promise.model)
    proven = (key for key, kind in catalogue.mechanisms().items() if law in kind.proven_for)
    return [key for key in proven if key not in LEFT_OUT]


def contestants(stream: str, promise: Promise, key: str, measures: Iterable[str], width: int = 1) -> Iterator[Scenario]:
    """A mechanism as it takes part in a cell: once, and once more for each of the measures that it can be made for."""
    usual = Scenario(stream, promise, key, parameters_of(key, promise, width), width)
    yield usual
    if OBJECTIVE in (field.name for field in catalogue.mechanism(key).parameter_fields()):
        for measure in (each for each in measures if each in OBJECTIVES):
            yield usual._replace(parameters=(*usual.parameters, (OBJECTIVE, measure)))


def parameters_of(key: str, promise: Promise, width: int = 1) -> tuple[tuple[str, Any], ...]:
    """What a mechanism is told on a board, where its own defaults are not what comparisons use.

    FAST samples a fifth of the units. At event level waiting saves nothing, so Fixed publishes always. Where sums are
    judged, who can publish sums does.
    """
    told: Mapping[str, dict[str, Any]] = {
        "fast": {"rate": 0.2},
        "fixed": {"every": 1} if promise.law == "event-level" else {},
        **dict.fromkeys(SUMMING, {"width": width} if width > 1 else {}),
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
    told, known = list(keys), list(boards)
    chosen = [key if is_file(key) else key.lower() for key in told]
    compared = {key for board in known for key in (*board.mechanisms, *board.own(chosen))}
    for key in chosen:
        catalogue.mechanism(key)
        if key not in compared:
            because = f"it {LEFT_OUT[key]}" if key in LEFT_OUT else "it is not proven for what they promise"
            raise BadInput(f"{key} is on none of these boards: {because}.")
    return chosen


def require_long_enough(board: Board, lengths: Mapping[str, int]) -> None:
    """Refuse streams on which no window of the board is ever full: they say nothing about later ones."""
    window = max((each.window for each in board.promises if not each.model.horizon_bound), default=1)
    for name in board.streams:
        if lengths[name] < window:
            raise BadInput(
                f"{name} has {lengths[name]} units, and a window of the board {board.key} has {window}; leave it out."
            )
