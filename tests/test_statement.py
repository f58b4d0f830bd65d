"""``penstock statement``: everything a reader has to know, nothing that is not public, and no promise too much."""

from __future__ import annotations

import json
import math
import re
import shutil
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar
from unittest import mock

import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from in_process import Crash, command, crash_at, models
from penstock.cli.statement import BEGINNINGS
from penstock.laws import MODELS
from penstock.mechanisms.uniform import Uniform
from penstock.statement import as_markdown, planned, stated
from penstock.statement.markdown import escaped
from penstock.statement.promise import Unit, promised, protects, unit_of
from penstock.store import Archive

SECRET = 3133731337
LAWS = {
    "event-level": ("--mechanism", "uniform"),
    "w-event": ("--w", "4"),
    "user-level": ("--horizon", "9", "--mechanism", "dsft"),
    "m-context": ("--m", "3", "--presence", "present.csv"),
    "delta-neighbourhood": ("--steps", "1"),
}
KEYS = {
    "": "statement stream stated_by promise data released population bounds public origin spent reading trust",
    "promise": "model parameters relation per_unit epsilon delta odds chance protects does_not_protect",
    "data": "bins attributes every time_unit",
    "released": "units first last fresh repeated",
    "population": "name epsilon set_aside streams",
    "bounds": "per_unit enforcement late_data late_data_consequence missing_units",
    "origin": "mechanism summary paper parameters histogram shape noise versions proof",
    "spent": "charges fullest_set unit link",
}
PROOF = "status covers_model current reviewed code file"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with counts of six weeks, and who was present in them."""
    monkeypatch.chdir(tmp_path)
    rows = [f"2026-W{t:02d},{SECRET},{t}" for t in range(1, 7)]
    Path("counts.csv").write_text("\n".join(["week,north,south", *rows, ""]), encoding="utf-8")
    users = [f"2026-W{t:02d},u{user}" for t in range(1, 7) for user in range(4)]
    Path("present.csv").write_text("\n".join(["t,user", *users, ""]), encoding="utf-8")
    few = [f"2026-W{t:02d},{t % 3},1" for t in range(1, 7)]
    Path("few.csv").write_text("\n".join(["week,north,south", *few, ""]), encoding="utf-8")
    return tmp_path


def run(*options: str, source: str = "counts.csv", law: str = "w-event", store: str = "s.db") -> None:
    files = ("--input", source, "--store", store, "--output", "-")
    code, _, err = command("run", *files, "--model", law, "--epsilon", "0.7", *LAWS[law], *options)
    assert code == 0, err


def state(*arguments: object) -> str:
    code, out, err = command("statement", *arguments)
    assert (code, err) == (0, ""), err
    return out


def data(*arguments: object) -> dict[str, Any]:
    (found,) = json.loads(state(*arguments, "--json"))
    return dict(found)


def lines(text: str) -> dict[str, str]:
    """What a page says, by what it is about; of lists all entries."""
    found = re.findall(r"^- \*\*(.+?):\*\*(.*(?:\n  - .+)*)$", text, re.MULTILINE)
    return {about: said.strip() for about, said in found}


def refused(*arguments: object) -> str:
    code, out, err = command("statement", *arguments)
    assert (code, out) == (2, "")
    assert len(err.splitlines()) == 1
    return err


@pytest.mark.parametrize("law", MODELS)
def test_every_model_is_stated(law: str) -> None:
    run(law=law, source="few.csv" if law == "m-context" else "counts.csv")
    found, told = data("s.db"), lines(state("s.db"))
    assert found["promise"]["model"] == law
    assert found["promise"]["protects"] == told["Protected"]
    assert "per week" in told["Protected"]
    assert told["Epsilon"].startswith("0.7 ")
    assert told["Releases so far"] == "6, 2026-W01 to 2026-W06"
    assert "read against exactly the code" in told["Proof"]
    assert all(said for said in told.values())
    assert told["Population"].startswith("not declared. ")
    assert told["Late data"].startswith("not declared. ")
    assert str(SECRET) not in json.dumps(found)
    sealed = told["Most spent on any protected stretch so far"].startswith("sealed")
    assert sealed == (found["spent"]["fullest_set"] is None) == (law == "m-context")
    assert ("Who is present, and when." in found["public"]) == (law == "m-context")


def test_a_rule_for_late_data_is_declared_by_the_publisher() -> None:
    run()
    rule = ("--late-data", "Dropped after *two* days.")
    assert data("s.db", *rule)["bounds"]["late_data"] == "Dropped after *two* days"
    assert lines(state("s.db", *rule))["Late data"] == "Dropped after \\*two\\* days."
    assert "--late-data" in refused("s.db", "--late-data", " ")


def test_the_same_keys_are_always_there() -> None:
    run("--population", "patients", "--population-epsilon", "2")
    found = data("s.db")
    for part, keys in KEYS.items():
        assert list(found[part] if part else found) == keys.split()
    assert list(found["origin"]["proof"]) == PROOF.split()
    assert set(found["released"]["repeated"]) == {"refused", "failed", "lost", "missing", "over", "adopted"}
    assert set(found["promise"]["parameters"]) == {"w"}


def test_it_says_what_the_ledger_says_and_ties_itself_to_the_last_release() -> None:
    run()
    ((verified,), found) = json.loads(command("ledger", "verify", "s.db", "--json")[1]), data("s.db")
    assert found["spent"]["fullest_set"] == verified["fullest protected set"]
    assert found["spent"]["charges"] == verified["charges"]
    assert (found["released"]["units"], found["released"]["fresh"]) == (verified["units"], verified["fresh"])
    command("export", "s.db", "--stream", "counts", "--output", "all.csv")
    assert Path("all.csv").read_text().splitlines()[-1].endswith(found["spent"]["link"])
    assert state("s.db") == state("s.db")


def test_all_parameters_are_told_also_those_that_nobody_chose() -> None:
    run("--mechanism", "spas", "--set", "warm_up=3", "--set", "histogram=quadtree(split=4)")
    origin = data("s.db")["origin"]
    usual = {field.name: field.default for field in ps.SPAS.parameter_fields()}
    assert origin["parameters"] == {
        name: 3 if name == "warm_up" else value for name, value in usual.items() if name not in ("histogram", "shape")
    }
    assert origin["histogram"] == "quadtree(split=4)"
    run(law="user-level", store="other.db")
    assert data("other.db")["origin"]["histogram"] == "laplace"
    assert "total = automatic" in lines(state("other.db"))["Parameters"]


def test_streams_of_a_population_share_a_total() -> None:
    share = ("--population", "patients", "--population-epsilon", "2")
    run("--stream", "one", *share)
    run("--stream", "two", *share)
    run("--stream", "alone")
    both = json.loads(state("s.db", "--json"))
    assert [each["stream"] for each in both] == ["one", "two", "alone"]
    assert both[0]["population"] == {"name": "patients", "epsilon": "2", "set_aside": "1.4", "streams": 2}
    assert both[2]["population"] is None
    assert state("s.db").count("# Privacy statement: ") == 3
    told = lines(state("s.db", "--stream", "two"))
    assert '"patients", total epsilon 2.' in told["Population"]
    assert "add to this one" in lines(state("s.db", "--stream", "alone"))["Population"]


def test_lost_and_missing_units_are_told() -> None:
    mechanism = Uniform(model=ps.EventLevel(epsilon=1))
    with ps.Store("s.db") as store, ps.Publisher(mechanism, store, "s", bins=["a"], every="1d") as publisher:
        publisher.publish(ps.Snapshot(1, [5], label="2026-01-01"))
        publisher.miss("2026-01-02")
    with ps.Store("s.db", at=crash_at("draw")) as store:
        publisher = ps.Publisher(mechanism, store, "s", bins=["a"], every="1d")
        with pytest.raises(Crash):
            publisher.publish(ps.Snapshot(3, [5], label="2026-01-03"))
    before = data("s.db")
    assert before["spent"]["unit"] == 2
    with ps.Store("s.db") as store, ps.Publisher(mechanism, store, "s", bins=["a"], every="1d"):
        pass
    found = data("s.db")
    assert (found["released"]["units"], found["released"]["fresh"], found["released"]["last"]) == (3, 1, "2026-01-03")
    assert {cause: number for cause, number in found["released"]["repeated"].items() if number} == {
        "lost": 1,
        "missing": 1,
    }
    told = lines(state("s.db"))["Units that could not be measured"]
    assert "1 lost when a process died" in told
    assert "1 without input" in told


def test_nothing_is_shown_that_the_head_does_not_know() -> None:
    """A unit that is stored and was not announced as published may yet be drawn again from a copy."""
    mechanism = Uniform(model=ps.EventLevel(epsilon=1))
    with ps.Store("s.db") as store, ps.Publisher(mechanism, store, "s", bins=["a"]) as publisher:
        publisher.publish(ps.Snapshot(1, [5]))
    with ps.Store("s.db", at=crash_at("commit")) as store:
        publisher = ps.Publisher(mechanism, store, "s", bins=["a"])
        with pytest.raises(Crash):
            publisher.publish(ps.Snapshot(2, [5]))
    with Archive("s.db") as archive:
        assert archive.account("s").t == 2
        found = stated(archive, "s")
    assert (found.spent.unit, found.spent.charges, found.released.units) == (1, 1, 1)


def test_an_old_copy_is_refused_until_it_is_adopted_and_then_said_to_be_one() -> None:
    run()
    shutil.copy("s.db", "old.db")
    with Path("counts.csv").open("a") as file:
        file.write("2026-W07,1,1\n")
    run()
    shutil.copy("old.db", "s.db")
    assert "is not the latest" in refused("s.db")
    code, _, err = command("ledger", "adopt", "s.db", "--stream", "counts", "--yes")
    assert code == 0, err
    found = data("s.db")
    assert found["released"]["repeated"]["adopted"] == 1
    assert (found["released"]["units"], found["released"]["last"]) == (7, "2026-W06")
    Path("s.db.head").unlink()
    assert "head file" in refused("s.db")


@dataclass(kw_only=True)
class Own(Uniform):
    """Somebody's own mechanism, with no proof beside it."""

    proven_for: ClassVar = Uniform.proven_for
    pace: int = 1


def test_a_mechanism_of_ones_own_is_not_known() -> None:
    mechanism = Own(model=ps.EventLevel(epsilon=1), pace=3, allow_unproven=True)
    with ps.Store("s.db") as store, ps.Publisher(mechanism, store, "s", bins=["a"]) as publisher:
        publisher.publish(ps.Snapshot(1, [5]))
    origin, told = data("s.db")["origin"], lines(state("s.db"))
    assert (origin["mechanism"], origin["parameters"], origin["proof"]) == ("Own", {"pace": 3}, None)
    for about in ("Mechanism", "Paper", "How a histogram is measured", "Proof"):
        assert "not known to this installation" in told[about]


def test_what_intervals_and_sums_are_is_told_where_there_are_any() -> None:
    usual = as_markdown(planned("s", ps.Auto(model=ps.WEvent(epsilon=1, w=4))))
    summing = as_markdown(planned("s", ps.Auto(model=ps.EventLevel(epsilon=1), width=15)))
    plain = as_markdown(planned("s", Uniform(model=ps.WEvent(epsilon=1, w=4))))
    assert ["Between low and high" in page for page in (usual, summing, plain)] == [True, True, False]
    assert ["sum of the last 15 units" in page for page in (usual, summing, plain)] == [False, True, False]
    assert lines(usual)["Paper"].startswith("none; ")
    run()
    assert any(said.startswith("Between low and high") for said in data("s.db")["reading"])


def test_other_code_than_the_proof_was_read_against_is_told() -> None:
    with mock.patch("penstock.store.scribe.fingerprint", return_value="feedfacefeedface"):
        run()
    proof = data("s.db")["origin"]["proof"]
    assert (proof["current"], proof["code"]) == (False, ["feedfacefeedface"])
    assert "whether it covers them is not known" in lines(state("s.db"))["Proof"]


def test_an_unfinished_proof_is_told() -> None:
    run(law="event-level")
    sketch = mock.Mock(status="sketch", claims=("EventLevel",), reviewed="0" * 16)
    with mock.patch("penstock.statement.origin.proof_of", return_value=sketch):
        assert lines(state("s.db"))["Proof"].startswith("sketch, and not finished")


# ---- before the first release ---------------------------------------------------------------------------------------

PLAN = """
input = "counts.csv"
store = "s.db"
stream = "flu"
gaps = true
population = "patients"
population_epsilon = 2
[model]
name = "w-event"
epsilon = 1
w = 4
"""


def test_a_plan_is_stated_until_it_has_begun() -> None:
    Path("flu.toml").write_text(PLAN, encoding="utf-8")
    found = data("--config", "flu.toml")
    assert (found["stream"], found["data"]["bins"], found["released"]["units"]) == ("flu", 2, 0)
    assert found["population"] == {"name": "patients", "epsilon": "2", "set_aside": "1", "streams": 1}
    assert found["bounds"]["missing_units"] == "the release before is repeated, for nothing"
    assert found["origin"]["proof"]["current"]
    assert not Path("s.db").exists()
    Path("counts.csv").rename("moved.csv")
    told = lines(state("--config", "flu.toml"))
    assert (told["Bins"], told["Releases so far"]) == ("not declared", "none")
    assert told["Time unit"].startswith("not declared")
    Path("moved.csv").rename("counts.csv")
    assert command("run", "flu.toml", "--output", "out.csv")[0] == 0
    assert data("--config", "flu.toml") == data("s.db")


def test_a_stream_that_is_declared_and_not_begun_is_still_a_plan() -> None:
    plan = PLAN.replace("population_epsilon = 2", "population_epsilon = 1.5")
    Path("flu.toml").write_text(plan, encoding="utf-8")
    mechanism = ps.SPAS(model=ps.WEvent(epsilon=1, w=9))
    with ps.Store("s.db") as store:
        ps.Publisher(mechanism, store, "flu", bins=["a"], population="patients", population_epsilon=1.5).close()
    found = data("--config", "flu.toml")
    assert found["promise"]["parameters"] == {"w": 4}
    assert found["population"] == {"name": "patients", "epsilon": "1.5", "set_aside": "1", "streams": 1}
    told = lines(state("s.db"))
    assert (told["Up to unit"], told["Most spent on any protected stretch so far"]) == ("none yet", "none yet")


def test_a_plan_that_a_run_would_refuse_is_refused() -> None:
    Path("flu.toml").write_text(PLAN, encoding="utf-8")
    run("--stream", "other", "--population", "patients", "--population-epsilon", "1.5")
    assert "has 0.8 of 1.5 left" in refused("--config", "flu.toml")
    Path("flu.toml").write_text(PLAN.replace("w = 4", ""), encoding="utf-8")
    assert "needs w" in refused("--config", "flu.toml")


def test_the_example_of_the_manual_is_what_comes_out() -> None:
    manual = (Path(__file__).parent.parent / "docs" / "statement.md").read_text(encoding="utf-8")
    (plan,) = re.findall(r"```toml\n(.*?)```", manual, re.DOTALL)
    (shown,) = re.findall(r"```markdown\n(.*?)```", manual, re.DOTALL)
    (line,) = re.findall(r"```sh\npenstock statement (.*?)\n```", manual)
    Path("flu.toml").write_text(plan, encoding="utf-8")
    assert state(*line.split()).startswith(shown)


# ---- files and mistakes ---------------------------------------------------------------------------------------------


def test_a_file_is_written_over_if_it_is_a_statement_and_only_then(here: Path) -> None:
    run()
    for name in ("privacy.md", "privacy.json"):
        for _ in range(2):
            code, out, err = command("statement", "s.db", "--output", name)
            assert (code, out, err) == (0, "", f"done: 1 statement in {name}.\n")
        assert Path(name).read_bytes().startswith(BEGINNINGS)
    assert Path("privacy.md").read_text(encoding="utf-8") == state("s.db")
    assert Path("privacy.json").read_text(encoding="utf-8") == state("s.db", "--json")
    before = Path("counts.csv").read_bytes()
    assert "is no privacy statement" in refused("s.db", "-o", "counts.csv")
    assert "the same file" in refused("s.db", "-o", "s.db")
    assert "the same file" in refused("s.db", "--head", "s.db.head", "-o", "s.db.head")
    for bad in (".", "nowhere/x.md", "counts.csv/x.md"):
        assert "cannot be written" in refused("s.db", "-o", bad)
    assert Path("counts.csv").read_bytes() == before
    assert not list(here.glob("*.new"))


def test_what_is_missing_or_misspelt_is_refused() -> None:
    run()
    ps.Store("empty.db").close()
    assert "there is no store" in refused("nope.db")
    assert "Did you mean counts?" in refused("s.db", "--stream", "cuonts")
    assert "has no streams yet" in refused("empty.db")
    assert "one of them" in refused()
    assert "one of them" in refused("s.db", "--config", "flu.toml")
    assert "are for stores" in refused("--config", "flu.toml", "--stream", "x")
    assert "is not a store" in refused("counts.csv")
    whole = bytearray(Path("s.db").read_bytes())
    whole[39] ^= 4  # how many pages are free, by the header of the file
    Path("s.db").write_bytes(whole)
    assert "damaged" in refused("s.db")
    whole[39] ^= 4
    Path("s.db").write_bytes(whole.replace(b"2026-W03", b"2026-W09"))
    assert "damaged" in refused("s.db")


def test_no_path_of_the_host_and_no_count_is_told(here: Path) -> None:
    run()
    text = state("s.db") + state("s.db", "--json")
    for secret in (str(here), str(here.parent), here.name, ps.__file__, str(Path.home()), str(SECRET)):
        assert secret not in text


# ---- sentences ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "unit", "said"),
    [
        (ps.EventLevel(epsilon=1), Unit("hour"), "in any one hour: adding or removing their records (at most "),
        (ps.WEvent(epsilon=1, w=1), Unit(), "in any one time unit: "),
        (ps.WEvent(epsilon=1, w=120, neighbours="replace", per_unit=5), Unit("day"), "within any 120 consecutive days"),
        (ps.UserLevel(epsilon=1, horizon=520), Unit("week"), "in the whole stream, which is declared for 520 weeks: "),
        (
            ps.MContext(epsilon=1, m=5),
            Unit(length="30 minutes"),
            "in any 5 consecutive presences (these are time units of 30 ",
        ),
        (
            ps.DeltaNeighbourhood(epsilon=1, steps=24),
            Unit("hour"),
            "adding their records, removing them, or replacing them by",
        ),
    ],
)
def test_whom_a_model_protects_in_words(model: ps.PrivacyModel, unit: Unit, said: str) -> None:
    assert said in protects(model, unit)


@given(
    models(["0.000000001", "0.5", "1", "3.3", "40", "1000000"], longest=50, steps=30), st.sampled_from(["1w", "row"])
)
def test_sentences_hold_what_the_model_says(model: ps.PrivacyModel, every: str) -> None:
    found = promised(model, unit_of(every))
    assert found.protects.endswith(f"(at most {model.per_unit} per {unit_of(every).word}).")
    assert ("replacing" in found.protects) == (model.neighbours == "replace")
    assert model.window == 1 or str(model.window) in found.protects
    assert (str(model.epsilon), found.relation) == (found.epsilon, model.neighbours)
    assert "adding" in found.protects  # noise for a replaced record covers one that is added or removed
    assert "removing" in found.protects
    left_out = " ".join(found.does_not_protect)
    assert "counted at all" not in left_out
    assert ("Replacing records by others" in left_out) == (model.neighbours == "add-remove")
    assert ("is present, and when: it is public" in left_out) == isinstance(model, ps.MContext)
    mantissa, _, power = found.odds.partition(" x 10^")
    exact = float(model.epsilon) / math.log(10)
    assert exact <= math.log10(Decimal(mantissa)) + int(power or 0) <= exact + 1e-4
    assert float(found.chance.rstrip("%")) >= min(100 / (1 + math.exp(-min(float(model.epsilon), 700))), 100)


@pytest.mark.parametrize(
    ("every", "labels", "said"),
    [
        ("1w", (), "1 week"),
        ("2mo", (), "2 months"),
        ("12mo", (), "1 year"),
        ("90min", (), "90 minutes"),
        ("auto", ("2026-W01", "2026-W02"), "1 week"),
        ("auto", ("2026-01-01T10:00", "2026-01-01T10:30"), "30 minutes"),
        ("auto", ("2026-01-31", "2026-02-28"), "1 month"),
        ("auto", ("1", "2"), ""),
        ("auto", ("a", "b"), ""),
        ("auto", ("2026-W01",), ""),
        ("row", ("2026-W01", "2026-W02"), ""),
        ("5", (), ""),
    ],
)
def test_time_units_in_words(every: str, labels: tuple[str, ...], said: str) -> None:
    assert str(unit_of(every, list(enumerate(labels, start=1)))) == said


@given(st.text(min_size=1))
def test_names_mean_in_markdown_what_they_say(name: str) -> None:
    plain = "".join(each if each.isprintable() else " " for each in name)
    assert re.sub(r"\\([\\`*\[\]<>|&~_])", r"\1", escaped(name)) == plain
    page = as_markdown(planned(name, Uniform(model=ps.EventLevel(epsilon=1)), bins=["a"]))
    assert page.startswith(f"# Privacy statement: {escaped(name)}\n\nThe published")
    assert page.count("\n# ") == 0
    assert not re.search(r"(?<!\\)[`<>|~]", page.replace("\\\\", ""))
