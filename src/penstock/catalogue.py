"""Every mechanism there is, found by walking the folder: a new file appears everywhere by itself."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from collections.abc import Iterable, Mapping
from functools import lru_cache
from types import ModuleType
from typing import Any

from penstock import mechanisms as folder
from penstock.errors import BadInput, NotProven
from penstock.laws import MODELS, named
from penstock.mechanisms.base import Mechanism
from penstock.models import PrivacyModel
from penstock.own import is_file, load_mechanism
from penstock.parameters import nearest
from penstock.proofs import PROVED, proof_of


def found_in(folder: ModuleType) -> dict[str, type[Mechanism]]:
    """The mechanism in each file of a package, by the name of the file."""
    found = {}
    for entry in pkgutil.iter_modules(folder.__path__):
        module = importlib.import_module(f"{folder.__name__}.{entry.name}")
        for value in vars(module).values():
            if isinstance(value, type) and issubclass(value, Mechanism) and value.__module__ == module.__name__:
                found[entry.name] = value
    return found


@lru_cache(maxsize=1)
def mechanisms() -> dict[str, type[Mechanism]]:
    """Every mechanism by its key, which is its file name."""
    return {key: found for key, found in found_in(folder).items() if found is not Mechanism}


def mechanism(key: str) -> type[Mechanism]:
    """The mechanism of this key, or of a file of one's own: ``mine.py``, ``mine.py:Mine``."""
    if is_file(key):
        return load_mechanism(key)
    found = mechanisms()
    if key.lower() not in found:
        raise BadInput(f"no mechanism is called {key!r}; there are {', '.join(found)}.{nearest(key, found)}")
    return found[key.lower()]


def made(name: str, parameters: Mapping[str, Any], model: PrivacyModel, *, allow_unproven: bool = False) -> Mechanism:
    """The mechanism of this key, class name or file, with these parameters. Without a proof only if that is allowed."""
    kinds = {kind.__name__: kind for kind in mechanisms().values()}
    kind = kinds[name] if name in kinds else mechanism(name)
    require_proven(kind, model)
    require_known(kind, parameters)
    if not allow_unproven and proof_of(kind).status != PROVED:
        raise NotProven(
            f"{kind.__name__} has no finished proof beside it; write one, or try it in a simulation with"
            " --allow-unproven."
        )
    try:
        return kind(model=model, **parameters, allow_unproven=allow_unproven)
    except TypeError:
        raise BadInput(f"a parameter of {kind.__name__} has a value of the wrong kind, or is missing.") from None


def require_known(kind: type[Mechanism], parameters: Iterable[str]) -> None:
    """Refuse parameters that the mechanism does not have."""
    known = [field.name for field in kind.parameter_fields()]
    for parameter in parameters:
        if parameter not in known:
            raise BadInput(
                f"{kind.__name__} has no parameter {parameter!r}; it has {', '.join(known) or 'none'}."
                f"{nearest(parameter, known)}"
            )


def require_proven(kind: type[Mechanism], model: PrivacyModel) -> None:
    """Refuse a model that the mechanism does not claim, naming mechanisms that do; or, of one's own, what it claims."""
    if type(model) in kind.proven_for:
        return
    if kind in mechanisms().values():
        fit = [key for key, other in mechanisms().items() if type(model) in other.proven_for]
    else:
        fit = [name for name, law in MODELS.items() if law in kind.proven_for]
    raise NotProven(f"{kind.__name__} is not proven for {named(model)}; choose one of {', '.join(fit)}.")


def by_class_name(name: str) -> Any:
    """``penstock.SPAS`` and the like, for the package's ``__getattr__``."""
    for found in mechanisms().values():
        if found.__name__ == name:
            return found
    raise AttributeError(f"module 'penstock' has no attribute {name!r}")


def all_names() -> list[str]:
    """What the package holds, mechanisms included, for its ``__dir__``.

    >>> import penstock as ps
    >>> {"Auto", "Store", "SPAS"} <= set(dir(ps))
    True
    """
    classes = (found.__name__ for found in mechanisms().values())
    return sorted({*vars(sys.modules["penstock"]), *classes})
