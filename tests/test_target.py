"""``penstock simulate --target-error``: what it names was measured, and nothing near it is better."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from in_process import command, penstock
from penstock.cli.target import boundary
from penstock.theory import ranges

SHAPE = ("simulate", "--length=60", "--trials=2", "--bins=3", "--seed=4")
fixed = settings(derandomize=True, deadline=None)


def sought(*told: str) -> dict[str, Any]:
    code, out, err = command(*SHAPE, *told, "--json")
    assert (code, err) == (0, ""), err
    found: dict[str, Any] = json.loads(out)
    return found


def measured(mechanism: str, *told: str) -> float:
    """What ``simulate`` says without a target."""
    rows = sought(f"--mechanism={mechanism}", *told)["mechanisms"]
    return float(rows[0]["mean_error"])


def test_what_is_found_is_what_simulate_measures() -> None:
    found = sought("--w=8", "--target-error=12")
    rows = found["mechanisms"]
    assert {row["mechanism"] for row in rows} == {row["mechanism"] for row in sought("--w=8")["mechanisms"]}
    for row in rows:
        key, epsilon, window = row["mechanism"], row["smallest_epsilon"], row["longest_window"]
        assert row["mean_error"] == pytest.approx(measured(key, "--w=8"), abs=0.001)
        if epsilon is not None:
            assert row["error_at_smallest_epsilon"] <= 12
            assert row["error_at_smallest_epsilon"] == pytest.approx(
                measured(key, "--w=8", f"--epsilon={epsilon}"), abs=0.001
            )
        if window is not None:
            assert row["error_at_longest_window"] <= 12
            assert row["error_at_longest_window"] == pytest.approx(measured(key, f"--w={window}"), abs=0.001)
    needed = [float(row["smallest_epsilon"]) for row in rows if row["smallest_epsilon"]]
    assert needed
    assert needed == sorted(needed)
    assert [row["smallest_epsilon"] for row in rows[len(needed) :]] == [None] * (len(rows) - len(needed))


def test_publishing_always_needs_what_theory_says() -> None:
    (row,) = sought("--mechanism=uniform", "--w=10", "--target-error=5")["mechanisms"]
    epsilon, window = ps.Epsilon(row["smallest_epsilon"]), row["longest_window"]
    assert ranges.absolute_error(1, epsilon / 10) == pytest.approx(5, rel=0.3)
    assert ranges.absolute_error(1, ps.Epsilon(1) / window) == pytest.approx(5, rel=0.3)
    before = float(epsilon) - 10 ** (len(str(int(epsilon.nano))) - 9 - 2)
    assert measured("uniform", "--w=10", f"--epsilon={before:.9f}") > 5
    assert measured("uniform", f"--w={window + 1}") > 5


@pytest.mark.parametrize(
    ("told", "called"),
    [
        (("--model=delta-neighbourhood", "--steps=5"), "steps"),
        (("--model=m-context", "--m=4"), "m"),
        (("--model=w-event", "--w=5", "--width=3"), "w"),
    ],
)
def test_every_model_with_a_window_has_a_longest_one(told: tuple[str, ...], called: str) -> None:
    found = sought(*told, "--mechanism=uniform", "--target-error=30")
    assert (
        f"at epsilon 1 {called} can be up to {found['mechanisms'][0]['longest_window']} with uniform."
        in found["answer"]
    )
    assert found["windows"] == [1, 60]


def test_horizons_are_tried_on_streams_of_their_length() -> None:
    told = ("simulate", "--model=user-level", "--horizon=10", "--mechanism=uniform", "--trials=1", "--target-error=20")
    found = json.loads(command(*told, "--json")[1])
    horizon = found["mechanisms"][0]["longest_window"]
    assert found["windows"] == [1, 1000]
    assert 10 < horizon < 40
    told_length = json.loads(command(*told, "--length=10", "--json")[1])
    assert told_length["windows"] == [10, 1000]
    assert told_length["mechanisms"][0]["longest_window"] >= 10


def test_single_units_have_no_window() -> None:
    found = sought("--model=event-level", "--mechanism=baseline", "--target-error=3")
    assert "longest_window" not in found["mechanisms"][0]
    assert "windows" not in found
    assert (
        found["answer"]
        == f"an error of at most 3 needs epsilon {found['mechanisms'][0]['smallest_epsilon']} with baseline."
    )


def test_what_cannot_be_had_is_said() -> None:
    code, out = penstock(*SHAPE, "--w=20", "--mechanism=fixed", "--target-error=0.001")
    assert code == 0
    assert "no epsilon up to 1000 gives an error of at most 0.001; at epsilon 1 no w does." in out
    assert "simulated: seeded noise that protects nobody" in out
    assert " - " in out


def test_what_lies_at_the_edge_is_marked() -> None:
    code, out = penstock(*SHAPE, "--w=20", "--mechanism=uniform", "--target-error=1e9")
    assert (code, "<= 0.001" in out, ">= 60" in out) == (0, True, True)


def test_laws_that_a_mechanism_does_not_take_are_passed_over() -> None:
    found = sought("--w=20", "--mechanism=dsft", "--set", "releases=5", "--target-error=25", "--mean=1000")
    window = found["mechanisms"][0]["longest_window"]
    assert window is None or window >= 5
    assert (
        sought("--w=20", "--mechanism=dsft", "--set", "releases=5", "--target-error=1e6")["mechanisms"][0][
            "longest_window"
        ]
        == 60
    )


@pytest.mark.parametrize("wrong", ["0", "-1", "nan", "inf"])
def test_errors_that_nothing_can_have_are_refused(wrong: str) -> None:
    code, out = penstock(*SHAPE, f"--target-error={wrong}")
    assert (code, len(out.splitlines())) == (2, 1)
    assert "--target-error must be above 0 and finite" in out


@fixed
@given(st.integers(0, 400), st.integers(0, 400), st.integers(0, 401))
def test_the_boundary_is_found_from_anywhere(last: int, start: int, first: int) -> None:
    tried = set[int]()

    def passes(i: int) -> bool:
        assert 0 <= i <= last
        tried.add(i)
        return i >= first

    found = boundary(passes, min(start, last), last)
    assert found == (first if first <= last else None)
    assert len(tried) <= 3 + 2 * max(abs(min(start, last) - first), 1).bit_length()


@fixed
@given(st.lists(st.booleans(), min_size=1, max_size=60), st.integers(0, 59))
def test_whatever_the_errors_do_what_is_found_passes(passing: list[bool], start: int) -> None:
    found = boundary(lambda i: passing[i], min(start, len(passing) - 1), len(passing) - 1)
    assert found is None or passing[found]
    assert found is not None or not passing[-1]
