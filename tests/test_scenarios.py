"""Scenarios: what they come to, by what they are known again, and what is kept of them."""

import contextlib
import errno
import importlib
import linecache
import multiprocessing
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from multiprocessing.synchronize import Event
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.bench import code
from penstock.bench.cache import Cache
from penstock.bench.metrics import RANGES, Outcome
from penstock.bench.plain import AS_PUBLISHED, Faults
from penstock.bench.rows import COLUMNS
from penstock.bench.runner import known, measured
from penstock.bench.running import APART
from penstock.bench.scenario import Promise, Scenario, key_of
from penstock.bench.transcribed import Transcribed
from penstock.cli.trial import tried
from penstock.errors import BadInput
from penstock.laws import MODELS, model_of
from penstock.mechanisms.spas import SPAS
from penstock.models import DeltaNeighbourhood, EventLevel, PrivacyModel, UserLevel, WEvent
from penstock.noise import SimulationNoise
from penstock.proofs import bare_code
from penstock.streams import Stream, synthetic
from penstock.types import Ints

WEEKLY = Promise("w-event", "1", 12)


@dataclass(frozen=True)
class Walk:
    """A stream by its name, which says how many bins and units it has: walk-2-60."""

    counts: Ints

    @property
    def shape(self) -> tuple[int, ...]:
        return (int(self.counts.shape[1]),)

    def digest(self) -> str:
        return str(int(self.counts.sum()))


def load(name: str) -> Walk:
    _, bins, steps = name.split("-")
    return Walk(synthetic("walk", bins=int(bins), steps=int(steps), seed=1).counts)


def ignore(done: int, total: int) -> None:
    """Nobody looks."""


class Tired(Exception):
    """Somebody has had enough."""


def scenario(mechanism: str = "spas", stream: str = "walk-2-60", promise: Promise = WEEKLY) -> Scenario:
    return Scenario(stream, promise, mechanism)


# ---- what a run comes to ---------------------------------------------------------------------------------------------


def test_a_run_is_what_the_mechanism_publishes() -> None:
    counts = load("walk-2-60").counts
    trial = tried(Stream(counts), SPAS(model=WEEKLY.model), SimulationNoise(APART + 7))
    plain = scenario()._replace(clipped=False).run(7, load("walk-2-60"))
    assert plain.mae == pytest.approx(trial.mean_error, rel=1e-5)
    assert plain.mre == pytest.approx(trial.relative_error, rel=1e-5)
    assert plain.publications == pytest.approx(trial.releases_per_window(12), rel=1e-5)
    assert plain.fullest == pytest.approx(float(trial.peak), rel=1e-5)


def test_clipping_helps_where_counts_are_small() -> None:
    small = Walk(np.ones((80, 3), np.int64))
    clipped, plain = (scenario("uniform")._replace(clipped=flag).run(1, small).mae for flag in (True, False))
    assert clipped < 0.8 * plain


@pytest.mark.parametrize("rows", [1, 7, 10_000])
def test_a_long_stream_is_judged_in_pieces(rows: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = scenario().run(3, load("walk-2-60"))
    monkeypatch.setattr("penstock.bench.running.CHUNK", RANGES * rows)
    assert scenario().run(3, load("walk-2-60")) == pytest.approx(whole, rel=1e-5, nan_ok=True)


def test_sums_that_are_published_are_compared_with_sums() -> None:
    model = Promise("event-level", "1")
    run = Scenario("x", model, "sliding_baseline", (("width", 5),), width=5, clipped=False).run(1, load("walk-1-400"))
    assert run.mae == pytest.approx(5, rel=0.2)  # noise of scale 5 on each sum


@pytest.mark.parametrize(
    "model",
    [
        EventLevel(epsilon="0.5"),
        WEvent(epsilon=1, w=9, per_unit=3),
        UserLevel(epsilon=2, horizon=70),
        DeltaNeighbourhood(epsilon=1, steps=4),
        DeltaNeighbourhood(epsilon=1, steps=4, neighbours="add-remove"),
    ],
)
def test_a_promise_says_all_of_a_model(model: PrivacyModel) -> None:
    assert Promise.of(model).model == model


@pytest.mark.parametrize("law", ["w-event", "user-level", "delta-neighbourhood"])
def test_a_promise_in_short(law: str) -> None:
    assert str(Promise(law, "0.5", 30)) == f"epsilon 0.5, {MODELS[law].called} 30"
    assert str(Promise("event-level", "0.5")) == "epsilon 0.5"
    assert model_of({"name": "event-level", "epsilon": "0.5"}) == Promise("event-level", "0.5").model


# ---- by what it is known again ---------------------------------------------------------------------------------------


def test_a_key_changes_with_all_that_changes_the_outcome() -> None:
    plain = scenario()
    others = [
        plain._replace(stream="walk-2-61"),
        plain._replace(promise=Promise("w-event", "1", 13)),
        plain._replace(promise=Promise("w-event", "1.5", 12)),
        plain._replace(promise=Promise("user-level", "1", 12)),
        plain._replace(mechanism="ba"),
        plain._replace(parameters=(("warm_up", 3),)),
        plain._replace(width=2),
        plain._replace(clipped=False),
    ]
    keys = {key_of(each, "digest", 1) for each in [plain, *others]}
    keys |= {key_of(plain, "other", 1), key_of(plain, "digest", 2)}
    keys |= {key_of(Transcribed("walk-2-60", WEEKLY, faults), "digest", 1) for faults in (AS_PUBLISHED, Faults(False))}
    assert len(keys) == len(others) + 1 + 2 + 2
    assert key_of(plain, "digest", 1) == key_of(scenario(), "digest", 1)


@pytest.fixture
def version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], str]]:
    """The version of a module with this text, always of the same name."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def found(text: str) -> str:
        (tmp_path / "using.py").write_text(text, encoding="utf-8")
        _forget()
        return code.code_version("using")

    yield found
    _forget()


def _forget() -> None:
    sys.modules.pop("using", None)
    linecache.clearcache()
    importlib.invalidate_caches()
    for cached in (code.code_version, code._code, code._imports):
        cached.cache_clear()


def test_the_version_follows_code_and_nothing_else(version: Callable[[str], str]) -> None:
    plain = version("from penstock.primitives.pid import PID\nx = PID\n")
    assert version('"""What it is."""\nfrom penstock.primitives.pid import PID\n\nx = PID  # why\n') == plain
    assert version("from penstock.primitives.pid import PID\ny = PID\n") != plain
    assert version("from penstock.primitives.kalman import Kalman\nx = Kalman\n") != plain


def test_the_version_follows_what_is_imported(version: Callable[[str], str], monkeypatch: pytest.MonkeyPatch) -> None:
    plain = version("from penstock.mechanisms.spas import SPAS\n")

    def changed(kind: ModuleType) -> str:
        return bare_code(kind) + ("\npass" if kind.__name__ == "penstock.ledger" else "")

    monkeypatch.setattr(code, "bare_code", changed)
    assert version("from penstock.mechanisms.spas import SPAS\n") != plain


def test_mechanisms_do_not_share_their_version() -> None:
    versions = {scenario(key).told()["code"] for key in ("spas", "ba", "bd", "uniform")}
    assert len(versions) == 4


# ---- what is kept ----------------------------------------------------------------------------------------------------

figures = st.floats(0, 1e9, allow_nan=False)


@given(st.lists(figures, min_size=10, max_size=10), st.integers(0, 5))
def test_what_is_kept_is_found_again(numbers: list[float], seed: int) -> None:
    outcome = Outcome(*numbers).rounded()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "deep" / "results.csv"
        with Cache(path).open() as cache:
            cache.put("a key", "of these", scenario(), seed, outcome)
        with Cache(path).open() as cache:
            assert (cache.get("a key"), cache.get("another"), cache.dropped) == (outcome, None, 0)


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """A file of the outcomes of three runs."""
    path = tmp_path / "results.csv"
    with Cache(path).open() as cache:
        measured({scenario("sample"): 3}, load, cache, 1, ignore)
    return path


SPOILED: dict[str, Callable[[str], str]] = {
    "a figure was changed": lambda text: text.replace(",w-event,1,12,sample,1,", ",w-event,1,12,sample,1,9", 1),
    "another seed was written": lambda text: text.replace("sample,1,", "sample,7,", 1),
    "the last line is torn": lambda text: text[:-20],
    "a line is cut in two": lambda text: text[: len(text) - 150] + "\n" + text[len(text) - 150 :],
    "no header": lambda text: text.split("\n", 1)[1].replace("sample,2,", "sample,4,"),
    "nothing left": lambda text: "not a table at all",
}
ADDED: dict[str, Callable[[str], str]] = {
    "bytes that are no text": lambda text: text + "\udcff\udcfe\n",
    "a line of something else": lambda text: text + "hello\n",
    "a quote is left open": lambda text: text + '"a,b\n',
}


@pytest.mark.parametrize("how", [*SPOILED, *ADDED])
def test_what_is_spoiled_is_measured_again(how: str, kept: Path) -> None:
    good = kept.read_text(encoding="utf-8")
    kept.write_bytes((SPOILED | ADDED)[how](good).encode("utf-8", "surrogateescape"))
    ran: list[int] = []
    with Cache(kept).open() as cache:
        dropped = cache.dropped
        found = measured({scenario("sample"): 3}, load, cache, 1, lambda done, total: ran.append(total))
    assert dropped >= 1
    assert (ran[0] > 0) == (how in SPOILED)
    assert kept.read_text(encoding="utf-8") == good
    assert len(found[scenario("sample")]) == 3


def test_a_file_of_another_kind_of_rows_is_begun_anew(kept: Path) -> None:
    kept.write_text("key,stream\n1,2\n", encoding="utf-8")
    with Cache(kept).open() as cache:
        assert cache.get("1") is None
    assert kept.read_text(encoding="utf-8") == ",".join(COLUMNS) + "\n"


def test_a_file_of_another_version_is_kept_beside(kept: Path) -> None:
    kept.write_text("key,stream\n1,2\n", encoding="utf-8")
    with Cache(kept).open():
        pass
    assert kept.with_suffix(".csv.old").read_text(encoding="utf-8") == "key,stream\n1,2\n"


def test_rows_of_older_code_give_way(kept: Path) -> None:
    rows = kept.read_text(encoding="utf-8")
    with Cache(kept).open() as cache:
        cache.put("of newer code", load("walk-2-60").digest(), scenario("sample"), 1, Outcome(*range(10)))
    assert len(kept.read_text(encoding="utf-8").splitlines()) == len(rows.splitlines())
    with Cache(kept).open() as cache:
        assert cache.get("of newer code") == Outcome(*range(10))


def test_a_row_that_was_used_is_not_the_one_that_gives_way(kept: Path) -> None:
    """Code A, then B, then A again."""
    with Cache(kept).open() as cache:
        cache.put("of B", load("walk-2-60").digest(), scenario("sample"), 1, Outcome(*range(10)))
        assert len(measured({scenario("sample"): 3}, load, cache, 1, ignore)[scenario("sample")]) == 3
    with Cache(kept).open() as cache:
        assert cache.get("of B") is None
        assert known({scenario("sample"): 3}, load, cache)


def test_promises_that_differ_in_small_print_live_side_by_side(tmp_path: Path) -> None:
    promises = [WEEKLY, WEEKLY._replace(neighbours="replace"), WEEKLY._replace(per_unit=3)]
    wanted = dict.fromkeys([scenario("sample", promise=promise) for promise in promises], 1)
    with Cache(tmp_path / "results.csv").open() as cache:
        measured(wanted, load, cache, 1, ignore)
    with Cache(tmp_path / "results.csv").open() as cache:
        assert known(wanted, load, cache).keys() == wanted.keys()


def test_a_last_row_without_an_end_is_whole(kept: Path) -> None:
    good = kept.read_text(encoding="utf-8")
    kept.write_text(good.removesuffix("\n"), encoding="utf-8")
    torn = Cache(kept)
    with contextlib.suppress(Tired), torn.open():
        torn.put("another", "data", scenario("ba"), 1, Outcome(*range(10)))
        raise Tired  # before the file is written anew
    with Cache(kept).open() as cache:
        assert cache.dropped == 0
        assert cache.get("another")
        assert known({scenario("sample"): 3}, load, cache)


def test_a_full_disk_is_said_so_and_what_is_there_stays(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    good = kept.read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(BadInput, match="No space left"), Cache(kept).open():
        pass
    assert kept.read_bytes() == good
    assert {path.name for path in kept.parent.iterdir()} == {"results.csv", "results.lock"}


def test_a_folder_in_the_place_of_the_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "results.csv").mkdir()
    with pytest.raises(BadInput, match="cannot be written"), Cache(tmp_path / "results.csv").open():
        pytest.fail("opened")


def test_rows_of_other_data_stay(kept: Path) -> None:
    with Cache(kept).open() as cache:
        cache.put("of a stand-in", "another digest", scenario("sample"), 1, Outcome(*range(10)))
    assert len(kept.read_text(encoding="utf-8").splitlines()) == 1 + 3 + 1


def _hold(path: Path, held: Event, go: Event) -> None:
    with Cache(path).open():
        held.set()
        go.wait(30)


def test_two_benchmarks_do_not_write_into_one_file(kept: Path) -> None:
    context = multiprocessing.get_context("spawn")
    held, go = context.Event(), context.Event()
    other = context.Process(target=_hold, args=(kept, held, go))
    other.start()
    try:
        assert held.wait(30)
        with pytest.raises(BadInput, match="another benchmark"), Cache(kept).open():
            pytest.fail("two at once")
    finally:
        go.set()
        other.join()


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(BadInput, match="cannot be written"), Cache(tmp_path / "file" / "results.csv").open():
        pytest.fail("opened")


# ---- running ---------------------------------------------------------------------------------------------------------

WANTED: dict[Scenario | Transcribed, int] = {
    scenario("uniform"): 2,
    scenario("spas", "walk-1-50"): 2,
    Transcribed("walk-1-50", WEEKLY): 1,
}


def test_any_number_of_processes_comes_to_the_same(tmp_path: Path) -> None:
    texts = []
    for workers in (1, 2):
        path = tmp_path / f"{workers}.csv"
        with Cache(path).open() as cache:
            found = measured(WANTED, load, cache, workers, ignore)
        assert {what: len(runs) for what, runs in found.items()} == WANTED
        texts.append(path.read_bytes())
    assert texts[0] == texts[1]


def test_what_is_known_is_not_run(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: object, seed: int, stream: object) -> Outcome:
        raise AssertionError("run again")

    monkeypatch.setattr(Scenario, "run", refuse)
    with Cache(kept).open() as cache:
        assert len(measured({scenario("sample"): 3}, load, cache, 1, ignore)[scenario("sample")]) == 3
        assert known({scenario("sample"): 3, scenario("ba"): 1}, load, cache).keys() == {scenario("sample")}
        assert known({scenario("sample"): 4}, load, cache) == {}
        with pytest.raises(AssertionError, match="run again"):
            measured({scenario("sample"): 4}, load, cache, 1, ignore)


def test_who_is_interrupted_goes_on(tmp_path: Path) -> None:
    path, wanted = tmp_path / "results.csv", {scenario("uniform"): 4}

    def tire(done: int, total: int) -> None:
        if done == 2:
            raise Tired

    with pytest.raises(Tired), Cache(path).open() as cache:
        measured(wanted, load, cache, 1, tire)
    left: list[int] = []
    with Cache(path).open() as cache:
        measured(wanted, load, cache, 1, lambda done, total: left.append(total))
    assert left[0] == 2
    with Cache(tmp_path / "fresh.csv").open() as cache:
        measured(wanted, load, cache, 1, ignore)
    assert path.read_bytes() == (tmp_path / "fresh.csv").read_bytes()


class Shifting:
    """A stream that is another one whenever it is loaded."""

    loads = 0

    def __call__(self, name: str) -> Walk:
        Shifting.loads += 1
        return load(f"walk-2-{60 + Shifting.loads}")


def test_data_that_change_meanwhile_are_not_kept_under_an_old_key(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="have changed"), Cache(tmp_path / "results.csv").open() as cache:
        measured({scenario("uniform"): 2}, Shifting(), cache, 1, ignore)
    assert len((tmp_path / "results.csv").read_text(encoding="utf-8").splitlines()) == 1


def test_a_long_run_holds_up_nobody(tmp_path: Path) -> None:
    """While the longest goes on, rows of all others are on disk already."""
    path, on_disk = tmp_path / "results.csv", []
    wanted = {scenario("uniform", "walk-2-20000"): 1, **dict.fromkeys([scenario("uniform", "walk-2-20")], 6)}

    def look(done: int, total: int) -> None:
        on_disk.append(len(path.read_text(encoding="utf-8").splitlines()) - 1)

    with Cache(path).open() as cache:
        measured(wanted, load, cache, 2, look)
    assert on_disk == list(range(8))


def test_processes_do_not_outlive_whoever_began_them(tmp_path: Path) -> None:
    """Killed without a chance to say good-bye."""
    script = (
        "import sys; from pathlib import Path; from test_scenarios import *\n"
        "if __name__ == '__main__':\n"
        "    with Cache(Path(sys.argv[1])).open() as cache:\n"
        "        show = lambda done, _: print(done, flush=True)\n"
        "        measured({scenario('uniform', 'walk-2-9000'): 400}, load, cache, 2, show)"
    )
    path = tmp_path / "run.py"
    path.write_text(script, encoding="utf-8")
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parent)}
    command = [sys.executable, str(path), str(tmp_path / "results.csv")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as running:
        assert running.stdout is not None
        while running.stdout.readline().strip() != "2":
            pass
        running.kill()
        assert running.stdout.read() is not None  # ends when the last of them has let go of it


def die(name: str) -> Walk:
    if multiprocessing.current_process().name != "MainProcess":
        os._exit(9)
    return load(name)


def test_a_process_that_is_killed_is_said_so(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="goes on where it was"), Cache(tmp_path / "results.csv").open() as cache:
        measured({scenario("uniform"): 4}, die, cache, 2, ignore)


def test_streams_are_loaded_once_in_a_process(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded: list[str] = []

    def noting(name: str) -> Walk:
        loaded.append(name)
        return load(name)

    measured({scenario("uniform"): 3, scenario("sample"): 3}, noting, Cache.in_memory(), 1, ignore)
    assert loaded == ["walk-2-60"] * 2  # once to know it again, once to run
