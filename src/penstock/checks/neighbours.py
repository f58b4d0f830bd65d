"""Record and replay on neighbours: a whole stream, then a neighbouring one with the same noisy answers fed back.

Whatever was asked, decided, charged and published must be the same, because it may depend on the answers only. And the
true values behind each answer may lie no further apart than its sensitivity, so that, all together, no transcript is
more than exp(epsilon) times as probable on one stream as on the other.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from penstock.charges import Fact
from penstock.checks.replay import NoNoise, described
from penstock.checks.subject import Subject
from penstock.checks.witness import Witness
from penstock.errors import CheckFailed
from penstock.models import MContext
from penstock.noise import SimulationNoise
from penstock.streams import Stream
from penstock.transcript import Player, Recorder
from penstock.types import Ints, Release

RANDOM_NEIGHBOURS = 3
ROUNDING = 1e-5  # of a loss; where no threshold noise is summed over, it is off by far less


class Recorded(NamedTuple):
    """What came of a stream: questions and answers, charges, releases."""

    tape: list[tuple[bytes, Any]]
    charges: list[Fact]
    releases: list[Release]


def same_on_neighbours(subject: Subject) -> None:
    """With the same answers fed back, a neighbouring stream is asked, charged and published in the same way."""
    for seed, stream in enumerate(subject.streams()):
        recorded = record(subject, stream, seed)
        for neighbour in neighbours(subject, stream, np.random.default_rng(seed)):
            replay(subject, recorded, Stream(neighbour, presence=stream.presence))


def no_answer_moves_further(subject: Subject) -> None:
    """True values differ by at most the stated sensitivity, and what is told in all stays within epsilon."""
    for seed, stream in enumerate(subject.streams()):
        for neighbour in neighbours(subject, stream, np.random.default_rng(seed)):
            weigh(subject, stream, neighbour, seed)


def record(subject: Subject, stream: Stream, seed: int) -> Recorded:
    """Run the stream, taking down what is asked, answered, charged and released."""
    recorder, charges = Recorder(), list[Fact]()
    releases = subject.run(stream, SimulationNoise(seed), answers=recorder, journal=charges.append)
    return Recorded([(described(question), answer) for question, answer in recorder.tape], charges, releases)


def replay(subject: Subject, recorded: Recorded, neighbour: Stream) -> None:
    """Run the neighbour on the answers that were recorded."""
    charges = list[Fact]()
    otherwise = CheckFailed(f"{subject} asks something else on a neighbouring stream.")
    player = Player(recorded.tape, described, otherwise)
    releases = subject.run(neighbour, NoNoise(), answers=player, journal=charges.append)
    subject.require(not player.tape, "the same questions are asked on a neighbouring stream")
    subject.require(charges == recorded.charges, "the same charges are made on a neighbouring stream")
    same = all(a.same_as(b) for a, b in zip(releases, recorded.releases, strict=True))
    subject.require(same, "with the same answers the same is released on a neighbouring stream")


def weigh(subject: Subject, stream: Stream, neighbour: Ints, seed: int) -> None:
    """Run the stream before a witness who knows the neighbour."""
    witness = Witness(SimulationNoise(seed), subject.model, stream.counts, neighbour)
    subject.run(stream, witness, answers=witness.answer)
    for move in witness.moves:
        kept = move.moved <= move.allowed
        subject.require(kept, f"what is asked by {move.verb} at t={move.t} moves by its sensitivity at most")
    limit = subject.model.epsilon
    subject.require(abs(witness.loss) <= float(limit) + ROUNDING, f"a neighbour is told from it by {limit} at most")


def neighbours(subject: Subject, stream: Stream, rng: np.random.Generator) -> Iterator[Ints]:
    """Random neighbours of a stream, and the farthest ones at its beginning, its end and in between."""
    for _ in range(RANDOM_NEIGHBOURS):
        yield subject.model.neighbouring(stream.counts, rng, stream.presence)
    if not isinstance(subject.model, MContext):
        last = len(stream.counts) - subject.model.window
        for first in sorted({0, max(last // 2, 0), max(last, 0)}):
            for bins in ([0], range(stream.bins)):
                yield farthest(subject, stream.counts, first, list(bins))


def farthest(subject: Subject, counts: Ints, first: int, bins: list[int]) -> Ints:
    """All records of one person differ in every unit of a protected set, in each of ``bins`` in turn."""
    changed, model = counts.copy(), subject.model
    for t in range(first, min(first + model.window, len(counts))):
        into = bins[t % len(bins)]
        out_of = (into + 1) % counts.shape[1]
        if model.neighbours == "add-remove":
            changed[t, into] += model.per_unit
        elif changed[t, out_of] >= model.per_unit:
            changed[t, out_of] -= model.per_unit
            changed[t, into] += model.per_unit
    return changed
