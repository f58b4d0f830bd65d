"""Pools: counts pay when they enter, sums are read with one draw, and no reading is for nothing."""

from collections.abc import Sequence
from contextlib import suppress
from fractions import Fraction
from typing import Any, Self

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from penstock.charges import Fact, Point
from penstock.codec import decode, encode
from penstock.curator import Curator
from penstock.epsilon import NANO, Epsilon
from penstock.errors import BadInput, BudgetExceeded, OutOfOrder
from penstock.models import WEvent
from penstock.noise import ScriptedNoise
from penstock.primitives.pool import LARGEST_MEMBER, LARGEST_SIZE, Pool
from penstock.queries import Counts
from penstock.types import Ints, Snapshot

fixed = settings(derandomize=True, deadline=None, max_examples=150)


class Logged(ScriptedNoise):
    """A script that remembers which scale each value was drawn with."""

    def __init__(self, values: Sequence[int] = ()) -> None:
        super().__init__(values)
        self.scales: list[Fraction] = []

    def laplace_each(self, scales: Sequence[Fraction], which: NDArray[np.intp]) -> Ints:
        self.scales += [scales[i] for i in which]
        return super().laplace_each(scales, which)


class Bench:
    """A pool over three bins, a script, and a journal."""

    def __init__(self, reads: int = 1, script: Sequence[int] = (), epsilon: Any = 1, **options: Any) -> None:
        self.noise = Logged(script)
        self.journal: list[Fact] = []
        model = WEvent(epsilon=epsilon, w=2, **options)
        self.curator = Curator(model, 3, noise=self.noise, journal=self.journal.append)
        self.pool: Pool = self.curator.pool(reads)
        self.t = 0

    def resumed(self, public: dict[str, Any], sealed: dict[str, Any]) -> Self:
        """Go on after the first unit, from a saved state."""
        self.curator.load(public, sealed)
        self.t = 1
        return self

    def unit(self, *counts: int) -> Snapshot:
        self.t += 1
        snapshot = Snapshot(self.t, counts)
        self.curator.begin_unit(snapshot)
        return snapshot

    def absorb(self, counts: Sequence[int], e: Any, bins: Any = None) -> Snapshot:
        snapshot = self.unit(*counts)
        self.pool.absorb(snapshot, Epsilon(e), bins)
        return snapshot


def test_a_count_pays_at_its_own_unit_and_reading_is_free() -> None:
    """Three units enter, each for its own charge; the sum comes out with one draw a bin, and the pool is empty."""
    bench = Bench(script=[100, -100, 7])
    for t, counts in enumerate([(1, 2, 3), (10, 20, 30), (100, 200, 300)], start=1):
        bench.absorb(counts, 0.3)
        assert bench.journal[-1] == Point(t, Epsilon(0.3), "publish")
        assert bench.pool.size.tolist() == [t] * 3
    assert bench.pool.settle().tolist() == [211, 122, 340]
    assert len(bench.journal) == 3
    assert bench.pool.size.tolist() == [0, 0, 0]
    with pytest.raises(BadInput, match="only a bin that has absorbed something can be settled"):
        bench.pool.settle()


def test_the_noise_follows_the_smallest_charge_among_the_members() -> None:
    """Per bin: who paid least decides, or they would lose more than they paid. After emptying, all starts anew."""
    bench = Bench()
    bench.absorb((1, 1, 1), 0.4, [0, 1])
    bench.absorb((1, 1, 1), 0.1, [1, 2])
    bench.absorb((1, 1, 1), 0.2, [0, 1, 2])
    assert bench.pool.settle().tolist() == [2, 3, 2]
    assert bench.noise.scales == [5, 10, 10]
    bench.absorb((1, 1, 1), 0.4)
    bench.pool.settle()
    assert bench.noise.scales[3:] == [Fraction(5, 2)] * 3


@pytest.mark.parametrize(("options", "s1"), [({}, 1), ({"neighbours": "replace"}, 2), ({"per_unit": 4}, 4)])
def test_the_noise_follows_the_sensitivity_and_the_reads(options: dict[str, Any], s1: int) -> None:
    """s1 * reads / e, the part of a read rounded down to nano-epsilon first."""
    bench = Bench(reads=3, **options)
    bench.absorb((1, 1, 1), "0.1")
    bench.pool.settle()
    assert bench.noise.scales == [Fraction(s1 * NANO, 33_333_333)] * 3


def test_a_pool_with_several_reads_is_emptied_with_the_last() -> None:
    """Bin by bin; what enters between two reads is in the second."""
    bench = Bench(reads=2)
    bench.absorb((5, 6, 7), 0.2)
    assert bench.pool.settle([0, 2]).tolist() == [5, 7]
    assert (bench.pool.reads_left.tolist(), bench.pool.size.tolist()) == ([1, 2, 1], [1, 1, 1])
    bench.absorb((1, 1, 1), 0.4)
    assert bench.pool.settle([0]).tolist() == [6]
    assert (bench.pool.reads_left.tolist(), bench.pool.size.tolist()) == ([2, 2, 1], [0, 2, 2])
    assert bench.noise.scales == [10, 10, 10]
    with pytest.raises(BadInput, match="look at size first"):
        bench.pool.settle([0, 1])
    assert bench.pool.settle([1, 2]).tolist() == [7, 8]


def test_dropped_members_stay_paid_and_are_never_read() -> None:
    """Dropping gives nothing back and resets the reads."""
    bench = Bench(reads=2)
    bench.absorb((5, 6, 7), 0.2)
    bench.pool.settle()
    bench.pool.drop([0])
    assert (bench.pool.size.tolist(), bench.pool.reads_left.tolist()) == ([0, 1, 1], [2, 1, 1])
    assert bench.curator.remaining() == Epsilon(0.8)
    bench.pool.absorb(Snapshot(1, [5, 6, 7]), Epsilon(0.2), [0])
    assert bench.pool.settle([0]).tolist() == [5]
    bench.pool.retire()
    assert (bench.pool.size.tolist(), bench.pool.reads_left.tolist()) == ([0, 0, 0], [2, 2, 2])
    assert bench.curator.remaining() == Epsilon(0.6)


def test_disjoint_bins_cost_the_dearest_and_a_bin_twice_costs_twice() -> None:
    """A record lies in one bin: 0.2 for two bins and 0.3 for the third are 0.3 together."""
    bench = Bench()
    snapshot = bench.absorb((5, 6, 7), 0.2, [0, 1])
    bench.pool.absorb(snapshot, Epsilon(0.3), [2])
    assert bench.curator.charged() == Epsilon(0.3)
    bench.pool.absorb(snapshot, Epsilon(0.25), [1])
    assert bench.curator.charged() == Epsilon(0.45)
    bench.curator.ask(snapshot, Counts(), Epsilon(0.1), np.array([2]))
    assert bench.curator.charged() == Epsilon(0.45)
    assert bench.pool.settle().tolist() == [5, 12, 7]
    assert bench.noise.scales == [5, 5, Fraction(10, 3)]


@pytest.mark.parametrize("again", [[0, 0, 0], [0, 0], np.array([0, 0])])
def test_naming_a_bin_twice_is_refused(again: Any) -> None:
    """Two draws on one sum would be twice the loss, paid once."""
    bench = Bench(script=[1, 2, 3])
    with pytest.raises(BadInput, match="chosen twice"):
        bench.absorb((5, 6, 7), 0.2, again)
    bench.absorb((5, 6, 7), 0.2)
    with pytest.raises(BadInput, match="chosen twice"):
        bench.pool.settle(again)
    assert bench.noise.scales == []


@pytest.mark.parametrize("bins", [[3], [-1], [[0, 1]], [0.0], ["a"], [True, False], 1])
def test_bins_are_chosen_by_their_numbers(bins: Any) -> None:
    """In range, one row; a refusal charges nothing and changes nothing."""
    bench = Bench()
    snapshot = bench.absorb((5, 6, 7), 0.2)
    for call in (lambda: bench.pool.absorb(snapshot, Epsilon(0.1), bins), lambda: bench.pool.settle(bins)):
        with pytest.raises(BadInput, match="bins are chosen by their numbers, 0 to 2"):
            call()
    assert (bench.curator.charged(), bench.pool.size.tolist()) == (Epsilon(0.2), [1, 1, 1])


def test_what_cannot_be_paid_does_not_enter() -> None:
    """Refused, and the pool is as it was; a mask chooses bins as well."""
    bench = Bench()
    snapshot = bench.absorb((5, 6, 7), 0.9, np.array([True, False, True]))
    with pytest.raises(BudgetExceeded):
        bench.pool.absorb(snapshot, Epsilon(0.2))
    with pytest.raises(BadInput, match="at least one nano-epsilon"):
        bench.pool.absorb(snapshot, Epsilon(0))
    assert bench.pool.size.tolist() == [1, 0, 1]
    assert bench.pool.settle([0, 2]).tolist() == [5, 7]
    bench.unit(0, 0, 0)
    with pytest.raises(OutOfOrder):
        bench.pool.absorb(snapshot, Epsilon(0.1))


def test_each_read_needs_a_part_of_the_charge() -> None:
    """A charge that leaves nothing for a read would mean a read without noise."""
    bench = Bench(reads=3)
    with pytest.raises(BadInput, match="at least one nano-epsilon"):
        bench.absorb((1, 1, 1), "0.000000002")
    with pytest.raises(BadInput, match="reads must be a whole number of 1 or more"):
        Bench(reads=0)


def test_writing_to_the_public_numbers_buys_nothing() -> None:
    """``size`` and ``reads_left`` are for looking at: a slip with them must not make noise smaller or reads more."""
    bench = Bench()
    bench.absorb((5, 6, 7), 0.1)
    with suppress(ValueError):
        bench.pool.size[:] = 0
    with suppress(ValueError):
        bench.pool.reads_left[:] = 9
    bench.absorb((1, 1, 1), 0.4)
    bench.pool.settle()
    assert bench.noise.scales == [10, 10, 10]
    with pytest.raises(BadInput, match="look at size first"):
        bench.pool.settle()


def test_huge_members_are_cut_at_a_public_bound() -> None:
    """2**40 a unit, so that no sum leaves 64 bits."""
    bench = Bench()
    bench.absorb((2**53, 2**40, 2**40 - 1), 0.2)
    assert bench.pool.settle().tolist() == [LARGEST_MEMBER, 2**40, 2**40 - 1]


def test_the_largest_sum_is_read_as_it_is() -> None:
    """As many members as there can be, each as large as it can be."""
    bench = Bench()
    bench.absorb((1, 1, 1), 0.2)
    public, sealed = bench.curator.save()
    sealed["handles"][0]["sums"][:] = LARGEST_SIZE * LARGEST_MEMBER
    bench = Bench().resumed(public, sealed)
    assert bench.pool.purse()(Epsilon(0.1)).tolist() == [LARGEST_SIZE * LARGEST_MEMBER] * 3


def test_a_full_pool_takes_nothing_in() -> None:
    bench = Bench()
    bench.absorb((1, 1, 1), 0.2)
    public, sealed = bench.curator.save()
    public["handles"][0]["size"][1] = LARGEST_SIZE
    bench = Bench().resumed(public, sealed)
    snapshot = bench.unit(1, 1, 1)
    with pytest.raises(BadInput, match=f"a pool holds {LARGEST_SIZE} time units at most"):
        bench.pool.absorb(snapshot, Epsilon(0.2))
    assert bench.curator.remaining() == Epsilon(0.8)
    bench.pool.absorb(snapshot, Epsilon(0.2), bins=[0, 2])


rounds = st.lists(
    st.tuples(
        st.lists(st.integers(0, 9), min_size=3, max_size=3),
        st.lists(st.integers(0, 2), unique=True),
        st.integers(1, 9),
        st.sampled_from(["absorb", "settle", "drop", "restart", "lose"]),
    ),
    max_size=25,
)


@fixed
@given(rounds, st.integers(1, 3))
def test_random_use_gives_exact_sums_at_the_scale_that_was_paid(schedule: list[Any], reads: int) -> None:
    """Against lists of members: which ones are in, what each paid, how many reads are left; restarts change nothing."""
    bench = Bench(reads=reads, epsilon=100)
    members: list[list[tuple[int, int]]] = [[], [], []]
    left = [reads] * 3
    for counts, bins, e, verb in schedule:
        bench.absorb(counts, e, np.array(bins, np.intp))
        for j in bins:
            members[j].append((counts[j], e))
        chosen = [j for j in range(3) if members[j]] if verb == "settle" else []
        if chosen:
            assert bench.pool.settle(chosen).tolist() == [sum(c for c, _ in members[j]) for j in chosen]
            paid = [min(e for _, e in members[j]) * NANO // reads for j in chosen]
            assert bench.noise.scales[-len(chosen) :] == [Fraction(NANO, nano) for nano in paid]
        left = [left[j] - (j in chosen) for j in range(3)]
        emptied = [j for j in range(3) if not left[j] or verb == "lose" or (verb == "drop" and j in bins)]
        if verb == "drop":
            bench.pool.drop(np.array(bins, np.intp))
        elif verb in ("restart", "lose"):
            public, sealed = decode(encode(bench.pool._save()))
            bench.pool._load(public, sealed if verb == "restart" else None)
        members = [[] if j in emptied else members[j] for j in range(3)]
        left = [reads if j in emptied else left[j] for j in range(3)]
        assert bench.pool.size.tolist() == [len(held) for held in members]
        assert bench.pool.reads_left.tolist() == left
