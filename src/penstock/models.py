"""The law of a stream: who is protected, over which stretch of time, and how much may be learnt about them.

| model              | a protected set is                      | may hide                              |
|--------------------|-----------------------------------------|---------------------------------------|
| EventLevel         | one time unit                           | one event                             |
| WEvent             | any w consecutive units                 | whatever happens inside w units       |
| UserLevel          | the whole horizon                       | everything about a user               |
| MContext           | any m consecutive presences of a user   | what a user does while being present  |
| DeltaNeighbourhood | any ``steps`` consecutive units         | changes that lie near each other      |

Two streams are neighbours if they agree outside one protected set and, at each unit inside it, one user's records
differ: added or removed (``add-remove``), or changed in place (``replace``). ``per_unit`` bounds how many records a
user has in one unit. All of it is public, and nothing else decides a sensitivity.

``penstock.spatial`` has a sixth model, for points that are published once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from penstock.epsilon import EpsilonField
from penstock.errors import BadInput, BadPresence, HorizonReached
from penstock.meters import Meter, PresenceMeter, WindowMeter
from penstock.parameters import at_least_one
from penstock.types import LARGEST_COUNT, Ints, as_counts

Neighbours = Literal["add-remove", "replace"]
OnHorizon = Literal["stop", "republish"]
Presence = Sequence[Sequence[str]]


@dataclass(frozen=True, kw_only=True)
class PrivacyModel:
    """What every model declares. Use one of the five subclasses."""

    epsilon: EpsilonField = EpsilonField()
    neighbours: Neighbours = "add-remove"
    per_unit: int = 1
    horizon_bound: ClassVar[bool] = False
    called: ClassVar[str] = "window"  # what the model calls the length of a protected set

    def __post_init__(self) -> None:
        if not self.epsilon:
            raise BadInput("epsilon must be above 0; choose how much may be learnt, at least 1e-9, say epsilon=1.0.")
        if self.neighbours not in ("add-remove", "replace"):
            raise BadInput(f'neighbours must be "add-remove" or "replace"; got {self.neighbours!r}.')
        at_least_one("per_unit", self.per_unit)
        at_least_one(self.called, self.window)
        for name, value in list(vars(self).items()):
            if isinstance(value, np.integer):
                object.__setattr__(self, name, int(value))

    @property
    def window(self) -> int:
        """How many time units a protected set holds at most."""
        raise BadInput("PrivacyModel is abstract; use EventLevel, WEvent, UserLevel, MContext or DeltaNeighbourhood.")

    @property
    def sensitivity(self) -> int:
        """How far, in L1, one unit's histogram can move between neighbours."""
        return self.per_unit * (1 if self.neighbours == "add-remove" else 2)

    @property
    def relation(self) -> tuple[object, ...]:
        """What must agree before budgets can be added up."""
        return type(self), self.neighbours, self.per_unit

    @property
    def in_short(self) -> str:
        """How much is protected, for tables: ``w=3``."""
        return f"{self.called}={self.window}"

    def meter(self) -> Meter:
        """A meter of this model's protected sets."""
        return WindowMeter(self.window)

    def is_over(self, t: int) -> bool:
        """Whether unit ``t`` lies past the horizon, where nobody is protected, so that nothing may be read."""
        return self.horizon_bound and t > self.window

    def require_going_on(self, t: int) -> None:
        """Refuse unit ``t`` if the stream was to stop before it."""

    def most_records(self, users: int) -> int | None:
        """How many records there can be at most if so many are present; None where nobody says who is present."""
        return None

    def require_sampling(self) -> None:
        """Refuse to count a random sample of the records where that is not proven to be cheaper."""
        if self.neighbours != "add-remove" or self.per_unit != 1:
            raise BadInput("sampling is proven for add-remove neighbours with one record a unit; count all records.")

    def neighbouring(self, counts: ArrayLike, rng: np.random.Generator, presence: Presence | None = None) -> Ints:
        """A random neighbour of the stream ``counts`` (one row a time unit), for checks and audits."""
        stream = np.array([as_counts(row) for row in np.asarray(counts)])
        for t in self._protected_units(len(stream), rng, presence):
            for _ in range(int(rng.integers(1, self.per_unit + 1))):
                self._change_one_record(stream[t], rng)
        return stream

    def _protected_units(self, steps: int, rng: np.random.Generator, presence: Presence | None) -> range | list[int]:
        """Indices of one protected set: a window that may stick out at either end of the stream."""
        start = int(rng.integers(1 - self.window, steps)) if not self.horizon_bound else 0
        return range(max(start, 0), min(start + self.window, steps))

    def _change_one_record(self, row: Ints, rng: np.random.Generator) -> None:
        filled, roomy = np.flatnonzero(row), np.flatnonzero(row < LARGEST_COUNT)
        if self.neighbours == "replace":
            if len(filled):
                row[rng.choice(filled)] -= 1
                row[rng.choice(np.flatnonzero(row < LARGEST_COUNT))] += 1
        elif len(filled) and (not len(roomy) or rng.random() < 0.5):
            row[rng.choice(filled)] -= 1
        else:
            row[rng.choice(roomy)] += 1


@dataclass(frozen=True, kw_only=True)
class EventLevel(PrivacyModel):
    """Hides one event: every time unit is protected by itself."""

    @property
    def window(self) -> int:
        return 1

    @property
    def in_short(self) -> str:
        return "event"


@dataclass(frozen=True, kw_only=True)
class WEvent(PrivacyModel):
    """Hides whatever happens inside any ``w`` consecutive time units (Kellaris et al. 2014)."""

    w: int
    called: ClassVar[str] = "w"

    @property
    def window(self) -> int:
        return self.w


@dataclass(frozen=True, kw_only=True)
class UserLevel(PrivacyModel):
    """Hides a user altogether, over a stream of at most ``horizon`` time units.

    What comes after them is refused (``on_horizon="stop"``), or is not looked at: the last release is repeated for
    nothing (``"republish"``). That rule is no part of the promise, so a stream may be taken up with another one.
    """

    horizon: int
    on_horizon: OnHorizon = field(default="stop", compare=False, repr=False)
    horizon_bound: ClassVar[bool] = True
    called: ClassVar[str] = "horizon"

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.on_horizon not in get_args(OnHorizon):
            raise BadInput(f'on_horizon must be "stop" or "republish"; got {self.on_horizon!r}.')

    @property
    def window(self) -> int:
        return self.horizon

    def require_going_on(self, t: int) -> None:
        if self.is_over(t) and self.on_horizon == "stop":
            raise HorizonReached(
                f"the stream was declared for a horizon of {self.horizon} and t={t} is past that; begin a new stream,"
                ' or repeat its last release from here on with on_horizon="republish" (--on-horizon republish).'
            )


@dataclass(frozen=True, kw_only=True)
class DeltaNeighbourhood(PrivacyModel):
    """Hides changes whose first and last differ by less than ``steps`` units (dynamic data).

    The paper's neighbours add, remove or replace a person's records. Noise for replaced records covers all three, so
    ``replace`` is the default here.
    """

    steps: int
    neighbours: Neighbours = "replace"
    called: ClassVar[str] = "steps"

    @property
    def window(self) -> int:
        return self.steps


@dataclass(frozen=True, kw_only=True)
class MContext(PrivacyModel):
    """Hides what a user does in any ``m`` consecutive presences; *that* a user is present is public.

    A change of status moves a record, so neighbours replace. ``max_users`` bounds the memory, O(max_users x m). It is
    no part of the promise, so a stream may be taken up with another one.
    """

    m: int
    max_users: int = field(default=1_000_000, compare=False, repr=False)
    called: ClassVar[str] = "m"
    neighbours: Neighbours = "replace"

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least_one("max_users", self.max_users)
        if self.neighbours != "replace":
            raise BadInput('under m-context presence is public, so neighbours must be "replace"; leave it out.')

    @property
    def window(self) -> int:
        return self.m

    def meter(self) -> Meter:
        return PresenceMeter(self.m)

    def most_records(self, users: int) -> int:
        return self.per_unit * users

    def _protected_units(self, steps: int, rng: np.random.Generator, presence: Presence | None) -> list[int]:
        if presence is None or len(presence) != steps:
            raise BadPresence("m-context needs the users present at every time unit; pass presence, one list a unit.")
        users = sorted({user for unit in presence for user in unit})
        if not users:
            return []
        user = users[rng.integers(len(users))]
        units = [t for t, here in enumerate(presence) if user in here]
        start = int(rng.integers(1 - self.m, len(units)))
        return units[max(start, 0) : start + self.m]
