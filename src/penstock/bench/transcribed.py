"""The transcription of SPAS as published, or with some of its faults removed, as something that can be run."""

from __future__ import annotations

from typing import Any, NamedTuple

from penstock.bench.code import code_version
from penstock.bench.metrics import Judge, Outcome
from penstock.bench.plain import AS_PUBLISHED, Faults, PlainSPAS
from penstock.bench.running import published_plainly
from penstock.bench.scenario import Counted, Promise


class Transcribed(NamedTuple):
    """SPAS in plain Python on a stream, with these faults. It may spend more than it promises, and says so."""

    stream: str
    promise: Promise
    faults: Faults = AS_PUBLISHED

    @property
    def name(self) -> str:
        """Which of its faults it has."""
        kept = [name for name, there in vars(self.faults).items() if there]
        return f"published spas({', '.join(kept)})"

    def told(self) -> dict[str, Any]:
        """All that determines the outcome but the stream's counts and the seed, as plain data."""
        code = code_version(PlainSPAS.__module__)
        return {"stream": self.stream, "promise": self.promise, "faults": vars(self.faults), "code": code}

    def run(self, seed: int, stream: Counted) -> Outcome:
        """Publish the stream once, with numpy's noise of the seed."""
        counts, epsilon = stream.counts, float(self.promise.epsilon)
        plain = PlainSPAS(epsilon, self.promise.window, counts.shape[1], seed=seed, faults=self.faults, remember=True)
        return published_plainly(plain, counts, Judge(stream.shape, int(counts.max())))
