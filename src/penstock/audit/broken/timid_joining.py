"""Whether a unit joins its group is decided with half the noise that was paid for."""

from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.audit.planted import Planted
from penstock.checks import Kernel
from penstock.curator import Curator
from penstock.epsilon import Epsilon
from penstock.mechanisms.pegasus import PeGaSus
from penstock.primitives.grouper import Grouper


class TimidGrouper(Grouper):
    """Halves the scale of nu."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._scales[1] /= 2


class TimidCurator(Curator):
    """Hands out such groupers."""

    def grouper(self, e: Epsilon, max_length: int = 64) -> Grouper:
        return self._issue(TimidGrouper(self._desk, len(self._handles), e, max_length))


@dataclass(kw_only=True)
class TimidJoining(PeGaSus, Planted):
    """Found by comparing what was drawn with what was charged."""

    proven_for: ClassVar = PeGaSus.proven_for
    caught_by: ClassVar = "every_draw_is_paid"
    saying: ClassVar = "were paid for"
    mutant: ClassVar = "M1"
    kernel: ClassVar = Kernel(curator=TimidCurator)
