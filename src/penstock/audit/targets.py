"""What is audited: a mechanism by its key, or one of your own, from a file."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import Any

from penstock import catalogue
from penstock.audit.attack import Attack
from penstock.audit.rows import Row, rows
from penstock.audit.trials import Case
from penstock.audit.usual import SMALL, usual
from penstock.checks import Subject
from penstock.errors import BadInput, PenstockError
from penstock.mechanisms.base import Mechanism
from penstock.models import PrivacyModel
from penstock.proofs import proof_of


def found(target: str) -> type[Mechanism]:
    """The mechanism of a key, or of a file: ``mine.py``, or ``mine.py:Mine`` if it holds several."""
    path, _, name = target.partition(":")
    if not path.endswith(".py"):
        return catalogue.mechanism(target)
    held = {kind.__name__: kind for kind in _held(_loaded(Path(path).resolve()))}
    if name and name not in held:
        raise BadInput(f"{path} has no mechanism {name!r}; it has {', '.join(held) or 'none'}.")
    if not held:
        raise BadInput(f"{path} defines no mechanism; write a class that is a penstock.mechanisms.base.Mechanism.")
    if not name and len(held) > 1:
        raise BadInput(f"{path} has {', '.join(held)}; say which as {path}:NAME.")
    return held[name or next(iter(held))]


def _held(module: ModuleType) -> list[type[Mechanism]]:
    """The mechanisms that a file defines itself."""
    values = vars(module).values()
    kinds = [value for value in values if isinstance(value, type) and issubclass(value, Mechanism)]
    return [kind for kind in kinds if kind.__module__ == module.__name__]


@lru_cache
def _loaded(path: Path) -> ModuleType:
    """The file as a module. Once a process: a class that is loaded twice is two classes."""
    if not path.is_file():
        raise BadInput(f"there is no file {path}; give the path of a Python file with a mechanism in it.")
    name = f"audited_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise BadInput(f"{path} cannot be loaded as Python; give the path of a file that can.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    sys.path.insert(0, str(path.parent))  # what lies beside it can be imported
    try:
        with redirect_stdout(sys.stderr):  # what it prints is no result
            spec.loader.exec_module(module)
    except PenstockError:
        raise
    except Exception as fault:
        raise BadInput(f"{path} fails with {type(fault).__name__}: {fault}; mend it first.") from None
    finally:
        sys.path.remove(str(path.parent))
    return module


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
