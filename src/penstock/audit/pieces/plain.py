"""A plain histogram of points alone."""

from dataclasses import dataclass
from typing import ClassVar

from penstock.audit.once import Once
from penstock.static import PlainHistogram


@dataclass(kw_only=True)
class PlainAlone(Once):
    """A plain histogram of points, as published once."""

    kind: ClassVar = PlainHistogram
