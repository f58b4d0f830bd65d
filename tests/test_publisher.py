"""Publishing a stream, and what goes wrong before anything is spent."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps
from penstock.errors import HorizonReached

MODEL = ps.WEvent(epsilon=1, w=4)
OTHER = ps.WEvent(epsilon=1, w=3)


def test_one_release_a_unit_with_secure_noise() -> None:
    stream = ps.streams.synthetic("walk", bins=5, steps=12, seed=1)
    releases = list(ps.publish(stream, ps.Uniform(model=MODEL)))
    assert [release.t for release in releases] == list(range(1, 13))
    assert not np.array_equal([release.values for release in releases], stream.counts)


def test_two_secure_runs_differ_and_two_simulated_ones_do_not() -> None:
    stream = ps.streams.synthetic("walk", bins=20, steps=12, seed=1)

    def run(seed: int | None) -> list[list[int]]:
        noise = None if seed is None else ps.SimulationNoise(seed)
        return [release.values.tolist() for release in ps.publish(stream, ps.Uniform(model=MODEL), noise=noise)]

    assert run(None) != run(None)
    assert run(1) == run(1)


def test_a_mechanism_can_be_started_again() -> None:
    """Its state begins anew, whatever a run before has left in it."""
    stream = ps.streams.synthetic("jumps", bins=2, steps=40, seed=1)
    used, new = ps.BA(model=MODEL), ps.BA(model=MODEL)
    for _ in range(2):
        again = [release.values.tolist() for release in ps.publish(stream, used, noise=ps.SimulationNoise(1))]
    assert again == [release.values.tolist() for release in ps.publish(stream, new, noise=ps.SimulationNoise(1))]


def test_not_proven_names_the_models_it_is_proven_for() -> None:
    with pytest.raises(ps.NotProven, match="Sample is not proven for MContext; choose one of EventLevel, WEvent"):
        ps.Sample(model=ps.MContext(epsilon=1, m=3))


def test_a_horizon_ends() -> None:
    stream = ps.streams.synthetic("walk", steps=4, seed=1)
    releases = ps.publish(stream, ps.Uniform(model=ps.UserLevel(epsilon=1, horizon=3)))
    assert [next(releases).t for _ in range(3)] == [1, 2, 3]
    with pytest.raises(HorizonReached, match="declared for a horizon of 3"):
        next(releases)


def test_a_population_is_shared_by_streams() -> None:
    people = ps.Population("riders", epsilon=1.5)
    stream = ps.streams.synthetic("walk", steps=4, seed=1)
    list(ps.publish(stream, ps.Uniform(model=MODEL), population=people))
    with pytest.raises(ps.BudgetExceeded, match=r'population "riders" has 0\.5 of 1\.5 left'):
        ps.publish(stream, ps.Uniform(model=MODEL), population=people)


def test_a_failed_step_leaves_its_charges_spent() -> None:
    class Clumsy(ps.Mechanism):
        proven_for = (ps.WEvent,)

        def decide(self, snapshot: ps.Snapshot) -> ps.Release:
            self.publish(snapshot, ps.Epsilon("0.25"))
            raise RuntimeError

    mechanism = Clumsy(model=MODEL, allow_unproven=True).start(ps.Curator(MODEL, 1))
    with pytest.raises(RuntimeError):
        mechanism.step(ps.Snapshot(1, [3]))
    assert mechanism._curator.ledger.remaining() == ps.Epsilon("0.75")


def test_a_mechanism_without_a_proof_is_locked() -> None:
    class Homemade(ps.Mechanism):
        proven_for = (ps.WEvent,)

        def decide(self, snapshot: ps.Snapshot) -> ps.Release:
            return self.republish(snapshot)

    with pytest.raises(ps.NotProven, match="allow_unproven=True"):
        Homemade(model=MODEL)


@pytest.mark.parametrize(
    "other",
    [
        ps.Sample(model=MODEL).start(ps.Curator(MODEL, 1)),
        ps.Uniform(model=MODEL).start(ps.Curator(MODEL, 2)),
        ps.Uniform(model=OTHER).start(ps.Curator(OTHER, 1)),
    ],
)
def test_a_state_is_loaded_only_where_it_was_saved(other: ps.Mechanism) -> None:
    saved = ps.Uniform(model=MODEL).start(ps.Curator(MODEL, 1)).save()
    with pytest.raises(ps.PenstockError, match="load it where it was saved"):
        other.load(saved)


def test_a_mechanism_and_its_curator_obey_one_law() -> None:
    with pytest.raises(ps.BadInput, match="they must agree"):
        ps.Uniform(model=MODEL).start(ps.Curator(OTHER, 1))


def test_finding_mechanisms_by_name() -> None:
    assert ps.mechanism("SPAS") is ps.SPAS
    with pytest.raises(ps.BadInput, match="Did you mean uniform"):
        ps.mechanism("unifrom")


@pytest.mark.parametrize(
    "make",
    [
        lambda: ps.Uniform(model=ps.WEvent(epsilon="2e-9", w=5)),
        lambda: ps.BD(model=ps.WEvent(epsilon="8e-9", w=5)),
        lambda: ps.BA(model=ps.WEvent(epsilon="8e-9", w=5)),
        lambda: ps.SPAS(model=ps.WEvent(epsilon="2e-8", w=5)),
        lambda: ps.SPAS(model=ps.WEvent(epsilon=1, w=5), decide_share=1e-12),
    ],
)
def test_an_epsilon_that_cannot_be_divided_is_refused_at_construction(make: Callable[[], ps.Mechanism]) -> None:
    with pytest.raises(ps.BadInput, match="use a larger epsilon or a shorter window"):
        make()


def test_a_file_is_not_published_in_memory(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("t,a\n1,5\n", encoding="utf-8")
    source: Any = ps.streams.read(tmp_path / "in.csv")
    with pytest.raises(ps.BadInput, match=r"takes a stream in memory.*use ps\.Publisher"):
        ps.publish(source, ps.Uniform(model=ps.WEvent(epsilon=1, w=3)))
    source.close()


def test_a_parameter_that_was_as_usual_is_called_so(tmp_path: Path) -> None:
    model = ps.WEvent(epsilon=1, w=3)
    with ps.Store(tmp_path / "db") as store:
        with ps.Publisher(ps.DSFT(model=model), store, "s", bins=["a"]) as publisher:
            publisher.publish(ps.Snapshot(1, [5]))
        with pytest.raises(ps.StoreError, match=r"begun with the usual threshold and is opened with threshold = 0\.1"):
            ps.Publisher(ps.DSFT(model=model, threshold=0.1), store, "s", bins=["a"])


class Seen:
    """Post-processing that notes which units it is shown."""

    reach = 2

    def __init__(self) -> None:
        self.units: list[int] = []

    def __call__(self, release: ps.Published) -> ps.Published:
        self.units.append(release.t)
        return release


@pytest.mark.parametrize(
    ("stored", "shown"), [(0, [1, 2, 3, 4, 5]), (1, [1, 2, 3, 4, 5]), (2, [1, 2, 3, 4, 5]), (4, [3, 4, 5])]
)
def test_post_processing_sees_as_many_units_before_as_it_reaches_back(
    tmp_path: Path, stored: int, shown: list[int]
) -> None:
    """After a restart too, where what is stored has reached the sink."""

    class Sink:
        last, link, keeps = stored, "", True

        def write(self, release: ps.Published) -> None:
            assert release.t > stored

    mechanism = ps.Uniform(model=ps.WEvent(epsilon=1, w=2))
    snapshots = [ps.Snapshot(t, [t]) for t in range(1, 6)]
    with ps.Store(tmp_path / "db") as store, ps.Publisher(mechanism, store, "s", bins=("a",)) as publisher:
        for snapshot in snapshots[:stored]:
            publisher.publish(snapshot)
        seen = Seen()
        assert [release.t for release in publisher.run(snapshots, Sink(), post=[seen])] == [*range(stored + 1, 6)]
        assert seen.units == shown


def test_a_calendar_knows_what_is_stored_and_has_gaps_only_if_they_are_allowed(tmp_path: Path) -> None:
    mechanism = ps.Uniform(model=ps.WEvent(epsilon=1, w=2))
    with ps.Store(tmp_path / "db") as store, ps.Publisher(mechanism, store, "s", bins=("a",)) as publisher:
        for t, day in enumerate(("2026-01-01", "2026-01-03"), start=1):
            publisher.publish(ps.Snapshot(t, [1], label=day))
        calendar = publisher.calendar()
        assert (calendar.gaps, calendar.last, calendar.label(4)) == (False, 2, "2026-01-07")
        assert publisher.calendar(gaps=True).gaps


def test_rows_are_no_snapshots(tmp_path: Path) -> None:
    with (
        ps.Store(tmp_path / "db") as store,
        ps.Publisher(ps.Uniform(model=ps.EventLevel(epsilon=1)), store, "s", bins=["a"]) as publisher,
    ):
        with pytest.raises(ps.BadInput, match=r"run\(\) takes a stream, a source or snapshots"):
            list(publisher.run([[1], [2]]))  # type: ignore[list-item]
        assert publisher.t == 0


@pytest.mark.parametrize(("last", "link"), [(2, "0" * 64), (7, "")], ids=["another link", "a later unit"])
def test_an_output_of_another_store_is_refused_before_anything_is_drawn(tmp_path: Path, last: int, link: str) -> None:
    """It may be that of a newer copy: going on would draw units anew that were published."""

    class Sink:
        keeps = True

        def __init__(self) -> None:
            self.last, self.link = last, link

        def write(self, release: ps.Published) -> None:
            raise AssertionError("nothing is written to it")

    mechanism = ps.Uniform(model=ps.WEvent(epsilon=1, w=2))
    with ps.Store(tmp_path / "db") as store, ps.Publisher(mechanism, store, "s", bins=("a",)) as publisher:
        for t in (1, 2):
            publisher.publish(ps.Snapshot(t, [t]))
        with pytest.raises(ps.BadInput, match=f"the output holds a release of t={last} that is not in the store"):
            list(publisher.run([ps.Snapshot(3, [3])], Sink()))
        assert publisher.t == 2
