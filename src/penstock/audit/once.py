"""One-time publications, to be attacked like mechanisms: as streams of one time unit."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np

from penstock.audit.piece import AuditedPiece, Piece
from penstock.errors import BadInput
from penstock.models import PrivacyModel
from penstock.points import Points
from penstock.proofs import proof_of
from penstock.spatial import SpatialNeighbourhood
from penstock.static import Publication
from penstock.types import Ints, Release, Snapshot


@dataclass(kw_only=True)
class Once(Piece):
    """Publishes one thing about points. What has fewer numbers than there are points is followed by zeros.

    Its fields are those of the publication, in whose proof the audit rows are.
    """

    proven_for: ClassVar[tuple[type[PrivacyModel], ...]] = (SpatialNeighbourhood,)
    kind: ClassVar[type[Publication]]

    @classmethod
    def stated(cls) -> str:
        return proof_of(cls.kind).text

    def decide(self, snapshot: Snapshot) -> Release:
        publication = self.kind(**{each.name: getattr(self, each.name) for each in fields(self.kind)})
        values, kind, _ = publication.found(self.curator, as_points(snapshot))
        return self.released(snapshot, padded(values, self.curator.bins), kind, 0.0)


def is_once(row: AuditedPiece) -> bool:
    """Whether this attacks a one-time publication."""
    return isinstance(row.row().attack.model, SpatialNeighbourhood)


def as_points(snapshot: Snapshot) -> Points:
    """The snapshot, which has to be one of points."""
    if not isinstance(snapshot, Points):
        raise BadInput("a one-time publication is about points.")
    return snapshot


def padded(values: Ints, size: int) -> Ints:
    """So many numbers, the last ones zeros."""
    if len(values) > size:
        raise BadInput("an attack on a publication needs as many points as it publishes numbers.")
    return np.concatenate([values, np.zeros(size - len(values), np.int64)])
