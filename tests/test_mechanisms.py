"""Every mechanism, under every model it is proven for, keeps every promise."""

import pytest

import penstock as ps
from penstock.checks import CHECKS, Subject, subjects

SUBJECTS = [
    pytest.param(subject, id=f"{key}-{type(subject.model).__name__}-{number}")
    for key, mechanism in ps.mechanisms().items()
    for number, subject in enumerate(subjects(mechanism))
]


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("subject", SUBJECTS)
def test_promise(subject: Subject, check: str) -> None:
    CHECKS[check](subject)
