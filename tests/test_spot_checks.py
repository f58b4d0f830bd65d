"""Runs of older code: what is adopted, what is compared for that, what is run anew, and what is said of it."""

import math
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from in_process import command as penstock
from penstock.bench.cache import Cache, Origins
from penstock.bench.code import code_version
from penstock.bench.metrics import Outcome
from penstock.bench.report.wording import adopted as wording_of
from penstock.bench.rows import Row
from penstock.bench.runner import adopted, measured
from penstock.bench.scenario import Counted, Promise
from penstock.bench.spot_checks import Verdict
from penstock.types import Ints

PROMISES = tuple(Promise("w-event", epsilon, 12) for epsilon in ("0.1", "1"))
SEEDS = 3
OLD = (  # as they were written before versions were
    "625c5df46697d381,bursty[:2000],51288f7d81929437,event-level,0.1,1,ada_pub over 15,0,65.8345,0.0847412,88.7488,"
    "7876.34,nan,nan,0.219514,1,1,1,4478b4c9"
)


@dataclass(frozen=True)
class Numbered:
    """A stream that says which one it is."""

    name: str

    @property
    def counts(self) -> Ints:
        return np.zeros((1, 1), np.int64)

    @property
    def shape(self) -> tuple[int, ...]:
        return (1,)

    def digest(self) -> str:
        return f"counts of {self.name}"


@dataclass(frozen=True)
class Thing:
    """What is run: of ``code``, which comes to something else where it ``differs`` on a stream under an epsilon."""

    stream: str
    promise: Promise = PROMISES[0]
    name: str = "thing"

    code: ClassVar[str] = "first"
    differs: ClassVar[Mapping[tuple[str, str], float]] = {}
    ran: ClassVar[list[tuple["Thing", int]]] = []

    def told(self) -> dict[str, Any]:
        return {"stream": self.stream, "promise": self.promise, "name": self.name, "code": Thing.code}

    def run(self, seed: int, stream: Counted) -> Outcome:
        Thing.ran.append((self, seed))
        plus = Thing.differs.get((self.stream, self.promise.epsilon), 0.0)
        return Outcome._make([seed + float(self.promise.epsilon) + plus, math.nan, *[1.0] * 8]).rounded()


@pytest.fixture(autouse=True)
def _first() -> None:
    become("first")


def become(code: str, differs: Mapping[tuple[str, str], float] | None = None) -> None:
    """The code is another one now, and differs from the first where it is said to."""
    Thing.code, Thing.differs, Thing.ran = code, differs or {}, []


def wanted(*streams: str, seeds: int = SEEDS) -> dict[Thing, int]:
    return {Thing(stream, promise): seeds for stream in streams or ("a", "b") for promise in PROMISES}


def ignore(done: int, total: int) -> None:
    """Nobody looks."""


def run(path: Path, what: Mapping[Thing, int]) -> dict[Thing, dict[int, Outcome]]:
    with Cache(path).open() as cache:
        return measured(what, Numbered, cache, 1, ignore)


def adopt(path: Path, what: Mapping[Thing, int], number: int = 1) -> Verdict:
    with Cache(path).open() as cache:
        return adopted(what, number, Numbered, cache, 1, ignore)


def rows(path: Path) -> list[Row]:
    read = [Row.read(line) for line in path.read_text(encoding="utf-8").splitlines()[1:]]
    assert None not in read
    return [row for row in read if row]


def signs(path: Path) -> str:
    return "".join(sorted(row.sign for row in rows(path)))


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """What the first code has made of it."""
    path = tmp_path / "results.csv"
    run(path, wanted())
    return path


# ---- what is adopted -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("number", [1, 2])
def test_what_is_the_same_is_adopted_after_so_many_runs_of_a_mechanism(number: int, kept: Path) -> None:
    before = run(kept, wanted())
    become("second")
    verdict = adopt(kept, wanted(), number)
    assert verdict == Verdict(number, 0, 12 - number, 0)
    assert len(Thing.ran) == number
    assert signs(kept) == "=" * number + "~" * (12 - number)
    become("second")
    assert repr(sorted(run(kept, wanted()).items(), key=repr)) == repr(sorted(before.items(), key=repr))
    assert Thing.ran == []


def test_nothing_is_adopted_that_nobody_asked_for(kept: Path) -> None:
    become("second")
    run(kept, wanted())
    assert len(Thing.ran) == 12
    assert signs(kept) == ""


def test_what_differs_on_a_stream_is_run_anew_there(kept: Path) -> None:
    become("second", {("a", "0.1"): 0.5, ("a", "1"): 0.5})
    verdict = adopt(kept, wanted())
    assert verdict[:4] == (1 + 1, 1, 6 - 1, 6 - 1)  # of b one is compared by itself, since the mechanism has changed
    assert [(group.name, group.stream) for group in verdict.where] == [("thing", "a")]
    found = run(kept, wanted())
    assert all(outcome.mae > 0.5 for what, runs in found.items() if what.stream == "a" for outcome in runs.values())
    assert len(Thing.ran) == len(set(Thing.ran)) == 7


def test_a_change_under_one_promise_is_found_if_enough_is_compared(kept: Path) -> None:
    become("second", {("a", "0.1"): 0.5, ("a", "1"): 0.5, ("b", "1"): 0.5})
    assert adopt(kept, wanted(), 6).adopted == 0
    assert signs(kept).count("~") == 0


def test_what_differs_beyond_the_digits_that_are_kept_is_the_same(kept: Path) -> None:
    become("second", dict.fromkeys([(stream, epsilon) for stream in "ab" for epsilon in ("0.1", "1")], 1e-9))
    assert adopt(kept, wanted()).otherwise == 0


CELLS = [(stream, promise.epsilon) for stream in "abc" for promise in PROMISES]


@given(st.sets(st.sampled_from(CELLS)), st.integers(1, 4), st.integers(1, 4), st.integers(0, 10**6))
def test_no_group_is_adopted_of_which_a_run_differed(
    changed: set[tuple[str, str]], number: int, seeds: int, code: int
) -> None:
    """And whatever was not adopted is of the present code, whoever is compared."""
    with tempfile.TemporaryDirectory() as folder:
        path, what = Path(folder) / "results.csv", wanted("a", "b", "c", seeds=seeds)
        become("first")
        run(path, what)
        become(str(code), dict.fromkeys(changed, 0.5))
        verdict = adopt(path, what, number)
        assert verdict.compared + verdict.adopted + verdict.refused == 6 * seeds
        assert verdict.otherwise <= verdict.compared == len(Thing.ran)
        run(path, what)
        refused = {row.about[0] for row in rows(path) if row.sign == "!"}
        assert refused.isdisjoint(row.about[0] for row in rows(path) if row.sign == "~")
        assert refused <= {stream for stream, _ in changed}
        unchanged = {"a", "b", "c"} - {stream for stream, _ in changed}
        assert sum(row.sign == "" for row in rows(path) if row.about[0] in unchanged) == 0
        assert len({row.version for row in rows(path)}) == 1


def test_which_runs_are_compared_is_settled_by_the_code(kept: Path, tmp_path: Path) -> None:
    def compared(code: str) -> list[tuple[Thing, int]]:
        copied = tmp_path / "copied.csv"
        copied.write_bytes(kept.read_bytes())
        become(code)
        adopt(copied, wanted())
        return Thing.ran

    by_code = [compared(f"code {i}") for i in range(12)]
    assert by_code[0] == compared("code 0")
    assert {what.promise for runs in by_code for what, _ in runs} == set(PROMISES)
    assert {seed for runs in by_code for _, seed in runs} == set(range(SEEDS))


# ---- what is known of older code -------------------------------------------------------------------------------------


def test_rows_from_before_versions_are_read_as_they_are() -> None:
    row = Row.read(OLD)
    assert row is not None
    assert (row.key, row.version, row.sign, row.older) == ("625c5df46697d381", "", "", "")
    assert ",".join(row.written()) == OLD


@given(
    st.lists(st.floats(0, 1e9) | st.just(math.nan), min_size=10, max_size=10),
    st.sampled_from([("", "", ""), ("1a2b", "", ""), ("1a2b", "~", ""), ("1a2b", "!", "3c4d"), ("1a2b", "=", "3c4d")]),
)
def test_a_row_is_read_as_it_was_written(figures: list[float], code: tuple[str, str, str]) -> None:
    row = Row("0f1e", ("a", "b", "w-event", "1", "12", "fixed(every=1) over 3", "7"), Outcome(*figures), *code)
    read = Row.read(",".join(row.written()))
    assert read is not None
    assert (read.figures, read._replace(outcome=row.outcome)) == (row.figures, row)


def test_rows_without_a_version_are_adopted_too(kept: Path) -> None:
    unversioned = [row._replace(version="").written() for row in rows(kept)]
    head = kept.read_text(encoding="utf-8").splitlines()[0]
    kept.write_text("\n".join([head, *(",".join(cells) for cells in unversioned)]) + "\n", encoding="utf-8")
    become("second")
    assert adopt(kept, wanted()) == Verdict(1, 0, 11, 0)
    assert signs(kept) == "=" + "~" * 11
    become("third")
    assert adopt(kept, wanted()) == Verdict(1, 0, 11, 0)


def test_where_a_row_was_measured_stays_known(kept: Path) -> None:
    (first,) = {row.version for row in rows(kept)}
    become("second")
    adopt(kept, wanted())
    taken = {row.about for row in rows(kept) if row.sign == "~"}
    (second,) = {row.version for row in rows(kept)}
    become("third")
    adopt(kept, wanted())
    by_sign = {row.about: (row.sign, row.older) for row in rows(kept)}
    for about, (sign, older) in by_sign.items():
        assert older == (first if sign == "~" and about in taken else second)


def test_runs_of_different_versions_do_not_stand_for_each_other(tmp_path: Path) -> None:
    """Two seeds are of the first code, four of the second; the third is like the second."""
    path, few, many = tmp_path / "results.csv", wanted("a", seeds=2), wanted("a", seeds=6)
    run(path, few)
    changed = {("a", "0.1"): 0.5, ("a", "1"): 0.5}
    (tmp_path / "second.csv").write_bytes(b"")
    become("second", changed)
    run(tmp_path / "second.csv", many)
    lines = [line for line in (tmp_path / "second.csv").read_text(encoding="utf-8").splitlines() if line]
    later = [line for line in lines[1:] if int(Row.read(line).about[-1]) >= 2]  # type: ignore[union-attr]
    path.write_text(path.read_text(encoding="utf-8") + "\n".join(later) + "\n", encoding="utf-8")
    become("third", changed)
    verdict = adopt(path, many)
    assert (verdict.otherwise, verdict.refused) == (1, 3)
    assert {row.about[-1] for row in rows(path) if row.sign == "~"} <= set("2345")
    assert all(outcome.mae > 0.5 for runs in run(path, many).values() for outcome in runs.values())


def test_a_refusal_holds_for_seeds_that_are_wanted_later(tmp_path: Path) -> None:
    path = tmp_path / "results.csv"
    run(path, wanted("a", seeds=9))
    become("second", {("a", "0.1"): 0.5, ("a", "1"): 0.5})
    adopt(path, wanted("a", seeds=2))
    run(path, wanted("a", seeds=2))
    assert adopt(path, wanted("a", seeds=9)).adopted == 0
    assert "~" not in signs(path)


class Tired(Exception):
    """Somebody has had enough."""


def test_who_is_interrupted_goes_on(kept: Path, tmp_path: Path) -> None:
    whole = tmp_path / "whole.csv"
    whole.write_bytes(kept.read_bytes())
    become("second", {("a", "0.1"): 0.5, ("a", "1"): 0.5})
    adopt(whole, wanted(), 2)
    run(whole, wanted())
    for stop in (1, 1, 2):

        def tire(done: int, total: int, stop: int = stop) -> None:
            if done == stop:
                raise Tired

        with suppress(Tired), Cache(kept).open() as cache:
            adopted(wanted(), 2, Numbered, cache, 1, tire)
    ran = len(Thing.ran)
    adopt(kept, wanted(), 2)
    run(kept, wanted())
    assert len(Thing.ran) - ran < 12 - 3
    assert kept.read_bytes() == whole.read_bytes()


# ---- what is said of it ----------------------------------------------------------------------------------------------


def test_a_report_says_what_was_adopted_if_anything_was() -> None:
    assert list(wording_of(Origins(100, 0, 5, 1))) == []
    (same,) = wording_of(Origins(100, 90, 5, 0))
    assert "Of 100 runs 90 were made by older code and adopted, after 5 others" in same
    assert same.endswith("had been run again: all came out the same to the last digit.")
    (otherwise,) = wording_of(Origins(100, 80, 5, 2))
    assert "after 7 others" in otherwise
    assert "5 came out the same to the last digit, and what stands beside the other 2 was run anew" in otherwise


@pytest.fixture
def _newer_code() -> Iterator[None]:
    """The code has changed, and comes to the same."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("penstock.bench.scenario.code_version", lambda module: code_version(module)[::-1])
        yield


@pytest.fixture(scope="module")
def measured_before(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    into = tmp_path_factory.mktemp("before")
    assert penstock(*BOARD, "--into", into)[0] == 0
    return (into / "results.csv").read_bytes()


BOARD = (
    *("bench", "leaderboard", "--board", "short", "--seeds", 2, "--workers", 1, "--no-figures", "--stream", "const"),
    *("--only", "sample", "--only", "uniform"),
)


@pytest.mark.usefixtures("_newer_code")
def test_the_leaderboard_adopts_when_it_is_told_to(measured_before: bytes, tmp_path: Path) -> None:
    (tmp_path / "results.csv").write_bytes(measured_before)
    code, _, err = penstock(*BOARD, "--into", tmp_path, "--adopt", 1)
    assert (code, "spot checks: 2 runs to do" in err) == (0, True), err
    assert "2 runs of older code compared with new ones; all that were came out the same. 14 others are adopted." in err
    reports = [tmp_path / "part" / name for name in ("leaderboard.md", "report.html")]
    told = [report.read_text(encoding="utf-8") for report in reports]
    assert all("Of 16 runs 14 were made by older code and adopted, after 2 others" in text for text in told)
    code, _, err = penstock(*BOARD, "--into", tmp_path)
    assert (code, "to do" in err, "adopted" in err) == (0, False, False)
    assert [report.read_text(encoding="utf-8") for report in reports] == told


@pytest.mark.usefixtures("_newer_code")
def test_the_leaderboard_runs_all_anew_if_it_is_not_told_to_adopt(measured_before: bytes, tmp_path: Path) -> None:
    (tmp_path / "results.csv").write_bytes(measured_before)
    code, _, err = penstock(*BOARD, "--into", tmp_path)
    assert (code, "16 runs to do" in err) == (0, True), err
    assert "adopted" not in (tmp_path / "part" / "leaderboard.md").read_text(encoding="utf-8")


@pytest.mark.usefixtures("_newer_code")
def test_what_comes_out_otherwise_is_told(measured_before: bytes, tmp_path: Path) -> None:
    (tmp_path / "results.csv").write_bytes(measured_before)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("penstock.bench.running.APART", 10**7)  # other noise, so that all figures are others
        code, _, err = penstock(*BOARD, "--into", tmp_path, "--adopt", 1)
    assert (code, "4 came out otherwise. 0 others are adopted" in err) == (0, True), err
    assert "12 are run anew because another of their group differs" in err
    assert "uniform has changed on const[:180], const[:360]" in err
    assert "12 runs to do" in err


@pytest.mark.parametrize("command", ["leaderboard", "auto"])
@pytest.mark.parametrize("number", ["0", "-1", "some"])
def test_fewer_than_one_run_cannot_be_compared(command: str, number: str, tmp_path: Path) -> None:
    code, _, err = penstock("bench", command, "--into", tmp_path, "--adopt", number)
    assert (code, "--adopt" in err) == (2, True), err
    assert not list(tmp_path.iterdir())
