"""A mechanism that asks everything, for other amounts at every unit, keeps all promises."""

import numpy as np
import pytest

import penstock as ps
from penstock.audit.everything import Everything
from penstock.audit.permissive import PermissiveCurator
from penstock.checks import CHECKS, Subject
from penstock.checks.coverage import Heard, refused
from penstock.checks.verbs import VERBS, methods_named, verbs_by_method
from penstock.curator import Curator
from penstock.models import DeltaNeighbourhood, EventLevel, MContext, PrivacyModel, UserLevel, WEvent
from penstock.primitives.grouper import Grouper
from penstock.primitives.pool import Pool
from penstock.primitives.segment import Segment
from penstock.primitives.volley import Volley

# it has neither proof nor example; test_what_it_holds_stays_the_same looks at its state, which takes less time
NOT_MEANT_FOR_IT = {"proof_is_current", "example_runs", "bounded_memory"}
MODELS: list[PrivacyModel] = [
    EventLevel(epsilon=2),
    WEvent(epsilon=3, w=4),
    UserLevel(epsilon=5, horizon=12),
    MContext(epsilon=3, m=3, per_unit=100),
    DeltaNeighbourhood(epsilon=1, steps=6),
]


@pytest.mark.parametrize("check", [check for check in CHECKS if check not in NOT_MEANT_FOR_IT])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_promise(model: PrivacyModel, check: str) -> None:
    """Under m-context a span may meet people who cannot afford it; under user-level nothing ever comes back."""
    CHECKS[check](Subject(Everything, model))


def test_what_it_holds_stays_the_same() -> None:
    """The saved state, public and sealed, is as large after 600 units as after 100."""
    model = WEvent(epsilon=3, w=4)
    stream = ps.streams.synthetic("walk", bins=3, steps=600, seed=1)
    mechanism = Everything(model=model, allow_unproven=True).start(ps.Curator(model, 3, noise=ps.SimulationNoise(1)))
    sizes = []
    for snapshot in stream:
        mechanism.step(snapshot)
        if snapshot.t in (100, 600):
            sizes.append([len(part) for part in mechanism.save(ps.new_key())])
    early, late = sizes
    assert np.allclose(early, late, atol=200)


@pytest.mark.parametrize(
    ("part", "verbs"),
    [
        (Segment, {"above": {"above"}}),
        (Volley, {"read": {"volley"}}),
        (Pool, {"absorb": {"absorb"}, "settle": {"settle"}, "purse": {"read"}, "drop": {"drop"}}),
        (Grouper, {"extend": {"extend"}}),
    ],
)
def test_the_verbs_of_a_handle_are_read_from_its_code(part: type, verbs: dict[str, set[str]]) -> None:
    assert dict(verbs_by_method(part)) == verbs


def test_every_verb_belongs_to_a_method_of_some_part() -> None:
    parts = (Curator, Segment, Volley, Pool, Grouper)
    assert {verb for part in parts for verbs in verbs_by_method(part).values() for verb in verbs} == VERBS
    assert verbs_by_method(PermissiveCurator)["purse"] == {"ask"}


def test_what_a_mechanism_names_is_told_apart_from_what_it_inherits() -> None:
    of_curator, of_others = methods_named(ps.mechanism("rg"))
    assert {"sampled", "purse"} <= of_curator
    assert {"absorb", "drop"} <= of_others
    assert "settle" not in of_others


def test_samples_are_not_demanded_where_the_model_refuses_them() -> None:
    assert refused(Subject(Everything, WEvent(epsilon=1, w=2))) == {"median"}
    assert refused(Subject(Everything, WEvent(epsilon=1, w=2, per_unit=2))) == {"median", "sampled"}


def test_a_handle_of_which_nothing_was_asked_is_named() -> None:
    heard = Heard(asked={"ask", "drop"}, handles={Volley, Pool})
    assert heard.unused == {"Volley"}
    heard.unasked = {"volley"}
    assert not heard.unused
