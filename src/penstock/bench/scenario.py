"""One mechanism on one stream under one promise: what is run, and by what it is known again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

import numpy as np

from penstock.bench.code import code_version
from penstock.bench.metrics import Judge, Outcome, publications, spending
from penstock.catalogue import made, mechanism
from penstock.curator import Curator
from penstock.epsilon import NANO, Epsilon
from penstock.laws import MODELS, model_of, named
from penstock.mechanisms.sliding_baseline import SlidingBaseline
from penstock.models import EventLevel, PrivacyModel
from penstock.noise import SimulationNoise
from penstock.post.sliding import sliding_sums
from penstock.streams import Stream
from penstock.types import Ints, Kind

CHUNK = 2**20  # counts that are held at a time


class Counted(Protocol):
    """A stream whose truth is known."""

    @property
    def counts(self) -> Ints: ...
    @property
    def shape(self) -> tuple[int, ...]: ...


class Promise(NamedTuple):
    """Whom a run protects, in plain words and numbers."""

    law: str
    epsilon: str
    window: int = 1
    neighbours: str = "add-remove"
    per_unit: int = 1

    @staticmethod
    def of(model: PrivacyModel) -> Promise:
        """What a model promises."""
        return Promise(named(model), str(model.epsilon), model.window, model.neighbours, model.per_unit)

    @property
    def model(self) -> PrivacyModel:
        """The privacy model that is meant."""
        told = {"name": self.law, "epsilon": self.epsilon, "neighbours": self.neighbours, "per_unit": self.per_unit}
        return model_of(told | self._length)

    @property
    def _length(self) -> dict[str, int]:
        kind = MODELS[self.law]
        return {} if kind is EventLevel else {kind.called: self.window}

    def __str__(self) -> str:
        return ", ".join([f"epsilon {self.epsilon}", *(f"{name} {units}" for name, units in self._length.items())])


class Runnable(Protocol):
    """What can be run with a seed on its stream. One that is equal is the same."""

    @property
    def stream(self) -> str: ...
    @property
    def promise(self) -> Promise: ...
    @property
    def name(self) -> str:
        """What is run, in short."""

    def __hash__(self) -> int: ...
    def told(self) -> dict[str, Any]:
        """All that determines the outcome but the stream's counts and the seed, as plain data."""

    def run(self, seed: int, stream: Counted) -> Outcome: ...


class Scenario(NamedTuple):
    """A mechanism with parameters. ``clipped``: counts below 0 are published as 0, which costs nothing.

    ``width`` judges sums over so many units instead of the units themselves.
    """

    stream: str
    promise: Promise
    mechanism: str
    parameters: tuple[tuple[str, Any], ...] = ()
    width: int = 1
    clipped: bool = True

    @property
    def name(self) -> str:
        """The mechanism, what it was told, and what was done with its releases if that is not usual."""
        told = ", ".join(f"{name}={value}" for name, value in self.parameters)
        sums = f" over {self.width}" if self.width > 1 else ""
        return self.mechanism + (f"({told})" if told else "") + sums + ("" if self.clipped else " unclipped")

    def told(self) -> dict[str, Any]:
        """All that determines the outcome but the stream's counts and the seed, as plain data."""
        return self._asdict() | {"code": code_version(mechanism(self.mechanism).__module__)}

    def run(self, seed: int, stream: Counted) -> Outcome:
        """Publish the stream once, with numpy's noise of the seed."""
        counts, model = stream.counts, self.promise.model
        publishing = made(self.mechanism, dict(self.parameters), model)
        publishing.start(Curator(model, counts.shape[1], noise=SimulationNoise(seed)))
        judge = Judge(stream.shape, int(counts.max()), width=1 if self._sums_itself else self.width)
        new, charged, truth = np.zeros(len(counts), np.bool_), np.zeros(len(counts)), self._truth(counts)
        snapshots = iter(Stream(counts))
        for part in _parts(counts):
            values, kinds = (np.empty(truth[part].shape, kind) for kind in (np.int64, np.int8))
            for row, t in enumerate(range(part.start, part.stop)):
                release = publishing.step(next(snapshots))
                values[row], kinds[row], charged[t] = release.values, release.kind, release.charged.nano
            new[part] = (kinds != Kind.REPUBLISHED.value).any(axis=1)  # of many releases at once, which is quicker
            judge.add(np.maximum(values, 0) if self.clipped else values, truth[part])
        epsilon = float(Epsilon(self.promise.epsilon))
        fullest = publishing.curator.ledger.audit().peak.nano / NANO / epsilon
        used = spending(charged / NANO, epsilon, model.window)
        return Outcome._make((*judge.errors(), publications(new, model.window), used, fullest)).rounded()

    @property
    def _sums_itself(self) -> bool:
        """Whether what it publishes are sums already."""
        return mechanism(self.mechanism) is SlidingBaseline

    def _truth(self, counts: Ints) -> Ints:
        return sliding_sums(counts, self.width) if self._sums_itself else counts


def _parts(counts: Ints) -> Iterator[slice]:
    """Rows that are judged together."""
    rows = max(CHUNK // counts.shape[1], 1)
    for begin in range(0, len(counts), rows):
        yield slice(begin, min(begin + rows, len(counts)))


def key_of(what: Runnable, digest: str, seed: int) -> str:
    """By what an outcome is known again: a hash of everything that determines it, its measures included."""
    whole = {"kind": type(what).__name__, "told": what.told(), "stream": digest, "seed": seed}
    return hashlib.sha256(json.dumps(whole | {"measures": code_version(Judge.__module__)}).encode()).hexdigest()[:16]
