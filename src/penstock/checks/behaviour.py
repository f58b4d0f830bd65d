"""What a user sees: a release at every step, the same for the same seed, nothing changed behind anybody's back."""

from __future__ import annotations

import doctest
import gc
import sys
import tracemalloc
from copy import deepcopy

import numpy as np

from penstock.charges import Fact
from penstock.checks.subject import BINS, Subject, example_models
from penstock.errors import BadInput, CheckFailed, NotProven
from penstock.laws import LAWS
from penstock.noise import ScriptedNoise, SimulationNoise
from penstock.proofs import PROVED, fingerprint, proof_of
from penstock.types import Kind, Release, Snapshot

WARM_UP, STRETCHES, STRETCH = 500, 4, 400
GROWTH_BYTES = 1024  # in one stretch


def one_release_a_step(subject: Subject) -> None:
    """Whatever the noise, every snapshot yields one release of its own time and shape."""
    for seed, stream in enumerate(subject.streams()):
        for t, release in enumerate(subject.run(stream, SimulationNoise(seed)), start=1):
            subject.require(release.t == t, "a release carries the time of its snapshot")
            shapes = {release.values.shape, release.kind.shape, release.noise_sd.shape}
            subject.require(shapes == {(stream.bins,)}, "a release has one value, kind and noise_sd for every bin")
            subject.require(release.values.dtype == np.int64, "published values are whole numbers")
            _require_intervals(subject, release)


def _require_intervals(subject: Subject, release: Release) -> None:
    """Whoever says between which numbers the counts lie has announced it, and says it of every bin."""
    if release.low is None or release.high is None:
        return
    subject.require(subject.mechanism.intervals, "a mechanism whose releases have intervals says so: intervals = True")
    subject.require({release.low.shape, release.high.shape} == {release.values.shape}, "every bin has an interval")
    subject.require({release.low.dtype, release.high.dtype} == {np.dtype(np.int64)}, "intervals have whole ends")
    held = bool(((release.low <= release.values) & (release.values <= release.high)).all())
    subject.require(held, "an interval holds the value it is about")


def same_seed_same_output(subject: Subject) -> None:
    """A mechanism has no randomness of its own."""
    for stream in subject.streams():
        once, again = (subject.run(stream, SimulationNoise(7)) for _ in range(2))
        same = all(a.same_as(b) for a, b in zip(once, again, strict=True))
        subject.require(same, "the same seed gives the same releases")


def exact_without_noise(subject: Subject) -> None:
    """Where a bin is fresh and the noise is zero, the count itself comes out."""
    for stream in subject.streams():
        for release in subject.run(stream, ScriptedNoise()):
            fresh = release.kind == Kind.FRESH
            exact = np.array_equal(release.values[fresh], stream.counts[release.t - 1][fresh])
            subject.require(exact, "a fresh value without noise is the count")


def nothing_changes_afterwards(subject: Subject) -> None:
    """Neither the input nor a release that was already handed out is ever written to."""
    for stream in subject.streams():
        given = stream.counts.copy()
        mechanism = subject.start(SimulationNoise(3), bins=stream.bins)
        handed_out = []
        for snapshot in stream:
            release = subject.step(mechanism, snapshot)
            handed_out.append((release, deepcopy(release)))
        subject.require(np.array_equal(given, stream.counts), "the input is left alone")
        kept = all(release.same_as(before) for release, before in handed_out)
        subject.require(kept, "a release never changes after it was handed out")


def refuses_bad_snapshots(subject: Subject) -> None:
    """A repeated or skipped time, or other bins, are refused before anything is spent, and the stream goes on."""
    stream = next(subject.streams())
    snapshots = list(stream)[:2]
    present = snapshots[0].present
    booked: list[Fact] = []
    mechanism = subject.start(SimulationNoise(5), journal=booked.append)
    subject.step(mechanism, snapshots[0])
    spent = len(booked)
    bad = [Snapshot(1, [1] * BINS, present), Snapshot(3, [1] * BINS, present), Snapshot(2, [1] * (BINS + 1), present)]
    for snapshot in bad:
        try:
            mechanism.step(snapshot)
        except BadInput:
            subject.require(len(booked) == spent, "a refused snapshot costs nothing")
        else:
            subject.require(False, f"a snapshot that does not fit (t={snapshot.t}, {snapshot.bins} bins) is refused")
    if len(snapshots) == 2 and not (subject.model.horizon_bound and subject.model.window < 2):
        subject.step(mechanism, snapshots[1])


def bounded_memory(subject: Subject) -> None:
    """Memory does not grow with time, once a few windows have passed.

    It is measured over several stretches, and growth is what all of them show: caches fill up, and numpy hands small
    blocks around.
    """
    if subject.model.horizon_bound:
        return  # a horizon is a bound already
    rng = np.random.default_rng(9)
    warm = WARM_UP + 10 * subject.model.window
    stream = subject.stream(rng.integers(0, 1000, (warm + STRETCHES * STRETCH, BINS)), rng)
    mechanism = subject.start(SimulationNoise(1))
    sizes = []
    tracemalloc.start()
    try:
        for snapshot in stream:
            subject.step(mechanism, snapshot)
            if snapshot.t >= warm and (snapshot.t - warm) % STRETCH == 0:
                sizes.append(_held())
    finally:
        tracemalloc.stop()
    subject.require(bool(min(np.diff(sizes)) < GROWTH_BYTES), "memory stays flat from step to step")


def _held() -> int:
    """Bytes that are in use, without what the interpreter holds back: it keeps thousands of looked-up names alive."""
    getattr(sys, "_clear_type_cache", gc.collect)()
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def unproven_models_refused(subject: Subject) -> None:
    """Under a model it does not claim, a mechanism cannot even be constructed."""
    for kind in LAWS.values():
        if kind in subject.mechanism.proven_for:
            continue
        try:
            subject.mechanism.example(example_models(kind)[0])
        except NotProven:
            continue
        subject.require(False, f"{kind.__name__}, which the proof does not cover, is refused")


def proof_is_current(subject: Subject) -> None:
    """A proof lies beside the code, claims what the code claims, and was read against the code as it stands."""
    proof, now = proof_of(subject.mechanism), fingerprint(subject.mechanism)
    subject.require(proof.status == PROVED, "a finished proof lies beside the code")
    claims = {kind.__name__ for kind in subject.mechanism.proven_for}
    subject.require(set(proof.claims) == claims, "the proof claims the models of proven_for")
    subject.require(proof.reviewed == now, f"the proof was read against this code (if it was: reviewed: {now})")


def example_runs(subject: Subject) -> None:
    """The docstring holds an example, and it prints what it says."""
    found = doctest.DocTestFinder(recurse=False).find(subject.mechanism, subject.mechanism.__name__)
    runner = doctest.DocTestRunner(verbose=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    output: list[str] = []
    for example in found:
        runner.run(example, out=output.append)
    if not any(example.examples for example in found):
        raise CheckFailed(
            f"{subject.mechanism.__name__} has no example in its docstring; add one that can be followed."
        )
    subject.require(runner.failures == 0, "the docstring example prints what it says: " + "".join(output))
