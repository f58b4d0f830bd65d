"""Non-interference: what a mechanism does is a function of the paid answers and of nothing else.

A step is recorded, then run again from the same state on *different* counts while the recorded answers are played
back. If release or state differ, something besides the answers has seen the counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar, NoReturn

import numpy as np
from numpy.typing import NDArray

from penstock.checks.subject import Subject
from penstock.codec import encode
from penstock.desk import Question
from penstock.errors import CheckFailed
from penstock.mechanisms.base import Mechanism, State
from penstock.noise import SimulationNoise
from penstock.queries import Query
from penstock.sealing import new_key
from penstock.streams import Stream
from penstock.transcript import Player, Recorder
from penstock.types import Ints, Release, Snapshot


def described(question: Question) -> bytes:
    """Everything that was asked, as bytes: the verb, the noise, the bins, and what queries were made with."""
    details = [[type(d).__name__, *d.content] if isinstance(d, Query) else d for d in question.details]
    return encode([question.verb, question.scale, question.draws, question.bins, details])


class NoNoise:
    """A replay draws nothing."""

    secure: ClassVar[bool] = False

    def rekey(self) -> None:
        """Nothing is drawn, so nothing is keyed."""

    def _refuse(self) -> NoReturn:
        raise CheckFailed("noise was drawn outside an answer.")

    def laplace(self, scale: Fraction, size: int) -> NoReturn:
        self._refuse()

    def laplace_each(self, scales: Sequence[Fraction], which: NDArray[np.intp]) -> NoReturn:
        self._refuse()

    def cube(self, scale: Fraction, size: int) -> NoReturn:
        self._refuse()

    def bernoulli(self, chance: Fraction, shape: tuple[int, ...]) -> NoReturn:
        self._refuse()

    def bernoulli_exp(self, rate: Fraction, steps: Ints) -> NoReturn:
        self._refuse()

    def order(self, size: int) -> NoReturn:
        self._refuse()


def non_interference(subject: Subject) -> None:
    """The same answers on other counts give the same release and the same public state, at every step."""
    key = new_key()
    for seed, stream in enumerate(subject.streams()):
        rng = np.random.default_rng(seed)
        recorder = Recorder()
        mechanism = subject.start(SimulationNoise(seed), bins=stream.bins, answers=recorder)
        after = mechanism.save(key)
        for snapshot in stream:
            before = after
            recorder.tape.clear()
            release = subject.step(mechanism, snapshot)
            after = mechanism.save(key)
            tape = [(described(question), answer) for question, answer in recorder.tape]
            otherwise = CheckFailed(f"at t={snapshot.t}, on other counts, the mechanism asks something else.")
            for counts in _other_counts(subject, stream, snapshot.t, rng):
                player = Player(tape, described, otherwise)
                twin = subject.start(NoNoise(), bins=stream.bins, answers=player)
                twin.load(before, key)
                other = Snapshot(snapshot.t, subject.possible(counts, snapshot.present), snapshot.present)
                _require_same_step(subject, twin, other, release, after)
                subject.require(not player.tape, f"at t={snapshot.t} the same questions are asked on other counts")
            subject.require(release is mechanism.last, "a mechanism remembers what it released")


def _require_same_step(subject: Subject, twin: Mechanism, snapshot: Snapshot, release: Release, after: State) -> None:
    same = subject.step(twin, snapshot).same_as(release)
    subject.require(same, f"the release at t={snapshot.t} depends on the paid answers only")
    same = twin.save().public == after.public
    subject.require(same, f"the state after t={snapshot.t} depends on the paid answers only")


def _other_counts(subject: Subject, stream: Stream, t: int, rng: np.random.Generator) -> list[Ints]:
    """Empty, wild, and those of a neighbouring stream."""
    neighbour = subject.model.neighbouring(stream.counts, rng, stream.presence)
    return [np.zeros(stream.bins, np.int64), rng.integers(0, 2**40, stream.bins), neighbour[t - 1]]
