"""Purses: so much and no more, about these cells and no others; over a pool, never more than its members have paid."""

from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import penstock as ps
from penstock.charges import Fact, Point, recount
from penstock.checks.shadow import Shadow
from penstock.codec import decode, encode
from penstock.epsilon import NANO
from penstock.errors import OutOfOrder
from penstock.primitives.pool import LARGEST_MEMBER
from penstock.primitives.purse import Purse
from penstock.types import Ints

fixed = settings(derandomize=True, deadline=None, max_examples=150)
COUNTS = np.array([10, 200, 3000, 40_000])
BINS = len(COUNTS)


class Logged(ps.ScriptedNoise):
    """No noise, and the scale of every value that was drawn."""

    def __init__(self) -> None:
        super().__init__()
        self.scales: list[Fraction] = []

    def laplace(self, scale: Fraction, size: int) -> Ints:
        self.scales += [scale] * size
        return super().laplace(scale, size)

    def laplace_each(self, scales: Sequence[Fraction], which: NDArray[np.intp]) -> Ints:
        self.scales += [scales[i] for i in which]
        return np.zeros(len(which), np.int64)


class Bench:
    """A curator in its first unit."""

    def __init__(self, **law: Any) -> None:
        self.noise, self.journal = Logged(), list[Fact]()
        self.model = ps.EventLevel(**{"epsilon": 1} | law)
        self.curator = ps.Curator(self.model, BINS, noise=self.noise, journal=self.journal.append)
        self.pool = self.curator.pool()
        self.snapshot = ps.Snapshot(1, COUNTS)
        self.curator.begin_unit(self.snapshot)

    def purse(self, e: Any, **chosen: Any) -> Purse:
        return self.curator.purse(self.snapshot, ps.Epsilon(e), **chosen)

    def spent(self) -> int:
        return sum(fact.e.nano for fact in self.journal if isinstance(fact, Point))


# ---- of a snapshot --------------------------------------------------------------------------------------------------


@fixed
@given(st.integers(1, 10**9), st.lists(st.tuples(st.integers(0, 2 * 10**8), st.booleans()), max_size=30))
def test_a_purse_is_never_overdrawn(nano: int, asks: list[tuple[int, bool]]) -> None:
    """Whatever is asked, the ledger pays what was in it at most, and a refused question costs nothing."""
    bench = Bench()
    purse, left = bench.purse(ps.Epsilon.of_nano(nano)), nano
    for part, joined in asks:
        e, labels = ps.Epsilon.of_nano(part), np.zeros(BINS, np.int64) if joined else None
        if part == 0:
            with pytest.raises(ps.BadInput, match="at least one nano-epsilon"):
                purse(e, labels)
        elif part > left:
            with pytest.raises(ps.BudgetExceeded, match="divide less"):
                purse(e, labels)
        else:
            assert purse(e, labels).tolist() == ([COUNTS.sum()] if joined else COUNTS.tolist())
            left -= part
        assert purse.remaining.nano == left
        assert bench.spent() == nano - left


def test_an_empty_purse_cannot_be_made() -> None:
    bench = Bench()
    with pytest.raises(ps.BadInput, match="at least one nano-epsilon"):
        bench.purse(0)
    with pytest.raises(ps.BadInput, match="a budget is an Epsilon"):
        bench.curator.purse(bench.snapshot, 0.5)  # type: ignore[arg-type]
    with pytest.raises(ps.BadInput, match="a budget is an Epsilon"):
        bench.purse(1)(0.5)  # type: ignore[arg-type]


@pytest.mark.parametrize("labels", [[0, -2, 0, 0], [0, 4, 0, 0], [0, 0, 0], [0.0] * 4, [[0, 0, 0, 0]], [0, 0, 0, 0, 0]])
def test_labels_of_no_groups_are_refused_before_anything_is_paid(labels: Any) -> None:
    bench = Bench()
    purse = bench.purse(1)
    with pytest.raises(ps.BadInput, match="labels must give each of 4 cells the number of its group"):
        purse(ps.Epsilon("0.4"), labels)
    assert purse.remaining == ps.Epsilon(1)
    assert bench.spent() == 0
    assert purse(ps.Epsilon(1), np.array([3, -1, 3, 0])).tolist() == [40_000, 0, 0, 3010]


def test_a_purse_that_promises_more_than_there_is_gets_no_more() -> None:
    """The ledger has the last word, and so it does when somebody writes to what the purse says it has left."""
    bench = Bench()
    purse, other = bench.purse(1), bench.purse(1)
    purse(ps.Epsilon("0.7"))
    with pytest.raises(ps.BudgetExceeded):
        other(ps.Epsilon("0.4"))
    with suppress(AttributeError):
        setattr(purse, "remaining", ps.Epsilon(5))  # noqa: B010
    with pytest.raises(ps.BudgetExceeded):
        purse(ps.Epsilon("0.4"))
    assert bench.spent() == 7 * NANO // 10


def test_whoever_holds_a_purse_cannot_fill_it() -> None:
    """A method cannot spend more than it was given, though the stream could afford it."""
    bench = Bench()
    purse = bench.purse("0.1")
    with suppress(AttributeError):
        setattr(purse, "remaining", ps.Epsilon(1))  # noqa: B010
    with pytest.raises(ps.BudgetExceeded):
        purse(ps.Epsilon("0.5"))
    assert bench.spent() == 0


chosen_bins = st.lists(st.integers(0, BINS - 1), min_size=1, unique=True)


@fixed
@given(chosen_bins, st.data())
def test_a_purse_asks_of_nothing_but_its_own_bins(bins: list[int], data: st.DataObject) -> None:
    bench = Bench()
    purse = bench.purse(1, bins=np.array(bins))
    labels = np.array(data.draw(st.lists(st.integers(-1, len(bins) - 1), min_size=len(bins), max_size=len(bins))))
    groups = range(labels.max(initial=-1) + 1)
    inside = COUNTS[bins]
    assert purse(ps.Epsilon("0.5")).tolist() == inside.tolist()
    assert purse(ps.Epsilon("0.5"), labels).tolist() == [int(inside[labels == group].sum()) for group in groups]
    others = np.setdiff1d(np.arange(BINS), bins)
    bench.curator.ask(bench.snapshot, ps.queries.Counts(), ps.Epsilon(1), others)  # nobody has paid for these
    assert bench.spent() <= NANO


@pytest.mark.parametrize("chosen", [{}, {"bins": np.array([0, 3])}, {"labels": np.array([0, 1, 1, -1])}], ids=str)
@pytest.mark.parametrize("labels", [[], [0], [0, 0, 0], [0] * 5, [[0, 0], [0, 0]], [[0, 0, 0, 0]]], ids=str)
def test_labels_of_another_length_are_refused_and_cost_nothing(chosen: dict[str, Any], labels: list[Any]) -> None:
    bench = Bench()
    purse = bench.purse(1, **chosen)
    with pytest.raises(ps.BadInput, match="labels must give each"):
        purse(ps.Epsilon("0.5"), np.array(labels, np.int64))
    assert (purse.remaining, bench.spent(), bench.noise.scales) == (ps.Epsilon(1), 0, [])


@pytest.mark.parametrize("labels", [[-2, 0, 0, 0], [0.0, 1.0, 1.0, 0.0]], ids=str)
def test_labels_of_another_kind_are_refused(labels: list[Any]) -> None:
    bench = Bench()
    with pytest.raises(ps.BadInput, match="labels must give each"):
        bench.purse(1)(ps.Epsilon("0.5"), np.array(labels))
    with pytest.raises(ps.BadInput, match="labels must give each"):
        bench.purse(1, labels=np.array(labels))
    assert (bench.spent(), bench.noise.scales) == (0, [])


@pytest.mark.parametrize("labels", [[0, 1, 1], [0] * 5, [[0, 0, 0, 0]]], ids=str)
def test_groups_that_do_not_cover_the_bins_are_refused(labels: list[Any]) -> None:
    with pytest.raises(ps.BadInput, match="label"):
        Bench().purse(1, labels=np.array(labels))


@fixed
@given(st.lists(st.integers(-1, 3), min_size=BINS, max_size=BINS), st.data())
def test_groups_of_groups_are_sums_of_sums(labels: list[int], data: st.DataObject) -> None:
    """As many as were asked for, though nothing is in some of them."""
    bench = Bench()
    purse = bench.purse(1, labels=np.array(labels))
    if not purse.size:
        return
    groups = st.integers(0, purse.size - 1)
    joined = np.array(data.draw(st.lists(groups, min_size=purse.size, max_size=purse.size)))
    alone = purse(ps.Epsilon("0.5"))
    assert purse(ps.Epsilon("0.5"), joined).tolist() == np.bincount(joined, alone).tolist()
    assert bench.curator.charged() == ps.Epsilon(1)


def test_a_purse_is_of_its_own_unit() -> None:
    bench = Bench()
    purse = bench.purse(1)
    bench.curator.begin_unit(ps.Snapshot(2, COUNTS + 1))
    with pytest.raises(OutOfOrder):
        purse(ps.Epsilon(1))
    assert bench.spent() == 0


def test_disjoint_purses_cost_the_dearest() -> None:
    """A record lies in one bin; so a purse for each half costs as much as one for both."""
    bench = Bench()
    for bins, e in (([0, 1], "0.7"), ([2, 3], "1"), ([0, 1], "0.3")):
        purse = bench.purse(e, bins=np.array(bins))
        purse(purse.remaining / 2, np.array([0, 0]))
        purse(purse.remaining)
    assert bench.spent() == NANO
    with pytest.raises(ps.BudgetExceeded):
        bench.purse("0.000000001", bins=np.array([0]))(ps.Epsilon("0.000000001"))


@pytest.mark.parametrize(("law", "s1"), [({}, 1), ({"neighbours": "replace"}, 2), ({"per_unit": 5}, 5)], ids=str)
def test_answers_carry_the_noise_that_was_paid_for(law: dict[str, Any], s1: int) -> None:
    bench = Bench(**law)
    purse = bench.purse(1)
    purse(ps.Epsilon("0.25"))
    purse(ps.Epsilon("0.75"), np.array([0, 1, 1, 0]))
    assert bench.noise.scales == [Fraction(4 * s1)] * BINS + [Fraction(4 * s1, 3)] * 2
    assert purse.noise_sd(ps.Epsilon("0.25")) == bench.curator.noise_sd(ps.Epsilon("0.25"))


# ---- of a pool ------------------------------------------------------------------------------------------------------


def filled(*members: tuple[Any, list[int]]) -> Bench:
    bench = Bench()
    for e, bins in members:
        bench.pool.absorb(bench.snapshot, ps.Epsilon(e), bins)
    return bench


def test_a_pool_purse_holds_what_its_cheapest_member_has_paid() -> None:
    bench = filled(("0.4", [0, 1]), ("0.1", [1, 2]))
    assert bench.pool.purse([0]).remaining == ps.Epsilon("0.4")
    assert bench.pool.purse([0, 1]).remaining == ps.Epsilon("0.1")
    with pytest.raises(ps.BadInput, match="only a bin that has absorbed something"):
        bench.pool.purse()


def test_two_purses_of_one_pool_hold_the_same_money() -> None:
    bench = filled(("0.4", [0, 1]))
    one, two = bench.pool.purse([0]), bench.pool.purse([0, 1])
    one(ps.Epsilon("0.3"))
    with pytest.raises(ps.BudgetExceeded, match="have paid for less"):
        two(ps.Epsilon("0.2"))
    assert two(ps.Epsilon("0.1"), np.array([0, 0])).tolist() == [210]
    with pytest.raises(ps.PenstockError, match="used up"):
        bench.pool.purse([0])
    assert bench.pool.purse([1]).remaining == ps.Epsilon("0.3")


def test_who_enters_cheaply_after_a_purse_leaves_nothing_to_ask() -> None:
    """0.3 of 0.4 is used up, and then a member comes that has paid 0.1: refused in words that fit."""
    bench = filled(("0.4", [0]))
    bench.pool.purse([0])(ps.Epsilon("0.3"))
    bench.pool.absorb(bench.snapshot, ps.Epsilon("0.1"), [0])
    with pytest.raises(ps.PenstockError, match=r"drop|nano-epsilon"):
        bench.pool.purse([0])


def test_nothing_is_settled_after_a_purse_until_it_is_dropped() -> None:
    bench = filled(("0.2", [0, 1, 2]))
    bench.pool.purse([0, 1])(ps.Epsilon("0.1"))
    for bins in ([0], [1, 2], [0, 1, 2]):
        with pytest.raises(ps.BadInput, match="is dropped, and not settled"):
            bench.pool.settle(bins)
    assert bench.pool.settle([2]).tolist() == [3000]
    bench.pool.drop([0])
    bench.pool.absorb(bench.snapshot, ps.Epsilon("0.2"), [0])
    assert bench.pool.settle([0]).tolist() == [10]


def test_a_purse_that_was_not_used_hinders_nobody() -> None:
    bench = filled(("0.2", [0]))
    bench.pool.purse([0])
    assert bench.pool.settle([0]).tolist() == [10]


def test_there_are_no_more_groups_than_cells() -> None:
    """A label of a billion would draw as many values."""
    bench = Bench()
    with pytest.raises(ps.BadInput, match="labels must give each of 4 cells"):
        bench.purse(1)(ps.Epsilon("0.5"), np.array([0, 0, 0, 4]))
    assert bench.spent() == 0


def test_a_pool_that_is_read_several_times_has_no_purse() -> None:
    curator = ps.Curator(ps.EventLevel(epsilon=1), BINS, noise=ps.ScriptedNoise())
    pool, snapshot = curator.pool(reads=2), ps.Snapshot(1, COUNTS)
    curator.begin_unit(snapshot)
    pool.absorb(snapshot, ps.Epsilon(1))
    with pytest.raises(ps.BadInput, match="read once"):
        pool.purse()


def test_a_purse_of_no_bins_of_a_pool_is_refused_in_words() -> None:
    bench = filled(("0.2", [0]))
    with pytest.raises(ps.PenstockError):
        bench.pool.purse(np.zeros(BINS, np.bool_))


def test_a_pool_purse_asks_of_nothing_but_its_own_bins() -> None:
    bench = filled(("0.4", [0, 1, 2, 3]))
    purse = bench.pool.purse([3, 1])
    assert purse(ps.Epsilon("0.1")).tolist() == [40_000, 200]
    assert purse(ps.Epsilon("0.1"), np.array([1, 0])).tolist() == [200, 40_000]
    assert purse(ps.Epsilon("0.1"), np.array([-1, 0])).tolist() == [200]
    with pytest.raises(ps.BadInput, match="each of 2 cells"):
        purse(ps.Epsilon("0.1"), np.zeros(BINS, np.int64))
    assert purse.remaining == ps.Epsilon("0.1")


def test_huge_members_are_cut_in_purses_as_well() -> None:
    curator = ps.Curator(ps.EventLevel(epsilon=1), 2, noise=ps.ScriptedNoise())
    pool, snapshot = curator.pool(), ps.Snapshot(1, [2**53, 1])
    curator.begin_unit(snapshot)
    pool.absorb(snapshot, ps.Epsilon(1))
    assert pool.purse()(ps.Epsilon("0.5")).tolist() == [LARGEST_MEMBER, 1]
    assert pool.purse()(ps.Epsilon("0.5"), np.array([0, 0])).tolist() == [LARGEST_MEMBER + 1]


class Recount:
    """What was learnt about each count of each unit, worked out from who is in the pool and the noise drawn."""

    def __init__(self, s1: int) -> None:
        self.s1 = s1
        self.members: dict[int, list[int]] = defaultdict(list)  # bin -> units, twice if a count has entered twice
        self.paid: dict[tuple[int, int], int] = defaultdict(int)  # unit, bin -> nano-epsilon
        self.learnt: dict[tuple[int, int], Fraction] = defaultdict(Fraction)

    def entered(self, t: int, bins: list[int], e: ps.Epsilon) -> None:
        for j in bins:
            self.members[j].append(t)
            self.paid[t, j] += e.nano

    def told(self, bins: list[int], scales: list[Fraction]) -> None:
        """One answer about each of these bins: several draws, of which a count is in one."""
        for j in bins if scales else []:
            for t in self.members[j]:
                self.learnt[t, j] += self.s1 * NANO / max(scales)

    def emptied(self, bins: list[int]) -> None:
        for j in bins:
            self.members[j] = []

    def check(self) -> None:
        for count, learnt in self.learnt.items():
            assert learnt <= self.paid[count]


VERBS = ["unit", "absorb", "absorb", "purse", "ask", "ask", "ask", "settle", "drop", "restart", "lose", "retire"]
deeds = st.lists(
    st.tuples(st.sampled_from(VERBS), chosen_bins, st.integers(1, 6), st.integers(0, 4), st.booleans()), max_size=40
)


class Busy:
    """A pool in use, watched by a shadow and by a recount of its own. Purses are kept, and asked long after."""

    def __init__(self, law: dict[str, Any]) -> None:
        self.model, self.log, self.journal = ps.EventLevel(epsilon=60, **law), Logged(), list[Fact]()
        self.shadow, self.known = Shadow(self.log, self.model, BINS), Recount(self.model.sensitivity)
        options: dict[str, Any] = {"noise": self.shadow, "answers": self.shadow.answer, "journal": self.journal.append}
        self.curator = ps.Curator(self.model, BINS, **options)
        self.pool, self.purses, self.t = self.curator.pool(), list[tuple[Purse, list[int]]](), 0
        self.unit()

    def unit(self) -> None:
        self.t += 1
        self.snapshot = ps.Snapshot(self.t, COUNTS * self.t)
        self.curator.begin_unit(self.snapshot)

    def absorb(self, bins: list[int], e: ps.Epsilon) -> None:
        self.pool.absorb(self.snapshot, e, bins)
        self.known.entered(self.t, bins, e)

    def settle(self, bins: list[int]) -> None:
        before = len(self.log.scales)
        self.pool.settle(bins)
        self.known.told(bins, self.log.scales[before:])
        self.known.emptied(bins)

    def drop(self, bins: list[int]) -> None:
        self.pool.drop(bins)
        self.known.emptied(bins)

    def ask(self, number: int, e: ps.Epsilon, joined: bool) -> None:
        """Any purse there is, for so much or for all it has left."""
        purse, bins = self.purses[number % len(self.purses)]
        before = len(self.log.scales)
        purse(min(e, purse.remaining) if number else e, np.arange(len(bins)) % 2 if joined else None)
        self.known.told(bins, self.log.scales[before:])

    def restart(self, lose: bool) -> None:
        public, sealed = decode(encode(self.pool._save()))
        self.pool._load(public, None if lose else sealed)
        if lose:
            self.retired()

    def retired(self) -> None:
        self.shadow.retired()
        self.known.emptied([*range(BINS)])

    def do(self, verb: str, bins: list[int], e: ps.Epsilon, number: int, joined: bool) -> None:
        match verb:
            case "unit":
                self.unit()
            case "absorb":
                self.absorb(bins, e)
            case "purse":
                self.purses.append((self.pool.purse(bins), bins))
            case "ask" if self.purses:
                self.ask(number, e, joined)
            case "settle" | "drop":
                getattr(self, verb)(bins)
            case "restart" | "lose":
                self.restart(verb == "lose")
            case "retire":
                self.curator.retire()
                self.retired()


@settings(derandomize=True, deadline=None, max_examples=400)
@given(deeds, st.sampled_from([{}, {"neighbours": "replace"}, {"per_unit": 3}]))
def test_no_count_tells_more_than_it_has_paid(schedule: list[Any], law: dict[str, Any]) -> None:
    """Whatever is done, in whatever order; refusals are as good as answers."""
    busy = Busy(law)
    for verb, bins, size, number, joined in schedule:
        with suppress(ps.BadInput, ps.BudgetExceeded):
            busy.do(verb, bins, ps.Epsilon(size), number, joined)
        assert busy.pool.size.tolist() == [len(busy.known.members[j]) for j in range(BINS)]
        busy.known.check()
    learnt, paid = recount(busy.shadow.facts(), busy.model), recount(busy.journal, busy.model)
    assert learnt <= paid
    assert paid <= ps.Epsilon(60)
    for t in range(1, busy.t + 1):
        dearest = max(busy.known.learnt[t, j] for j in range(BINS))
        assert 0 <= dearest - busy.shadow.learnt(t) < 100  # each answer is rounded down to a nano-epsilon


def test_what_purses_have_used_up_survives_a_restart() -> None:
    bench = filled(("0.4", [0, 1]))
    bench.pool.purse([0])(ps.Epsilon("0.3"))
    public, sealed = decode(encode(bench.pool._save()))
    bench.pool._load(public, sealed)
    assert bench.pool.purse([0]).remaining == ps.Epsilon("0.1")
    with pytest.raises(ps.BadInput, match="is dropped, and not settled"):
        bench.pool.settle([0])


def test_a_state_of_before_there_were_purses_is_loaded() -> None:
    """It says nothing of what was used up; and where nothing was, today's states are the same to the byte."""
    bench = filled(("0.4", [0, 1]))
    public, sealed = bench.pool._save()
    assert set(public) == {"size", "reads_left", "least"}
    other = filled(("0.3", [2]))
    other.pool.purse([2])(ps.Epsilon("0.3"))
    other.pool._load(*decode(encode((public, sealed))))
    assert other.pool.purse([0, 1]).remaining == ps.Epsilon("0.4")
    assert other.pool.settle([0, 1]).tolist() == [10, 200]


def test_a_state_without_its_sealed_part_is_an_empty_pool() -> None:
    bench = filled(("0.4", [0]))
    bench.pool.purse([0])(ps.Epsilon("0.3"))
    public, _ = decode(encode(bench.pool._save()))
    bench.pool._load(public, None)
    bench.pool.absorb(bench.snapshot, ps.Epsilon("0.2"), [0])
    assert bench.pool.settle([0]).tolist() == [10]
    assert bench.noise.scales[-1] == 5
