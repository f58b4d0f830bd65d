"""MA, Adj and MMD: how they hang together, the specification written down once more, and what every user pays."""

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from in_process import models, penstock
from penstock.charges import Fact, Point
from penstock.desk import Question
from penstock.noise import ScriptedNoise, laplace_sd
from penstock.store import Archive
from penstock.store.verify import verify
from penstock.types import Ints

T = TypeVar("T")

fixed = settings(derandomize=True, deadline=None, max_examples=60)
few = settings(fixed, max_examples=25)

NANO = 10**9
USERS = ["ann", "bob", "cleo", "dan", "eve"]
Mode = Literal["mean", "single"]


def nano(model: ps.PrivacyModel) -> int:
    return model.epsilon.nano


class Told(NamedTuple):
    """One paid answer: what was asked, with how much noise, and what came back."""

    verb: str
    scale: Fraction | None
    details: tuple[Any, ...]
    answer: Any


@dataclass
class Heard:
    """Everything that comes out of a stream: releases, charges, and every answer, unit by unit."""

    releases: list[ps.Release] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    answers: list[list[Told]] = field(default_factory=list)

    def __call__(self, question: Question, compute: Callable[[], T]) -> T:
        answer = compute()
        self.answers[-1].append(Told(question.verb, question.scale, question.details, answer))
        return answer

    def points(self, envelope: str | None = None) -> dict[int, int]:
        """Nano-epsilon booked at each unit."""
        booked: dict[int, int] = {}
        for fact in self.facts:
            assert isinstance(fact, Point)
            if envelope in (None, fact.envelope):
                booked[fact.t] = booked.get(fact.t, 0) + fact.e.nano
        return booked

    def same_as(self, other: "Heard") -> bool:
        alike = len(self.releases) == len(other.releases) and self.facts == other.facts
        return alike and all(a.same_as(b) for a, b in zip(self.releases, other.releases, strict=True))


def heard(mechanism: ps.Mechanism, stream: ps.streams.Stream, noise: int | ScriptedNoise = 1) -> Heard:
    """Publish a stream, with everything taken down."""
    found = Heard()
    drawn = ps.SimulationNoise(noise) if isinstance(noise, int) else noise
    curator = ps.Curator(mechanism.model, stream.bins, noise=drawn, journal=found.facts.append, answers=found)
    mechanism.start(curator)
    for snapshot in stream:
        found.answers.append([])
        curator.check(snapshot)
        found.releases.append(mechanism.step(snapshot))
    assert curator.ledger.audit().holds
    return found


@st.composite
def gatherings(draw: st.DrawFn, steps: int = 24, bins: int = 4) -> ps.streams.Stream:
    """People who come and go as they like, each in one bin or in none, mostly where they were before."""
    width, length = draw(st.integers(1, bins)), draw(st.integers(1, steps))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    there, moves = draw(st.sampled_from([0.2, 0.5, 0.9, 1.0])), draw(st.sampled_from([0.05, 0.5]))
    weight = draw(st.sampled_from([1, 40]))  # of each user a whole family, so that counts stand out of the noise
    place = rng.integers(0, width + 1, len(USERS))
    counts, presence = np.zeros((length, width), np.int64), []
    for t in range(length):
        place = np.where(rng.random(len(USERS)) < moves, rng.integers(0, width + 1, len(USERS)), place)
        here = np.flatnonzero(rng.random(len(USERS)) < there)
        counts[t] = weight * np.bincount(place[here], minlength=width + 1)[:width]
        presence.append([f"{USERS[i]} {j}" for i in here for j in range(weight)])
    return ps.streams.Stream(counts, presence=presence)


contexts = st.builds(
    ps.MContext,
    epsilon=st.sampled_from(["0.000007", "0.3", "1", "2.999999999", "50"]),
    m=st.integers(1, 6),
    per_unit=st.integers(1, 2),
)
laws = st.one_of(contexts, models(["0.3", "1", "50"], longest=6, steps=24))
seeds = st.integers(0, 10**6)


# ---- three names for one thing --------------------------------------------------------------------------------------


@fixed
@given(laws, gatherings(), seeds, st.sampled_from(["mean", "single"]))
def test_ma_with_one_candidate_is_adj(model: ps.PrivacyModel, stream: ps.streams.Stream, seed: int, mode: Mode) -> None:
    assert heard(ps.MA(model=model, k=1, mode=mode), stream, seed).same_as(heard(ps.Adj(model=model), stream, seed))


@fixed
@given(laws, gatherings(), seeds, st.integers(0, 3))
def test_ma_in_single_mode_with_a_long_memory_is_mmd(
    model: ps.PrivacyModel, stream: ps.streams.Stream, seed: int, more: int
) -> None:
    """Whether the memory just reaches back to the first release, or further than that."""
    reach = max(len(stream) - 1, 1)
    mmd = heard(ps.MMD(model=model, memory=10_000), stream, seed)
    assert heard(ps.MA(model=model, k=reach + more, mode="single"), stream, seed).same_as(mmd)
    assert heard(ps.MMD(model=model, memory=reach + more), stream, seed).same_as(mmd)


@few
@given(contexts, gatherings(), seeds)
def test_a_short_memory_is_a_small_k(model: ps.MContext, stream: ps.streams.Stream, seed: int) -> None:
    adj = heard(ps.Adj(model=model), stream, seed)
    assert heard(ps.MMD(model=model, memory=1), stream, seed).same_as(adj)
    mmd = heard(ps.MMD(model=model, memory=3), stream, seed)
    assert heard(ps.MA(model=model, k=3, mode="single"), stream, seed).same_as(mmd)


def test_the_modes_differ_and_so_do_long_memories_and_short_ones() -> None:
    """Or the equalities above would say nothing."""
    model, stream = ps.WEvent(epsilon=60, w=9), ps.streams.Stream([[90, 0], [0, 90], [40, 40], [90, 5], [0, 90]] * 6)
    found = [
        heard(mechanism, stream)
        for mechanism in (
            ps.Adj(model=model),
            ps.MA(model=model, k=3),
            ps.MA(model=model, k=3, mode="single"),
            ps.MA(model=model, k=2, mode="single"),
        )
    ]
    assert not any(one.same_as(other) for i, one in enumerate(found) for other in found[:i])


@few
@given(st.integers(1, 5), st.integers(1, 20), seeds, st.sampled_from([ps.MA, ps.Adj, ps.MMD, ps.Uniform]))
def test_with_everybody_there_always_m_presences_are_m_units(m: int, steps: int, seed: int, kind: Any) -> None:
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(60, [0.2, 0.3, 0.5], steps)
    context, window = ps.MContext(epsilon=3, m=m), ps.WEvent(epsilon=3, w=m, neighbours="replace")
    crowd = [[f"user {i}" for i in range(60)]] * steps
    with_names = heard(kind(model=context), ps.streams.Stream(counts, presence=crowd), seed)
    assert with_names.same_as(heard(kind(model=window), ps.streams.Stream(counts), seed))


# ---- the specification, once more -----------------------------------------------------------------------------------


@dataclass
class Spec:
    """Section 3.7 of the specification in plain Python, told what the paid answers were. Amounts in nano-epsilon."""

    model: ps.PrivacyModel
    k: int
    mode: Mode
    outputs: list[list[int]] = field(default_factory=list)
    paid: list[int] = field(default_factory=list)  # e2 of each unit, 0 if something was repeated
    seen: list[set[str]] = field(default_factory=list)
    spread: list[float] = field(default_factory=list)  # how wide the noise of each output can be

    def __post_init__(self) -> None:
        self.half = nano(self.model) // 2
        self.e1 = self.half // self.model.window

    def spent(self, user: str) -> int:
        """What the user's last m - 1 presences have paid for releases."""
        presences = [i for i, here in enumerate(self.seen) if user in here]
        last = presences[len(presences) - min(self.model.window - 1, len(presences)) :]
        return sum(self.paid[i] for i in last)

    def candidates(self) -> tuple[list[list[int]], list[float]]:
        latest, rows = self.outputs[::-1][: self.k], list[list[int]]()
        wide, spreads = self.spread[::-1], list[float]()
        for j in range(1, len(latest) + 1):
            columns = zip(*latest[:j], strict=True)
            row = [round(Fraction(sum(column), j)) for column in columns] if self.mode == "mean" else latest[j - 1]
            if row not in rows:
                rows.append(row)
                spreads.append(sum(wide[:j]) / j if self.mode == "mean" else wide[j - 1])  # as if all shared one draw
        return rows, spreads

    def unit(self, present: Sequence[str], told: list[Told]) -> tuple[list[int], int, int]:
        """What is released, for which e2, and what deciding costs."""
        e2 = (self.half - max((self.spent(user) for user in present), default=0)) // 2
        answers, deciding = iter(told), 0
        publishes, output, spread = True, list[int](), 0.0
        if self.outputs:
            (rows, spreads), chosen, e_d = self.candidates(), 0, self.e1
            if len(rows) > 1:
                e_d = self.e1 // 2
                choice = next(answers)
                chosen, deciding = choice.answer, e_d
                assert (choice.verb, choice.details[-2].nano, len(choice.details)) == ("nearest", e_d, len(rows) + 2)
            distance = next(answers)
            assert distance.scale == Fraction(self.model.sensitivity * NANO, e_d)
            deciding, output, spread = deciding + e_d, rows[chosen], spreads[chosen]
            far = float(distance.answer[0] / len(output))
            publishes = e2 > 0 and far >= self.model.sensitivity * NANO / e2
        if publishes:
            fresh = next(answers)
            assert fresh.scale == Fraction(self.model.sensitivity * NANO, e2)
            output, spread = [int(value) for value in fresh.answer], laplace_sd(fresh.scale)
        assert next(answers, None) is None
        self.outputs.append(output)
        self.spread.append(spread)
        self.paid.append(e2 if publishes else 0)
        self.seen.append(set(present))
        return output, self.paid[-1], deciding


@fixed
@given(contexts, gatherings(), seeds, st.integers(1, 5), st.sampled_from(["mean", "single"]))
def test_releases_and_budgets_are_those_of_the_specification(
    model: ps.MContext, stream: ps.streams.Stream, seed: int, k: int, mode: Mode
) -> None:
    """Exactly: the noise of every answer, e2, what deciding costs, and what is repeated."""
    assert stream.presence is not None
    found, spec = heard(ps.MA(model=model, k=k, mode=mode), stream, seed), Spec(model, k, mode)
    decided, published = found.points("decide"), found.points("publish")
    for release, told, present in zip(found.releases, found.answers, stream.presence, strict=True):
        output, e2, deciding = spec.unit(present, told)
        assert release.values.tolist() == output
        assert (published.get(release.t, 0), decided.get(release.t, 0)) == (e2, deciding)
        assert release.charged.nano == e2 + deciding
        assert release.noise_sd.tolist() == pytest.approx([spec.spread[-1]] * stream.bins)


@few
@given(models(["0.3", "1", "50"], longest=6, steps=24), gatherings(), seeds, st.integers(1, 5))
def test_under_other_models_a_unit_is_a_presence_of_everybody(
    model: ps.PrivacyModel, stream: ps.streams.Stream, seed: int, k: int
) -> None:
    found, spec = heard(ps.MA(model=model, k=k), ps.streams.Stream(stream.counts), seed), Spec(model, k, "mean")
    for release, told in zip(found.releases, found.answers, strict=True):
        output, e2, deciding = spec.unit(["everybody"], told)
        assert (release.values.tolist(), release.charged.nano) == (output, e2 + deciding)


# ---- what every user pays -------------------------------------------------------------------------------------------


def runs(presence: Sequence[Sequence[str]], m: int) -> dict[str, list[list[int]]]:
    """Every user's protected sets: m presences in a row."""
    found = {}
    for user in {user for here in presence for user in here}:
        own = [t for t, here in enumerate(presence, start=1) if user in here]
        found[user] = [own[max(i - m, 0) : i] for i in range(1, len(own) + 1)]
    return found


def price(told: Told, s1: int) -> Fraction:
    """What an answer tells, by the noise it carries."""
    return s1 / told.scale if told.scale is not None else Fraction(told.details[-2].nano, NANO)


@fixed
@given(contexts, gatherings(), seeds, st.sampled_from([ps.MA, ps.Adj, ps.MMD, ps.Uniform]))
def test_nobody_pays_more_than_epsilon_and_nothing_is_told_that_is_not_paid(
    model: ps.MContext, stream: ps.streams.Stream, seed: int, kind: Any
) -> None:
    """Counted user by user, by what was booked and by the noise; half for deciding, half for releases."""
    assert stream.presence is not None
    found, epsilon = heard(kind(model=model), stream, seed), nano(model)
    told = [NANO * sum((price(each, model.sensitivity) for each in unit), Fraction(0)) for unit in found.answers]
    paid = [release.charged.nano for release in found.releases]
    assert paid == told
    halves = [(found.points(name), epsilon // 2) for name in ("decide", "publish") if kind is not ps.Uniform]
    for protected in runs(stream.presence, model.m).values():
        for units in protected:
            assert sum(paid[t - 1] for t in units) <= epsilon
            for booked, half in halves:
                assert sum(booked.get(t, 0) for t in units) <= half


@few
@given(contexts, gatherings(), seeds)
def test_uniform_spends_an_mth_at_every_unit(model: ps.MContext, stream: ps.streams.Stream, seed: int) -> None:
    found = heard(ps.Uniform(model=model), stream, seed)
    assert set(found.points().values()) == {nano(model) // model.m}
    assert all(release.is_new for release in found.releases)


@pytest.mark.parametrize("kind", [ps.MA, ps.Adj, ps.MMD])
def test_strangers_are_always_as_good_as_new_and_one_who_comes_back_is_not(kind: Any) -> None:
    """Strangers find a quarter of epsilon, whoever came before; ann brings along what she paid."""
    model = ps.MContext(epsilon=8, m=3)
    crowds = [[f"{t} {i}" for i in range(200 * t)] for t in range(1, 7)]
    crowds[1][0] = crowds[4][0] = crowds[5][0] = "ann"
    stream = ps.streams.Stream([[len(crowd), 0] for crowd in crowds], presence=crowds)
    found = heard(kind(model=model), stream, ScriptedNoise()).points("publish")
    assert [found[t] / NANO for t in range(1, 7)] == [2, 2, 2, 2, 1, 0.5]


def test_a_unit_with_nobody_costs_nobody_anything() -> None:
    model = ps.MContext(epsilon=8, m=2)
    crowd = [f"u{i}" for i in range(9)]
    stream = ps.streams.Stream([[9], [0], [0], [9]], presence=[crowd, [], [], crowd])
    found = heard(ps.Adj(model=model), stream, ScriptedNoise()).points("publish")
    assert (found[1], found[4]) == (2 * NANO, NANO)


# ---- candidates -----------------------------------------------------------------------------------------------------


def test_of_equal_candidates_one_is_kept_and_then_the_distance_has_all_of_e1() -> None:
    stream = ps.streams.Stream([[50, 0]] * 4, presence=[[f"u{i}" for i in range(50)]] * 4)
    found = heard(ps.MMD(model=ps.MContext(epsilon=16, m=4)), stream, ScriptedNoise())
    assert [[told.verb for told in unit] for unit in found.answers] == [["ask"]] * 4
    assert found.points("decide") == {2: 2 * NANO, 3: 2 * NANO, 4: 2 * NANO}


@few
@given(gatherings(), seeds, st.integers(2, 5))
def test_what_is_called_republished_is_made_of_what_was_published(stream: ps.streams.Stream, seed: int, k: int) -> None:
    before: list[Ints] = []
    for release in heard(ps.MA(model=ps.MContext(epsilon=50, m=3), k=k), stream, seed).releases:
        means = [np.rint(np.mean(before[-j:], axis=0)) for j in range(1, min(k, len(before)) + 1)]
        known = any(np.array_equal(release.values, mean) for mean in means)
        assert known or release.kind[0] != ps.Kind.REPUBLISHED
        assert len(set(release.kind.tolist())) == 1
        before.append(release.values)


# ---- what cannot be used --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "name"),
    [
        *((lambda v=v: ps.MA(model=ps.MContext(epsilon=1, m=2), k=v), "k") for v in (0, -1, 1.5, "2", True, 10**9)),
        *((lambda v=v: ps.MMD(model=ps.MContext(epsilon=1, m=2), memory=v), "memory") for v in (0, -1, 0.5, None)),
        (lambda: ps.MA(model=ps.MContext(epsilon=1, m=2), mode="median"), "mode"),
        *((lambda v=v: ps.MContext(epsilon=1, m=v), "m must be") for v in (0, -1, 1.5)),
        *((lambda v=v: ps.MContext(epsilon=1, m=1, max_users=v), "max_users") for v in (0, -1)),
        (lambda: ps.MMD(model=ps.MContext(epsilon=1, m=2), memory=10**9), "memory"),
    ],
)
def test_a_parameter_that_cannot_work_is_refused_in_one_sentence(make: Callable[[], object], name: str) -> None:
    with pytest.raises(ps.BadInput, match=rf"^[^\n]*{name}[^\n]*\.$"):
        make()


def test_adj_and_mmd_have_no_k_and_no_mode() -> None:
    for kind in (ps.Adj, ps.MMD):
        for told in ({"k": 2}, {"mode": "mean"}):
            with pytest.raises(TypeError):
                kind(model=ps.MContext(epsilon=1, m=2), **told)


@pytest.mark.parametrize(("nano", "k", "works"), [(3, 1, False), (4, 1, True), (4, 2, False), (8, 2, True)])
def test_an_epsilon_that_is_gone_when_it_is_divided_is_refused(nano: int, k: int, works: bool) -> None:
    """Half of it for deciding, shared by two presences, and by choosing and testing."""
    model = ps.MContext(epsilon=ps.Epsilon.of_nano(nano), m=2)
    if works:
        stream = ps.streams.Stream([[1], [0]], presence=[["ann"], ["ann"]])
        assert heard(ps.MA(model=model, k=k), stream).points("decide")
    else:
        with pytest.raises(ps.BadInput, match="too little for 2 time units"):
            ps.MA(model=model, k=k)


# ---- crowds and simulation ------------------------------------------------------------------------------------------


@few
@given(st.integers(1, 40), st.integers(1, 6), st.integers(1, 20), seeds)
def test_a_made_up_crowd_holds_one_record_of_everybody_present(users: int, bins: int, steps: int, seed: int) -> None:
    stream = ps.streams.crowd(users, bins=bins, steps=steps, seed=seed)
    assert stream.presence is not None
    assert stream.counts.shape == (steps, bins)
    assert stream.counts.sum(axis=1).tolist() == [len(set(here)) for here in stream.presence]
    again = ps.streams.crowd(users, bins=bins, steps=steps, seed=seed)
    assert (again.counts.tolist(), again.presence) == (stream.counts.tolist(), stream.presence)
    assert len(list(ps.publish(stream, ps.Adj(model=ps.MContext(epsilon=1, m=2))))) == steps


@pytest.mark.parametrize("told", [{"users": 0}, {"bins": 0}, {"steps": -1}, {"users": 1.5}])
def test_a_crowd_of_nobody_is_refused(told: dict[str, Any]) -> None:
    with pytest.raises(ps.BadInput, match=rf"^{next(iter(told))} must be"):
        ps.streams.crowd(**({"users": 3, "bins": 2, "steps": 2, "seed": 1} | told))


def test_simulate_knows_m_context() -> None:
    told = ("simulate", "--model", "m-context", "--m", "5", "--length", "30", "--trials", "1", "--bins", "3")
    code, out = penstock(*told, "--json")
    assert code == 0, out
    assert all(name in out for name in ('"ma"', '"adj"', '"mmd"', '"uniform"', '"crowd"'))
    assert '"spas"' not in out
    for wrong in (("--m", "0"), ("--bins", "0"), ("--mean", "-1"), ("--mechanism", "spas"), ("--mechanism", "bd")):
        code, out = penstock(*told, *wrong)
        assert (code, out[:7], len(out.splitlines())) == (2, "error: ", 1)
    code, out = penstock(*told, "--kind", "walk")
    assert (code, "leave out --kind" in out) == (2, True)
    code, out = penstock("simulate", "--model", "m-context")
    assert (code, out) == (2, "error: the m-context model needs m; give it a value.\n")


def test_units_called_fresh_have_measured_something_anew(tmp_path: Path) -> None:
    """docs/operating.md: "where a summary counts units as fresh, it means that anything in them was measured anew"."""
    rows = [f"{t},{40 if t % 2 else 60},50" for t in range(1, 61)]
    (tmp_path / "in.csv").write_text("\n".join(["t,a,b", *rows]))
    files = [f"--input={tmp_path / 'in.csv'}", f"--store={tmp_path / 'db'}", f"--output={tmp_path / 'o.csv'}"]
    law = ("--model", "w-event", "--epsilon", "20", "--w", "20", "--mechanism", "ma", "--set", "k=4")
    code, err = penstock("run", *files, *law)
    assert code == 0, err
    with (tmp_path / "o.csv").open() as file:
        kinds = [row["kind"] for row in csv.DictReader(file)]
    assert "republished" in kinds
    with Archive(tmp_path / "db") as archive:
        assert verify(archive, "in").fresh == kinds.count("fresh")
    assert f", {kinds.count('fresh')} fresh." in err


def test_averages_of_the_largest_counts_are_averages() -> None:
    """Sums of them would not fit in 64 bits."""
    mechanism = ps.MA(model=ps.WEvent(epsilon=1, w=2), k=3000)
    mechanism.start(ps.Curator(mechanism.model, 1, noise=ps.ScriptedNoise()))
    mechanism.past, mechanism.past_sd = np.full((3000, 1), 2**53), np.ones(3000)
    rows, _ = mechanism.repeatable()
    assert np.unique(rows).tolist() == [2**53]
