"""The paid questions of a curator. Pay, then draw.

A mechanism asks; the ledger is charged, noise is added whose scale follows from the charge, and the answer is given.
No answer shows a count, and what cannot be afforded is refused before anything is drawn. Everything a mechanism
computes from the answers is public already.
"""

from __future__ import annotations

import decimal
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from functools import partial
from typing import ClassVar, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from penstock.desk import Answers, Desk, Handle, Levels, Question, as_nano, live, scale_of, spendable
from penstock.epsilon import NANO, Epsilon, Number, as_fraction
from penstock.errors import BadInput
from penstock.ledger import Journal, Ledger
from penstock.models import PrivacyModel
from penstock.noise import Noise, SecureNoise
from penstock.noise.cauchy import cauchy_cell
from penstock.parameters import at_least_one, up_to_one
from penstock.points import CellSums, Points, SmoothMedian, law_of_points
from penstock.population import Population
from penstock.primitives.grouper import Grouper
from penstock.primitives.pool import Pool
from penstock.primitives.purse import Purse
from penstock.primitives.segment import Segment, SegmentPlan
from penstock.primitives.volley import Volley
from penstock.queries import (
    Bins,
    Counts,
    Distances,
    GroupSums,
    Query,
    as_bins,
    joined,
    known_query,
    place_among,
    single_values,
)
from penstock.types import Ints, Snapshot
from penstock.uncopied import Uncopied

H = TypeVar("H", bound=Handle)


class Answering(Uncopied):
    """Answers paid questions about one stream under one privacy model. ``Curator`` adds what the loop needs."""

    ledger_type: ClassVar[type[Ledger]] = Ledger  # planted failures put broken ones here
    segment_type: ClassVar[type[Segment]] = Segment

    def __init__(
        self,
        model: PrivacyModel,
        bins: int,
        *,
        noise: Noise | None = None,
        population: Population | None = None,
        journal: Journal | None = None,
        answers: Answers = live,
    ) -> None:
        self._model = model
        self._bins = at_least_one("bins", bins)
        self._ledger = self.ledger_type(model, population=population, journal=journal)
        self._desk = Desk(model, self._bins, self._ledger, noise or SecureNoise(), answers)
        self._handles: list[Handle] = []

    @property
    def model(self) -> PrivacyModel:
        """The law of the stream. Public."""
        return self._model

    @property
    def bins(self) -> int:
        """How many bins the stream has. Public."""
        return self._bins

    def ask(
        self,
        snapshot: Snapshot,
        query: Query,
        e: Epsilon | Sequence[Epsilon],
        bins: ArrayLike | None = None,
        envelope: str = "publish",
    ) -> Ints:
        """The query's value with discrete Laplace noise bought by ``e``; for ``Counts``, ``e`` may be one a bin."""
        chosen = as_bins(bins, self.bins)
        size = known_query(query).size(chosen, self.bins)
        counts = self._desk.counts(snapshot)
        if isinstance(e, Sequence):
            return self._ask_each(counts, query, as_nano(e, self.model.epsilon), chosen, envelope)
        scale = scale_of(query.sensitivity(self.model), spendable(e).nano)
        touched = query.touches(chosen)
        self._desk.charge(e, envelope, touched)
        question = Question("ask", scale, size, touched, (query, envelope))
        return self._desk.noisy(question, scale, lambda: query(counts, chosen))

    def _ask_each(self, counts: Ints, query: Query, nano: Ints, bins: Bins | None, envelope: str) -> Ints:
        asked = np.arange(self.bins) if bins is None else bins
        if not isinstance(query, Counts) or len(nano) != len(asked):
            raise BadInput("budgets per bin are for Counts, one for every bin asked.")
        levels = Levels.of(query.sensitivity(self.model), nano)
        self._desk.charge_each(nano, envelope, asked)
        question = Question("ask", None, len(nano), asked, (query, envelope, nano))
        return self._desk.noisy_each(question, levels, lambda: counts[asked])

    def purse(
        self, snapshot: Snapshot, e: Epsilon, bins: ArrayLike | None = None, labels: ArrayLike | None = None
    ) -> Purse:
        """A purse of ``e`` to ask about the counts of this unit: of all bins, of some, or of groups of them."""
        if bins is not None and labels is not None:
            raise BadInput("ask about some bins, or about groups of bins; labels of -1 leave bins out.")
        cells = as_bins(bins, self.bins)
        place = place_among(cells, self.bins) if labels is None else np.array(labels)
        alone = Counts() if labels is None else GroupSums(place)

        def answer(part: Epsilon, groups: Ints | None) -> Ints:
            if groups is None:
                return self.ask(snapshot, alone, part, cells)
            return self.ask(snapshot, joined(groups, place), part, cells)

        return Purse(answer, e, self.noise_sd, alone.size(cells, self.bins), cells)

    def nearest(self, snapshot: Snapshot, queries: Sequence[Query], e: Epsilon, envelope: str = "decide") -> int:
        """The number of the query (each one number) whose value is smallest, by permute-and-flip."""
        candidates = queries if type(queries) is Distances else tuple(queries)
        if not candidates or any(known_query(query).size(None, self.bins) != 1 for query in candidates):
            raise BadInput("nearest chooses among one query or more, each with a single number as its value.")
        counts = self._desk.counts(snapshot)
        self._desk.charge(e, envelope, None)
        rate = Fraction(e.nano, 2 * max(query.sensitivity(self.model) for query in candidates) * NANO)

        def choose() -> int:
            scores = single_values(candidates, counts)
            heads = self._desk.noise.bernoulli_exp(rate, scores - scores.min())
            order = self._desk.noise.order(len(scores))
            # the first in random order whose coin fell; the best one's coin always falls
            return int(order[np.argmax(heads[order])])

        return self._desk.answer(Question("nearest", None, 0, None, (*candidates, e, envelope)), choose)

    def cells(self, points: Points, e: Epsilon) -> Purse:
        """A purse of ``e`` to ask how many points lie in each cell of their grid, or in groups of cells."""
        cells = law_of_points(self.model).snapped_to.cells

        def answer(part: Epsilon, groups: Ints | None) -> Ints:
            return self.ask(points, CellSums(cells, groups), part)

        return Purse(answer, e, partial(self.noise_sd, query=CellSums(cells)), cells)

    def median(self, points: Points, e: Epsilon, envelope: str = "publish") -> int:
        """The cell of the median, moved by Cauchy noise that is as wide as the median could move, smoothly bounded.

        The width is as secret as the points, so the noise is drawn by inversion on the grid, in whole numbers.
        """
        law = law_of_points(self.model)
        cells, reach = law.snapped_to.line.cells, law.reach
        held = self._desk.counts(points)
        self._desk.charge(e, envelope, None)

        def moved() -> int:
            found = SmoothMedian(held, cells, reach, e)
            return cauchy_cell(found.median, found.scale, cells, self._desk.fair_coins)

        return self._desk.answer(Question("median", None, 0, None, (e, envelope)), moved)

    def sampled(self, snapshot: Snapshot, rate: Number, e: Epsilon, limit: int, envelope: str = "monitor") -> Ints:
        """The number of records in a random sample of each bin, with noise; divide by ``rate`` to estimate the count.

        Sampling makes the answer cheaper: noise is drawn for e' = ln(1 + (exp(e) - 1) / rate) and e is charged. Bins
        are cut at the public ``limit``, and as many coins are thrown whatever they hold, so that time tells nothing.
        """
        self.model.require_sampling()
        limit, chance = at_least_one("limit", limit), as_fraction(rate)
        scale = scale_of(self.model.sensitivity, amplify(e, chance).nano)
        counts = self._desk.counts(snapshot)
        self._desk.charge(e, envelope, None)

        def thinned() -> Ints:
            coins = self._desk.noise.bernoulli(chance, (self.bins, limit))
            kept: Ints = np.count_nonzero(coins & (np.arange(limit) < counts[:, np.newaxis]), axis=1)
            return kept

        return self._desk.noisy(Question("sampled", scale, self.bins, None, (chance, limit, envelope)), scale, thinned)

    def segment(self, plan: SegmentPlan | None = None) -> Segment:
        """Sparse-vector segments, one after another. Made in ``begin``."""
        return self._issue(self.segment_type(self._desk, len(self._handles), plan))

    def pool(self, reads: int = 1) -> Pool:
        """Sums over time that pay on arrival. Made in ``begin``."""
        return self._issue(Pool(self._desk, len(self._handles), reads))

    def volley(self) -> Volley:
        """Readings of a single count that are paid for together, one volley after another. Made in ``begin``."""
        return self._issue(Volley(self._desk, len(self._handles)))

    def grouper(self, e: Epsilon, max_length: int = 64) -> Grouper:
        """Groups of alike time units, per bin. Made in ``begin``."""
        return self._issue(Grouper(self._desk, len(self._handles), e, max_length))

    def can(self, /, **envelopes: Epsilon) -> bool:
        """Whether these charges could all be made now: ``can(decide=v, publish=e)``. Public."""
        return self._ledger.can(**envelopes)

    def remaining(self, envelope: str | None = None) -> Epsilon:
        """What can still be spent in this unit, in all or from one envelope. Public."""
        return self._ledger.remaining(envelope)

    def cap(self, /, **envelopes: Epsilon) -> None:
        """Give envelopes budgets of their own, before the first charge."""
        self._ledger.cap(**envelopes)

    def noise_sd(self, e: Epsilon, query: Query | None = None) -> float:
        """The standard deviation of the noise that ``e`` buys for counts, or for another query. Public."""
        return self._desk.noise_sd(e, query)

    def charged(self) -> Epsilon:
        """What the current unit has cost so far."""
        return Epsilon.of_nano(self._ledger.charged)

    def _issue(self, handle: H) -> H:
        if self._ledger.t:
            raise BadInput("segments, volleys, pools and groupers are made in begin(), so that restarts find them.")
        self._handles.append(handle)
        return handle


def amplify(e: Epsilon, rate: Fraction) -> Epsilon:
    """The budget e' an e-DP answer may use on a sample drawn at ``rate``: ln(1 + (exp(e) - 1) / rate), rounded down."""
    up_to_one("a sampling rate", rate)
    if rate == 1:
        return spendable(e)
    with decimal.localcontext(decimal.Context(prec=60)):  # the caller's precision may be lower
        gain = Decimal(e.nano).scaleb(-9).exp() - 1
        loss = (1 + gain * rate.denominator / rate.numerator).ln()
        return spendable(Epsilon.of_nano(int(loss * NANO - Decimal("1e-20"))))
