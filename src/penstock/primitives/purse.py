"""A purse: what a histogram method is handed to ask from, instead of a curator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from penstock.desk import spendable
from penstock.epsilon import Epsilon
from penstock.errors import BadInput, BudgetExceeded
from penstock.queries import Bins
from penstock.types import Ints
from penstock.uncopied import Uncopied


class Ask(Protocol):
    """Answers a question about the cells of a histogram: the noisy sum of each group, or of each cell by itself."""

    def __call__(self, e: Epsilon, labels: Ints | None, /) -> Ints: ...


class Purse(Uncopied):
    """Noisy sums over the cells of one histogram, for so much and no more.

    Whoever holds it cannot ask anything else, nor of anything else. ``cells`` are the numbers of the cells if they are
    a part of a larger histogram, else None. The histogram may be a snapshot, groups of its bins, or a pool.
    """

    __slots__ = ("_answer", "_cells", "_left", "_noise_sd", "_size")

    def __init__(
        self, answer: Ask, e: Epsilon, noise_sd: Callable[[Epsilon], float], size: int, cells: Bins | None = None
    ) -> None:
        self._left = spendable(e).nano
        self._noise_sd = noise_sd
        self._size = size
        self._cells = cells
        self._answer = answer

    @property
    def size(self) -> int:
        """How many cells the histogram has."""
        return self._size

    @property
    def cells(self) -> Bins | None:
        """The numbers of the cells in the larger histogram; None if they are all of one."""
        return None if self._cells is None else self._cells.copy()

    def noise_sd(self, e: Epsilon) -> float:
        """The standard deviation of the noise of an answer that ``e`` buys. Public."""
        return self._noise_sd(e)

    @property
    def remaining(self) -> Epsilon:
        """What can still be spent. Public."""
        return Epsilon.of_nano(self._left)

    def __call__(self, e: Epsilon, labels: ArrayLike | None = None) -> Ints:
        """The noisy sum of each group of cells, for ``e``; ``labels`` gives the group of each, None: all are alone."""
        groups = None if labels is None else self._groups(labels)
        if spendable(e).nano > self._left:
            raise BudgetExceeded(f"a histogram method asked for {e} of the {self.remaining} it has left; divide less.")
        self._left -= e.nano
        return self._answer(e, groups)

    def _groups(self, labels: ArrayLike) -> Ints:
        """Labels, refused before anything is paid for; there are no more groups than cells."""
        groups = np.array(labels)
        shaped = groups.shape == (self._size,) and groups.dtype.kind == "i"
        if not shaped or groups.min(initial=0) < -1 or groups.max(initial=0) >= self._size:
            raise BadInput(f"labels must give each of {self._size} cells the number of its group, or -1 for none.")
        return groups
