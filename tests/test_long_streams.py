"""Long streams are asked about, verified and stated in memory that hardly grows with them."""

import tracemalloc
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from in_process import command
from penstock.asking import count
from penstock.charges import Point, Recount, recount
from penstock.statement import stated
from penstock.store import Archive
from penstock.store.account import Account, Record
from penstock.store.verify import verify
from penstock.theory.sums import condensed, half_width

LAW = ps.WEvent(epsilon=1, w=5)


def published(folder: Path, units: int) -> Path:
    stream = ps.streams.Stream([[5, t] for t in range(units)])
    with (
        ps.Store(folder / "s.db") as store,
        ps.Publisher(ps.Uniform(model=LAW), store, "s", bins=["a", "b"]) as publisher,
        ps.streams.write(folder / "out.csv", ["a", "b"]) as sink,
    ):
        for _ in publisher.run(stream, sink):
            pass
    return folder / "out.csv"


def peak_of(releases: Path) -> int:
    tracemalloc.start()
    try:
        assert command("query", releases, "--sum", "--from", "t=1", "--json")[0] == 0
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_the_sum_of_a_long_stream_takes_no_more_memory_than_that_of_a_short_one(tmp_path: Path) -> None:
    header, line = published(tmp_path, 1).read_text().splitlines()
    peaks = []
    for units in (200, 200, 3000):  # the first is for what is made once
        path = tmp_path / f"{units}.csv"
        rows = [line.replace("1,1,", f"{t},{t},", 1) for t in range(1, units + 1)]
        path.write_text("\n".join([header, *rows, ""]))
        peaks.append(peak_of(path))
    assert peaks[2] < peaks[1] + 2**17


def test_a_statement_reads_every_record_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    published(tmp_path, 30)
    read, real = Counter[int](), Archive.records

    def counted(archive: Archive, account: Account, after: int = 0) -> Iterator[Record]:
        for record in real(archive, account, after):
            read[record.t] += 1
            yield record

    monkeypatch.setattr(Archive, "records", counted)
    with Archive(tmp_path / "s.db") as archive:
        found = stated(archive, "s")
    assert read == dict.fromkeys(range(1, 31), 1)
    assert (found.spent.charges, found.spent.fullest_set, found.released.units) == (30, "1", 30)


def test_a_stream_can_be_verified_up_to_an_earlier_unit(tmp_path: Path) -> None:
    published(tmp_path, 9)
    seen: list[int] = []
    with Archive(tmp_path / "s.db") as archive:
        account = archive.account("s")
        account.t = 4
        found = verify(archive, "s", upto=account, seen=lambda entry: seen.append(entry.t))
        assert verify(archive, "s").units == 9
    assert (found.units, str(found.peak), seen) == (4, "0.8", [1, 2, 3, 4])


def test_a_recount_keeps_few_bytes_of_a_charge() -> None:
    tracemalloc.start()
    try:
        counted, each = Recount(), ps.Epsilon("0.1")
        for t in range(1, 20_001):
            counted.add([Point(t, each, "publish")])
        assert tracemalloc.get_traced_memory()[0] < 25 * 20_000
        assert counted.fullest(LAW) == recount([Point(t, each, "publish") for t in range(1, 9)], LAW)
    finally:
        tracemalloc.stop()


@given(
    st.lists(st.sampled_from([0.5, 2.0, 3.5, 40.0]), min_size=1, max_size=250),
    st.sampled_from([0.5, 0.9, 0.99]),
    st.booleans(),
)
def test_noises_that_are_alike_can_be_told_by_their_number(sds: list[float], confidence: float, whole: bool) -> None:
    kinds, often = np.unique(sds, return_counts=True)
    told = half_width(kinds, confidence, discrete=whole, often=often)
    assert told == pytest.approx(half_width(sds, confidence, discrete=whole), rel=1e-9)
    np.testing.assert_allclose(condensed(kinds, often=often), condensed(np.array(sds)))


@given(st.lists(st.lists(st.integers(-5, 9), min_size=3, max_size=3), min_size=1, max_size=6), st.integers(1, 7))
def test_releases_one_by_one_make_the_same_count(rows: list[list[int]], chosen: int) -> None:
    mask = np.array([bool(chosen >> bin_number & 1) for bin_number in range(3)])
    releases = [
        ps.Release(t, np.array(row), np.zeros(3, np.int8), np.array([2.0, 3.0, 2.0]), ps.Epsilon("0.1"))
        for t, row in enumerate(rows, start=1)
    ]
    answer = count(iter(releases), mask, histogram=ps.histograms.Laplace())
    drawn = np.concatenate([release.noise_sd[mask] for release in releases])
    assert answer.value == sum(int(release.values[mask].sum()) for release in releases)
    assert (answer.values, answer.fresh, answer.warning) == (drawn.size, drawn.size, "")
    assert answer.noise_sd == pytest.approx(float(np.sqrt((drawn**2).sum())))
    assert answer.high is not None
    assert answer.high - answer.value == half_width(drawn, 0.95)
