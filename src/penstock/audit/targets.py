"""What is audited: a mechanism by its key, or one of your own, from a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from penstock import catalogue
from penstock.audit.attack import Attack
from penstock.audit.rows import Row, rows
from penstock.audit.trials import Case
from penstock.audit.usual import SMALL, usual
from penstock.catalogue import mechanism as found
from penstock.checks import Subject
from penstock.errors import BadInput
from penstock.mechanisms.base import Mechanism
from penstock.models import PrivacyModel
from penstock.proofs import proof_of


@dataclass(frozen=True)
class Audited:
    """A row of a mechanism's audit, to be found in any process by its number.

    Without a model the rows are those of its proof; with one, those of them that fit, or the usual pairs.
    """

    target: str
    number: int
    model: PrivacyModel | None = None
    parameters: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        return found(self.target).__name__

    def row(self) -> Row:
        """The attack, and what is to be said about it."""
        return rows_of(found(self.target), self.model, dict(self.parameters))[self.number]

    def case(self) -> Case:
        """The mechanism on its kernel, and the attack."""
        row = self.row()
        return Case(Subject(found(self.target), row.attack.model, parameters=row.parameters), row.attack)


def audited(
    target: str, model: PrivacyModel | None = None, parameters: Mapping[str, Any] | None = None
) -> list[Audited]:
    """Every row of a mechanism's audit."""
    given = (parameters or {}).items()
    told = tuple((name, tuple(value) if isinstance(value, list) else value) for name, value in given)
    catalogue.require_known(found(target), dict(told))
    if not found(target).proven_for:
        raise BadInput(f"{found(target).__name__} claims no model; say in proven_for under which it is private.")
    return [Audited(target, i, model, told) for i in range(len(rows_of(found(target), model, parameters or {})))]


def rows_of(kind: type[Mechanism], model: PrivacyModel | None, parameters: Mapping[str, Any]) -> list[Row]:
    """The rows of the proof, with parameters and an epsilon of one's own if they are given; or the usual pairs."""
    stated = [row._replace(parameters={**row.parameters, **parameters}) for row in rows(proof_of(kind).text)]
    if model is None:
        return stated or [row for law in kind.proven_for for row in usual(SMALL[law], parameters)]
    fitting = [row for row in stated if replace(row.attack.model, epsilon=model.epsilon) == model]
    return [row._replace(attack=under(row.attack, model)) for row in fitting] or usual(model, parameters)


def under(attack: Attack, model: PrivacyModel) -> Attack:
    """The same attack on a promise with another epsilon."""
    return replace(attack, model=model)
