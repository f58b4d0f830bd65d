"""Record and replay on neighbours: a whole stream, then a neighbouring one with the same noisy answers fed back.

Whatever was asked, decided, charged and published must be the same, because it may depend on the answers only. And the
true values behind each answer may lie no further apart than its sensitivity, so that, all together, no transcript tells
the two streams apart by more than what was paid for the units in which they differ, and hence by more than epsilon.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from functools import partial
from itertools import cycle
from typing import Any, NamedTuple, TypeVar

import numpy as np

from penstock.charges import Fact, Point, Span
from penstock.checks.replay import NoNoise, described
from penstock.checks.subject import Subject
from penstock.checks.witness import Witness
from penstock.desk import Question
from penstock.epsilon import Epsilon
from penstock.errors import CheckFailed
from penstock.models import MContext, PrivacyModel
from penstock.noise import Noise, SimulationNoise
from penstock.streams import Stream
from penstock.transcript import Player, Recorder
from penstock.types import LARGEST_COUNT, Ints, Release

T = TypeVar("T")

RANDOM_NEIGHBOURS = 1
ROUNDING = 1e-4  # of a loss, where threshold noise is summed over


class Recorded(NamedTuple):
    """What came of a stream: questions and answers, charges, releases."""

    tape: list[tuple[bytes, Any]]
    charges: list[Fact]
    releases: list[Release]


def same_on_neighbours(subject: Subject) -> None:
    """With the same answers fed back, a neighbouring stream is asked, charged and published in the same way."""
    for seed, stream in enumerate(subject.streams()):
        recorded = record(subject, stream, SimulationNoise(seed))
        for neighbour in neighbours(subject, stream, np.random.default_rng(seed)):
            replay(subject, recorded, Stream(neighbour, presence=stream.presence))


def no_answer_moves_further(subject: Subject) -> None:
    """Answers are what was asked, true values move by their sensitivity at most, and no more is told than was paid."""
    for seed, stream in enumerate(subject.streams()):
        weigh(subject, stream, list(neighbours(subject, stream, np.random.default_rng(seed))), seed)


def record(subject: Subject, stream: Stream, noise: Noise, missing: Container[int] = frozenset()) -> Recorded:
    """Run the stream, taking down what is asked, answered, charged and released."""
    recorder, charges = Recorder(), list[Fact]()
    releases = subject.run(stream, noise, missing=missing, answers=recorder, journal=charges.append)
    return Recorded([(described(question), answer) for question, answer in recorder.tape], charges, releases)


def replay(
    subject: Subject,
    recorded: Recorded,
    other: Stream,
    called: str = "a neighbouring stream",
    missing: Container[int] = frozenset(),
) -> None:
    """Run another stream on the answers that were recorded."""
    charges = list[Fact]()
    player = Player(recorded.tape, described, CheckFailed(f"{subject} asks something else on {called}."))
    releases = subject.run(other, NoNoise(), missing=missing, answers=player, journal=charges.append)
    subject.require(not player.tape, f"the same questions are asked on {called}")
    subject.require(charges == recorded.charges, f"the same charges are made on {called}")
    same = all(a.same_as(b) for a, b in zip(releases, recorded.releases, strict=True))
    subject.require(same, f"with the same answers the same is released on {called}")


def weigh(subject: Subject, stream: Stream, others: Sequence[Ints], seed: int) -> None:
    """Run the stream before witnesses each of whom knows one neighbour, and believes nobody."""
    charges, witnesses = list[Fact](), list[Witness]()
    noise: Noise = SimulationNoise(seed)
    for neighbour in others:  # every one passes on to the next what is drawn
        noise = Witness(noise, subject.model, stream.counts, neighbour, distrust=True)
        witnesses.append(noise)

    def answer(question: Question, compute: Callable[[], T]) -> T:
        for witness in witnesses:
            compute = partial(witness.answer, question, compute)
        return compute()

    subject.run(stream, noise, answers=answer, journal=charges.append)
    for neighbour, witness in zip(others, witnesses, strict=True):
        judge(subject, witness, np.flatnonzero((stream.counts != neighbour).any(axis=1)) + 1, charges)


def judge(subject: Subject, witness: Witness, units: Ints, charges: list[Fact]) -> None:
    """Whether what a witness has heard of a stream and a neighbour that differ in these units keeps the law."""
    for move in witness.moves:
        kept = move.moved <= move.allowed
        subject.require(kept, f"what is asked by {move.verb} at t={move.t} moves by its sensitivity at most")
    told, paid = abs(witness.loss), float(paid_for(set(units.tolist()), charges))
    subject.require(told <= paid * (1 + ROUNDING), f"a neighbour is told from it by {paid} at most, which was paid")


def paid_for(units: set[int], charges: Iterable[Fact]) -> Epsilon:
    """What was charged for reading any of these units."""
    facts = list(charges)
    spans = {fact.key: fact for fact in facts if isinstance(fact, Span)}  # a span's closing replaces its opening
    points = [fact.e.nano for fact in facts if isinstance(fact, Point) and fact.t in units]
    met = [span.e.nano for span in spans.values() if any(span.a <= t <= (span.b or t) for t in units)]
    return Epsilon.of_nano(sum(points) + sum(met))


def neighbours(subject: Subject, stream: Stream, rng: np.random.Generator) -> Iterator[Ints]:
    """Random neighbours of a stream, and the farthest ones: at its beginning, in between, at its end, in one unit."""
    for _ in range(RANDOM_NEIGHBOURS):
        yield subject.model.neighbouring(stream.counts, rng, stream.presence)
    sets = list(protected(subject.model, stream))
    ways = ((1, [0]), (1, range(stream.bins)), (-1, [0]), (0, [0]))
    for units, (way, bins) in zip(cycle(sets), ways if sets else (), strict=False):
        yield farthest(subject.model, stream.counts, units, list(bins), way)
    for units in sets[-1:]:
        yield farthest(subject.model, stream.counts, units[-1:], [0], 1)


def protected(model: PrivacyModel, stream: Stream) -> Iterator[list[int]]:
    """Protected sets at the beginning, in the middle and at the end, as numbers of rows."""
    units = list(range(len(stream.counts)))
    if isinstance(model, MContext):
        everybody = sorted({user for here in stream.presence or () for user in here})
        units = [t for t in units if everybody and everybody[0] in (stream.presence or ())[t]]
    last = max(len(units) - model.window, 0)
    for first in sorted({0, last // 2, last}) if units else ():
        yield units[first : first + model.window]


def farthest(model: PrivacyModel, counts: Ints, units: list[int], bins: list[int], way: int) -> Ints:
    """All records of one person differ in each of these units, in ``bins`` in turn.

    ``way`` 1 adds them, -1 takes them away, and 0 first adds and in the end takes away; where they are replaced, they
    move from the next bin or to it. Where there is no room for that, or nothing to take, it is the other way round.
    """
    changed = counts.copy()
    for place, t in enumerate(units):
        into = bins[t % len(bins)]
        change = np.zeros(counts.shape[1], np.int64)
        change[into] += model.per_unit
        if model.neighbours == "replace":
            change[(into + 1) % len(change)] -= model.per_unit
        if way < 0 or (way == 0 and place == len(units) - 1):
            change = -change
        fitting = [
            row for row in (counts[t] + change, counts[t] - change) if 0 <= row.min() <= row.max() <= LARGEST_COUNT
        ]
        if fitting:
            changed[t] = fitting[0]
    return changed
