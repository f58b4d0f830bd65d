"""The named streams of the benchmark: of files, packed or not, repeated, counted from events, or made up."""

import gzip
import os
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from penstock.bench.suite.events import Binning
from penstock.bench.suite.files import rows
from penstock.bench.suite.naming import Loaded
from penstock.bench.suite.stand_ins import CHARACTERS, DRAWN, Character, stand_in
from penstock.bench.suite.streams import LONG, LONG_ENOUGH, NAMED, PEERS, load, named, prefix
from penstock.errors import BadInput
from penstock.types import Floats, Ints

DATA = os.environ.get("PENSTOCK_DATA", "")
OF_FILES = [name for name, each in NAMED.items() if each.file]
IN_THE_CITY = "39.9,116.4"
in_one_folder = settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])


def put(folder: Path, file: str, counts: Ints, labels: list[str] | None = None) -> None:
    """A file of these rows."""
    lines = [",".join(["t", *(f"bin {i}" for i in range(counts.shape[1]))])]
    for label, row in zip(labels or map(str, range(len(counts))), counts.tolist(), strict=True):
        lines.append(",".join([label, *map(str, row)]))
    text = "\n".join([*lines, ""])
    (folder / file).write_bytes(gzip.compress(text.encode()) if file.endswith(".gz") else text.encode())


def counting(units: int, bins: int = 1) -> Ints:
    return np.arange(units * bins).reshape(units, bins)


# ---- every stream ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMED)
def test_without_a_folder_every_stream_is_made_up_and_the_same_every_time(name: str) -> None:
    loaded = load(name, None)
    assert (loaded.name, loaded.about) == (name, NAMED[name].about)
    assert loaded.origin == ("stand-in" if name in OF_FILES else "generated")
    assert loaded.counts.dtype == np.int64
    assert loaded.counts.shape == (len(loaded), loaded.bins)
    assert int(np.prod(loaded.shape)) == loaded.bins
    assert loaded.counts.min() >= 0 < loaded.counts.max()
    assert not loaded.counts.flags.writeable
    assert loaded.digest() == load(name, None).digest()


def test_no_two_streams_are_the_same() -> None:
    digests = {load(name, None).digest() for name in LONG}
    assert len(digests) == len(LONG)
    steps = [np.diff(load(name, None).counts[:, 0]) for name in ("rw1", "rw5", "rw30", "rw200")]
    assert np.abs(np.corrcoef(steps) - np.eye(4)).max() < 0.1


def test_the_streams_of_the_leaderboard() -> None:
    bins = {"state_flu": 55, "tdrive": 64, "retail": 100, "flu_age": 4, "geolife": 64, "syn3": 10, "sparse": 200}
    assert len(LONG) == 22
    for name in LONG:
        loaded = load(name, None)
        assert loaded.bins == bins.get(name, 1)
        assert len(loaded) == LONG_ENOUGH


def test_names_can_be_typed() -> None:
    assert all(name.replace("_", "").isalnum() and name == each.name for name, each in NAMED.items())
    assert set(PEERS.values()) <= set(NAMED)


def test_an_unknown_name_is_refused_with_a_near_one() -> None:
    for meant in ("flu_ou", "flu_ou[:9]"):
        with pytest.raises(BadInput, match=r"flu_out, flu_death, .* Did you mean flu_out"):
            load(meant, None)
    assert named("flu_out[:9]") is NAMED["flu_out"]


# ---- beginnings ------------------------------------------------------------------------------------------------------


def test_first_units_by_name() -> None:
    whole, part = load("unemp", None), load("unemp[:180]", None)
    assert (part.name, part.origin, part.about, len(part)) == ("unemp[:180]", whole.origin, whole.about, 180)
    assert np.array_equal(part.counts, whole.counts[:180])
    assert part.digest() != whole.digest()
    assert prefix(part, 9).name == "unemp[:9]"
    assert prefix(part, 9).digest() == load("unemp[:180][:9]", None).digest() == load("unemp[:9]", None).digest()


@pytest.mark.parametrize(("name", "told"), [("unemp[:4001]", "fewer than 4001"), ("unemp[:0]", "steps")])
def test_units_that_are_not_there(name: str, told: str) -> None:
    with pytest.raises(BadInput, match=told):
        load(name, None)


def test_a_digest_tells_shapes_apart() -> None:
    flat, square = (Loaded("a", counting(2, 4), "file", "", shape) for shape in ((4,), (2, 2)))
    tall = Loaded("a", counting(4, 2), "file", "", (2,))
    assert len({flat.digest(), square.digest(), tall.digest()}) == 3


# ---- files -----------------------------------------------------------------------------------------------------------


@in_one_folder
@given(units=st.integers(1, 60), bins=st.integers(1, 4), file=st.sampled_from(["retail_100.csv", "retail_100.csv.gz"]))
def test_a_short_file_is_repeated_end_to_end(units: int, bins: int, file: str, tmp_path: Path) -> None:
    for left in tmp_path.iterdir():
        left.unlink()
    counts = counting(units, bins)
    put(tmp_path, file, counts)
    loaded = load("retail", tmp_path)
    assert loaded.origin == "file"
    assert np.array_equal(loaded.counts, counts[np.arange(LONG_ENOUGH) % units])
    assert np.array_equal(load("peers_retail", tmp_path).counts, counts[np.arange(3627) % units])


def test_a_long_file_is_cut(tmp_path: Path) -> None:
    counts = counting(LONG_ENOUGH + 7)
    put(tmp_path, "nyc_taxi_30min.csv", counts)
    assert np.array_equal(load("taxi", tmp_path).counts, counts[:LONG_ENOUGH])


def test_streams_as_the_authors_repeat_them(tmp_path: Path) -> None:
    for file in ("flu_outpatient.csv", "unemployment.csv", "state_flu.csv", "tdrive64.csv"):
        put(tmp_path, file, counting(700))
    lengths = {name: len(load(PEERS[name], tmp_path)) for name in PEERS if load(PEERS[name], tmp_path).origin == "file"}
    assert lengths == {"flu outpatient": 2800, "unemployment": 8 * 609 - 1, "state flu": 4199, "T-Drive": 1399}
    assert load(PEERS["unemployment"], tmp_path).counts[:610, 0].tolist() == [*range(1, 609), 0, 1]


def test_the_latest_flu_season_comes_first_as_the_authors_have_it(tmp_path: Path) -> None:
    weeks = ["2020-W39", "2020-W40", "2021-W39", "2021-W40", "2022-W01"]
    put(tmp_path, "flu_death.csv", counting(5), weeks)
    assert load("peers_flu_death", tmp_path).counts[:7, 0].tolist() == [4, 1, 2, 0, 3, 4, 1]  # without the first one
    assert load("flu_death[:5]", tmp_path).counts[:, 0].tolist() == [0, 1, 2, 3, 4]
    put(tmp_path, "flu_death.csv", counting(5))
    with pytest.raises(BadInput, match=r"flu_death\.csv .* 2021-W40"):
        load("peers_flu_death", tmp_path)


def test_what_is_missing_is_made_up_and_the_rest_is_not(tmp_path: Path) -> None:
    put(tmp_path, "unemployment.csv", counting(9))
    assert load("unemp", tmp_path).origin == "file"
    assert load("flu_out", tmp_path).origin == "stand-in"
    assert load("flu_out", tmp_path).digest() == load("flu_out", None).digest()
    assert load("rw5", tmp_path).origin == "generated"
    assert [NAMED[name].is_there(tmp_path) for name in ("unemp", "flu_out", "rw5")] == [True, False, False]


def test_a_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for data in (tmp_path / "nowhere", tmp_path / "file"):
        with pytest.raises(BadInput, match=f"{data.name} cannot be read"):
            load("flu_out", data)


SPOILT = {
    "empty": b"",
    "only names": b"t,a\n",
    "no names": b"2020-W40,7131\n2020-W41,7132\n",
    "only times": b"t\n1\n2\n",
    "words": b"t,a\n1,many\n",
    "parts": b"t,a\n1,7131.5\n",
    "below 0": b"t,a\n1,-7131\n",
    "huge": b"t,a\n1,71310000000000000000\n",
    "nothing": b"t,a\n1,\n",
    "ragged": b"t,a\n1,7131\n2,7131,7132\n",
    "no text": b"t,a\n1,\xff\n",
    "torn quotes": b't,a\n1,"7131\n',
}


@pytest.mark.parametrize("content", SPOILT.values(), ids=SPOILT)
@pytest.mark.parametrize("packed", [False, True], ids=["plain", "packed"])
def test_a_file_that_cannot_be_read_is_named_and_not_replaced(content: bytes, packed: bool, tmp_path: Path) -> None:
    file = "flu_outpatient.csv" + ".gz" * packed
    (tmp_path / file).write_bytes(gzip.compress(content) if packed else content)
    with pytest.raises(BadInput, match=file) as refusal:
        load("flu_out", tmp_path)
    assert "713" not in str(refusal.value)


def _torn(path: Path) -> None:
    path.write_bytes(gzip.compress(b"t,a\n" + b"1,2\n" * 1000)[:-12])


@pytest.mark.parametrize("spoil", [Path.mkdir, _torn, lambda path: path.write_bytes(b"t,a\n1,2\n")])
def test_a_broken_archive_is_named_and_not_replaced(spoil: Callable[[Path], object], tmp_path: Path) -> None:
    spoil(tmp_path / "flu_outpatient.csv.gz")
    with pytest.raises(BadInput, match=r"flu_outpatient\.csv\.gz"):
        load("flu_out", tmp_path)


def test_a_grid_must_have_its_cells(tmp_path: Path) -> None:
    put(tmp_path, "geolife_dayfold.csv", counting(3, 64))
    assert load("geolife", tmp_path).shape == (8, 8)
    put(tmp_path, "geolife_dayfold.csv", counting(3, 63))
    with pytest.raises(BadInput, match=r"geolife_dayfold\.csv must have 64 bins"):
        load("geolife", tmp_path)


def test_a_census_of_a_pool(tmp_path: Path) -> None:
    people = np.stack([np.arange(6000) % 3, np.arange(6000) % 2, np.zeros(6000)], axis=1).astype(np.int64)
    pool = tmp_path / "census_pool.csv"
    pool.write_text("\n".join(["age,gender,education", *(",".join(map(str, row)) for row in people.tolist())]))
    loaded = load("census", tmp_path)
    assert (loaded.origin, loaded.shape) == ("file", (96, 2, 12))
    assert set(loaded.counts.sum(axis=1).tolist()) == {5000}
    assert not loaded.counts[:, 3 * 24 :].any()  # nobody is older than the pool
    pool.write_text("age,gender,education\n1,1,one\n")
    with pytest.raises(BadInput, match=r"census_pool\.csv"):
        load("census", tmp_path)


# ---- events ----------------------------------------------------------------------------------------------------------


def events(folder: Path, *lines: str) -> Path:
    path = folder / "tdrive_events.csv"
    path.write_text("\n".join(["timestamp,user_id,lat,lon", *lines, ""]))
    return path


def test_users_count_once_in_every_cell_they_visit(tmp_path: Path) -> None:
    events(
        tmp_path,
        "2008-02-02T16:02:10,b,39.75,116.15",  # not in order, and in a corner
        "2008-02-02T16:00:00,a,39.9,116.4",
        "2008-02-02T16:00:59,a,39.9,116.4",
        "2008-02-02T16:00:30,b,39.9,116.4",
        "2008-02-02T16:00:31,a,40.10,116.60",  # the opposite corner
        "2008-02-02T16:02:10,b,39.7,116.4",
        "2008-02-02T16:03:10,b,52.5,13.4",  # far away, but the stream lasts until then
    )
    loaded = load("tdrive_events", tmp_path)
    assert (loaded.origin, loaded.shape, len(loaded)) == ("file", (10, 10), 4)
    assert {(t, cell): n for (t, cell), n in np.ndenumerate(loaded.counts) if n} == {
        (0, 45): 2,
        (0, 99): 1,
        (2, 0): 1,
    }


@in_one_folder
@given(
    visits=st.lists(st.tuples(st.integers(0, 50), st.sampled_from("abc"), st.integers(0, 3)), min_size=1, max_size=30),
    minutes=st.integers(1, 7),
)
def test_events_are_counted_as_sets_of_users(visits: list[tuple[int, str, int]], minutes: int, tmp_path: Path) -> None:
    start, corners = datetime(2008, 2, 2), ("39.8,116.2", "39.8,116.5", "40.0,116.2", "40.0,116.5")
    lines = [f"{start + timedelta(minutes=at)!s},{user},{corners[cell]}" for at, user, cell in visits]
    counts = Binning(2, minutes).read(events(tmp_path, *lines)).counts
    ordinal = start.toordinal() * 24 * 60
    seen = {((ordinal + at) // minutes, cell, user) for at, user, cell in visits}
    first = min(unit for unit, _, _ in seen)
    expected = np.zeros_like(counts)
    for unit, cell, _ in seen:
        expected[unit - first, cell] += 1
    assert np.array_equal(counts, expected)


@pytest.mark.parametrize(
    "line",
    [
        f"yesterday,a,{IN_THE_CITY}",
        "2008-02-02T16:00,a,north,116.4",
        "2008-02-02T16:00,a,nan,116.4",
        f"2008-02-02T16:00,{IN_THE_CITY}",
        f"0008-02-02T16:00,a,{IN_THE_CITY}",
    ],
)
def test_events_that_cannot_be_read_are_refused(line: str, tmp_path: Path) -> None:
    events(tmp_path, f"2008-02-02T16:00,a,{IN_THE_CITY}", line)
    with pytest.raises(BadInput, match=r"tdrive_events\.csv"):
        load("tdrive_events", tmp_path)


def test_no_events_are_no_stream(tmp_path: Path) -> None:
    events(tmp_path)
    with pytest.raises(BadInput, match=r"tdrive_events\.csv must hold events"):
        load("tdrive_events", tmp_path)


# ---- stand-ins -------------------------------------------------------------------------------------------------------


def drawn(character: Character) -> Ints:
    return character.counts(np.random.default_rng(1))


@given(
    steps=st.integers(1, 40),
    bins=st.integers(1, 9),
    mean=st.floats(100, 1e6),
    uneven=st.floats(0, 2),
    period=st.integers(2, 60),
    swing=st.floats(-2, 2),
    sway=st.floats(0, 2),
    memory=st.floats(0.1, 100),
)
def test_a_stand_in_has_the_size_and_the_mean_it_should_have(
    steps: int, bins: int, mean: float, uneven: float, period: int, swing: float, sway: float, memory: float
) -> None:
    character = Character(steps, bins, mean, uneven, uneven, 0.0, period, swing, 0.5, sway, memory)
    counts = drawn(character)
    assert counts.shape == (steps, bins)
    assert abs(counts.mean() - mean) <= 0.5
    assert np.array_equal(counts, drawn(character))


def test_every_figure_of_a_character_does_what_it_says() -> None:
    plain = Character(520, 100, 1000)
    assert (drawn(plain) == 1000).all()
    uneven = drawn(Character(520, 100, 1000, uneven=1, thin=2, bare=0.1)).mean(axis=0)
    assert (uneven == 0).sum() == 10
    logs: Floats = np.log(np.sort(uneven[uneven > 0]))
    assert 1.9 < (logs[39] - logs[0]) / (logs[79] - logs[40]) < 2.1  # twice as far down as up
    seasonal = drawn(Character(520, 1, 1000, period=52, swing=1, closed=0.1))[:, 0]
    assert seasonal[26] > 5 * seasonal[5]
    assert 0.05 < (seasonal == 0).mean() < 0.15
    grown = drawn(Character(520, 1, 1000, growth=2))[:, 0]
    assert abs(np.log(grown[-1] / grown[0]) - 2) < 0.1
    slow, fast = (drawn(Character(520, 1, 1000, sway=0.5, memory=memory))[:, 0] for memory in (50, 0.5))
    assert np.abs(np.diff(slow)).mean() * 3 < np.abs(np.diff(fast)).mean()
    assert 0.8 < drawn(Character(520, 100, 1000, scatter=1)).var() / 1000 < 1.2


def test_there_is_a_stand_in_for_every_file() -> None:
    assert {each.file for each in NAMED.values()} - {"", "census_pool.csv"} == {*CHARACTERS, *DRAWN}


# ---- with the files --------------------------------------------------------------------------------------------------


needs_files = pytest.mark.skipif(not DATA, reason="the files are in a folder that PENSTOCK_DATA names")


@needs_files
@pytest.mark.parametrize("file", [*CHARACTERS, *DRAWN])
def test_a_stand_in_is_like_its_file(file: str) -> None:
    name = next(name for name, each in NAMED.items() if each.file == file)
    if not NAMED[name].is_there(Path(DATA)):
        pytest.skip(f"there is no {file}")
    made = stand_in(file)
    real = load(name, Path(DATA)).counts[: len(made)]
    made = made[: len(real)]  # streams of the leaderboard are cut
    assert real.shape == made.shape
    assert made.mean() == pytest.approx(real.mean(), rel=0.05)
    assert np.abs(np.diff(made, axis=0)).mean() == pytest.approx(np.abs(np.diff(real, axis=0)).mean(), rel=0.1)
    assert (made == 0).mean() == pytest.approx((real == 0).mean(), abs=0.02)
    assert 1 / 2.5 < made.max() / real.max() < 2.5


@needs_files
def test_taxis_are_counted_from_events_as_in_the_sample() -> None:
    folder = Path(DATA)
    if not NAMED["tdrive_events"].is_there(folder) or not NAMED["tdrive_minute"].is_there(folder):
        pytest.skip("there are no events of taxis, or no sample")
    _, sample = rows(folder / "tdrive_sample_1min.csv")
    counted = load("tdrive_events", folder)
    assert counted.shape == load("tdrive_minute", folder).shape
    assert np.array_equal(counted.counts[: len(sample)], sample)
