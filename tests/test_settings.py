"""What commands are told, by a TOML file and by options, what they print, and what is said about mistakes."""

import gc
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from in_process import command

BASE = """
input = "in.csv"
output = "out.csv"
store = "store.db"
mechanism = "uniform"
[model]
name = "w-event"
epsilon = 1
w = 3
"""


@pytest.fixture(autouse=True)
def _input(tmp_path: Path) -> Iterator[None]:
    (tmp_path / "in.csv").write_text("t,a,b\n1,31337,6\n2,7,31337\n")
    yield
    gc.collect()


def penstock(*arguments: object) -> tuple[int, str, str]:
    """The command, which never tells a count."""
    code, out, err = command(*arguments)
    assert "31337" not in out + err
    return code, out, err


def toml(folder: Path, text: str) -> Path:
    path = folder / "run.toml"
    path.write_text(text, encoding="utf-8")
    return path


def refused(folder: Path, text: str, *options: object) -> str:
    code, out, err = penstock("run", toml(folder, text), *options)
    assert (code, out) == (2, ""), err
    assert err.startswith("error: ")
    assert len(err.splitlines()) == 1
    assert not list(folder.glob("out*")) or (folder / "out.csv").read_bytes().count(b"\n") == 1
    return err


def test_paths_are_relative_to_the_file_and_options_to_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    path = toml(tmp_path, BASE)
    assert penstock("run", path)[0] == 0
    assert (tmp_path / "out.csv").read_text().count("\n") == 3
    assert penstock("run", path, "--output", "again.csv")[0] == 0
    assert (tmp_path / "here" / "again.csv").read_bytes() == (tmp_path / "out.csv").read_bytes()


def test_options_win(tmp_path: Path) -> None:
    told = ("--stream", "people", "--epsilon", "2", "--w", "5", "--json", "--mechanism", "ba")
    code, out, _ = penstock("run", toml(tmp_path, BASE), *told)
    assert code == 0
    assert json.loads(out)["stream"] == "people"
    (shown,) = json.loads(penstock("ledger", "show", tmp_path / "store.db", "--json")[1])
    assert shown["mechanism"] == "BA"
    assert (shown["model"]["epsilon"], shown["model"]["w"]) == ("2", 5)


def test_another_mechanism_or_model_does_not_inherit_parameters(tmp_path: Path) -> None:
    text = BASE.replace('mechanism = "uniform"\n', "") + '[mechanism]\nname = "spas"\nwarm_up = 5\n'
    code, _, err = penstock("run", toml(tmp_path, text), "--mechanism", "uniform")
    assert code == 0, err
    other = ("--stream", "other", "--output", tmp_path / "other.csv")
    code, _, err = penstock("run", toml(tmp_path, BASE), "--model", "event-level", *other)
    assert code == 0, err


@pytest.mark.parametrize(
    ("told", "meant"),
    [
        ("inptu", "input"),
        ("outputt", "output"),
        ("gap", "gaps"),
        ("evry", "every"),
        ("mechansim", "mechanism"),
        ("populaton", "population"),
        ("Store", "store"),
        ("input-format", "input_format"),
    ],
)
def test_a_misspelt_key_is_named_with_the_nearest(tmp_path: Path, told: str, meant: str) -> None:
    said = refused(tmp_path, f'"{told}" = "31337"\n' + BASE)
    assert f"'{told}'" in said
    assert f"Did you mean {meant}?" in said


@pytest.mark.parametrize(
    ("before", "after", "sentence"),
    [
        ('"w-event"', '"w-evnt"', "Did you mean w-event?"),
        ("epsilon = 1", "epsilo = 1", "Did you mean epsilon?"),
        ("w = 3", "", "needs w"),
        ("epsilon = 1", "", "needs epsilon"),
        ("w = 3", 'w = "3"', "whole number of 1 or more"),
        ("w = 3", "w = 0", "whole number of 1 or more"),
        ("epsilon = 1", "epsilon = -1", "epsilon"),
        ("epsilon = 1", "epsilon = nan", "finite number"),
        ("epsilon = 1", "epsilon = [1]", "finite number"),
        ("epsilon = 1", "epsilon = true", "epsilon"),
        ("w = 3", 'w = 3\nneighbours = "remove"', "neighbours must be"),
        ('"uniform"', '"unifrom"', "Did you mean uniform?"),
        ('"uniform"', "7", "mechanism"),
        ('"uniform"', '{name = "spas", warmup = 3}', "Did you mean warm_up?"),
        ('"uniform"', '{name = "spas", warm_up = "x"}', "warm_up"),
        ('"uniform"', '{name = "spas", decide_share = "x"}', "decide_share must be a number"),
        ('"uniform"', '{name = "spas", update = []}', "update must be"),
        ('"uniform"', '{name = "spas", direct = "no"}', "direct"),
        ("[model]", "gaps = 3\n[model]", "gaps"),
        ("[model]", "every = 7\n[model]", "every"),
        ("[model]", 'every = "fortnight"\n[model]', "every is a length"),
        ("[model]", 'output_format = "cvs"\n[model]', "a format is one of"),
        ("[model]", "stream = 3\n[model]", "stream"),
        ("[model]", 'time = "when"\n[model]', "no column 'when'"),
        ("[model]", "population = [1]\n[model]", "population"),
        ("[model]", 'population = "p"\npopulation_epsilon = []\n[model]', "population_epsilon"),
        ("[model]", 'population = "p"\npopulation_epsilon = "x"\n[model]', "finite number"),
        ('"in.csv"', '"nowhere.csv"', "cannot be read"),
        ('input = "in.csv"', "", "say which input"),
        ('store = "store.db"', "", "say which store"),
        ('name = "w-event"', "", "say whom to protect"),
        ('"out.csv"', '"out.txt"', "say which format"),
        ('"store.db"', '"no/folder/store.db"', "folder"),
        ("[model]", "[model", "line 6"),
        ("[model]", "\x00", "line 6"),
    ],
)
def test_a_mistake_is_one_sentence(tmp_path: Path, before: str, after: str, sentence: str) -> None:
    assert before in BASE
    assert sentence in refused(tmp_path, BASE.replace(before, after))


def test_documents_that_a_sentence_points_to_are_there(tmp_path: Path) -> None:
    said = refused(tmp_path, "gaps = 3\n" + BASE)
    root = Path(__file__).parents[1]
    assert all((root / word.strip(";,.")).exists() for word in said.split() if word.startswith("docs/"))


def test_a_file_that_cannot_be_read_is_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "latin.toml").write_bytes(b'input = "\xe9"\n')
    for path in (tmp_path / "nothing.toml", tmp_path, tmp_path / "latin.toml", tmp_path / "in.csv"):
        code, _, err = penstock("run", path)
        assert (code, len(err.splitlines())) == (2, 1)


def test_a_file_with_a_byte_order_mark_is_read(tmp_path: Path) -> None:
    assert penstock("run", toml(tmp_path, "\ufeff" + BASE))[0] == 0


@pytest.mark.parametrize("pair", ["warm_up", "=3", "warmup=3", "warm_up=", "warm_up=3.5", "warm_up=[", "model=3"])
def test_a_parameter_that_cannot_be_used_is_one_sentence(tmp_path: Path, pair: str) -> None:
    refused(tmp_path, BASE, "--mechanism", "spas", "--set", pair)


def test_streams_of_one_population_share_its_budget(tmp_path: Path) -> None:
    path = toml(tmp_path, 'population = "riders"\npopulation_epsilon = 1.5\n' + BASE)
    assert penstock("run", path)[0] == 0
    code, _, err = penstock("run", path, "--stream", "second", "--output", tmp_path / "second.csv")
    assert code == 2
    assert 'population "riders" has 0.5 of 1.5 left' in err
    code, _, err = penstock("run", path, "--population-epsilon", "3")
    assert code == 2
    assert "cannot change afterwards" in err
    code, _, err = penstock("run", path, "--stream", "second", "--epsilon", "0.5", "-o", tmp_path / "second.csv")
    assert code == 0, err


def test_a_budget_for_nobody_is_refused(tmp_path: Path) -> None:
    """Whoever names a shared budget believes that it holds."""
    assert "population" in refused(tmp_path, "population_epsilon = 1\n" + BASE)


def test_a_new_population_needs_a_budget(tmp_path: Path) -> None:
    assert "how much all its streams may spend" in refused(tmp_path, 'population = "p"\n' + BASE)


@pytest.mark.parametrize(
    ("option", "value", "sentence"),
    [
        ("--w", "4", "was begun with w = 3 and is opened with w = 4"),
        ("--epsilon", "2", "was begun with epsilon = 1"),
        ("--mechanism", "ba", "was begun with mechanism = Uniform"),
        ("--per-unit", "2", "per_unit"),
        ("--neighbours", "replace", "neighbours"),
        ("--population", "p", "population"),
    ],
)
def test_a_stream_goes_on_as_it_was_begun(tmp_path: Path, option: str, value: str, sentence: str) -> None:
    path = toml(tmp_path, BASE)
    assert penstock("run", path)[0] == 0
    before = penstock("ledger", "show", tmp_path / "store.db", "--json")
    also = ("--population-epsilon", "9") if option == "--population" else ()
    code, _, err = penstock("run", path, option, value, *also)
    assert (code, sentence in err) == (2, True), err
    assert penstock("ledger", "show", tmp_path / "store.db", "--json") == before
    assert penstock("run", path)[0] == 0


def published(folder: Path, rows: str, *options: object, output: str = "out.csv") -> str:
    """What a run with these rows says."""
    (folder / "in.csv").write_text(rows)
    code, out, err = penstock("run", toml(folder, BASE), *options, "--output", folder / output)
    assert code == 0, err
    return out + err


def test_names_of_streams_are_not_markup(tmp_path: Path) -> None:
    name = "[/b] [red]"
    assert f'"{name}"' in published(tmp_path, "t,a\n[/x],5\n", "--stream", name, "--every", "row")
    for more in ((), ("--stream", name)):
        code, out, err = penstock("ledger", "show", tmp_path / "store.db", *more)
        assert (code, name in out) == (0, True), err
    assert penstock("backup", tmp_path / "store.db", tmp_path / "copy.db")[0] == 0


def test_every_json_parses_and_bars_stay_away(tmp_path: Path) -> None:
    assert json.loads(published(tmp_path, "t,a\n1,5\n2,6\n", "--json"))["t"] == 2
    store = tmp_path / "store.db"
    for verb in (
        ("ledger", "show", store, "--stream", "in"),
        ("ledger", "verify", store),
        ("backup", store, tmp_path / "copy.db"),
        ("mechanisms",),
        ("simulate", "--length", "10", "--trials", "1"),
    ):
        code, out, err = penstock(*verb, "--json")
        assert (code, err) == (0, "")
        json.loads(out)
    assert penstock("export", store, "--stream", "in")[1:] == ((tmp_path / "out.csv").read_text(), "")


def test_an_export_does_not_mix_two_streams(tmp_path: Path) -> None:
    published(tmp_path, "t,a\n1,5\n2,6\n3,7\n")
    published(tmp_path, "t,a\n1,5\n", "--stream", "other", output="other.csv")
    before = (tmp_path / "other.csv").read_bytes()
    assert penstock("export", tmp_path / "store.db", "--stream", "in", "-o", tmp_path / "other.csv")[0] == 2
    assert (tmp_path / "other.csv").read_bytes() == before


@pytest.mark.parametrize(
    "command", ["ledger show", "ledger verify", "ledger adopt --stream=x --yes", "key rotate", "export --stream=x"]
)
def test_looking_for_a_store_that_is_not_there_makes_none(tmp_path: Path, command: str) -> None:
    code, _, err = penstock(*command.split(), tmp_path / "typo.db")
    assert (code, len(err.splitlines())) == (2, 1)
    assert [path.name for path in tmp_path.iterdir()] == ["in.csv"]


def test_the_shell_can_complete() -> None:
    # the command looks for the shell that it was called from, so it has to be called from one that it knows
    command = f"{Path(sys.executable).parent / 'penstock'} --show-completion; exit $?"
    shown = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=True)
    assert "_PENSTOCK_COMPLETE=complete_bash" in shown.stdout
