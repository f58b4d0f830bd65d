"""The curator's desk: the one place where a snapshot is opened, a charge is booked and noise is drawn.

Every answer leaves through ``Desk.answer``, after it was paid for. What passes there is the whole transcript of the
stream; everything else anybody can see is a function of it. Checks and recovery use that: they record the answers, or
play recorded ones back without looking at a count.
"""

from __future__ import annotations

import os
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from penstock.epsilon import NANO, Epsilon, require_epsilon
from penstock.errors import BadInput, BadPresence, OutOfOrder
from penstock.ledger import Ledger, require_envelope
from penstock.models import PrivacyModel
from penstock.noise import LARGEST_SCALE, Noise, laplace_sd
from penstock.points import Points
from penstock.queries import Bins, Query, known_query
from penstock.spatial import SpatialNeighbourhood
from penstock.types import Ints, Mask, Snapshot, claim, require_unclaimed, unseal
from penstock.uncopied import Uncopied

T = TypeVar("T")
EVEN = Fraction(1, 2)


class Question(NamedTuple):
    """What is about to be answered; all of it is public, and determined before the answer is.

    ``scale`` of the noise (None: several), number of Laplace values it ``draws``, ``bins`` it is about (None: all), and
    ``details``: query, threshold, envelope, number of the handle, whatever else the verb was given. ``hides`` says that
    answering changes what is kept sealed, so that the state has to be saved along with the answer.
    """

    verb: str
    scale: Fraction | None
    draws: int
    bins: Bins | None
    details: tuple[Any, ...]
    hides: bool = False


class Answers(Protocol):
    """Where answers come from."""

    def __call__(self, question: Question, compute: Callable[[], T]) -> T: ...


def live(question: Question, compute: Callable[[], T]) -> T:
    """The usual source of answers: compute them."""
    return compute()


@lru_cache(maxsize=64)
def scale_of(sensitivity: int, nano: int) -> Fraction:
    """The noise a charge buys: derived from the charge, exactly, never the other way round."""
    if nano < 1:
        raise BadInput("a question costs at least one nano-epsilon; republish instead.")
    scale = Fraction(sensitivity * NANO, nano)
    if scale > LARGEST_SCALE:
        raise BadInput("the noise this budget needs does not fit in 64 bits; use a larger epsilon.")
    return scale


@lru_cache(maxsize=64)
def sd_of(sensitivity: int, nano: int) -> float:
    """The standard deviation of the noise a charge buys."""
    return laplace_sd(scale_of(sensitivity, nano))


class Levels(NamedTuple):
    """Noise scales, and which of them each value gets."""

    scales: list[Fraction]
    which: NDArray[np.intp]

    @staticmethod
    def of(sensitivity: int, nano: Ints) -> Levels:
        """The noise that charges of ``nano`` nano-epsilon buy."""
        if len(nano) and (nano == nano[0]).all():  # as nearly always, and no need to sort
            return Levels([scale_of(sensitivity, int(nano[0]))], np.zeros(len(nano), np.intp))
        levels, which = np.unique(nano, return_inverse=True)
        return Levels([scale_of(sensitivity, int(level)) for level in levels], which.reshape(-1))


class Account(NamedTuple):
    """What each bin has paid in the current unit, in nano-epsilon, and the most that one of them has."""

    paid: Ints
    dearest: int

    @staticmethod
    def empty(bins: int) -> Account:
        """Nothing was paid yet."""
        return Account(np.zeros(bins, np.int64), 0)

    def with_charges(self, nano: Ints, bins: Bins) -> Account:
        """The account once ``nano[i]`` more was paid for bin ``bins[i]``."""
        paid = self.paid.copy()
        np.add.at(paid, bins, nano)
        return Account(paid, int(paid.max()))


class Desk(Uncopied):
    """Model, ledger and noise of one stream. Mechanisms never get to see it."""

    def __init__(self, model: PrivacyModel, bins: int, ledger: Ledger, noise: Noise, answers: Answers) -> None:
        self.model = model
        self.bins = bins
        self.ledger = ledger
        self.noise = noise
        self.answer = answers
        self._claimant = object()  # what this ledger claims snapshots with
        self._turn = _who_runs()
        self._accounts: dict[str | None, Account] = {}  # of the current unit: one in all (None), one an envelope

    def check(self, snapshot: Snapshot) -> None:
        """Refuse a snapshot that cannot be the next one, is past the end, or has records that nobody accounts for."""
        self._require_shape(snapshot)
        self.ledger.check(snapshot.t, snapshot.present)
        require_accounted(self.model, snapshot)
        self.model.require_going_on(snapshot.t)

    def _require_shape(self, snapshot: Snapshot) -> None:
        if type(snapshot) not in (Snapshot, Points):
            raise BadInput(f"a Snapshot is published; got a value of type {type(snapshot).__name__}.")
        snapped_to = snapshot.grid if isinstance(snapshot, Points) else None
        if snapped_to != (self.model.snapped_to if isinstance(self.model, SpatialNeighbourhood) else None):
            raise BadInput("points are published under a SpatialNeighbourhood on their own grid, and nothing else is.")
        if snapshot.bins != self.bins:
            raise BadInput(f"the stream has {self.bins} bins and this snapshot {snapshot.bins}; pass all bins, always.")
        require_unclaimed(snapshot, self._claimant)

    def begin_unit(self, snapshot: Snapshot) -> None:
        """Turn to the next time unit, under a fresh key."""
        self._require_shape(snapshot)
        require_accounted(self.model, snapshot)
        self.ledger.advance(snapshot.t, snapshot.present)
        claim(snapshot, self._claimant)
        self._turn = _who_runs()
        self.noise.rekey()
        self._accounts.clear()

    def counts(self, snapshot: Snapshot) -> Ints:
        """The raw counts of the current unit."""
        self._require_shape(snapshot)
        if snapshot.t != self.ledger.t:
            raise OutOfOrder(f"only the current unit, t={self.ledger.t}, can be asked about; got t={snapshot.t}.")
        self.require_thread()
        return unseal(snapshot)

    def require_thread(self) -> None:
        """Refuse any thread or process but the one that began the unit.

        Two threads could both be granted what is left for one of them, and a forked process has a ledger of its own.
        """
        if _who_runs() != self._turn:
            raise BadInput("a unit is asked about from the thread and the process that began it; ask there.")

    def charge(self, e: Epsilon, envelope: str, bins: Bins | None) -> None:
        """Pay ``e`` for an answer about ``bins`` (None: all), or refuse."""
        self.require_thread()
        spendable(e)
        if bins is None or e > self.model.epsilon:  # which is refused, whatever the bins
            self.ledger.add(e, envelope)
        else:
            self.charge_each(np.full(len(bins), e.nano, np.int64), envelope, bins)

    def charge_each(self, nano: Ints, envelope: str, bins: Bins) -> None:
        """Pay ``nano[i]`` for bin ``bins[i]``. A record lies in one bin, so a unit costs what its dearest bin costs.

        (With noise of scale s1 / e_j on bin j, a change of d_j records in bin j costs sum_j d_j e_j / s1, which is at
        most max_j e_j because the d_j add up to at most s1.)
        """
        self.require_thread()
        require_envelope(envelope)
        if nano.max(initial=0) > self.model.epsilon.nano:
            raise self.ledger.refusal(int(nano.max()), envelope)
        unit, within = (self._accounts.get(name) or Account.empty(self.bins) for name in (None, envelope))
        unit_after, within_after = unit.with_charges(nano, bins), within.with_charges(nano, bins)
        more, more_within = unit_after.dearest - unit.dearest, within_after.dearest - within.dearest
        if more or more_within:
            self.ledger.add(Epsilon.of_nano(more), envelope, within=Epsilon.of_nano(more_within))
        self._accounts |= {None: unit_after, envelope: within_after}

    def noise_sd(self, e: Epsilon, query: Query | None = None) -> float:
        """The standard deviation of the noise that ``e`` buys for counts, or for another query. Public."""
        sensitivity = self.model.sensitivity if query is None else known_query(query).sensitivity(self.model)
        return sd_of(sensitivity, require_epsilon(e).nano)

    def fair_coins(self, number: int) -> Mask:
        """Throw this many fair coins."""
        return self.noise.bernoulli(EVEN, (number,))

    def noisy(self, question: Question, scale: Fraction, truth: Callable[[], Ints]) -> Ints:
        """True values plus independent noise of one scale."""
        return self.answer(question, lambda: _added(truth(), self.noise.laplace(scale, question.draws)))

    def noisy_each(self, question: Question, levels: Levels, truth: Callable[[], Ints]) -> Ints:
        """True values plus independent noise, the scale of each bought by its own charge."""
        return self.answer(question, lambda: _added(truth(), self.noise.laplace_each(*levels)))


def _added(truth: Ints, noise: Ints) -> Ints:
    """Their sum, in the memory of the noise; the true values are wiped out where they are a copy.

    Memory that is given back is handed out again as it is. An array that a mechanism forgets to fill would hold what
    the kernel had left in it: with the noise of an answer, the answer is an exact count.
    """
    noise += truth
    if truth.flags.owndata and truth.flags.writeable:
        truth.fill(0)
    return noise


def _who_runs() -> tuple[int, int]:
    """The process and the thread that this is called in."""
    return os.getpid(), threading.get_ident()


def require_accounted(model: PrivacyModel, snapshot: Snapshot) -> None:
    """Refuse a snapshot with more records than those present can have: whoever is not listed would not pay.

    Data that keep the declared bounds are never refused, so the refusal tells nothing about them.
    """
    most = None if snapshot.present is None else model.most_records(len(snapshot.present))
    if most is None:
        return
    counts = unseal(snapshot)
    if (int((counts >> 32).sum()) << 32) + int((counts & (2**32 - 1)).sum()) > most:  # exact for any number of bins
        label = "" if snapshot.label == str(snapshot.t) else f" ({snapshot.label})"
        nobody = "" if most else ", and nobody is listed as present"
        raise BadPresence(
            f"at t={snapshot.t}{label} the counts hold more records than the users present can have{nobody}; list"
            " everybody who is present, under the time that the counts have."
        )


def spendable(e: Epsilon) -> Epsilon:
    """Refuse to spend nothing: no budget means no answer, never an answer without noise."""
    if not require_epsilon(e):
        raise BadInput("a question costs at least one nano-epsilon; republish instead.")
    return e


def as_nano(budgets: Sequence[Epsilon], most: Epsilon) -> Ints:
    """Budgets as an array of nano-epsilon; one above ``most`` cannot be afforded, and is cut just above it."""
    return np.array([min(spendable(e).nano, most.nano + 1) for e in budgets], np.int64)


class Handle(Uncopied, ABC):
    """A piece of sealed state that a mechanism holds but cannot look into: a segment, a volley, a pool, a grouper.

    Handles have slots and read-only properties, so that no assignment changes what they go by; what they show is a
    copy. Names that begin with an underscore belong to the kernel.
    """

    __slots__ = ("_desk", "_number")

    def __init__(self, desk: Desk, number: int) -> None:
        self._desk = desk
        self._number = number  # its place among the handles of the stream, by which restarts find it

    def retire(self) -> None:
        """Give up the secret part; what was paid stays paid."""
        self._retire()

    @abstractmethod
    def _retire(self, last: int | None = None) -> None:
        """Give up the secret part. ``last``: the latest unit it may have read, if that is not known for sure."""

    @abstractmethod
    def _save(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The public and the sealed part."""

    @abstractmethod
    def _load(self, public: dict[str, Any], sealed: dict[str, Any] | None) -> None:
        """Take up a saved state, retiring if the sealed part is missing."""
