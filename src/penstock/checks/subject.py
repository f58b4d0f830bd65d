"""What is checked: a mechanism under a model, on a kernel, over streams that provoke it."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from penstock.curator import Curator
from penstock.errors import BadInput, CheckFailed, PenstockError
from penstock.mechanisms.base import Mechanism
from penstock.models import DeltaNeighbourhood, EventLevel, MContext, PrivacyModel, UserLevel, WEvent
from penstock.noise import Noise, SecureNoise
from penstock.spatial import SpatialNeighbourhood
from penstock.streams import Stream
from penstock.types import Ints, Release

BINS = 3
USERS = 4
# The least number of units of the streams that give a mechanism time to settle, however short its windows are.
SETTLING_UNITS = 24
CALM_COUNT, JUMP = 100, 900
# Units between the jumps of a single count: longer than a sparse vector needs to come to rest.
CALM_UNITS = 16


@dataclass(frozen=True)
class Kernel:
    """How curator and noise are made. Planted failures put broken ones here."""

    curator: Callable[..., Curator] = Curator
    noise: Callable[[], Noise] = SecureNoise


@dataclass(frozen=True)
class Subject:
    """A mechanism to be checked under a model."""

    mechanism: type[Mechanism]
    model: PrivacyModel
    kernel: Kernel = field(default_factory=Kernel)
    parameters: Mapping[str, Any] = field(default_factory=dict)  # besides those of the example

    def __str__(self) -> str:
        told = "".join(f", {name}={value}" for name, value in self.parameters.items())
        return f"{self.mechanism.__name__}{told} under {self.model}"

    def make(self) -> Mechanism:
        """A fresh instance. Whether it is proven is a check of its own."""
        try:
            return self.mechanism.example(self.model, allow_unproven=True, **self.parameters)
        except TypeError as fault:
            name = self.mechanism.__name__
            raise BadInput(f"{name} cannot be made: {fault}; give it with --set, or override {name}.example.") from None

    def start(self, noise: Noise, *, bins: int = BINS, **options: Any) -> Mechanism:
        """A fresh instance on a fresh curator."""
        return self.begin(self.make(), self.curator(noise, bins=bins, **options))

    def curator(self, noise: Noise, *, bins: int, **options: Any) -> Curator:
        """A fresh curator of the kernel."""
        return self.kernel.curator(self.model, bins, noise=noise, **options)

    def begin(self, fresh: Mechanism, curator: Curator) -> Mechanism:
        """This instance on a curator; any failure is its own fault."""
        try:
            return fresh.start(curator)
        except PenstockError:
            raise
        except Exception as fault:
            raise CheckFailed(f"{self} failed to begin, with {type(fault).__name__}: {fault}.") from fault

    def run(
        self, stream: Stream, noise: Noise, *, missing: Container[int] = frozenset(), **options: Any
    ) -> list[Release]:
        """All releases of a stream, of which some units are ``missing`` and passed over."""
        mechanism = self.start(noise, bins=stream.bins, **options)
        return [
            mechanism.pass_over(snapshot) if snapshot.t in missing else self.step(mechanism, snapshot)
            for snapshot in stream
        ]

    def step(self, mechanism: Mechanism, snapshot: Any) -> Release:
        """One step, any failure of which is the mechanism's fault."""
        try:
            release = mechanism.step(snapshot)
        except Exception as fault:
            raise CheckFailed(f"{self} failed at t={snapshot.t} with {type(fault).__name__}: {fault}.") from fault
        if getattr(release, "values", np.empty(0)).shape != (snapshot.bins,):
            raise CheckFailed(f"{self} releases something else than a value for every bin at t={snapshot.t}.")
        return release

    def require(self, kept: bool, promise: str) -> None:
        """Fail, saying which promise was broken."""
        if not kept:
            raise CheckFailed(f"{self} breaks a promise: {promise}.")

    def steps(self, windows: int = 4) -> int:
        """Enough time units to see several windows; a horizon is never overrun."""
        return self.model.window if self.model.horizon_bound else windows * self.model.window + 3

    def settling_steps(self) -> int:
        """As many time units as ``steps``, or enough to settle where windows are short."""
        return self.steps() if self.model.horizon_bound else max(self.steps(), SETTLING_UNITS)

    @property
    def widths(self) -> tuple[int, ...]:
        """How many bins its streams have; a mechanism that is told the shape of its domain takes no others."""
        return (BINS, 1) if self.make().shape is None else (BINS,)

    def streams(self, seed: int = 1) -> Iterator[Stream]:
        """Streams that provoke: calm, restless, jumping, empty, huge, and one of a single bin where that fits."""
        rng = np.random.default_rng(seed)
        steps, settling = self.steps(), np.arange(self.settling_steps())[:, np.newaxis]
        yield self.stream(np.full((len(settling), BINS), CALM_COUNT), rng, full=True)
        yield self.stream(rng.integers(0, 1000, (steps, BINS)), rng)
        yield self.stream(np.full((steps, BINS), CALM_COUNT) + JUMP * (np.arange(steps) // 4 % 2)[:, np.newaxis], rng)
        yield self.stream(np.zeros((steps, BINS), np.int64), rng)
        yield self.stream(rng.integers(2**52, 2**53, (steps, BINS)), rng)
        if 1 in self.widths:
            yield self.stream(CALM_COUNT + JUMP * (settling // CALM_UNITS % 2), rng)

    def stream(self, counts: Ints, rng: np.random.Generator, *, full: bool = False) -> Stream:
        """The counts as a stream; where the model needs it with random presence, and as those present can have them.

        ``full``: the first bins have as much as they are to have, so that all records of a person can lie in one.
        """
        if not isinstance(self.model, MContext):
            return Stream(counts)
        here = rng.random((len(counts), USERS)) < 0.6
        presence = [[f"user{u}" for u in np.flatnonzero(row)] for row in here]
        possible = [self.possible(row, present, full=full) for row, present in zip(counts, presence, strict=True)]
        return Stream(np.array(possible), presence=presence)

    def possible(self, counts: Ints, present: Sequence[str] | None, *, full: bool = False) -> Ints:
        """Counts that those present can have, made of any: every bin has its share of what is possible.

        Larger counts begin again from 0. ``full``: what is possible goes to the first bins, as far as it goes.
        """
        most = None if present is None else self.model.most_records(len(present))
        if most is None:
            return counts
        if full:
            first: Ints = np.clip(most - (np.cumsum(counts) - counts), 0, counts)
            return first
        share, rest = divmod(most, len(counts))
        return counts % (share + (np.arange(len(counts)) < rest) + 1)


def example_models(kind: type[PrivacyModel]) -> list[PrivacyModel]:
    """Small models of a kind, whose windows end often and whose relations differ."""
    examples: dict[type[PrivacyModel], list[PrivacyModel]] = {
        EventLevel: [EventLevel(epsilon=1), EventLevel(epsilon="0.3", neighbours="replace", per_unit=2)],
        WEvent: [WEvent(epsilon=1, w=5), WEvent(epsilon="0.7", w=24, neighbours="replace"), WEvent(epsilon=2, w=1)],
        UserLevel: [UserLevel(epsilon=1, horizon=30), UserLevel(epsilon=3, horizon=7, per_unit=3)],
        MContext: [MContext(epsilon=1, m=4, per_unit=100), MContext(epsilon=1, m=1)],
        DeltaNeighbourhood: [DeltaNeighbourhood(epsilon=1, steps=6), DeltaNeighbourhood(epsilon="0.5", steps=24)],
        SpatialNeighbourhood: [SpatialNeighbourhood(epsilon=1, radius=1, grid="0..9/1")],
    }
    return examples[kind]
