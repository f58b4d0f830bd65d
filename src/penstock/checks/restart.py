"""What a restart must not change: the releases if the sealed state is at hand, the guarantee if it is not."""

from __future__ import annotations

from penstock.charges import Fact, recount
from penstock.checks.subject import Subject
from penstock.noise import SimulationNoise
from penstock.sealing import new_key
from penstock.types import Release


def resumes_exactly(subject: Subject) -> None:
    """Saved and loaded after every single step, a mechanism publishes what it would have published anyway."""
    key = new_key()
    for seed, stream in enumerate(subject.streams()):
        undisturbed = subject.run(stream, SimulationNoise(seed))
        noise = SimulationNoise(seed)
        mechanism = subject.start(noise)
        for snapshot, expected in zip(stream, undisturbed, strict=True):
            successor = subject.start(noise)
            successor.load(mechanism.save(key), key)
            mechanism = successor
            release = subject.step(mechanism, snapshot)
            subject.require(release.same_as(expected), f"a restart before t={snapshot.t} changes nothing")


def resumes_soundly(subject: Subject) -> None:
    """Restarted without the key, a mechanism goes on publishing and no protected set exceeds epsilon."""
    every = max(subject.model.window // 2, 2)
    for seed, stream in enumerate(subject.streams()):
        journal: list[Fact] = []
        noise = SimulationNoise(seed)
        mechanism = subject.start(noise, journal=journal.append)
        releases: list[Release] = []
        for snapshot in stream:
            if snapshot.t % every == 0:
                successor = subject.start(noise, journal=journal.append)
                successor.load(mechanism.save())
                mechanism = successor
            releases.append(subject.step(mechanism, snapshot))
        spent, limit = recount(journal, subject.model, stream.presence), subject.model.epsilon
        subject.require(spent <= limit, f"after restarts without the key the fullest set pays {limit}, not {spent}")
        subject.require(len(releases) == len(stream), "a release is made at every step")
