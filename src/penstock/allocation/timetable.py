"""When to publish, and for how much: of public numbers alone, so that a plan tells nothing that was not paid for."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from penstock.allocation.pacing import Pacing, can_rest
from penstock.allocation.rations import Rations
from penstock.allocation.risk import Objective
from penstock.allocation.volleys import quietest, wider
from penstock.allocation.watch import Watch, pays
from penstock.epsilon import NANO, Epsilon
from penstock.models import PrivacyModel
from penstock.primitives.volley import VolleyPlan
from penstock.types import Floats

PROBES, PROBE = 2, 0.03  # small looks at first, one a unit, and what each takes of epsilon: what is fast shows at once
FAST = 0.2  # of all units, to publish at: a good look does not last
SMALL = 60.0  # counts, in what epsilon buys of noise: they cannot move far, so that a good look comes at once
SLOW = 120.0  # and that do not move further than a few readings can follow, if these share what they cost
ROOM = 12  # units of a window, from which on that is worth it: in few units a small look is as good as a reading
ALONE = {10.0: 0.9, 30.0: 0.6, SMALL: 0.35, 400.0: 0.35, 1200.0: 0.15}  # what a good look takes if a count is so large
OPENING = {10.0: 0.9, SMALL: 0.85, SLOW: 0.6}  # if a single count is so large, and the good look is a volley
READINGS, FEWEST = {10.0: 3.0, SMALL: 5.0}, 3  # of which it has so many, or fewer where their noise is too narrow
TOGETHER = {10.0: 0.8, 30.0: 0.6, SMALL: 0.3, 150.0: 0.12}  # and if many are, in the mean: they cannot all stand still
PATIENCE = 2  # the longest interval, in times for which a stream has been seen
BETTER, NEARLY = 2.5, 0.8  # a release waits for so many times as much (one of two alone has twice); nearly that will do
EVEN = 0.1  # of an even share: what looks after a surprise leave for every unit that follows
WASTED = 50  # a release that has not even so small a part of the even share of a unit tells nothing
LARGEST_WINDOW = 50_000  # units that can be planned for in half a minute; a year of quarter hours has 35,136
ROUNDING = 0.3  # the standard deviation that whole numbers have, however little their noise
LATE = 2  # times as long between readings as was planned for a volley: it is given up
TRUSTED = 2  # the longest volley, in times for which a stream has been seen: how it moves is not known before
Fits = Callable[[VolleyPlan], bool]  # whether there can be such a volley
KEPT = ("releases", "due", "begun", "settled", "size", "stirred", "asked", "spacing", "held", "ends")
NOTHING = Epsilon.of_nano(0)


class Timetable:
    """Releases under a promise: ``pace`` times in a window or, if that is 0, as often as turns out to be best.

    With ``watching``, streams that are published seldom are looked after between releases. With ``sharing``, releases
    that follow each other may be readings of a volley, and paid for together.
    """

    def __init__(
        self,
        model: PrivacyModel,
        bins: int,
        objective: Objective,
        pace: int = 0,
        *,
        watching: bool = True,
        sharing: bool = False,
    ) -> None:
        endless = not model.horizon_bound
        self.unit = float(model.sensitivity * NANO / model.epsilon.nano)  # the noise that epsilon buys
        self.least_sd = min(ROUNDING, self.unit)  # that noise is taken to have
        self._relative = objective == "mre"
        self._good = ALONE if bins == 1 else TOGETHER
        self._epsilon, self._window, self._endless, self._fixed = model.epsilon, model.window, endless, pace
        self._least = self.least(model)
        self._watching = watching and not pace
        self._rations = Rations(model.window, comes_back=endless)
        self._pacing = Pacing(
            bins, model.window, objective, endless=endless, fixed=pace, watched=watching, may_share=sharing
        )
        self._sharing = sharing
        self._counted_on = sharing and objective != "rmse"  # rare jumps make squares, and a fast pace has no watch
        self.watch = Watch.of(model)
        self.releases = 0
        self.due = 1  # the unit of the next release
        self.begun = 0  # the unit of the first one
        self.settled = bool(pace) or model.window <= PROBES  # whether there was a good look, or there need not be one
        self.size = SMALL  # of counts before there was a good look, in the mean
        self.stirred = 0  # the last unit that was far from what had been believed of it
        self.asked = 0  # the last unit that the watch was asked about
        self.spacing = 0  # units between readings of a volley when it was planned
        self.held = 0  # what a volley that is not over cost, in nano-epsilon
        self.ends = 0  # the unit of its last reading, as things stand

    @staticmethod
    def least(model: PrivacyModel) -> Epsilon:
        """A release that has no more than this tells nothing."""
        return model.epsilon / (WASTED * model.window)

    def tells(self, e: Epsilon) -> bool:
        """Whether a release for so much tells anything."""
        return e > self._least

    @property
    def at_rest(self) -> bool:
        """Whether releases are so seldom that it pays to ask at every unit if something has happened."""
        return self._watching and self.settled and pays(self._pacing.best, self._pacing.every)

    @property
    def can_rest(self) -> bool:
        """Whether releases can ever be so seldom that the watch is asked."""
        return self._watching and can_rest(self._window)

    def age(self, t: int) -> int:
        """The number of unit ``t`` if the first that was measured is 1: earlier ones are not known here."""
        return t - max(self.begun - 1, 0)

    def every(self, t: int) -> int:
        """Units until the next release: as planned, if the stream has been seen, and calm, for long enough."""
        planned = self._pacing.every
        if self._fixed:
            return planned
        calm = t - self.stirred + 1 if self.stirred and self.at_rest else planned
        return min(planned, PATIENCE * self.age(t), calm)

    def stirring(self, t: int) -> bool:
        """Whether something happened, and it is too early to be calm about it."""
        return self.at_rest and self.stirred > 0 and t - self.stirred + 1 < self._pacing.every

    def affordable(self, t: int, remaining: Epsilon) -> Epsilon:
        """What a release takes: little at first, then what leaves as much for each that follows."""
        if not self.settled:
            return min(max(self._epsilon.share(PROBE), self._epsilon / self._window), remaining)
        fair = Epsilon.of_nano(self._rations.fair(t, self.every(t), self._shared(t, remaining)))
        return max(fair, self.look(t, remaining)) if self.stirring(t) else fair

    def offer(self, t: int, remaining: Epsilon) -> VolleyPlan | None:
        """A release that is affordable, and how many that follow it are paid for with it; None if it tells nothing.

        Small looks at first are by themselves, as counts may turn out to be small, which need one of them only; so are
        releases of small counts at rest, where a volley would bind for long, and win little.
        """
        alone = self.affordable(t, remaining)
        if not self.tells(alone):
            return None
        if not (self._sharing and self.settled) or (self.at_rest and not self._pacing.sharing) or self.stirring(t):
            return VolleyPlan(1, alone)
        self.spacing = every = self.every(t)
        shared = self._shared(t, remaining)

        def fair(size: int) -> int:
            return self._rations.fair(t, size * every, shared, (size - 1) * every)

        return quietest(alone, every, min(self._window, TRUSTED * self.age(t)), fair)

    def gives_up(self, t: int, remaining: Epsilon, volley: VolleyPlan) -> bool:
        """Whether the readings that are left of a volley are not waited for.

        That is so where they come too seldom by now, and where a far better release can be paid for before the next.
        """
        if self._fixed:
            return False
        if self._endless:
            offers = self._rations.offers(t, self.every(t), self._shared(t, remaining))
            if offers.max() * wider(volley.size) > BETTER * volley.e.nano:
                self.due = t + max(int(np.argmax(offers >= NEARLY * offers.max())), 1)
                return True
        return self.every(t) > LATE * self.spacing

    def put_off(self, t: int, remaining: Epsilon) -> None:
        """A release that is due waits if a far better one can be paid for before the next would be due.

        What a good look took comes back all at once: who spends the last of a window right before has nothing new to
        say for long after it. When that unit has come, it may wait again, but never for longer than a window: then all
        has come back. A surprise does not wait, nor does a pace that was asked for.
        """
        if self._fixed or not (self._endless and self.settled) or self.stirring(t):
            return
        offers = self._rations.offers(t, self.every(t), self._shared(t, remaining))
        if offers.max() > BETTER * offers[0]:
            self.due = t + int(np.argmax(offers >= NEARLY * offers.max()))

    def _shared(self, t: int, remaining: Epsilon) -> int:
        """What this release shares with those that follow it, in nano-epsilon: what is not held for surprises."""
        held = self.watch.looks if self.keeps(t) and not self.stirring(t) else NOTHING
        return self.beyond(t, remaining, held).nano

    def better(self, remaining: Epsilon, fits: Fits | None = None) -> VolleyPlan | None:
        """A good look that follows a small one at once, in the same unit; None if it is not time for it.

        Counts that are small beside the noise cannot move far: there it comes with the first small look, and of a
        single count it is the first of a few readings, which come to as much if nothing moves, and follow what does.
        Else there is a second small look, and whatever has moved fast until then does without: a good look would not
        last. The larger counts are, the less it takes: people come and go, so that a large count is soon elsewhere.
        """
        opening = self._opening(remaining, fits) if fits else None
        if self.settled or (self.releases < PROBES and self.size >= SMALL and opening is None):
            return None
        self.settled = True
        self._pacing.sharing = self._counted_on and self.size >= SMALL
        if self.releases == PROBES and self._pacing.best > FAST * self._window:
            return None
        self.spacing = self._window  # nobody knows yet how soon it will be read again
        e = min(self._epsilon.share(_between(self._good, self.size)), remaining)
        return opening or (VolleyPlan(1, e) if self.tells(e) else None)

    def _opening(self, remaining: Epsilon, fits: Fits) -> VolleyPlan | None:
        """A good look in a few readings, if the count is small, and there is time and noise enough for them.

        Over a horizon nothing comes back: what it takes more than a single look would be missed until the end.
        """
        e = min(self._epsilon.share(_between(OPENING, self.size)), remaining)
        if not self._endless or self._window < ROOM or self.size >= SLOW or not self.tells(e):
            return None
        plans = (VolleyPlan(size, e) for size in range(round(_between(READINGS, self.size)), FEWEST - 1, -1))
        return next(filter(fits, plans), None)

    def look(self, t: int, remaining: Epsilon) -> Epsilon:
        """The least for a release after a surprise. However many there are, later units are left something."""
        owed = self._owed(t)
        return self.watch.look(remaining - owed if remaining > owed else NOTHING)

    def beyond(self, t: int, remaining: Epsilon, kept: Epsilon) -> Epsilon:
        """What releases may have of what remains if so much is kept for others; what they are owed is theirs."""
        return max(remaining - min(kept, remaining), min(remaining, self._owed(t)))

    def _owed(self, t: int) -> Epsilon:
        """A part of an even share for every unit from ``t`` on, as far as it does not come back in time."""
        return Epsilon.of_nano(self._rations.owed(t, (self._epsilon.share(EVEN) / self._window).nano))

    def keeps(self, t: int) -> bool:
        """Whether releases leave something to the watch; the last of a horizon need not."""
        return self.at_rest and (self._endless or t + self.every(t) <= self._window)

    def idle(self, t: int) -> bool:
        """Whether the watch was not asked for so long that what it has paid for is out of the window."""
        return self._endless and t - self.asked >= self._window

    def answered(self, t: int, *, yes: bool) -> None:
        """The watch was asked about unit ``t``."""
        self.asked = t
        self._pacing.experience.add(yes=yes)
        if yes:
            self.stirred = t

    def learn(self, t: int, weights: Floats, levels: Floats) -> None:
        """Plan anew, by how likely every model is in every bin, and how large that is beside the noise.

        Where errors are relative, those of large counts weigh less.
        """
        importance = np.maximum(levels * self.unit, 1) ** (-0.5 if self._relative else 0.0)
        self._pacing.update(self.age(t), weights, levels, importance)
        if not self.settled:
            self.size = max(float(levels.mean()), min(self._good))

    def spend(self, t: int, e: Epsilon) -> None:
        """A release of unit ``t`` cost so much."""
        self._rations.spend(t, e.nano)

    def released(self, t: int) -> None:
        """Unit ``t`` was released: the next one is due. What a horizon has left is used before its end."""
        self.releases += 1
        self.due = t + (self.every(t) if self.settled else 1)
        if not self._endless and self.due > self._window:
            self.due = t + max((self._window - t) // 2, 1)

    def open(self, t: int, e: Epsilon) -> None:
        """A volley begins with unit ``t``, for so much."""
        self.spend(t, e)
        self.held, self.ends = e.nano, t

    def follow(self, t: int, left: int) -> None:
        """A volley was read at unit ``t``, and has so many readings left: it comes back a window after the last."""
        last = t + left * (self.due - t)
        self._rations.move(self.ends, last, self.held)
        self.ends, self.held = last, self.held if left else 0

    def save(self) -> dict[str, Any]:
        kept = {name: getattr(self, name) for name in KEPT}
        return kept | {"rations": self._rations.save(), "pacing": self._pacing.save()}

    def load(self, saved: dict[str, Any]) -> None:
        for name in KEPT:
            setattr(self, name, saved[name])
        self._rations.load(saved["rations"])
        self._pacing.load(saved["pacing"])


def _between(known: Mapping[float, float], size: float) -> float:
    """What holds for a count of this size, between sizes for which it is known."""
    return float(np.interp(math.log(size), np.log([*known]), [*known.values()]))
