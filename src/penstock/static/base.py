"""What a one-time publication is: parameters, and one question to a curator."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import Any, ClassVar

import numpy as np

from penstock.curator import Curator
from penstock.door import Door
from penstock.errors import BadInput, NotProven
from penstock.grid import Grid
from penstock.histograms import Measured
from penstock.histograms.catalogue import titled
from penstock.models import PrivacyModel
from penstock.parameters import hold_kinds
from penstock.points import Points
from penstock.proofs import PROVED, proof_of
from penstock.spatial import SpatialNeighbourhood
from penstock.types import Ints, Release


@dataclass(frozen=True, kw_only=True)
class Publication(ABC):
    """One thing to publish about a set of points, once. Fields are its parameters; its proof lies beside its file."""

    proven_for: ClassVar[tuple[type[PrivacyModel], ...]] = ()
    rests_on: ClassVar[tuple[object, ...]] = ()  # what its proof was read against besides itself
    heeds_radius: ClassVar[bool] = True  # whether there is less noise if points may move less far

    def __post_init__(self) -> None:
        hold_kinds(self)
        self.validate()

    def validate(self) -> None:
        """Refuse parameters that cannot work."""

    @abstractmethod
    def names(self, grid: Grid, size: int) -> tuple[str, ...]:
        """What each published number is called."""

    @abstractmethod
    def found(self, curator: Door, points: Points) -> Measured:
        """Spend all of epsilon on the points."""

    @abstractmethod
    def told(self, values: Ints, grid: Grid) -> list[dict[str, float | int]]:
        """What the published numbers say, a row each, in the units of the data."""

    @property
    def parameters(self) -> dict[str, Any]:
        """What it was made with, besides what is usual, as plain data."""
        told = {each.name: getattr(self, each.name) for each in fields(self)}
        usual = {each.name: each.default for each in fields(self)}
        differing = {name: value for name, value in told.items() if value != usual[name]}
        return {name: value if isinstance(value, (int, str)) else str(value) for name, value in differing.items()}

    @property
    def title(self) -> str:
        """What it is said to be."""
        return titled(type(self).__name__, self.parameters)

    def require_proven(self, model: PrivacyModel) -> SpatialNeighbourhood:
        """Refuse a model that is not claimed, or a claim that is not proved."""
        if not isinstance(model, SpatialNeighbourhood) or type(model) not in self.proven_for:
            raise BadInput(f"{type(self).__name__} is for points; use SpatialNeighbourhood(epsilon=..., radius=...).")
        if proof_of(type(self)).status != PROVED:
            raise NotProven(f"{type(self).__name__} has no finished proof beside it; write one.")
        return model

    def released(self, curator: Curator, points: Points) -> Release:
        """The publication, paid for. The points are unit 1, and the only one."""
        self.require_proven(curator.model)
        curator.begin_unit(points)
        values, kind, noise_sd = self.found(curator.door, points)
        kinds = np.full(len(values), kind.value, np.int8)
        return Release(points.t, values, kinds, noise_sd, curator.charged())
