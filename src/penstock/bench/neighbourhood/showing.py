"""Figures as they are shown."""

from __future__ import annotations

import numpy as np

from penstock.bench.neighbourhood.jobs import Job, Results
from penstock.bench.summary import NORMAL
from penstock.types import Floats

DIGITS = 3
SMALL = 1e-3


def brief(number: float) -> str:
    """Three digits, or a few more where they stand before the point.

    >>> brief(123456.7), brief(12.34), brief(0.00001234)
    ('123,457', '12.3', '1.2e-05')
    """
    if 0 < abs(number) < SMALL:
        return f"{number:.1e}"
    return f"{number:,.0f}" if abs(number) >= 10 ** (DIGITS - 1) else f"{number:.{DIGITS}g}"


def means(results: Results, job: Job) -> Floats:
    """The figures of a job, in the mean over its runs."""
    found: Floats = results[job].mean(axis=0)
    return found


def half_width(results: Results, job: Job) -> float:
    """Half the width of the 95% interval around the mean, as a part of it; of the figure where it is widest."""
    figures = results[job]
    wrong = figures[:, figures.any(axis=0)]  # what was always right is certain
    spread = wrong.std(axis=0, ddof=1) / np.sqrt(len(wrong))
    return float(NORMAL * (spread / wrong.mean(axis=0)).max(initial=0))
