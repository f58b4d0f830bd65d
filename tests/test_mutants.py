"""Every privacy bug on the list is planted, and the attacks on them are fair."""

import ast
from pathlib import Path

import pytest

from penstock.audit.attack import Attack, Outcome
from penstock.audit.permissive import Printed
from penstock.audit.planted import Planted, planted
from penstock.checks import CHECKS
from penstock.errors import BadInput, CheckFailed
from penstock.models import EventLevel, MContext, PrivacyModel, UserLevel, WEvent
from penstock.noise import SimulationNoise
from test_architecture import FILES, SOURCE, imports, name_of

PLANTED = planted()
ATTACKED = {name: failure.attack for name, failure in PLANTED.items() if failure.attack is not None}
BROKEN = sorted((SOURCE / "audit" / "broken").glob("*.py"))

MUTANTS = {f"M{number}" for number in range(1, 25)}
TWINS = {f"{name} as printed" for name in ("SPAS", "DSAT", "DSFT", "MA(2)", "RescueDP", "AdaPub")}
A_FAILURE_MAY_NOT_IMPORT = ("penstock.bench", "penstock.cli", "penstock.store", "penstock.asking", "secrets")
ALSO_FOUND = {
    "half_noise": ("noise_is_as_claimed", "plus the whole draw"),
    "one_draw": ("noise_is_as_claimed", "no two bins share"),
    "too_little_noise": ("every_draw_is_paid", "were paid for"),
    "one_sided": ("every_draw_is_paid", "what is learnt about the fullest set"),
}
FEW = 400  # trials


def hits(failure: type[Planted], which: int, trials: int, noise: SimulationNoise) -> int:
    attack = failure.attack
    assert attack is not None
    assert attack.event is not None
    mechanism = failure.example(attack.model, allow_unproven=True)
    counted = 0
    for _ in range(trials):
        mechanism.start(failure.kernel.curator(attack.model, attack.bins, noise=noise))
        releases = [mechanism.step(snapshot) for snapshot in attack.snapshots(which)]
        counted += attack.event(Outcome.of(releases))
    return counted


def test_every_mutant_and_every_printed_twin_is_planted() -> None:
    assert {failure.mutant for failure in PLANTED.values()} - {""} == MUTANTS | TWINS


@pytest.mark.parametrize("name", PLANTED)
def test_only_what_is_in_print_says_that_it_claims_nothing(name: str) -> None:
    failure = PLANTED[name]
    printed = failure.mutant in TWINS
    assert issubclass(failure, Printed) == printed == name.endswith("_aswritten")
    assert getattr(failure, "claims_dp", None) is (False if printed else None)


@pytest.mark.parametrize("name", PLANTED)
def test_each_is_caught_by_a_check_or_by_an_attack_with_an_event(name: str) -> None:
    failure = PLANTED[name]
    if failure.caught_by == "audit":
        assert failure.attack is not None
        assert failure.attack.event is not None
    else:
        assert failure.caught_by in {*CHECKS, "verify"}
        assert failure.saying or not failure.mutant


@pytest.mark.parametrize(
    ("model", "one", "other"),
    [
        (WEvent(epsilon=1, w=2), [1, 1, 1], [2, 1, 2]),  # further apart than a window
        (EventLevel(epsilon=1), [1, 1], [2, 2]),
        (WEvent(epsilon=1, w=2), [1], [3]),  # two records
        (WEvent(epsilon=1, w=2, per_unit=2), [[1, 1]], [[2, 0]]),  # one comes and one goes
        (WEvent(epsilon=1, w=2, neighbours="replace"), [[1, 1]], [[2, 1]]),  # one comes
        (UserLevel(epsilon=1, horizon=2), [1, 1, 1], [2, 1, 2]),  # past the horizon
    ],
)
def test_what_are_no_neighbours(model: PrivacyModel, one: list[int], other: list[int]) -> None:
    with pytest.raises(BadInput, match="no neighbours"):
        Attack(model=model, one=one, other=other)


def test_neighbours_under_m_context_are_presences_of_one_user() -> None:
    model, presence = MContext(epsilon=1, m=2), [["ann", "bob"], ["ann"], ["bob"], ["ann", "bob"]]
    here, there = [1, 0], [0, 1]

    def apart(*units: int) -> Attack:
        moved = [there if t in units else here for t in range(4)]
        return Attack(model=model, one=[here] * 4, other=moved, presence=presence)

    apart(0, 1)  # ann
    apart(0, 2)  # bob
    for units in ((1, 2), (0, 3)):  # nobody was there both times; both were there in between
        with pytest.raises(BadInput, match="no neighbours"):
            apart(*units)


@pytest.mark.parametrize("name", ATTACKED)
def test_an_attack_finds_its_event_where_it_looks_for_it(name: str) -> None:
    """Not rare on the one stream, and rarer on the other; whether rare enough, only the audit can tell."""
    noise = SimulationNoise(1)
    one, other = (hits(PLANTED[name], which, FEW, noise) for which in (0, 1))
    assert one >= 3
    assert one > other


@pytest.mark.parametrize("name", ALSO_FOUND)
def test_a_check_finds_some_that_an_attack_kills(name: str) -> None:
    check, words = ALSO_FOUND[name]
    with pytest.raises(CheckFailed, match=words):
        CHECKS[check](PLANTED[name].subject())


@pytest.mark.parametrize("path", BROKEN, ids=name_of)
def test_a_planted_failure_draws_from_the_curator_and_is_short(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 100
    for module, _ in imports(path):
        assert not module.startswith(A_FAILURE_MAY_NOT_IMPORT), module
        assert module != "random" or path.stem == "own_dice"
    tree = ast.parse(path.read_text(encoding="utf-8"))
    assert "np.random" not in {ast.unparse(node) for node in ast.walk(tree) if isinstance(node, ast.Attribute)}


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_nothing_but_audit_and_bench_imports_what_is_broken(path: Path) -> None:
    if name_of(path).split("/")[0] in ("audit", "bench"):
        return
    for module, name in imports(path):
        assert not f"{module}.{name}".startswith(("penstock.audit.permissive", "penstock.audit.broken")), module
