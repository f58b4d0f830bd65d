"""What the streams of a population may spend together, and whether one more fits."""

from __future__ import annotations

from collections.abc import Iterable

from penstock.epsilon import Epsilon
from penstock.errors import BudgetExceeded, OtherStream
from penstock.laws import model_of
from penstock.models import PrivacyModel
from penstock.population import Population
from penstock.store.archive import Declaration


def agree_on(name: str, asked: Epsilon | None, declared: Epsilon | None, *, is_used: bool) -> Epsilon:
    """The budget of a population: as its first stream asks, and the same ever after."""
    if asked is not None and not is_used:
        return asked
    if declared is None:
        raise BudgetExceeded(
            f'the population "{name}" is new here; say how much all its streams may spend: --population-epsilon.'
        )
    if asked not in (None, declared):
        raise OtherStream(f'the population "{name}" has a budget of {declared}, which cannot change afterwards.')
    return declared


def gather(name: str, budget: Epsilon, members: Iterable[Declaration]) -> Population:
    """A population with the streams that have set something aside in it."""
    return Population(name, budget, [model_of(member["model"]) for member in members])


def require_admitted(name: str, asked: Epsilon | None, model: PrivacyModel) -> None:
    """Refuse a stream that cannot be the first one of a population in a new store."""
    gather(name, agree_on(name, asked, None, is_used=False), ()).join(model)
