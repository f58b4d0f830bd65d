"""Wrong parameters of the mechanisms that decide when to publish: refused at construction, in one sentence."""

import json
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import penstock as ps
from in_process import penstock

USER = ps.UserLevel(epsilon=1, horizon=40)
WINDOWS = ps.WEvent(epsilon=1, w=8)
OPTIONAL = {"releases": int, "total": int, "decide_share": float}  # usually None


def parameters(*kinds: type) -> list[tuple[str, str]]:
    """The parameters that hold such values, of each mechanism."""
    found = []
    for name in ("dsft", "dsat", "fast", "bd", "ba"):
        for each in ps.mechanism(name).parameter_fields():
            kind = OPTIONAL.get(each.name, type(each.default))
            if kind in kinds:
                found.append((name, each.name))
    return found


def made(name: str, model: ps.PrivacyModel, **options: Any) -> ps.Mechanism:
    return ps.mechanism(name)(model=model, **options)


def refusal(name: str, parameter: str, value: object, model: ps.PrivacyModel = USER) -> str:
    """The sentence with which a value is refused at construction, or what happens instead."""
    try:
        made(name, model, **{parameter: value})
    except Exception as fault:
        return str(fault) if type(fault) is ps.BadInput else f"{type(fault).__name__}!"
    return "accepted!"


NO_NUMBERS = ["abc", "0.5", b"x", [], {}, float("nan"), float("inf"), -float("inf"), True, 1j, None]


@pytest.mark.parametrize(("name", "parameter"), parameters(int, float))
def test_what_is_no_number_is_refused_at_construction(name: str, parameter: str) -> None:
    """In one sentence."""
    wrong = [value for value in NO_NUMBERS if value is not None or parameter not in OPTIONAL]
    told = {repr(value): refusal(name, parameter, value) for value in wrong}
    assert {value: sentence for value, sentence in told.items() if not sentence.endswith(".")} == {}
    assert not [sentence for sentence in told.values() if "\n" in sentence]


@pytest.mark.parametrize(("name", "parameter"), parameters(int, float))
def test_a_refusal_says_which_parameter_is_meant(name: str, parameter: str) -> None:
    """Several may have been given."""
    sentence = refusal(name, parameter, float("nan"))
    assert parameter in sentence or "the weights of a controller" in sentence


@pytest.mark.parametrize(("name", "parameter"), parameters(int))
def test_a_number_of_things_is_whole(name: str, parameter: str) -> None:
    """Two and a half releases are none."""
    assert f"{parameter} must be" in refusal(name, parameter, 2.5)


@pytest.mark.parametrize(("name", "parameter"), parameters(bool))
def test_a_switch_is_on_or_off(name: str, parameter: str) -> None:
    """The text "no" would switch it on."""
    wrong: list[object] = ["no", "", None, 1.5, []]
    told = {repr(value): refusal(name, parameter, value) for value in wrong}
    assert {value: sentence for value, sentence in told.items() if parameter not in sentence} == {}


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"threshold": 0}, "threshold must lie between 0 and 2"),
        ({"threshold": 2}, "threshold must lie between 0 and 2"),
        ({"threshold": -0.1}, "threshold must lie between 0 and 2"),
        ({"releases": 0}, "releases must be a whole number of 1 or more"),
        ({"releases": -3}, "releases must be a whole number of 1 or more"),
        ({"releases": 41}, "releases must"),
        ({"total": 0}, "total must be a whole number of 1 or more"),
        ({"decide_share": 0}, "decide_share must lie between 0 and 1"),
        ({"decide_share": 1}, "decide_share must lie between 0 and 1"),
        ({"metric": "kl"}, "metric must be"),
        ({"metric": None}, "metric must be"),
        ({"metric": ["l1"]}, "metric must be"),
        ({"tolerance": 0}, "tolerance must be above 0"),
        ({"gain": -1}, "gain must be 0 or more"),
        ({"burn_in": -1}, "burn_in must be"),
        ({"reach": 0}, "reach must be a whole number of 1 or more"),
    ],
)
def test_parameters_of_dsat_out_of_range(options: dict[str, Any], sentence: str) -> None:
    """And so of DSFT, which has some of them."""
    with pytest.raises(ps.BadInput, match=sentence):
        made("dsat", USER, **options)


def jumps() -> list[ps.Snapshot]:
    rows = np.random.default_rng(1).integers(0, 200, (8, 2)).repeat(5, axis=0)
    return [ps.Snapshot(t, row) for t, row in enumerate(rows, start=1)]


def assert_works(mechanism: ps.Mechanism) -> None:
    """A stream can be published with it, and saved at any time, and a file can hold its parameters."""
    json.dumps(mechanism.parameters)
    mechanism.start(ps.Curator(mechanism.model, 2, noise=ps.SimulationNoise(1)))
    for snapshot in jumps():
        mechanism.step(snapshot)
        mechanism.save()


LARGE: list[Any] = [10**400, 10**30, 1e308, -1e308, 5e-324, 1e-200, 2**63, 2**53 + 1, -1]
OTHER: list[Any] = [
    np.float64(0.25),
    np.float32(0.25),
    np.longdouble(0.25),
    np.array(0.25),
    Fraction(1, 4),
    Decimal("0.25"),
]


def faults(name: str, parameter: str, values: list[Any], model: Any) -> dict[str, str]:
    """What goes wrong with values that are not refused at construction."""
    found = {}
    for value in values:
        told = refusal(name, parameter, value, model)
        if told == "accepted!":
            try:
                assert_works(made(name, model, **{parameter: value}))
                continue
            except Exception as fault:
                told = f"{type(fault).__name__}: {fault}"[:80] + "!"
        if not told.endswith("."):
            found[f"{parameter}={value!r}"[:40]] = told
    return found


@pytest.mark.parametrize("model", [USER, WINDOWS], ids=["horizon", "windows"])
@pytest.mark.parametrize(("name", "parameter"), parameters(int, float))
def test_what_is_accepted_works(model: Any, name: str, parameter: str) -> None:
    """A number is refused at construction or can be used: in a store, a step that fails costs all that is left."""
    assert faults(name, parameter, LARGE, model) == {}


@pytest.mark.parametrize("name", ["dsft", "dsat", "fast"])
def test_numbers_of_any_other_kind_work_or_are_refused(name: str) -> None:
    """A fraction, a decimal, what numpy has."""
    chosen = [parameter for each, parameter in parameters(float) if each == name]
    found = [faults(name, parameter, OTHER, WINDOWS) for parameter in chosen]
    assert [fault for fault in found if fault] == []


@pytest.mark.parametrize(("name", "parameter"), parameters(int))
def test_whole_numbers_from_numpy_work(name: str, parameter: str) -> None:
    """Models take them, so mechanisms do."""
    assert_works(made(name, USER, **{parameter: np.int64(3)}))


@pytest.mark.parametrize("name", ["dsft", "dsat", "fast", "bd", "ba"])
@pytest.mark.parametrize(("field", "value"), [("w", 3), ("w", 20), ("per_unit", 2)])
def test_models_made_with_numbers_from_numpy_work(name: str, field: str, value: int) -> None:
    """The model accepts them."""
    options: dict[str, Any] = {"w": 20} | {field: np.int64(value)}
    assert_works(made(name, ps.WEvent(epsilon=1, **options)))


@pytest.mark.parametrize("name", ["dsft", "dsat", "fast", "bd", "ba"])
@pytest.mark.parametrize("epsilon", ["1e-9", "2e-9", "5e-9", "2e-8", "8e-8"])
@pytest.mark.parametrize("kind", [USER, WINDOWS], ids=["horizon", "windows"])
def test_too_little_epsilon_is_refused_before_the_first_unit_or_works(name: str, epsilon: str, kind: Any) -> None:
    """Never in the middle of a stream, and in words that name it."""
    model = type(kind)(epsilon=epsilon, **{"horizon": 40} if kind is USER else {"w": 8})
    told = ""
    try:
        mechanism = made(name, model)
        mechanism.start(ps.Curator(model, 2, noise=ps.SimulationNoise(1)))
    except ps.BadInput as fault:
        told = str(fault)
    if told:
        assert f"epsilon={model.epsilon} is too little" in told
    else:
        assert_works(made(name, model))


# ---- the same from outside ------------------------------------------------------------------------------------------

WORDS = {
    "releases": ["0", "-1", "1.5", '"3"', "true", "51", "[2]", "nan", "", "9" * 5000],
    "total": ["0", "-1", "1.5", "many", "false", "{}"],
    "threshold": ["0", "2", "nan", "inf", '"0.5"', "true", "x"],
    "decide_share": ["0", "1", "nan", "[1]", "true", "x"],
    "metric": ["kl", "3", "true", ""],
    "reach": ["0", "1.5", "nan", "1" + "0" * 18, "1" + "0" * 40],
    "gain": ["-1", "nan", "inf", "true"],
    "tolerance": ["0", "-1", "x"],
    "proportional": ["nan", "inf", "x", "true", "1" + "0" * 400],
    "burn_in": ["-1", "nan", "1.5", "x"],
    "treshold": ["1"],
}


def told_by(folder: Path, *arguments: str) -> tuple[int, str]:
    """The exit code and what is said of a run that only checks."""
    (folder / "in.csv").write_text("t,a,b\n1,5,6\n2,7,8\n")
    law = ["--model=user-level", "--horizon=50", "--epsilon=1", f"--store={folder}/s.db", f"--input={folder}/in.csv"]
    return penstock("run", *arguments, *law, "--check")


def as_option(folder: Path, name: str, text: str) -> list[str]:
    return ["--mechanism=dsat", f"--set={name}={text}"]


def as_toml(folder: Path, name: str, text: str) -> list[str]:
    path = folder / "x.toml"
    path.write_text(f'[mechanism]\nname = "dsat"\n{name} = {text}\n')
    return [str(path)]


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in WORDS.items() for text in texts])
@pytest.mark.parametrize("way", [as_option, as_toml])
def test_mistakes_on_the_command_line_are_one_sentence(
    name: str, text: str, way: Callable[[Path, str, str], list[str]], tmp_path: Path
) -> None:
    """Exit code 2 and no traceback."""
    code, said = told_by(tmp_path, *way(tmp_path, name, text))
    assert code == 2
    assert said.startswith("error: ")


@pytest.mark.parametrize("way", [as_option, as_toml])
@pytest.mark.parametrize(("name", "text"), [("releases", "50"), ("metric", '"l2"'), ("gain", "0"), ("total", "7")])
def test_what_is_right_is_taken(
    name: str, text: str, way: Callable[[Path, str, str], list[str]], tmp_path: Path
) -> None:
    code, said = told_by(tmp_path, *way(tmp_path, name, text))
    assert code == 0
    assert "DSAT with 1 over its horizon of 50 units" in said


def test_a_whole_number_is_a_number_too() -> None:
    """So that a stream begun with 3 goes on with 3.0."""
    model = ps.EventLevel(epsilon=1)
    assert repr(ps.RG(model=model, growth=3)) == repr(ps.RG(model=model, growth=3.0))
    assert type(ps.RG(model=model, max_length=3).max_length) is int
