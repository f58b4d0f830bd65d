"""One mechanism on one stream under one promise: what is run, and by what it is known again."""

from __future__ import annotations

import hashlib
import json
from typing import Any, NamedTuple, Protocol

from penstock.bench.code import code_version
from penstock.bench.metrics import Judge, Outcome
from penstock.bench.running import published
from penstock.catalogue import made, mechanism
from penstock.laws import MODELS, model_of, named
from penstock.models import EventLevel, PrivacyModel
from penstock.types import Ints

SUMMING = ("sliding_baseline", "auto")  # publish sums over as many units as their width says
OBJECTIVE = "objective"  # of a mechanism that can be made for one measure or another


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
    def terms(self) -> str:
        """The law, and what is not usual about it."""
        usual = MODELS[self.law].neighbours
        unusual = [self.neighbours] * (self.neighbours != usual) + [f"{self.per_unit} a unit"] * (self.per_unit != 1)
        return " ".join([self.law, *unusual])

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
    """A mechanism with parameters. ``width`` judges sums over so many units, ``clipped`` reads answers below 0 as 0."""

    stream: str
    promise: Promise
    mechanism: str
    parameters: tuple[tuple[str, Any], ...] = ()
    width: int = 1
    clipped: bool = True
    allow_unproven: bool = False

    @property
    def name(self) -> str:
        """The mechanism, what it was told, and what was done with its releases if that is not usual."""
        told = ", ".join(f"{name}={value}" for name, value in self.parameters)
        sums = f" over {self.width}" if self.width > 1 else ""
        return self.mechanism + (f"({told})" if told else "") + sums + ("" if self.clipped else " unclipped")

    @property
    def contestant(self) -> str:
        """Under what name it is compared: the mechanism, and for which measure it was made if it was told one."""
        objective = dict(self.parameters).get(OBJECTIVE)
        return f"{self.mechanism} for {objective.upper()}" if objective else self.mechanism

    @property
    def summed(self) -> bool:
        """Whether sums are published rather than single counts."""
        return self.mechanism in SUMMING and dict(self.parameters).get("width", 1) > 1

    def told(self) -> dict[str, Any]:
        """All that determines the outcome but the stream's counts and the seed, as plain data."""
        told = self._asdict() | {"code": code_version(mechanism(self.mechanism).__module__)}
        if not told.pop("allow_unproven"):  # as it was before there was such a thing, so that known runs stay known
            return told
        return told | {"allow_unproven": True}

    def run(self, seed: int, stream: Counted) -> Outcome:
        """Publish the stream once, with numpy's noise of the seed."""
        told, model = dict(self.parameters), self.promise.model
        publishing = made(self.mechanism, told, model, allow_unproven=self.allow_unproven)
        top = int(stream.counts.max())
        judge = Judge(stream.shape, top, width=self.width, summed=self.summed, clipped=self.clipped)
        return published(publishing, stream.counts, seed, judge)


def key_of(what: Runnable, digest: str, seed: int) -> str:
    """By what an outcome is known again: a hash of everything that determines it, how it is run included."""
    whole = {"kind": type(what).__name__, "told": what.told(), "stream": digest, "seed": seed}
    return hashlib.sha256(json.dumps(whole | {"run": code_version(published.__module__)}).encode()).hexdigest()[:16]
