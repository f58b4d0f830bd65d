"""Has a proof that was read against other code."""

from dataclasses import dataclass
from typing import ClassVar

from penstock.audit.planted import Planted


@dataclass(kw_only=True)
class Outdated(Planted):
    """Found because the fingerprint in its proof is not that of the class."""

    caught_by: ClassVar = "proof_is_current"
    saying: ClassVar = "was read against this code"
