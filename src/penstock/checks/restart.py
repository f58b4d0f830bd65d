"""What a restart must not change: the releases if the sealed state is at hand, the guarantee if it is not."""

from __future__ import annotations

from typing import Any

from penstock.charges import Fact, recount
from penstock.checks.shadow import Shadow
from penstock.checks.subject import Subject
from penstock.noise import SimulationNoise
from penstock.sealing import new_key


def resumes_exactly(subject: Subject) -> None:
    """Saved and loaded after every single step, a mechanism publishes what it would have published anyway."""
    key = new_key()
    for seed, stream in enumerate(subject.streams()):
        undisturbed = subject.run(stream, SimulationNoise(seed))
        noise = SimulationNoise(seed)
        mechanism = subject.start(noise, bins=stream.bins)
        for snapshot, expected in zip(stream, undisturbed, strict=True):
            successor = subject.start(noise, bins=stream.bins)
            successor.load(mechanism.save(key), key)
            mechanism = successor
            release = subject.step(mechanism, snapshot)
            subject.require(release.same_as(expected), f"a restart before t={snapshot.t} changes nothing")


def resumes_soundly(subject: Subject) -> None:
    """Restarted without the key, at every step or now and then, a mechanism goes on and no protected set is hurt."""
    for every in (1, max(subject.model.window // 2, 2)):
        for seed, stream in enumerate(subject.streams()):
            journal: list[Fact] = []
            shadow = Shadow(SimulationNoise(seed), subject.model, stream.bins)
            options: dict[str, Any] = {"bins": stream.bins, "journal": journal.append, "answers": shadow.answer}
            mechanism = subject.start(shadow, **options)
            for snapshot in stream:
                if snapshot.t % every == 0:
                    successor = subject.start(shadow, **options)
                    successor.load(mechanism.save())
                    shadow.retired()
                    mechanism = successor
                subject.step(mechanism, snapshot)
            limit = subject.model.epsilon
            for facts in (journal, shadow.facts()):
                spent = recount(facts, subject.model, stream.presence)
                subject.require(spent <= limit, f"without the key the fullest set stays within {limit}, not {spent}")
