"""``penstock compare``: every mechanism on one's own stream, said to be outside the guarantee."""

import json
from pathlib import Path

import pytest

from in_process import command as penstock
from penstock.bench.boards import compared_under
from penstock.bench.scenario import Promise
from penstock.streams import synthetic

FAST = "--seeds", 2, "--workers", 1
WEEKLY = "--w", 12


def written(path: Path, kind: str, steps: int = 120, bins: int = 2) -> Path:
    counts = synthetic(kind, bins=bins, steps=steps, seed=3).counts
    rows = [f"{t},{','.join(map(str, row))}" for t, row in enumerate(counts.tolist(), start=1)]
    names = ",".join(f"bin {i}" for i in range(bins))
    path.write_text("\n".join([f"t,{names}", *rows, ""]), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("own") / "calm.csv", "constant")


def test_the_best_is_recommended_with_its_error(calm: Path) -> None:
    code, out, err = penstock("compare", calm, *WEEKLY, "--seeds", 5, "--workers", 1)
    assert code == 0
    assert "Recommended: sample." in out
    assert "mean absolute error of a count" in out
    assert all(key in out for key in compared_under(Promise("w-event", "1", 12)))
    assert "protects nobody" in " ".join(out.split())
    assert "outside the privacy guarantee" in " ".join(err.replace("│", " ").split())


def test_it_is_said_what_needs_no_comparison(calm: Path) -> None:
    _, out, err = penstock("compare", calm, *WEEKLY, *FAST)
    assert "Without comparing: auto" in err
    assert "auto, which nobody has to choose by counts, has" in " ".join(out.split())
    told = json.loads(penstock("compare", calm, *WEEKLY, *FAST, "--measure", "rmse", "--json")[1])
    assert {"auto", "auto for RMSE"} < {each["mechanism"] for each in told["mechanisms"]}


def test_a_wild_stream_gets_another_recommendation(tmp_path: Path) -> None:
    wild = written(tmp_path / "wild.csv", "spas_3", bins=1)
    code, out, _ = penstock("compare", wild, *WEEKLY, *FAST, "--epsilon", 10)
    assert code == 0
    assert "Recommended: sample." not in out


def test_as_json(calm: Path) -> None:
    code, out, err = penstock("compare", calm, *WEEKLY, *FAST, "--measure", "mre", "--json")
    told = json.loads(out)
    assert (code, told["measure"], told["outside_the_guarantee"], told["simulated"]) == (0, "mre", True, True)
    first, *others = told["mechanisms"]
    assert first["recommended"]
    assert not any(other["recommended"] for other in others)
    assert all(first["error"] <= other["error"] for other in others)
    assert told["expect"]["mechanism"] == first["mechanism"]
    assert told["expect"]["error"] != first["error"]  # of runs that had no part in the choice
    assert first["low"] <= first["error"] <= first["high"]
    assert "Not private" in err


def test_without_looking_at_counts(calm: Path, tmp_path: Path) -> None:
    """Two files of the same shape cannot be told apart."""
    other = written(tmp_path / "calm.csv", "spas_3")
    shown = [
        penstock("compare", file, *WEEKLY, *FAST, "--instead", "jumps", "--mean", 40, "--json")
        for file in (calm, other)
    ]
    assert shown[0][0] == shown[1][0] == 0
    assert shown[0][1] == shown[1][1]
    assert not json.loads(shown[0][1])["outside_the_guarantee"]
    assert "Not private" not in shown[0][2]


def test_the_banner_offers_a_command_that_works(calm: Path) -> None:
    _, _, err = penstock("compare", calm, *WEEKLY, *FAST, "--epsilon", "0.5")
    (offered,) = (line.partition("penstock ")[2] for line in err.splitlines() if "Without looking" in line)
    assert offered.startswith("compare ")
    code, _, again = penstock(*offered.split(), *FAST)
    assert (code, "made up" in again) == (0, True)
    assert "--epsilon 0.5 --neighbours add-remove --per-unit 1 --w 12" in offered


def test_a_name_may_hold_any_sign(calm: Path, tmp_path: Path) -> None:
    strange = tmp_path / "q[red] [b].csv"
    strange.write_bytes(calm.read_bytes())
    for arguments in ((), ("--instead", "jumps")):
        code, _, err = penstock("compare", strange, *WEEKLY, *FAST, *arguments)
        assert (code, "q[red] [b].csv" in err) == (0, True)


def test_a_window_of_nothing_is_refused(calm: Path) -> None:
    assert penstock("compare", calm, "--w", 0, *FAST)[0] == 2
    assert penstock("simulate", "--w", 0)[0] == 2


def test_ranges_need_several_bins(tmp_path: Path) -> None:
    alone = written(tmp_path / "alone.csv", "jumps", bins=1)
    code, _, err = penstock("compare", alone, *WEEKLY, *FAST, "--measure", "range_error")
    assert (code, "a stream of 1 bin;" in err) == (2, True)
    assert penstock("compare", alone, *WEEKLY, *FAST, "--measure", "requests")[0] == 0


def test_a_short_horizon(tmp_path: Path) -> None:
    short = written(tmp_path / "short.csv", "jumps", steps=5)
    code, out, _ = penstock("compare", short, "--model", "user-level", "--horizon", 5, *FAST)
    assert (code, "Recommended" in out) == (0, True)


def test_processes_come_to_the_same(calm: Path) -> None:
    told = [penstock("compare", calm, *WEEKLY, "--seeds", 2, "--workers", workers, "--json")[1] for workers in (1, 2)]
    assert told[0] == told[1]


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("--w", 500), "fewer than a window of 500"),
        (("--model", "user-level", "--horizon", 50), "more than the horizon"),
        (("--model", "m-context"), "who is present"),
        (("--model", "user-level", "--horizon", 200, "--epsilon", "0"), "epsilon must be above 0"),
        (("--model", "w-evnt"), "Did you mean w-event?"),
        (("--measure", "maee"), "Did you mean mae?"),
        (("--measure", "requests"), "requests makes no sense for a stream of 2 bins"),
        (("--instead", "wlk"), "one of"),
        (("--mean", 5), "--instead"),
        (("--epsilon", "0"), "epsilon"),
    ],
)
def test_what_cannot_be_used_is_refused(calm: Path, arguments: tuple[object, ...], told: str) -> None:
    code, out, err = penstock(
        "compare", calm, *FAST, *(() if "--w" in arguments or "--model" in arguments else WEEKLY), *arguments
    )
    assert (code, out) == (2, "")
    assert told in " ".join(err.split())


@pytest.mark.parametrize("text", ["", "t,a\n", "t,a\n1,many\n", "t,a\n1,2,3\n", "t,a\n1,-5\n"])
def test_a_file_that_cannot_be_read(text: str, tmp_path: Path) -> None:
    file = tmp_path / "own.csv"
    file.write_text(text, encoding="utf-8")
    code, _, err = penstock("compare", file, *WEEKLY, *FAST)
    assert (code, "own.csv" in err) == (2, True)
    assert "-5" not in err
    assert "many" not in err


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    code, _, err = penstock("compare", tmp_path / "none.csv", *WEEKLY, *FAST)
    assert (code, "none.csv" in err) == (2, True)


@pytest.mark.parametrize("law", ["event-level", "user-level --horizon 120", "delta-neighbourhood --steps 5"])
def test_other_models(law: str, calm: Path) -> None:
    code, out, _ = penstock("compare", calm, "--model", *law.split(), *FAST)
    assert (code, "Recommended" in out) == (0, True)


def test_publishing_nothing_is_not_recommended_without_a_word(tmp_path: Path) -> None:
    """Sparse bins at a small epsilon: where the first release is late, zeros for ever have the least error."""
    empty = written(tmp_path / "empty.csv", "sparse", steps=60, bins=200)
    code, out, _ = penstock("compare", empty, "--w", 40, *FAST, "--epsilon", "0.1")
    said = " ".join(out.split())
    assert code == 0
    assert "publishes next to nothing here" in said
    assert "something new in every window is" in said


def test_a_made_up_stream_is_not_called_yours(calm: Path) -> None:
    assert "Your stream" in penstock("compare", calm, *WEEKLY, *FAST)[1]
    made_up = penstock("compare", calm, *WEEKLY, *FAST, "--instead", "jumps")[1]
    assert "Your stream" not in made_up
    assert "Made up, jumps" in made_up
