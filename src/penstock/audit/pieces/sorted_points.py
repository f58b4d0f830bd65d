"""Sorted points alone."""

from dataclasses import dataclass
from typing import ClassVar

from penstock.audit.once import Once
from penstock.static import SortedPoints


@dataclass(kw_only=True)
class SortedPointsAlone(Once):
    """Sorted points, as published once."""

    kind: ClassVar = SortedPoints

    group: int = 1
