"""Made-up streams have the character they claim, and can be gone through again and again."""

import math
import pickle
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from penstock.errors import BadCounts, BadInput
from penstock.streams import GENERATORS, Repeatable, Rows, Stream, synthetic
from penstock.streams.objects import moving_objects
from penstock.streams.people import census
from penstock.streams.roads import connected, road_map
from penstock.streams.site import pages
from penstock.streams.taxis import taxi_grid
from penstock.types import Floats, Ints

SMALL: dict[str, partial[Rows] | partial[Stream]] = {
    "census": partial(census, 300, attributes=4),
    "moving_objects": partial(moving_objects, 300, side=24, growth=3),
    "taxi_grid": partial(taxi_grid, 300, side=5),
    "pages": partial(pages, 200),
}


def all_rows(stream: Repeatable) -> Ints:
    return np.array(list(stream.rows()))


def likeness(series: Floats | Ints, lag: int) -> float:
    """How a series correlates with itself some units later."""
    return float(np.corrcoef(series[:-lag], series[lag:])[0, 1])


@given(
    st.sampled_from(list(GENERATORS)), st.integers(1, 60), st.integers(1, 6), st.integers(0, 2**40), st.integers(0, 9)
)
@settings(max_examples=100, deadline=None)
def test_every_kind_gives_counts_of_the_shape_asked_for(kind: str, steps: int, bins: int, seed: int, t: int) -> None:
    stream = synthetic(kind, bins=bins, steps=steps, seed=seed)
    assert stream.counts.shape == (len(stream), stream.bins) == (steps, bins)
    assert stream.counts.dtype == np.int64
    assert stream.counts.min() >= 0
    assert stream.shape == (bins,)
    assert np.array_equal(all_rows(stream), stream.counts)
    assert [snapshot.t for snapshot in stream.after(t)] == list(range(t + 1, steps + 1))


@pytest.mark.parametrize("sd", [1, 30, 200])
def test_all_walks_are_one_at_several_scales(sd: int) -> None:
    plain, scaled = (synthetic(kind, bins=5, steps=4000, seed=2).counts for kind in ("walk", f"walk_{sd}"))
    steps = np.diff(scaled, axis=0)
    assert np.abs(scaled / sd - plain / 5).max() <= 0.5 / sd + 0.1  # both are rounded
    assert steps.std() == pytest.approx(sd, rel=0.1)
    assert scaled[0].mean() == pytest.approx(60 * sd, rel=0.1)


def test_steps_are_rare_and_of_all_sizes() -> None:
    counts = synthetic("steps", bins=50, steps=3000, seed=1).counts
    sizes = np.abs(np.diff(counts, axis=0))
    assert (sizes > 0).mean() == pytest.approx(1 / 150, rel=0.25)
    spread = np.histogram(np.log10(sizes[sizes > 0]), [0.9, 2, 3, 4.1])[0] / (sizes > 0).sum()
    assert spread == pytest.approx([1 / 3] * 3, abs=0.1)


def test_bursts_of_a_bursty_stream_are_high_and_short() -> None:
    counts = synthetic("bursty", bins=50, steps=3000, seed=1).counts
    counts = counts[:, np.median(counts, axis=0) >= 30]  # where scatter does not look like a burst
    calm = np.median(counts, axis=0)
    high = counts > 4 * calm
    assert 1 / 150 < high.mean() < 3 / 150
    assert (counts / calm).max() > 25
    lasting = high[:-5] & high[1:-4] & high[2:-3] & high[3:-2] & high[4:-1] & high[5:]
    assert lasting.mean() < 0.01 * high.mean()
    quiet = counts[counts < 2 * calm]
    assert quiet.size > 0.9 * counts.size


def test_a_diurnal_stream_repeats_after_a_day_and_better_after_a_week() -> None:
    counts = synthetic("diurnal", bins=30, steps=48 * 7 * 6, seed=1).counts
    total = counts.sum(axis=1)
    assert likeness(total, 48 * 7) > 0.95 > likeness(total, 48) > 0.6 > likeness(total, 24)
    day = total.reshape(-1, 7, 48)
    working, free = day[:, :5].mean(axis=(0, 1)), day[:, 5:].mean(axis=(0, 1))
    assert working[14:21].max() > 1.3 * working[24:28].max()  # morning, noon
    assert working[32:40].max() > 1.3 * working[24:28].max()
    assert 24 <= free.argmax() < 36


def test_a_weekly_stream_has_a_week_and_a_trend() -> None:
    counts = synthetic("weekly", bins=30, steps=7 * 120, seed=1).counts
    assert likeness(counts.sum(axis=1), 7) > 0.9 > 0.2 > likeness(counts.sum(axis=1), 3)
    weeks = counts.reshape(120, 7, 30).sum(axis=1)
    assert np.median(weeks.max(axis=0) / weeks.min(axis=0)) > 1.8
    assert np.median(np.abs(np.diff(weeks, axis=0)) / weeks[1:]) < 0.1


def test_a_sparse_stream_is_empty_but_for_a_few_bins() -> None:
    counts = synthetic("sparse", bins=200, steps=2000, seed=1).counts
    assert (counts == 0).mean() > 0.9
    busy = counts.mean(axis=0) > 0.1
    assert busy.sum() == 10
    assert 0 < counts[:, ~busy].mean() < 0.01
    assert counts.max() < 25


@pytest.mark.parametrize("name", SMALL)
def test_rows_are_the_same_for_the_same_seed_every_time(name: str) -> None:
    one, same, other = (SMALL[name](steps=30, seed=seed) for seed in (1, 1, 2))
    rows = all_rows(one)
    assert rows.dtype == np.int64
    assert rows.min() >= 0
    assert rows.shape == (len(one), one.bins) == (30, math.prod(one.shape))
    assert np.array_equal(rows, all_rows(one))
    assert np.array_equal(rows, all_rows(same))
    assert not np.array_equal(rows, all_rows(other))
    assert name in repr(one)
    assert one.name == name


@pytest.mark.parametrize("name", SMALL)
def test_a_stream_can_be_sent_to_another_process(name: str) -> None:
    stream = SMALL[name](steps=5, seed=1)
    assert np.array_equal(all_rows(pickle.loads(pickle.dumps(stream))), all_rows(stream))


@given(
    st.sampled_from(list(SMALL)),
    st.integers(1, 40),
    st.integers(1, 12),
    st.integers(1, 30),
    st.integers(0, 2**40),
)
@settings(max_examples=40, deadline=None)
def test_every_size_works(name: str, number: int, side: int, steps: int, seed: int) -> None:
    sides = {"side": side} if name in ("moving_objects", "taxi_grid") else {}
    stream = SMALL[name].func(number, **sides, steps=steps, seed=seed)
    rows = all_rows(stream)
    assert rows.shape == (steps, stream.bins)
    assert rows.min() >= 0
    if name in ("census", "moving_objects"):
        assert (rows.sum(axis=1) == number).all()
    if name == "taxi_grid":
        assert (rows.sum(axis=1) <= number).all()


def test_rows_yield_snapshots_like_a_stream() -> None:
    counts = np.arange(12).reshape(4, 3)
    made: list[Repeatable] = [Stream(counts), Rows(partial(iter, counts), steps=4, shape=(3,), name="some")]
    for stream in made:
        assert [(snapshot.t, snapshot.bins) for snapshot in stream] == [(t, 3) for t in (1, 2, 3, 4)]
        assert [snapshot.t for snapshot in stream.after(2)] == [3, 4]
        assert list(stream.after(4)) == []
        assert (stream.bins, stream.shape, len(stream)) == (3, (3,), 4)


def test_rows_need_not_be_made_to_the_end() -> None:
    stream = moving_objects(10, side=8, steps=10**9, seed=1)
    rows = stream.rows()
    first, second = next(rows), next(rows)
    assert not np.shares_memory(first, second)
    assert len(stream) == 10**9


def test_a_stream_lies_in_a_domain_of_its_size() -> None:
    assert Stream(np.ones((2, 6), np.int64), shape=(2, 3)).shape == (2, 3)
    with pytest.raises(BadInput, match="does not have 6 bins"):
        Stream(np.ones((2, 6), np.int64), shape=(2, 2))
    with pytest.raises(BadCounts):
        Stream(np.ones(6, np.int64), shape=(2, 3))


def test_a_census_exchanges_more_people_at_some_times_than_at_others() -> None:
    rows = all_rows(census(20_000, attributes=3, steps=200, seed=1))
    moved = np.abs(np.diff(rows, axis=0)).sum(axis=1)
    periods = np.array([part[1:].mean() for part in np.array_split(np.append(0, moved), 10)])
    assert (rows.sum(axis=1) == 20_000).all()
    assert np.corrcoef(periods, [0.5, 1.5, 0.2, 1, 2.5, 0.1, 0.8, 2, 0.3, 1.1])[0, 1] > 0.95
    assert periods.max() > 5 * periods.min()
    assert moved.max() <= 2 * 20_000 * 0.02 * 2.5 * 2  # each counts twice; far beyond what is expected
    assert len(set(moved.tolist())) > 100


def test_fewer_attributes_are_the_same_census_seen_less_closely() -> None:
    whole = census(2000, attributes=6, steps=20, seed=3)
    rows = all_rows(whole).reshape(20, *whole.shape)
    for attributes, bins in ((3, 2304), (4, 4608), (5, 9216)):
        less = census(2000, attributes=attributes, steps=20, seed=3)
        assert less.bins == bins
        assert np.array_equal(all_rows(less), rows.sum(axis=tuple(range(attributes + 1, 7))).reshape(20, bins))


def test_people_are_drawn_from_the_pool_and_each_once() -> None:
    rng = np.random.default_rng(5)
    pool = rng.integers(0, (96, 2, 12), (900, 3))
    there = np.bincount(np.ravel_multi_index(tuple(pool.T), (96, 2, 12)), minlength=2304)
    rows = all_rows(census(600, attributes=3, steps=50, rate=0.3, pool=pool, seed=1))
    assert (rows <= there).all()
    assert (rows.max(axis=0) > rows.min(axis=0)).mean() > 0.8 * (there > 0).mean()


def test_attributes_of_made_up_people_hang_together() -> None:
    people = census(30_000, steps=1, seed=1)
    first = next(people.rows()).reshape(people.shape)
    age = first.sum(axis=(1, 2, 3, 4, 5))
    assert age[:40].sum() > age[56:].sum() > 0
    assert first[:20, ..., 1:].sum() == first[20:, ..., 0].sum() == 0
    assert first[:16, :, :, :, 1].sum() == 0
    rich = first.sum(axis=(0, 1, 3, 4))  # by education
    assert rich[9, 2] / rich[9, 1:].sum() > rich[4, 2] / rich[4, 1:].sum() + 0.1


def test_roads_lead_everywhere_by_the_fastest_way() -> None:
    roads, ways = road_map(300, np.random.default_rng(4))
    places = len(roads.places)
    graph = csr_array((roads.time, (roads.start, roads.end)), shape=(places, places))
    best = dijkstra(graph, indices=ways.hubs).T
    taken, place = np.zeros_like(best), np.tile(np.arange(places)[:, np.newaxis], len(ways.hubs))
    column = np.arange(len(ways.hubs))
    for _ in range(places):
        road = ways.road[place, column]
        on_the_way = place != ways.hubs
        taken += np.where(on_the_way, roads.time[road], 0)
        place = np.where(on_the_way, roads.end[road], place)
    assert (place == ways.hubs).all()
    assert taken == pytest.approx(best)
    into = (roads.end[ways.road] == ways.hubs) & (np.arange(places)[:, np.newaxis] != ways.hubs)
    assert (np.where(into, ways.flow, 0).sum(axis=0) == places - 1).all()


def test_a_map_is_what_hangs_together() -> None:
    rng = np.random.default_rng(4)
    town, village = rng.uniform(0, 0.2, (40, 2)), rng.uniform(0.8, 0.9, (20, 2))  # each place has 16 nearer ones
    roads = connected(np.concatenate([village, town]))
    assert np.array_equal(roads.places, town)
    assert set(roads.start.tolist()) == set(range(40))


def test_roads_are_few_and_of_three_classes() -> None:
    roads, _ = road_map(1000, np.random.default_rng(4))
    lengths = np.linalg.norm(roads.places[roads.start] - roads.places[roads.end], axis=1)
    speeds, number = np.unique((lengths / roads.time).round(6), return_counts=True)
    assert speeds.tolist() == [0.001, 0.002, 0.004]
    assert number[0] > number[1] > number[2] > 0
    assert len(roads.places) > 800
    assert 1 < len(roads.start) / 2 / len(roads.places) < 2


def test_objects_keep_to_the_roads() -> None:
    traffic = moving_objects(20_000, side=256, steps=60, seed=1)
    rows = all_rows(traffic)
    assert (rows.sum(axis=1) == 20_000).all()
    cells = rows.reshape(-1, 256, 256).max(axis=0) > 0
    assert cells.mean() < 0.2
    assert min(cells.any(axis=0).mean(), cells.any(axis=1).mean()) > 0.8  # but all over the country
    assert rows[-1].max() > 20 * 20_000 / traffic.bins  # main roads
    early, late = rows[:10].mean(axis=0), rows[-10:].mean(axis=0)
    assert np.corrcoef(early, late)[0, 1] > 0.95  # nothing has to settle first


def test_an_object_moves_step_by_step_until_it_arrives() -> None:
    side = 200
    cells = np.array([row.argmax() for row in moving_objects(1, side=side, steps=2500, seed=3).rows()])
    moves = np.abs(np.diff(np.stack(np.divmod(cells, side)), axis=1)).max(axis=0)
    assert np.sort(moves)[-40] <= 2  # a fast road takes it less than a cell away; only a new one begins elsewhere
    assert moves.max() > 20
    assert (moves > 0).mean() > 0.1


def test_taxis_have_days_weeks_a_centre_and_outskirts() -> None:
    city = taxi_grid(5000, side=10, steps=24 * 7 * 3, seed=1)
    total = city.counts.sum(axis=1)
    assert likeness(total, 24 * 7) > 0.99 > likeness(total, 24) > 0.9 > 0 > likeness(total, 12)
    hours = total.reshape(3, 7, 24).mean(axis=0)
    assert hours[:5, 15].min() > 3 * hours[1:5, 3].max()  # the night to Monday belongs to the weekend
    assert hours[5:, 7].max() < 0.8 * hours[:5, 7].min()
    assert np.abs(np.diff(total)).max() < 0.2 * total.max()
    mean = city.counts.mean(axis=0).reshape(10, 10)
    assert mean[4:6, 4:6].mean() > 20 * mean[[0, 0, -1, -1], [0, -1, 0, -1]].mean()
    shares = city.counts.reshape(-1, 24, 100).mean(axis=0)
    full = (shares / shares.sum(axis=1, keepdims=True))[:, mean.ravel() > 50]
    assert (full.max(axis=0) / full.min(axis=0)).max() > 2  # a spot of some hours


@pytest.fixture(scope="module")
def site() -> Ints:
    return all_rows(pages(3000, steps=24 * 60, seed=1))


def test_pages_are_sparse_and_follow_zipf(site: Ints) -> None:
    assert (site == 0).mean() > 0.8
    quiet = np.sort(site[: 24 * 20].sum(axis=0))[::-1]
    rank = np.arange(1, 31)
    slope = np.polyfit(np.log(rank), np.log(quiet[:30]), 1)[0]  # of pages that last
    assert slope == pytest.approx(-1.3, abs=0.1)


def test_pages_have_days_and_matches(site: Ints) -> None:
    total = site.sum(axis=1)
    assert likeness(total[: 24 * 25], 24) > 0.8 > 0.2 > likeness(total[: 24 * 25], 12)  # while interest grows
    season = total[24 * 30 : 24 * 46]
    assert season.max() > 4 * np.median(season) > 12 * np.median(total[: 24 * 20])
    rush = np.sort(site[total.argmax()])[::-1]
    assert rush[:12].sum() > 0.6 * rush.sum()


def test_pages_are_born_and_die(site: Ints) -> None:
    asked = site > 0
    some = asked.sum(axis=0) > 30
    first, last = asked.argmax(axis=0)[some], len(site) - asked[::-1].argmax(axis=0)[some]
    assert (first > 24 * 20).mean() > 0.3
    assert (last < 24 * 50).mean() > 0.3


@pytest.mark.parametrize(
    ("stream", "most"),
    [
        (partial(census, 100_000), 0.03),
        (partial(moving_objects, 100_000, side=512), 0.05),
        (partial(pages), 0.05),
    ],
)
def test_a_row_takes_no_time(stream: partial[Rows], most: float) -> None:
    made = stream(steps=12, seed=1)
    rows = made.rows()
    next(rows)
    begin = time.process_time()
    assert sum(1 for _ in rows) == 11
    assert time.process_time() - begin < 11 * most


@pytest.mark.parametrize(
    ("make", "wrong", "said"),
    [
        (census, {"tuples": 0, "seed": 1}, "tuples must be"),
        (census, {"tuples": 10, "attributes": 2, "seed": 1}, "3 to 6 attributes"),
        (census, {"tuples": 10, "attributes": 7, "seed": 1}, "3 to 6 attributes"),
        (census, {"tuples": 10, "attributes": 3.0, "seed": 1}, "attributes must be a whole number"),
        (census, {"tuples": 10, "rate": 0, "seed": 1}, "rate must be above 0"),
        (census, {"tuples": 10, "rate": "0.5", "seed": 1}, "rate must be a number"),
        (census, {"tuples": 10, "pool": [1, 2, 3], "seed": 1}, "a pool holds a row"),
        (census, {"tuples": 10, "pool": np.zeros((20, 5), np.int64), "seed": 1}, "a pool holds a row of 6"),
        (census, {"tuples": 10, "pool": np.zeros((20, 6)), "seed": 1}, "a pool holds a row"),
        (census, {"tuples": 20, "pool": np.zeros((20, 6), np.int64), "seed": 1}, "more than the 20 people"),
        (census, {"tuples": 10, "pool": np.full((20, 6), 2), "seed": 1}, "count from 0 to below 96, 2"),
        (census, {"tuples": 10, "pool": np.full((20, 6), -1), "seed": 1}, "count from 0 to below 96, 2"),
        (census, {"tuples": 10, "steps": 0, "seed": 1}, "steps must be"),
        (moving_objects, {"objects": 0, "seed": 1}, "objects must be"),
        (moving_objects, {"side": 5000, "seed": 1}, "side must be a whole number from 1 to 4096"),
        (moving_objects, {"growth": -1, "seed": 1}, "growth must be 0 or more"),
        (moving_objects, {"growth": 0.5, "seed": 1}, "growth must be a whole number"),
        (moving_objects, {"steps": 0, "seed": 1}, "steps must be"),
        (taxi_grid, {"taxis": 0, "seed": 1}, "taxis must be"),
        (taxi_grid, {"side": 0, "seed": 1}, "side must be"),
        (taxi_grid, {"steps": -3, "seed": 1}, "steps must be"),
        (pages, {"bins": 0, "seed": 1}, "bins must be"),
        (pages, {"steps": 0, "seed": 1}, "steps must be"),
        (pages, {"seed": None}, "seed must be a whole number"),
        (synthetic, {"seed": -1}, "seed must be 0 or more"),
        (Rows, {"make": iter, "steps": 0, "shape": (1,), "name": "none"}, "steps must be"),
    ],
)
def test_bad_arguments_are_refused(make: Callable[..., object], wrong: dict[str, Any], said: str) -> None:
    with pytest.raises(BadInput, match=said):
        make(**wrong)
