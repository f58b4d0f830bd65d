"""Every mechanism keeps its promises whichever histogram method it publishes with."""

from typing import Any

import pytest

import penstock as ps
from penstock.checks import CHECKS, Subject, example_models

# the noise of a tree is not that of its cells alone; the others look at the mechanism and not at what it measures
NOT_MEANT_FOR_IT = {"noise_is_as_claimed", "unproven_models_refused", "proof_is_current", "example_runs"}
NOT_MEANT_FOR_IT |= {"asks_every_verb", "no_number_opens_a_leak"}
RESTARTS = ["resumes_exactly", "resumes_soundly"]
SLOW = {"non_interference", "bounded_memory"}
QUICK = [check for check in CHECKS if check not in {*NOT_MEANT_FOR_IT, *SLOW, *RESTARTS}]
WAYS: dict[str, dict[str, Any]] = {
    "quadtree": {"histogram": "quadtree"},
    "quadtree4": {"histogram": "quadtree(split=4)", "shape": (1, 3)},
    "adaptive": {"histogram": "adaptive", "shape": (3,)},
}
CLAIMS = [(key, kind) for key, mechanism in ps.mechanisms().items() for kind in mechanism.proven_for]


def subject(key: str, kind: type[ps.PrivacyModel], way: str) -> Any:
    made = Subject(ps.mechanism(key), example_models(kind)[0], parameters=WAYS[way])
    return pytest.param(made, id=f"{key}-{kind.__name__}-{way}")


def turns(key: str) -> list[tuple[int, str]]:
    """Another method with another model, as far as there are any."""
    return [(n % len(ps.mechanism(key).proven_for), way) for n, way in enumerate(WAYS)]


EVERY_WAY = [subject(key, kind, way) for key, kind in CLAIMS for way in WAYS]
IN_TURN = [subject(key, ps.mechanism(key).proven_for[-1 - n], way) for key in ps.mechanisms() for n, way in turns(key)]
IN_TURN_ONCE = [IN_TURN[len(WAYS) * n + n % len(WAYS)] for n in range(len(ps.mechanisms()))]
HOLDING = [subject("rg", ps.WEvent, "quadtree"), subject("sliding_baseline", ps.EventLevel, "quadtree4")]


@pytest.mark.parametrize("check", QUICK)
@pytest.mark.parametrize("subject", EVERY_WAY)
def test_promise(subject: Subject, check: str) -> None:
    CHECKS[check](subject)


@pytest.mark.parametrize("check", RESTARTS)
@pytest.mark.parametrize("subject", IN_TURN)
def test_promise_after_a_restart(subject: Subject, check: str) -> None:
    """Every method with every mechanism; its models take turns."""
    CHECKS[check](subject)


@pytest.mark.parametrize("subject", IN_TURN_ONCE)
def test_nothing_but_the_answers_is_seen(subject: Subject) -> None:
    """It takes long, so methods take turns with mechanisms."""
    CHECKS["non_interference"](subject)


@pytest.mark.parametrize("subject", HOLDING)
def test_memory_stays_flat(subject: Subject) -> None:
    CHECKS["bounded_memory"](subject)
