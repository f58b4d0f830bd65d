"""Models as files and commands write them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import MISSING, fields
from typing import Any

from penstock.epsilon import Epsilon
from penstock.errors import BadInput
from penstock.grid import Grid
from penstock.models import DeltaNeighbourhood, EventLevel, MContext, PrivacyModel, UserLevel, WEvent
from penstock.parameters import nearest
from penstock.spatial import SpatialNeighbourhood


def _by_name(*models: type[PrivacyModel]) -> dict[str, type[PrivacyModel]]:
    return {re.sub("(?<=.)(?=[A-Z])", "-", model.__name__).lower(): model for model in models}


MODELS = _by_name(EventLevel, WEvent, UserLevel, DeltaNeighbourhood, MContext)  # of streams
LAWS = MODELS | _by_name(SpatialNeighbourhood)


def named(model: PrivacyModel) -> str:
    """What files and commands call the model."""
    return next(name for name, known in LAWS.items() if known is type(model))


def described(model: PrivacyModel) -> dict[str, Any]:
    """What the model promises as plain data, for files: ``{"name": "w-event", "epsilon": "1", "w": 120, ...}``."""
    values = {field.name: getattr(model, field.name) for field in fields(model) if field.compare}
    plain = {name: str(value) if isinstance(value, (Epsilon, Grid)) else value for name, value in values.items()}
    return {"name": named(model)} | plain


def model_of(description: Mapping[str, Any]) -> PrivacyModel:
    """The model that ``described`` was given.

    >>> model_of({"name": "w-event", "epsilon": "0.5", "w": 12})
    WEvent(epsilon=Epsilon('0.5'), neighbours='add-remove', per_unit=1, w=12)
    """
    parameters = dict(description)
    name = str(parameters.pop("name", ""))
    if name not in LAWS:
        raise BadInput(f"a model is one of {', '.join(MODELS)}; got {name!r}.{nearest(name, MODELS)}")
    model = LAWS[name]
    known = [field.name for field in fields(model)]
    for key in parameters:
        if key not in known:
            raise BadInput(
                f"the {name} model has no parameter {key!r}; it has {', '.join(known)}.{nearest(key, known)}"
            )
    missing = [field.name for field in fields(model) if field.default is MISSING and field.name not in parameters]
    if missing and model not in MODELS.values():
        raise BadInput(f"{name} is for points that are published once; use penstock publish.")
    if missing:
        raise BadInput(f"the {name} model needs {' and '.join(missing)}; give it a value.")
    return model(**parameters)
