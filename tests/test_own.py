"""A mechanism of one's own, from a file, in every command that takes one: the example of CONTRIBUTING."""

from __future__ import annotations

import csv
import json
import re
import shutil
from pathlib import Path
from textwrap import dedent

import pytest

from in_process import command
from penstock.bench.code import code_version
from penstock.bench.scenario import Promise, Scenario
from penstock.catalogue import mechanism
from penstock.errors import BadInput
from penstock.proofs import read_proof

ROOT = Path(__file__).parent.parent
LAW = ("--model", "w-event", "--epsilon", "1", "--w", "4")
UNITS = 24


def example() -> list[str]:
    """The mechanism and its proof, as they are printed."""
    blocks = re.split(r"^(?=\S)", (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    return [dedent(block.partition("\n\n")[2]) for block in blocks if "`mine.py`:" in block or "`mine.md`," in block]


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with the mechanism, its proof, and counts."""
    monkeypatch.chdir(tmp_path)
    for name, text in zip(("mine.py", "mine.md"), example(), strict=True):
        Path(name).write_text(text, encoding="utf-8")
    rows = "".join(f"{t},{20 + t},{t % 7}\n" for t in range(1, UNITS + 1))
    Path("counts.csv").write_text("t,a,b\n" + rows, encoding="utf-8")
    return tmp_path


def prove() -> None:
    """Finish the proof, as far as its front matter goes."""
    proof = Path("mine.md")
    proof.write_text(proof.read_text(encoding="utf-8").replace("status: sketch", "status: proved"), encoding="utf-8")
    read_proof.cache_clear()


def run(target: str = "mine.py", *more: object) -> tuple[int, str, str]:
    files = ("--input", "counts.csv", "--output", "out.csv", "--store", "s.db")
    return command("run", *files, *LAW, "--mechanism", target, *more)


def refused(*arguments: object) -> str:
    code, out, err = command(*arguments)
    assert (code, out) == (2, "")
    return err


# ---- simulations -----------------------------------------------------------------------------------------------------


def test_it_is_simulated() -> None:
    told = ("simulate", *LAW, "--length", UNITS, "--trials", 2, "--bins", 2, "--mechanism", "mine.py")
    assert "no finished proof" in refused(*told)
    (row,) = json.loads(command(*told, "--allow-unproven", "--json")[1])["mechanisms"]
    assert (row["mechanism"], row["releases_per_window"], row["fullest_window"]) == ("mine.py", 2, "1")
    prove()
    assert json.loads(command(*told, "--json")[1])["mechanisms"] == [row]


def test_it_is_searched_for_the_epsilon_it_needs() -> None:
    told = ("--length", UNITS, "--trials", 2, "--bins", 2, "--target-error", 5, "--allow-unproven")
    code, out, err = command("simulate", *LAW, *told, "--mechanism", "mine.py")
    assert (code, "mine.py" in out) == (0, True), err


def test_it_is_compared_with_all_others() -> None:
    told = ("compare", "counts.csv", *LAW, "--seeds", 2, "--workers", 1, "--mechanism", "mine.py", "--json")
    assert "no finished proof" in refused(*told)
    found = json.loads(command(*told, "--allow-unproven")[1])["mechanisms"]
    names = [row["mechanism"] for row in found]
    assert {"mine.py", "auto", "uniform"} <= set(names)
    assert len(names) == len(set(names))
    (mine,) = (row for row in found if row["mechanism"] == "mine.py")
    assert (mine["releases_per_window"], mine["fullest_window"]) == (2, 1)


def test_it_takes_part_in_the_benchmark() -> None:
    told = ("--dev", "--stream", "const[:150]", "--seeds", 1, "--workers", 1, "--no-figures", "--into", "b")
    arguments = ("bench", "leaderboard", *told, "--mechanism", "mine.py")
    assert "no finished proof" in refused(*arguments)
    code, out, err = command(*arguments, "--allow-unproven")
    assert (code, "mine.py" in out, "2 runs to do" in err) == (0, True, True), err
    with Path("b/results.csv").open(encoding="utf-8") as file:
        assert [row["what"] for row in csv.DictReader(file)] == ["mine.py"] * 2
    assert "runs to do" not in command(*arguments, "--allow-unproven")[2]  # they are known
    page = Path("b/part/leaderboard.md").read_text(encoding="utf-8")
    assert "--only mine.py" in page
    assert "--allow-unproven" in page  # or who repeats it is refused


def test_it_is_on_no_board_whose_promise_it_does_not_claim() -> None:
    said = refused("bench", "leaderboard", "--board", "user", "--mechanism", "mine.py", "--allow-unproven")
    assert "is not proven for what they promise" in said


def test_a_run_in_the_benchmark_is_known_by_the_code_of_the_file_and_of_the_package() -> None:
    what = Scenario("const", Promise("w-event", "1", 4), "mine.py", allow_unproven=True)
    assert what.told()["allow_unproven"] is True
    assert "allow_unproven" not in what._replace(mechanism="uniform", allow_unproven=False).told()
    code = Path("mine.py").read_text(encoding="utf-8")
    Path("commented.py").write_text(code + "# no matter\n", encoding="utf-8")
    Path("changed.py").write_text(code.replace("% 2", "% 3"), encoding="utf-8")
    names = [mechanism(f"{name}.py").__module__ for name in ("mine", "commented", "changed")]
    assert len({*names}) == 3
    assert code_version(names[1]) != code_version(names[2])


# ---- for good --------------------------------------------------------------------------------------------------------


def test_it_publishes_for_good_with_a_finished_proof_only() -> None:
    code, _, err = run()
    assert (code, "EveryOther has no finished proof" in err) == (2, True)
    assert not Path("out.csv").exists()
    assert not Path("s.db").exists()
    assert "No such option" in run("mine.py", "--allow-unproven")[2]
    prove()
    code, _, err = run()
    assert (code, f"{UNITS} new releases, {UNITS // 2} fresh" in err) == (0, True), err
    assert run("mine.py:EveryOther")[0] == 0
    assert command("ledger", "verify", "s.db", "--output", "out.csv")[0] == 0
    assert "EveryOther" in command("statement", "s.db")[1]


def test_a_file_of_settings_names_it_from_where_it_lies(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    prove()
    settings = 'input = "counts.csv"\noutput = "out.csv"\nstore = "s.db"\nmechanism = "mine.py:EveryOther"\n'
    Path("mine.toml").write_text(settings + '[model]\nname = "w-event"\nepsilon = 1\nw = 4\n', encoding="utf-8")
    (here / "elsewhere").mkdir()
    monkeypatch.chdir(here / "elsewhere")
    code, _, err = command("run", "../mine.toml")
    assert (code, f"{UNITS} new releases" in err) == (0, True), err


def test_another_mechanism_does_not_go_on_with_its_stream() -> None:
    prove()
    run()
    assert run("uniform")[0] == 2


def test_its_stream_can_be_adopted() -> None:
    """After an old copy of the store was brought back."""
    prove()
    rows = Path("counts.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    for number in (UNITS // 2, UNITS):
        Path("counts.csv").write_text("".join(rows[: number + 1]), encoding="utf-8")
        run()
        shutil.copyfile("s.db", f"{number}.db")
    shutil.copyfile(f"{UNITS // 2}.db", "s.db")
    told = ("ledger", "adopt", "s.db", "--stream", "counts", "--yes")
    assert "no mechanism is called" in refused(*told)
    code, _, err = command(*told, "--mechanism", "mine.py")
    assert code == 0, err


@pytest.mark.parametrize(
    ("target", "sentence"),
    [
        ("nowhere.py", "there is no file"),
        ("mine.py:Mine", "has no mechanism 'Mine'; it has EveryOther"),
        ("empty.py", "defines no mechanism"),
        ("broken.py", "fails with ZeroDivisionError"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_in_a_sentence(target: str, sentence: str) -> None:
    Path("empty.py").write_text("", encoding="utf-8")
    Path("broken.py").write_text("1 / 0", encoding="utf-8")
    said = refused("simulate", "--mechanism", target)
    assert sentence in said
    assert len(said.splitlines()) == 1
    with pytest.raises(BadInput):
        mechanism(target)
