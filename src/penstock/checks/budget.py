"""What the law demands: every protected set within epsilon, every draw paid for, every bin with noise of its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import ClassVar, TypeVar

import numpy as np
from numpy.typing import NDArray

from penstock.charges import Fact, Point, Span, recount
from penstock.checks.subject import Subject
from penstock.desk import Question
from penstock.epsilon import NANO
from penstock.noise import Noise, SimulationNoise
from penstock.streams import Stream
from penstock.types import Ints, Kind, Mask

T = TypeVar("T")
MANY_BINS = 16


def never_overspends(subject: Subject) -> None:
    """Recounted by brute force from the bare charges, no protected set exceeds epsilon. Exactly, without tolerance."""
    for seed, stream in enumerate(subject.streams()):
        journal: list[Fact] = []
        releases = subject.run(stream, SimulationNoise(seed), journal=journal.append)
        spent = recount(journal, subject.model, stream.presence)
        limit = subject.model.epsilon
        subject.require(spent <= limit, f"the fullest protected set stays within {limit}, but paid {spent}")
        for release in releases:
            booked = sum(_booked(fact, release.t) for fact in journal)
            subject.require(release.charged.nano == booked, "a release states what its time unit cost")


def _booked(fact: Fact, t: int) -> int:
    """What this fact charged at unit ``t``; a span is charged when it opens."""
    match fact:
        case Point(at, e, _) if at == t:
            return e.nano
        case Span(at, None, e, _, _) if at == t:
            return e.nano
    return 0


class Auditor:
    """Stands between curator and noise and writes down, for every question, the draws that were made for it."""

    secure: ClassVar[bool] = False

    def __init__(self, noise: Noise) -> None:
        self._noise = noise
        self.asked: list[tuple[Question, list[tuple[Fraction, int]]]] = []

    def answer(self, question: Question, compute: Callable[[], T]) -> T:
        """The answers of the checked curator come through here."""
        self.asked.append((question, []))
        return compute()

    def rekey(self) -> None:
        self._noise.rekey()

    def laplace(self, scale: Fraction, size: int) -> Ints:
        self.asked[-1][1].append((scale, size))
        return self._noise.laplace(scale, size)

    def laplace_each(self, scales: Sequence[Fraction], which: NDArray[np.intp]) -> Ints:
        self.asked[-1][1].extend((scale, int((which == i).sum())) for i, scale in enumerate(scales))
        return self._noise.laplace_each(scales, which)

    def bernoulli(self, chance: Fraction, shape: tuple[int, ...]) -> Mask:
        return self._noise.bernoulli(chance, shape)

    def bernoulli_exp(self, exponents: Sequence[Fraction]) -> Mask:
        return self._noise.bernoulli_exp(exponents)

    def order(self, size: int) -> NDArray[np.intp]:
        return self._noise.order(size)


def every_draw_is_paid(subject: Subject) -> None:
    """A question draws as often as it says, and what a unit's answers tell about a bin was charged to the unit."""
    for seed, stream in enumerate(subject.streams()):
        auditor = Auditor(SimulationNoise(seed))
        mechanism = subject.start(auditor, answers=auditor.answer)
        for snapshot in stream:
            auditor.asked.clear()
            release = subject.step(mechanism, snapshot)
            for question, draws in auditor.asked:
                drawn = sum(size for _, size in draws)
                subject.require(drawn == question.draws, f"{question.verb} draws {question.draws} times, not {drawn}")
            told = _told_by_answers(subject, auditor, stream.bins)
            subject.require(told <= release.charged.nano, f"answers worth {told} nano were paid for at t={release.t}")


def _told_by_answers(subject: Subject, auditor: Auditor, bins: int) -> int:
    """What the unit's ``ask`` answers are worth, from the noise they carry: s1 / scale for each, added up per bin."""
    worth = np.zeros(bins, np.int64)
    for question, draws in auditor.asked:
        if question.verb == "ask" and draws:
            dearest = min(scale for scale, size in draws if size)
            worth[slice(None) if question.bins is None else question.bins] += int(
                subject.model.sensitivity * NANO / dearest
            )
    return int(worth.max())


def bins_are_independent(subject: Subject) -> None:
    """Equal counts do not come out equal: each bin of a fresh release has noise of its own."""
    counts = np.full((subject.steps(), MANY_BINS), 10**6)
    stream: Stream = subject.stream(counts, np.random.default_rng(2))
    fresh = [r for r in subject.run(stream, subject.kernel.noise()) if (r.kind == Kind.FRESH).all()]
    wide = [r for r in fresh if r.noise_sd[0] > 1]  # below that, ties are no surprise
    varied = all(len(np.unique(release.values)) > 1 for release in wide)
    subject.require(varied, "no two bins share a draw")
