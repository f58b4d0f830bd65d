"""A cumulative histogram alone."""

from dataclasses import dataclass
from typing import ClassVar

from penstock.audit.once import Once
from penstock.static import CumulativeHistogram


@dataclass(kw_only=True)
class CumulativeAlone(Once):
    """A cumulative histogram, as published once."""

    kind: ClassVar = CumulativeHistogram
