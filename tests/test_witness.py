"""The loss a witness works out is the true one: by brute force, in the mean, turned round, and within the charges."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cache
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from penstock.answering import amplify
from penstock.charges import Fact, Point, Span, recount
from penstock.checks.likelihood import Run, log_first_heads
from penstock.checks.witness import Witness
from penstock.curator import Curator
from penstock.desk import Question
from penstock.epsilon import Epsilon
from penstock.models import EventLevel, PrivacyModel, UserLevel, WEvent
from penstock.noise import SimulationNoise
from penstock.primitives.segment import SegmentPlan, Verdict
from penstock.primitives.volley import VolleyPlan
from penstock.queries import Counts, Distance, EuclideanDistance, GroupDistances, GroupSums, LargestDistance
from penstock.types import Ints, Mask, Snapshot

Rows = list[list[int]]
RUNS = 400
REACH = 60  # scales of noise that are summed over by brute force


@dataclass(frozen=True)
class Case:
    """Two streams, what is asked at each unit, and the chance of the answers, worked out from first principles."""

    model: PrivacyModel
    one: Rows
    other: Rows
    begin: Callable[[Curator], Any]
    ask: Callable[[Curator, Any, Snapshot], Any]
    chance: Callable[[Rows, list[Any]], Decimal]


def run(case: Case, rows: Rows, witness: Witness) -> list[Any]:
    """The answers of every unit."""
    curator = Curator(case.model, len(rows[0]), noise=witness, answers=witness.answer)
    handle, answers = case.begin(curator), []
    for t, row in enumerate(rows, start=1):
        snapshot = Snapshot(t, row)
        curator.begin_unit(snapshot)
        answers.append(case.ask(curator, handle, snapshot))
    return answers


def before(case: Case, noise: Any) -> Witness:
    return Witness(noise, case.model, np.array(case.one), np.array(case.other))


# ---- chances, by direct sums in 40 digits ---------------------------------------------------------------------------


@cache
def ratio(scale: Fraction) -> Decimal:
    return (-Decimal(scale.denominator) / Decimal(scale.numerator)).exp()


def noise_is(k: int, scale: Fraction) -> Decimal:
    q = ratio(scale)
    return (1 - q) / (1 + q) * q ** abs(int(k))


@cache
def reach(scale: Fraction) -> int:
    return math.ceil(REACH * scale)


@cache
def noise_is_at_least(k: int, scale: Fraction) -> Decimal:
    """Added up one by one from the far end."""
    if k > reach(scale):
        return ratio(scale) ** k / (1 + ratio(scale))
    if k < -reach(scale):
        return Decimal(1)
    return noise_is(k, scale) + noise_is_at_least_from(scale)[k + 1 + reach(scale)]


@cache
def noise_is_at_least_from(scale: Fraction) -> list[Decimal]:
    far, sums = reach(scale), [ratio(scale) ** (reach(scale) + 1) / (1 + ratio(scale))]
    for k in range(far, -far - 1, -1):
        sums.append(sums[-1] + noise_is(k, scale))
    return sums[::-1]


def noisy(answer: Sequence[int], truth: Sequence[int], scales: Sequence[Fraction]) -> Decimal:
    return math.prod(
        (noise_is(a - b, scale) for a, b, scale in zip(answer, truth, scales, strict=True)), start=Decimal(1)
    )


def compared(gaps: Sequence[int], yeses: Sequence[bool], rho: Fraction, nu: Fraction) -> Decimal:
    """Summed over the threshold noise: a yes if nu >= gap + rho."""
    total = Decimal(0)
    for threshold in range(-reach(rho), reach(rho) + 1):
        chance = noise_is(threshold, rho)
        for gap, yes in zip(gaps, yeses, strict=True):
            above = noise_is_at_least(gap + threshold, nu)
            chance *= above if yes else 1 - above
        total += chance
    return total


def true_loss(case: Case, answers: list[Any]) -> float:
    with localcontext() as context:
        context.prec = 40
        return float(case.chance(case.one, answers).ln() - case.chance(case.other, answers).ln())


def per(e: Any, sensitivity: int = 1) -> Fraction:
    return Fraction(sensitivity * 10**9, Epsilon(e).nano)


def distance(row: list[int], reference: Sequence[int], bins: Sequence[int] = (0, 1, 2)) -> int:
    return sum(abs(row[j] - reference[j]) for j in bins)


# ---- noisy numbers --------------------------------------------------------------------------------------------------

EVENT = EventLevel(epsilon=6)
PAIR = EventLevel(epsilon=6, neighbours="replace", per_unit=2)  # sensitivity 4
NEAR: Rows = [[3, 0, 5]]


def nothing(curator: Curator) -> None:
    return None


def ask_much(curator: Curator, _: Any, snapshot: Snapshot) -> list[list[int]]:
    asked = [
        curator.ask(snapshot, Counts(), Epsilon(1)),
        curator.ask(snapshot, Counts(), Epsilon(1), bins=[2, 0]),
        curator.ask(snapshot, Distance([1, 9, 5]), Epsilon(1)),
        curator.ask(snapshot, LargestDistance([1, 1, 5]), Epsilon(0.5)),
        curator.ask(snapshot, EuclideanDistance([1, 2, 5]), Epsilon(0.5)),
        curator.ask(snapshot, GroupDistances([1, -1, 0], [1, 2, 3]), Epsilon(1)),
    ]
    return [answer.tolist() for answer in asked]


def chance_of_much(rows: Rows, answers: list[Any]) -> Decimal:
    a, b, c = row = rows[0]
    truths = [
        ([a, b, c], 1),
        ([c, a], 1),
        ([distance(row, [1, 9, 5])], 1),
        ([max(abs(a - 1), abs(b - 1), abs(c - 5))], 0.5),
        ([math.isqrt((a - 1) ** 2 + (b - 2) ** 2 + (c - 5) ** 2)], 0.5),
        ([abs(c - 3), abs(a - 1)], 1),
    ]
    chance = Decimal(1)
    for answer, (truth, e) in zip(answers[0], truths, strict=True):
        chance *= noisy(answer, truth, [per(e, 4)] * len(truth))
    return chance


def ask_each(curator: Curator, _: Any, snapshot: Snapshot) -> Any:
    return curator.ask(snapshot, Counts(), [Epsilon(2), Epsilon(0.5)], bins=[2, 0]).tolist()


def ask_purse(curator: Curator, _: Any, snapshot: Snapshot) -> list[list[int]]:
    some, grouped = (
        curator.purse(snapshot, Epsilon(2), bins=[0, 2]),
        curator.purse(snapshot, Epsilon(2), labels=[1, 0, 1]),
    )
    return [
        some(Epsilon(0.5)).tolist(),
        some(Epsilon(0.75), [0, 0]).tolist(),
        some(Epsilon(0.75), [-1, 0]).tolist(),
        grouped(Epsilon(1)).tolist(),
        grouped(Epsilon(1), [0, 0]).tolist(),
        curator.ask(snapshot, GroupSums([0, 0, -1]), Epsilon(1)).tolist(),
    ]


def chance_of_purse(rows: Rows, answers: list[Any]) -> Decimal:
    a, b, c = rows[0]
    truths = [([a, c], 0.5), ([a + c], 0.75), ([c], 0.75), ([b, a + c], 1), ([a + b + c], 1), ([a + b], 1)]
    chance = Decimal(1)
    for answer, (truth, e) in zip(answers[0], truths, strict=True):
        chance *= noisy(answer, truth, [per(e)] * len(truth))
    return chance


# ---- choices and samples --------------------------------------------------------------------------------------------

REFERENCES = [[3, 0, 5], [2, 0, 5], [4, 0, 5], [3, 3, 5], [4, 0, 5]]


def choosing(k: int) -> Case:
    def ask(curator: Curator, _: Any, snapshot: Snapshot) -> int:
        return curator.nearest(snapshot, [Distance(each) for each in REFERENCES[:k]], Epsilon(3))

    def chance(rows: Rows, answers: list[Any]) -> Decimal:
        scores = [distance(rows[0], each) for each in REFERENCES[:k]]
        heads = [ratio(per(3, 2)) ** (score - min(scores)) for score in scores]
        total, orders = Decimal(0), list(permutations(range(k)))
        for order in orders:
            tails = [1 - heads[i] for i in order[: order.index(answers[0])]]
            total += math.prod(tails, start=heads[answers[0]])
        return total / len(orders)

    return Case(EVENT, NEAR, [[2, 0, 5]], nothing, ask, chance)


def sampling(rate: str, limit: int) -> Case:
    def ask(curator: Curator, _: Any, snapshot: Snapshot) -> Any:
        return curator.sampled(snapshot, rate, Epsilon(1), limit).tolist()

    def chance(rows: Rows, answers: list[Any]) -> Decimal:
        beta, total = Fraction(rate), Decimal(1)
        scale = Fraction(10**9, amplify(Epsilon(1), beta).nano)
        for answer, count in zip(answers[0], rows[0], strict=True):
            n = min(count, limit)
            ways = [math.comb(n, k) * beta**k * (1 - beta) ** (n - k) for k in range(n + 1)]
            kept = [noise_is(answer - k, scale) * way.numerator / way.denominator for k, way in enumerate(ways)]
            total *= sum(kept, start=Decimal(0))
        return total

    return Case(EVENT, NEAR, [[4, 0, 5]], nothing, ask, chance)


# ---- comparisons ----------------------------------------------------------------------------------------------------

LIMIT = 3


def comparing(model: PrivacyModel, plan: SegmentPlan, one: list[int], other: list[int], *, again: bool) -> Case:
    """Is the one count above LIMIT? In one run, or in one after the other."""

    def ask(curator: Curator, segment: Any, snapshot: Snapshot) -> Any:
        if segment.left == 0:
            if not again:
                return None
            segment.renew(plan)
        return segment.above(snapshot, Distance([0]), LIMIT, then=Epsilon(0))

    def chance(rows: Rows, answers: list[Any]) -> Decimal:
        gaps, yeses, total = list[int](), list[bool](), Decimal(1)
        rho, nu = (Fraction(model.sensitivity * 10**9, part.nano) for part in (plan.u, plan.v))
        for row, verdict in zip(rows, answers, strict=True):
            if verdict in (Verdict.ABOVE, Verdict.BELOW):
                gaps.append(LIMIT - row[0])
                yeses.append(verdict is Verdict.ABOVE)
            if sum(yeses) == plan.c:
                total *= compared(gaps, yeses, rho, nu)
                gaps, yeses = [], []
        return total * compared(gaps, yeses, rho, nu)

    rows, others = ([[count] for count in counts] for counts in (one, other))
    return Case(model, rows, others, lambda curator: curator.segment(plan), ask, chance)


def grouping(e: int, longest: int) -> Case:
    """Groups of at most ``longest`` units whose deviation stays below 2.5."""

    def ask(curator: Curator, grouper: Any, snapshot: Snapshot) -> Any:
        return grouper.extend(snapshot, 2.5).tolist()

    def chance_of_bin(counts: list[int], joined: list[bool]) -> Decimal:
        total, group, gaps, yeses = Decimal(1), list[int](), list[int](), list[bool]()
        for count, went_in in zip(counts, joined, strict=True):
            group.append(count)
            if len(group) > 1:
                astray = math.floor(64 * sum(abs(c - Fraction(sum(group), len(group))) for c in group))
                gaps.append(math.ceil(64 * 2.5) - astray)
                yeses.append(not went_in)
            if not went_in or len(group) == longest:
                total *= compared(gaps, yeses, per(e / 2, 129), per(e / 4, 129))
                group, gaps, yeses = [], [], []
        return total * compared(gaps, yeses, per(e / 2, 129), per(e / 4, 129))

    def chance(rows: Rows, answers: list[Any]) -> Decimal:
        columns, verdicts = (list(zip(*table, strict=True)) for table in (rows, answers))
        parts = (chance_of_bin(list(c), list(v)) for c, v in zip(columns, verdicts, strict=True))
        return math.prod(parts, start=Decimal(1))

    one, other = [[1, 5], [3, 5], [2, 5], [2, 9], [2, 5]], [[1, 5], [3, 5], [3, 5], [2, 9], [2, 5]]
    return Case(EventLevel(epsilon=e), one, other, lambda curator: curator.grouper(Epsilon(e), longest), ask, chance)


# ---- readings that share a reach ------------------------------------------------------------------------------------


def shared(noise: list[int], size: int, scale: Fraction) -> Decimal:
    """The chance of the first few of so many numbers, but for a constant: summed over how far out any of them is."""
    nearest, rest, total = max(map(abs, noise)), size - len(noise), Decimal(0)
    for far in range(nearest, nearest + reach(scale) * (size + 1)):
        ways = (2 * far + 1) ** rest - ((2 * far - 1) ** rest if far > nearest else 0)
        total += ratio(scale) ** far * ways
    return total


def volleying(size: int, read: int) -> Case:
    """One volley after another, each given up after so many readings."""

    def ask(curator: Curator, volley: Any, snapshot: Snapshot) -> int:
        if (snapshot.t - 1) % read == 0:
            volley.retire()
            volley.renew(VolleyPlan(size, Epsilon(2)))
        return int(volley.read(snapshot)[0])

    def chance(rows: Rows, answers: list[Any]) -> Decimal:
        noise = [answer - row[0] for answer, row in zip(answers, rows, strict=True)]
        parts = [shared(noise[i : i + read], size, per(2, 2)) for i in range(0, len(noise), read)]
        return math.prod(parts, start=Decimal(1))

    one, other = ([[count] for count in counts] for counts in ([4, 5, 9, 3, 2, 1], [6, 6, 9, 1, 4, 0]))
    model = UserLevel(epsilon=12, horizon=6, per_unit=2)
    return Case(model, one, other, lambda curator: curator.volley(), ask, chance)


# ---- sums over time -------------------------------------------------------------------------------------------------

USER = UserLevel(epsilon=20, horizon=7)
ONE = [[4, 0, 7], [5, 1, 0], [9, 9, 9], [3, 3, 3], [2, 2, 2], [1, 1, 1], [8, 0, 1]]
OTHER = [[4, 1, 7], [5, 1, 1], [9, 8, 9], [3, 3, 4], [3, 2, 2], [1, 0, 1], [8, 1, 1]]


def pooling(reads: int) -> Case:
    """Bins that enter for different prices, are settled at different times, or dropped, and enter once more."""

    def ask(curator: Curator, pool: Any, snapshot: Snapshot) -> list[int]:
        prices = {1: (1, [0, 1, 2]), 2: (0.5, [0, 2]), 4: (2, [2, 1]), 7: (1, [0, 1])}
        reading = {3: [0], 5: [1, 2], 7: [1, 0]} | ({6: [2, 0, 1]} if reads == 2 else {})
        if snapshot.t in prices:
            e, bins = prices[snapshot.t]
            pool.absorb(snapshot, Epsilon(e), bins)
        if snapshot.t == 3:
            pool.drop([1])
        return list(pool.settle(reading[snapshot.t])) if snapshot.t in reading else []

    def chance(rows: Rows, answers: list[Any]) -> Decimal:
        zero, one, two = rows[0][0] + rows[1][0], rows[3][1], rows[0][2] + rows[1][2] + rows[3][2]
        cheap, dear = per(0.5 / reads), per(2 / reads)
        total = noisy(answers[2], [zero], [cheap]) * noisy(answers[4], [one, two], [dear, cheap])
        total *= noisy(answers[6], [rows[6][1], rows[6][0]], [per(1 / reads)] * 2)
        return total * noisy(answers[5], [two, zero, one], [cheap, cheap, dear]) if reads == 2 else total

    return Case(USER, ONE, OTHER, lambda curator: curator.pool(reads), ask, chance)


def ask_of_pool(curator: Curator, pool: Any, snapshot: Snapshot) -> list[list[int]]:
    match snapshot.t:
        case 1:
            pool.absorb(snapshot, Epsilon(2))
        case 2:
            pool.absorb(snapshot, Epsilon(1), bins=[0, 1])
        case 3:
            purse = pool.purse([1, 0])
            answers = [purse(Epsilon(0.25)), purse(Epsilon(0.5), [0, 0]), purse(Epsilon(0.25), [-1, 0])]
            pool.drop([0, 1])
            return [list(answer) for answer in [*answers, pool.purse([2])(Epsilon(1.5))]]
        case 6:
            pool.absorb(snapshot, Epsilon(1), bins=[0, 1])
            return [list(pool.purse()(Epsilon(0.5), [1, 0, 1]))]
    return []


def chance_of_pool(rows: Rows, answers: list[Any]) -> Decimal:
    zero, one, two = rows[0][0] + rows[1][0], rows[0][1] + rows[1][1], rows[0][2]
    alone, both, first, last = answers[2]
    total = noisy(alone, [one, zero], [per(0.25)] * 2) * noisy(both, [zero + one], [per(0.5)])
    total *= noisy(first, [zero], [per(0.25)]) * noisy(last, [two], [per(1.5)])
    return total * noisy(answers[5][0], [rows[5][1], rows[5][0] + two], [per(0.5)] * 2)


HORIZON = SegmentPlan.whole_horizon(2, Epsilon(5))
WINDOWED = SegmentPlan.windowed(2, Epsilon(6))
CASES = {
    "ask": Case(PAIR, NEAR, [[4, 1, 4]], nothing, ask_much, chance_of_much),
    "ask-each": Case(
        PAIR,
        NEAR,
        [[2, 1, 6]],
        nothing,
        ask_each,
        lambda rows, answers: noisy(answers[0], [rows[0][2], rows[0][0]], [per(2, 4), per(0.5, 4)]),
    ),
    "purse": Case(EVENT, NEAR, [[3, 0, 4]], nothing, ask_purse, chance_of_purse),
    **{f"nearest-{k}": choosing(k) for k in range(1, 6)},
    "sampled": sampling("0.6", 4),
    "sampled-all": sampling("1", 4),
    "above-horizon": comparing(UserLevel(epsilon=6, horizon=5), HORIZON, [2, 3, 4, 2, 3], [1, 4, 5, 1, 2], again=False),
    "above-windowed": comparing(WEvent(epsilon=9, w=2), WINDOWED, [3, 4, 2, 3, 3], [3, 4, 3, 2, 3], again=True),
    "above-replace": comparing(
        WEvent(epsilon=12, w=3, neighbours="replace"), WINDOWED, [3, 6, 2, 2, 5], [3, 5, 4, 0, 5], again=True
    ),
    "extend": grouping(16, 64),
    "extend-short": grouping(16, 3),
    "volley": volleying(3, 3),
    "volley-given-up": volleying(4, 2),
    "volley-of-one": volleying(1, 1),
    "pool": pooling(1),
    "pool-twice": pooling(2),
    "pool-purse": Case(USER, ONE, OTHER, lambda curator: curator.pool(), ask_of_pool, chance_of_pool),
}
every_case = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


@every_case
def test_the_loss_is_the_one_that_brute_force_finds(case: Case) -> None:
    """On either stream, whatever is answered."""
    found = set()
    for seed in range(5):
        for rows in (case.one, case.other):
            witness = before(case, SimulationNoise(seed))
            answers = run(case, rows, witness)
            assert witness.loss == pytest.approx(true_loss(case, answers), abs=1e-9)
            assert all(move.moved <= move.allowed for move in witness.moves)
            found.add(round(witness.loss, 6))
    assert len(found) > 1 or found == {0.0}  # the answers matter


@dataclass
class Halved(SimulationNoise):
    """Half as much noise as was asked for."""

    seed: int

    def __post_init__(self) -> None:
        super().__init__(self.seed)

    def laplace(self, scale: Fraction, size: int) -> Ints:
        return super().laplace(scale / 2, size)

    def laplace_each(self, scales: Sequence[Fraction], which: NDArray[np.intp]) -> Ints:
        return super().laplace_each([scale / 2 for scale in scales], which)

    def cube(self, scale: Fraction, size: int) -> Ints:
        return super().cube(scale / 2, size)

    def bernoulli_exp(self, rate: Fraction, steps: Ints) -> Mask:
        return super().bernoulli_exp(rate * 2, steps)


def far_from_one(case: Case, rows: Rows, sign: int, noise: type[SimulationNoise]) -> float:
    """How many standard errors the mean of exp(sign * loss) lies from 1."""
    likelier = []
    for seed in range(RUNS):
        witness = before(case, noise(seed))
        run(case, rows, witness)
        likelier.append(math.exp(sign * witness.loss))
    error = float(np.std(likelier)) / math.sqrt(RUNS)
    return abs(float(np.mean(likelier)) - 1) / error if error else 0.0


@every_case
def test_in_the_mean_the_other_stream_is_as_likely(case: Case) -> None:
    """Chances add up to 1: the mean of p(other) / p(one) over answers of the one stream, and the other way round."""
    assert far_from_one(case, case.one, -1, SimulationNoise) < 4.5
    assert far_from_one(case, case.other, +1, SimulationNoise) < 4.5


@every_case
def test_half_the_noise_shows_in_the_mean(case: Case) -> None:
    """So that the means above can fail."""
    if case is CASES["nearest-1"]:
        assert far_from_one(case, case.one, -1, Halved) == 0  # there is nothing to choose
    else:
        assert far_from_one(case, case.one, -1, Halved) > 4.5 or far_from_one(case, case.other, +1, Halved) > 4.5


# ---- any questions, in any order ------------------------------------------------------------------------------------

E = st.sampled_from([Epsilon(0.01), Epsilon(0.3), Epsilon(1)])
BINS = 2
some_bins = st.sampled_from([[0], [1], [1, 0]])
counts = st.one_of(st.integers(0, 4), st.sampled_from([100, 2**40, 2**53 - 2]))


@dataclass
class Curious:
    """Asks whatever it is told to, if it can be afforded and makes sense."""

    curator: Curator

    def __post_init__(self) -> None:
        self.pool, self.twice = self.curator.pool(), self.curator.pool(reads=2)
        self.grouper = self.curator.grouper(Epsilon(1), 3)
        self.segment = self.curator.segment()

    def ask(self, snapshot: Snapshot, verb: str, e: Epsilon, bins: list[int], near: int) -> None:
        if self.curator.can(publish=e * 3, decide=Epsilon(1)):
            getattr(self, verb)(snapshot, e, bins, near)

    def counts(self, snapshot: Snapshot, e: Epsilon, bins: list[int], near: int) -> None:
        self.curator.ask(snapshot, Counts(), e, bins)

    def each(self, snapshot: Snapshot, e: Epsilon, bins: list[int], near: int) -> None:
        self.curator.ask(snapshot, Counts(), [e, e / 3][: len(bins)], bins)

    def sums(self, snapshot: Snapshot, e: Epsilon, bins: list[int], near: int) -> None:
        self.curator.purse(snapshot, e, bins)(e / 2, [0] * len(bins))

    def distance(self, snapshot: Snapshot, e: Epsilon, bins: list[int], near: int) -> None:
        self.curator.ask(snapshot, EuclideanDistance([near, 0]), e, bins)

    def nearest(self, snapshot: Snapshot, e: Epsilon, bins: list[int], near: int) -> None:
        self.curator.nearest(snapshot, [Distance([near, 0]), LargestDistance([0, near]), Distance([0, 0])], e)

    def sampled(self, snapshot: Snapshot, e: Epsilon, bins: list[int], near: int) -> None:
        if self.curator.model.sensitivity == 1:
            self.curator.sampled(snapshot, "0.4", e, 5)

    def above(self, snapshot: Snapshot, e: Epsilon, bins: list[int], near: int) -> None:
        if not self.segment.running:
            self.segment.renew(SegmentPlan(len(bins), e, e / 3))
        self.segment.above(snapshot, Distance([0, 0]), near, then=Epsilon(0))

    def extend(self, snapshot: Snapshot, e: Epsilon, bins: list[int], near: int) -> None:
        self.grouper.extend(snapshot, near)

    def absorb(self, snapshot: Snapshot, e: Epsilon, bins: list[int], near: int) -> None:
        self.pool.absorb(snapshot, e, bins)
        self.twice.absorb(snapshot, e, bins)

    def settle(self, snapshot: Snapshot, e: Epsilon, bins: list[int], near: int) -> None:
        for pool in (self.pool, self.twice):
            if pool.size[bins].all():
                pool.settle(bins)

    def read(self, snapshot: Snapshot, e: Epsilon, bins: list[int], near: int) -> None:
        if self.pool.size[bins].all():
            purse = self.pool.purse(bins)
            purse(purse.remaining / 2, [0] * len(bins))
            self.pool.drop(bins)


VERBS = [name for name in vars(Curious) if not name.startswith("_") and name != "ask"]
questions = st.lists(st.tuples(st.sampled_from(VERBS), E, some_bins, st.integers(-2, 9)), max_size=4)
laws: st.SearchStrategy[PrivacyModel] = st.one_of(
    st.builds(WEvent, epsilon=st.just(12), w=st.integers(1, 3)),
    st.builds(WEvent, epsilon=st.just(12), w=st.integers(1, 3), neighbours=st.just("replace")),
    st.builds(EventLevel, epsilon=st.just(12), per_unit=st.integers(1, 3)),
)


@st.composite
def curiosity(draw: st.DrawFn) -> tuple[PrivacyModel, Ints, Ints, list[Any]]:
    """A law, two neighbouring streams, and what to ask at every unit; every unit is absorbed once at most."""
    model, steps = draw(laws), draw(st.integers(1, 5))
    one = np.array(draw(st.lists(st.lists(counts, min_size=BINS, max_size=BINS), min_size=steps, max_size=steps)))
    other, first = one.copy(), draw(st.integers(0, steps - 1))
    for row in other[first : first + model.window]:
        moved, into = draw(st.integers(-model.per_unit, model.per_unit)), draw(st.integers(0, BINS - 1))
        taken = max(moved, -int(row[into]))
        if model.neighbours == "replace":
            taken = min(taken, int(row[1 - into]))
            row[1 - into] -= taken
        row[into] += taken
    asked = draw(st.lists(questions, min_size=steps, max_size=steps))
    return (
        model,
        one,
        other,
        [[q for i, q in enumerate(unit) if q[0] not in {p[0] for p in unit[:i]}] for unit in asked],
    )


Told = list[tuple[int, Question, Any, list[Fraction]]]


class Remembering(Witness):
    """Keeps all it heard, so that it can be told to another witness."""

    def answer(self, question: Question, compute: Callable[[], Any]) -> Any:
        answer = super().answer(question, compute)
        self.heard = [*getattr(self, "heard", []), (self.t, question, np.copy(answer), self.drawn)]
        return answer


def told(model: PrivacyModel, one: Ints, other: Ints, heard: Told) -> Witness:
    """A witness who was told the same answers, of the same noise."""
    witness = Witness(SimulationNoise(0), model, one, other)
    for t, question, answer, drawn in heard:
        while witness.t < t:
            witness.rekey()

        def again(answer: Any = answer, drawn: list[Fraction] = drawn) -> Any:
            for scale in drawn:
                witness.laplace(scale, 1)
            return answer

        witness.answer(question, again)
    return witness


def charged_to(units: Sequence[int], facts: list[Fact]) -> float:
    """What these units have paid in all; a span is paid by whom it meets."""
    spans = {fact.key: fact for fact in facts if isinstance(fact, Span)}
    met = [span.e for span in spans.values() if any(span.a <= t <= (span.b or t) for t in units)]
    points = [fact.e for fact in facts if isinstance(fact, Point) and fact.t in units]
    return float(Fraction(sum(e.nano for e in [*met, *points]), 10**9))


@settings(derandomize=True, deadline=None, max_examples=150)
@given(curiosity(), st.integers(0, 99))
def test_no_more_is_told_than_was_paid_for(curious: tuple[PrivacyModel, Ints, Ints, list[Any]], seed: int) -> None:
    """To the units that differ, and to no set more than the law allows. Turned round it changes its sign."""
    model, one, other, asked = curious
    witness, facts = Remembering(SimulationNoise(seed), model, one, other), list[Fact]()
    who = Curious(Curator(model, BINS, noise=witness, answers=witness.answer, journal=facts.append))
    for t, (row, questions) in enumerate(zip(one, asked, strict=True), start=1):
        snapshot = Snapshot(t, row)
        who.curator.begin_unit(snapshot)
        for question in questions:
            who.ask(snapshot, *question)
    heard: Told = getattr(witness, "heard", [])
    units = [int(t) + 1 for t in np.flatnonzero((one != other).any(axis=1))]
    assert abs(witness.loss) <= charged_to(units, facts) + 1e-5
    assert charged_to(units, facts) <= float(recount(facts, model)) <= float(model.epsilon)
    assert all(move.moved <= move.allowed for move in witness.moves)
    assert told(model, one, other, heard).loss == witness.loss
    assert told(model, other, one, heard).loss == pytest.approx(-witness.loss, abs=1e-9)
    assert told(model, one, one, heard).loss == told(model, other, other, heard).loss == 0
    assert all(move.moved == 0 for move in told(model, one, one, heard).moves)


# ---- extremes -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", ["0.00001", "1", "1000000"])
@pytest.mark.parametrize("count", [0, 2**53 - 1])
def test_extreme_budgets_and_counts_leave_a_finite_loss(epsilon: str, count: int) -> None:
    """As does any number of comparisons with any threshold. Warnings are errors here."""
    budget, far = Epsilon(epsilon), [-(2**60), -1, 0, count, count + 5, 2**60]
    model, one, other = WEvent(epsilon=budget, w=400), np.full((400, 1), count), np.full((400, 1), count + 1)
    witness = Witness(SimulationNoise(1), model, one, other)
    curator = Curator(model, 1, noise=witness, answers=witness.answer)
    segment = curator.segment(SegmentPlan.whole_horizon(100, budget / 2))
    pool, e = curator.pool(), budget / 4 / 400
    for t, row in enumerate(one, start=1):
        snapshot = Snapshot(t, row)
        curator.begin_unit(snapshot)
        if segment.left:
            segment.above(snapshot, Distance([0]), far[t % len(far)], then=Epsilon(0))
        pool.absorb(snapshot, e)
        curator.sampled(snapshot, "0.5", e / 2, 50)
        curator.ask(snapshot, Distance([2**60]), e / 4)
    pool.settle()
    assert math.isfinite(witness.loss)
    assert abs(witness.loss) <= float(budget) + 1e-5


@pytest.mark.parametrize("plan", [SegmentPlan.whole_horizon(8, Epsilon(0.02)), SegmentPlan.windowed(8, Epsilon(0.02))])
def test_wide_threshold_noise_is_summed_as_finely_as_is_said(plan: SegmentPlan) -> None:
    """In 200 steps a scale; by 1e-5 it may be off."""
    one, other = np.arange(60)[:, np.newaxis] * 70, np.arange(60)[:, np.newaxis] * 70 + 1
    model = UserLevel(epsilon=1, horizon=60)
    losses = []
    for points in (200, 10**9):
        witness = Witness(SimulationNoise(3), model, one, other, points)
        curator = Curator(model, 1, noise=witness, answers=witness.answer)
        segment = curator.segment(plan)
        for t, row in enumerate(one, start=1):
            curator.begin_unit(snapshot := Snapshot(t, row))
            if segment.left:
                segment.above(snapshot, Distance([0]), 2000, then=Epsilon(0))
        losses.append(witness.loss)
    assert losses[0] == pytest.approx(losses[1], abs=1e-5)
    assert losses[1] != 0


def test_every_unit_of_a_group_may_move_its_deviation() -> None:
    """By 129 on the grid; with three of them it moves by 170, from 0 to 2 + 2/3."""
    model, one, other = WEvent(epsilon=9, w=3), np.full((3, 1), 2), np.array([[3], [1], [3]])
    witness = Witness(SimulationNoise(1), model, one, other)
    curator = Curator(model, 1, noise=witness, answers=witness.answer)
    grouper = curator.grouper(Epsilon(3))
    for t in (1, 2, 3):
        curator.begin_unit(snapshot := Snapshot(t, [2]))
        assert grouper.extend(snapshot, 10_000).all()
    assert [(move.moved, move.allowed) for move in witness.moves] == [(128, 258), (170, 387)]


def test_what_is_cut_tells_nothing() -> None:
    """A pool takes in 2**40 records of a bin at most, and a sample is taken of so many as the limit says."""
    model, one, other = EventLevel(epsilon=9), np.array([[2**40 + 5]]), np.array([[2**40 + 6]])
    witness = Witness(SimulationNoise(1), model, one, other)
    curator = Curator(model, 1, noise=witness, answers=witness.answer)
    pool = curator.pool()
    curator.begin_unit(snapshot := Snapshot(1, one[0]))
    pool.absorb(snapshot, Epsilon(1))
    pool.settle()
    curator.sampled(snapshot, "0.5", Epsilon(1), 20)
    assert witness.loss == 0
    assert [move.moved for move in witness.moves] == [0, 0]


# ---- faults ---------------------------------------------------------------------------------------------------------


def test_threshold_noise_much_wider_than_query_noise_is_summed_as_finely_as_is_said() -> None:
    """A user may plan a run with a small u and a large v; steps of rho then skip over where the answers turn."""
    run = Run(10_000.0, gaps=[(7, 8), (3, 2)], scales=[1.0, 1.0], yeses=[False, True])
    assert run.loss(200) == pytest.approx(run.loss(10**9), abs=1e-5)


def test_where_a_loss_is_large_all_threshold_noise_counts() -> None:
    """Five times no is likely on the one stream; on the other only if rho is 60 or more, which is beyond 30 scales."""
    rho, nu = Fraction(645, 1000), Fraction(129, 100)
    run = Run(float(rho), gaps=[(20, -60)] * 5, scales=[float(nu)] * 5, yeses=[False] * 5)
    with localcontext() as context:
        context.prec = 200
        one, other = (sum(five_times_no(gap, rho, nu), start=Decimal(0)) for gap in (20, -60))
        assert run.loss(200) == pytest.approx(float(one.ln() - other.ln()), abs=1e-5)


def five_times_no(gap: int, rho: Fraction, nu: Fraction) -> Iterator[Decimal]:
    """For every threshold noise that may matter; a no is noise of -gap - rho + 1 or more, by symmetry."""
    for threshold in range(-100, 201):
        no, q = 1 - gap - threshold, ratio(nu)
        chance = q**no / (1 + q) if no > 0 else 1 - q ** (1 - no) / (1 + q)
        yield noise_is(threshold, rho) * chance**5


@pytest.mark.parametrize("k", [5, 30, 50, 64, 200])
def test_a_choice_among_many_that_are_alike_is_weighed(k: int) -> None:
    """Each of them has the same chance. Sums of alternating binomials are no way to find that out."""
    assert log_first_heads(np.zeros(k, np.int64), 0, 0.1) == pytest.approx(-math.log(k), abs=1e-6)


def test_a_choice_for_a_large_budget_is_weighed() -> None:
    """By 1000 for the coin, and by ln 2 because the other one comes first half of the time."""
    model = EventLevel(epsilon=2000)
    witness = Witness(SimulationNoise(1), model, np.array([[0]]), np.array([[1]]))
    curator = Curator(model, 1, noise=witness, answers=witness.answer)
    curator.begin_unit(snapshot := Snapshot(1, [0]))
    assert curator.nearest(snapshot, [Distance([0]), Distance([1])], Epsilon(2000)) == 0
    assert witness.loss == pytest.approx(1000 + math.log(2))


def test_a_unit_that_enters_a_pool_twice_may_move_it_twice() -> None:
    """It has paid twice. The sum moves by two records and what was charged covers that."""
    model = EventLevel(epsilon=2)
    witness = Witness(SimulationNoise(1), model, np.array([[5]]), np.array([[6]]))
    curator = Curator(model, 1, noise=witness, answers=witness.answer)
    pool = curator.pool()
    curator.begin_unit(snapshot := Snapshot(1, [5]))
    pool.absorb(snapshot, Epsilon(1))
    pool.absorb(snapshot, Epsilon(1))
    pool.settle()
    assert abs(witness.loss) <= 2
    assert [(move.moved, move.allowed) for move in witness.moves] == [(2, 2)]


def test_each_query_of_a_choice_may_move_by_its_own_sensitivity_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that moves by two, and says one, is not excused by two others that stay where they are."""
    model = EventLevel(epsilon=2, neighbours="replace")
    queries = [Distance([9, 0]), Distance([0, 0]), Distance([0, 0])]
    monkeypatch.setattr(Distance, "sensitivity", lambda query, model: 1)
    witness = Witness(SimulationNoise(1), model, np.array([[5, 5]]), np.array([[4, 6]]))
    curator = Curator(model, 2, noise=witness, answers=witness.answer)
    curator.begin_unit(snapshot := Snapshot(1, [5, 5]))
    curator.nearest(snapshot, queries, Epsilon(2))
    assert any(move.moved > move.allowed for move in witness.moves)
