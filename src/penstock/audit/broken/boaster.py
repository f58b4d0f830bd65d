"""Runs under models its proof does not cover."""

from dataclasses import dataclass
from typing import ClassVar

from penstock.audit.planted import Planted


@dataclass(kw_only=True)
class Boaster(Planted):
    """Found by trying the other models."""

    caught_by: ClassVar = "unproven_models_refused"
    saying: ClassVar = "which the proof does not cover"

    def __post_init__(self) -> None:
        """No questions asked."""
