"""SPAS beyond the generic checks: its parameters, its phases, and how it predicts."""

import numpy as np
import pytest

import penstock as ps
from penstock.mechanisms.spas import SPAS
from penstock.primitives.spread import All, Decay, Recent, spread

W = 10
MODEL = ps.WEvent(epsilon=1, w=W)


def published(stream: ps.streams.Stream, mechanism: SPAS, seed: int = 1) -> list[ps.Release]:
    return list(ps.publish(stream, mechanism, noise=ps.SimulationNoise(seed)))


def fresh_times(releases: list[ps.Release]) -> list[int]:
    return [release.t for release in releases if release.kind[0] == ps.Kind.FRESH]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"warm_up": 0}, "warm_up must be a whole number"),
        ({"decide_share": 0}, "decide_share must lie between 0 and 1"),
        ({"decide_share": 1}, "decide_share must lie between 0 and 1"),
        ({"update": "always"}, "update must be"),
    ],
)
def test_parameters_out_of_range(options: dict[str, object], sentence: str) -> None:
    with pytest.raises(ps.BadInput, match=sentence):
        ps.SPAS(model=MODEL, **options)


def test_warm_up_publishes_every_so_many_units_from_the_publishing_budget() -> None:
    stream = ps.streams.synthetic("walk", steps=W, seed=1)
    releases = published(stream, SPAS(model=MODEL, warm_up=4))
    assert fresh_times(releases) == [1, 5, 9]
    assert {releases[t - 1].charged for t in (1, 5, 9)} == {ps.Epsilon("0.75") / 3}
    assert all(not release.charged for release in releases if release.t not in (1, 5, 9))


@pytest.mark.parametrize(
    ("w", "looks"), [(1, 1), (2, 2), (5, 5), (8, 8), (12, 6), (20, 7), (30, 6), (52, 7), (120, 6), (240, 12)]
)
def test_the_warm_up_is_capped_by_the_window(w: int, looks: int) -> None:
    """Six releases in a window or a few more, as in the paper's of 120; with one alone no movement is ever seen."""
    calm = ps.streams.Stream(np.full((w, 1), 10**6))
    assert len(fresh_times(published(calm, SPAS(model=ps.WEvent(epsilon=1, w=w))))) == looks


def test_a_calm_stream_gets_few_releases_and_a_restless_one_many() -> None:
    calm = ps.streams.Stream(np.full((40 * W, 1), 500))
    restless = ps.streams.synthetic("spas_3", steps=40 * W, seed=1)
    few, many = (len(fresh_times(published(stream, SPAS(model=MODEL)))) for stream in (calm, restless))
    assert few * 2 < many


def test_the_direct_rule_uses_what_would_go_to_waste() -> None:
    streams = [ps.streams.synthetic("jumps", steps=60 * W, seed=seed) for seed in range(1, 6)]
    without, with_it = (
        [release for stream in streams for release in published(stream, SPAS(model=MODEL, direct=on))]
        for on in (False, True)
    )
    assert sum(r.charged.nano for r in without) < sum(r.charged.nano for r in with_it)
    assert len(fresh_times(without)) < len(fresh_times(with_it))


@pytest.mark.parametrize("way", ["recent", "all", "decay"])
def test_all_three_ways_publish(way: str) -> None:
    stream = ps.streams.synthetic("jumps", bins=3, steps=30 * W, seed=2)
    releases = published(stream, ps.SPAS(model=MODEL, update=way))
    assert len(fresh_times(releases)) > 20


def test_error_is_between_that_of_the_extremes_on_mixed_streams() -> None:
    """On a stream of jumps SPAS beats both Uniform and Sample: it adapts, which is what it is for."""
    model = ps.WEvent(epsilon=1, w=120)
    stream = ps.streams.synthetic("jumps", steps=4000, seed=5)

    def error(mechanism: ps.Mechanism) -> float:
        runs = [list(ps.publish(stream, mechanism, noise=ps.SimulationNoise(seed))) for seed in range(3)]
        return float(np.mean([[abs(r.values - stream.counts[r.t - 1]) for r in run] for run in runs]))

    spas, uniform, sample = (error(kind(model=model)) for kind in (ps.SPAS, ps.Uniform, ps.Sample))
    assert spas < uniform
    assert spas < sample


def test_recent_forgets_and_all_does_not() -> None:
    recent, everything = Recent(reach=5), All()
    for t, (before, now) in enumerate([(0, 100), (0, 100), (0, 0)], start=1):
        for estimate in (recent, everything):
            estimate.add(10 * t, np.array([before]), np.array([now]))
    assert recent.variance(30) == 0
    assert everything.variance(30) == pytest.approx(2 * 100**2 / 3)


def test_decay_is_the_weighted_mean_by_definition() -> None:
    rng = np.random.default_rng(4)
    decay, window = Decay(window=7), 7
    seen: list[tuple[int, float]] = []
    for t in sorted(rng.choice(np.arange(1, 200), 60, replace=False).tolist()):
        step = int(rng.integers(1, 50))
        decay.add(t, np.array([0]), np.array([step]))
        seen.append((t, step**2))
        weights = [2.0 ** -np.ceil((t - then) / window) for then, _ in seen]
        expected = np.average([square for _, square in seen], weights=weights)
        assert decay.variance(t) == pytest.approx(expected)


def test_spread_by_name() -> None:
    assert isinstance(spread("recent", 5), Recent)
    assert isinstance(spread("all", 5), All)
    assert isinstance(spread("decay", 5), Decay)
