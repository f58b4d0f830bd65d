"""Sums over time that pay on arrival.

A count pays when it *enters* the pool, at its own time unit; the sum is read later with one draw. So a group that is
formed in retrospect needs no retrospective charge, and nobody has to keep the past. Members that are dropped unread
stay paid: nobody could have known beforehand.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from penstock.desk import Desk, Handle, Levels, Question, scale_of, spendable
from penstock.epsilon import Epsilon
from penstock.errors import BadInput, BudgetExceeded
from penstock.parameters import at_least_one
from penstock.primitives.purse import Purse
from penstock.queries import LARGEST_SUM, Bins, Counts, Query, as_bins, joined, place_among
from penstock.types import Ints, Snapshot

# public cuts that keep a sum inside 64 bits; cutting moves no two counts further apart
LARGEST_MEMBER = 2**40
LARGEST_SIZE = 2**22


class Pool(Handle):
    """One running sum a bin.

    With ``reads`` above 1 the sum may be read that often before it is emptied, each time with its part of the charge.
    """

    __slots__ = ("_all", "_least", "_reads", "_reads_left", "_size", "_sums", "_used")

    def __init__(self, desk: Desk, number: int, reads: int = 1) -> None:
        super().__init__(desk, number)
        self._reads = at_least_one("reads", reads)
        self._all = np.arange(desk.bins)
        self._size = np.zeros(desk.bins, np.int64)
        self._reads_left = np.full(desk.bins, self._reads, np.int64)
        self._least = np.zeros(desk.bins, np.int64)  # the smallest charge among a bin's members, in nano-epsilon
        self._used = np.zeros(desk.bins, np.int64)  # how much of that was used up by purses
        self._sums = np.zeros(desk.bins, np.int64)

    @property
    def reads(self) -> int:
        """How often a sum may be read before it is emptied."""
        return self._reads

    @property
    def size(self) -> Ints:
        """How many units each bin holds. Public."""
        return self._size.copy()

    @property
    def reads_left(self) -> Ints:
        """How often each bin may still be read before it is emptied. Public."""
        return self._reads_left.copy()

    def absorb(self, snapshot: Snapshot, e: Epsilon, bins: ArrayLike | None = None) -> None:
        """Let the current counts of ``bins`` in, for ``e``."""
        scale_of(self._desk.model.sensitivity, (spendable(e) / self._reads).nano)  # refused now, not when it is read
        counts = self._desk.counts(snapshot)
        chosen = self._chosen(bins)
        if (self._size[chosen] >= LARGEST_SIZE).any():
            raise BadInput(f"a pool holds {LARGEST_SIZE} time units at most; settle or drop it before.")
        self._desk.charge(e, "publish", None if bins is None else chosen)
        held = self._size[chosen] > 0
        self._least[chosen] = np.where(held, np.minimum(self._least[chosen], e.nano), e.nano)
        self._size[chosen] += 1
        self._sums[chosen] += np.minimum(counts[chosen], LARGEST_MEMBER)
        self._tell_nothing("absorb", chosen, e)

    def settle(self, bins: ArrayLike | None = None) -> Ints:
        """The noisy sum of each of ``bins``, at no further cost; a bin is emptied with its last read."""
        self._desk.require_thread()
        chosen = self._chosen(bins)
        self._require_held(chosen)
        if self._used[chosen].any():
            raise BadInput("a bin that was asked about through a purse is dropped, and not settled.")
        nano = self._least[chosen] // self._reads
        levels = Levels.of(self._desk.model.sensitivity, nano)
        self._reads_left[chosen] -= 1
        last = self._reads_left[chosen] <= 0
        question = Question("settle", None, len(chosen), chosen, (self._number, last), hides=True)
        try:
            return self._desk.noisy_each(question, levels, lambda: self._sums[chosen])
        finally:  # also if the draw failed: what was read for the last time cannot be read again
            self._empty(chosen[last])

    def purse(self, bins: ArrayLike | None = None) -> Purse:
        """A purse to ask about the sums of ``bins``, at no further cost: it holds what the cheapest member has paid.

        Asking empties nothing, and nothing can be settled after it: drop the bins. What was asked for stays used up.
        """
        self._desk.require_thread()
        chosen = self._chosen(bins)
        self._require_held(chosen)
        if self._reads > 1 or not len(chosen):
            raise BadInput("a purse is for a pool that is read once, and for one bin of it at least.")
        place, left = place_among(chosen, self._desk.bins), int((self._least[chosen] - self._used[chosen]).min())
        if left < 1:
            raise BudgetExceeded("what the members of a pool have paid is used up; drop its bins.")

        def answer(e: Epsilon, groups: Ints | None) -> Ints:
            query = Counts() if groups is None else joined(groups, place)
            return self._read(query, e, chosen, LARGEST_SUM // (1 if groups is None else self._desk.bins))

        cells = None if bins is None else chosen
        return Purse(answer, Epsilon.of_nano(left), self._desk.noise_sd, len(chosen), cells)

    def _read(self, query: Query, e: Epsilon, chosen: Bins, most: int) -> Ints:
        """The query's value on the sums, each cut at a public bound, with noise bought by ``e`` of what was paid."""
        self._desk.require_thread()
        self._require_held(chosen)
        if (self._used[chosen] + e.nano > self._least[chosen]).any():
            raise BudgetExceeded("the members of a pool have paid for less than is asked; drop its bins.")
        scale = scale_of(query.sensitivity(self._desk.model), e.nano)
        self._used[chosen] += e.nano
        draws = query.size(chosen, self._desk.bins)
        question = Question("read", scale, draws, chosen, (self._number, query), hides=True)
        return self._desk.noisy(question, scale, lambda: query(np.minimum(self._sums, most), chosen))

    def _require_held(self, chosen: Bins) -> None:
        if not (self._size[chosen] > 0).all():
            raise BadInput("only a bin that has absorbed something can be settled; look at size first.")

    def drop(self, bins: ArrayLike | None = None) -> None:
        """Empty ``bins``, read or unread."""
        self._desk.require_thread()
        chosen = self._chosen(bins)
        self._tell_nothing("drop", chosen)
        self._empty(chosen)

    def _tell_nothing(self, verb: str, chosen: Bins, *details: Epsilon) -> None:
        """An entry in the transcript for what is done without an answer."""
        self._desk.answer(Question(verb, None, 0, chosen, (self._number, *details), hides=True), lambda: None)

    def _empty(self, chosen: Bins) -> None:
        self._sums[chosen] = 0
        self._size[chosen] = 0
        self._used[chosen] = 0
        self._reads_left[chosen] = self._reads

    def _retire(self, last: int | None = None) -> None:
        """Empty every bin."""
        self._empty(self._all)

    def _chosen(self, bins: ArrayLike | None) -> Bins:
        chosen = as_bins(bins, self._desk.bins)
        return self._all if chosen is None else chosen

    def _save(self) -> tuple[dict[str, Any], dict[str, Any]]:
        public = {"size": self._size.copy(), "reads_left": self._reads_left.copy(), "least": self._least.copy()}
        used = {"used": self._used.copy()} if self._used.any() else {}  # states of before there were purses have none
        return public | used, {"sums": self._sums.copy()}

    def _load(self, public: dict[str, Any], sealed: dict[str, Any] | None) -> None:
        self._size, self._reads_left, self._least = public["size"], public["reads_left"], public["least"]
        self._used = public.get("used", np.zeros_like(self._size))
        if sealed is None:
            self._retire()
        else:
            self._sums = sealed["sums"]
