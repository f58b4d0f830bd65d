"""The loop through a store: what reaches the sink, and what is done to releases on the way."""

from dataclasses import replace
from datetime import date, timedelta
from pathlib import Path

import numpy as np
import polars
import pytest

import penstock as ps
from penstock.mechanisms.uniform import Uniform
from penstock.types import Cause

LAW = ps.WEvent(epsilon=4, w=4)
BINS = ("north", "south")


class Collected:
    """A sink that keeps what it is given, and knows how far it got."""

    link = ""
    keeps = True

    def __init__(self, last: int | None = 0) -> None:
        self.last = last
        self.releases: list[ps.Published] = []

    def write(self, release: ps.Published) -> None:
        self.releases.append(release)
        self.last = release.t if self.last is not None else None


class RunningSum:
    """The sum of the last ``width`` releases: it has to have seen them."""

    def __init__(self, width: int) -> None:
        self.reach = width - 1
        self._seen: list[np.ndarray] = []

    def __call__(self, release: ps.Published) -> ps.Published:
        self._seen = [*self._seen, release.values][-self.reach - 1 :]
        return replace(release, values=np.sum(self._seen, axis=0))


def opened(store: ps.Store, mechanism: type[ps.Mechanism] = ps.Uniform) -> ps.Publisher:
    return ps.Publisher(mechanism(model=LAW), store, "people", bins=BINS)


def stream(steps: int) -> ps.streams.Stream:
    return ps.streams.synthetic("walk", bins=2, steps=steps, seed=3)


@pytest.mark.parametrize("cut", [1, 2, 5, 9])
def test_post_processing_is_rebuilt_from_what_is_stored(tmp_path: Path, cut: int) -> None:
    sink = Collected()
    for steps in (cut, 12):
        with ps.Store(tmp_path / "db") as store, opened(store) as publisher:
            list(publisher.run(stream(steps), sink, post=[RunningSum(3)]))
            values = [release.values for release in publisher.releases()]
    sums = [np.sum(values[max(t - 3, 0) : t], axis=0) for t in range(1, 13)]
    assert [release.values.tolist() for release in sink.releases] == [each.tolist() for each in sums]


def test_a_sink_gets_what_it_has_missed_and_nothing_twice(tmp_path: Path) -> None:
    with ps.Store(tmp_path / "db") as store, opened(store) as publisher:
        list(publisher.run(stream(6)))
    sink = Collected(last=4)
    with ps.Store(tmp_path / "db") as store, opened(store) as publisher:
        shown = list(publisher.run(stream(8), sink))
    assert [release.t for release in sink.releases] == [5, 6, 7, 8]
    assert [release.t for release in shown] == [5, 6, 7, 8]


def test_a_sink_that_knows_nothing_gets_the_release_of_every_row(tmp_path: Path) -> None:
    with ps.Store(tmp_path / "db") as store, opened(store) as publisher:
        first = list(publisher.run(stream(6)))
    sink = Collected(last=None)
    with ps.Store(tmp_path / "db") as store, opened(store) as publisher:
        list(publisher.run(stream(7), sink))
    assert [release.t for release in sink.releases] == list(range(1, 8))
    assert all(release.same_as(other) for release, other in zip(sink.releases, first, strict=False))


def test_a_data_frame_is_published_under_its_own_dates(tmp_path: Path) -> None:
    weeks = [date(2026, 1, 5) + timedelta(weeks=i) for i in (0, 1, 4, 5)]
    source = ps.streams.FrameSource(polars.DataFrame({"week": weeks, "north": range(4), "south": range(4)}))
    with ps.Store(tmp_path / "db") as store, opened(store) as publisher:
        with pytest.raises(ps.BadInput, match="row 3, column 1: 2 time units are missing"):
            list(publisher.run(source))
        releases = list(publisher.run(source, Collected(last=2), gaps=True))
    labels = ["2026-01-19", "2026-01-26", "2026-02-02", "2026-02-09"]
    assert [release.label for release in releases] == labels
    assert [release.cause for release in releases] == [Cause.MISSING] * 2 + [Cause.DECIDED] * 2
    assert [bool(release.charged) for release in releases] == [False, False, True, True]


def test_a_failing_step_is_logged_without_what_it_saw(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    class Careless(Uniform):
        def decide(self, snapshot: ps.Snapshot) -> ps.Release:
            release = super().decide(snapshot)
            if snapshot.t == 2:
                raise ValueError(f"the values are {release.values}")
            return release

    mechanism = Careless(model=LAW, allow_unproven=True)
    with ps.Store(tmp_path / "db") as store, ps.Publisher(mechanism, store, "people", bins=BINS) as publisher:
        causes = [publisher.publish(ps.Snapshot(t, [31337, 31337])).cause for t in (1, 2, 3)]
    assert causes[:2] == [Cause.DECIDED, Cause.FAILED]
    assert caplog.messages == ["t=2: the step failed (ValueError); its charge is spent."]
