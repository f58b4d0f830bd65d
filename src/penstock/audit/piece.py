"""What a piece is: a mechanism that asks one kind of question, to be attacked alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from penstock.audit import pieces as folder
from penstock.audit.rows import Row, rows
from penstock.audit.trials import Case
from penstock.catalogue import found_in
from penstock.checks import Subject
from penstock.mechanisms.base import Mechanism
from penstock.models import DeltaNeighbourhood, EventLevel, MContext, PrivacyModel, UserLevel, WEvent
from penstock.types import Kind, Mask, Release, Snapshot


@dataclass(kw_only=True)
class Piece(Mechanism):
    """Publishes yeses and noes, or the number that was chosen."""

    proven_for: ClassVar[tuple[type[PrivacyModel], ...]] = (EventLevel, WEvent, UserLevel, MContext, DeltaNeighbourhood)

    @classmethod
    def stated(cls) -> str:
        """Where its audit rows are: a piece has no proof of its own, so they are in its docstring."""
        return cls.__doc__ or ""

    def tell(self, snapshot: Snapshot, answer: bool | int | Mask) -> Release:
        """The answer, in every bin if it is one."""
        values = np.full(self.curator.bins, answer, np.int64)
        return self.released(snapshot, values, Kind.ESTIMATED, 0.0)


@dataclass(frozen=True)
class AuditedPiece:
    """A row of a piece's audit, to be found in any process."""

    name: str
    number: int

    def __str__(self) -> str:
        return f"the {self.name.replace('_', ' ')} alone"

    def row(self) -> Row:
        """The attack, and what is to be said about it."""
        return _rows(self.name)[self.number]

    def case(self) -> Case:
        """The piece on its kernel, and the attack."""
        row = self.row()
        return Case(Subject(found_in(folder)[self.name], row.attack.model, parameters=row.parameters), row.attack)


def audited_pieces() -> list[AuditedPiece]:
    """Every row of every piece."""
    return [AuditedPiece(name, i) for name in found_in(folder) for i in range(len(_rows(name)))]


def _rows(name: str) -> list[Row]:
    piece = found_in(folder)[name]
    return rows(piece.stated()) if issubclass(piece, Piece) else []
