"""RG: groups, charges and noise against a plain transcription, one bin at a time; every parameter at its edges."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import penstock as ps
from in_process import Crash, command, crash_at, models, penstock, published, script
from penstock.charges import Fact, recount
from penstock.desk import Question
from penstock.epsilon import NANO
from penstock.primitives.pool import LARGEST_MEMBER, LARGEST_SIZE
from penstock.primitives.sampling import best_rate
from penstock.types import Cause, Ints

T = TypeVar("T")

thorough = settings(derandomize=True, deadline=None, max_examples=100)
quick = settings(thorough, max_examples=40)

EVENT = ps.EventLevel(epsilon=1)
KEY = b"k" * 32
STEPS = 30
EPSILONS = ("0.0000004", "0.05", "0.3", "1", "20")


def made(model: ps.PrivacyModel, **options: Any) -> ps.Mechanism:
    mechanism: ps.Mechanism = ps.RG(model=model, **options)
    return mechanism


def kinds(releases: Sequence[ps.Release], j: int = 0) -> str:
    """Of one bin: Fresh, Republished or Grouped at each unit."""
    return "".join(ps.Kind(release.kind[j]).name[0] for release in releases)


# ---- the pseudo-code, one bin at a time ------------------------------------------------------------------------------


class Bin:
    """What one bin knows: its last release, of how many units that is the mean, and the group that is waiting."""

    def __init__(self) -> None:
        self.last, self.grouped, self.waiting = 0, 0, list[int]()


class Plain:
    """Algorithm 1 and 2 with exact numbers; noise comes from a script."""

    def __init__(self, model: ps.PrivacyModel, bins: int, draws: Iterator[int], **options: Any) -> None:
        self.model, self.draws, self.drawn = model, draws, 0
        self.bins = [Bin() for _ in range(bins)]
        self.growth = Fraction(str(options.get("growth", 2.0)))
        self.max_length = int(options.get("max_length", LARGEST_SIZE))
        rate = options.get("rate", "auto")
        self.rate = Fraction(1) if rate == "auto" else Fraction(str(rate))
        self.limit = int(options.get("limit", 1000)) if self.rate < 1 else 2**53
        share = model.epsilon.nano // model.window
        self.e1 = int(share * Fraction(str(options.get("monitor_share", 0.1))))
        self.e2 = share - self.e1
        self.spent: list[int] = []

    def draw(self) -> int:
        self.drawn += 1
        return next(self.draws)

    def affordable(self) -> bool:
        before = self.spent[-(self.model.window - 1) :] if self.model.window > 1 else []
        return sum(before) + self.e1 + self.e2 <= self.model.epsilon.nano

    def pass_over(self, lost: int | None = None) -> list[str]:
        self.spent.append(lost or 0)
        if lost is not None:
            self.forget()
        return ["R"] * len(self.bins)

    def forget(self) -> None:
        for each in self.bins:
            each.waiting = []

    def step(self, counts: Sequence[int]) -> list[str]:
        if not self.affordable():
            return self.pass_over()
        first = not self.bins[0].grouped
        self.spent.append(self.e2 + (0 if first else self.e1))
        moved = [True] * len(self.bins) if first else self.monitored(counts)
        told = ["F" if each else "R" for each in moved]
        for j, each in enumerate(self.bins):
            if moved[j]:
                each.last, each.grouped, each.waiting = counts[j] + self.draw(), 1, []
            else:
                each.waiting.append(counts[j])
        for j, each in enumerate(self.bins):
            if each.waiting and len(each.waiting) >= min(math.ceil(self.growth * each.grouped), self.max_length):
                each.grouped = len(each.waiting)
                each.last, told[j] = round(Fraction(sum(each.waiting) + self.draw(), each.grouped)), "G"
                each.waiting = []
        return told

    def monitored(self, counts: Sequence[int]) -> list[bool]:
        heads = self.rate >= Fraction(1, 2)  # of scripted coins all fall, or none
        seen = [(min(count, self.limit) * heads + self.draw()) / self.rate for count in counts]
        far = 2 * Fraction(self.model.sensitivity * NANO, self.e2) ** 2
        return [(each.last - estimate) ** 2 >= far for each, estimate in zip(self.bins, seen, strict=True)]

    def noise_sd(self) -> list[float]:
        sd = 1 / (math.sqrt(2) * math.sinh(self.e2 / (2 * self.model.sensitivity * NANO)))
        return [sd / max(each.grouped, 1) for each in self.bins]


def calm(seed: int, steps: int, bins: int, step: int) -> Ints:
    """Counts that rest for long, and jump now and then; at times by about what the threshold is."""
    rng = np.random.default_rng(seed)
    jumps = rng.integers(-step, step + 1, (steps, bins)) * (rng.random((steps, bins)) < 0.1)
    jitter = rng.integers(0, rng.integers(1, 4), (steps, bins))
    counts: Ints = np.abs(rng.integers(0, 3 * step, bins) + np.cumsum(jumps, axis=0) + jitter)
    return counts


@st.composite
def cases(draw: st.DrawFn) -> tuple[ps.PrivacyModel, dict[str, Any], Ints, list[int]]:
    model = draw(models(EPSILONS, longest=5, steps=STEPS))
    options: dict[str, Any] = {
        "monitor_share": draw(st.sampled_from([0.1, 0.5, 0.07, 0.93])),
        "growth": draw(st.sampled_from([2.0, 1.0001, 1.5, 3, 1e50])),
        "max_length": draw(st.sampled_from([1, 2, 5, LARGEST_SIZE])),
    }
    unit = model.epsilon.nano // model.window
    assume(unit * Fraction(str(options["monitor_share"])) >= 1)  # else it is refused, which is tested elsewhere
    if model.sensitivity == 1:
        options |= {"rate": draw(st.sampled_from(["auto", 1, 0.5, 0.25])), "limit": draw(st.sampled_from([1, 50, 999]))}
    step = draw(st.sampled_from([1, 10, 300]))
    rows = calm(draw(st.integers(0, 9999)), STEPS, draw(st.integers(1, 4)), step)
    draws = draw(st.lists(st.integers(-step, step), max_size=120))
    return model, options, rows, draws


def require_same(release: ps.Release, plain: Plain, told: list[str]) -> None:
    assert [ps.Kind(kind).name[0] for kind in release.kind] == told
    assert release.values.tolist() == [each.last for each in plain.bins]
    if plain.bins[0].grouped:
        assert release.noise_sd.tolist() == pytest.approx(plain.noise_sd(), rel=1e-9, abs=1e-300)
    assert release.charged.nano == plain.spent[-1]


@thorough
@given(cases())
@example((EVENT, {"rate": 0.5, "limit": 1}, np.full((STEPS, 2), 2), [0]))
def test_it_does_what_the_pseudo_code_says(case: tuple[ps.PrivacyModel, dict[str, Any], Ints, list[int]]) -> None:
    model, options, rows, draws = case
    noise, journal = ps.ScriptedNoise(draws), list[Fact]()
    plain = Plain(model, rows.shape[1], script(draws), **options)
    releases = published(made(model, **options), rows, noise, journal=journal.append)
    for release, counts in zip(releases, rows.tolist(), strict=True):
        require_same(release, plain, plain.step(counts))
    assert noise.left == max(len(draws) - plain.drawn, 0)
    assert [release.charged.nano for release in releases] == [plain.e2] + [plain.e1 + plain.e2] * (STEPS - 1)
    assert recount(journal, model).nano <= model.epsilon.nano
    assert recount(journal, model).nano <= model.window * (model.epsilon.nano // model.window)


EVENTS = ["step"] * 8 + ["missing", "lost", "all lost", "with key", "without key"]


@thorough
@given(cases(), st.lists(st.sampled_from(EVENTS), min_size=STEPS, max_size=STEPS))
@example((EVENT, {}, np.full((STEPS, 1), 9), []), ["all lost", *["step"] * 4, "without key", *["step"] * (STEPS - 6)])
@example((ps.WEvent(epsilon=1, w=5), {}, np.full((STEPS, 1), 9), []), ["missing", "step", "all lost"] * (STEPS // 3))
def test_losses_and_restarts_empty_the_groups_and_nothing_else(
    case: tuple[ps.PrivacyModel, dict[str, Any], Ints, list[int]], events: list[str]
) -> None:
    """With the key it goes on as it was; without it, and after a loss, what waited is gone and groups begin anew."""
    model, options, rows, draws = case
    bins = rows.shape[1]
    noise = ps.ScriptedNoise(draws)
    plain = Plain(model, bins, script(draws), **options)
    mechanism = made(model, **options).start(ps.Curator(model, bins, noise=noise))
    for t, (counts, event) in enumerate(zip(rows.tolist(), events, strict=True), start=1):
        snapshot = ps.Snapshot(t, counts)
        if event.endswith("key"):
            key = KEY if event == "with key" else None
            saved = mechanism.save(key)
            mechanism = made(model, **options).start(ps.Curator(model, bins, noise=noise))
            mechanism.load(saved, key)
            if key is None:
                plain.forget()
        if event == "missing":
            require_same(mechanism.pass_over(snapshot), plain, plain.pass_over())
        elif event.endswith("lost"):
            left = mechanism._curator.ledger.remaining_next()
            lost = left if event == "all lost" else min(left, ps.Epsilon.of_nano(plain.e1 + plain.e2))
            require_same(mechanism.pass_over(snapshot, lost), plain, plain.pass_over(lost.nano))
        else:
            require_same(mechanism.step(snapshot), plain, plain.step(counts))


# ---- what each count is used for -------------------------------------------------------------------------------------


class Watched:
    """Takes down who was asked what, and plays no part."""

    def __init__(self) -> None:
        self.units: list[list[tuple[str, set[int]]]] = []

    def __call__(self, question: Question, compute: Callable[[], T]) -> T:
        monitor = any(isinstance(detail, str) and detail == "monitor" for detail in question.details)
        verb = "monitor" if monitor else question.verb
        self.units[-1].append((verb, set(range(3) if question.bins is None else question.bins.tolist())))
        return compute()


@quick
@given(st.integers(0, 10**6), st.sampled_from([0.1, 0.5]), st.sampled_from(["auto", 0.5]), st.sampled_from([1, 4, 99]))
def test_a_count_is_published_or_gathered_never_both(seed: int, share: float, rate: Any, max_length: int) -> None:
    """And a group that is read holds exactly the units that rested since the release before; it is read once."""
    watched, rows = Watched(), calm(seed, 40, 3, 9)
    mechanism = made(EVENT, monitor_share=share, rate=rate, max_length=max_length)
    mechanism.start(ps.Curator(EVENT, 3, noise=ps.SimulationNoise(seed), answers=watched))
    waiting: list[list[int]] = [[], [], []]
    for snapshot in ps.streams.Stream(rows):
        watched.units.append([])
        release = mechanism.step(snapshot)
        asked = Counter(verb for verb, _ in watched.units[-1])
        use = {verb: bins for verb, bins in watched.units[-1] if bins}
        emptied = set().union(*(bins for verb, bins in watched.units[-1] if verb == "drop"))
        assert all(times == 1 for verb, times in asked.items() if verb != "drop")
        assert use.get("monitor", set()) == (set() if snapshot.t == 1 else {0, 1, 2})
        fresh, rested = use.get("ask", set()), use.get("absorb", set())
        assert fresh == set(np.flatnonzero(release.kind == ps.Kind.FRESH).tolist())
        assert not fresh & rested
        assert fresh | rested == {0, 1, 2}
        settled = use.get("read", set())
        assert settled <= rested
        assert emptied == fresh | settled
        assert settled == set(np.flatnonzero(release.kind == ps.Kind.GROUPED).tolist())
        for j in range(3):
            waiting[j] = [*waiting[j], snapshot.t] if j in rested else []
            if j in settled:
                assert release.noise_sd[j] * len(waiting[j]) == pytest.approx(releasing_sd(share))
                waiting[j] = []


def releasing_sd(share: float) -> float:
    return 1 / (math.sqrt(2) * math.sinh((1 - share) / 2))


class Scales(ps.SimulationNoise):
    """Remembers the scales that it was asked for."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.asked: set[Fraction] = set()

    def laplace(self, scale: Fraction, size: int) -> Ints:
        self.asked.add(scale)
        return super().laplace(scale, size)

    def laplace_each(self, scales: Sequence[Fraction], which: NDArray[np.intp]) -> Ints:
        self.asked |= {scales[i] for i in which}
        return super().laplace_each(scales, which)


@quick
@given(models(EPSILONS, longest=5, steps=STEPS), st.sampled_from([0.1, 0.5, 0.9]))
def test_noise_is_what_the_charge_buys_and_nothing_else(model: ps.PrivacyModel, share: float) -> None:
    noise = Scales(3)
    published(made(model, monitor_share=share), np.full((STEPS, 5), 7), noise)
    unit = model.epsilon.nano // model.window
    watching = int(unit * Fraction(str(share)))
    bought = {Fraction(model.sensitivity * NANO, watching), Fraction(model.sensitivity * NANO, unit - watching)}
    assert noise.asked == bought


@quick
@given(st.sampled_from(["0.1", "1", "9"]), st.sampled_from([0.5, 0.03, 0.9999999999999999]))
def test_a_sample_is_amplified_by_no_more_than_it_may_be(epsilon: str, rate: float) -> None:
    """ln(1 + rate (exp(e') - 1)) <= e1, where the noise has scale 1 / e'."""
    noise = Scales(3)
    model: ps.PrivacyModel = ps.EventLevel(epsilon=epsilon)
    published(made(model, rate=rate), np.full((9, 2), 7), noise)
    watching = Decimal(model.epsilon.nano // 10) / NANO
    others = noise.asked - {Fraction(NANO, model.epsilon.nano - model.epsilon.nano // 10)}
    with localcontext() as context:
        context.prec = 60
        for scale in others:
            loss = (1 + Decimal(str(rate)) * ((Decimal(scale.denominator) / scale.numerator).exp() - 1)).ln()
            assert Decimal(0) <= watching - loss <= Decimal("1e-9")
    assert len(others) == 1


@pytest.mark.parametrize("growth", [1.5, 2.0])
@pytest.mark.parametrize("share", [0.1, 0.6])
def test_noise_sd_is_the_deviation_of_fresh_and_of_grouped_values(share: float, growth: float) -> None:
    """On a stream at rest a mean is wrong by its noise only. (Of repeated values those with little noise survive.)"""
    model = ps.EventLevel(epsilon=0.08, neighbours="replace", per_unit=2)
    releases = published(
        made(model, monitor_share=share, growth=growth), np.full((12, 12_000), 5000), ps.SimulationNoise(8)
    )
    compared = 0
    for release in releases:
        new = release.kind != ps.Kind.REPUBLISHED
        for sd in np.unique(release.noise_sd[new]):
            errors = release.values[new & (release.noise_sd == sd)] - 5000.0
            if len(errors) > 500:
                compared += 1
                assert errors.std() == pytest.approx(sd, rel=6 * math.sqrt(5 / (4 * len(errors))))
                assert errors.mean() == pytest.approx(0, abs=6 * sd / math.sqrt(len(errors)))
    assert compared >= 12


# ---- groups ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, "FRGRRRGRRRRRRRGRRRR"),  # 2, 4, 8
        ({"growth": 1.0001}, "FRGRRGRRRGRRRRGRRRR"),  # 2, 3, 4, 5
        ({"growth": 1.5}, "FRGRRGRRRRGRRRRRRRG"),  # 2, 3, 5, 8
        ({"growth": 1e50}, "FRRRRRRRRRRRRRRRRRR"),
        ({"growth": 1e50, "max_length": 3}, "FRRGRRGRRGRRGRRGRRG"),
        ({"max_length": 1}, "FGGGGGGGGGGGGGGGGGG"),
        ({"max_length": 3}, "FRGRRGRRGRRGRRGRRGR"),
        ({"rate": 0.5}, "FFFFFFFFFFFFFFFFFFF"),  # all scripted coins fall: twice as many as there are
    ],
)
@pytest.mark.parametrize("bins", [1, 300])
def test_groups_of_a_stream_at_rest(options: dict[str, Any], expected: str, bins: int) -> None:
    releases = published(made(EVENT, **options), np.full((19, bins), 40), ps.ScriptedNoise())
    assert kinds(releases) == expected
    assert kinds(releases, bins - 1) == expected
    assert {value for release in releases for value in release.values.tolist()} == {40}


def test_a_group_is_the_mean_of_those_that_rested_since_and_not_of_what_was_published() -> None:
    """1000 is published, so neither it nor what waited before it is part of a mean."""
    model = ps.EventLevel(epsilon="0.1")  # what is less than 15.7 away rests
    rows = [[40], [41], [42], [44], [1000], [1001], [1005], [1010], [1004], [1000], [1002]]
    releases = published(made(model), rows, ps.ScriptedNoise())
    assert kinds(releases) == "FRGRFRGRRRG"
    assert [int(release.values[0]) for release in releases] == [40, 40, 42, 42, *[1000] * 2, *[1003] * 4, 1004]


@pytest.mark.parametrize("count", [0, 1, 2**31, LARGEST_MEMBER])
def test_large_counts_are_exact(count: int) -> None:
    """In a group as well, up to the cut of a pool."""
    releases = published(made(ps.EventLevel(epsilon=500)), np.full((40, 2), count))
    assert kinds(releases) == "FRG" + "RRRG" + "RRRRRRRG" + "R" * 15 + "G" + "R" * 9
    assert {value for release in releases for value in release.values.tolist()} == {count}


def test_the_largest_counts_are_fresh_as_they_are() -> None:
    rows = np.array([[2**53, 0], [0, 2**53]] * 10)
    releases = published(made(ps.EventLevel(epsilon=500)), rows)
    assert kinds(releases) == "F" * 20
    assert [release.values.tolist() for release in releases] == rows.tolist()


# ---- parameters ------------------------------------------------------------------------------------------------------

NUMBERS: list[Any] = [float("nan"), float("inf"), 1e51, 10**400, "x", "", None, True, [2], Decimal(1)]
BAD: dict[str, list[Any]] = {
    "monitor_share": [*NUMBERS, 0, 1, -0.1, 1.5, 1e-51],
    "growth": [*NUMBERS, 1, 1.0, 0.5, -2, 0],
    "max_length": [*NUMBERS, 0, -1, 1.5, 2.0, LARGEST_SIZE + 1, 2**53, 2**53 + 1],
    "rate": [*NUMBERS, 0, 0.0, -0.5, 1.0000001, 2, "Auto"],
    "limit": [*NUMBERS, 0, -5, 1.5, 1000.0, 2**53 + 1],
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name in BAD for value in BAD[name]], ids=repr)
def test_what_cannot_be_is_refused_in_a_sentence(name: str, value: Any) -> None:
    with pytest.raises(ps.BadInput, match=rf"^{name} must [^\n]*\.$"):
        made(EVENT, **{name: value})


@pytest.mark.parametrize("options", [{"neighbours": "replace"}, {"per_unit": 2}], ids=repr)
def test_sampling_is_refused_where_it_is_not_proven(options: dict[str, Any]) -> None:
    model: ps.PrivacyModel = ps.EventLevel(epsilon=1, **options)
    with pytest.raises(ps.BadInput, match="sampling is proven for add-remove neighbours"):
        made(model, rate=0.5)
    for rate in ("auto", 1, 1.0):
        assert kinds(published(made(model, rate=rate), [[5]] * 9, ps.ScriptedNoise())) == "FRGRRRGRR"


@pytest.mark.parametrize(("epsilon", "share"), [("0.999", 1e-9), ("1", 1e-50), ("0.000000001", 0.9)])
def test_a_share_that_leaves_one_side_nothing_is_refused(epsilon: str, share: float) -> None:
    with pytest.raises(ps.BadInput, match=r"^[^\n]*too little[^\n]*\.$"):
        made(ps.EventLevel(epsilon=epsilon), monitor_share=share)


@pytest.mark.parametrize(("epsilon", "share"), [("1", 1e-9), ("1", 1 - 1e-9), ("0.000000002", 0.5)])
def test_one_nano_epsilon_is_enough_for_either_side(epsilon: str, share: float) -> None:
    releases = published(made(ps.EventLevel(epsilon=epsilon), monitor_share=share), [[5]] * 6)
    assert {release.charged for release in releases[1:]} == {ps.Epsilon(epsilon)}


def test_it_is_not_for_contexts() -> None:
    with pytest.raises(ps.NotProven, match="RG is not proven for MContext"):
        made(ps.MContext(epsilon=1, m=3))


@thorough
@given(
    models(("0.000000050", "0.001", "1", "60"), longest=4, steps=12),
    st.fixed_dictionaries(
        {
            "monitor_share": st.sampled_from([1e-7, 0.02, 0.1, 0.5, 0.98, 0.9999999]),
            "growth": st.sampled_from([1.0000000000000002, 1.1, 2, 1e17, 1e50]),
            "max_length": st.sampled_from([1, 2, LARGEST_SIZE]),
            "rate": st.sampled_from(["auto", 1, 1.0, 1e-50, 0.01, 0.5, 0.9999999999999999]),
            "limit": st.sampled_from([1, 3, 2000]),
        }
    ),
    st.lists(st.sampled_from([0, 1, 5, 2**40, 2**53]), min_size=12, max_size=12),
    st.integers(1, 3),
)
def test_whatever_is_accepted_lasts(
    model: ps.PrivacyModel, options: dict[str, Any], counts: list[int], bins: int
) -> None:
    """A step that fails costs all that is left, so nothing may be found out in mid-stream."""
    try:
        mechanism = made(model, **options)
    except ps.BadInput:
        assume(False)
    journal = list[Fact]()
    releases = published(mechanism, [[count] * bins for count in counts], journal=journal.append)
    unit = model.epsilon.nano // model.window
    assert [release.charged.nano for release in releases[1:]] == [unit] * 11
    assert recount(journal, model) <= model.epsilon
    assert kinds(releases)[0] == "F"


@pytest.mark.parametrize(("limit", "bins"), [(2**53, 1), (2**28 + 1, 1), (2**27 + 1, 2)])
def test_a_sample_of_more_coins_than_memory_holds_is_refused(limit: int, bins: int) -> None:
    """At construction, or when the number of bins is known; never in mid-stream."""
    with pytest.raises(ps.BadInput, match=r"^limit must be a whole number from 1 to"):
        made(EVENT, rate=0.5, limit=limit).start(ps.Curator(EVENT, bins))


@pytest.mark.parametrize(("per_unit", "share"), [(10**8, 0.01), (10**9, 0.4), (3 * 10**7, 0.01)])
def test_noise_that_does_not_fit_is_refused_before_anything_is_spent(per_unit: int, share: float) -> None:
    model = ps.EventLevel(epsilon="0.0000001", per_unit=per_unit)
    try:
        mechanism = made(model, monitor_share=share).start(ps.Curator(model, 1))
    except ps.BadInput:
        return
    assert [mechanism.step(ps.Snapshot(t, [5])).t for t in (1, 2, 3)] == [1, 2, 3]


@pytest.mark.parametrize(("epsilon", "share"), [(1_000_000, 0.1), (8000, 0.1), (1000, 0.9)])
def test_a_huge_epsilon_lasts(epsilon: int, share: float) -> None:
    releases = published(made(ps.EventLevel(epsilon=epsilon), monitor_share=share), [[5], [5], [5], [9], [9]])
    assert kinds(releases) == "FRGFR"
    assert [release.charged for release in releases[1:]] == [ps.Epsilon(epsilon)] * 4


@thorough
@given(
    st.one_of(st.floats(-1e19, 1e19), st.integers(0, 50).map(float)),
    st.integers(1, 10**6),
    st.one_of(st.floats(1e-9, 1e-3), st.floats(1e-3, 700.0)),
)
@example(1.0, 1, 1e-9)
@example(1e19, 10**6, 700.0)
def test_the_best_rate_is_the_best(records: float, bins: int, e: float) -> None:
    """By trying all of them, with 60 digits: and it is 1."""
    with localcontext() as context:
        context.prec = 60

        def error(percent: int) -> Decimal:
            b = Decimal(percent) / 100
            amplified = (1 + (Decimal(e).exp() - 1) / b).ln()
            return max(Decimal(records), Decimal(1)) * (1 - b) / b + bins * 2 / (b * amplified) ** 2

        best = min(range(1, 101), key=error)
    assert best_rate(records, bins, e) == best / 100 == 1


def test_auto_is_a_rate_of_one() -> None:
    rows = calm(3, 60, 5, 30)
    both = [published(made(EVENT, rate=rate), rows, ps.SimulationNoise(2)) for rate in ("auto", 1)]
    assert all(one.same_as(other) for one, other in zip(*both, strict=True))


# ---- through a store -------------------------------------------------------------------------------------------------


CERTAIN = ps.EventLevel(epsilon=500)  # noise of 0, but for chances of exp(-450)


def ran(path: Path, until: int, counts: Sequence[int] = (7, 8), **options: Any) -> list[ps.Published]:
    """Go on to a unit; all that is stored then."""
    with (
        ps.Store(path, **options) as store,
        ps.Publisher(made(CERTAIN), store, "people", bins=["a", "b"]) as publisher,
    ):
        for t in range(publisher.t + 1, until + 1):
            publisher.publish(ps.Snapshot(t, counts))
        return list(publisher.releases())


@pytest.mark.parametrize("cut", [1, 2, 3, 5, 6, 7, 10])
def test_restarted_with_its_key_it_goes_on_with_its_groups(tmp_path: Path, cut: int) -> None:
    ran(tmp_path / "db", cut)
    releases = ran(tmp_path / "db", 16)
    assert kinds(releases) == kinds(releases, 1) == "FRGRRRGRRRRRRRGR"
    assert {tuple(release.values.tolist()) for release in releases} == {(7, 8)}
    assert {str(release.charged) for release in releases[1:]} == {"500"}


@pytest.mark.parametrize(
    ("cut", "expected"), [(1, "FRGRRRGR"), (2, "FRRGRRRG"), (3, "FRGRRRGR"), (5, "FRGRRRRRGRRR"), (6, "FRGRRRRRRGRR")]
)
def test_restarted_without_its_key_it_begins_the_group_anew(tmp_path: Path, cut: int, expected: str) -> None:
    ran(tmp_path / "db", cut)
    (tmp_path / "db.key").unlink()
    with ps.Store(tmp_path / "db") as store:
        store.replace_key()
    releases = ran(tmp_path / "db", len(expected))
    assert kinds(releases) == expected
    assert {tuple(release.values.tolist()) for release in releases} == {(7, 8)}
    assert penstock("ledger", "verify", tmp_path / "db")[0] == 0


@pytest.mark.parametrize("dies", [1, 2, 3, 5])
@pytest.mark.parametrize("point", ["draw", "emit"])
def test_a_process_that_dies_loses_its_unit_and_its_group(tmp_path: Path, dies: int, point: str) -> None:
    ran(tmp_path / "db", dies - 1)
    with (
        ps.Store(tmp_path / "db", at=crash_at(point)) as store,
        pytest.raises(Crash),
        ps.Publisher(made(CERTAIN), store, "people", bins=["a", "b"]) as publisher,
    ):
        for _ in publisher.run([ps.Snapshot(dies, [7, 8])]):
            pass
    releases = ran(tmp_path / "db", dies + 9)
    lost = [release.t for release in releases if release.cause is Cause.LOST]
    assert lost == ([dies] if point == "draw" else [])
    after = {1: "RFRGRRRGRR", 2: "FRRGRRRGRRR", 3: "FRRRGRRRGRRR", 5: "FRGRRRRRGRRRRR"}
    assert kinds(releases) == (after[dies] if lost else "FRGRRRGRRRRRRRG"[: dies + 9])
    assert penstock("ledger", "verify", tmp_path / "db")[0] == 0


def test_a_unit_without_input_leaves_the_groups_alone(tmp_path: Path) -> None:
    with (
        ps.Store(tmp_path / "db") as store,
        ps.Publisher(made(CERTAIN), store, "people", bins=["a"]) as publisher,
    ):
        releases = [
            publisher.miss() if t in (1, 4, 5) else publisher.publish(ps.Snapshot(t, [6])) for t in range(1, 13)
        ]
    assert kinds(releases) == "RFRRRGRRRGRR"
    assert [release.t for release in releases if not release.charged] == [1, 4, 5]


def test_what_waits_is_sealed(tmp_path: Path) -> None:
    """Counts in a group are not in the store as they are; a release is, which shows that one would be found."""
    shown, waiting = 0x1234_5678_9ABC, 0x0ABC_DEF0_1234
    for count, epsilon in ((shown, "500"), (waiting, "0.000001")):
        mechanism = made(ps.EventLevel(epsilon=epsilon))
        with (
            ps.Store(tmp_path / "db") as store,
            ps.Publisher(mechanism, store, str(count), bins=["a"]) as publisher,
        ):
            list(publisher.run([ps.Snapshot(t, [count]) for t in range(1, 9)]))
    stored = b"".join(path.read_bytes() for path in tmp_path.iterdir() if path.is_file())
    assert shown.to_bytes(6, "little") in stored
    assert waiting.to_bytes(6, "little") not in stored


# ---- from the command line -------------------------------------------------------------------------------------------


def told(folder: Path, *more: str) -> tuple[int, str, str]:
    (folder / "in.csv").write_text("t,a,b\n" + "".join(f"{t},5,6\n" for t in range(1, 8)))
    files = (f"--input={folder / 'in.csv'}", f"--store={folder / 's.db'}", f"--output={folder / 'out.csv'}")
    return command("run", *files, "--model", "event-level", "--epsilon", "9", "--mechanism", "rg", *more)


@pytest.mark.parametrize(
    "text",
    [
        *(f"monitor_share={text}" for text in ("0", "1", "nan", "x", "true", '"0.1"', "1e-30")),
        *(f"growth={text}" for text in ("1", "0", "inf", "x", "[2]")),
        *(f"max_length={text}" for text in ("0", "1.5", "1e3", "4194305", "x")),
        *(f"rate={text}" for text in ("0", "1.5", "always", "true", "")),
        *(f"limit={text}" for text in ("0", "-1", "2.5", "none")),
        "monitor=0.1",
        "width=15",
    ],
)
def test_the_command_line_refuses_in_one_sentence_and_begins_nothing(tmp_path: Path, text: str) -> None:
    code, out, err = told(tmp_path, "--set", text)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert len(err.splitlines()) == 1
    assert not (tmp_path / "s.db").exists()


@pytest.mark.parametrize("text", ["rate=auto", 'rate="auto"', "rate=0.5", "growth=3", "max_length=1", "limit=7"])
def test_the_command_line_takes_parameters(tmp_path: Path, text: str) -> None:
    code, _, err = told(tmp_path, "--set", text)
    assert code == 0, err
    assert len((tmp_path / "out.csv").read_text().splitlines()) == 8
    assert told(tmp_path, "--set", text)[0] == 0
    assert told(tmp_path, "--set", "monitor_share=0.3")[0] == 2  # another stream than the one that was begun
