"""Every planted failure is caught by the check it names, and every check has caught something.

Those that take an attack are left to the audit (test_mutants.py).
"""

import pytest

from penstock.audit.finding import FINDERS
from penstock.audit.planted import Planted, planted
from penstock.checks import CHECKS
from penstock.errors import CheckFailed

PLANTED = {name: failure for name, failure in planted().items() if failure.caught_by != "audit"}


@pytest.mark.parametrize("name", PLANTED)
def test_is_caught(name: str) -> None:
    failure = PLANTED[name]
    with pytest.raises(CheckFailed, match=failure.saying):
        FINDERS[failure.caught_by](failure)


@pytest.mark.parametrize("check", FINDERS)
def test_every_check_can_fail(check: str) -> None:
    assert any(failure.caught_by == check for failure in PLANTED.values())


def test_the_plain_planted_mechanism_passes_what_its_faulty_relatives_fail() -> None:
    """So that a planted failure is caught for its own fault and not for what all of them share."""
    about_documents = {"proof_is_current", "example_runs"}
    for name, check in CHECKS.items():
        if name not in about_documents:
            check(Planted.subject())
