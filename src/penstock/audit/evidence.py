"""What to look for: an event that is stated, one that a witness points at, and one that is learnt from what was seen.

Any event bounds epsilon from below, however it was found, as long as it was fixed before the runs it is counted on. So
scores and thresholds come from one half of the runs, and hits are counted on the other half. What an attack states
beforehand is counted on all of them. Either stream may be the one an event is more probable on: both are tried.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from penstock.audit.attack import Attack
from penstock.audit.bounds import loss_above
from penstock.audit.trials import Seen, Trials
from penstock.types import Floats, Kind, Mask

FARTHEST = 30  # time units after the first difference that are looked at
THRESHOLDS = 60  # that are tried on the first half
RIDGE = 1e-3  # keeps weights finite where an outcome never occurs on one of the streams
NEWTON_STEPS = 12
LARGEST_SCORE = 30.0  # beyond it exp() says nothing new

TOLD = "told"
TESTS = 6  # events times directions: what the chance of being wrong is shared among


class Finding(NamedTuple):
    """How often an event came to pass on the stream that favours it and on the other, and the loss this proves."""

    event: str
    hits: int
    trials: int
    other_hits: int
    other_trials: int
    lower: float


def findings(attack: Attack, trials: Trials, alpha: float) -> list[Finding]:
    """All events in both directions; together they are wrong with probability ``alpha`` at most."""
    share = alpha / TESTS
    found = []
    if attack.event is not None:
        one, other = trials.one.events, trials.other.events
        found += [_counted("stated", one, other, share), _counted("stated, swapped", other, one, share)]
    for name, one_scores, other_scores in _scores(attack, trials):
        found.append(_best(name, one_scores, other_scores, share))
        found.append(_best(f"{name}, swapped", -other_scores, -one_scores, share))
    return found


def _scores(attack: Attack, trials: Trials) -> Iterator[tuple[str, Floats, Floats]]:
    """A number for every run, large where the first stream is likely."""
    if len(trials.one.losses):
        yield TOLD, trials.one.losses, trials.other.losses
    one, other = (features(attack, seen) for seen in (trials.one, trials.other))
    varying = (one != one[:1]).any(axis=0) | (other != one[:1]).any(axis=0)
    if varying.any():
        one, other = one[:, varying], other[:, varying]
        weights = _fitted(_first_half(one), _first_half(other))
        yield "learnt", one @ weights, other @ weights


def features(attack: Attack, seen: Seen) -> Floats:
    """What can be seen of a run from the first difference on, as numbers to weigh.

    On which side of the counts a value lies, also for fresh ones alone; whether it is odd, of which kind it is and how
    wide its noise; how it has changed, and how it differs from the bin beside it; and what the unit was charged.
    """
    looked_at = slice(attack.prefix, attack.prefix + FARTHEST)
    values, kinds, noise_sd = (public[:, looked_at] for public in (seen.values, seen.kinds, seen.noise_sd))
    columns = [kinds == kind for kind in Kind]
    columns += [values % 2, np.log1p(noise_sd), np.sign(np.diff(values, axis=1)), seen.charged[:, looked_at]]
    for rows in (stream[looked_at] for stream in attack.streams):
        side = np.sign(values - rows)
        columns += [side, (kinds == Kind.FRESH) * side, np.sign(np.diff(values, axis=2) - np.diff(rows, axis=1))]
    flat: Floats = np.concatenate([column.reshape(len(values), -1) for column in columns], axis=1).astype(np.float64)
    return flat


def _fitted(one: Floats, other: Floats) -> Floats:
    """The weights of a logistic regression that tells rows of the one from rows of the other."""
    rows = np.concatenate([one, other])
    spread = rows.std(axis=0)
    scale = np.where(spread > 0, spread, 1.0)  # a small difference may tell everything
    rows = (rows - rows.mean(axis=0)) / scale
    sides = np.concatenate([np.ones(len(one)), np.zeros(len(other))])
    weights: Floats = np.zeros(rows.shape[1])
    for _ in range(NEWTON_STEPS):
        likely = 1 / (1 + np.exp(-np.clip(rows @ weights, -LARGEST_SCORE, LARGEST_SCORE)))
        slope = rows.T @ (sides - likely) / len(rows) - RIDGE * weights
        bend = (rows * (likely * (1 - likely))[:, np.newaxis]).T @ rows / len(rows)
        weights = weights + np.linalg.solve(bend + RIDGE * np.eye(len(weights)), slope)
    return weights / scale


def _best(name: str, one: Floats, other: Floats, alpha: float) -> Finding:
    """The event that a score is at least some threshold, which the first half of the runs has chosen."""
    halves = _first_half(one), _first_half(other)
    tried = np.unique(np.quantile(halves[0], np.linspace(0, 1, THRESHOLDS), method="higher"))
    proved = [_counted(name, halves[0] >= threshold, halves[1] >= threshold, alpha).lower for threshold in tried]
    threshold = tried[int(np.argmax(proved))]
    return _counted(name, one[len(halves[0]) :] >= threshold, other[len(halves[1]) :] >= threshold, alpha)


def _counted(name: str, one: Mask, other: Mask, alpha: float) -> Finding:
    hits, other_hits = int(one.sum()), int(other.sum())
    lower = loss_above(hits, len(one), other_hits, len(other), alpha)
    return Finding(name, hits, len(one), other_hits, len(other), lower)


def _first_half(rows: Floats) -> Floats:
    return rows[: len(rows) // 2]
