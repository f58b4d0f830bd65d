"""A median alone."""

from dataclasses import dataclass
from typing import ClassVar

from penstock.audit.once import Once
from penstock.static import Median


@dataclass(kw_only=True)
class MedianAlone(Once):
    """A median, as published once."""

    kind: ClassVar = Median
