"""What the trials of an attack come to: how much is claimed, how much was charged, and how much was proved to leak."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.audit.attack import Attack
from penstock.audit.evidence import TOLD, Finding, findings
from penstock.audit.trials import Trials
from penstock.epsilon import Epsilon
from penstock.errors import CheckFailed
from penstock.laws import described
from penstock.models import PrivacyModel

ENOUGH, LITTLE = 0.8, 0.1  # of what was charged: what an attack has to prove, and what proves next to nothing
SUMMED = 1e-3  # how far off the loss of a transcript may be, where threshold noise is summed over in large steps


@dataclass(frozen=True)
class Verdict:
    """An attack on a mechanism, judged."""

    name: str
    model: PrivacyModel
    charged: Epsilon  # the most that a ledger had booked on a protected set
    best: Finding  # the event that proves most
    confidence: float
    largest: float | None  # the largest loss of any transcript that was seen
    seconds: float
    remark: str  # why it is not tight, if it is not
    released: float = -math.inf  # what is proved by releases alone
    row: int = 1  # of this mechanism

    @property
    def epsilon(self) -> Epsilon:
        """What is claimed."""
        return self.model.epsilon

    @property
    def title(self) -> str:
        """Name, row and model in short: ``SPAS 2, w=3``."""
        return f"{self.name}{f' {self.row}' if self.row > 1 else ''}, {self.model.in_short}"

    @property
    def power(self) -> float:
        """How much of what was charged the attack finds; of 1, as near as chance allows."""
        return max(self.best.lower, 0.0) / float(self.charged) if self.charged else 0.0

    @property
    def exceeded(self) -> bool:
        """Whether more is lost than is claimed: with the stated confidence, or in a transcript that was seen."""
        seen = self.largest is not None and self.largest > float(self.epsilon) * (1 + SUMMED)
        return self.best.lower > float(self.epsilon) or seen

    @property
    def unpaid(self) -> bool:
        """Whether more is lost than was booked: then something was told that nobody has paid for."""
        return not self.exceeded and self.best.lower > float(self.charged)

    @property
    def fails(self) -> bool:
        """Whether the claim, or what was booked, is disproved."""
        return self.exceeded or self.unpaid

    @property
    def vacuous(self) -> bool:
        """Whether the attack proves too little, and its row does not say why."""
        return self.power < ENOUGH and not self.remark

    @property
    def word(self) -> str:
        """The verdict in short."""
        if self.fails:
            return "EXCEEDED" if self.exceeded else "UNPAID"
        if self.power < LITTLE:
            return "nothing"
        return "tight" if self.power >= ENOUGH else "weak" if self.vacuous else "explained"

    def as_row(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "mechanism": self.name,
            "row": self.row,
            "model": described(self.model),
            "epsilon": str(self.epsilon),
            "charged": str(self.charged),
            "released": _finite(self.released),
            "confidence": self.confidence,
            "power": self.power,
            "largest": self.largest,
            **self.best._asdict(),
            "lower": _finite(self.best.lower),
            "seconds": round(self.seconds, 2),
            "verdict": self.word,
            "remark": self.remark,
        }


def judged(
    name: str, attack: Attack, trials: Trials, alpha: float, seconds: float, remark: str, tests: int = 1
) -> Verdict:
    """Judge an attack that is one of ``tests``: all of them together are wrong with probability ``alpha`` at most."""
    found = findings(attack, trials, alpha / tests)
    best = max(found, key=lambda finding: finding.lower)
    released = max((finding.lower for finding in found if not finding.event.startswith(TOLD)), default=-math.inf)
    losses = np.abs(np.concatenate([trials.one.losses, trials.other.losses]))
    if np.isnan(losses).any():
        raise CheckFailed(f"the loss of a transcript of {name} cannot be computed.")
    largest = float(losses.max()) if len(losses) else None
    return Verdict(name, attack.model, trials.charged, best, 1 - alpha, largest, seconds, remark, released)


def _finite(lower: float) -> float | None:
    """A bound as JSON can hold it; nothing where nothing is proved."""
    return lower if math.isfinite(lower) else None
