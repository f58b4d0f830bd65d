"""Many runs of a mechanism on both streams of an attack, and what everybody could see of each.

Before their first difference the two streams are one, so each trial runs that part once and goes on from a copy of the
mechanism on either stream, with noise of its own: the two runs share a past, which is as probable on both.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from penstock.audit.attack import Attack, Outcome
from penstock.audit.copying import copied
from penstock.bench.processes import spread
from penstock.checks import Kernel, Subject
from penstock.checks.witness import Witness
from penstock.curator import Curator
from penstock.epsilon import Epsilon
from penstock.errors import BadInput, CheckFailed
from penstock.mechanisms.base import Mechanism
from penstock.noise import Noise, SecureNoise, SimulationNoise
from penstock.types import Floats, Ints, Mask, Release, Snapshot

CHUNK = 1000  # trials of one job
POINTS = 20  # threshold noise is weighed in so many steps per scale: a loss is a score to choose events by
PATIENCE = 10_000  # runs in a row that may begin otherwise than given


class Case(NamedTuple):
    """What is attacked, and how. ``weigh`` the answers, unless the kernel is broken too."""

    subject: Subject
    attack: Attack
    weigh: bool = True


class Finder(Protocol):
    """Finds its case in any process: events, and mechanisms from a file, cannot be sent there."""

    def __hash__(self) -> int: ...
    def case(self) -> Case:
        """What is attacked, and how."""


F = TypeVar("F", bound=Finder)
Advance = Callable[[int], None]


class Job(NamedTuple):
    """So many trials of a case. Without a seed the noise is the one that is shipped."""

    finder: Finder
    trials: int
    seed: int | None

    def noise(self, kernel: Kernel) -> Noise:
        """Where all trials draw from. A kernel with noise of its own keeps it."""
        seeded = self.seed is not None and kernel.noise is SecureNoise
        return SimulationNoise(self.seed or 0) if seeded else kernel.noise()


class Glimpse(NamedTuple):
    """What was seen of one run: its outcome, whether the event came to pass, and the loss of its transcript."""

    outcome: Outcome
    event: bool
    loss: float | None


@dataclass(frozen=True)
class Seen:
    """What was seen of all runs on one of the streams, a row each."""

    values: Ints  # run, unit, bin
    kinds: NDArray[np.int8]
    noise_sd: Floats
    charged: Ints  # run, unit
    events: Mask
    losses: Floats  # none at all if nobody has weighed the answers

    @staticmethod
    def of(glimpses: Sequence[Glimpse]) -> Seen:
        """Row by row."""
        outcomes, events, losses = zip(*glimpses, strict=True)
        public = zip(*(vars(seen).values() for seen in outcomes), strict=True)
        values, kinds, noise_sd, charged = (np.array(column) for column in public)
        weighed = np.array([loss for loss in losses if loss is not None], np.float64)
        return Seen(values, kinds, noise_sd, charged, np.array(events), weighed)

    @staticmethod
    def joined(parts: Sequence[Seen]) -> Seen:
        """One after another."""
        columns = zip(*(tuple(vars(part).values()) for part in parts), strict=True)
        return Seen(*(np.concatenate(column) for column in columns))


class Trials(NamedTuple):
    """The runs on either stream, and the most that a ledger had booked on any protected set."""

    one: Seen
    other: Seen
    charged: Epsilon


def attempt(finders: Mapping[F, int], seed: int | None, workers: int, advance: Advance) -> Iterator[tuple[F, Trials]]:
    """Make so many trials of each case, in jobs that processes share; a case comes when its last job is done.

    ``advance`` is told how many more trials were made.
    """
    jobs = [Job(finder, size, None) for finder, trials in finders.items() for size in _sizes(trials)]
    if seed is not None:
        seeds = np.random.SeedSequence(seed).generate_state(len(jobs), np.uint64).tolist()
        jobs = [job._replace(seed=drawn) for job, drawn in zip(jobs, seeds, strict=True)]
    worked = spread(worked_off, jobs, workers)
    for finder, trials in finders.items():
        parts = []
        for size in _sizes(trials):
            parts.append(next(worked))
            advance(size)
        ones, others, charged = zip(*parts, strict=True)
        yield finder, Trials(Seen.joined(ones), Seen.joined(others), max(charged))


def _sizes(trials: int) -> list[int]:
    return [min(CHUNK, trials - start) for start in range(0, trials, CHUNK)]


def worked_off(job: Job) -> Trials:
    """All trials of a job."""
    case = job.finder.case()
    arena = Arena(case, job.noise(case.subject.kernel))
    event = case.attack.event or (lambda outcome: False)
    seen: tuple[list[Glimpse], list[Glimpse]] = [], []
    charged = Epsilon.of_nano(0)
    for _ in range(job.trials):
        for run, glimpses in zip(arena.trial(), seen, strict=True):
            outcome = run.outcome()
            loss = None if run.witness is None else run.witness.loss
            glimpses.append(Glimpse(outcome, bool(event(outcome)), loss))
            charged = max(charged, run.curator.ledger.audit().peak)
    one, other = (Seen.of(glimpses) for glimpses in seen)
    return Trials(one, other, charged)


class Run(NamedTuple):
    """A mechanism in the middle of a stream, what it has released, and who has weighed its answers."""

    subject: Subject
    mechanism: Mechanism
    curator: Curator
    releases: list[Release]
    witness: Witness | None

    def over(self, snapshots: Sequence[Snapshot]) -> None:
        """Go on over these time units."""
        self.releases.extend(self.subject.step(self.mechanism, snapshot) for snapshot in snapshots)

    def outcome(self) -> Outcome:
        """What everybody could see of it."""
        return Outcome.of(self.releases)


class Arena:
    """Where the trials of a case are held, one after another, all with noise from one source."""

    def __init__(self, case: Case, noise: Noise) -> None:
        self.case = case
        self._noise = noise
        self._mechanism = case.subject.make()
        # a copy of a mechanism draws from the same source, and knows the same streams
        shared = (noise, case.subject, case.attack.model, *case.attack.streams)
        self._memo = {id(each): each for each in shared}

    def trial(self) -> tuple[Run, Run]:
        """One run on each stream, with the same past."""
        attack, past = self.case.attack, self._past()
        runs = past, self._twin(past) if attack.prefix else self._begun()
        for which, run in enumerate(runs):
            run.over(attack.snapshots(which)[attack.prefix :])
        return runs

    def _past(self) -> Run:
        """A run over what comes before the first difference, that began as the attack would have it."""
        attack, given = self.case.attack, self.case.attack.given
        for _ in range(PATIENCE):
            run = self._begun()
            run.over(attack.snapshots(0)[: attack.prefix])
            if given is None or given(run.outcome()):
                return run
        raise BadInput(f"{self.case.subject} does not begin as its attack would have it; give it what is more common.")

    def _begun(self) -> Run:
        subject, attack = self.case.subject, self.case.attack
        fresh = copy.deepcopy(self._mechanism, dict(self._memo))
        if not self.case.weigh:
            curator = subject.curator(self._noise, bins=attack.bins)
            return Run(subject, subject.begin(fresh, curator), curator, [], None)
        witness = Witness(self._noise, attack.model, *attack.streams, points=POINTS)
        curator = subject.curator(witness, bins=attack.bins, answers=witness.answer)
        return Run(subject, subject.begin(fresh, curator), curator, [], witness)

    def _twin(self, run: Run) -> Run:
        """The same run once more, which shares nothing that could change."""
        try:
            return copied(run, run.curator, self._memo)
        except TypeError as fault:
            raise CheckFailed(f"{self.case.subject} keeps what cannot be copied: {fault}.") from None
