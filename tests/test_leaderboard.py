"""``penstock bench``: what it runs, what it does not run again, and what it says of what it cannot use."""

import shutil
import sys
from pathlib import Path

import pytest

from in_process import command as penstock
from penstock import catalogue
from penstock.bench.boards import BOARDS, DEV, LEFT_OUT, LONG_PROMISES, Board, contestants, parameters_of
from penstock.bench.scenario import Promise
from penstock.bench.suite.streams import LONG, NAMED
from penstock.models import EventLevel, UserLevel, WEvent

SMALL = "bench", "leaderboard", "--board", "short", "--seeds", 1, "--workers", 1, "--no-figures"


@pytest.fixture(autouse=True)
def _no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PENSTOCK_DATA", raising=False)


# ---- boards ----------------------------------------------------------------------------------------------------------


def test_the_long_board_is_the_one_of_the_study() -> None:
    board = BOARDS["long"]
    assert (len(board.streams), len(board.promises)) == (22, 10)
    assert board.promises == LONG_PROMISES
    assert {promise.window for promise in board.promises} == {80, 120, 160, 200, 240}
    assert {promise.epsilon for promise in board.promises} == {"0.1", "0.3", "0.5", "0.7", "0.9", "1"}


@pytest.mark.parametrize(
    ("board", "law"), [("long", WEvent), ("short", WEvent), ("event", EventLevel), ("user", UserLevel)]
)
def test_every_mechanism_is_compared_or_it_is_said_why_not(board: str, law: type) -> None:
    proven = {key for key, kind in catalogue.mechanisms().items() if law in kind.proven_for}
    shown = set(BOARDS[board].mechanisms)
    assert shown <= proven
    assert proven - shown <= set(LEFT_OUT)
    assert ("sliding_baseline" in shown) == (board == "event")


def test_the_short_board_has_the_beginning_of_every_stream() -> None:
    names = (*LONG, "geolife_hour", "pages")
    assert list(BOARDS["short"].streams) == [f"{name}[:{steps}]" for name in names for steps in (180, 360)]


@pytest.mark.parametrize("board", [*BOARDS.values(), DEV])
def test_every_scenario_can_be_made(board: Board) -> None:
    for scenario in board.scenarios():
        catalogue.made(scenario.mechanism, dict(scenario.parameters), scenario.promise.model)


def test_who_has_objectives_takes_part_once_more_for_each_that_is_asked_for() -> None:
    promise = Promise("w-event", "1", 120)
    for board in BOARDS.values():
        made_for = {"auto for MRE", "auto for RMSE"} if board.aimed else set()
        assert {each.contestant for each in board.scenarios(["auto"])} == {"auto"} | made_for
        assert {each.promise for each in board.scenarios() if each.contestant in made_for} == set(board.aimed)
    usual, relative = contestants("const", promise, "auto", ["mae", "mre"])
    assert (usual.name, relative.name) == ("auto", "auto(objective=mre)")
    assert [each.contestant for each in contestants("const", promise, "spas", ["mae", "mre"])] == ["spas"]


def test_where_sums_are_judged_who_can_publish_sums_does() -> None:
    summed = {each.mechanism for each in BOARDS["event"].scenarios() if each.summed}
    assert summed == {"sliding_baseline", "auto"}
    assert not any(each.summed for board in ("long", "short", "user") for each in BOARDS[board].scenarios())


def test_parameters_follow_the_promise() -> None:
    for name in ("dsat", "dsft", "spas"):  # as they are shipped
        assert parameters_of(name, Promise("w-event", "1", 200)) == ()
        assert parameters_of(name, Promise("user-level", "1", 1000)) == ()
        assert parameters_of(name, Promise("event-level", "1")) == ()
    assert parameters_of("fixed", Promise("event-level", "1")) == (("every", 1),)
    assert parameters_of("fixed", Promise("w-event", "1", 200)) == ()


# ---- the command -----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A small board, and what was said about it."""
    into = tmp_path_factory.mktemp("board") / "into"
    code, out, err = penstock(*SMALL, "--stream", "const", "--into", into)
    assert (code, "76 runs to do" in err) == (0, True), err
    return into, out


def test_all_is_written(measured: tuple[Path, str]) -> None:
    into, out = measured
    assert {path.name for path in into.iterdir()} == {"results.csv", "results.lock", "part"}
    assert {path.name for path in (into / "part").iterdir()} == {"leaderboard.md", "leaderboard.csv", "report.html"}
    assert all(key in out for key in BOARDS["short"].mechanisms)
    said = "penstock bench leaderboard --board short --stream const --seeds 1"
    assert said in (into / "part" / "leaderboard.md").read_text(encoding="utf-8")
    assert "report.html" in out
    assert len((into / "results.csv").read_text(encoding="utf-8").splitlines()) == 77


def test_nothing_is_run_twice(measured: tuple[Path, str]) -> None:
    into, out = measured
    before = {path.name: path.read_bytes() for path in into.rglob("*.*")}
    code, again, err = penstock(*SMALL, "--stream", "const", "--into", into)
    assert (code, again) == (0, out)
    assert "to do" not in err
    assert {path.name: path.read_bytes() for path in into.rglob("*.*")} == before


def test_one_mechanism_is_run_and_the_others_are_known(measured: tuple[Path, str], tmp_path: Path) -> None:
    """In a folder where only BA is missing."""
    into, out = measured
    lines = (into / "results.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    (tmp_path / "results.csv").write_text("".join(line for line in lines if ",ba," not in line), encoding="utf-8")
    code, again, err = penstock(*SMALL, "--stream", "const", "--only", "ba", "--into", tmp_path)
    assert (code, "4 runs to do" in err) == (0, True)
    assert again.split("Report")[0] == out.split("Report")[0]


def test_one_mechanism_alone(tmp_path: Path) -> None:
    code, out, err = penstock(*SMALL, "--stream", "const", "--only", "sample", "--into", tmp_path)
    assert code == 0
    assert "Nothing else is known here" in err
    assert "sample" in out
    assert "uniform" not in out


def test_what_was_changed_is_said_and_measured_again(measured: tuple[Path, str], tmp_path: Path) -> None:
    text = (measured[0] / "results.csv").read_text(encoding="utf-8")
    (tmp_path / "results.csv").write_text(text[:-30] + "\n", encoding="utf-8")
    code, _, err = penstock(*SMALL, "--stream", "const", "--into", tmp_path)
    assert (code, "1 row" in err, "1 run to do" in err) == (0, True, True)
    assert (tmp_path / "results.csv").read_text(encoding="utf-8") == text


def test_cells_that_only_one_knows_do_not_count(measured: tuple[Path, str], tmp_path: Path) -> None:
    into, out = measured
    shutil.copy(into / "results.csv", tmp_path)
    both = "--stream", "const", "--stream", "rw1"
    code, again, err = penstock(*SMALL, *both, "--only", "sample", "--into", tmp_path)
    assert (code, "4 cells left out" in err) == (0, True)
    assert again.split("Report")[0] == out.split("Report")[0]


def test_without_matplotlib_there_are_no_figures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.backends.backend_agg", None)
    arguments = [each for each in SMALL if each != "--no-figures"]
    code, _, err = penstock(*arguments, "--stream", "const", "--only", "sample", "--into", tmp_path)
    assert (code, "No figures" in err, "penstock[plot]" in err) == (0, True, True)
    assert (tmp_path / "part" / "report.html").exists()


def test_whoever_stops_it_is_told_that_nothing_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("penstock.cli.benching.measured", interrupted)
    code, _, err = penstock(*SMALL, "--stream", "const", "--into", tmp_path)
    assert (code, "goes on where it was" in err) == (130, True)


def test_a_stream_that_is_made_up_is_said_to_be(tmp_path: Path) -> None:
    code, _, err = penstock(*SMALL, "--stream", "flu_out", "--only", "sample", "--into", tmp_path)
    assert code == 0
    assert "flu_out" in err
    assert "Made up" in err
    for file in ("leaderboard.md", "report.html"):
        assert "stand-in" in (tmp_path / "part" / file).read_text(encoding="utf-8")
    assert "stand-in" in (tmp_path / "part" / "leaderboard.csv").read_text(encoding="utf-8")


def test_a_stream_of_a_file_is_read(tmp_path: Path) -> None:
    rows = "\n".join(f"{t},{50 + t % 7}" for t in range(400))
    (tmp_path / "unemployment.csv").write_text(f"t,people\n{rows}\n", encoding="utf-8")
    into = tmp_path / "into"
    code, _, err = penstock(*SMALL, "--stream", "unemp", "--only", "sample", "--data", tmp_path, "--into", into)
    assert code == 0
    assert "Made up" not in err
    assert ",file" in (into / "part" / "leaderboard.csv").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--board", "shrot"), "Did you mean short?"),
        (("--only", "spaz"), "Did you mean spas?"),
        (("--only", "planned"), "plans to use"),
        (("--stream", "flu_outt"), "Did you mean flu_out?"),
        (("--stream", "tdrive_minute"), "has 60 units, which is fewer than 180"),
        (("--only", "PLANNED"), "plans to use"),
        (("--only", "sliding_baseline"), "on the board of sums alone"),
        (("--only", "baseline"), "not proven for what they promise"),
        (("--dev",), "leave out --board"),
        (("--data", "/nowhere/at/all"), "there is no folder"),
        (("--into", "/proc/nowhere"), "cannot be written"),
        (("--seeds", "0"), "seeds"),
    ],
)
def test_what_cannot_be_used_is_refused(arguments: tuple[str, ...], told: str, tmp_path: Path) -> None:
    code, _, err = penstock(*SMALL, "--stream", "const", "--into", tmp_path / "into", *arguments)
    assert (code, told in " ".join(err.split())) == (2, True), err


def test_a_stream_shorter_than_a_window_is_refused(tmp_path: Path) -> None:
    code, _, err = penstock("bench", "leaderboard", "--board", "long", "--stream", "tdrive_minute", "--into", tmp_path)
    assert (code, "has 60 units, and a window of the board long has 240" in err) == (2, True)


def test_a_file_that_cannot_be_read_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "unemployment.csv").write_text("t,people\n1,many\n", encoding="utf-8")
    code, _, err = penstock(*SMALL, "--stream", "unemp", "--data", tmp_path, "--into", tmp_path / "into")
    assert (code, "unemployment.csv" in err) == (2, True)


def test_a_stream_of_no_board_can_be_compared_too(tmp_path: Path) -> None:
    code, out, err = penstock(*SMALL, "--stream", "weekly", "--only", "SAMPLE", "--into", tmp_path / "new" / "deep")
    assert (code, "4 runs to do" in err, "sample" in out) == (0, True, True)
    assert "weekly[:180]" in (tmp_path / "new" / "deep" / "results.csv").read_text(encoding="utf-8")


def test_whole_boards_have_their_report_in_the_folder_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small = {"user": BOARDS["user"].on(["const[:60]"])}
    monkeypatch.setattr("penstock.cli.bench.BOARDS", small)
    monkeypatch.setattr("penstock.bench.boards.BOARDS", small)
    code, _, err = penstock("bench", "leaderboard", "--seeds", 2, "--workers", 1, "--into", tmp_path)
    assert code == 0, err
    names = {path.name for path in tmp_path.iterdir()}
    assert names > {"leaderboard.md", "leaderboard.csv", "report.html", "user-standings.png", "user-mae.svg"}


def test_the_streams_are_listed(tmp_path: Path) -> None:
    (tmp_path / "unemployment.csv").write_text("t,people\n1,5\n", encoding="utf-8")
    code, out, _ = penstock("bench", "streams", "--data", tmp_path)
    assert code == 0
    assert all(name in out for name in NAMED)
    assert "flu_death.csv" in out
    lines = {line.split()[1]: line for line in out.splitlines() if line.startswith("│ ")}
    assert "made up" in lines["flu_death"]
    assert "made up" not in lines["unemp"]
    assert "generated" in lines["const"]


def test_an_original_that_nobody_knows(tmp_path: Path) -> None:
    code, _, err = penstock("bench", "fetch", "unemploymint", "--to", tmp_path)
    assert (code, "Did you mean unemployment?" in err) == (2, True)
