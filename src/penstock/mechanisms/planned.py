"""Planned: publish when it was planned to, with budgets that fit how much each time unit matters."""

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

from penstock.allocation import (
    Allocator,
    Error,
    TopUp,
    banded,
    days,
    interior,
    online,
    posing,
    program,
    rules,
    schedule,
    weighing,
    windows,
)
from penstock.allocation.days import first_day_of, unit_of
from penstock.allocation.schedule import Schedule
from penstock.allocation.weighing import Weighing, weighing_of
from penstock.allocation.weights import weights_of
from penstock.mechanisms.base import Mechanism, state
from penstock.models import DeltaNeighbourhood, PrivacyModel, UserLevel, WEvent
from penstock.types import Release, Snapshot

FLOOR = 0.5  # the part of an even share that is kept for units whose weight nobody foresees


@dataclass(kw_only=True)
class Planned(Mechanism):
    """Publish the units that weigh something, each with the budget that a plan gives it (Fang and Chang 2014).

    Best where it is known which releases will be used, and how much. A plan makes the sum of weight times error over
    all units as small as it can be while every window keeps to epsilon. What weighs nothing costs nothing, and repeats
    the release before.

    ``weights``    numbers, one a unit; a file of them; a rule, "every monday: 5; every day: 1"; in Python a function
    ``after``      when a list is over: "stop" publishing, or "repeat" it
    ``error``      what is to be small: "squared" errors, or "absolute" ones
    ``first_day``  of the stream, for rules about days, where labels do not tell
    ``unit``       how long a unit is: "hour", "day", "week" or "month", where labels do not tell

    >>> from penstock.publisher import publish
    >>> from penstock.streams import Stream
    >>> from penstock.noise import ScriptedNoise
    >>> mechanism = Planned(model=WEvent(epsilon=1, w=3), weights=[27, 0, 1, 0, 0])
    >>> for release in publish(Stream([[5], [6], [7], [8], [9]]), mechanism, noise=ScriptedNoise([1, -1])):
    ...     print(release.t, release.values, release.charged)
    1 [6] 0.75
    2 [6] 0
    3 [6] 0.25
    4 [6] 0
    5 [6] 0
    """

    proven_for: ClassVar = (WEvent, DeltaNeighbourhood, UserLevel)
    rests_on: ClassVar = (online, schedule, interior, banded, posing, program, windows, weighing, rules, days)
    paper: ClassVar = "Fang and Chang 2014"

    weights: Any = "every day"
    after: Literal["stop", "repeat"] = "stop"
    error: Error = "squared"
    first_day: Any = None
    unit: str | None = None

    units: int = state(0)  # of which the allocator knows
    weighing: Weighing = state()
    allocator: Allocator = state()

    @classmethod
    def example(cls, model: PrivacyModel, **options: Any) -> Self:
        return cls(model=model, **{"weights": "every 3: 8; every 2: 1"} | options)

    def validate(self) -> None:
        self.weights, self.unit = weights_of(self.weights), unit_of(self.unit)
        self.first_day = first_day_of(self.first_day)
        self.begin()  # refuses what cannot be planned

    def begin(self) -> None:
        law, list_ends = self.model, isinstance(self.weights, tuple) and self.after == "stop"
        horizon = law.window if law.horizon_bound else None
        self.weighing = weighing_of(
            self.weights, self.first_day, self.unit, repeat=self.after == "repeat", window=law.window, horizon=horizon
        )
        plan = (law.window, law.epsilon, self.error)
        if list_ends:  # offline: all there is to publish is known
            self.allocator = Schedule(*plan, weights=self.weights, horizon=horizon)
        else:  # online; and where later weights are known nothing has to be kept back for them
            floor = 0 if self.weighing.known else FLOOR
            self.allocator = TopUp(*plan, predict=self.weighing.expected, floor=floor)

    def admit(self, t: int, label: str) -> None:
        self.weighing.weight(t, label, self.last)

    def decide(self, snapshot: Snapshot) -> Release:
        weight = self.weighing.turn(snapshot.t, snapshot.label, self.last)
        missed, self.units = snapshot.t - self.units - 1, snapshot.t
        for _ in range(missed):  # units that were lost, or had no input
            self.allocator.next(0)
        planned = self.allocator.next(weight)
        e = min(planned, self.curator.remaining("publish"))  # which is less only if a crash has taken it
        return self.publish(snapshot, e) if e and e * 2 >= planned else self.republish(snapshot)
