"""When to publish, and for how much: of public numbers alone, so that a plan tells nothing that was not paid for."""

from __future__ import annotations

from typing import Any

from penstock.allocation.pacing import Pacing
from penstock.allocation.rations import Rations
from penstock.allocation.risk import Objective
from penstock.allocation.watch import Watch, pays
from penstock.epsilon import Epsilon
from penstock.models import PrivacyModel
from penstock.types import Floats

PROBES, PROBE = 2, 0.03  # releases at first, one a unit, and what each takes of epsilon: what moves fast shows at once
ANCHOR = 0.3  # of epsilon for the release after them, where nothing moves fast: one good look to start from
FAST = 0.2  # of all units, to publish at: a good look does not last
WASTED = 50  # a release that has not even so small a part of the even share of a unit tells nothing
KEPT = ("releases", "due", "begun", "stirred", "asked")


class Timetable:
    """Releases under a promise: ``pace`` times in a window or, if that is 0, as often as turns out to be best.

    With ``watching``, streams that are published seldom are looked after between releases.
    """

    def __init__(
        self, model: PrivacyModel, bins: int, objective: Objective, pace: int = 0, *, watching: bool = True
    ) -> None:
        endless = not model.horizon_bound
        self._epsilon, self._window, self._endless, self._fixed = model.epsilon, model.window, endless, pace
        self._least = self.least(model)
        self._watching = watching and not pace
        self._rations = Rations(model.window, comes_back=endless)
        self._pacing = Pacing(bins, model.window, objective, endless=endless, fixed=pace, watched=watching)
        self.watch = Watch.of(model)
        self.releases = 0
        self.due = 1  # the unit of the next release
        self.begun = 0  # the unit of the first one
        self.stirred = 0  # the last unit that was far from what had been believed of it
        self.asked = 0  # the last unit that the watch was asked about

    @staticmethod
    def least(model: PrivacyModel) -> Epsilon:
        """A release that has no more than this tells nothing."""
        return model.epsilon / (WASTED * model.window)

    def tells(self, e: Epsilon) -> bool:
        """Whether a release for so much tells anything."""
        return e > self._least

    @property
    def exploring(self) -> bool:
        """Whether it is too early for a plan, or for all of one."""
        return not self._fixed and self.releases <= PROBES < self._window

    @property
    def at_rest(self) -> bool:
        """Whether releases are so seldom that it pays to ask at every unit if something has happened."""
        return self._watching and not self.exploring and pays(self._pacing.best, self._pacing.every)

    def age(self, t: int) -> int:
        """The number of unit ``t`` if the first that was measured is 1: earlier ones are not known here."""
        return t - max(self.begun - 1, 0)

    def every(self, t: int) -> int:
        """Units until the next release: as planned, but never more than the stream has been seen, or calm, for."""
        planned = self._pacing.every
        if self._fixed:
            return planned
        calm = t - self.stirred + 1 if self.stirred and self.at_rest else planned
        return min(planned, self.age(t), calm)

    def stirring(self, t: int) -> bool:
        """Whether something happened, and it is too early to be calm about it."""
        return self.at_rest and self.stirred > 0 and t - self.stirred + 1 < self._pacing.every

    def affordable(self, t: int, remaining: Epsilon) -> Epsilon:
        """What a release takes: little at first, then a good look, then what leaves as much for each that follows."""
        if self.exploring and self.releases < PROBES:
            return min(max(self._epsilon.share(PROBE), self._epsilon / self._window), remaining)
        fair = Epsilon.of_nano(self._rations.fair(t, self.every(t), max(remaining.nano - self._held(t), 0)))
        if self.exploring and self._pacing.best <= FAST * self._window:
            return min(max(fair, self._epsilon.share(ANCHOR)), remaining)
        return max(fair, self.watch.look(remaining)) if self.stirring(t) else fair

    def _held(self, t: int) -> int:
        """What is left to looks that are not due, in nano-epsilon."""
        return self.watch.looks.nano if self.keeps(t) and not self.stirring(t) else 0

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

    def learn(self, t: int, weights: Floats, levels: Floats, importance: Floats) -> None:
        """Plan anew, by how likely every model is in every bin, how large that is, and how much its error counts."""
        self._pacing.update(self.age(t), weights, levels, importance)

    def spend(self, t: int, e: Epsilon) -> None:
        """A release of unit ``t`` cost so much: the next one is due."""
        self._rations.spend(t, e.nano)
        self.releases += 1
        self.due = t + (1 if self.exploring else self.every(t))

    def save(self) -> dict[str, Any]:
        kept = {name: getattr(self, name) for name in KEPT}
        return kept | {"rations": self._rations.save(), "pacing": self._pacing.save()}

    def load(self, saved: dict[str, Any]) -> None:
        for name in KEPT:
            setattr(self, name, saved[name])
        self._rations.load(saved["rations"])
        self._pacing.load(saved["pacing"])
