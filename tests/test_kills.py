"""Planted failures that take an attack: each is proved to lose more than it claims."""

import pytest

from penstock.audit.kills import AUDIT, Kill, kills, main, table, work
from penstock.audit.planted import planted

MOST_TRIALS = 20_000  # what takes more is left to make audit
ATTACKED = [name for name, failure in planted().items() if failure.caught_by == AUDIT and failure.trials <= MOST_TRIALS]


def nothing(_: int) -> None:
    """Nobody looks."""


@pytest.mark.parametrize("name", ATTACKED)
def test_an_attack_kills(name: str) -> None:
    (kill,) = kills([name], seed=1, workers=1, advance=nothing)
    assert kill.dead, kill.verdict


def test_what_a_check_finds_is_dead_and_what_it_does_not_find_survives(monkeypatch: pytest.MonkeyPatch) -> None:
    (kill,) = kills(["overspender"], seed=1, workers=1, advance=nothing)
    assert kill.dead
    assert kill.verdict.endswith("but paid 5.")
    monkeypatch.setattr(planted()["overspender"], "saying", "something else")
    (kill,) = kills(["overspender"], seed=1, workers=1, advance=nothing)
    assert not kill.dead
    monkeypatch.setattr(planted()["overspender"], "caught_by", "same_seed_same_output")
    (kill,) = kills(["overspender"], seed=1, workers=1, advance=nothing)
    assert not kill.dead


def test_the_work_is_what_the_bar_is_told() -> None:
    names, done = ["overspender", "one_draw"], list[int]()
    assert all(kill.dead for kill in kills(names, seed=1, workers=1, advance=done.append))
    assert sum(done) == work(names)


def test_the_table_names_the_mutants_in_order_and_whoever_survives(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["one_draw", "wrong_window", "--seed", "1", "--workers", "1"]) == 0
    shown = capsys.readouterr().out
    assert shown.index("M7") < shown.index("M8")
    alive = Kill("zombie", "M99", "It breathes.", "audit", "loses 0.5, claims 1", dead=False)
    assert "SURVIVES: loses 0.5, claims 1" in str([*table([alive]).columns[4].cells])
    assert main(["one_drow"]) == 2
    assert "one_draw" in capsys.readouterr().err
