"""Sums over a sliding window: of releases (SlidingSum, ``--width``), and asked for one by one (SlidingBaseline)."""

from __future__ import annotations

import csv
import io
import math
import shutil
from collections.abc import Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import penstock as ps
from in_process import Crash, command, crash_at, models, penstock, published, script
from penstock.charges import Fact, recount
from penstock.post import SlidingSum
from penstock.types import Cause, Ints

thorough = settings(derandomize=True, deadline=None, max_examples=100)
quick = settings(thorough, max_examples=40)

EVENT = ps.EventLevel(epsilon=1)
CERTAIN = ps.EventLevel(epsilon=500)  # noise of 0, but for chances of exp(-500)
LAW = ps.WEvent(epsilon=1, w=4)
DRAWN = [ps.Kind.FRESH, ps.Kind.GROUPED, ps.Kind.ESTIMATED]


def restless(steps: int, bins: int = 2) -> Ints:
    return np.random.default_rng(steps).integers(0, 1000, (steps, bins))


# ---- SlidingSum ------------------------------------------------------------------------------------------------------


def release_of(t: int, values: Sequence[int], kinds: Sequence[int], sds: Sequence[float]) -> ps.Release:
    return ps.Release(t, np.array(values, np.int64), np.array(kinds, np.int8), np.array(sds), ps.Epsilon(t))


@st.composite
def told(draw: st.DrawFn) -> list[ps.Release]:
    """Two bins, times that may be skipped, and values that are drawn or repeat the one before."""
    times = draw(st.lists(st.integers(1, 30), min_size=1, max_size=20, unique=True).map(sorted))
    releases: list[ps.Release] = []
    for t in times:
        columns = []
        for j in range(2):
            repeats = draw(st.booleans())
            if repeats and releases:
                columns.append((int(releases[-1].values[j]), ps.Kind.REPUBLISHED, float(releases[-1].noise_sd[j])))
            elif repeats:  # of a release before the first that is told
                columns.append((0, ps.Kind.REPUBLISHED, 3.0))
            else:
                kind, sd = draw(st.sampled_from(DRAWN)), draw(st.sampled_from([0.0, 0.5, 4.0, 1e9]))
                columns.append((draw(st.integers(-(2**57), 2**57)), kind, sd))
        releases.append(release_of(t, *zip(*columns, strict=True)))
    return releases


def plainly(releases: Sequence[ps.Release], t: int, width: int, j: int) -> tuple[int, int, float]:
    """The sum of one bin, its kind, and its noise: each draw as often as it is in the sum."""
    known = {each.t: each for each in releases if t - width < each.t <= t}
    units: list[tuple[int, int, float]] = []  # value, kind, noise; a unit that is not known is repeated
    for s in range(min(known), t + 1):
        found = known.get(s)
        units.append((*units[-1][:1], ps.Kind.REPUBLISHED, units[-1][2]) if found is None else of_bin(found, j))
    draws: list[float] = []
    for i, (_, kind, sd) in enumerate(units):
        if i == 0 or kind in (ps.Kind.FRESH, ps.Kind.GROUPED):
            draws.append(0.0)
        draws[-1] += sd
    fresh = all(kind == ps.Kind.FRESH for _, kind, _ in units)
    of_sum = ps.Kind.FRESH if fresh else ps.Kind.ESTIMATED
    if units[-1][1] == ps.Kind.REPUBLISHED:
        of_sum = ps.Kind.REPUBLISHED
    return sum(value for value, _, _ in units), of_sum, math.sqrt(sum(draw**2 for draw in draws))


def of_bin(release: ps.Release, j: int) -> tuple[int, int, float]:
    return int(release.values[j]), int(release.kind[j]), float(release.noise_sd[j])


@thorough
@given(told(), st.integers(2, 32))
def test_a_sum_is_that_of_the_units_in_its_window(releases: list[ps.Release], width: int) -> None:
    sliding = SlidingSum(width)
    for release in releases:
        summed = sliding(release)
        assert (summed.t, summed.charged) == (release.t, release.charged)
        for j in range(2):
            value, kind, sd = plainly(releases, release.t, width, j)
            assert (int(summed.values[j]), int(summed.kind[j])) == (value, kind)
            assert summed.noise_sd[j] == pytest.approx(sd, rel=1e-9)


@thorough
@given(told(), st.integers(1, 12), st.data())
def test_a_stream_that_is_told_again_has_the_same_sums(
    releases: list[ps.Release], width: int, data: st.DataObject
) -> None:
    """From its beginning, or from any unit if the units before it that it needs come first."""
    sliding = SlidingSum(width)
    first = [sliding(release) for release in releases]
    again = data.draw(st.integers(0, len(releases) - 1))
    needed = [each for each in releases[:again] if each.t > releases[again].t - width]
    for each in needed:
        sliding(each)
    assert all(sliding(one).same_as(other) for one, other in zip(releases[again:], first[again:], strict=True))
    assert all(sliding(one).same_as(other) for one, other in zip(releases, first, strict=True))
    assert sliding(releases[-1]).same_as(first[-1])  # and the same unit once more counts once


@quick
@given(told())
def test_a_width_of_one_changes_nothing(releases: list[ps.Release]) -> None:
    sliding = SlidingSum(1)
    assert sliding.reach == 0
    assert all(sliding(release).same_as(release) for release in releases)


def test_what_it_was_given_stays_as_it_was() -> None:
    releases = [release_of(t, [t, 2 * t], [0, 1], [1.0, 2.0]) for t in (1, 2, 3)]
    sliding = SlidingSum(3)
    sums = [sliding(release) for release in releases]
    assert [each.values.tolist() for each in releases] == [[1, 2], [2, 4], [3, 6]]
    assert [each.noise_sd.tolist() for each in releases] == [[1.0, 2.0]] * 3
    assert [each.values.tolist() for each in sums] == [[1, 2], [3, 6], [6, 12]]


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("width", [2, 3, 40])
def test_sums_of_anything_keep_their_sign(sign: int, width: int) -> None:
    """Values that noise has made enormous are cut rather than wrapped around."""
    sliding = SlidingSum(width)
    sums = [int(sliding(release_of(t, [sign * (2**63 - 1)], [0], [1.0])).values[0]) for t in range(1, width + 9)]
    assert min(sign * each for each in sums) > 0
    assert sorted(sums, key=abs) == sums


@pytest.mark.parametrize("width", [0, -1, 1.0, "2", True, None, float("nan"), [3]], ids=repr)
def test_a_width_is_a_whole_number_of_one_or_more(width: Any) -> None:
    with pytest.raises(ps.BadInput, match=r"^width must be a whole number from 1 to 10000; got .*\.$"):
        SlidingSum(width)


def test_a_width_beyond_the_stream_is_a_running_sum() -> None:
    sliding = SlidingSum(10_000)
    sums = [int(sliding(release_of(t, [2**40], [0], [1.0])).values[0]) for t in (1, 2, 3)]
    assert sums == [2**40, 2 * 2**40, 3 * 2**40]


@pytest.mark.parametrize("width", [10_001, 10**15, 2**63])
def test_a_width_that_no_memory_holds_is_refused(width: int) -> None:
    with pytest.raises(ps.BadInput, match="from 1 to 10000"):
        SlidingSum(width)


@pytest.mark.parametrize("every", [1, 2, 3, 7])
@pytest.mark.parametrize("width", [1, 2, 5])
def test_noise_sd_is_the_deviation_of_the_sums(every: int, width: int) -> None:
    """Repeated values share their noise: their sum has it so many times, not the root of so many times."""
    model = ps.WEvent(epsilon=1, w=12, per_unit=2)
    sliding, bins = SlidingSum(width), 12_000
    for release in published(ps.Fixed(model=model, every=every), np.full((9, bins), 50), ps.SimulationNoise(every)):
        summed = sliding(release)
        assert len(set(summed.noise_sd.tolist())) == 1
        errors = summed.values - 50.0 * min(width, release.t)
        assert errors.std() == pytest.approx(summed.noise_sd[0], rel=6 * math.sqrt(5 / (4 * bins)))


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_sums_of_groups_have_no_more_noise_than_they_say(share: float) -> None:
    """Where the monitor decides what is repeated, a release with much noise is repeated less often: less is left."""
    model, sliding = ps.EventLevel(epsilon=0.2), SlidingSum(5)
    rows = np.full((20, 6000), 400)
    sums = [sliding(each) for each in published(ps.RG(model=model, monitor_share=share), rows, ps.SimulationNoise(5))]
    for summed in sums[4:]:
        told, found = (summed.noise_sd**2).mean(), ((summed.values - 2000.0) ** 2).mean()
        assert 0.4 * told < found < 1.1 * told


# ---- after the store -------------------------------------------------------------------------------------------------


class Collected:
    """A sink that keeps what it is given; it knows how far it got, unless it is told to forget."""

    link = ""
    keeps = True

    def __init__(self, *, knows: bool = True) -> None:
        self.last: int | None = 0 if knows else None
        self.releases: list[ps.Published] = []

    def write(self, release: ps.Published) -> None:
        self.releases.append(release)
        self.last = release.t if self.last is not None else None


def opened(store: ps.Store, mechanism: ps.Mechanism | None = None, **options: Any) -> ps.Publisher:
    return ps.Publisher(mechanism or ps.RG(model=EVENT), store, "people", bins=["a", "b"], **options)


def units(*times: int) -> list[ps.Snapshot]:
    return [ps.Snapshot(t, [100 + t, 50]) for t in times]


def require_sums(shown: Iterable[ps.Published], stored: Sequence[ps.Published], width: int) -> None:
    """Every release that was shown is the sum over its window, by all that is stored."""
    for release in shown:
        for j in range(2):
            value, kind, sd = plainly(stored, release.t, width, j)
            assert (int(release.values[j]), int(release.kind[j])) == (value, kind), release.t
            assert release.noise_sd[j] == pytest.approx(sd, rel=1e-9)


@pytest.mark.parametrize("knows", [True, False])
@pytest.mark.parametrize("width", [2, 3, 50])
@pytest.mark.parametrize("cuts", [(1,), (4,), (2, 3, 7)])
def test_sums_survive_restarts(tmp_path: Path, cuts: tuple[int, ...], width: int, knows: bool) -> None:
    shown = list[ps.Published]()
    sink = Collected()
    for until in (*cuts, 12):
        sink = sink if knows else Collected(knows=False)
        with ps.Store(tmp_path / "db") as store, opened(store) as publisher:
            shown = list(publisher.run(units(*range(1, until + 1)), sink, post=[SlidingSum(width)]))
            stored = list(publisher.releases())
    assert [release.t for release in sink.releases] == list(range(1, 13))
    assert [release.t for release in shown] == list(range(cuts[-1] + 1 if knows else 1, 13))
    require_sums(sink.releases, stored, width)
    assert {release.mechanism for release in sink.releases} == {f"RG, sums of {width}"}
    assert [release.link for release in sink.releases] == [release.link for release in stored]


@pytest.mark.parametrize("width", [2, 4])
@pytest.mark.parametrize("begins", [2, 5, 8])
def test_a_pipe_that_begins_later_has_whole_sums(tmp_path: Path, width: int, begins: int) -> None:
    """What came before its first row is taken from the store."""
    with ps.Store(tmp_path / "db") as store, opened(store) as publisher:
        list(publisher.run(units(*range(1, 8))))
    with ps.Store(tmp_path / "db") as store, opened(store) as publisher:
        sink = Collected(knows=False)
        list(publisher.run(iter(units(*range(begins, 12))), sink, post=[SlidingSum(width)]))
        assert [release.t for release in sink.releases] == list(range(begins, 12))
        require_sums(sink.releases, list(publisher.releases()), width)


@pytest.mark.parametrize("knows", [True, False])
@pytest.mark.parametrize("width", [2, 3, 9])
def test_units_without_input_are_in_the_sums(tmp_path: Path, width: int, knows: bool) -> None:
    sink = Collected()
    for until in (5, 12):
        rows = [snapshot for snapshot in units(*range(1, until + 1)) if snapshot.t not in (2, 3, 6, 7, 8)]
        sink = sink if knows else Collected(knows=False)
        with ps.Store(tmp_path / "db") as store, opened(store) as publisher:
            list(publisher.run(rows, sink, post=[SlidingSum(width)], gaps=True))
            stored = list(publisher.releases())
    causes = {release.t for release in stored if release.cause is Cause.MISSING}
    assert causes == {2, 3, 6, 7, 8}
    assert {4, 5, 6, 7, 8, 9, 12} <= {release.t for release in sink.releases}
    require_sums(sink.releases, stored, width)


@pytest.mark.parametrize("width", [2, 5])
@pytest.mark.parametrize("point", ["draw", "emit"])
def test_a_lost_unit_is_in_the_sums(tmp_path: Path, point: str, width: int) -> None:
    sink = Collected()
    with ps.Store(tmp_path / "db") as store, opened(store) as publisher:
        list(publisher.run(units(1, 2, 3), sink, post=[SlidingSum(width)]))
    with ps.Store(tmp_path / "db", at=crash_at(point)) as store, pytest.raises(Crash), opened(store) as publisher:
        list(publisher.run(units(1, 2, 3, 4), sink, post=[SlidingSum(width)]))
    with ps.Store(tmp_path / "db") as store, opened(store) as publisher:
        list(publisher.run(units(*range(1, 9)), sink, post=[SlidingSum(width)]))
        stored = list(publisher.releases())
    assert [release.t for release in stored if release.cause is Cause.LOST] == ([4] if point == "draw" else [])
    assert [release.t for release in sink.releases] == list(range(1, 9))
    require_sums(sink.releases, stored, width)


@pytest.mark.parametrize("width", [2, 4, 9])
@pytest.mark.parametrize("knows", [True, False])
def test_adopted_units_count_like_the_one_before(tmp_path: Path, width: int, knows: bool) -> None:
    """Nobody knows here what they were. The sums around them are the same before and after a restart."""
    with ps.Store(tmp_path / "db") as store, opened(store) as publisher:
        list(publisher.run(units(1, 2, 3)))
    shutil.copy(tmp_path / "db", tmp_path / "copy")
    with ps.Store(tmp_path / "db") as store, opened(store) as publisher:
        list(publisher.run(units(*range(1, 7))))
    for path in tmp_path.glob("db-*"):
        path.unlink()
    shutil.copy(tmp_path / "copy", tmp_path / "db")
    sink = Collected()
    for until, adopt in ((8, 0), (11, None)):
        sink = sink if knows else Collected(knows=False)
        with ps.Store(tmp_path / "db") as store, opened(store, adopt=adopt) as publisher:
            list(publisher.run(units(*range(1, until + 1)), sink, post=[SlidingSum(width)]))
            stored = list(publisher.releases())
    assert [release.t for release in stored] == [1, 2, 3, 7, 8, 9, 10, 11]
    assert [release.t for release in sink.releases] == [1, 2, 3, 7, 8, 9, 10, 11]
    require_sums(sink.releases, stored, width)


def test_one_after_the_other_and_again(tmp_path: Path) -> None:
    """Two of them need what both need together; and whoever has run before may run once more."""
    post = [SlidingSum(3), SlidingSum(2)]
    mechanism = ps.Baseline(model=CERTAIN)
    sums = list[ps.Published]()
    with ps.Store(tmp_path / "db") as store, opened(store, mechanism) as publisher:
        list(publisher.run(units(1, 2, 3, 4, 5, 6)))
        for _ in range(2):
            sums = list(publisher.run(iter(units(*range(5, 10))), Collected(knows=False), post=post))
    counts = {t: 100 + t for t in range(1, 10)}
    threes = {t: sum(counts[s] for s in range(max(t - 2, 1), t + 1)) for t in counts}
    assert [int(each.values[0]) for each in sums] == [threes[t] + threes[t - 1] for t in range(5, 10)]
    assert {each.mechanism for each in sums} == {"Baseline, sums of 3, sums of 2"}


def test_a_new_sum_in_the_middle_is_shown_what_it_has_not_seen(tmp_path: Path) -> None:
    """The publisher is the same, the sum is another one, and wider."""
    sink = Collected()
    with ps.Store(tmp_path / "db") as store, opened(store) as publisher:
        list(publisher.run(units(1, 2, 3, 4), sink, post=[SlidingSum(2)]))
        shown = list(publisher.run(units(5, 6, 7), sink, post=[SlidingSum(4)]))
        assert [release.t for release in shown] == [5, 6, 7]
        require_sums(shown, list(publisher.releases()), 4)


def test_what_is_stored_are_the_releases_and_not_their_sums(tmp_path: Path) -> None:
    with ps.Store(tmp_path / "db") as store, opened(store, ps.Baseline(model=CERTAIN)) as publisher:
        list(publisher.run(units(1, 2, 3), post=[SlidingSum(3)]))
        assert [int(release.values[0]) for release in publisher.releases()] == [101, 102, 103]
        assert {release.mechanism for release in publisher.releases()} == {"Baseline"}


# ---- penstock run --width --------------------------------------------------------------------------------------------

Rows = list[dict[str, str]]


def run(folder: Path, until: int, *more: object, output: str = "out.csv", without: Sequence[int] = ()) -> str:
    rows = [f"{t},{10 * t},7\n" for t in range(1, until + 1) if t not in without]
    (folder / "in.csv").write_text("t,a,b\n" + "".join(rows))
    target = output if output == "-" else folder / output
    law = ("--model", "event-level", "--epsilon", "9", "--mechanism", "rg", "--every", "1")
    code, out, err = command(
        "run", "--input", folder / "in.csv", "--store", folder / "s.db", "--output", target, *law, *more
    )
    assert code == 0, err
    return out if output == "-" else (folder / output).read_text()


def parsed(text: str) -> Rows:
    return list(csv.DictReader(io.StringIO(text)))


def in_windows(rows: Rows, width: int) -> list[int]:
    values = {int(row["unit"]): int(row["a"]) for row in rows}
    return [sum(value for s, value in values.items() if t - width < s <= t) for t in values]


@pytest.mark.parametrize("width", [1, 2, 3, 40])
def test_the_command_line_writes_sums_and_goes_on_with_them(tmp_path: Path, width: int) -> None:
    for until in (4, 5, 11):
        sums = parsed(run(tmp_path, until, "--width", width))
    plain = parsed(run(tmp_path, 11, output="plain.csv"))
    assert [int(row["a"]) for row in sums] == in_windows(plain, width)
    assert [row["link"] for row in sums] == [row["link"] for row in plain]
    assert {row["mechanism"] for row in sums} == {"RG" if width == 1 else f"RG, sums of {width}"}


def test_the_command_line_shows_sums_on_standard_output_again(tmp_path: Path) -> None:
    first = run(tmp_path, 6, "--width", 3, output="-")
    assert run(tmp_path, 6, "--width", 3, output="-") == first
    plain = parsed(run(tmp_path, 8, output="-"))
    assert [int(row["a"]) for row in parsed(run(tmp_path, 8, "--width", 3, output="-"))] == in_windows(plain, 3)


@pytest.mark.parametrize("width", [2, 4])
def test_the_command_line_counts_units_without_input(tmp_path: Path, width: int) -> None:
    first = parsed(run(tmp_path, 9, "--width", width, "--gaps", without=(3, 4, 7)))
    plain = parsed(run(tmp_path, 9, "--gaps", output="plain.csv", without=(3, 4, 7)))
    assert [int(row["unit"]) for row in first] == list(range(1, 10))
    assert [int(row["a"]) for row in first] == in_windows(plain, width)
    again = parsed(run(tmp_path, 9, "--width", width, "--gaps", output="-", without=(3, 4, 7)))
    assert [row for row in first if row["cause"] != "missing"] == [row for row in again if row["cause"] != "missing"]


@pytest.mark.parametrize("where", ["toml", "option", "both"])
def test_a_width_comes_from_a_file_or_an_option(tmp_path: Path, where: str) -> None:
    run(tmp_path, 6, output="plain.csv")
    (tmp_path / "run.toml").write_text(
        'input = "in.csv"\nstore = "s.db"\noutput = "out.csv"\nevery = "1"\nmechanism = "rg"\n'
        + {"toml": "width = 3\n", "option": "", "both": "width = 2\n"}[where]
        + '[model]\nname = "event-level"\nepsilon = "9"\n'
    )
    code, _, err = command("run", tmp_path / "run.toml", *(() if where == "toml" else ("--width", 3)))
    assert code == 0, err
    sums = parsed((tmp_path / "out.csv").read_text())
    assert [int(row["a"]) for row in sums] == in_windows(parsed((tmp_path / "plain.csv").read_text()), 3)


@pytest.mark.parametrize("line", ["0", "-3", "1.0", "true", '"3"', "[3]", "nan"])
def test_a_file_with_a_bad_width_is_refused_in_a_sentence(tmp_path: Path, line: str) -> None:
    (tmp_path / "in.csv").write_text("t,a\n1,5\n")
    (tmp_path / "run.toml").write_text(
        f'input = "in.csv"\nstore = "s.db"\noutput = "out.csv"\nwidth = {line}\n'
        '[model]\nname = "event-level"\nepsilon = "9"\n'
    )
    code, out, err = command("run", tmp_path / "run.toml", "--mechanism", "rg")
    assert (code, out) == (2, "")
    assert err.startswith("error: width ")
    assert len(err.splitlines()) == 1
    assert not (tmp_path / "s.db").exists()


@pytest.mark.parametrize("width", ["0", "-3", "1.5", "x", ""])
def test_an_option_with_a_bad_width_is_refused(tmp_path: Path, width: str) -> None:
    (tmp_path / "in.csv").write_text("t,a\n1,5\n")
    files = ("--input", tmp_path / "in.csv", "--store", tmp_path / "s.db", "--output", tmp_path / "out.csv")
    law = ("--model", "event-level", "--epsilon", "1", "--mechanism", "baseline")
    assert command("run", *files, *law, f"--width={width}")[0] == 2
    assert not (tmp_path / "s.db").exists()


# ---- SlidingBaseline -------------------------------------------------------------------------------------------------

UNITS = 25


class Pooled:
    """The sum over the units in the window that could be read, since sealed sums were lost last."""

    def __init__(self, model: ps.PrivacyModel, width: int) -> None:
        self.model, self.width = model, width
        self.each = model.epsilon.nano // model.window // width
        self.read: dict[int, list[int]] = {}
        self.spent: list[int] = []
        self.last = [0, 0]

    def affordable(self) -> bool:
        before = self.spent[-(self.model.window - 1) :] if self.model.window > 1 else []
        return sum(before) + self.each * self.width <= self.model.epsilon.nano

    def step(self, t: int, counts: list[int], noise: Iterable[int]) -> list[int]:
        self.read[t] = counts
        self.spent.append(self.each * self.width)
        window = [row for s, row in self.read.items() if t - self.width < s]
        if len(window) < min(self.width, t):  # a sum that is short of a unit is not asked for
            return self.last
        self.last = [sum(column) + draw for column, draw in zip(zip(*window, strict=True), noise, strict=False)]
        return self.last


@thorough
@given(
    models(("0.05", "1", "20"), longest=4, steps=UNITS),
    st.integers(1, 7),
    st.lists(st.sampled_from(["step"] * 5 + ["missing", "missing", "lost", "key"]), min_size=UNITS, max_size=UNITS),
    st.lists(st.integers(-9, 9), max_size=60),
)
@example(EVENT, 2, ["step", "step", "missing", "missing", *["step"] * (UNITS - 4)], [])
@example(LAW, 3, ["step", "step", "lost", "lost", *["step"] * (UNITS - 4)], [])
def test_a_sum_asked_for_is_that_of_the_units_read_in_its_window(
    model: ps.PrivacyModel, width: int, events: list[str], draws: list[int]
) -> None:
    rows, noise, journal = restless(UNITS), ps.ScriptedNoise(draws), list[Fact]()
    left = script(draws)
    plain = Pooled(model, width)
    mechanism = ps.SlidingBaseline(model=model, width=width)
    mechanism.start(ps.Curator(model, 2, noise=noise, journal=journal.append))
    for t, (counts, event) in enumerate(zip(rows.tolist(), events, strict=True), start=1):
        snapshot = ps.Snapshot(t, counts)
        if event == "key":
            saved = mechanism.save(b"k" * 32)
            mechanism = ps.SlidingBaseline(model=model, width=width)
            mechanism.start(ps.Curator(model, 2, noise=noise, journal=journal.append))
            mechanism.load(saved, b"k" * 32)
        if event == "missing":
            plain.spent.append(0)
            release = mechanism.pass_over(snapshot)
        elif event == "lost":
            lost = mechanism._curator.ledger.remaining_next()
            plain.spent.append(lost.nano)
            plain.read.clear()
            release = mechanism.pass_over(snapshot, lost)
        elif plain.affordable():
            plain.step(t, counts, left)
            release = mechanism.step(snapshot)
        else:
            plain.spent.append(0)
            release = mechanism.step(snapshot)
        assert release.values.tolist() == plain.last, t
        assert release.charged.nano == plain.spent[-1]
    assert recount(journal, model) <= model.epsilon


@pytest.mark.parametrize("width", [1, 2, 5])
def test_noise_sd_of_sums_asked_for(width: int) -> None:
    model, bins = ps.WEvent(epsilon=2, w=3, neighbours="replace"), 12_000
    mechanism = ps.SlidingBaseline(model=model, width=width)
    for release in published(mechanism, np.full((7, bins), 30), ps.SimulationNoise(1)):
        errors = release.values - 30.0 * min(width, release.t)
        scale = Fraction(2 * 10**9, 2 * 10**9 // 3 // width)
        assert release.noise_sd[0] == pytest.approx(1 / (math.sqrt(2) * math.sinh(1 / (2 * float(scale)))))
        assert errors.std() == pytest.approx(release.noise_sd[0], rel=6 * math.sqrt(5 / (4 * bins)))


def test_with_a_width_of_one_it_is_the_baseline() -> None:
    sliding = published(ps.SlidingBaseline(model=EVENT), restless(9), ps.SimulationNoise(4))
    base = published(ps.Baseline(model=EVENT), restless(9), ps.SimulationNoise(4))
    assert [one.values.tolist() for one in sliding] == [other.values.tolist() for other in base]
    assert [one.charged for one in sliding] == [other.charged for other in base] == [ps.Epsilon(1)] * 9


@pytest.mark.parametrize("width", [0, -1, 10_001, 1.5, 2.0, "3", True, None, 2**53 + 1, float("nan")], ids=repr)
def test_a_width_of_the_baseline_that_cannot_be_is_refused(width: Any) -> None:
    with pytest.raises(ps.BadInput, match=r"^width must [^\n]*\.$"):
        ps.SlidingBaseline(model=EVENT, width=width)


def test_the_widest_baseline_lasts() -> None:
    releases = published(ps.SlidingBaseline(model=EVENT, width=10_000), [[5]] * 3, ps.ScriptedNoise())
    assert [int(release.values[0]) for release in releases] == [5, 10, 15]
    assert {release.charged for release in releases} == {EVENT.epsilon}


@pytest.mark.parametrize(("epsilon", "width"), [("0.000000009", 10), ("0.000000001", 2)])
def test_a_baseline_too_wide_for_its_epsilon_is_refused(epsilon: str, width: int) -> None:
    with pytest.raises(ps.BadInput, match="too little"):
        ps.SlidingBaseline(model=ps.EventLevel(epsilon=epsilon), width=width)


@pytest.mark.parametrize("cut", [1, 2, 3, 7])
@pytest.mark.parametrize("keeps_key", [True, False])
def test_a_sliding_baseline_restarts(tmp_path: Path, cut: int, keeps_key: bool) -> None:
    """Without its key it repeats its last sum until it has read a whole window again."""
    mechanism = ps.SlidingBaseline(model=CERTAIN, width=3)
    with ps.Store(tmp_path / "db") as store, opened(store, mechanism) as publisher:
        list(publisher.run(units(*range(1, cut + 1))))
    if not keeps_key:
        (tmp_path / "db.key").unlink()
        with ps.Store(tmp_path / "db") as store:
            store.replace_key()
    with ps.Store(tmp_path / "db") as store, opened(store, mechanism) as publisher:
        releases = list(publisher.run(units(*range(cut + 1, 12)), Collected(knows=True)))
    sums = {t: sum(100 + s for s in range(max(t - 2, 1), t + 1)) for t in range(1, 12)}
    short = set() if keeps_key else {cut + 1, cut + 2}
    expected = {t: sums[cut] if t in short else sums[t] for t in sums}
    assert {release.t: int(release.values[0]) for release in releases} == expected


# ---- Baseline at event level -----------------------------------------------------------------------------------------


@quick
@given(st.sampled_from(["0.000000001", "0.3", "1", "1000000"]), st.integers(1, 3), st.booleans(), st.integers(0, 99))
def test_baseline_has_all_of_epsilon_at_every_event(epsilon: str, per_unit: int, replaced: bool, seed: int) -> None:
    model = ps.EventLevel(epsilon=epsilon, per_unit=per_unit, neighbours="replace" if replaced else "add-remove")
    journal = list[Fact]()
    base = published(ps.Baseline(model=model), restless(9), ps.SimulationNoise(seed), journal=journal.append)
    uniform = published(ps.Uniform(model=model), restless(9), ps.SimulationNoise(seed))
    assert all(one.same_as(other) for one, other in zip(base, uniform, strict=True))
    assert {release.charged for release in base} == {model.epsilon} == {recount(journal, model)}
    assert {int(kind) for release in base for kind in release.kind} == {ps.Kind.FRESH}


def test_an_output_of_another_width_is_not_continued(tmp_path: Path) -> None:
    """Rows of single units and rows of sums in one file would look alike."""
    (tmp_path / "in.csv").write_text("t,a\n1,5\n2,6\n")
    files = [f"--input={tmp_path / 'in.csv'}", f"--store={tmp_path / 'db'}"]
    law = ["--model", "event-level", "--epsilon", "1", "--mechanism", "rg"]
    for ending in ("csv", "jsonl"):
        output = tmp_path / f"out.{ending}"
        assert penstock("run", *files, *law, "--output", output, "--width", 3)[0] == 0
        before = output.read_bytes()
        code, err = penstock("run", *files, *law, "--output", output)
        assert (code, err) == (
            2,
            f"error: the rows of {output} are of RG, sums of 3, not of RG; name another output.\n",
        )
        assert output.read_bytes() == before
        assert penstock("run", *files, *law, "--output", output, "--width", 3)[0] == 0


def test_units_without_input_are_told_again_too(tmp_path: Path) -> None:
    """Standard output gets every unit from the first row of the input on, also those that no row is about."""
    (tmp_path / "in.csv").write_text("t,a\n1,5\n2,6\n5,7\n")
    told = ["run", f"--input={tmp_path / 'in.csv'}", f"--store={tmp_path / 'db'}", "--gaps", "--mechanism", "rg"]
    law = ["--model", "event-level", "--epsilon", "1"]
    first, again = (command(*told, *law) for _ in range(2))
    assert first[1] == again[1]
    assert [line.split(",")[1] for line in again[1].splitlines()] == ["unit", "1", "2", "3", "4", "5"]
    (tmp_path / "in.csv").write_text("t,a\n2,6\n5,7\n7,7\n")
    units = [line.split(",")[1] for line in command(*told, *law)[1].splitlines()]
    assert units == ["unit", "2", "3", "4", "5", "6", "7"]


def test_an_export_of_another_width_is_not_continued(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("t,a\n" + "".join(f"{t},5\n" for t in range(1, 9)))
    told = [f"--input={tmp_path / 'in.csv'}", f"--store={tmp_path / 'db'}", f"--output={tmp_path / 'out.csv'}"]
    assert penstock("run", *told, "--model", "event-level", "--epsilon", "1", "--mechanism", "rg", "--width", 3)[0] == 0
    one, three = tmp_path / "one.csv", tmp_path / "three.csv"
    exported = ["export", tmp_path / "db", "--stream", "in"]
    assert penstock(*exported, "--output", one)[0] == 0
    assert penstock(*exported, "--output", three, "--width", 3)[0] == 0
    assert three.read_bytes() == (tmp_path / "out.csv").read_bytes()
    assert penstock(*exported, "--output", one, "--width", 3) == (
        2,
        f"error: the rows of {one} are of RG, not of RG, sums of 3; name another output.\n",
    )
    later = command(*exported, "--after", 5, "--width", 3)[1].splitlines()
    assert later[1:] == three.read_text().splitlines()[6:]
    for path, width, code in ((one, (), 0), (three, ("--width", 3), 0), (three, (), 2), (one, ("--width", 3), 2)):
        assert penstock("ledger", "verify", tmp_path / "db", "--output", path, *width)[0] == code
