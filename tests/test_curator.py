"""The curator: pays before it draws, adds up per bin, chooses and samples as the formulas say."""

import itertools
import math
from collections.abc import Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any, ClassVar, NoReturn

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from penstock.answering import amplify
from penstock.curator import Curator
from penstock.epsilon import NANO, Epsilon
from penstock.errors import BadInput, BudgetExceeded, OutOfOrder
from penstock.models import EventLevel, PrivacyModel, WEvent
from penstock.noise import ScriptedNoise, SecureNoise
from penstock.noise.keystream import Bytes, KeyStream
from penstock.primitives.segment import SegmentPlan, Verdict
from penstock.queries import Counts, Distance, GroupSums, Query
from penstock.types import Ints, Snapshot

fixed = settings(derandomize=True, deadline=None, max_examples=150)
COUNTS = [10, 20, 30, 40]


class Logged(ScriptedNoise):
    """A script that remembers the scale of every value."""

    def __init__(self, values: Sequence[int] = ()) -> None:
        super().__init__(values)
        self.scales: list[Fraction] = []

    def laplace(self, scale: Fraction, size: int) -> Ints:
        self.scales += [scale] * size
        return super().laplace(scale, size)

    def laplace_each(self, scales: Sequence[Fraction], which: NDArray[np.intp]) -> Ints:
        drawn = super().laplace_each(scales, which)
        self.scales[-len(which) :] = [scales[i] for i in which]
        return drawn


class Untouchable:
    """Noise that nobody may draw."""

    secure: ClassVar[bool] = False

    def rekey(self) -> None:
        """A new unit is no draw."""

    def _drawn(self, *_: object) -> NoReturn:
        raise AssertionError("something was drawn")

    laplace = laplace_each = cube = bernoulli = bernoulli_exp = order = _drawn


class FixedKey:
    """The secure byte stream under one key for good."""

    def __init__(self) -> None:
        self._stream = KeyStream(bytes(range(32)))

    def rekey(self) -> None:
        """Keeps its key."""

    def fill(self, buffer: Bytes) -> None:
        self._stream.fill(buffer)


def at_work(noise: Any, model: PrivacyModel | None = None, **caps: Epsilon) -> tuple[Curator, Snapshot]:
    """A curator at unit 1 of a stream with four bins."""
    curator = Curator(model or WEvent(epsilon=1, w=2), 4, noise=noise)
    curator.cap(**caps)
    curator.begin_unit(Snapshot(1, COUNTS))
    return curator, Snapshot(1, COUNTS)


@pytest.mark.parametrize(("options", "s1"), [({}, 1), ({"neighbours": "replace"}, 2), ({"per_unit": 3}, 3)])
def test_an_answer_is_the_truth_plus_the_noise_that_was_paid(options: dict[str, Any], s1: int) -> None:
    """Counts, a distance, sums of groups; of all bins and of some; scale s1 / e, exactly."""
    noise = Logged([1, -1, 2, -2, 5, 7, -7])
    curator, snapshot = at_work(noise, WEvent(epsilon=1, w=2, **options))
    assert curator.ask(snapshot, Counts(), Epsilon(0.1)).tolist() == [11, 19, 32, 38]
    assert curator.ask(snapshot, Distance([0, 0, 0, 50]), Epsilon(0.2), [1, 3]).tolist() == [30 + 5]
    assert curator.ask(snapshot, GroupSums([0, 0, 1, -1]), Epsilon(0.4)).tolist() == [37, 23]
    assert noise.scales == [s1 / Fraction("0.1")] * 4 + [s1 / Fraction("0.2")] + [s1 / Fraction("0.4")] * 2
    assert curator.charged() == Epsilon(0.1) + Epsilon(0.6)  # 0.2 and 0.4 meet in the second bin


def test_budgets_may_differ_from_bin_to_bin() -> None:
    """Every bin has its own scale; together they cost the dearest; they are for counts only, one a bin."""
    noise = Logged([1, 2, 3])
    curator, snapshot = at_work(noise)
    e = [Epsilon(0.1), Epsilon(0.4), Epsilon(0.1)]
    assert curator.ask(snapshot, Counts(), e, [3, 0, 1]).tolist() == [41, 12, 23]
    assert noise.scales == [10, Fraction(5, 2), 10]
    assert (curator.charged(), curator.remaining()) == (Epsilon(0.4), Epsilon(0.6))
    for query, budgets in ((Counts(), e), (Distance(COUNTS), [Epsilon(0.1)] * 4)):
        with pytest.raises(BadInput, match="budgets per bin are for Counts, one for every bin asked"):
            curator.ask(snapshot, query, budgets)
    with pytest.raises(BadInput, match="at least one nano-epsilon"):
        curator.ask(snapshot, Counts(), [*e, Epsilon(0)])


asked = st.tuples(
    st.none() | st.lists(st.integers(0, 3), max_size=4, unique=True),
    st.integers(1, 9),
    st.sampled_from(["decide", "publish"]),
)


@fixed
@given(st.lists(asked, max_size=12), st.booleans())
def test_a_unit_costs_its_scalars_and_its_dearest_bin(schedule: list[Any], capped: bool) -> None:
    """Summed bin by bin in all and inside every capped envelope."""
    limits = {"decide": Epsilon.of_nano(500), "publish": Epsilon.of_nano(500)} if capped else {}
    curator, snapshot = at_work(ScriptedNoise(), WEvent(epsilon="0.000001", w=2), **limits)
    whole = {"decide": 0, "publish": 0}
    by_bin = {"decide": [0] * 4, "publish": [0] * 4}
    for bins, nano, envelope in schedule:
        chosen = None if bins is None else np.array(bins, np.intp)
        curator.ask(snapshot, Counts(), Epsilon.of_nano(nano), chosen, envelope)
        whole[envelope] += nano if bins is None else 0
        for j in bins or ():
            by_bin[envelope][j] += nano
        total = sum(whole.values()) + max(map(sum, zip(*by_bin.values(), strict=True)))
        assert curator.charged().nano == total == 1000 - curator.remaining().nano
        for name in limits:
            left = min(500 - whole[name] - max(by_bin[name]), 1000 - total)
            assert curator.remaining(name) == Epsilon.of_nano(left)


def test_what_cannot_be_paid_is_refused_before_anything_is_drawn() -> None:
    """Every door: no noise is touched, nothing is spent, and the refusal can be foreseen."""
    curator = Curator(WEvent(epsilon=1, w=2), 4, noise=Untouchable())
    pool, grouper, segment = (
        curator.pool(),
        curator.grouper(Epsilon(2)),
        curator.segment(SegmentPlan(1, *[Epsilon(1)] * 2)),
    )
    snapshot, e = Snapshot(1, COUNTS), Epsilon("1.000000001")
    curator.begin_unit(snapshot)
    for refused in (
        lambda: curator.ask(snapshot, Counts(), e),
        lambda: curator.ask(snapshot, Counts(), e, [0]),
        lambda: curator.ask(snapshot, Counts(), [Epsilon(0.1), e], [0, 1]),
        lambda: curator.nearest(snapshot, [Distance(COUNTS)], e),
        lambda: curator.sampled(snapshot, 0.5, e, limit=10),
        lambda: pool.absorb(snapshot, e),
        lambda: grouper.extend(snapshot, [1] * 4),
    ):
        with pytest.raises(BudgetExceeded, match="that remain of the budget; ask can"):
            refused()
    assert segment.above(snapshot, Distance(COUNTS), 1, then=Epsilon(0)) is Verdict.SKIPPED
    assert not curator.can(publish=e)
    assert (curator.remaining(), curator.charged()) == (Epsilon(1), Epsilon(0))


@pytest.mark.parametrize(
    ("e", "bins"),
    [(Epsilon(10**6) * 9000, [0, 0]), ([Epsilon(10**6)] * 9300, [0] * 9300), (Epsilon(10**6) * 10**6, [1])],
)
def test_no_charge_is_so_large_that_it_wraps_around(e: Any, bins: list[int]) -> None:
    """A sum beyond 64 bits is a refusal like any other, not a free answer without noise."""
    curator, snapshot = at_work(Untouchable())
    with pytest.raises((BudgetExceeded, BadInput)):
        curator.ask(snapshot, Counts(), e, bins)
    assert curator.remaining() == Epsilon(1)


@pytest.mark.parametrize("bins", [[[0, 1, 2]], [4], [-1], [0.0, 1.0], [True, False], ["a"], 2])
def test_bins_are_one_row_of_numbers(bins: Any) -> None:
    """A table of bins would share one draw among a row: their differences would be exact."""
    curator, snapshot = at_work(Untouchable())
    for e in (Epsilon(0.1), [Epsilon(0.1)] * 3):
        with pytest.raises(BadInput):
            curator.ask(snapshot, Counts(), e, bins)
    assert curator.remaining() == Epsilon(1)


def test_only_the_current_unit_can_be_asked() -> None:
    """Not the one before, not one to come; snapshots come in order and with all bins."""
    curator, snapshot = at_work(Untouchable())
    with pytest.raises(BadInput, match="the stream has 4 bins and this snapshot 3"):
        curator.begin_unit(Snapshot(2, [1, 2, 3]))
    with pytest.raises(OutOfOrder, match="expected t=2, got t=1"):
        curator.begin_unit(snapshot)
    curator.begin_unit(Snapshot(2, COUNTS))
    for other in (snapshot, Snapshot(3, COUNTS)):
        with pytest.raises(OutOfOrder, match=f"only the current unit, t=2, can be asked about; got t={other.t}"):
            curator.ask(other, Counts(), Epsilon(0.1))
        with pytest.raises(OutOfOrder):
            curator.nearest(other, [Distance(COUNTS)], Epsilon(0.1))
        with pytest.raises(OutOfOrder):
            curator.sampled(other, 0.5, Epsilon(0.1), limit=5)
    for late in (curator.segment, curator.pool, lambda: curator.grouper(Epsilon(0.1))):
        with pytest.raises(BadInput, match=r"made in begin\(\)"):
            late()


def test_the_nearest_is_chosen_by_exact_permute_and_flip() -> None:
    """Without noise the least; with it, each with its exact probability. Vectors and nothing are no candidates."""
    curator, snapshot = at_work(ScriptedNoise())
    candidates = [Distance([10, 20, 30, reference]) for reference in (43, 40, 41)]
    assert curator.nearest(snapshot, candidates, Epsilon(0.5)) == 1
    assert curator.charged() == Epsilon(0.5)
    vectors: list[list[Query]] = [[], [Counts()], [candidates[0], GroupSums([0, 0, 1, 1])]]
    for bad in vectors:
        with pytest.raises(BadInput, match="nearest chooses among one query or more, each with a single number"):
            curator.nearest(snapshot, bad, Epsilon(0.1))
    assert curator.charged() == Epsilon(0.5)


@pytest.mark.parametrize(("scores", "e"), [((0, 2), "1"), ((3, 0, 1), "1.5"), ((5, 5), "1"), ((0, 30, 1), "0.1")])
def test_how_often_each_candidate_is_chosen(scores: tuple[int, ...], e: str) -> None:
    """8000 choices under a fixed key against the formula: the first in random order whose coin exp(-e x / 2D) falls."""
    curator, snapshot = at_work(SecureNoise(source=FixedKey()), EventLevel(epsilon=10**6, neighbours="replace"))
    falls = [math.exp(-float(e) * (score - min(scores)) / (2 * 2)) for score in scores]
    expected = np.zeros(len(scores))
    orders = list(itertools.permutations(range(len(scores))))
    for order in orders:
        for place, i in enumerate(order):
            expected[i] += falls[i] * math.prod(1 - falls[j] for j in order[:place]) / len(orders)
    candidates = [Distance([10, 20, 30, 40 + score]) for score in scores]
    chosen = [curator.nearest(snapshot, candidates, Epsilon(e)) for _ in range(8000)]
    assert expected.sum() == pytest.approx(1)
    assert stats.chisquare(np.bincount(chosen, minlength=len(scores)), 8000 * expected).pvalue > 0.001


def test_a_sample_is_cut_at_its_limit_and_charged_at_its_own_price() -> None:
    """The script's coins fall at a rate of one half or more: all records up to the limit are in the sample."""
    noise = Logged([0, 0, 1, -1])
    curator, snapshot = at_work(noise)
    assert curator.sampled(snapshot, 0.5, Epsilon(0.2), limit=25).tolist() == [10, 20, 26, 24]
    assert curator.sampled(snapshot, "0.1", Epsilon(0.2), limit=25).tolist() == [0, 0, 0, 0]
    assert noise.scales[0] == Fraction(NANO, amplify(Epsilon(0.2), Fraction(1, 2)).nano)
    assert noise.scales[4] == Fraction(NANO, amplify(Epsilon(0.2), Fraction(1, 10)).nano)
    assert curator.charged() == Epsilon(0.4)


def test_sampling_is_refused_where_it_is_not_proven() -> None:
    """Replace, several records a unit, a rate that is none, no limit: refused unpaid."""
    for options in ({"neighbours": "replace"}, {"per_unit": 2}):
        curator, snapshot = at_work(Untouchable(), WEvent(epsilon=1, w=2, **options))
        with pytest.raises(BadInput, match="sampling is proven for add-remove neighbours with one record a unit"):
            curator.sampled(snapshot, 0.5, Epsilon(0.1), limit=5)
    curator, snapshot = at_work(Untouchable())
    wrong: list[Any] = [(0, 5), (-1, 5), (1.5, 5), (float("nan"), 5), (0.5, 0), (0.5, 2.0)]
    for rate, limit in wrong:
        with pytest.raises(BadInput):
            curator.sampled(snapshot, rate, Epsilon(0.1), limit=limit)
    assert curator.remaining() == Epsilon(1)


def exactly(nano: int, rate: Fraction) -> Decimal:
    """ln(1 + (exp(e) - 1) / rate) in nano-epsilon, to the digits of the current context."""
    gain = (Decimal(nano) / NANO).exp() - 1
    return (1 + gain * rate.denominator / rate.numerator).ln() * NANO


@fixed
@given(st.integers(1, 10**11), st.fractions(Fraction(1, 10**6), 1))
def test_an_amplified_budget_is_the_floor_of_the_formula(nano: int, rate: Fraction) -> None:
    """In 100 digits; never more, and never a nano-epsilon less."""
    amplified = amplify(Epsilon.of_nano(nano), rate).nano
    with localcontext() as context:
        context.prec = 100
        assert -1 < amplified - exactly(nano, rate) <= Decimal("1e-80")


@pytest.mark.parametrize("digits", [3, 9, 28, 100])
def test_an_amplified_budget_does_not_depend_on_the_callers_decimals(digits: int) -> None:
    """Nor is it rounded up where the formula is a hair (8e-21) below a whole nano-epsilon."""
    with localcontext() as context:
        context.prec = 100
        whole = Fraction((Decimal(1).exp() - 1) / (Decimal("1.5").exp() - 1))
        a_hair_more = whole * (1 + Fraction(1, 10**29))
        assert 1_499_999_999 < exactly(NANO, a_hair_more) < 1_500_000_000
        context.prec = digits
        assert amplify(Epsilon(1), Fraction(1, 2)) == Epsilon("1.489880125")
        assert amplify(Epsilon(1), a_hair_more) == Epsilon("1.499999999")


@pytest.mark.parametrize(("e", "rate"), [(0.5, 0.5), (1.0, 0.1), (0.1, 0.9), (2.0, 0.25)])
def test_a_sampled_count_tells_no_more_than_it_costs(e: float, rate: float) -> None:
    """Binomial thinning and discrete Laplace noise in exact numbers: n records against n + 1."""
    q = math.exp(-float(amplify(Epsilon(e), Fraction(str(rate)))))
    answers = np.arange(-60, 80)

    def density(records: int) -> Any:
        kept = np.arange(records + 1)
        noise = (1 - q) / (1 + q) * q ** np.abs(answers[:, np.newaxis] - kept).astype(float)
        return noise @ stats.binom.pmf(kept, records, rate)

    losses = [np.abs(np.log(density(n + 1) / density(n))).max() for n in range(6)]
    assert 0.9 * e < max(losses) <= e + 1e-9


@pytest.mark.parametrize("e", [0.5, "0.5", 1])
def test_a_budget_that_is_not_an_epsilon_is_refused_unpaid(e: Any) -> None:
    curator, snapshot = at_work(Untouchable())
    for ask in (lambda: curator.ask(snapshot, Counts(), e), lambda: curator.nearest(snapshot, [Distance(COUNTS)], e)):
        with pytest.raises(BadInput, match="a budget is an Epsilon"):
            ask()
    assert curator.remaining() == Epsilon(1)
