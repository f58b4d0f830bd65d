"""What the law demands: every protected set within epsilon, every draw paid for, every bin with noise of its own."""

from __future__ import annotations

import numpy as np

from penstock.charges import Fact, Point, Span, recount
from penstock.checks.shadow import Shadow
from penstock.checks.subject import Subject
from penstock.noise import ScriptedNoise, SimulationNoise
from penstock.types import Floats, Kind

MANY_BINS, MOST_STEPS_OF_MANY_BINS = 4096, 60
LEVEL = 10**6 + 1  # odd, so that something is left of it where only one record is possible
SHIFT = 1000


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


def every_draw_is_paid(subject: Subject) -> None:
    """What answers tell, worked out from the noise they carry, was charged to their unit, and keeps the law."""
    for seed, stream in enumerate(subject.streams()):
        shadow = Shadow(SimulationNoise(seed), subject.model, stream.bins)
        mechanism = subject.start(shadow, bins=stream.bins, answers=shadow.answer)
        paid: dict[int, int] = {}
        for snapshot in stream:
            release = subject.step(mechanism, snapshot)
            told = shadow.learnt(release.t)
            subject.require(told <= release.charged.nano, f"answers worth {told} nano were paid for at t={release.t}")
            paid[release.t] = release.charged.nano
        for t, nano in paid.items():  # once more, because a sum over time also tells of earlier units
            told = shadow.learnt(t)
            subject.require(told <= nano, f"answers worth {told} nano were paid for at t={t}, also by later sums")
        learnt, limit = recount(shadow.facts(), subject.model, stream.presence), subject.model.epsilon
        subject.require(learnt <= limit, f"what is learnt about the fullest set stays within {limit}, but is {learnt}")


def noise_is_as_claimed(subject: Subject) -> None:
    """Added in full, as wide as a release says it is, and drawn for every bin by itself."""
    steps = min(subject.steps(), MOST_STEPS_OF_MANY_BINS)
    stream = subject.stream(np.full((steps, MANY_BINS), LEVEL), np.random.default_rng(2))
    for release in subject.run(stream, ScriptedNoise(then=SHIFT)):
        added = (release.values - stream.counts[release.t - 1])[release.kind == Kind.FRESH]
        subject.require(bool((added == SHIFT).all()), "a fresh value is the count plus the whole draw")
    for release in subject.run(stream, subject.kernel.noise()):
        if (release.kind == Kind.FRESH).all() and release.noise_sd[0] > 1:  # below that, ties are no surprise
            noise = (release.values - stream.counts[release.t - 1]) / release.noise_sd
            subject.require(_likeness(noise) < 0.15, "no two bins share a draw")
            subject.require(0.8 < float(noise.std()) < 1.25, "noise is as wide as noise_sd says")


def _likeness(noise: Floats) -> float:
    """The largest correlation of the bins with the bins any number of places further on, in a circle."""
    if noise.min() == noise.max():
        return 1.0
    likeness = np.fft.irfft(np.abs(np.fft.rfft(noise - noise.mean())) ** 2)
    return float(likeness[1:].max() / likeness[0])
