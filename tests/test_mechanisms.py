"""Every mechanism, under every model it is proven for, keeps every promise."""

import pytest

import penstock as ps
from penstock.checks import CHECKS, Subject, example_models
from penstock.models import PrivacyModel

BY_WINDOW = "bounded_memory"  # takes long, and of the models of a kind the one with the longest window tells all


def cases(kind: type[PrivacyModel]) -> list[tuple[int, PrivacyModel, str]]:
    """Every check under every model of a kind."""
    models = example_models(kind)
    longest = max(models, key=lambda model: model.window)
    every = [(number, model, check) for number, model in enumerate(models) for check in CHECKS]
    return [case for case in every if case[2] != BY_WINDOW or case[1] is longest]


PROMISES = [
    pytest.param(Subject(mechanism, model), check, id=f"{key}-{kind.__name__}-{number}-{check}")
    for key, mechanism in ps.mechanisms().items()
    for kind in mechanism.proven_for
    for number, model, check in cases(kind)
]


@pytest.mark.parametrize(("subject", "check"), PROMISES)
def test_promise(subject: Subject, check: str) -> None:
    CHECKS[check](subject)
