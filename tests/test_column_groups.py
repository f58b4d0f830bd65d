"""BD, BA and G-event on groups of columns: against references in plain Python, and what a person who moves pays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from in_process import PriceList, made, models, penstock, published, script
from penstock.charges import Fact, recount
from penstock.checks import CHECKS, Subject
from penstock.errors import BadState
from penstock.types import Ints

T = TypeVar("T")
thorough = settings(derandomize=True, deadline=None, max_examples=120)
brief = settings(derandomize=True, deadline=None, max_examples=30)

LAW: ps.PrivacyModel = ps.WEvent(epsilon=1, w=4)
NANO = 10**9
FRESH, REPUBLISHED = int(ps.Kind.FRESH), int(ps.Kind.REPUBLISHED)
Step = tuple[list[int], list[int], int]  # values, kinds, nano-epsilon charged


# ---- what the papers say, with one ledger for all groups in whole nano-epsilon ---------


def parts(scores: list[int], groups: int) -> list[list[int]]:
    """Bins in order of their scores, dealt out in runs whose lengths differ by one at most."""
    order = sorted(range(len(scores)), key=lambda j: (scores[j], j))
    number = min(groups, len(order))
    starts = [-(-part * len(order) // number) for part in range(number + 1)]
    return [order[a:b] for a, b in pairwise(starts)]


@dataclass
class Reference:
    """One of the three mechanisms, said once more without numpy, caps, ledgers or classes of queries."""

    kind: str
    model: ps.PrivacyModel
    bins: int
    groups: int
    shift: bool
    draws: Iterator[int]
    last: list[int] = field(init=False)
    change: list[int] = field(init=False)
    spent: dict[int, int] = field(default_factory=dict)  # unit -> what its release cost
    released: int = 0  # l
    took: int = 0  # e_l / unit

    def __post_init__(self) -> None:
        epsilon, w = self.model.epsilon.nano, self.model.window
        self.last, self.change = [0] * self.bins, [0] * self.bins
        self.asking, self.budget = epsilon // 2 // w, epsilon // 2
        if self.shift and Fraction(w, self.bins) <= Fraction(1, 2):
            self.asking = epsilon // self.bins
            self.budget = epsilon - w * self.asking

    def step(self, t: int, counts: list[int]) -> Step:
        w, s1 = self.model.window, self.model.sensitivity
        nullified = max(self.took - 1, 0)
        if self.kind != "BD" and self.released and t - self.released <= nullified:
            return self.last, [REPUBLISHED] * self.bins, 0
        members = parts(self.change if self.kind == "GEvent" else self.last, self.groups)
        apart = [sum(abs(counts[j] - self.last[j]) for j in group) + next(self.draws) for group in members]
        if self.kind == "BD":
            shares, e = 0, (self.budget - sum(self.spent.get(k, 0) for k in range(t - w + 1, t))) // 2
        else:
            shares = min(t - (self.released + nullified), w)
            e = self.budget // w * shares
        due = [
            e > 0 and Fraction(far, len(group)) >= Fraction(s1 * NANO, e)
            for far, group in zip(apart, members, strict=True)
        ]
        if not any(due):
            return self.last, [REPUBLISHED] * self.bins, self.asking
        self.spent[t], self.released, self.took = e, t, shares
        fresh = sorted(j for group, moved in zip(members, due, strict=True) if moved for j in group)
        now = list(self.last)
        for j in fresh:
            now[j] = counts[j] + next(self.draws)
            self.change[j] = abs(now[j] - self.last[j])
        self.last = now
        return now, [FRESH if j in fresh else REPUBLISHED for j in range(self.bins)], self.asking + e


COUNTS = st.integers(0, 12) | st.integers(0, 400) | st.sampled_from([0, 1, 2**53])
NOISE = st.integers(-6, 6) | st.integers(-300, 300)


EPSILONS = ["0.000001", "0.1", "0.333333333", "1", "4", "17", "1000"]


@st.composite
def cases(draw: st.DrawFn) -> tuple[ps.PrivacyModel, Ints, list[int], int, bool]:
    bins, steps = draw(st.integers(1, 7)), draw(st.integers(1, 12))
    rows = draw(st.lists(st.lists(COUNTS, min_size=bins, max_size=bins), min_size=steps, max_size=steps))
    if draw(st.booleans()):  # long rest
        rows = [rows[i // 4] for i in range(steps)]
    draws = draw(st.lists(NOISE, max_size=60))
    return (
        draw(models(EPSILONS, 5, steps)),
        np.array(rows, np.int64),
        draws,
        draw(st.integers(1, 9)),
        draw(st.booleans()),
    )


def told(release: ps.Release) -> Step:
    return release.values.tolist(), release.kind.tolist(), release.charged.nano


@pytest.mark.parametrize("kind", ["BD", "BA", "GEvent"])
@thorough
@given(case=cases())
def test_step_by_step_as_in_the_paper(kind: str, case: tuple[ps.PrivacyModel, Ints, list[int], int, bool]) -> None:
    model, rows, draws, groups, shift = case
    reference = Reference(kind, model, rows.shape[1], groups, shift, script(draws))
    noise, journal = ps.ScriptedNoise(draws), list[Fact]()
    releases = published(made(kind, model, groups=groups, shift=shift), rows, noise, journal=journal.append)
    for release, counts in zip(releases, rows.tolist(), strict=True):
        assert told(release) == reference.step(release.t, counts)
    assert recount(journal, model) <= model.epsilon


@pytest.mark.parametrize("kind", ["BD", "BA"])
@brief
@given(case=cases())
def test_one_group_is_the_plain_mechanism(kind: str, case: tuple[ps.PrivacyModel, Ints, list[int], int, bool]) -> None:
    model, rows, draws, _, _ = case
    plain = published(made(kind, model), rows, ps.ScriptedNoise(draws))
    grouped = published(made(kind, model, groups=1, shift=False), rows, ps.ScriptedNoise(draws))
    assert all(one.same_as(other) for one, other in zip(plain, grouped, strict=True))


@pytest.mark.parametrize("kind", ["BD", "BA", "GEvent"])
@brief
@given(case=cases())
def test_more_groups_than_bins_are_as_many_as_bins(
    kind: str, case: tuple[ps.PrivacyModel, Ints, list[int], int, bool]
) -> None:
    model, rows, draws, more, shift = case
    bins = rows.shape[1]
    one, other = (
        published(made(kind, model, groups=groups, shift=shift), rows, ps.ScriptedNoise(draws))
        for groups in (bins, bins + more)
    )
    assert [told(release) for release in one] == [told(release) for release in other]


# ---- one ledger for all groups ---------------------------------------------------------------------------------------


def taking_turns(bins: int, steps: int, rest: int) -> Ints:
    """One bin jumps at a time, each in its turn, so that groups are published at different units."""
    rows = np.full((steps, bins), 100)
    for t in range(steps):
        rows[t:, (t // rest) % bins] += 10_000 * (t % rest == 0)
    return rows


@pytest.mark.parametrize("rest", [1, 2, 3])
@pytest.mark.parametrize("model", [ps.WEvent(epsilon=1, w=4), ps.WEvent(epsilon="0.7", w=7, neighbours="replace")])
@pytest.mark.parametrize(("kind", "groups"), [("BD", 2), ("BD", 6), ("BA", 2), ("BA", 6), ("GEvent", 2), ("GEvent", 6)])
def test_whoever_moves_from_group_to_group_pays_epsilon_at_most(
    kind: str, groups: int, model: ps.PrivacyModel, rest: int
) -> None:
    """A unit costs what its dearest bin costs, exactly: neither the sum over groups nor each group's own window."""
    rows, prices, journal = taking_turns(6, 60, rest), PriceList(model, 6), list[Fact]()
    curator = ps.Curator(model, 6, noise=ps.SimulationNoise(rest), journal=journal.append, answers=prices)
    mechanism = made(kind, model, groups=groups).start(curator)
    some = 0
    for snapshot in ps.streams.Stream(rows):
        prices.begin()
        release = mechanism.step(snapshot)
        assert max(prices.told[-1]) == Fraction(release.charged.nano, NANO)
        some += len(set(release.kind.tolist())) == 2
    assert some > 5  # some groups were published and others not, again and again
    assert prices.dearest_walk() == Fraction(recount(journal, model).nano, NANO)
    assert recount(journal, model) <= model.epsilon


def test_all_groups_together_cost_what_one_costs() -> None:
    """Both halves of the bins jump in the first unit, only one does in the second; the price is the same rule."""
    model = ps.WEvent(epsilon=4, w=2)
    rows = np.array([[900, 900, 5, 5], [1900, 1900, 5, 5], [2900, 2900, 900, 900]])
    releases = published(made("BD", model, groups=2), rows, ps.ScriptedNoise())
    assert [release.charged.nano for release in releases] == [2 * NANO, 1_500_000_000, 1_750_000_000]
    assert [release.kind.tolist() for release in releases] == [[0, 0, 0, 0], [0, 0, 1, 1], [0, 0, 0, 0]]


def test_what_rests_keeps_its_release_and_its_noise() -> None:
    model = ps.WEvent(epsilon=4, w=2)
    rows = np.array([[10, 500], [10, 900], [10, 20]])
    first, second, third = published(made("BD", model, groups=2), rows, ps.ScriptedNoise())
    assert second.kind.tolist() == third.kind.tolist() == [ps.Kind.REPUBLISHED, ps.Kind.FRESH]
    assert second.noise_sd[0] == third.noise_sd[0] == first.noise_sd[0]
    assert second.noise_sd[1] > first.noise_sd[1]


# ---- options, checks, restarts ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Configured(Subject):
    """A subject whose mechanism is not as usual."""

    options: dict[str, Any] = field(default_factory=dict)

    def make(self) -> ps.Mechanism:
        return self.mechanism.example(self.model, allow_unproven=True, **self.options)


NOT_ABOUT_OPTIONS = {"proof_is_current", "example_runs", "unproven_models_refused", "bounded_memory"}


@pytest.mark.parametrize("check", [check for check in CHECKS if check not in NOT_ABOUT_OPTIONS])
@pytest.mark.parametrize(
    ("kind", "options", "model"),
    [
        pytest.param("bd", {"groups": 2}, ps.WEvent(epsilon=1, w=5), id="bd"),
        pytest.param("bd", {"groups": 3, "shift": True}, ps.EventLevel(epsilon="0.3", per_unit=2), id="bd-shift"),
        pytest.param("ba", {"groups": 2}, ps.UserLevel(epsilon=1, horizon=20), id="ba"),
        pytest.param("ba", {"groups": 9, "shift": True}, ps.EventLevel(epsilon=1, neighbours="replace"), id="ba-shift"),
        pytest.param("g_event", {"groups": 3}, ps.DeltaNeighbourhood(epsilon=1, steps=5), id="g_event"),
    ],
)
def test_every_promise_is_kept_with_groups_too(
    kind: str, options: dict[str, Any], model: ps.PrivacyModel, check: str
) -> None:
    CHECKS[check](Configured(ps.mechanism(kind), model, options=options))


def test_shift_decides_for_epsilon_over_bins_where_there_are_many() -> None:
    """From w / d = 1/2 on; below that it changes nothing. All of epsilon is used in either case."""
    for bins, asking in ((7, 500_000_000 // 4), (8, NANO // 8), (100, NANO // 100)):
        model = ps.WEvent(epsilon=1, w=4)
        calm = np.full((9, bins), 0)
        releases = published(made("BD", model, shift=True), calm, ps.ScriptedNoise())
        assert {release.charged.nano for release in releases} == {asking}
    mechanism = made("BA", ps.WEvent(epsilon=1, w=4), shift=True)
    rows = np.array([[0] * 100] * 3 + [[9999] * 100])
    assert published(mechanism, rows, ps.ScriptedNoise())[-1].charged.nano == NANO // 100 + (NANO - 4 * (NANO // 100))


@pytest.mark.parametrize("kind", ["BD", "BA", "GEvent"])
def test_a_state_of_other_groups_is_refused(kind: str) -> None:
    model = ps.WEvent(epsilon=1, w=4)
    rows = taking_turns(4, 6, 1)
    one, other = made(kind, model, groups=3), made(kind, model, groups=4)
    published(one, rows, ps.SimulationNoise(1))
    with pytest.raises(BadState, match="belongs to"):
        other.start(ps.Curator(model, 4)).load(one.save())


@pytest.mark.parametrize("kind", ["BD", "BA", "GEvent"])
@pytest.mark.parametrize("key", [b"", b"k" * 32])
def test_saved_and_loaded_anywhere_it_goes_on_as_it_was(kind: str, key: bytes) -> None:
    """With the key or without: nothing in it is secret."""
    model, rows = ps.WEvent(epsilon=1, w=4), taking_turns(5, 40, 2)
    whole = published(made(kind, model, groups=3), rows, ps.SimulationNoise(4))
    noise = ps.SimulationNoise(4)
    mechanism = made(kind, model, groups=3).start(ps.Curator(model, 5, noise=noise))
    for snapshot, expected in zip(ps.streams.Stream(rows), whole, strict=True):
        successor = made(kind, model, groups=3).start(ps.Curator(model, 5, noise=noise))
        successor.load(mechanism.save(key or None), key or None)
        mechanism = successor
        assert mechanism.step(snapshot).same_as(expected)


@pytest.mark.parametrize("lost", ["0.05", "0.5", "1"])
@pytest.mark.parametrize(("kind", "groups"), [("BD", 1), ("BD", 2), ("BA", 1), ("BA", 2), ("GEvent", 2)])
def test_after_a_loss_it_waits_and_publishes_again(kind: str, groups: int, lost: str) -> None:
    """What a lost step may have spent is gone for a window: until then nothing fits, and nothing is an error."""
    model: ps.PrivacyModel = ps.WEvent(epsilon=1, w=5)
    rng, journal = np.random.default_rng(7), list[Fact]()
    curator = ps.Curator(model, 3, noise=ps.SimulationNoise(2), journal=journal.append)
    mechanism = made(kind, model, groups=groups).start(curator)
    fresh = []
    for t in range(1, 61):
        snapshot = ps.Snapshot(t, rng.integers(0, 10_000, 3))
        if t in (2, 17, 18, 30):
            mechanism.pass_over(snapshot, ps.Epsilon(lost))
        elif (mechanism.step(snapshot).kind == ps.Kind.FRESH).any():
            fresh.append(t)
    assert recount(journal, model) <= model.epsilon
    assert all(any(t < late <= t + 10 for late in fresh) for t in (2, 18, 30))


@pytest.mark.parametrize("kind", ["BD", "BA", "GEvent"])
def test_units_without_input_cost_nothing_and_change_nothing(kind: str) -> None:
    journal = list[Fact]()
    curator = ps.Curator(LAW, 3, noise=ps.SimulationNoise(1), journal=journal.append)
    mechanism = made(kind, LAW, groups=2).start(curator)
    for t in range(1, 41):
        snapshot = ps.Snapshot(t, [1000 * t, 7, 500 * (t // 9)])
        if t % 3:
            mechanism.step(snapshot)
            continue
        before = mechanism.last
        release = mechanism.pass_over(snapshot)
        assert (release.charged.nano, release.values.tolist()) == (0, before.values.tolist())
    assert recount(journal, LAW) <= LAW.epsilon


@pytest.mark.parametrize("kind", ["BD", "BA", "GEvent"])
def test_reopened_after_every_unit_a_store_plays_it_back(kind: str, tmp_path: Path) -> None:
    """Opening the store replays what was told; anything that is not a function of it would be refused."""
    model, rows = ps.WEvent(epsilon=2, w=4), taking_turns(4, 12, 1)
    for snapshot in ps.streams.Stream(rows):
        with (
            ps.Store(tmp_path / "store.db") as store,
            ps.Publisher(made(kind, model, groups=2), store, "s", bins=list("abcd")) as publisher,
        ):
            publisher.publish(snapshot)
            causes = [release.cause.value for release in publisher.releases()]
    assert causes == ["decided"] * 12


# ---- parameters ------------------------------------------------------------------------------------------------------

NOT_WHOLE: list[Any] = [
    0,
    -1,
    -(10**30),
    1.0,
    2.5,
    float("nan"),
    float("inf"),
    "2",
    "",
    b"2",
    True,
    False,
    None,
    [2],
    Fraction(2),
]
NOT_A_CHOICE: list[Any] = ["no", "true", 1, 0.5, float("nan"), None, [True]]


def refused(kind: str, **options: Any) -> str:
    """One sentence."""
    with pytest.raises(ps.BadInput) as fault:
        made(kind, LAW, **options)
    sentence = str(fault.value)
    assert sentence.endswith(".")
    assert "\n" not in sentence
    return sentence


@pytest.mark.parametrize("kind", ["BD", "BA", "GEvent"])
@pytest.mark.parametrize("value", NOT_WHOLE, ids=repr)
def test_groups_are_a_whole_number_of_one_or_more(kind: str, value: Any) -> None:
    assert "groups" in refused(kind, groups=value)


@pytest.mark.parametrize("value", NOT_A_CHOICE, ids=repr)
def test_shift_is_yes_or_no(value: Any) -> None:
    assert "shift" in refused("BD", shift=value)


@pytest.mark.parametrize("kind", ["BD", "BA", "GEvent"])
def test_any_number_of_groups_can_be_asked_for(kind: str) -> None:
    for groups in (1, np.int64(3), 2**53):
        assert len(published(made(kind, LAW, groups=groups), taking_turns(3, 5, 1), ps.SimulationNoise(1))) == 5


def test_an_epsilon_that_is_gone_when_it_is_divided_is_refused() -> None:
    for kind in ("BD", "BA", "GEvent"):
        with pytest.raises(ps.BadInput, match="too little"):
            made(kind, ps.WEvent(epsilon="0.000000007", w=4))


def test_the_least_epsilon_publishes_without_fail() -> None:
    model = ps.WEvent(epsilon="0.000000008", w=4, neighbours="replace")
    for kind in ("BD", "BA", "GEvent"):
        releases = published(made(kind, model, groups=2), taking_turns(3, 30, 1), ps.SimulationNoise(1))
        assert len(releases) == 30


@pytest.mark.parametrize("kind", ["bd", "ba", "g_event"])
@pytest.mark.parametrize(
    "setting",
    [
        *("groups=0", "groups=-1", "groups=1.5", "groups=nan", "groups=inf", "groups=true", "groups=two", 'groups="2"'),
        *(
            "groups=",
            "groups=[2]",
            "groups={a=1}",
            "groups=1979-05-27",
            "shift=1",
            "shift=yes",
            'shift="true"',
            "shift=0.0",
        ),
        *("group=2", "groups", "=2", "shift=[true]", "groups=1e400"),
    ],
)
def test_the_command_line_refuses_in_one_sentence(tmp_path: Path, kind: str, setting: str) -> None:
    (tmp_path / "in.csv").write_text("t,a,b\n1,5,6\n")
    files = (f"--input={tmp_path / 'in.csv'}", f"--store={tmp_path / 's.db'}", f"--output={tmp_path / 'out.csv'}")
    law = ("--model", "w-event", "--epsilon", "1", "--w", "3")
    code, err = penstock("run", *files, *law, "--mechanism", kind, "--set", setting)
    assert code == 2, err
    assert err.startswith("error: ")
    assert len(err.splitlines()) == 1
    assert not (tmp_path / "s.db").exists()


@pytest.mark.parametrize("kind", ["bd", "ba", "g_event"])
def test_the_command_line_takes_groups_and_refuses_to_go_on_with_others(tmp_path: Path, kind: str) -> None:
    (tmp_path / "in.csv").write_text("t,a,b,c\n1,5,6,7\n2,50,6,7\n3,5,600,7\n")
    files = (f"--input={tmp_path / 'in.csv'}", f"--store={tmp_path / 's.db'}", f"--output={tmp_path / 'out.csv'}")
    law = ("--model", "w-event", "--epsilon", "1", "--w", "3", "--mechanism", kind)
    assert penstock("run", *files, *law, "--set", "groups=3", "--set", "shift=true")[0] == 0
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 4
    code, err = penstock("run", *files, *law, "--set", "groups=2", "--set", "shift=true")
    assert (code, len(err.splitlines())) == (2, 1)
