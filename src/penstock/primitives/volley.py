"""Volleys: several readings of a single count that are paid for together, and carry less noise for it.

One record moves the count of a unit by s1 at most, in every unit of a window. So what neighbours do to a window is a
box, and noise that is made for a box does better than noise for each unit by itself: all readings of a volley share
one secret reach r, and each is off by a uniform number from -r to r. With scale b the noise z of a volley has

    P(z) proportional to exp(-max |z_i| / b),

and if every count moves by s1 at most, so does the largest |z_i|: the answers of a volley, all of them or any first
few, are told apart by s1 / b = e, however many they are. It is charged as one span of e, from its first reading to its
last. A reading among ``size`` has about (size + 1) / 2 times the mean error that e alone buys, where readings that
share e have ``size`` times as much.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from penstock.desk import Desk, Handle, Question, scale_of, spendable
from penstock.epsilon import NANO, Epsilon
from penstock.errors import BadInput
from penstock.noise import cube_sd
from penstock.noise.base import LARGEST_CUBE, LARGEST_CUBE_SCALE, NARROWEST
from penstock.parameters import from_one_to, require_exactly
from penstock.types import Ints, Snapshot
from penstock.uncopied import Unchanging


@dataclass(frozen=True, slots=True)
class VolleyPlan(Unchanging):
    """So many readings for ``e``, all of them together."""

    size: int
    e: Epsilon

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", from_one_to("the number of readings of a volley", self.size, LARGEST_CUBE))
        spendable(self.e)


class Volley(Handle):
    """Readings of a single count under one secret reach, one volley after another.

    A volley is paid for, and its noise drawn, at its first reading; it is over with its last, or when it is given up.
    Between two of them ``renew`` says how the next one spends.
    """

    __slots__ = ("_last", "_left", "_noise", "_plan", "_span")

    def __init__(self, desk: Desk, number: int) -> None:
        if desk.bins != 1:
            raise BadInput("a volley reads a single count; ask for the bins of a histogram.")
        super().__init__(desk, number)
        self._plan: VolleyPlan | None = None
        self._left = 0
        self._span: int | None = None
        self._last = 0
        self._noise = np.empty(0, np.int64)

    @property
    def plan(self) -> VolleyPlan | None:
        """How this volley spends; None before the first."""
        return self._plan

    @property
    def left(self) -> int:
        """How many readings there are until it is over."""
        return self._left

    @property
    def running(self) -> bool:
        """Whether there are readings that have been paid for."""
        return self._span is not None

    @property
    def noise_sd(self) -> float:
        """The standard deviation of the noise of each reading. Public."""
        return 0.0 if self._plan is None else self.buys(self._plan)

    def buys(self, plan: VolleyPlan) -> float:
        """The standard deviation of the noise of each reading of such a volley. Public."""
        require_exactly(VolleyPlan, plan)
        return cube_sd(scale_of(self._desk.model.sensitivity, plan.e.nano), plan.size)

    def fits(self, plan: VolleyPlan) -> bool:
        """Whether there can be such a volley: of noise that is no wider than numbers are, nor next to none. Public."""
        require_exactly(VolleyPlan, plan)
        scale = Fraction(self._desk.model.sensitivity * NANO, plan.e.nano)
        return plan.size <= NARROWEST * scale and scale <= LARGEST_CUBE_SCALE

    def renew(self, plan: VolleyPlan) -> None:
        """Plan the next volley."""
        if self.running:
            raise BadInput("a volley is renewed when it is over, or was given up; look at running first.")
        if not self.fits(plan):
            raise BadInput(
                "the noise of a volley would be too narrow for its size, or too wide for 64 bits; look at fits first."
            )
        self._plan, self._left = plan, plan.size

    def can_read(self) -> bool:
        """Whether the next reading could be paid for now. Public."""
        if self._plan is None or not self._left:
            return False
        if self._span is None:
            return self._desk.ledger.can(publish=self._plan.e)
        return self._desk.ledger.can(self._span)

    def read(self, snapshot: Snapshot) -> Ints:
        """The count of this unit, with the next noise of the volley."""
        if self._plan is None or not self._left:
            raise BadInput("this volley is over; renew it with a plan.")
        plan, counts, ledger = self._plan, self._desk.counts(snapshot), self._desk.ledger
        place, scale = plan.size - self._left, scale_of(self._desk.model.sensitivity, plan.e.nano)
        if self._span is None:
            self._span = ledger.open(plan.e, "publish").key
        else:
            ledger.touch(self._span)  # refused before anything has changed
        self._last = ledger.t
        details = (self._number, plan.size, place, plan.e)
        question = Question("volley", scale, 0 if place else plan.size, None, details, hides=not place)
        self._left -= 1  # before the draw: even if it fails, this noise is not used again
        try:
            answer = self._desk.answer(question, lambda: counts + self._noise_at(place, scale, plan.size))
        except BaseException:
            self._retire()
            raise
        if not self._left:
            self._retire()
        return answer

    def _noise_at(self, place: int, scale: Fraction, size: int) -> np.int64:
        """The noise of one reading; that of all of them is drawn for the first."""
        if not place:
            self._noise = self._desk.noise.cube(scale, size)
        noise: np.int64 = self._noise[place]
        return noise

    def _retire(self, last: int | None = None) -> None:
        """End the volley: forget its noise and close the span at the last reading."""
        self._left, self._noise = 0, np.empty(0, np.int64)
        if self._span is not None:
            self._desk.ledger.close(self._span, self._last if last is None else last)
            self._span = None

    def _save(self) -> tuple[dict[str, Any], dict[str, Any]]:
        plan = self._plan and [self._plan.size, self._plan.e]
        public = {"plan": plan, "left": self._left, "span": self._span, "last": self._last}
        return public, {"noise": self._noise.copy()}

    def _load(self, public: dict[str, Any], sealed: dict[str, Any] | None) -> None:
        self._plan = public["plan"] and VolleyPlan(*public["plan"])
        self._left, self._span, self._last = public["left"], public["span"], public["last"]
        if sealed is None:
            self._retire()
        else:
            self._noise = sealed["noise"]
