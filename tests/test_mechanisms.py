"""Every mechanism, under every model it is proven for, keeps every promise."""

import pytest

import penstock as ps
from penstock.checks import CHECKS, Subject, example_models

SUBJECTS = [
    pytest.param(Subject(mechanism, model), id=f"{key}-{kind.__name__}-{number}")
    for key, mechanism in ps.mechanisms().items()
    for kind in mechanism.proven_for
    for number, model in enumerate(example_models(kind))
]


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("subject", SUBJECTS)
def test_promise(subject: Subject, check: str) -> None:
    CHECKS[check](subject)
