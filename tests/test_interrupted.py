"""DSFT, DSAT and FAST when something happens to them: restarts, lost keys, lost units, missing input, failing noise."""

from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from penstock.charges import Fact, recount
from penstock.types import Cause, Ints

fixed = settings(derandomize=True, deadline=None, max_examples=60)
MODELS: list[Any] = [
    ps.UserLevel(epsilon=2, horizon=60),
    ps.WEvent(epsilon=2, w=9, neighbours="replace"),
    ps.WEvent(epsilon=1, w=1),
]
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "dsft": ("dsft", {"metric": "l2"}),
    "dsat": ("dsat", {"proportional": 0.8, "integral": 0.3, "derivative": -0.2, "reach": 3, "gain": 0.2}),
    "fast": ("fast", {"rate": 0.4, "derivative": 0.2, "reach": 2, "process": 50.0, "measurement": 400.0}),
    "blocks": ("fast", {"rate": 0.4, "blocks": True, "reach": 2}),
}
kinds, models, seeds = st.sampled_from([*KINDS]), st.sampled_from(MODELS), st.integers(0, 99)


def made(kind: str, model: ps.PrivacyModel) -> ps.Mechanism:
    name, options = KINDS[kind]
    return ps.mechanism(name)(model=model, **options)


def jumps(seed: int, steps: int = 60) -> list[ps.Snapshot]:
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 200, (steps // 5 + 1, 2)).repeat(5, axis=0)
    return [ps.Snapshot(t, rows[t]) for t in range(1, steps + 1)]


def is_new(release: ps.Release) -> bool:
    return bool(release.kind[0] != ps.Kind.REPUBLISHED)


@fixed
@given(kinds, models, seeds, st.sets(st.integers(1, 59)))
def test_a_restart_with_the_key_changes_nothing(kind: str, model: Any, seed: int, restarts: set[int]) -> None:
    """Threshold, controller, filter, schedule and run are found again as they were."""
    key = ps.new_key()

    def started(noise: ps.SimulationNoise) -> ps.Mechanism:
        return made(kind, model).start(ps.Curator(model, 2, noise=noise))

    noise, same = ps.SimulationNoise(seed), ps.SimulationNoise(seed)
    steady, resumed = started(noise), started(same)
    for snapshot, again in zip(jumps(seed), jumps(seed), strict=True):
        assert resumed.step(snapshot).same_as(steady.step(again))
        if snapshot.t in restarts:
            successor = started(same)
            successor.load(resumed.save(key), key)
            resumed = successor


class Broken(Exception):
    """The source of noise is gone."""


class Failing(ps.SimulationNoise):
    """Noise that fails on demand."""

    broken = False

    def laplace(self, scale: Fraction, size: int) -> Ints:
        if self.broken:
            raise Broken
        return super().laplace(scale, size)


events = st.dictionaries(st.integers(1, 60), st.sampled_from(["missing", "lost", "lost a bit", "no key", "fails"]))


@fixed
@given(kinds, models, seeds, events)
def test_whatever_happens_it_goes_on_within_its_budget(
    kind: str, model: Any, seed: int, events: dict[int, str]
) -> None:
    """No step raises but the one whose noise fails, and no protected set overspends."""
    facts: list[Fact] = []
    noise = Failing(seed)

    def started() -> ps.Mechanism:
        return made(kind, model).start(ps.Curator(model, 2, noise=noise, journal=facts.append))

    mechanism = started()
    for snapshot in jumps(seed):
        event = events.get(snapshot.t)
        if event == "no key":
            state, mechanism = mechanism.save(), started()
            mechanism.load(state)
        if event == "missing":
            mechanism.pass_over(snapshot)
        elif event in ("lost", "lost a bit"):
            most = mechanism._curator.ledger.remaining_next()
            mechanism.pass_over(snapshot, most if event == "lost" else most.share(0.1))
        else:
            noise.broken = event == "fails"
            with suppress(Broken):
                mechanism.step(snapshot)
    assert mechanism._curator.ledger.audit().holds
    assert recount(facts, model) <= model.epsilon


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("at", [1, 2, 9, 17])
def test_it_publishes_again_when_a_lost_window_has_passed(kind: str, at: int) -> None:
    """A crash costs a window: in every later one something is published, as in a stream that nothing happened to."""
    model: ps.PrivacyModel = ps.WEvent(epsilon=10, w=8)

    def new(lost: int) -> list[int]:
        mechanism = made(kind, model).start(ps.Curator(model, 2, noise=ps.ScriptedNoise()))
        releases = [
            mechanism.pass_over(snapshot, model.epsilon) if snapshot.t == lost else mechanism.step(snapshot)
            for snapshot in jumps(3)
        ]
        return [release.t for release in releases if is_new(release)]

    undisturbed, disturbed = new(0), new(at)
    for first in range(at + 8, 53, 8):
        assert [t for t in undisturbed if first <= t < first + 8]
        assert [t for t in disturbed if first <= t < first + 8]


@pytest.mark.parametrize("kind", KINDS)
def test_a_stream_of_losses_publishes_nothing_and_does_not_fail(kind: str) -> None:
    """Every other unit is lost: no window can pay for anything."""
    model: ps.PrivacyModel = ps.WEvent(epsilon=1, w=4)
    mechanism = made(kind, model).start(ps.Curator(model, 2, noise=ps.ScriptedNoise()))
    for snapshot in jumps(1):
        if snapshot.t % 2:
            mechanism.pass_over(snapshot, model.epsilon)
        else:
            assert not is_new(mechanism.step(snapshot))


@pytest.mark.parametrize("kind", ["dsft", "dsat"])
def test_a_key_lost_on_a_horizon_does_not_lose_the_horizon(kind: str) -> None:
    """The run is over, but what was kept for releases is not spent: the last unit is published at least."""
    model: ps.PrivacyModel = ps.UserLevel(epsilon=2, horizon=60)
    noise, mechanism = ps.ScriptedNoise(), made(kind, model)
    mechanism.start(ps.Curator(model, 2, noise=noise))
    for snapshot in jumps(1)[:20]:
        mechanism.step(snapshot)
    successor = made(kind, model).start(ps.Curator(model, 2, noise=noise))
    successor.load(mechanism.save())
    last = [successor.step(snapshot) for snapshot in jumps(1)[20:]][-1]
    assert successor._curator.ledger.audit().holds
    assert is_new(last) or successor.curator.remaining() < model.epsilon / 4


class Gone(BaseException):
    """The process is gone."""


def opened(kind: str, model: ps.PrivacyModel, store: ps.Store) -> ps.Publisher:
    return ps.Publisher(made(kind, model), store, "s", bins=["a", "b"])


@pytest.mark.parametrize("kind", KINDS)
def test_a_process_that_dies_in_its_first_unit(kind: str, tmp_path: Path) -> None:
    """It is followed by one that publishes as soon as the window allows, and fails nowhere."""
    model, units = ps.WEvent(epsilon=1, w=4), jumps(2, 12)
    with ps.Store(tmp_path / "db") as store:
        publisher = opened(kind, model, store)
        with mock.patch.object(ps.Curator, "ask", side_effect=Gone), pytest.raises(Gone):
            publisher.publish(units[0])
    with ps.Store(tmp_path / "db") as store, opened(kind, model, store) as publisher:
        assert [release.cause for release in publisher.releases()] == [Cause.LOST]
        later = [publisher.publish(unit) for unit in units[1:]]
    assert {release.cause for release in later} == {Cause.DECIDED}
    assert next(release.t for release in later if is_new(release)) == 5


@pytest.mark.parametrize("kind", ["dsat", "blocks"])
def test_stored_streams_are_taken_up_anywhere(kind: str, tmp_path: Path) -> None:
    """More than a hundred units are played back, some of which had no input."""
    model, units = ps.WEvent(epsilon=1, w=12), jumps(4, 130)
    for until in (1, 2, 40, 99, 101, 130):
        with ps.Store(tmp_path / "db") as store, opened(kind, model, store) as publisher:
            for unit in units[publisher.t : until]:
                if unit.t % 9 == 4:
                    publisher.miss()
                else:
                    publisher.publish(unit)
    with ps.Store(tmp_path / "db") as store, opened(kind, model, store) as publisher:
        causes = {release.cause for release in publisher.releases()}
    assert causes == {Cause.DECIDED, Cause.MISSING}
