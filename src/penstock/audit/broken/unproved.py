"""Has no proof."""

from dataclasses import dataclass
from typing import ClassVar

from penstock.audit.planted import Planted


@dataclass(kw_only=True)
class Unproved(Planted):
    """Found by looking for the proof."""

    caught_by: ClassVar = "proof_is_current"
    saying: ClassVar = "a finished proof"
