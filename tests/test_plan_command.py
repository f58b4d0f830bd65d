"""``penstock plan``: a table, a file, a picture, a certificate, and the line that runs it."""

import csv
import json
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from in_process import command, penstock
from penstock.allocation import plan

RULE = "every monday: 5; weekdays"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")


def planned(*arguments: object) -> dict[str, Any]:
    code, out, err = command("plan", *arguments, "--json")
    assert code == 0, err
    found: dict[str, Any] = json.loads(out)
    return found


def refused(*arguments: object) -> str:
    code, out, err = command("plan", *arguments)
    assert (code, out) == (2, "")
    assert err.startswith("error: ")
    assert len(err.splitlines()) == 1
    return err


def test_a_rule_as_json_is_the_plan() -> None:
    found = planned("--weights", RULE, "--window", 14, "--units", 60, "--first-day", "2026-01-01")
    units = found["units"]
    weights = [unit["weight"] for unit in units]
    best = plan(weights, 14, 1)
    assert weights[:8] == [1, 1, 0, 0, 5, 1, 1, 1]
    assert [unit["budget"] for unit in units] == [str(e) for e in best.budgets]
    assert found["certificate"] == best.certificate()
    assert (found["value"], found["bound"]) == (
        2 * best.value,
        2 * best.bound,
    )  # the variance of noise for e is 2 / e**2
    assert 1 - 1e-6 < found["as_it_goes"] < 1.05
    assert [unit["time"] for unit in units[:2]] == ["2026-01-01", "2026-01-02"]
    assert [unit["error"] is None for unit in units] == [weight == 0 for weight in weights]


@pytest.mark.parametrize("error", ["squared", "absolute"])
@pytest.mark.parametrize("law", [(), ("--neighbours", "replace", "--per-unit", "3")])
def test_the_error_of_a_plan_is_the_sum_over_its_own_table(error: str, law: tuple[str, ...]) -> None:
    """One definition: weight times what the table has for each unit, also where a person has several records."""
    found = planned("--weights", RULE, "--window", 5, "--units", 23, "--error", error, *law, "--start", "2026-01-01")
    published = [unit for unit in found["units"] if unit["weight"]]
    for name, value in (("error", "value"), ("uniform", "uniform_value")):
        assert sum(unit["weight"] * unit[name] for unit in published) == pytest.approx(found[value], rel=1e-6)
    assert f"is {found['value']:.6g}, and no plan can be below {found['bound']:.6g}" in found["certificate"]


def test_the_fullest_window_of_a_unit_is_one_that_it_is_in() -> None:
    found = planned("--weights", RULE, "--window", 5, "--units", 23, "--first-day", "2026-01-01")["units"]
    spent = [round(float(unit["budget"]) * 1e9) for unit in found]
    sums = [sum(spent[k : k + 5]) for k in range(len(spent) - 4)]
    fullest = [max(sums[max(t - 4, 0) : t + 1]) for t in range(len(spent))]
    assert [round(float(unit["fullest"]) * 1e9) for unit in found] == fullest
    assert max(fullest) <= 10**9


@pytest.mark.parametrize(("error", "power"), [("squared", 2), ("absolute", 1)])
@pytest.mark.parametrize("law", [{}, {"neighbours": "replace"}, {"per-unit": 3}])
def test_predicted_errors_are_those_of_laplace_noise(error: str, power: int, law: dict[str, object]) -> None:
    """As drawn in a large sample."""
    told = [word for name, value in law.items() for word in (f"--{name}", value)]
    found = planned("--weights", "every 2: 8; every day", "--window", 4, "--units", 8, "--error", error, *told)
    sensitivity = 2 if "neighbours" in law else int(str(law.get("per-unit", 1)))
    draws = np.random.default_rng(1).laplace(size=200_000)
    for unit in found["units"]:
        for e, said in ((float(unit["budget"]), unit["error"]), (1 / 4, unit["uniform"])):
            assert said == pytest.approx((np.abs(draws * sensitivity / e) ** power).mean(), rel=0.03)


def test_a_table_for_people_shows_what_is_published_and_how_to_run_it() -> None:
    code, out, err = command("plan", "--weights", RULE, "--window", 14, "--units", 90, "--start", "2026-01-01")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[0].strip() == "64 of 90 units published, epsilon 1 in any 14"
    rows = [line for line in lines if "│" in line]
    assert len(rows) == 21
    assert "44 more" in rows[16]
    assert "2026-01-03" not in out  # a saturday
    assert "2026-03-31" in rows[-1]
    assert max(len(line) for line in lines if "│" in line or "┃" in line) <= 80
    assert lines[-1].strip().startswith("penstock run")


def test_a_short_plan_is_shown_whole() -> None:
    _, out, _ = command("plan", "--weights", "every day", "--window", 3, "--units", 21)
    assert len([line for line in out.splitlines() if "│" in line]) == 21
    assert "more" not in out


@pytest.mark.parametrize(
    "told",
    [
        ["--weights", RULE, "--start", "2026-01-01", "--units", "40"],
        ["--weights", "weights.csv"],
        ["--weights", "weights.csv", "--repeat", "--units", "50", "--error", "absolute"],
        ["--weights", "every 3", "--neighbours", "replace", "--per-unit", "2"],
    ],
)
def test_the_line_that_runs_it_runs(told: list[str]) -> None:
    days = [f"2026-01-{day:02d}" for day in range(1, 29)]
    Path("weights.csv").write_text("weight\n" + "1\n0\n5\n" * 7, encoding="utf-8")
    Path("counts.csv").write_text("day,a\n" + "".join(f"{day},7\n" for day in days), encoding="utf-8")
    line = planned(*told, "--window", "6")["run"]
    program, *words = shlex.split(line)
    assert program == "penstock"
    code, said = penstock(*words, "--output", "out.csv")
    assert code == 0, said
    assert "28 new releases" in said
    weights = [unit["weight"] for unit in planned(*told, "--window", "6")["units"]] + [0] * 28
    with Path("out.csv").open(encoding="utf-8", newline="") as file:
        fresh = [row["kind"] == "fresh" for row in csv.DictReader(file)]
    assert fresh == [weight > 0 for weight in weights[:28]]


def test_a_file_keeps_its_labels_and_may_be_cut_or_repeated() -> None:
    Path("weights.csv").write_text("week,weight\n2026-W01,4\n2026-W02,0\n2026-W03,1\n", encoding="utf-8")
    assert planned("--weights", "weights.csv", "--window", 3)["as_it_goes"] is None
    whole = planned("--weights", "weights.csv", "--window", 3)["units"]
    assert [(unit["time"], unit["weight"]) for unit in whole] == [("2026-W01", 4), ("2026-W02", 0), ("2026-W03", 1)]
    assert len(planned("--weights", "weights.csv", "--window", 2, "--units", 2)["units"]) == 2
    more = planned("--weights", "weights.csv", "--window", 4, "--units", 6, "--repeat", "--start", "2026-W01")["units"]
    assert [unit["weight"] for unit in more] == [4, 0, 1] * 2
    assert more[-1]["time"] == "2026-W06"
    assert "begin it again with --repeat" in refused("--weights", "weights.csv", "--window", 2, "--units", 4)
    assert "window" in refused("--weights", "weights.csv", "--window", 4)


def test_all_of_it_goes_into_a_file() -> None:
    code, said = penstock("plan", "--weights", "every 2", "--window", 4, "--units", 50, "--output", "plan.csv")
    assert code == 0
    assert "done: 50 units in plan.csv." in said
    with Path("plan.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["unit"] for row in rows] == [str(t) for t in range(1, 51)]
    assert [row["budget"] for row in rows] == [str(e) for e in plan([1, 0] * 25, 4, 1).budgets]
    assert (rows[1]["budget"], rows[1]["error"]) == ("0", "")
    code, out, err = command("plan", "--weights", "every 2", "--window", 4, "--units", 50, "--output", "-")
    assert (code, out, err.strip()) == (0, Path("plan.csv").read_text(encoding="utf-8"), "done: 50 units.")
    assert "is there already" in refused("--weights", "every 2", "--window", 4, "--output", "plan.csv")


@pytest.mark.parametrize("name", ["plan.png", "plan.svg"])
def test_a_picture_is_drawn(name: str) -> None:
    told = ["--weights", RULE, "--window", 14, "--units", 40, "--start", "2026-01-01", "--picture", name]
    code, said = penstock("plan", *told)
    assert code == 0, said
    assert f"drawn: {name}" in said
    assert Path(name).stat().st_size > 10_000
    if name.endswith("svg"):
        text = Path(name).read_text(encoding="utf-8")
        assert all(f"<!-- {word} -->" in text for word in ("planned", "epsilon", "2026-01-01", "variance of the noise"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--weights", "every monday", "--window", "7"], "nobody says what day t=1 is"),
        (["--weights", "every mondy", "--window", "7"], "Did you mean every monday?"),
        (["--weights", "none.csv", "--window", "7"], "none.csv cannot be read: No such file or directory"),
        (["--weights", "empty.csv", "--window", "7"], "empty.csv is empty"),
        (["--weights", "bad.csv", "--window", "1"], "bad.csv, line 2: a weight must be 0 or a positive number"),
        (["--weights", "zero.csv", "--window", "1"], "zero.csv must have a weight above 0"),
        (["--weights", "every 2", "--window", "0"], "w must be a whole number of 1 or more"),
        (["--weights", "every 2", "--window", "9", "--units", "8"], "window"),
        (["--weights", "every 2", "--window", "9", "--units", "-1"], "--units must be a whole number of 1 or more"),
        (["--weights", "every 2", "--window", "9", "--epsilon", "0"], "epsilon must be above 0"),
        (["--weights", "every 2", "--window", "9", "--error", "cubed"], 'error must be "squared" or "absolute"'),
        (["--weights", "every 2", "--window", "9", "--unit", "dya"], "Did you mean day?"),
        (["--weights", "every 2", "--window", "9", "--start", "soon"], "first_day is the day"),
        (["--weights", "every 2", "--window", "9", "--output", "plan.jsonl"], "name a .csv file"),
        (["--weights", "every 2", "--window", "9", "--output", "no/plan.csv"], "there is no folder no"),
        (["--weights", "every 2", "--window", "9", "--picture", "plan.doc"], "one of these kinds"),
    ],
)
def test_what_cannot_be_planned_is_one_sentence(arguments: list[str], said: str) -> None:
    Path("empty.csv").write_text("", encoding="utf-8")
    Path("bad.csv").write_text("1\n-1\n", encoding="utf-8")
    Path("zero.csv").write_text("0\n0\n", encoding="utf-8")
    assert said in refused(*arguments)
